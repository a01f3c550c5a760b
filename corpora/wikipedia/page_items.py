"""Wikidata items of pages, as a table on disk that all workers map into memory.

The table is two arrays, sorted by page id: 16 bytes for each page that has an item.
"""

from array import array
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

WIKIDATA = "wikidata"
"""The key of the Wikidata item in a document's metadata."""
_TYPE = pa.list_(pa.struct([("key", pa.string()), ("value", pa.string())]))


def build_page_items(folder: Path, items: Iterable[tuple[int, int]]) -> int:
    """Write the table; returns how many pages have an item."""
    pages, numbers = array("q"), array("q")
    for page, number in items:
        pages.append(page)
        numbers.append(number)
    keys, values = np.asarray(pages), np.asarray(numbers)
    order = np.argsort(keys, kind="stable")
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "pages.npy", keys[order])
    np.save(folder / "items.npy", values[order])
    return len(order)


class PageItems:
    """The table of items, mapped into memory."""

    def __init__(self, folder: Path) -> None:
        self._pages: npt.NDArray[np.int64] = np.load(folder / "pages.npy", mmap_mode="r")
        self._items: npt.NDArray[np.int64] = np.load(folder / "items.npy", mmap_mode="r")

    def item(self, page: int) -> str | None:
        """Return the item of a page, ``Q64``; None for a page without one."""
        at = int(np.searchsorted(self._pages, page))
        if at == len(self._pages) or self._pages[at] != page:
            return None
        return f"Q{self._items[at]}"


def with_items(batch: pa.RecordBatch, items: PageItems | None) -> tuple[pa.RecordBatch, int]:
    """Put the Wikidata items of pages into their metadata; also returns the number found.

    Items of an earlier run, in rows that were taken over, are removed first.
    """
    column = batch.column("metadata")
    keys = column.flatten().field("key") if len(column) else pa.array([], pa.string())
    has_earlier = pc.any(pc.equal(keys, WIKIDATA)).as_py()
    if items is None and not has_earlier:
        return batch, 0
    made: list[list[dict[str, str]]] = []
    n_found = 0
    for id, pairs in zip(batch.column("id").to_pylist(), column.to_pylist(), strict=True):
        kept = [pair for pair in pairs or () if pair["key"] != WIKIDATA]
        number = id.rpartition(":")[2]
        item = items.item(int(number)) if items and number.isdecimal() else None
        if item is not None:
            kept.append({"key": WIKIDATA, "value": item})
            n_found += 1
        made.append(kept)
    at = batch.schema.get_field_index("metadata")
    metadata = pa.array(made, _TYPE).cast(batch.schema.field(at).type)
    return batch.set_column(at, batch.schema.field(at), metadata), n_found
