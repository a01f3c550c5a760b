"""The command ``python -m modeling.pretrain``, which trains an encoder on examples."""
