"""Registers: the persons, places and works that an edition names, with dates and ids elsewhere.

Read in this order:

1. ``reader``, from TEI to each ``entry``: its forms by ``names``, its ids by ``identifiers``;
   ``register``: entries by id, ``references``: as an edition writes them.
2. ``tagged_names``: forms of registers and of tagged names, counted, by ``occurrences`` and
   ``lines``; ``lemmas``.
3. ``dictionary``: which form is a name, and whose, by the features of ``places``; ``joining``:
   together with a tagger.
4. ``linking``: mentions get ids and names; ``coverage``: what is missing; ``new_entries``: entries
   that people add.
"""
