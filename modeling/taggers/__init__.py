"""Taggers in folders: encoder, entities, settings, summary; and counts of their spans."""
