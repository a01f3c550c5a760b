"""Entity linking: names to entities of a register, an entity vocabulary or training documents.

Read in this order:

1. ``commands``; ``datasets`` and ``records``: what is linked, and learned from.
2. ``linker``: ``forms`` and ``spelling`` find, ``candidates`` are compared by ``counts``,
   ``contexts`` and ``coherence``, and ``choice`` learns the weights and the threshold;
   ``Linker.is_sure`` abstains (NIL).
3. ``evaluation`` with ``scores``; ``report``.
"""
