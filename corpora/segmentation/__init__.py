"""Text to sentences, with a table for each language."""
