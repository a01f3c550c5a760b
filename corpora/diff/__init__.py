"""Comparison of two versions of a dataset: rows, counts, ratios (``onoma diff``)."""
