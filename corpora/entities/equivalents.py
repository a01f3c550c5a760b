"""Equal entities, which become one entity of the vocabulary.

They stand in a table that a user writes, or are the pages of several wikis with the same item of
Wikidata, whose entity is called after the item: ``wikidata:Q64``. Or they link to each other as
pages on the same subject; the entity is called after the page whose name is the first in order.
"""

from array import array
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.entities.pages import ITEMS, items_of
from corpora.entities.vocabulary import language_of, split_entities
from corpora.errors import CorpusError
from corpora.wikipedia.sql_dumps import language_links, wiki_of_dump
from corpora.wikipedia.titles import language_of as tag_of
from corpora.wikipedia.titles import wiki_of, wikis

_NO_NAMES = pa.table(
    {
        "entity": pa.array([], pa.string()),
        "names": pa.array([], pa.list_(pa.string())),
        "languages": pa.array([], pa.int32()),
    }
)

_NO_LINKS = pa.table({"page": pa.array([], pa.int64()), "target": pa.array([], pa.string())})
_ROWS_AT_ONCE = 1 << 20


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


def read_items(documents: Iterable[pa.RecordBatch]) -> pa.Table:
    """Read the pages that have an item: columns ``title``, the page, and ``target``, the item."""
    titles, targets = [], []
    for batch in documents:
        own = pc.binary_join_element_wise(batch.column("group"), batch.column("title"), ":")
        for page, item in zip(own.to_pylist(), items_of(batch), strict=True):
            if page and item:
                titles.append(page)
                targets.append(f"{ITEMS}:{item}")
    return pa.table({"title": pa.array(titles, pa.string()), "target": targets or titles})


def read_language_links(
    path: Path, tables: Sequence[Path], documents: Iterable[pa.RecordBatch]
) -> pa.Table:
    """Read the links of a wiki's pages to pages on the same subject in the other wikis.

    ``path`` is one of ``tables``, dumps of ``langlinks``, one for each wiki of the documents
    (columns ``id, group, title``). Returns as ``read_equivalents``: each page of the wiki that is
    not the first of its subject. All pages on a subject link to each other, so that each knows the
    first. Raises ``CorpusError`` where a wiki has no table.
    """
    wiki, known = wiki_of_dump(path), {wiki_of_dump(table) for table in tables}
    pages, spaces = [], set()
    for batch in documents:
        table = pa.table({name: batch.column(name) for name in ("id", "group", "title")})
        spaces.update(pc.unique(table.column("group")).to_pylist())
        is_own = pc.match_substring_regex(table.column("id"), rf"^{wiki}:\d+$")
        pages.append(table.filter(is_own).select(["id", "title"]))
    if missing := sorted(spaces - known):
        raise CorpusError(
            f"--langlinks: no table of {', '.join(missing)}. Give one for each wiki of --input."
        )
    targets = _first_links(path, _codes_before(wiki, spaces))
    table = pa.concat_tables(pages)
    numbers = pc.cast(pc.replace_substring_regex(table.column("id"), r"^.*:", ""), pa.int64())
    table = table.append_column("page", numbers).join(targets, "page", join_type="inner")
    titles = pc.binary_join_element_wise(wiki, table.column("title"), ":")
    return pa.table({"title": titles, "target": table.column("target")})


def _codes_before(wiki: str, spaces: Iterable[str]) -> Mapping[str, str]:
    """Map the prefixes that lead to a wiki of ``spaces`` whose name is before ``wiki`` to it."""
    own, codes = wiki_of(name=wiki, lang=tag_of(wiki)), {}
    for code in wikis()["languages"]:
        other = own.neighbor(code)
        if other and other.name in spaces and other.name < wiki:
            codes[code] = other.name
    return codes


def _first_links(path: Path, codes: Mapping[str, str]) -> pa.Table:
    """Read ``page, target``: of each page's links, the one to the first wiki by name.

    The links of a page stand together: the table is written in the order of its primary key.
    """
    named = {code: wiki_of(name=name, lang=tag_of(name)) for code, name in codes.items()}
    chunks, pages, targets = [_NO_LINKS], array("q"), []
    for page, links in groupby(language_links(path, codes), key=itemgetter(0)):
        pages.append(page)
        targets.append(min(f"{codes[code]}:{named[code].title(title)}" for _, code, title in links))
        if len(pages) == _ROWS_AT_ONCE:
            chunks.append(_table_of_links(pages, targets))
            pages, targets = array("q"), []
    return pa.concat_tables([*chunks, _table_of_links(pages, targets)])


def _table_of_links(pages: "array[int]", targets: list[str]) -> pa.Table:
    return pa.table([np.asarray(pages), pa.array(targets, pa.string())], schema=_NO_LINKS.schema)


def names_of_entities(equivalents: Iterable[pa.Table]) -> pa.Table:
    """Collect the names of each entity that has equivalents, and count their languages.

    Returns ``entity, names, languages``. An entity that is called after an item has the names of
    its pages; the name of any other comes first.
    """
    table = pa.concat_tables(each.select(["title", "target"]) for each in equivalents)
    if not len(table):
        return _NO_NAMES
    targets = table.column("target").unique()
    is_named = pc.invert(pc.starts_with(targets, f"{ITEMS}:"))
    own = pa.table({"title": targets.filter(is_named), "target": targets.filter(is_named)})
    table = pa.concat_tables([own, table]).combine_chunks()
    table = table.take(pc.sort_indices(table, [("target", "ascending")]))
    encoded = table.column("target").combine_chunks().dictionary_encode()
    begins = np.flatnonzero(np.diff(np.asarray(encoded.indices), prepend=-1, append=-1))
    titles = table.column("title").combine_chunks()
    spaces = split_entities(titles)[0].dictionary_encode()
    langs = pa.array(map(language_of, spaces.dictionary.to_pylist()), pa.string())
    of_titles = np.asarray(langs.dictionary_encode().indices)[np.asarray(spaces.indices)]
    pairs = np.unique(np.column_stack([np.asarray(encoded.indices), of_titles]), axis=0)
    return pa.table(
        {
            "entity": encoded.dictionary,
            "names": pa.ListArray.from_arrays(pa.array(begins, pa.int32()), titles),
            "languages": np.bincount(pairs[:, 0]).astype(np.int32),
        }
    )


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
