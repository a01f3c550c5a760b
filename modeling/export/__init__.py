"""Models leave the house: for other runtimes, in one file, with a card that says what they are."""
