"""What is run over much text: options and wiring. Beam is met in ``pipelines.run`` alone."""

from corpora.system.interrupts import end_quietly_while_loading

end_quietly_while_loading()
