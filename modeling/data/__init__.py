"""Examples become batches: read, ordered, paired, masked, packed; the same whoever does it."""
