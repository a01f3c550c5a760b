"""Processes that train together: each depends on, and reads, its own examples only."""

import ctypes
import mmap
import os
from dataclasses import fields, is_dataclass

import numpy as np
import pyarrow as pa
import pytest
import torch

from modeling.data.batches import Batches
from modeling.data.examples import ExampleSet

LISTS = ("input_ids", "word_starts", "sentence_starts")
LISTS += ("entity_ids", "entity_starts", "entity_ends")
WORLD = 3


def epoch_of(samples, subwords, examples, rank, **settings):
    """Return all micro-batches that a process makes in the first epoch."""
    batches = Batches(samples.config(**settings), [examples], subwords, rank=rank, world=WORLD)
    return [batch for step in range(batches.steps_per_epoch) for batch in batches.batch(step)]


def values(part):
    """Return all that a batch holds, as values that can be compared."""
    if isinstance(part, torch.Tensor):
        return part.tolist()
    if is_dataclass(part):
        return [values(getattr(part, field.name)) for field in fields(part)]
    if isinstance(part, (list, tuple)):
        return [values(item) for item in part]
    if isinstance(part, dict):
        return {name: values(item) for name, item in part.items()}
    return part


def spoil(path, keep):
    """Overwrite the names and lists of all rows of a dataset but those whose ids are kept."""
    n_spoilt = 0
    for shard in path.glob("shard-*.arrow"):
        data = bytearray(shard.read_bytes())
        with pa.memory_map(str(shard)) as source, pa.ipc.open_file(source) as reader:
            begin = source.read_buffer(1).address
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                for row, id in enumerate(batch.column("id").to_pylist()):
                    if id not in keep:
                        for start, end in places_of(batch, row):
                            data[start - begin : end - begin] = b"\xfe" * (end - start)
                        n_spoilt += 1
        shard.write_bytes(data)
    return n_spoilt


def places_of(batch, row):
    """Yield where the values of a row lie in memory."""
    for name in ("id", "document_id", *LISTS):
        column = batch.column(name)
        _, offsets, *_ = column.buffers()
        values = (
            column.buffers()[2] if pa.types.is_string(column.type) else column.values.buffers()[1]
        )
        width = 1 if pa.types.is_string(column.type) else 4
        start, end = np.frombuffer(offsets, np.int32)[row : row + 2].tolist()
        if end > start:
            yield values.address + width * start, values.address + width * end


@pytest.mark.parametrize("rank", range(WORLD))
def test_a_process_depends_on_no_byte_of_the_examples_of_others(tmp_path, samples, subwords, rank):
    path = samples.write(tmp_path / "x", samples.rows(100))
    whole = epoch_of(samples, subwords, ExampleSet(path, "train"), rank)
    own = {id for batch in whole for id in batch.ids}

    n_spoilt = spoil(path, own)

    assert n_spoilt > 50
    spoilt = epoch_of(samples, subwords, ExampleSet(path, "train"), rank)
    assert values(spoilt) == values(whole)


def test_all_processes_together_have_each_example_once(dataset, samples, subwords):
    examples = ExampleSet(dataset, "train")

    shown = [
        id
        for rank in range(WORLD)
        for batch in epoch_of(samples, subwords, examples, rank)
        for id in batch.ids
    ]

    assert sorted(shown) == sorted(example.id for example in examples)


def n_read(path):
    """Return how many bytes of a file the system holds in memory: what was read of it."""
    size = path.stat().st_size
    with path.open("r+b") as file, mmap.mmap(file.fileno(), size) as mapped:
        begin = (ctypes.c_char * size).from_buffer(mapped)
        pages = (ctypes.c_ubyte * -(-size // mmap.PAGESIZE))()
        status = ctypes.CDLL(None).mincore(begin, ctypes.c_size_t(size), pages)
        del begin
    assert status == 0
    return sum(page & 1 for page in pages) * mmap.PAGESIZE


def forget(path):
    """Let the system forget what it holds of a file."""
    with path.open("rb") as file:
        os.fdatasync(file.fileno())  # fsync does nothing in tests
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def test_a_process_reads_its_own_share_of_the_file(tmp_path, samples, subwords):
    rows = [samples.row(f"d{number}#0", 5000) for number in range(90)]
    path = samples.write(tmp_path / "x", rows, n_shards=1)
    shard = path / "shard-00000.arrow"
    forget(shard)
    if n_read(shard):
        pytest.skip("this file system lies in memory")

    examples = ExampleSet(path, "train")
    opening = n_read(shard)
    encoder = {"max_positions": 6000}
    training = {"batch_size": 18, "micro_batch_size": 3}
    settings = {"data": {"max_length": 5002}, "encoder": encoder, "training": training}
    made = epoch_of(samples, subwords, examples, 0, **settings)

    size = shard.stat().st_size
    assert opening < 0.05 * size
    assert sum(len(batch.ids) for batch in made) == len(rows) / WORLD
    assert 0.9 / WORLD < n_read(shard) / size < 1.4 / WORLD  # pages are of 4 KiB
