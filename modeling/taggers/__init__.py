"""Taggers in folders: encoder, entities, settings, summary; and counts of their spans.

Read in this order:

1. ``tagger``, and ``encoder`` for vectors; ``folders`` and ``archive``: where they are;
   ``entities``: those that words know.
2. ``counts`` of spans, from which all scores come; ``baseline``: names of train, looked up.
3. ``processes``: devices, and processes that were forked.
"""
