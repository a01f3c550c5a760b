"""Counts over all documents by which the places of forms are judged: a stage before matching.

For each form: in how many documents it stands, and is a link; at how many places it stands, and is
a link. For each entity: a sketch of the documents that link it, so that entities that are linked
together have similar sketches. For each word: how often it follows or precedes a link, and how
often it is a part of one, as *district* in *Herning district*. All are sums, so that units can be
counted in any order.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import MentionColumn, batch_of
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.hashing.strings import long_hashes
from corpora.hashing.tokens import mix
from corpora.matching.arrays import Numbers
from corpora.matching.composition import find_composed
from corpora.matching.contexts import N_WORDS, SpanContexts
from corpora.matching.form_table import FormTable
from corpora.matching.name_edges import WORD_COUNTS, words_of_links

TRUE_ORIGINS = ("link", "annotation")
"""The origins of mentions that were set by people, from which adders learn."""
COLUMNS = ("id", "group", "title", "text", "sentences", "mentions")
"""The columns of documents that are read."""
SKETCH = 32
"""The numbers of a sketch."""
FORM_COUNTS = ("documents", "linked_documents", "places", "links")
TABLES = {"forms": len(FORM_COUNTS), "words": len(WORD_COUNTS), "entities": SKETCH, "sizes": 3}
"""The tables of counts, with the number of columns of each; sizes: documents, links, and those
links whose entities are known."""


@dataclass
class Texts:
    """Some documents as one text, joined by newlines, with what people linked in it."""

    batch: pa.RecordBatch
    lang: str | None
    text: str = field(init=False)
    begins: Numbers = field(init=False)
    """The offset of each document."""
    link_starts: Numbers = field(init=False)
    link_ends: Numbers = field(init=False)
    link_entities: npt.NDArray[np.uint64] = field(init=False)
    """The hashes of the entities of links."""
    contexts: SpanContexts = field(init=False)

    def __post_init__(self) -> None:
        texts = self.batch.column("text").to_pylist()
        lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
        self.begins = np.cumsum(lengths) - lengths
        self.text = "\n".join(texts)
        self.mentions = MentionColumn.of(self.batch)
        shifts = np.repeat(self.begins, np.diff(self.mentions.ends))
        self.starts = self.mentions.numbers("start") + shifts
        self.ends = self.mentions.numbers("end") + shifts
        origins = self.mentions.structs.field("origin")
        entities = self.mentions.structs.field("entity")
        is_link = pc.and_(pc.is_in(origins, pa.array(TRUE_ORIGINS)), pc.is_valid(entities))
        self.is_link = np.asarray(is_link.to_numpy(zero_copy_only=False), np.bool_)
        self.link_starts, self.link_ends = self.starts[self.is_link], self.ends[self.is_link]
        self.link_entities = long_hashes(entities.filter(pa.array(self.is_link)))
        sentences = MentionColumn.of_column(self.batch.column("sentences"))
        begins = np.repeat(self.begins, np.diff(sentences.ends)) + sentences.numbers("start")
        self.contexts = SpanContexts(self.text, begins, lang=self.lang)

    def document_of(self, starts: Numbers) -> Numbers:
        """Find the document of each offset."""
        return np.searchsorted(self.begins, starts, side="right") - 1

    def titles(self) -> tuple[list[str], Numbers]:
        """Return the entities of links and of the pages themselves, and their documents."""
        links = self.mentions.structs.field("entity").filter(pa.array(self.is_link)).to_pylist()
        pages = pc.binary_join_element_wise(
            self.batch.column("group"), self.batch.column("title"), ":"
        )
        is_page = pages.is_valid().to_numpy(zero_copy_only=False)
        documents = [self.document_of(self.link_starts), np.flatnonzero(is_page)]
        return [*links, *pages.drop_null().to_pylist()], np.concatenate(documents)

    def signs(self) -> npt.NDArray[np.int64]:
        """Draw the vector of -1 and 1 of each document, by the hash of its id."""
        hashes = mix(long_hashes(self.batch.column("id")))
        bits = hashes[:, None] >> np.arange(SKETCH, dtype=np.uint64) & np.uint64(1)
        return bits.astype(np.int64) * 2 - 1

    def find(
        self,
        table: FormTable,
        occupied: npt.NDArray[np.bool_] | None = None,
        *,
        without: Numbers | None = None,
    ) -> "FormPlaces":
        """Find forms as they are spelled; ``occupied`` flags mentions that no match may overlap."""
        taken = np.zeros(len(self.starts), np.bool_) if occupied is None else occupied

        def search(
            text: str, starts: npt.NDArray[np.integer], ends: npt.NDArray[np.integer]
        ) -> tuple[Numbers, Numbers, Numbers]:
            return table.find(text, starts, ends, lang=self.lang, without=without)

        spans = (self.starts[taken], self.ends[taken])
        starts, ends, forms = find_composed(search, self.text, spans)
        return FormPlaces(starts, ends, forms, self.document_of(starts))


@dataclass(frozen=True)
class FormPlaces:
    """Places of forms: offsets in the joined text, numbers of forms, indices of documents."""

    starts: Numbers
    ends: Numbers
    forms: Numbers
    documents: Numbers

    def part(self, rows: npt.NDArray[np.generic]) -> "FormPlaces":
        """Select places, by index or by flag."""
        columns = (self.starts, self.ends, self.forms, self.documents)
        return FormPlaces(*(column[rows] for column in columns))

    def overlap(self, starts: Numbers, ends: Numbers) -> npt.NDArray[np.bool_]:
        """Tell which places overlap one of some disjoint spans, in order."""
        at = np.searchsorted(ends, self.starts, side="right")
        return np.append(starts, np.iinfo(np.int64).max)[at] < self.ends

    def link_of(self, texts: Texts) -> Numbers:
        """Find the link with the span of each place, as an index; -1 where there is none."""
        spans = texts.link_starts << 31 | texts.link_ends
        order = np.argsort(spans, kind="stable")
        return np.append(order, -1)[rows_of(self.starts << 31 | self.ends, spans[order])]


class Survey:
    """A counter of forms, entities and words in some documents."""

    def __init__(self, table: FormTable, entities: npt.NDArray[np.uint64]) -> None:
        """Count the forms of a table, and ``entities``, sorted hashes."""
        self._table, self._entities = table, entities
        self._rows: dict[str, list[tuple[Numbers, Numbers]]] = {name: [] for name in TABLES}

    def add(self, batch: pa.RecordBatch, *, lang: str | None) -> None:
        """Count documents; columns as ``COLUMNS``."""
        texts = Texts(batch, lang)
        found = texts.find(self._table)
        words, counts = word_rows(texts)
        n_known = np.count_nonzero(rows_of(texts.link_entities, self._entities) >= 0)
        sizes = [batch.num_rows, len(texts.link_starts), n_known]
        rows = {
            "forms": form_rows(found, found.link_of(texts) >= 0),
            "words": (words % N_WORDS, counts),
            "entities": self._sketches(texts),
            "sizes": (np.zeros(1, np.int64), np.array([sizes])),
        }
        for name, of_table in rows.items():  # last: if anything above raises, nothing is counted
            self._rows[name].append(summed(*of_table))

    def _sketches(self, texts: Texts) -> tuple[Numbers, Numbers]:
        rows, documents = linked_rows(texts, self._entities)
        return rows, texts.signs()[documents]

    def tables(self) -> Iterator[pa.RecordBatch]:
        """Yield the sums as rows of ``form_survey``."""
        for number, (name, width) in enumerate(TABLES.items()):
            parts = [(np.empty(0, np.int64), np.empty((0, width), np.int64)), *self._rows[name]]
            rows, values = summed(*map(np.concatenate, zip(*parts, strict=True)))
            for start in range(0, len(rows), 1 << 16):
                some = slice(start, start + (1 << 16))
                lists = pa.FixedSizeListArray.from_arrays(values[some].ravel(), width)
                tables = np.full(len(rows[some]), number)
                yield batch_of(
                    "form_survey", [tables, rows[some], lists.cast(pa.list_(pa.int64()))]
                )


def summed(rows: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Add up the values of equal rows."""
    distinct, of = np.unique(rows, return_inverse=True)
    sums = np.zeros((len(distinct), values.shape[1]), np.int64)
    np.add.at(sums, of, values)
    return distinct, sums


def form_rows(found: FormPlaces, is_link: npt.NDArray[np.bool_]) -> tuple[Numbers, Numbers]:
    """Count the places of forms, and their documents: form, and ``FORM_COUNTS``."""
    order = np.lexsort((~is_link, found.documents, found.forms))
    forms, documents, linked = found.forms[order], found.documents[order], is_link[order]
    is_first = np.append(True, (forms[1:] != forms[:-1]) | (documents[1:] != documents[:-1]))
    is_first = is_first[: len(forms)]
    ones = np.ones(len(forms), np.int64)
    return forms, np.column_stack([is_first, is_first & linked, ones, linked]).astype(np.int64)


def word_rows(texts: Texts) -> tuple[Numbers, Numbers]:
    """Count words beside links, and inside them.

    Returns the index of the document times ``N_WORDS`` plus the word, and ``WORD_COUNTS``.
    """
    columns = words_of_links(texts.contexts, texts.link_starts, texts.link_ends)
    kinds = np.repeat(np.arange(len(columns)), [len(words) for _, words in columns])
    links, words = (np.concatenate(parts) for parts in zip(*columns, strict=True))
    values = np.eye(len(WORD_COUNTS), dtype=np.int64)[kinds]
    keys = texts.document_of(texts.link_starts)[links] * np.int64(N_WORDS) + words
    return keys[words > 0], values[words > 0]


def linked_rows(texts: Texts, entities: npt.NDArray[np.uint64]) -> tuple[Numbers, Numbers]:
    """Return the distinct pairs of an entity that is known, as a row, and a document linking it."""
    at = rows_of(texts.link_entities, entities)
    documents = texts.document_of(texts.link_starts)
    pairs = np.unique(np.column_stack([at, documents])[at >= 0], axis=0)
    return pairs[:, 0], pairs[:, 1]


def rows_of(keys: npt.NDArray[np.integer], ordered: npt.NDArray[np.integer]) -> Numbers:
    """Find keys, such as hashes of entities, among sorted ones: the index of each, or -1."""
    if not len(ordered):
        return np.full(len(keys), -1)
    at = np.minimum(np.searchsorted(ordered, keys), len(ordered) - 1)
    return np.where(ordered[at] == keys, at, -1)


def sum_surveys(
    paths: Iterable[Path], folder: Path, *, n_forms: int, n_entities: int
) -> Sequence[int]:
    """Add up the rows of all units, and write an array for each table; returns the sizes."""
    n_rows = {"forms": n_forms, "words": N_WORDS, "entities": n_entities, "sizes": 1}
    sums = {
        name: np.zeros((n_rows[name], width), np.int32 if name != "sizes" else np.int64)
        for name, width in TABLES.items()
    }
    names = list(TABLES)
    for path in paths:
        for batch in read_batches(path, SCHEMAS["form_survey"]):
            sums_of = sums[names[batch.column("table")[0].as_py()]]
            values = batch.column("values").flatten().to_numpy()
            rows = batch.column("row").to_numpy()
            np.add.at(sums_of, rows, values.reshape(-1, sums_of.shape[1]))
    for name, array in sums.items():
        np.save(folder / f"{name}.npy", array)
    sizes: list[int] = sums["sizes"][0].tolist()
    return sizes
