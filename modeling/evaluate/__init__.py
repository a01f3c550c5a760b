"""How good a tagger is: counts, scores, how sure they are, errors, reports. Without PyTorch."""
