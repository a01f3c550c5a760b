"""Evaluation of taggers: scores with intervals, errors, reports; without PyTorch."""
