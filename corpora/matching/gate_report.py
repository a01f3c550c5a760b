"""``report.md`` of additions: expected precision, what was held back, the most frequent forms."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow.compute as pc

from corpora.datasets.columns import MentionColumn
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
from corpora.evidence.evidence import Evidence
from corpora.reports import counted, markdown_table

N_FORMS = 20
"""The number of most frequent added forms that are listed, with an example each."""
_AROUND = 40  # characters on each side of an example
_HELD_BACK = "mentions.held_back."


def report(evidence: Evidence | None, counters: Mapping[str, int], shards: Iterable[Path]) -> str:
    """Write the text of ``report.md``; ``shards`` are the finished documents."""
    n_added, n_removed = (
        counters.get(f"mentions.{name}", 0) for name in ("added", "title_matches_removed")
    )
    lines = [
        *("# Added mentions", ""),
        f"- Added: {counted(n_added, 'mention')}.",
        f"- Removed as doubtful: {n_removed:,} title matches.",
        *_unknown_links(counters),
        *(*_precision(evidence), ""),
        *("## Held back", "", *_held_back(counters), ""),
        *("## Most frequent added forms", "", *_frequent(shards), ""),
    ]
    return "\n".join(lines)


def _unknown_links(counters: Mapping[str, int]) -> Iterator[str]:
    """Say what most links miss, where the forms mean the entities of few."""
    n_links = counters["survey.links"]
    n_known = counters["survey.links_of_known_entities"]
    if n_known < n_links / 2:
        yield f"- Only {n_known:,} of {n_links:,} links lead to entities of --forms; others"
        yield "  teach nothing, and are not added. In a part of a wiki, or if most links are red,"
        yield "  make the vocabulary with `onoma vocab --existing any`."


def _precision(evidence: Evidence | None) -> Iterator[str]:
    if evidence is None:
        yield "- **Precision unknown**: there are too few links to learn from. Added were forms of"
        yield "  several words, and words with a capital inside sentences."
    elif evidence.measured is None:
        yield f"- **No threshold reaches a precision of {evidence.min_precision:.0%}** on hidden"
        yield "  links: nothing was added. Choose a lower --min-precision."
    else:
        measured = evidence.measured
        if evidence.expected is not None:
            yield f"- Expected precision: {evidence.expected:.1%}, the mean probability."
        yield f"- Precision on hidden links: {measured.precision}."
        yield f"- Hidden links found again: {measured.recall}."
        yield f"- Least probability of an added mention: {measured.threshold:.3f}."
        yield ""
        yield "Links were taken as hidden, document by document, and judged by a model that had not"
        yield "seen the document. A part of a longer link counts as wrong."


def _held_back(counters: Mapping[str, int]) -> Iterator[str]:
    rows = [
        (name.removeprefix(_HELD_BACK).replace("_", " "), count)
        for name, count in counters.items()
        if name.startswith(_HELD_BACK)
    ]
    yield from markdown_table(("reason", "places"), rows)


def _frequent(shards: Iterable[Path]) -> Iterator[str]:
    counts: Counter[tuple[str, str]] = Counter()
    examples: dict[tuple[str, str], str] = {}
    for text, mentions in _added(shards):
        for start, end, entity in mentions:
            key = (text[start:end], entity)
            counts[key] += 1
            if key not in examples:
                around = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
                before, after = (" ".join(part.split("\n")) for part in around)
                examples[key] = f"…{before}**{key[0]}**{after}…"
    ordered = sorted(counts, key=lambda key: (-counts[key], key))[:N_FORMS]
    rows = [(*key, counts[key], examples[key]) for key in ordered]
    yield from markdown_table(("form", "entity", "added", "example"), rows, align="llrl")


def _added(shards: Iterable[Path]) -> Iterator[tuple[str, list[tuple[int, int, str]]]]:
    for batch in read_shards(shards, SCHEMAS["documents"], columns=("text", "mentions")):
        mentions = MentionColumn.of(batch)
        origins = mentions.structs.field("origin")
        is_added = pc.equal(origins, "lexicon").to_numpy(zero_copy_only=False)
        fields = (mentions.structs.field(name).to_pylist() for name in ("start", "end", "entity"))
        rows = list(zip(*fields, strict=True))
        for number, text in enumerate(batch.column("text").to_pylist()):
            here = range(mentions.ends[number], mentions.ends[number + 1])
            yield text, [rows[n] for n in here if is_added[n]]
