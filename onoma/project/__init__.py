"""Projects: one file with a whole chain of commands, and the state of each step."""
