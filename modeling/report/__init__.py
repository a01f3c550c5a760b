"""The command ``onoma report``, which writes pages and tables of runs."""
