"""Decoders: from the scores of a head to the names in a sentence."""
