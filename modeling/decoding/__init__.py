"""From the scores of a head to the names in a sentence."""

from modeling.decoding.tags import decode, decode_tags, word_probabilities

__all__ = ["decode", "decode_tags", "word_probabilities"]
