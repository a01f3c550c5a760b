"""Arrow files whose hash is right and whose insides are wrong: a message, never a crash."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset
from corpora.errors import CorpusError
from corpora.store.inspection import main as shards
from corpora.store.inspection import verify
from corpora.store.versions import publish
from corpora.system.files import sha256_of
from modeling.data.examples import ExampleSet
from pipelines import documents_to_entity_vocab
from tests.corpora.store.stored_runs import make

ROOT = Path(__file__).resolve().parents[3]


def offsets(*values):
    return np.array(values, np.int32).tobytes()


WRONG = {  # column, which of its buffers, what is written over it
    "far": ("text", 1, offsets(0, 1 << 30)),
    "backwards": ("text", 1, offsets(3, 0)),
    "negative": ("text", 1, offsets(-(1 << 28), 3)),
    "no UTF-8": ("text", 2, b"\xff\xfe\xfd"),
    "far mentions": ("mentions", 1, offsets(0, 1 << 29)),
    "far title": ("title", 1, offsets(0, 1 << 30)),
}


def spoil(folder, name, number, data):
    """Write a shard again with something else in a buffer, and its hash into ``dataset.json``."""
    file = folder / "shard-00000.arrow"
    with pa.ipc.open_file(file.read_bytes()) as reader:
        batch = reader.get_batch(0)
    with pa.ipc.new_file(str(file), batch.schema) as writer:  # not compressed
        writer.write_batch(batch)
    whole = pa.py_buffer(file.read_bytes())
    with pa.ipc.open_file(whole) as reader:
        buffer = reader.get_batch(0).column(name).buffers()[number]
    place = buffer.address - whole.address
    spoiled = whole.to_pybytes()
    file.write_bytes(spoiled[:place] + data + spoiled[place + len(data) :])
    describe(folder)
    return folder


def describe(folder, **values):
    """Put what the shard is now into ``dataset.json``."""
    file = folder / "shard-00000.arrow"
    about = json.loads((folder / "dataset.json").read_text())
    about["shards"][0] |= {"sha256": sha256_of(file), "bytes": file.stat().st_size}
    (folder / "dataset.json").write_text(json.dumps(about | values))


@pytest.fixture(params=WRONG)
def wrong(request, tmp_path):
    """Make a dataset of one document whose shard is wrong inside."""
    folder = make(tmp_path / "run", "Ulm") / "documents"
    return spoil(folder, *WRONG[request.param])


def test_verify_and_publish_refuse_what_is_wrong_inside(wrong, tmp_path):
    with pytest.raises(CorpusError, match="not readable as an Arrow file"):
        verify(wrong)
    with pytest.raises(CorpusError, match="not readable as an Arrow file"):
        publish(wrong, tmp_path / "store" / "wiki", version="v1")

    assert not (tmp_path / "store" / "wiki" / "v1").exists()


def test_commands_that_read_it_end_with_a_message(wrong, tmp_path, capsys):
    arguments = ["--input", str(wrong), "--output", str(tmp_path / "vocab")]

    assert shards(["show", str(wrong)]) == 1
    assert shards(["verify", "--rows", str(wrong)]) == 1
    assert documents_to_entity_vocab.main(arguments) == 1

    assert capsys.readouterr().err.count("shard-00000.arrow: not readable as an Arrow file") == 3
    with pytest.raises(CorpusError):
        list(open_dataset(wrong).records())


# Flips bytes of a shard, reads it in a child as all readers do, and prints how it ended.
FLIPPING = """
import os, random, resource, sys
from dataclasses import replace
from pathlib import Path
from corpora.errors import CorpusError
from corpora.datasets.rows import FROM_ROW
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter, read_batches
from tests.corpora.diff.two_versions import document
from tests.datasets import document_to_row

folder, schema = Path(sys.argv[1]), SCHEMAS["documents"]
with ShardWriter(folder / "whole", replace(schema, compression=None)) as writer:
    for number in range(40):
        writer.write(document_to_row(document(number, text="Grüße aus Ulm", links=5)))
whole = (folder / "whole").read_bytes()

def read(path):
    try:
        for batch in read_batches(path, schema):
            for row in batch.to_pylist():
                FROM_ROW["documents"](row)
    except CorpusError:
        return 1
    except BaseException as error:
        os.write(1, (repr(error)[:200] + "\\n").encode())
        return 2
    return 0

def flip(rng):
    flipped = bytearray(whole)
    for place in rng.sample(range(len(whole)), rng.choice([1, 1, 3])):
        flipped[place] = rng.choice([0, 255, flipped[place] ^ 1 << rng.randrange(8)])
    (folder / "flipped").write_bytes(flipped)
    return read(folder / "flipped")

os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
for seed in range(10):
    if not (pid := os.fork()):
        rng = random.Random(seed)
        for _ in range(15):
            os.write(1, b"%d\\n" % flip(rng))
        os._exit(0)
    if end := os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]):
        print(end, flush=True)
"""


def test_no_flipped_byte_ends_a_process(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", FLIPPING, str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )

    ends = done.stdout.splitlines()
    assert len(ends) == 150, done.stdout
    assert set(ends) == {"0", "1"}, [end for end in ends if end not in {"0", "1"}]


LISTS = ("input_ids", "word_starts", "sentence_starts", "entity_ids", "entity_starts")
EXAMPLE = {
    "id": "a",
    "document_id": "d",
    "group": "g",
    "split": "train",
    **{name: [1, 2] for name in (*LISTS, "entity_ends")},
    "entity_origins": ["link"] * 2,
}


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("id", offsets(0, 1 << 30)),
        ("document_id", offsets(-(1 << 28), 1)),
        ("split", offsets(0, 1 << 30)),
        ("input_ids", offsets(0, 1 << 29)),
        ("entity_starts", offsets(-5, 0)),
    ],
)
def test_examples_that_are_wrong_inside_are_refused_when_they_are_opened(name, data, tmp_path):
    folder = examples(tmp_path)
    spoil(folder, name, 1, data)

    with pytest.raises(CorpusError, match="wrong inside"):
        ExampleSet(folder, "train")


def test_an_id_of_an_example_that_is_no_text_is_an_error_of_the_dataset(tmp_path):
    folder = examples(tmp_path)
    spoil(folder, "id", 2, b"\xff")

    with pytest.raises(CorpusError, match=r"an id is no UTF-8"):
        ExampleSet(folder, "train")[0]


def examples(tmp_path):
    """Make a dataset of one example."""
    folder = make(tmp_path / "run", "Ulm") / "documents"
    schema = SCHEMAS["examples"]
    batch = pa.RecordBatch.from_pylist([EXAMPLE], schema=schema.columns)
    with pa.ipc.new_file(str(folder / "shard-00000.arrow"), schema.columns) as writer:
        writer.write_batch(batch)
    describe(folder, schema="examples", version=schema.version)
    return folder


@pytest.mark.parametrize("name", ["id", "text"])
def test_a_null_where_none_may_be_is_refused(name, tmp_path):
    folder = make(tmp_path / "run", "Ulm") / "documents"
    schema = SCHEMAS["documents"].columns
    rows = [*open_dataset(folder).rows()]
    columns = [pa.array([None if f.name == name else rows[0][f.name]], f.type) for f in schema]
    with pa.ipc.new_file(str(folder / "shard-00000.arrow"), schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=schema))
    describe(folder)

    with pytest.raises(CorpusError, match=f"a null in the column {name}"):
        verify(folder)
