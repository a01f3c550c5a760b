"""What is read from trained folders: taggers, their encoders and entities, and what they score."""
