"""Reproducible batches from examples and sentences: reading, order, pairs, masking, packing."""
