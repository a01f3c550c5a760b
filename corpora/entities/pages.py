"""Facts of a page about its entity: ids in authority files, the type, a first sentence."""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.schemas import SCHEMAS

OF_PAGES = ("ids", "type", "description")
"""The columns of the vocabulary that come from pages."""
ITEMS = "wikidata"
"""The scheme of the ids in Wikidata, which is also the space of entities named by them."""
MAX_DESCRIPTION = 500
"""The most characters of a description; a longer sentence ends with an ellipsis."""
_COLUMNS = SCHEMAS["entities"].columns
_NO = pa.scalar(value=False)


def columns_of_pages(batch: pa.RecordBatch) -> list[pa.Array]:
    """Build the columns ``OF_PAGES`` of documents; null where a document lacks a value."""
    column = batch.column("metadata").to_pylist()
    metadata = [{pair["key"]: pair["value"] for pair in pairs or ()} for pairs in column]
    values = (
        [_ids(each) for each in metadata],
        [each.get("type") for each in metadata],
        list(_descriptions(batch)),
    )
    return [
        pa.array(column, _COLUMNS.field(name).type)
        for name, column in zip(OF_PAGES, values, strict=True)
    ]


def items_of(batch: pa.RecordBatch) -> list[str | None]:
    """Return the Wikidata item of each document; columns as ``columns_of_pages``."""
    column = batch.column("metadata").to_pylist()
    ids = (_ids({pair["key"]: pair["value"] for pair in pairs or ()}) or () for pairs in column)
    return [next((id["value"] for id in of_page if id["key"] == ITEMS), None) for of_page in ids]


def _ids(metadata: dict[str, str]) -> list[dict[str, str]] | None:
    """List the ids of a page, Wikidata first: the page's item, else the id in its text."""
    found: dict[str, str] = {}
    if item := metadata.get(ITEMS):
        found[ITEMS] = item
    for id in metadata.get("ids", "").split():
        scheme, _, value = id.partition(":")
        found.setdefault(scheme, value)
    return [{"key": scheme, "value": value} for scheme, value in found.items()] or None


def _descriptions(batch: pa.RecordBatch) -> Iterator[str | None]:
    """Yield the first sentence of the first paragraph of each text."""
    paragraphs, sentences = batch.column("paragraphs"), batch.column("sentences")
    are_text = np.flatnonzero(pc.fill_null(pc.equal(paragraphs.values.field("kind"), "p"), _NO))
    begins = _field(paragraphs, "start")
    starts, ends = _field(sentences, "start"), _field(sentences, "end")
    of_paragraphs, of_sentences = (np.asarray(column.offsets) for column in (paragraphs, sentences))
    for number, text in enumerate(batch.column("text").to_pylist()):
        first = np.searchsorted(are_text, of_paragraphs[number])
        if first == len(are_text) or are_text[first] >= of_paragraphs[number + 1]:
            yield None
            continue
        begin, end = of_sentences[number], of_sentences[number + 1]
        at = begin + np.searchsorted(starts[begin:end], begins[are_text[first]])
        yield _shortened(text[starts[at] : ends[at]]) if at < end else None


def _field(lists: pa.ListArray, name: str) -> npt.NDArray[np.int64]:
    """Return a field of the structs in all lists, also those outside of a slice."""
    return np.asarray(lists.values.field(name))


def _shortened(sentence: str) -> str:
    plain = " ".join(sentence.split())
    return plain if len(plain) <= MAX_DESCRIPTION else f"{plain[: MAX_DESCRIPTION - 1]}…"
