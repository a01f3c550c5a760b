"""``python -m modeling.report``: pages and tables of runs."""
