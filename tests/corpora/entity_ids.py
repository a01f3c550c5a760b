"""Ids of single entities; the code asks for many at a time."""

import pyarrow as pa


def id_of(vocab, entity):
    return vocab.ids_of(pa.array([entity], pa.string()))[0].as_py()
