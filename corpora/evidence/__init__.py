"""The probability that a form at a place is a mention, learned from truth that was held back."""
