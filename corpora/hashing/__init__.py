"""Hashes of strings, tokens and rows; sampling and splits that follow from them."""
