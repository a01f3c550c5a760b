"""Stores of published versions of datasets: publish, switch, prune, forget, verify, show."""
