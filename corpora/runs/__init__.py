"""A run's plan, its completion markers, its output folder, and the rejection of bad records."""
