"""Fine-tuning of name taggers: trials, their data, training and summary."""
