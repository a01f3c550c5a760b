"""Fine-tuning of name taggers: what is tried, each try, and what it learns from."""
