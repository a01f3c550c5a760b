"""Two versions of a dataset compared: rows, counts, rates; ``python -m corpora.diff OLD NEW``."""
