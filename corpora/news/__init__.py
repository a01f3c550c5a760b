"""News: archives and saved pages to articles, without boilerplate and without duplicates."""
