"""The vocabulary in the formats of other tools, and the report on how it was made."""

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
from corpora.entities.choice import MIN_COUNTS, SIZES, Change
from corpora.entities.pages import OF_PAGES
from corpora.entities.vocabulary import MASK2, SPECIAL, language_of, split_entities
from corpora.errors import CorpusError
from corpora.reports import markdown_table

_COLUMNS = ("id", "entity", "title", "count", "retired", *OF_PAGES)
_LISTED = 20
_MANY = 0.3
"""The fraction of mentions without a page from which on a warning is given; red links are fewer."""


class Row(NamedTuple):
    """A row of the vocabulary as exports need it."""

    id: int
    entity: str
    title: str
    n_mentions: int
    retired: bool
    pairs_of_ids: Sequence[Mapping[str, str]] | None = None
    type: str | None = None
    description: str | None = None

    @property
    def ids(self) -> dict[str, str]:
        """The ids of the entity, by scheme."""
        return {pair["key"]: pair["value"] for pair in self.pairs_of_ids or ()}


def read_rows(shards: Iterable[Path]) -> Iterator[Row]:
    """Yield the rows of a vocabulary, in the order of their ids."""
    for batch in read_shards(shards, SCHEMAS["entities"], columns=_COLUMNS):
        columns = (batch.column(name).to_pylist() for name in _COLUMNS)
        yield from map(Row, *columns)


class Names:
    """The names of entities in exports: titles and languages, also of equivalents."""

    def __init__(self, shards: Sequence[Path], equivalents: Mapping[str, Sequence[str]]) -> None:
        self._equivalents = equivalents
        spaces: dict[str, None] = {}
        for batch in read_shards(shards, SCHEMAS["entities"], columns=("entity", "retired")):
            names = batch.column("entity").filter(pc.invert(batch.column("retired")))
            names = names.filter(pc.invert(pc.is_in(names, pa.array(SPECIAL))))
            spaces |= dict.fromkeys(split_entities(names)[0].to_pylist())
        members = (name for names in equivalents.values() for name in names)
        spaces |= dict.fromkeys(name.partition(":")[0] for name in members)
        self.languages = sorted({language_of(space) for space in spaces})

    def pairs(self, row: Row) -> list[tuple[str, str]]:
        """Return title and language of an entity and its equivalents.

        The title of a retired row is ``[RETIRED ID]``.
        """
        if row.entity in SPECIAL or row.retired:
            title = f"[RETIRED {row.id}]" if row.retired else row.entity
            return [(title, language) for language in self.languages]
        members = (row.entity, *self._equivalents.get(row.entity, ()))
        return [_pair(entity) for entity in members]

    def keys(self, row: Row) -> list[str]:
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


def luke_lines(rows: Iterable[Row], names: Names) -> Iterator[str]:
    """Write ``entity_vocab.jsonl`` of LUKE: an object per line, in the order of ids."""
    for row in rows:
        line: dict[str, object] = {"id": row.id, "entities": names.pairs(row)}
        line |= {"count": row.n_mentions} | ({"ids": row.ids} if row.ids else {})
        yield json.dumps(line, ensure_ascii=False) + "\n"


def tokenizer_lines(rows: Iterable[Row], names: Names) -> Iterator[str]:
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


def table_lines(rows: Iterable[Row], names: Names) -> Iterator[str]:
    """Write ``entity_vocab.tsv`` of LUKE's first version: name and count.

    The line number is the id.
    """
    for row in rows:
        name = names.pairs(row)[0][0] if row.retired else names.keys(row)[0]
        yield f"{' '.join(name.split())}\t{row.n_mentions}\n"


def id_lines(rows: Iterable[Row], _: Names) -> Iterator[str]:
    """Write ``entity_ids.tsv``: a line per entity with an id, a type or a description."""
    yield "id\tentity\ttype\tids\tdescription\n"
    for row in rows:
        ids = " ".join(f"{scheme}:{id}" for scheme, id in row.ids.items())
        if ids or row.type or row.description:
            cells = (str(row.id), row.entity, row.type or "", ids, row.description or "")
            yield "\t".join(" ".join(cell.split()) for cell in cells) + "\n"


def change_lines(listed: Iterable[Change]) -> Iterator[str]:
    """Write ``changes.tsv``: the differences from the vocabulary before."""
    yield "\t".join(Change._fields) + "\n"
    for change in listed:
        values = ("" if value is None else " ".join(str(value).split()) for value in change)
        yield "\t".join(values) + "\n"


def coverage_lines(counters: Mapping[str, int]) -> Iterator[str]:
    """Write ``coverage.tsv``: what each size and each minimum count would keep."""
    yield "rule\tvalue\tentities\tmentions\tfraction\n"
    for rule, value, n_entities, n_mentions, ratio in _coverage(counters):
        yield f"{rule}\t{value}\t{n_entities}\t{n_mentions}\t{ratio:.6f}\n"


def _coverage(counters: Mapping[str, int]) -> Iterator[tuple[str, str, int, int, float]]:
    rules = [("size", str(size)) for size in (*SIZES, "all")]
    rules += [("min_count", str(least)) for least in MIN_COUNTS]
    n_all = counters["mentions.counted"]
    for rule, value in rules:
        n_entities, n_mentions = (
            counters[f"coverage/{rule}/{value}/{what}"] for what in ("entities", "mentions")
        )
        yield rule, value, n_entities, n_mentions, n_mentions / n_all


def report(
    counters: Mapping[str, int], parameters: Mapping[str, object], rows: Iterable[Row]
) -> str:
    """Write ``report.md``: what was counted, what was kept, and what other limits would keep."""
    options = (
        (name, ", ".join(map(str, value)) if isinstance(value, list) else str(value))
        for name, value in parameters.items()
    )
    counted = ((name, count) for name, count in counters.items() if "/" not in name)
    coverage = (
        (f"{rule} {int(value):,}" if value.isdigit() else f"{rule} {value}", *n, f"{ratio:.1%}")
        for rule, value, *n, ratio in _coverage(counters)
    )
    known: Counter[str] = Counter()
    mentioned = (row for row in _counted(rows, known) if row.n_mentions)
    first = heapq.nsmallest(_LISTED, mentioned, key=lambda row: (-row.n_mentions, row.title))
    listed = ((str(row.id), row.entity, row.n_mentions) for row in first)
    n_live = max(known.pop("entities", 0), 1)
    of_pages = ((what, n, f"{n / n_live:.1%}") for what, n in sorted(known.items()))
    warning = warn_of_missing_pages(counters)
    lines = [
        *("# Entity vocabulary", "", *markdown_table(("option", "value"), options, align="ll")),
        *("", *markdown_table(("what", "number"), counted)),
        *(("", f"**{warning}**") if warning else ()),
        *("", "## What each size and each minimum count keeps", ""),
        *markdown_table(("rule", "entities", "mentions", "fraction of the counted"), coverage),
        *("", "## Ids, types and descriptions", ""),
        *markdown_table(("entities with", "number", "of all"), of_pages),
        *("", "## The most frequent", ""),
        *markdown_table(("id", "entity", "mentions"), listed, align="rlr"),
    ]
    return "\n".join([*lines, ""])


def _counted(rows: Iterable[Row], known: Counter[str]) -> Iterator[Row]:
    """Pass rows on, and count what is known of entities, without special and retired rows."""
    for row in rows:
        if not row.retired and row.entity not in SPECIAL:
            known["entities"] += 1
            known.update(f"an id in {scheme}" for scheme in row.ids)
            known["an id"] += bool(row.ids)
            known.update([f"the type {row.type}"] if row.type else ())
            known["a description"] += row.description is not None
        yield row


def warn_of_missing_pages(counters: Mapping[str, int]) -> str:
    """Return a warning if many mentions lead to pages that the input lacks, and what to do.

    Empty if few do.
    """
    n_dropped = counters.get("mentions.of_no_page", 0)
    fraction = n_dropped / max(counters.get("mentions.counted", 0), 1)
    if fraction < _MANY:
        return ""
    return (
        f"{n_dropped:,} mentions ({fraction:.0%} of the counted) lead to pages that are not in the "
        "input, and count for nothing. If the input is a part of a wiki only, keep them with "
        "--existing any; a complete wiki has red links only there."
    )


def read_equivalents(path: Path) -> pa.Table:
    """Read a table of equivalents: columns ``title`` and ``target``, the first of its line.

    Lines hold entities separated by tabs; empty lines and those that begin with ``#`` are skipped.
    Raises ``CorpusError`` where an entity has no space, or occurs twice.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 ({error}). Save it as UTF-8.") from error
    split = pc.split_pattern(pa.array([line.strip("\r") for line in lines], pa.string()), "\t")
    numbers, entities = pc.list_parent_indices(split), pc.list_flatten(split)
    entities = pc.utf8_trim_whitespace(entities)
    firsts = pc.utf8_trim_whitespace(pc.list_element(split, 0))
    is_used = pa.array([bool(line.strip()) and not line.startswith("#") for line in lines])
    is_used = is_used.take(numbers)
    table = pa.table({"title": entities, "target": firsts.take(numbers)})
    table = table.append_column("line", numbers).filter(is_used)
    _check_equivalents(path, table)
    return table.filter(pc.not_equal(table.column("title"), table.column("target")))


def members_of(equivalents: pa.Table, entities: pa.ChunkedArray) -> dict[str, list[str]]:
    """Map each of these entities to its equivalents, in the order of their table."""
    of_vocab = equivalents.filter(pc.is_in(equivalents.column("target"), entities))
    members: defaultdict[str, list[str]] = defaultdict(list)
    columns = (of_vocab.column(name).to_pylist() for name in ("target", "title"))
    for target, title in zip(*columns, strict=True):
        members[target].append(title)
    return members


def _check_equivalents(path: Path, table: pa.Table) -> None:
    titles = table.column("title")
    wrong = table.filter(pc.invert(pc.match_substring_regex(titles, r"^[^:\s]+:.")))
    if len(wrong):
        row = wrong.slice(0, 1).to_pylist()[0]
        raise CorpusError(
            f"{path}:{row['line'] + 1}: {row['title']!r} is no entity. Write the wiki before the "
            "title, and tabs between: dawiki:Berlin<TAB>dewiki:Berlin"
        )
    counts = pc.value_counts(titles.combine_chunks())
    duplicates = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(duplicates):
        lines = table.filter(pc.equal(titles, duplicates[0])).column("line").to_pylist()
        raise CorpusError(
            f"{path}:{lines[1] + 1}: {duplicates[0].as_py()!r} stands in the table already, in "
            f"line {lines[0] + 1}. Leave one out."
        )
