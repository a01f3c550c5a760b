"""How models learn: steps, schedules, checkpoints, measures."""
