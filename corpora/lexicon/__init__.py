"""Discovery of new words in raw text: counts of strings, mutual information, scores and ranks."""
