"""Dictionaries of forms, and where they match in text or tokens."""
