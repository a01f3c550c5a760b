"""What text is: documents, readers, labels, datasets on disk. No Beam, no torch."""
