"""Heads: predictions from the rows that an encoder returns."""
