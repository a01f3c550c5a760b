"""Web archives: records read, repaired and written."""
