"""Evaluation of taggers: scores with intervals, errors and reports; scoring needs no PyTorch.

Read in this order:

1. ``runs``: the command; ``relabelling``; ``evaluation``: all measures of a tagger.
2. ``scores`` with intervals, ``errors``, ``calibration``; ``compare``: two runs. Spans are counted
   in ``modeling.taggers.counts``.
3. ``report``, ``plots``; ``records``: the types of its files.
"""
