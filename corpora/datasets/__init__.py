"""Datasets on disk: schemas, shards, columns, rows, identical ids.

Read in this order:

1. ``schemas``: the columns of every kind; ``shards``: a dataset is opened, and its shards are
   written; ``filling``: columns that earlier versions lack.
2. ``rows``, from a row to a document; ``document_batches``, the same by columns; ``columns``:
   documents of which no objects are made.
3. ``canonical``: equal values, equal bytes; ``repeated_ids``, ``redirect_table``, ``entity_names``;
   ``forgetting``: what must be removed.
"""
