"""Reproducible batches from examples and sentences: reading, order, pairs, masking, packing.

Read in this order:

1. ``examples`` (``texts``, ``masking``, ``entities``), or ``sentences`` with their ``tagset``: what
   is read.
2. ``batches`` of examples, ``sentence_batches`` of sentences; ``batch`` names each tensor; ``rng``:
   the same in each run.
3. For taggers: ``tagger_inputs``, ``gazetteer``, ``entity_forms``; ``predictions``. ``documents``:
   written again with other mentions.
"""
