"""Texts with names at their characters, cut into the sentences of a NER set.

A name is never cut. The outermost names are the first level, those directly inside are the second;
deeper names, and those that cross another, are left out, and counted.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from corpora.document import Document, Mention, Rejected, Sentence, Span, without_crossing
from corpora.ner.alignment import count_untagged, levels, to_sentences
from corpora.ner.bad_records import BadRecordError
from corpora.ner.brat import StandoffError, parse_standoff, text_name
from corpora.ner.columns import AT_ONCE, SentenceColumns, Tags
from corpora.ner.found import Origin, PartSentences
from corpora.ner.offsets import CHARACTERS, Counting, WrittenName, find_counting
from corpora.segmentation.sentences import is_unseen, segmenter
from corpora.text.paragraphs import find_blocks, sign_of_paragraphs


def read_brat(lines: str, text: str, *, lang: str | None, origin: Origin) -> PartSentences:
    """Read a text with the names of its standoff, ``lines``.

    A line that cannot be read rejects the file, as its names may be anywhere.
    """
    try:
        if "\0" in text:
            raise StandoffError(1, "nul", f"{text_name(origin.source)} has a NUL. Remove it.")
        mentions, counters = parse_standoff(lines, text)
    except StandoffError as error:
        excerpt = lines.split("\n")[error.line - 1]
        what = f"{error.what} The file is left out."
        rejected = Origin(origin.source).reject(
            error.line, error.reason, what=what, excerpt=excerpt
        )
        return _found([], Counter(), [rejected])
    return cut_text(text, mentions, lang=lang, source=origin.source, counters=counters)


class NamedText(NamedTuple):
    """A text with names, as a file has it."""

    number: int
    """The number of its line or record, from 1."""
    text: str
    names: Sequence[WrittenName]
    document: str = ""
    """The name of the document; empty: that is its id."""


def cut_texts(
    texts: Sequence[NamedText],
    origin: Origin,
    *,
    what: str,
    lang: str | None,
    rejected: Sequence[Rejected],
    counters: Counter[str],
    counting: Counting | None = None,
) -> PartSentences:
    """Cut texts into sentences, with ids ``FILE:LINE#SENTENCE``; each text is a document.

    ``what`` names the texts in messages. If ``counting`` is None, names show what offsets count.
    """
    rejected = list(rejected)
    parts: list[PartSentences] = []
    sentences: list[Sentence] = []
    ids: list[str] = []
    documents: list[str] = []
    problem: BadRecordError | None = None
    try:
        counting = counting or find_counting(texts)
    except BadRecordError as error:
        counting, problem = CHARACTERS, error
    for text in texts:
        try:
            if problem and text.names:
                raise problem
            names = counting.mentions(text.text, text.names)
        except BadRecordError as error:
            rejected.append(origin.leave_out(what, error, text.number, excerpt=text.text))
            continue
        if counting != CHARACTERS:
            counters[f"offsets in {counting}"] += len(names)
        id = f"{origin.source}:{text.number}"
        own = _cut(text.text, names, lang=lang, source=id, counters=counters)
        sentences += own
        ids += [f"{id}#{number}" for number in range(1, len(own) + 1)]
        documents += [text.document or id] * len(own)
        if len(sentences) >= AT_ONCE:
            parts.append(_found(sentences, counters))
            sentences.clear()
    parts.append(_found(sentences, counters))
    counters["documents"] = len({*documents})
    lengths = np.concatenate([np.diff(part.begins) for part in parts])
    inner = [part.inner.strings() if part.inner else _blank(len(part.tokens)) for part in parts]
    return PartSentences(
        tokens=pa.concat_arrays([part.tokens for part in parts]),
        begins=np.append(0, np.cumsum(lengths)),
        tags=Tags.of(pa.concat_arrays([part.tags.strings() for part in parts])),
        inner=Tags.of(pa.concat_arrays(inner)) if any(part.inner for part in parts) else None,
        places=np.repeat(np.arange(1, len(lengths) + 1), lengths),
        documents=documents,
        ids=ids,
        token_starts=pa.concat_arrays([part.token_starts for part in parts]),
        rejected=rejected,
        counters=counters,
    )


def _blank(n: int) -> pa.StringArray:
    return pa.array(["_"] * n, pa.string())


def cut_text(
    text: str, mentions: Sequence[Mention], *, lang: str | None, source: str, counters: Counter[str]
) -> PartSentences:
    """Cut a text into sentences, and count the names that are left out in ``counters``.

    Blanks around a name are not in it.
    """
    return _found(_cut(text, mentions, lang=lang, source=source, counters=counters), counters)


def _cut(
    text: str, mentions: Sequence[Mention], *, lang: str | None, source: str, counters: Counter[str]
) -> list[Sentence]:
    if text.startswith("\ufeff"):  # a character of the text for brat, but of no word
        text = f" {text[1:]}"
        counters["byte_order_marks"] += 1
    seen = []
    for name in mentions:
        if is_unseen(text[name.start : name.end]):
            counters[f"empty names not in ner: {name.label}"] += 1
        else:
            seen.append(_trimmed(name, text))
    nested, crossing = without_crossing(seen)
    document = Document(
        id=source,
        group="",
        source=source,
        text=text,
        lang=lang,
        sentences=tuple(_sentences(text, levels(nested, "outer")[0], lang)),
        mentions=tuple(nested),
    )
    counters.update(f"crossing names not in ner: {name.label}" for name in crossing)
    counters.update(count_untagged(document, "all"))
    counters["documents"] += 1
    sentences = to_sentences(document, lambda _: "", nested="all")
    return [sentence for sentence in sentences if sentence.tokens]


def _trimmed(name: Mention, text: str) -> Mention:
    here = text[name.start : name.end]
    if here == here.strip():
        return name
    start = name.start + len(here) - len(here.lstrip())
    return replace(name, start=start, end=start + len(here.strip()))


def _sentences(text: str, names: Sequence[Mention], lang: str | None) -> Iterator[Span]:
    """Find the sentences; a paragraph or sentence ends in none of the ``names``, in order."""
    starts = [name.start for name in names]
    blocks: list[tuple[int, int]] = []
    for start, end in find_blocks(text, sign_of_paragraphs(text)):
        around = bisect_left(starts, start) - 1
        is_inside = around >= 0 and names[around].end > start and bool(blocks)
        blocks.append((blocks.pop()[0], end) if is_inside else (start, end))
    for start, end in blocks:
        inside = names[bisect_left(starts, start) : bisect_left(starts, end)]
        yield from segmenter(lang).sentences(text, Span(start, end), unbroken=inside)


def _found(
    sentences: Sequence[Sentence], counters: Counter[str], rejected: Sequence[Rejected] = ()
) -> PartSentences:
    """Concatenate sentences, whose places are their numbers."""
    columns = SentenceColumns.of_sentences(sentences)
    inner = list[str]()
    for tags in (sentence.inner_tags or () for sentence in sentences):
        inner += tags if {*tags} - {"O"} else ["_"] * len(tags)
    starts = [sentence.token_starts for sentence in sentences]
    return PartSentences(
        tokens=columns.tokens,
        begins=columns.begins,
        tags=columns.tags,
        inner=Tags.of(pa.array(inner, pa.string())) if {*inner} - {"_"} else None,
        places=np.repeat(np.arange(1, len(sentences) + 1), np.diff(columns.begins)),
        token_starts=pa.array(starts, pa.list_(pa.int32())),
        rejected=rejected,
        counters=counters,
    )
