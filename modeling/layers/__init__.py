"""Parts of encoders. Layers map rows (R, D) to rows (R, D); only attention pads sequences.

Read in this order:

1. ``embeddings``; ``transformer``, a layer; ``attention``, of each kind, by ``attention_blocks``,
   ``dense`` (as in papers) or ``fused`` with ``relative_kernels`` (on a GPU).
2. ``crf``; ``compilation``.
"""
