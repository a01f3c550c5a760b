"""Equal entities, which become one entity of the vocabulary: the table that a user writes."""

from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpora.errors import CorpusError


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
