"""Rows of a ``ner`` dataset as CoNLL, JSON and Parquet; each file can be read back as it was.

The formats of annotation tools, which hold documents, are in ``exchange.py``.

Columns: the token, its tag and, if any row of the split has them, its inner tag (``_`` in rows
without). They are separated by one space, or by tabs where a token holds white space or there are
three columns. An empty line follows each sentence.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.errors import CorpusError, UsageError
from corpora.ner.columns import Tags, begins_of
from corpora.ner.readers import DOCSTART
from corpora.ner.schemes import normalise, to_scheme
from corpora.reports import counted

LETTERS = {"iobes": "BIES", "bmes": "BMES"}
HF_SPLITS = {"train": "train", "dev": "validation", "test": "test"}
_WHITE = r"[\s\p{Z}\x0b\x1c-\x1f\x{85}]"
_CARD = re.compile(
    rb"---\nconfigs:\n- config_name: default\n  data_files:\n"
    rb"(?:  - split: \w+\n    path: \S+\n)*---\n"
    rb"# NER data\n\nThe tags, by number:\n\n(?:- \d+: `[^\n]*`\n)*"
)
"""Matches a card that ``write_hf`` wrote."""
Opener = Callable[[], Iterator[pa.RecordBatch]]
"""A function that opens the rows of a split from the start."""


class UnwritableError(CorpusError):
    """A row that a format cannot hold in a form that could be read back."""


def write_columns(batches: Opener, path: Path, *, form: str) -> tuple[int, int]:
    """Write ``conll``, ``iobes`` or ``bmes``: (sentences, rows left out as they have no token)."""
    has_inner, is_ragged = _has_inner(batches), False
    for batch in batches():
        is_white = pc.match_substring_regex(batch.column("tokens").flatten(), _WHITE)
        is_ragged = is_ragged or bool(pc.any(is_white).as_py())
    separator = "\t" if has_inner or is_ragged else " "
    n = n_empty = 0
    with path.open("wb") as file:
        for id, columns in _rows(batches, form):
            if not columns[0]:
                n_empty += 1
                continue
            if has_inner and len(columns) == 2:
                columns.append(["_"] * len(columns[0]))
            file.write(lines_of(columns, id, separator=separator, is_first=n == 0).encode())
            n += 1
    return n, n_empty


def _rows(batches: Opener, form: str) -> Iterator[tuple[str, list[list[str]]]]:
    """Yield the id of each row, with its tokens, tags and (if it has them) inner tags."""
    for batch in batches():
        ids, tokens = (batch.column(name).to_pylist() for name in ("id", "tokens"))
        levels = (_tags(batch, name, form) for name in ("tags", "inner_tags"))
        for id, *columns in zip(ids, tokens, *levels, strict=True):
            yield id, [column for column in columns if column is not None]


def _has_inner(batches: Opener) -> bool:
    return any(batch.column("inner_tags").null_count < batch.num_rows for batch in batches())


def _tags(batch: pa.RecordBatch, name: str, form: str) -> list[list[str] | None]:
    """Return the tags of each row, in another scheme.

    Raises ``UnwritableError`` where they are not legal IOB2.
    """
    lists = batch.column(name)
    begins = begins_of(lists)
    normal = normalise(Tags.of(lists.flatten()), begins, "iob2")
    if normal.is_illegal.any():
        row = int(np.searchsorted(begins, np.argmax(normal.is_illegal), side="right")) - 1
        raise UnwritableError(
            f"{batch.column('id')[row]}: its {name} are not legal IOB2. Make the dataset with "
            "--illegal repair."
        )
    if form not in LETTERS:
        return lists.to_pylist()  # type: ignore[no-any-return]
    strings = to_scheme(normal.tags, letters=LETTERS[form]).strings().to_pylist()
    return [
        strings[begins[row] : begins[row + 1]] if valid else None
        for row, valid in enumerate(lists.is_valid().to_pylist())
    ]


def lines_of(
    columns: Sequence[Sequence[str]], id: str, *, separator: str = " ", is_first: bool = False
) -> str:
    """Return the lines of a sentence, with the empty line that ends it.

    The first sentence of a file gets an empty line before it if it would look like a byte order
    mark. Raises ``UnwritableError`` for a token that could not be read back.
    """
    block = "\n".join(map(separator.join, zip(*columns, strict=True)))
    n = len(columns[0])
    is_whole = block.count("\n") == n - 1 and "\r" not in block and "\0" not in block
    cells = block.split() if separator == " " else block.replace("\n", separator).split(separator)
    is_taken = any(token.startswith(DOCSTART) for token in columns[0])
    if not is_whole or not all(columns[0]) or is_taken or len(cells) != n * len(columns):
        tokens = enumerate(columns[0], 1)
        wrong = ((n, t) for n, t in tokens if not _is_writable(t, separator))
        number, token = next(wrong, (0, ""))
        what = f"token {number}, {token!r}," if number else "a tag"
        raise UnwritableError(
            f"{id}: {what} is empty, begins with {DOCSTART}, or holds white space or a NUL: "
            "columns cannot hold it. Choose another format: predict --format json, convert --to hf."
        )
    before = "\n" if is_first and block[0] == "\ufeff" else ""
    return f"{before}{block}\n\n"


def _is_writable(token: str, separator: str) -> bool:
    is_one = token.split() == [token] if separator == " " else not set("\t\r\n") & set(token)
    return bool(token) and is_one and "\0" not in token and not token.startswith(DOCSTART)


def write_json(batches: Opener, path: Path) -> tuple[int, int]:
    """Write an array of sentences of ``[token, tag]`` or, with inner tags, of three.

    Returns the numbers of sentences and of rows left out, as in ``write_columns``.
    """
    n = n_empty = 0
    with path.open("w", encoding="ascii", newline="") as file:
        file.write("[")
        for _, columns in _rows(batches, "json"):
            if columns[0]:
                file.write(", " * bool(n) + json.dumps(list(zip(*columns, strict=True))))
                n += 1
            else:
                n_empty += 1
        file.write("]")
    return n, n_empty


def write_hf(openers: Mapping[str, Opener], output: Path) -> list[str]:
    """Write splits as Parquet, with a card; returns a report, one line per file.

    Raises ``UsageError`` for a ``README.md`` that is none of these cards, or that was edited, and
    for splits without a card.
    """
    card_file = output / "README.md"
    paths = {split: output / f"{HF_SPLITS[split]}.parquet" for split in openers}
    if card_file.exists():
        strange = [] if _CARD.fullmatch(card_file.read_bytes()) else [card_file]
    else:
        strange = [path for path in paths.values() if path.exists()]
    if strange:
        raise UsageError(
            f"{strange[0]}: is there already, and is not what this command writes: somebody may "
            "have worked on it. Name another --output, or take it away."
        )
    classes = class_list(openers.values())
    features = hf_features(classes, has_inner=any(map(_has_inner, openers.values())))
    lines, card = [], ["---", "configs:", "- config_name: default", "  data_files:"]
    for path in paths.values():
        card += [f"  - split: {path.stem}", f"    path: {path.name}"]
    named = [f"- {index}: `{name}`" for index, name in enumerate(classes)]
    card += ["---", "# NER data", "", "The tags, by number:", "", *named]
    # first: after a kill, the splits belong to it
    card_file.write_text("\n".join(card) + "\n", encoding="utf-8")
    for split, rows in openers.items():
        n = write_parquet(rows, paths[split], classes=classes, features=features)
        lines.append(f"{paths[split]}: {counted(n, 'sentence')}")
    return [*lines, f"{card_file}: what datasets.load_dataset({str(output)!r}) opens"]


def class_list(openers: Iterable[Opener]) -> list[str]:
    """List all tags of a set: O, then B and I of each label in alphabetical order."""
    labels: set[str] = set()
    for batches in openers:
        for batch in batches():
            for name in ("tags", "inner_tags"):
                values = pc.unique(batch.column(name).flatten()).to_pylist()
                labels |= {value[2:] for value in values if value != "O"}
    return ["O", *(f"{letter}-{label}" for label in sorted(labels) for letter in "BI")]


Features = dict[str, dict[str, object]]


def hf_features(classes: Sequence[str], *, has_inner: bool) -> Features:
    """Describe the features in the format of ``datasets``."""
    tags: dict[str, object] = {
        "feature": {"names": list(classes), "_type": "ClassLabel"},
        "_type": "List",
    }
    string: dict[str, object] = {"dtype": "string", "_type": "Value"}
    return {
        "id": string,
        "document_id": string,
        "tokens": {"feature": string, "_type": "List"},
        "ner_tags": tags,
        **({"inner_ner_tags": tags} if has_inner else {}),
        "token_starts": {"feature": {"dtype": "int32", "_type": "Value"}, "_type": "List"},
    }


def write_parquet(
    batches: Opener, path: Path, *, classes: Sequence[str], features: Features
) -> int:
    """Write a split as Parquet with class ids for tags; returns the number of rows."""
    import pyarrow.parquet as pq

    names, tags = pa.array(classes, pa.string()), pa.list_(pa.int64())
    types = {"id": pa.string(), "document_id": pa.string(), "tokens": pa.list_(pa.string())}
    types |= {"ner_tags": tags, "inner_ner_tags": tags, "token_starts": pa.list_(pa.int32())}
    info = json.dumps({"info": {"features": features}})
    schema = pa.schema([(name, types[name]) for name in features], metadata={"huggingface": info})
    n = 0
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for batch in batches():
            arrays = [
                _encoded(batch.column(name.replace("ner_tags", "tags")), names)
                if name.endswith("ner_tags")
                else batch.column(name)
                for name in schema.names
            ]
            writer.write_batch(pa.RecordBatch.from_arrays(arrays, schema=schema))
            n += batch.num_rows
    return n


def _encoded(lists: pa.ListArray, names: pa.StringArray) -> pa.ListArray:
    """Replace tags by their ids; a null stays null."""
    values = pc.index_in(lists.flatten(), names).cast(pa.int64())
    offsets = pa.array(begins_of(lists), pa.int32())
    return pa.ListArray.from_arrays(offsets, values, mask=lists.is_null())
