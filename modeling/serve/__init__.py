"""An HTTP service for a tagger and a register, with the protocols of several tools.

Read in this order: ``starting`` starts; ``app`` has the routes; ``loaded_models`` finds names for
all of them, by ``batching``; ``apart`` keeps work of strangers in a process of its own. Then a
protocol: ``onoma_api`` (and its ``client``), ``corenlp``, ``publisher`` with ``patterns``,
``inception``, ``reconciliation`` (``reconciliation_messages``) over ``entries``; ``training``
serves two of them. ``kinds``: what labels mean in protocols.
"""
