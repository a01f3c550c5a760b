"""Attacks on what Onoma reads, by what they aim at; ``benchmarks/attack.py`` runs them."""
