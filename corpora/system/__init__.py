"""Files, buckets, bounded parsing, child processes, threads, signals, command lines.

Read in this order:

1. Commands: ``arguments``, ``interrupts``, ``extras``, ``imports``, ``licenses``.
2. Files: ``files`` and ``writing``, ``parsing``, ``typed_tables``, ``cells``; ``expat_version``.
3. Buckets and the web: ``buckets``, ``staging`` and ``copies``; ``web``.
4. Work: ``threads``, and ``sandbox``, a process with limits.
"""
