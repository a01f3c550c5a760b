"""The rows of a ``blocks`` dataset, between the stages a column in the rows of their pages."""

from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import (
    MentionColumn,
    ends_of,
    list_array,
    mention_array,
    with_columns,
    with_field,
)
from corpora.datasets.redirect_table import RedirectTable
from corpora.datasets.schemas import SCHEMAS
from corpora.wikipedia.aside import SideBlock
from corpora.wikipedia.reuse_links import note_led_on, put_back, with_wiki, without_wiki

_BLOCKS = SCHEMAS["blocks"].columns
_COLUMN = SCHEMAS["wiki_pages"].columns.field("blocks").type


def count_blocks(blocks: Sequence[SideBlock], n_undefined: int = 0) -> Counter[str]:
    """Count the blocks of a page by kind, and their cells, words and links."""
    counters: Counter[str] = Counter()
    for block in blocks:
        counters[f"blocks.{block.kind}"] += 1
        counters[f"block_cells.{block.kind}"] += len(block.cells)
        counters[f"block_words.{block.kind}"] += block.text.count(" ") + len(
            block.cells or block.text[:1]
        )
        counters[f"block_links.{block.kind}"] += len(block.links)
        counters["blocks.used_again"] += len(block.reused_at)
        counters["blocks.inside"] += block.parent is not None
    counters["blocks.undefined"] = n_undefined
    return counters


def block_column(pages: Sequence[Sequence[SideBlock]]) -> pa.ListArray:
    """Build the ``blocks`` column of a batch of pages; one list of blocks a page."""
    numbers = [{id(block): n for n, block in enumerate(blocks)} for blocks in pages]
    blocks = [block for of_page in pages for block in of_page]
    parents = [
        numbers[page][id(block.parent)] if block.parent else None
        for page, of_page in enumerate(pages)
        for block in of_page
    ]
    fields = [
        pa.array(parents, pa.int32()),
        pa.array([block.kind for block in blocks], pa.string()),
        pa.array([block.name for block in blocks], pa.string()),
        pa.array([block.template for block in blocks], pa.string()),
        pa.array([block.offset for block in blocks], pa.int32()),
        pa.array([block.reused_at for block in blocks], pa.list_(pa.int32())),
        pa.array([b.parent_offset if b.parent else None for b in blocks], pa.int32()),
        pa.array([block.text for block in blocks], pa.string()),
        _cells(blocks),
        _mentions(blocks),
    ]
    structs = pa.StructArray.from_arrays(fields, fields=list(_COLUMN.value_type))
    ends = [*accumulate(map(len, pages), initial=0)]
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs)


def _cells(blocks: Sequence[SideBlock]) -> pa.ListArray:
    cells = [cell for block in blocks for cell in block.cells]
    sizes = np.fromiter((len(block.cells) for block in blocks), np.int32, len(blocks))
    ends = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int32)
    lengths = np.fromiter((len(cell.text) for cell in cells), np.int32, len(cells))
    starts = np.cumsum(lengths + 1) - lengths - 1
    starts -= np.repeat(starts[ends[:-1][sizes > 0]], sizes[sizes > 0])
    fields = [
        pa.array(starts, pa.int32()),
        pa.array(starts + lengths, pa.int32()),
        [cell.row for cell in cells],
        [cell.column for cell in cells],
        [cell.rows for cell in cells],
        [cell.columns for cell in cells],
        [cell.kind for cell in cells],
        [cell.name for cell in cells],
    ]
    return list_array(ends, fields, _BLOCKS.field("cells").type)


def _mentions(blocks: Sequence[SideBlock]) -> pa.ListArray:
    """Build the mentions of each block from its links; the entities are titles as written."""
    links = [link for block in blocks for link in block.links]
    starts, stops, titles, sections = zip(*links, strict=True) if links else [()] * 4
    mentions = mention_array(starts, stops, titles, origins=["link"] * len(links))
    pairs = mentions.type.field("attributes").type
    of_sections = [*accumulate(map(bool, sections), initial=0)]
    found = [[section for section in sections if section]]
    attributes = list_array(of_sections, [["section"] * len(found[0]), *found], pairs)
    ends = [*accumulate((len(block.links) for block in blocks), initial=0)]
    column = _BLOCKS.field("mentions").type
    structs = with_field(mentions, "attributes", attributes)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), structs).cast(column)


def resolve_blocks(pages: pa.RecordBatch, wiki: str, redirects: RedirectTable) -> pa.RecordBatch:
    """Resolve the links in the blocks of pages: titles as written become entities.

    ``blocks_led_on`` notes for the next refresh which titles were redirects.
    """
    ends, structs = ends_of(pages.column("blocks")), pages.column("blocks").flatten()
    links = MentionColumn.of_column(structs.field("mentions"))
    written = links.structs.field("entity").dictionary_encode()
    titles = redirects.resolve(written.dictionary).take(written.indices)
    led_on = note_led_on(links.structs.field("entity"), titles, links.ends[ends])
    entities = with_wiki(wiki, titles)
    column = pa.ListArray.from_arrays(pa.array(ends), _with_links(structs, links, entities))
    return with_columns(pages, {"blocks": column, "blocks_led_on": led_on})


def blocks_as_written(notes: pa.RecordBatch, blocks: pa.RecordBatch) -> pa.ListArray:
    """Rebuild the blocks column, links as written, from rows of ``reuse`` and of ``blocks``."""
    found = pc.value_counts(blocks.column("document_id"))
    numbers = dict(zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True))
    lengths = [numbers.get(id, 0) for id in notes.column("id").to_pylist()]
    ends = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    parents = pc.replace_substring_regex(blocks.column("parent"), "^.*#", "").cast(pa.int32())
    fields = [blocks.column(field.name) for field in list(_COLUMN.value_type)[1:]]
    structs = pa.StructArray.from_arrays([parents, *fields], fields=list(_COLUMN.value_type))
    if len(blocks):
        wiki = blocks.column("document_id")[0].as_py().rpartition(":")[0]
        links = MentionColumn.of_column(structs.field("mentions"))
        titles = without_wiki(wiki, links.structs.field("entity"))
        titles = put_back(titles, notes.column("blocks_led_on"), links.ends[ends[:-1]])
        structs = _with_links(structs, links, titles)
    return pa.ListArray.from_arrays(pa.array(ends), structs)


def _with_links(
    structs: pa.StructArray, links: MentionColumn, entities: pa.StringArray
) -> pa.StructArray:
    """Replace the entities of the links in blocks."""
    column = MentionColumn(with_field(links.structs, "entity", entities), links.ends).column()
    return with_field(structs, "mentions", column.cast(structs.type.field("mentions").type))


def finished_blocks(pages: pa.RecordBatch) -> pa.RecordBatch:
    """Build the rows of ``blocks`` for a batch of pages with resolved links: with ids."""
    column = pages.column("blocks")
    ends = ends_of(column)
    lengths = np.diff(ends)
    structs = column.flatten()
    documents = pages.column("id").take(pa.array(np.repeat(np.arange(len(pages)), lengths)))
    numbers = pa.array(np.arange(len(structs)) - np.repeat(ends[:-1], lengths))
    columns = {
        "id": _ids(documents, numbers),
        "document_id": documents,
        "parent": _ids(documents, structs.field("parent")),
    }
    arrays = [columns[name] if name in columns else structs.field(name) for name in _BLOCKS.names]
    return pa.RecordBatch.from_arrays(arrays, schema=_BLOCKS)


def _ids(documents: pa.StringArray, numbers: pa.Array) -> pa.StringArray:
    """Return the ids of blocks, ``DOCUMENT#NUMBER``; null where the number is null."""
    return pc.binary_join_element_wise(documents, pc.cast(numbers, pa.string()), "#")
