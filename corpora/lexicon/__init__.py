"""New words from raw text: counts of all strings, what holds them together, scores and ranks."""
