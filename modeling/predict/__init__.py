"""What ``python -m modeling.predict`` does with each kind of input."""
