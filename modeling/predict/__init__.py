"""Prediction: names in text, TEI and datasets; masked words; vectors.

Read in this order:

1. ``commands``: one for each input; ``loading``: of a tagger, ``dictionary``: without or beside
   one.
2. ``documents``; ``tei`` with ``tei_work``; ``linking``: references.
3. ``masked``: of an encoder.
"""
