"""Evaluation of taggers: scores with intervals, errors and reports; scoring needs no PyTorch."""
