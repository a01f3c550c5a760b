"""TEI editions: XML in which names are tagged, read, written, reviewed and undone."""
