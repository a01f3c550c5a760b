"""Datasets on disk: schemas, shards, columns, rows, identical ids."""
