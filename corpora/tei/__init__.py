"""TEI editions: XML in which names are tagged, read, written, reviewed and undone.

Read in this order:

1. ``edition`` (a TOML file tells which element means what) with ``patterns``; ``xml``, the tree;
   ``include``: files in files.
2. ``reader``, from a file to documents: ``starts`` and ``header``; ``layout``, the text; ``marks``,
   ``pointers``, ``prefixes``, ``split_names``, ``standoff``, the names; ``languages``,
   ``abbreviations``. ``element_text``: a name in a header or a register, which no edition file
   tells how to read.
3. ``writer``, from names to a file: ``source``, ``places`` and ``fragments`` say where tags can
   stand, ``name_tags`` and ``style`` how they look, ``provenance`` who found them; ``proof`` and
   ``schema`` check the bytes, and ``undo`` takes the names out again, by ``records``.
4. ``review`` and ``decisions``: what people decide on names; ``corrected``: in another tool.
5. ``inspection`` with ``census``: what the markup of an unknown edition holds; ``card``: how one
   was read.
"""
