"""Plain text: archives, encodings, forms of files, and how a text becomes documents."""
