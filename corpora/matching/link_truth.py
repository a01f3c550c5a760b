"""Places whose truth the links of a document tell, when they are taken as hidden.

A place with the span of a link is right if it means the same entity, and wrong if it means another;
a place inside a longer link is wrong, being a part of a name. Some places are neither, and left
out:

- a form with a capital that ends a longer link after a small word or a comma (*President of
  Angola*), if the word before is not mostly seen in longer links (*Battle of Angola*);
- a form that contains the link, or overlaps a link to the same entity;
- a title, in any case (*of Italy*), that a link shows for another one (*Anarchism in Italy*).

If hardly any document links a form, its other places are taken for common words: links alone would
never show that ``up`` is no name.
"""

import numpy as np
import pyarrow as pa

from corpora.matching.arrays import Flags, Numbers
from corpora.matching.form_facts import LETTER, Floats, FormFacts, is_like_title
from corpora.matching.form_table import FormTable
from corpora.matching.place_features import INSIDE, LINKED, NAME, JudgedPlaces, PlaceKnowledge
from corpora.matching.survey import FormPlaces, Texts

_ENDING = 3  # letters by which spellings of one title differ
_SELDOM = 0.05
"""The fraction of documents with a form, of those that mention what it means, that link it at
least."""
_LEAST = 0.01  # the weight below which a place says nothing


def labelled(
    texts: Texts, table: FormTable, known: PlaceKnowledge
) -> tuple[Numbers, Floats, Floats, Floats]:
    """Return the places in some documents that a model is learned from, or judges.

    The index of the document, the features, the truth, and the weight of each: 0 where no link
    tells the truth.
    """
    judged = JudgedPlaces(texts, _as_if_unlinked(texts, table, known.facts), known)
    features = judged.features()
    is_name_before = (features[:, INSIDE] > 0) & (features[:, NAME] > 0)
    touches, is_unclear = _overlaps(judged, known.facts, is_name_before)
    weights = (touches & ~is_unclear).astype(np.float64)
    is_free = _are_free(judged, touches)
    first = _first_unlinked(judged, is_free)
    odds = np.exp(features[first, LINKED])
    weights[first] = 1 - np.minimum(1, odds * (1 - _SELDOM) / _SELDOM)
    weights[weights < _LEAST] = 0
    kept = (is_free | (weights > 0)) & (judged.spelling[:, LETTER] > 0)
    truth = judged.is_right.astype(np.float64)
    return judged.found.documents[kept], features[kept], truth[kept], weights[kept]


def _as_if_unlinked(texts: Texts, table: FormTable, facts: FormFacts) -> FormPlaces:
    """Find the forms of each document that would be known without its own links."""
    found = texts.find(table)
    is_link = found.link_of(texts) >= 0
    parts = []
    for number in range(texts.batch.num_rows):
        of_document = found.documents == number
        forms, n_links = np.unique(found.forms[of_document & is_link], return_counts=True)
        unknown = forms[facts.counts[forms, 1] - n_links < 0.5]
        if len(unknown):
            document = Texts(texts.batch.slice(number, 1), texts.lang)
            there = document.find(table, without=unknown)
            shift = texts.begins[number]
            documents = np.full(len(there.forms), number)
            parts.append(
                FormPlaces(there.starts + shift, there.ends + shift, there.forms, documents)
            )
        else:
            parts.append(found.part(of_document))
    columns = ("starts", "ends", "forms", "documents")
    return FormPlaces(
        *(np.concatenate([getattr(part, name) for part in parts]) for name in columns)
    )


def _overlaps(judged: JudgedPlaces, facts: FormFacts, is_name_before: Flags) -> tuple[Flags, Flags]:
    """Tell which places overlap a link, and which of them are neither right nor wrong."""
    texts, found = judged.texts, judged.found
    touches = judged.touched >= 0
    starts, ends = (np.append(c, 0)[judged.touched] for c in (texts.link_starts, texts.link_ends))
    is_other_span = touches & (judged.link < 0)
    ends_it = (ends <= found.ends) & (starts < found.starts)
    _, is_upper_before = texts.contexts.words_before(found.starts)
    is_modifier = ends_it & (judged.spelling[:, 2] > 0) & ~(is_upper_before | is_name_before)
    contains_it = (found.starts <= starts) & (ends <= found.ends)
    is_same = judged.means_same(judged.touched)
    is_unclear = is_other_span & (is_modifier | contains_it | is_same)
    return touches, is_unclear | _is_piped(judged, facts)


def _is_piped(judged: JudgedPlaces, facts: FormFacts) -> Flags:
    """Tell which places are the title of their entity, but a link shows it for another title."""
    rows = np.flatnonzero((judged.link >= 0) & ~judged.is_right)
    is_piped, texts = np.zeros(len(judged.link), np.bool_), judged.texts
    numbers = np.flatnonzero(texts.is_link)[judged.link[rows]]
    linked = texts.mentions.structs.field("entity").take(pa.array(numbers)).to_pylist()
    meant = facts.names_of(judged.found.forms[rows])
    for row, title, entity in zip(rows.tolist(), linked, meant, strict=True):
        form = texts.text[judged.found.starts[row] : judged.found.ends[row]]
        is_title = is_like_title(form, entity or "") > is_like_title(form, title)
        is_piped[row] = is_title or _are_spellings(title, entity)
    return is_piped


def _are_spellings(title: str, other: str | None) -> bool:
    """Tell whether two titles differ only in their ending; a part of a dump lacks redirects."""
    short, long = sorted((title.lower(), (other or "").lower()), key=len)
    return len(long) - len(short) <= _ENDING and short[:-_ENDING] == long[: len(short) - _ENDING]


def _are_free(judged: JudgedPlaces, touches: Flags) -> Flags:
    """Tell which places no mention overlaps."""
    others = ~judged.texts.is_link
    mentions = judged.texts.starts[others], judged.texts.ends[others]
    return np.asarray(~touches & ~judged.found.overlap(*mentions))


def _first_unlinked(judged: JudgedPlaces, is_free: Flags) -> Numbers:
    """Return the first free place of each form in documents that do not link its entity."""
    found = judged.found
    rows = np.flatnonzero(is_free & (judged.n_links == 0))
    keys = found.documents * np.int64(1 << 32) + found.forms
    return rows[np.unique(keys[rows], return_index=True)[1]]
