"""Titles that are never matched in text, though pages link to them: those of disambiguation pages.

The table is made between the stages of a run, when all pages are known, and mapped by all
processes. The dataset ``reuse`` records which links of a row led to such titles, so that a refresh
knows which rows to make again.
"""

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.redirect_table import RedirectTable, build_table
from corpora.wikipedia.disambiguation import signs_of

OWN = -1
"""Stands for the page's own title among the indices of its links."""
Flags = npt.NDArray[np.bool_]


class Unmatched:
    """The opened table; made by ``build_unmatched``."""

    def __init__(self, folder: Path, codes: tuple[str, ...] = ()) -> None:
        """Open the table; raises ``OSError`` where there is none.

        ``codes`` are the names that the wiki's tables may have.
        """
        self._meanings = RedirectTable(folder)
        qualifiers = sorted(map(re.escape, signs_of(codes).qualifiers))
        self._pattern = rf"(?i)[(（](?:{'|'.join(qualifiers)})[)）]$"

    def has(self, titles: pa.StringArray) -> Flags:
        """Tell for each title, redirects resolved, whether it is never matched."""
        encoded = titles.dictionary_encode()
        titles = encoded.dictionary
        of_distinct = self._meanings.rows(titles) >= 0
        in_brackets = np.flatnonzero(np.asarray(pc.match_substring_regex(titles, "[)）]$")))
        if len(in_brackets):  # for titles without a page in this dump
            some = titles.take(pa.array(in_brackets))
            of_distinct[in_brackets] |= np.asarray(pc.match_substring_regex(some, self._pattern))
        flags: Flags = of_distinct[encoded.indices.to_numpy()]
        return flags


def unmatched_of(
    titles: pa.StringArray, ends: npt.NDArray[np.int32], names: pa.StringArray, *, table: Unmatched
) -> pa.ListArray:
    """List for each document the indices of its links to titles that are never matched.

    ``OWN`` stands for the document's own title. ``titles`` are those of all links, ``ends`` the end
    of each document's links (0 first), ``names`` the titles of the documents.
    """
    document = np.repeat(np.arange(len(names)), np.diff(ends))
    linked, own = np.flatnonzero(table.has(titles)), np.flatnonzero(table.has(names))
    numbers = np.concatenate([np.full(len(own), OWN), linked - ends[document[linked]]])
    of = np.concatenate([own, document[linked]])
    order = np.lexsort((numbers, of))
    edges = np.searchsorted(of[order], np.arange(len(names) + 1)).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(edges), pa.array(numbers[order].astype(np.int32)))


def build_unmatched(folder: Path, meanings: Iterable[pa.RecordBatch]) -> None:
    """Build the table; the column ``meaning`` has the titles of disambiguation pages."""
    build_table(folder, map(_with_targets, meanings))


def _with_targets(meanings: pa.RecordBatch) -> pa.RecordBatch:
    """Add empty targets to titles, so that a table of redirects can serve as a set of titles."""
    titles = meanings.column("meaning").drop_null()
    return pa.record_batch([titles, pa.array([""] * len(titles))], ["title", "target"])
