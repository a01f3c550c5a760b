"""Plain text: archives, encodings, forms of files, and how a text becomes documents.

Read in this order:

1. ``opening``, ``detection`` and ``encodings``: from a file to characters; ``characters``: which
   are changed.
2. ``reader``: its records, by ``records``, ``json_lines`` or ``wikiextractor_output``.
3. ``documents``: a row for each record, with ``paragraphs``.
"""
