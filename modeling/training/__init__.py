"""Training: steps, schedules, checkpoints, measures."""
