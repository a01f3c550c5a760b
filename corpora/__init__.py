"""What text is: documents, readers, labels, datasets on disk. No Beam, no torch."""

from corpora.system.interrupts import end_quietly_while_loading

__version__ = "0.1.0"

end_quietly_while_loading()
