"""Heads, which make predictions from the rows that an encoder returns."""
