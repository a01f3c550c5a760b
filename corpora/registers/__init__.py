"""Registers: the persons, places and works that an edition names, with dates and ids elsewhere."""
