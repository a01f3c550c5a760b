"""TEI editions: XML with names in it."""
