"""Inspection of encoders: attention maps, and the geometry of their vectors."""
