"""Review of an edition's names in the browser: names are accepted, changed, rejected or added."""
