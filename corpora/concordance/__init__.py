"""Concordances: each entity with all its mentions in context, as pages for a browser."""
