"""Rows of a ``ner`` dataset as files that others read; each can be read back as it was.

Columns: the token, its tag, and, where a row of the split has them, its inner tag (``_`` in rows
without); one space between, or tabs where a token holds white space or there are three columns. An
empty line after each sentence.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from corpora.errors import CorpusError
from corpora.ner.columns import Tags, begins_of
from corpora.ner.readers import DOCSTART
from corpora.ner.schemes import normalise, to_scheme

LETTERS = {"iobes": "BIES", "bmes": "BMES"}
HF_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
_WHITE = r"[\s\p{Z}\x0b\x1c-\x1f\x{85}]"
Opener = Callable[[], Iterator[pa.RecordBatch]]
"""Opens the rows of a split from the start."""


class UnwritableError(CorpusError):
    """A row that a form cannot hold, so that it could be read back."""


def write_columns(batches: Opener, path: Path, *, form: str) -> tuple[int, int]:
    """Write ``conll``, ``iobes`` or ``bmes``: (sentences, rows left out for want of tokens)."""
    has_inner, is_ragged = _look(batches)
    separator = "\t" if has_inner or is_ragged else " "
    n = n_empty = 0
    with path.open("wb") as file:
        for batch in batches():
            check_legal(batch)
            outer = _strings(batch, "tags", form)
            inner = _strings(batch, "inner_tags", form) if has_inner else None
            for row in range(batch.num_rows):
                tokens = batch.column("tokens")[row].as_py()
                if not tokens:
                    n_empty += 1
                    continue
                columns = [tokens, outer[row]]
                if inner is not None:
                    columns.append(inner[row] or ["_"] * len(tokens))
                block = "\n".join(map(separator.join, zip(*columns, strict=True)))
                _check_block(block, columns, batch.column("id")[row].as_py())
                if n == 0 and block[0] == "\ufeff":  # it would be taken for a byte order mark
                    file.write(b"\n")
                file.write(f"{block}\n\n".encode())
                n += 1
    return n, n_empty


def _look(batches: Opener) -> tuple[bool, bool]:
    """Whether a row has inner tags, and whether a token holds white space."""
    has_inner = is_ragged = False
    for batch in batches():
        inner = batch.column("inner_tags")
        has_inner |= inner.null_count < len(inner)
        found = pa.compute.match_substring_regex(batch.column("tokens").flatten(), _WHITE)
        is_ragged |= bool(pa.compute.any(found).as_py())
    return has_inner, is_ragged


def check_legal(batch: pa.RecordBatch) -> None:
    """Raise ``UnwritableError`` where tags are no legal IOB2."""
    import numpy as np

    for name in ("tags", "inner_tags"):
        lists = batch.column(name)
        begins = begins_of(lists)
        normal = normalise(Tags.of(lists.flatten()), begins, "iob2")
        if normal.is_illegal.any():
            token = int(np.flatnonzero(normal.is_illegal)[0])
            row = int(np.searchsorted(begins, token, side="right")) - 1
            raise UnwritableError(
                f"{batch.column('id')[row]}: its {name} are not legal IOB2. Make the dataset with "
                "--illegal repair."
            )


def _strings(batch: pa.RecordBatch, name: str, form: str) -> list[list[str] | None]:
    """The tags of each row, in another scheme."""
    lists = batch.column(name)
    if form == "conll":
        return lists.to_pylist()  # type: ignore[no-any-return]
    begins = begins_of(lists)
    normal = normalise(Tags.of(lists.flatten()), begins, "iob2").tags
    strings = to_scheme(normal, letters=LETTERS[form]).strings().to_pylist()
    return [
        strings[begins[row] : begins[row + 1]] if valid else None
        for row, valid in enumerate(lists.is_valid().to_pylist())
    ]


def _check_block(block: str, columns: Sequence[Sequence[str]], id: str) -> None:
    n = len(columns[0])
    is_whole = block.count("\n") == n - 1 and "\r" not in block and "\0" not in block
    n_tabs = (len(columns) - 1) * n
    is_taken = any(token.startswith(DOCSTART) for token in columns[0])
    has_tab = "\t" in block and block.count("\t") != n_tabs
    if not is_whole or not all(columns[0]) or is_taken or has_tab:
        raise UnwritableError(
            f"{id}: has a token that is empty, begins with {DOCSTART}, or holds a tab, a line end "
            "or a NUL: columns cannot hold it. Use --to hf."
        )


def write_json(batches: Opener, path: Path) -> tuple[int, int]:
    """Write an array of sentences of ``[token, tag]`` or, with inner tags, of three."""
    n = n_empty = 0
    with path.open("w", encoding="ascii", newline="") as file:
        file.write("[")
        for batch in batches():
            check_legal(batch)
            rows = (batch.column(c).to_pylist() for c in ("tokens", "tags", "inner_tags"))
            for tokens, tags, inner in zip(*rows, strict=True):
                if not tokens:
                    n_empty += 1
                    continue
                columns = [tokens, tags] if inner is None else [tokens, tags, inner]
                file.write(
                    ", " * bool(n) + json.dumps([list(t) for t in zip(*columns, strict=True)])
                )
                n += 1
        file.write("]")
    return n, n_empty


def class_list(openers: Iterable[Opener]) -> list[str]:
    """All tags of a set: O, then B and I of each label in the order of the alphabet."""
    labels: set[str] = set()
    for batches in openers:
        for batch in batches():
            for name in ("tags", "inner_tags"):
                values = pa.compute.unique(batch.column(name).flatten()).to_pylist()
                labels |= {value[2:] for value in values if value != "O"}
    return ["O", *(f"{letter}-{label}" for label in sorted(labels) for letter in "BI")]


def hf_features(classes: Sequence[str], *, has_inner: bool) -> dict[str, Any]:
    """The features as ``datasets`` describes them."""
    tags = {"feature": {"names": list(classes), "_type": "ClassLabel"}, "_type": "List"}
    string = {"dtype": "string", "_type": "Value"}
    return {
        "id": string,
        "document_id": string,
        "tokens": {"feature": string, "_type": "List"},
        "ner_tags": tags,
        **({"inner_ner_tags": tags} if has_inner else {}),
        "token_starts": {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "List"},
    }


def write_parquet(
    batches: Opener, path: Path, *, classes: Sequence[str], features: Mapping[str, Any]
) -> int:
    """Write a split as Parquet with numbers for tags; returns the number of rows."""
    import pyarrow.parquet as pq

    numbers = pa.array(classes, pa.string())
    types = {"id": pa.string(), "document_id": pa.string(), "tokens": pa.list_(pa.string())}
    tags, starts = pa.list_(pa.int64()), pa.list_(pa.int32())
    types |= {"ner_tags": tags, "inner_ner_tags": tags, "token_starts": starts}
    info = json.dumps({"info": {"features": features}})
    schema = pa.schema([(name, types[name]) for name in features], metadata={"huggingface": info})
    n = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches():
            columns = {
                "ner_tags": _encoded(batch.column("tags"), numbers),
                "inner_ner_tags": _encoded(batch.column("inner_tags"), numbers),
            }
            arrays = [columns.get(name, _column(batch, name)) for name in schema.names]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            n += batch.num_rows
    return n


def _column(batch: pa.RecordBatch, name: str) -> pa.Array | None:
    return batch.column(name) if name in batch.schema.names else None


def _encoded(lists: pa.ListArray, names: pa.StringArray) -> pa.ListArray:
    """Numbers for tags; a null stays one."""
    values = pa.compute.index_in(lists.flatten(), names).cast(pa.int64())
    offsets = pa.array(begins_of(lists), pa.int32())
    return pa.ListArray.from_arrays(offsets, values, mask=lists.is_null())


def write_card(path: Path, classes: Sequence[str], *, splits: Sequence[str]) -> None:
    """Write the card of the dataset, whose head says which file is which split."""
    lines = ["---", "configs:", "- config_name: default", "  data_files:"]
    for split in splits:
        lines += [f"  - split: {split}", f"    path: {split}.parquet"]
    lines += ["---", "# NER data", "", "The tags, by number:", ""]
    lines += [f"- {number}: `{name}`" for number, name in enumerate(classes)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
