"""Rendered pages of a wiki: where they are kept, and their text."""
