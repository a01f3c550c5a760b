"""Entity vocabularies: counts, choice, ids, aliases, equal entities, exports, report, look-up.

Read in this order:

1. ``counts``, of each shard and merged; ``choice``: which entities are kept, and their ids;
   ``equivalents``: those that are one.
2. ``aliases``: forms with priors; ``vocabulary``, the result; ``lookup``: for millions; ``pages``:
   what pages say of them.
3. ``exports`` and ``report``.
"""
