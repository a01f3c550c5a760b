"""News: articles from web archives and saved pages, without boilerplate and without duplicates."""
