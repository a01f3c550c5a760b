"""The command ``onoma pretrain``, which trains an encoder on examples."""
