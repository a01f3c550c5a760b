"""Documents, readers of sources, labels, and datasets on disk; needs neither Beam nor torch."""

from corpora.system.interrupts import end_quietly_while_loading

__version__ = "0.1.0"

end_quietly_while_loading()
