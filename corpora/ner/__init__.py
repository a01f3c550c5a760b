"""NER sets as files: CoNLL, JSON."""
