"""Two versions of a dataset compared: rows, counts, ratios; ``python -m corpora.diff OLD NEW``."""
