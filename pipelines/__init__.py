"""What is run over much text: options and wiring. Beam is met in ``pipelines.run`` alone."""
