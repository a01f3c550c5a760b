"""What is learned from the shards. Empty today: see ``docs/roadmap.md``."""
