"""Comparison of two versions of a dataset: rows, counts, ratios (``python -m corpora.diff``)."""
