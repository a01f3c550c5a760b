"""From the scores of a head to the names in a sentence."""
