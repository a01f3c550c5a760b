"""The rows of a vocabulary in the formats of other tools."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
from corpora.entities.pages import OF_PAGES
from corpora.entities.vocabulary import MASK2, SPECIAL, language_of, split_entities
from corpora.system.cells import one_line

_COLUMNS = ("id", "entity", "title", "count", "retired", "names", *OF_PAGES)


class ExportRow(NamedTuple):
    """A row of the vocabulary as exports need it."""

    id: int
    entity: str
    title: str
    n_mentions: int
    retired: bool
    names: Sequence[str] | None = None
    """The names of an entity that has several, or another than its own."""
    pairs_of_ids: Sequence[Mapping[str, str]] | None = None
    type: str | None = None
    description: str | None = None

    @property
    def ids(self) -> dict[str, str]:
        """The ids of the entity, by scheme."""
        return {pair["key"]: pair["value"] for pair in self.pairs_of_ids or ()}


def read_rows(shards: Iterable[Path]) -> Iterator[ExportRow]:
    """Yield the rows of a vocabulary, in the order of their ids."""
    for batch in read_shards(shards, SCHEMAS["entities"], columns=_COLUMNS):
        columns = (batch.column(name).to_pylist() for name in _COLUMNS)
        yield from map(ExportRow, *columns)


class ExportNames:
    """The names of entities in exports: titles and languages, also of equivalents."""

    def __init__(self, shards: Sequence[Path]) -> None:
        spaces: dict[str, None] = {}
        columns = ("entity", "names", "retired")
        for batch in read_shards(shards, SCHEMAS["entities"], columns=columns):
            live = batch.filter(pc.invert(batch.column("retired")))
            live = live.filter(pc.invert(pc.is_in(live.column("entity"), pa.array(SPECIAL))))
            is_named = pc.greater(pc.fill_null(pc.list_value_length(live.column("names")), 0), 0)
            own = live.column("entity").filter(pc.invert(is_named))
            for names in (own, pc.list_flatten(live.column("names"))):
                spaces |= dict.fromkeys(split_entities(names)[0].unique().to_pylist())
        self.languages = sorted({language_of(space) for space in spaces})

    def pairs(self, row: ExportRow) -> list[tuple[str, str]]:
        """Return title and language of an entity and its equivalents.

        The title of a retired row is ``[RETIRED ID]``.
        """
        if row.entity in SPECIAL or row.retired:
            title = f"[RETIRED {row.id}]" if row.retired else row.entity
            return [(title, language) for language in self.languages]
        return [_pair(entity) for entity in row.names or (row.entity,)]

    def keys(self, row: ExportRow) -> list[str]:
        """Return the names of an entity in LukeTokenizer.

        With several languages, returns those in MLukeTokenizer.
        """
        if row.entity in SPECIAL:
            return [row.entity]
        if len(self.languages) == 1:
            return [row.title]
        return [f"{language}:{title}" for title, language in self.pairs(row)]


def _pair(entity: str) -> tuple[str, str]:
    space, colon, title = entity.partition(":")
    return (title, language_of(space)) if colon else (entity, "")


def luke_lines(rows: Iterable[ExportRow], names: ExportNames) -> Iterator[str]:
    """Write ``entity_vocab.jsonl`` of LUKE: an object per line, in the order of ids."""
    for row in rows:
        line: dict[str, object] = {"id": row.id, "entities": names.pairs(row)}
        line |= {"count": row.n_mentions} | ({"ids": row.ids} if row.ids else {})
        yield json.dumps(line, ensure_ascii=False) + "\n"


def tokenizer_lines(rows: Iterable[ExportRow], names: ExportNames) -> Iterator[str]:
    """Write ``entity_vocab.json`` of transformers: names to ids.

    ``[MASK2]`` is one past the last id. Retired rows have no name there, so that no text can mean
    them. If two entities share a name, the first has it.
    """
    n_rows = 0
    written: set[str] = set()
    yield "{\n"
    for row in rows:
        n_rows += 1
        keys = [] if row.retired else names.keys(row)
        for key in keys:
            if key in written:
                continue
            written.add(key)
            yield f"{json.dumps(key, ensure_ascii=False)}: {row.id},\n"
    yield f"{json.dumps(MASK2)}: {n_rows}\n}}\n"


def tokenizer_vocabulary(entities: Sequence[str]) -> dict[str, int]:
    """Build ``entity_vocab.json`` for a model; ``entities`` are the names of its table's rows.

    A model has no row for ``[MASK2]``, without which these tokenizers do not open: it gets the row
    of ``[MASK]``. If two entities share a title, the first has the name.
    """
    spaces = {name.partition(":")[0] for name in entities if name not in SPECIAL and ":" in name}
    is_one = len({language_of(space) for space in spaces}) < 2
    ids: dict[str, int] = {}
    for id, name in enumerate(entities):
        title, language = (name, "") if name in SPECIAL else _pair(name)
        ids.setdefault(title if is_one or not language else f"{language}:{title}", id)
    return {**ids, MASK2: ids[SPECIAL[2]]} if SPECIAL[2] in ids else ids


def table_lines(rows: Iterable[ExportRow], names: ExportNames) -> Iterator[str]:
    """Write ``entity_vocab.tsv`` of LUKE's first version: name and count.

    The line number is the id.
    """
    for row in rows:
        name = names.pairs(row)[0][0] if row.retired else names.keys(row)[0]
        yield f"{' '.join(name.split())}\t{row.n_mentions}\n"


def id_lines(rows: Iterable[ExportRow], _: ExportNames) -> Iterator[str]:
    """Write ``entity_ids.tsv``: a line per entity with an id, a type or a description."""
    yield "id\tentity\ttype\tids\tdescription\n"
    for row in rows:
        ids = " ".join(f"{scheme}:{id}" for scheme, id in row.ids.items())
        if ids or row.type or row.description:
            cells = (str(row.id), row.entity, row.type or "", ids, row.description or "")
            yield "\t".join(map(one_line, cells)) + "\n"
