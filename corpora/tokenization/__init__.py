"""Tokenizers: learning, loading, words and subwords."""
