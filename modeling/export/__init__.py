"""Export of models, with a card: for other runtimes, or as one file."""
