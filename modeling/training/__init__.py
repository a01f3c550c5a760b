"""Training: steps, schedules, checkpoints, logs and validation."""
