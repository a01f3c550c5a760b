"""Models for other runtimes, or in one file, with a card."""
