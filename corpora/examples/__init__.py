"""Pre-training examples made from documents."""
