"""The report on a lexicon: its words as a table, and a page with scores and contexts."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.rows import Row
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_shards
from corpora.lexicon.words import is_word
from corpora.reports.pages import render
from corpora.system.cells import one_line

WORDS = 100
"""The number of words of a lexicon that are shown with their contexts."""
LEXICONS = 12
"""The number of lexicons that are shown, the first by name."""
CONTEXTS = 3
"""The number of contexts of a word that are shown."""
CONTEXT_CHARACTERS = 20_000_000
"""The number of characters of documents that are searched for contexts."""
_AROUND = 14  # characters of a context on each side
_BINS = 40
_DARK, _LIGHT = "#3b6ea5", "#b8c4d0"  # colours of words and of other candidates
_COLUMNS = ("count", "mi", "left_entropy", "right_entropy", "score")


def table_lines(shards: Iterable[Path]) -> Iterator[str]:
    """Yield the lines of ``lexicon.tsv``: the words, group by group, the best first."""
    columns = ("form", "group", *_COLUMNS, "rank", "flags")
    yield "\t".join(columns) + "\n"
    for batch in read_shards(shards, SCHEMAS["lexicon"]):
        words = batch.filter(is_word(batch))
        values = [_shown(words.column(name)) for name in columns]
        yield from ("\t".join(row) + "\n" for row in zip(*values, strict=True))


def _shown(column: pa.Array) -> list[str]:
    """Format the values of a column for people."""
    if pa.types.is_list(column.type):
        return pc.binary_join(column, " ").to_pylist()  # type: ignore[no-any-return]
    values = column.to_pylist()
    if pa.types.is_floating(column.type):
        return [f"{value:.4f}" for value in values]
    return [one_line("" if value is None else value) for value in values]


@dataclass(slots=True)
class Shown:
    """A word on the page."""

    row: Row
    contexts: list[tuple[str, str]] = field(default_factory=list)
    """The text before and the text after the word, for each context."""

    def find(self, text: str) -> bool:
        """Look for a context in a text; return whether the word has enough contexts now."""
        form = self.row["form"]
        if (start := text.find(form)) >= 0:
            end = start + len(form)
            around = text[max(0, start - _AROUND) : start], text[end : end + _AROUND]
            self.contexts.append((" ".join(around[0].split()), " ".join(around[1].split())))
        return len(self.contexts) >= CONTEXTS


@dataclass(slots=True)
class LexiconPage:
    """The content of the page: the best words of each group, and the distribution of scores."""

    words: dict[str | None, list[Shown]] = field(default_factory=dict)
    scores: dict[str | None, list[pa.RecordBatch]] = field(default_factory=dict)
    """The columns ``score`` and ``is_word`` of the ranked candidates of each group."""

    def add(self, batch: pa.RecordBatch) -> None:
        """Add rows of the lexicon; the rows of a group are adjacent, the best first."""
        groups = batch.column("group")
        for group in pc.unique(groups).to_pylist():
            if group not in self.words and len(self.words) == LEXICONS:
                return
            words = self.words.setdefault(group, [])
            own = batch.filter(groups.is_null() if group is None else pc.equal(groups, group))
            ranked = own.filter(pc.is_valid(own.column("rank")))
            is_best = is_word(ranked)
            columns = {"score": ranked.column("score"), "is_word": is_best}
            self.scores.setdefault(group, []).append(pa.RecordBatch.from_pydict(columns))
            words += map(Shown, ranked.filter(is_best).slice(0, WORDS - len(words)).to_pylist())


def read_page(shards: Iterable[Path], documents: Iterable[Path], *, per: str) -> LexiconPage:
    """Choose the words that are shown, and look for their contexts in the documents."""
    page = LexiconPage()
    for batch in read_shards(shards, SCHEMAS["lexicon"]):
        page.add(batch)
    missing = {group: list(words) for group, words in page.words.items()}
    n_characters = 0
    name = {"document": "id", "group": "group", "all": "id"}[per]
    for batch in read_shards(documents, SCHEMAS["documents"], columns=(name, "text")):
        for group, text in zip(*(batch.column(i).to_pylist() for i in (0, 1)), strict=True):
            key = None if per == "all" else group
            missing[key] = [word for word in missing.get(key, []) if not word.find(text)]
            n_characters += len(text)
            if n_characters > CONTEXT_CHARACTERS or not any(missing.values()):
                return page
    return page


def to_html(
    page: LexiconPage, *, counters: Mapping[str, int], parameters: Mapping[str, object]
) -> str:
    """Write ``report.html``."""
    facts = [(name, value) for name, value in (*parameters.items(), *counters.items())]
    rows = [(name, _listed(value)) for name, value in facts if "/" not in name]
    return render(
        "lexicon",
        title="Lexicon",
        facts=[("setting or number", "value"), *rows],
        n_lexicons=counters["lexicons"],
        lexicons=[
            (group or "All documents", words, _histogram(page.scores[group]))
            for group, words in page.words.items()
        ],
    )


def _listed(value: object) -> object:
    return ", ".join(map(str, value)) if isinstance(value, list) else value


def _histogram(batches: Sequence[pa.RecordBatch]) -> dict[str, object] | None:
    """Count how many candidates have which score, as bars: words below, the others on top."""
    scores, is_word = (column.to_numpy() for column in pa.Table.from_batches(batches).columns)
    if not len(scores):
        return None
    edges = np.linspace(scores.min(), max(scores.max(), scores.min() + 1e-9), _BINS + 1)
    counts = np.array([np.histogram(scores[w], edges)[0] for w in (is_word, ~is_word)])
    tallest = int(counts.sum(axis=0).max())
    rects = [
        {"colour": colour, "x": x, "top": top, "height": height}
        for x, low, high in zip(range(0, 15 * _BINS, 15), *(120 * counts / tallest), strict=True)
        for colour, top, height in ((_DARK, 120 - low, low), (_LIGHT, 120 - low - high, high))
    ]
    labels = [(15 * index, f"{edges[index]:.1f}") for index in range(0, _BINS + 1, 8)]
    return {"rects": rects, "labels": labels, "tallest": tallest}
