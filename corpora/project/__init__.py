"""Projects: one file that says the whole chain, and what of it is done."""
