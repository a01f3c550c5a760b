"""Rows that were taken over: whether they are still right, and their links as written.

A finished row depends on other pages only through redirects: in the titles of its links, and so in
the matches of these titles in its text (the page's own title is not resolved). So it is right as
long as each link leads where it led before. The row holds the resolved titles; ``led_on`` holds the
titles as written of the links that are redirects, with the index of each link; all other titles
are as written. The titles that are never matched, such as those of disambiguation pages, must be
the same as before: ``unmatched`` holds the indices of the links to them.
"""

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import MentionColumn, list_array, with_field, with_mentions
from corpora.datasets.redirect_table import RedirectTable
from corpora.datasets.schemas import SCHEMAS
from corpora.wikipedia.titles import ABROAD
from corpora.wikipedia.unmatched import Unmatched, unmatched_of

_LED_ON = SCHEMAS["wiki_pages"].columns.field("led_on").type

Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.signedinteger]


def find_finished(
    pages: pa.RecordBatch, wiki: str, redirects: RedirectTable, *, unmatched: Unmatched
) -> Flags:
    """Mark rows of ``wiki_pages`` that were taken over and need no change.

    All their links lead where they led, and the same links are ``unmatched`` as before.
    """
    is_taken = _is_taken(pages)
    if not is_taken.any():
        return is_taken
    mentions = MentionColumn.of(pages)
    document, is_link = _links(mentions, is_taken)
    entities = mentions.structs.field("entity").filter(pa.array(is_link))
    document = document[is_link]
    first = np.searchsorted(document, np.arange(len(pages)))
    numbers, written = _led_on(pages.column("led_on"), first)
    led = without_wiki(wiki, entities.take(pa.array(numbers)))
    suspects = np.flatnonzero(redirects.may_have(entities, skip=len(f"{wiki}:".encode())))
    titles = without_wiki(wiki, entities.take(pa.array(suspects)))
    differs = np.zeros(len(entities), bool)
    differs[suspects] = _are_unequal(redirects.resolve(titles), titles)
    differs[numbers] = _are_unequal(redirects.resolve(written), led)
    is_taken[document[differs]] = False
    titles = without_wiki(wiki, entities)
    return is_taken & _are_as_matched(pages, titles, document, table=unmatched)


def _are_as_matched(
    pages: pa.RecordBatch, titles: pa.StringArray, document: Rows, *, table: Unmatched
) -> Flags:
    """Mark the rows whose unmatched titles are the same as when the rows were made."""
    ends = np.searchsorted(document, np.arange(len(pages) + 1)).astype(np.int32)
    now = unmatched_of(titles, ends, pages.column("title"), table=table)
    then = pages.column("unmatched")
    flags = np.ones(len(pages), bool)
    some = np.flatnonzero(
        (pc.list_value_length(now).to_numpy() > 0)
        | (pc.list_value_length(then).fill_null(0).to_numpy() > 0)
    )
    flags[some] = [now[n] == then[n] for n in some.tolist()]
    return flags


def as_written(pages: pa.RecordBatch, wiki: str) -> pa.RecordBatch:
    """Restore the links as written in rows that were taken over; other rows stay."""
    is_taken = _is_taken(pages)
    if not is_taken.any():
        return pages
    mentions = MentionColumn.of(pages)
    document, is_link = _links(mentions, np.ones_like(is_taken))
    structs, document = mentions.structs.filter(pa.array(is_link)), document[is_link]
    ends = np.searchsorted(document, np.arange(len(pages) + 1)).astype(np.int32)
    entities = structs.field("entity")
    titles = pc.if_else(pa.array(is_taken[document]), without_wiki(wiki, entities), entities)
    titles = put_back(titles, pages.column("led_on"), ends[:-1])
    return with_mentions(pages, MentionColumn(with_field(structs, "entity", titles), ends))


def note_led_on(
    written: pa.StringArray, titles: pa.StringArray, ends: npt.NDArray[np.int32]
) -> pa.ListArray:
    """List the links of each page whose titles were redirects.

    Each has the index of the link in its page, and the title as written. ``ends`` begins with 0;
    page ``i`` has the links from ``ends[i]`` to ``ends[i + 1]``.
    """
    changed = np.flatnonzero(pc.not_equal(titles, written).to_numpy(zero_copy_only=False))
    before = np.searchsorted(changed, ends).astype(np.int32)
    numbers = changed - np.repeat(ends[:-1], np.diff(before))
    return list_array(before, [numbers, written.take(pa.array(changed))], _LED_ON)


def put_back(titles: pa.StringArray, led_on: pa.ListArray, first: Rows) -> pa.StringArray:
    """Restore the titles as written in links that a redirect led on.

    ``first`` is the index of each page's first link.
    """
    numbers, written = _led_on(led_on, first)
    is_led = np.zeros(len(titles), bool)
    is_led[numbers] = True
    return pc.replace_with_mask(titles, pa.array(is_led), written)


def _is_taken(pages: pa.RecordBatch) -> Flags:
    """Mark finished rows; in rows that were just read, ``led_on`` is still null."""
    is_taken: Flags = pages.column("led_on").is_valid().to_numpy(zero_copy_only=False).copy()
    return is_taken


def _links(mentions: MentionColumn, which: Flags) -> tuple[Rows, Flags]:
    """Return the document of each mention, and whether it is a link of a document in ``which``."""
    document = np.repeat(np.arange(len(which)), np.diff(mentions.ends))
    is_link = pc.equal(mentions.structs.field("origin"), "link").to_numpy(zero_copy_only=False)
    return document, is_link & which[document]


def _led_on(column: pa.ListArray, first: Rows) -> tuple[Rows, pa.StringArray]:
    """Return the indices, among all links, of links led on by a redirect, and their titles."""
    lengths = pc.list_value_length(column).fill_null(0).to_numpy()
    pairs = column.flatten()
    return np.repeat(first, lengths) + pairs.field("link").to_numpy(), pairs.field("title")


def without_wiki(wiki: str, entities: pa.StringArray) -> pa.StringArray:
    """Turn entities into titles; those of other wikis stay, after a sign."""
    titles = pc.utf8_slice_codeunits(entities, start=len(wiki) + 1)
    is_own = pc.starts_with(entities, f"{wiki}:")
    if pc.all(is_own).as_py() is not False:
        return titles
    return pc.if_else(is_own, titles, pc.binary_join_element_wise(ABROAD, entities, ""))


def with_wiki(wiki: str, titles: pa.StringArray) -> pa.StringArray:
    """Turn titles into entities: the wiki's name and a colon before those of this wiki."""
    entities = pc.binary_join_element_wise(wiki, titles, ":")
    is_abroad = pc.starts_with(titles, ABROAD)
    if not pc.any(is_abroad).as_py():
        return entities
    return pc.if_else(is_abroad, pc.utf8_slice_codeunits(titles, start=len(ABROAD)), entities)


def _are_unequal(some: pa.StringArray, others: pa.StringArray) -> Flags:
    flags: Flags = pc.not_equal(some, others).to_numpy(zero_copy_only=False)
    return flags
