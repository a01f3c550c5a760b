"""What text is: documents, readers, labels, datasets on disk. No Beam, no torch."""

__version__ = "0.1.0"
