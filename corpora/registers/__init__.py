"""Registers: whom and what an edition names, with names, dates and ids elsewhere."""
