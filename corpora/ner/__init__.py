"""NER sets: files of many formats, their conversion, cards, gazetteers.

Read in this order:

1. ``formats``: a record for each format, with all that is known of it; ``detection`` and ``layout``
   say which a file has.
2. ``readers``, from bytes to ``found`` sentences, with a module for each kind of file; ``files``
   cuts large ones.
3. ``schemes`` and ``labels``: tags of any scheme to IOB2; ``sentence_rows``: the rows of a dataset.
4. ``exports``, ``convert`` and ``exchange``: rows and documents to the formats of other tools.
5. ``card``, ``tally``, ``health`` and ``gazetteer``: what is known of a set.
"""
