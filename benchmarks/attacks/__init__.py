"""Attacks on Onoma, one module for each kind of target; ``benchmarks/attack.py`` runs them."""
