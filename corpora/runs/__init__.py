"""The plan of a run, the receipts of its units, its output folder, and rejection of bad records."""
