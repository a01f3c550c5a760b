"""NER sets: files of many formats, their conversion, cards, gazetteers.

Read in this order:

1. ``formats``: a record for each format, with all that is known of it; ``detection`` and ``layout``
   say which a file has; ``files``: its encoding, and where a large one is cut.
2. ``readers``, from bytes to ``found`` sentences. A module for each kind of file: ``conll``,
   ``bars``, ``brackets``, ``csv``, ``json``, ``records``, ``token_spans``, ``parquet``, ``markup``,
   ``webanno``, ``brat``, ``pubtator``, ``aida``, ``tool_texts``; ``texts`` and ``offsets``: names
   at characters; ``linked``: with entities.
3. ``schemes`` and ``labels``: tags of any scheme to IOB2; ``splits_by_name``, ``alignment``;
   ``sentence_rows`` and ``columns``: the rows of a dataset; ``bad_records``.
4. ``exports``, ``convert`` and ``exchange``: rows and documents to the formats of other tools;
   ``entity_dictionary``.
5. ``card``, ``tally``, ``sources``, ``health`` and ``gazetteer``: what is known of a set.
"""
