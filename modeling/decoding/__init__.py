"""From the scores of a head to the names in a sentence."""

from modeling.decoding.choice import check_decoder
from modeling.decoding.tags import decode, decode_tags, word_probabilities

__all__ = ["check_decoder", "decode", "decode_tags", "word_probabilities"]
