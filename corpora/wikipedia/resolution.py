"""Resolve redirects and match titles, on batches of documents whose links are as written."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import (
    MentionColumn,
    ends_of,
    mention_array,
    with_columns,
    with_field,
    with_mentions,
)
from corpora.datasets.redirect_table import RedirectTable
from corpora.datasets.schemas import EXAMPLE_COUNTS
from corpora.matching.arrays import code_points, code_units
from corpora.matching.title_matches import Augmentation, match_pages
from corpora.wikipedia.reuse_links import as_written, find_finished, note_led_on, with_wiki
from corpora.wikipedia.titles import ABROAD
from corpora.wikipedia.unmatched import OWN, Unmatched, unmatched_of

EXAMPLE_WORDS = 510
"""The most words of an example in the report's comparison with and without augmentation."""


@dataclass(slots=True)
class Resolver:
    """A resolver of the redirects in one wiki's documents, which adds matches and counts both."""

    wiki: str
    redirects: RedirectTable
    unmatched: Unmatched
    augmentation: Augmentation | None
    counters: Counter[str] = field(default_factory=Counter)
    n_again: int = 0
    """The number of rows taken over from an earlier run that had to be resolved again."""

    def finish(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """Resolve the rows of ``wiki_pages`` that need it, and count all rows.

        These are the rows that were just read, and taken rows whose links lead elsewhere now. Other
        rows that were taken over stay as they are.
        """
        holds = find_finished(pages, self.wiki, self.redirects, unmatched=self.unmatched)
        left = np.flatnonzero(~holds)
        if len(left):
            rows = pages if len(left) == len(pages) else pages.take(pa.array(left))
            done = self.resolve(as_written(rows, self.wiki))
            pages = done if rows is pages else _merged(pages, done, holds=holds)
            self.n_again += len(left) - rows.column("led_on").null_count
        self.counters["redirects.links"] += len(pages.column("led_on").flatten())
        origins = pages.column("mentions").flatten().field("origin")
        for count in pc.value_counts(origins).to_pylist():
            self.counters[f"mentions.{count['values']}"] += count["counts"]
        for name in EXAMPLE_COUNTS if len(pages) else ():
            self.counters[name.replace("_", ".")] += pc.sum(pages.column(name)).as_py()
        _add_up(pages.column("counters"), self.counters)
        return pages

    def resolve(self, pages: pa.RecordBatch) -> pa.RecordBatch:
        """Replace titles as written by final titles in the mentions, and add matches of titles.

        Also fills the columns for the links that were redirects (``led_on``), the titles never
        matched (``unmatched``), and the counts of examples, where the rows have them.
        """
        links = MentionColumn.of(pages)
        written = links.structs.field("entity")
        encoded = written.dictionary_encode()
        titles = self.redirects.resolve(encoded.dictionary).take(encoded.indices)
        led_on = note_led_on(written, titles, links.ends)
        unmatched = unmatched_of(titles, links.ends, pages.column("title"), table=self.unmatched)
        entities = with_wiki(self.wiki, titles)
        links = MentionColumn(with_field(links.structs, "entity", entities), links.ends)
        mentions = links
        if self.augmentation:
            mentions = self._augmented(
                pages, links, titles, unmatched=unmatched, how=self.augmentation
            )
        counts = _count_examples(pages, links, mentions)
        notes = {"led_on": led_on, "unmatched": unmatched, **counts}
        return with_columns(with_mentions(pages, mentions), notes)

    def _augmented(
        self,
        pages: pa.RecordBatch,
        mentions: MentionColumn,
        titles: pa.StringArray,
        *,
        unmatched: pa.ListArray,
        how: Augmentation,
    ) -> MentionColumn:
        """Add matches of each page's titles in its text, except titles that are ``unmatched``."""
        starts, stops = mentions.numbers("start").tolist(), mentions.numbers("end").tolist()
        is_abroad = pc.starts_with(titles, ABROAD)
        targets = pc.if_else(
            is_abroad, None, titles
        ).to_pylist()  # found only on pages that know it
        ends = mentions.ends.tolist()
        names = pages.column("title").to_pylist()
        for i, numbers in enumerate(unmatched.to_pylist()):
            for number in numbers:
                if number == OWN:
                    names[i] = None
                else:
                    targets[ends[i] + number] = None
        texts, spans = pages.column("text").to_pylist(), list(zip(starts, stops, strict=True))
        of_pages = [slice(*edges) for edges in pairwise(ends)]
        links = [list(zip(spans[of], targets[of], strict=True)) for of in of_pages]
        of_each = match_pages(texts, names, links, how=how)
        found, n_found = [match for matches in of_each for match in matches], [*map(len, of_each)]
        if not found:
            return mentions
        of_document = np.repeat(np.arange(len(n_found), dtype=np.int32), n_found)
        return mentions.merged(
            of_document, self._matches(found, pages.column("title"), of_document)
        )

    def _matches(
        self,
        found: Sequence[tuple[int, int, str]],
        names: pa.StringArray,
        of_document: npt.NDArray[np.int32],
    ) -> pa.StructArray:
        """Build mentions from matches of titles."""
        first, last, titles = zip(*found, strict=True)
        matched = pa.array(titles, pa.string())
        is_self = pc.equal(matched, names.take(pa.array(of_document)))
        origins = pc.if_else(pc.fill_null(is_self, False), "self_title", "title_match")  # noqa: FBT003
        entities = pc.binary_join_element_wise(self.wiki, matched, ":")
        return mention_array(first, last, entities, origins=origins)


def _add_up(counters: pa.ListArray, into: Counter[str]) -> None:
    """Add the counters of pages to the totals; counters that are 0 are added too."""
    pairs = counters.flatten()
    names = pairs.field("key").dictionary_encode()
    sums = np.bincount(
        names.indices.to_numpy(),
        weights=pairs.field("value").to_numpy(),
        minlength=len(names.dictionary),
    )  # exact: below 2^53
    for name, n in zip(names.dictionary.to_pylist(), sums.astype(np.int64).tolist(), strict=True):
        into[name] += n


def _merged(
    pages: pa.RecordBatch, done: pa.RecordBatch, *, holds: npt.NDArray[np.bool_]
) -> pa.RecordBatch:
    """Return the rows that hold, with each other row replaced by the next row of ``done``."""
    edges = [0, *(np.flatnonzero(holds[1:] != holds[:-1]) + 1).tolist(), len(holds)]
    parts = []
    n_done = 0
    for start, end in pairwise(edges):
        if holds[start]:
            parts.append(pages.slice(start, end - start))
        else:
            parts.append(done.slice(n_done, end - start))
            n_done += end - start
    return pa.concat_batches(parts)


def _count_examples(
    pages: pa.RecordBatch, links: MentionColumn, all_: MentionColumn
) -> dict[str, list[int]]:
    """Count examples and their words in each document, with links alone and with all mentions."""
    counts: dict[str, list[int]] = {name: [] for name in EXAMPLE_COUNTS}
    column = pages.column("sentences")
    ends = ends_of(column)
    starts, stops = (column.flatten().field(name).to_numpy() for name in ("start", "end"))
    versions = [
        (name, mentions.numbers("start"), mentions.ends.tolist())
        for name, mentions in (("links", links), ("augmented", all_))
    ]
    for i, text in enumerate(pages.column("text").to_pylist()):
        of = slice(ends[i], ends[i + 1])
        words = _count_words(text, starts[of], stops[of])
        for name, firsts, edges in versions:
            first = firsts[edges[i] : edges[i + 1]]
            n_examples, n_words = _pack(words, _hold(starts[of], stops[of], first))
            counts[f"examples_{name}"].append(n_examples)
            counts[f"words_{name}"].append(n_words)
    return counts


def _pack(words: Sequence[int], holds: Sequence[bool]) -> tuple[int, int]:
    """Pack sentences into examples of up to ``EXAMPLE_WORDS`` words.

    Returns the number of examples with a mention, and the number of their words.
    """
    n_words = n_kept = n_examples = 0
    has_mention = False
    for n, with_mention in zip([*words, EXAMPLE_WORDS + 1], [*holds, False], strict=True):
        if n_words + n > EXAMPLE_WORDS and n_words:
            if has_mention:
                n_examples += 1
                n_kept += n_words
            n_words, has_mention = 0, False
        n_words += n
        has_mention |= with_mention
    return n_examples, n_kept


def _count_words(
    text: str, starts: npt.NDArray[np.int32], stops: npt.NDArray[np.int32]
) -> list[int]:
    """Count the words of each sentence, from its spaces.

    In scripts without spaces, two letters count as a word.
    """
    if text.isascii() or code_units(text).max() < 0x3040:
        sentences = zip(starts.tolist(), stops.tolist(), strict=True)
        return [text.count(" ", start, stop) + 1 for start, stop in sentences]
    codes = code_points(text)
    halves = np.where(codes == 32, 2, ((codes >= 0x3040) & (codes < 0xA000)) * 1)
    total = np.concatenate([[0], np.cumsum(halves)])
    return list(((total[stops] - total[starts]) // 2 + 1).tolist())


def _hold(
    starts: npt.NDArray[np.int32], stops: npt.NDArray[np.int32], mentions: npt.NDArray[np.int32]
) -> list[bool]:
    """Tell for each sentence whether a mention begins in it."""
    at = np.searchsorted(mentions, starts)
    inside = at < len(mentions)
    inside[inside] = mentions[at[inside]] < stops[inside]
    return list(inside.tolist())
