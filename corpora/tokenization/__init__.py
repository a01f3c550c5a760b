"""Tokenizers: learning, trimming and loading them, and cutting texts into words and subwords."""
