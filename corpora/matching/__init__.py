"""Dictionaries of forms, and where they match in text or tokens.

Read in this order:

1. ``form_dictionary``: forms, and where they stand; ``form_table``, its tables; ``surface_forms``:
   between which characters, and case; ``composition`` and ``variants``: spellings that are one.
2. ``title_matches``: titles that a page links, found in its text; ``name_edges``: not inside a
   longer name; ``survey``: forms that are words more often than names.
3. ``place_gate``: where a mention is added or removed, by ``place_features`` with ``contexts`` and
   ``form_facts``; ``inflection``: titles in other cases; ``link_truth``: from which it learns;
   ``gate_report``.
4. ``arrays``: helpers of all.
"""
