"""The command ``python -m modeling.report``, which writes pages and tables of runs."""
