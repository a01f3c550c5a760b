"""Prediction: names in text, TEI and datasets; masked words; vectors."""
