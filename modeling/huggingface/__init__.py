"""Weights of BERT and LUKE from transformers' folders, and into them.

All that knows foreign names of settings, files and weights is in this package.
"""
