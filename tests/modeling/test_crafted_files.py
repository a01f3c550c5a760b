"""Files of strangers that are damaged, or crafted: read, or a clear error, and nothing else."""

import json
import random
import shutil
import struct

import pyarrow as pa
import pytest

from corpora.datasets.document_batches import documents_of
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.errors import CorpusError
from modeling.taggers.tagger import Tagger
from tests.modeling.test_predict_documents import documents  # noqa: F401 - a fixture

TRIES = 40
NUMBERS = (0, 1, -1, 7, 255, 2**31 - 1, -(2**31), 2**32 - 1, 2**62, -(2**63), 10**30)
VALUES = (None, True, "", "x" * 99, "\ud800", "(a+)+$", [], {}, [[]], 1e308, "F64", "BPE", *NUMBERS)


def with_other_bytes(data, rng):
    """Flip, cut, repeat or overwrite some bytes."""
    data = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 5])):
        at = rng.randrange(max(1, len(data) - 8))
        match rng.randrange(5):
            case 0:
                data[at] ^= 1 << rng.randrange(8)
            case 1:
                del data[at : at + rng.choice([1, 8, len(data) // 2])]
            case 2:
                data[at:at] = data[at : at + rng.choice([1, 8, 100])]
            case 3:
                data[at : at + 4] = struct.pack("<I", rng.choice(NUMBERS) % 2**32)
            case 4:
                data[at : at + 8] = struct.pack("<Q", rng.choice(NUMBERS) % 2**64)
    return bytes(data)


def with_other_values(text, rng):
    """Change values of JSON, or nest them deeply."""
    about = json.loads(text)
    for _ in range(rng.choice([1, 1, 3])):
        inner = about
        while True:
            key = rng.choice([*inner] if isinstance(inner, dict) else range(len(inner)))
            if not (isinstance(inner[key], dict | list) and inner[key]) or rng.random() < 0.2:
                break
            inner = inner[key]
        value = rng.choice(VALUES)
        for _ in range(rng.choice([0, 0, 0, 500])):
            value = [value]
        inner[key] = value
    return json.dumps(about).encode("utf-8", "surrogatepass")


def with_another_head(data, rng):
    """Change what the head of a safetensors file says."""
    (size,) = struct.unpack("<Q", data[:8])
    head = with_other_values(data[8 : 8 + size], rng)
    head += b" " * (-len(head) % 8)
    return struct.pack("<Q", len(head)) + head + data[8 + size :]


def with_other_buffers(data, rng):
    """Change offsets or values of a column, in a file that is well-formed otherwise."""
    batch = pa.ipc.open_file(data).get_batch(0)
    columns = list(batch.columns)
    number = rng.choice([n for n, kind in enumerate(batch.schema.types) if kind == pa.string()])
    buffers = columns[number].buffers()
    at = rng.choice([n for n, buffer in enumerate(buffers) if buffer])
    buffers[at] = pa.py_buffer(with_other_bytes(buffers[at].to_pybytes(), rng))
    try:
        columns[number] = pa.Array.from_buffers(pa.string(), len(batch), buffers)
    except pa.ArrowInvalid:
        return with_other_bytes(data, rng)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, batch.schema) as writer:
        writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=batch.schema))
    return sink.getvalue().to_pybytes()


def errors_of(path, crafted, read):
    """Read a file crafted in many ways; returns the messages."""
    whole, messages = path.read_bytes(), []
    for number in range(TRIES):
        path.write_bytes(crafted(whole, random.Random(number)))
        try:
            read(path)
        except CorpusError as error:
            messages.append(str(error))
    return messages


def tag(path):
    Tagger.load(path.parent)("ich war in Ulm . Theo sah Anna 😀 長")


@pytest.mark.parametrize(
    ("name", "crafted"),
    [
        ("model.safetensors", with_other_bytes),
        ("model.safetensors", with_another_head),
        ("tokenizer.json", with_other_bytes),
        ("tokenizer.json", with_other_values),
        ("tagger.json", with_other_values),
    ],
)
def test_a_crafted_tagger_is_read_or_an_error_that_names_its_folder(
    name, crafted, tagger_run, tmp_path
):
    shutil.copytree(tagger_run / "seed-1" / "final", tmp_path / "tagger")

    messages = errors_of(tmp_path / "tagger" / name, crafted, tag)

    assert len(messages) > TRIES / 4
    assert not [message for message in messages if str(tmp_path / "tagger") not in message]


@pytest.mark.parametrize("crafted", [with_other_bytes, with_other_buffers])
def test_a_crafted_shard_is_read_or_an_error_that_names_it(crafted, documents):  # noqa: F811
    def read(path):
        for batch in read_batches(path, SCHEMAS["documents"]):
            for document in documents_of(batch):
                assert document.text.encode()

    messages = errors_of(documents / "shard-00000.arrow", crafted, read)

    assert len(messages) > TRIES / 4
    assert not [message for message in messages if "shard-00000.arrow: " not in message]


@pytest.mark.parametrize("id", [5_000, 2**32 - 1])
def test_a_subword_whose_id_no_encoder_has_is_an_error(id, tagger_run, tmp_path):
    shutil.copytree(tagger_run / "seed-1" / "final", tmp_path / "tagger")
    file = tmp_path / "tagger" / "tokenizer.json"
    about = json.loads(file.read_text())
    about["model"]["vocab"]["Ulm"] = id
    file.write_text(json.dumps(about))

    with pytest.raises(CorpusError, match=str(tmp_path / "tagger")):
        tag(file)


@pytest.mark.parametrize(
    "normalizer",
    [
        {"type": "Precompiled", "precompiled_charsmap": "wDvdkQ=="},
        {
            "type": "Sequence",
            "normalizers": [{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}] * 36,
        },
    ],
    ids=["map", "growth"],
)
def test_a_normalizer_that_would_take_all_memory_is_an_error(normalizer, tagger_run, tmp_path):
    shutil.copytree(tagger_run / "seed-1" / "final", tmp_path / "tagger")
    file = tmp_path / "tagger" / "tokenizer.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "normalizer": normalizer}))

    with pytest.raises(CorpusError, match=f"{file}: no tokenizer"):
        tag(file)
