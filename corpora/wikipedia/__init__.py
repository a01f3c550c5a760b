"""Wikipedia dumps: pages, wikitext, titles, redirects."""
