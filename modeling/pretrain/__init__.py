"""``python -m modeling.pretrain``: train an encoder on examples."""
