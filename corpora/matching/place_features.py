"""The features of places of known forms, by which their probability of being a mention is learned.

Whatever a document itself says about a place is left out of its counts, so that a link can be
judged as if it were hidden.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.hashing.strings import long_hashes
from corpora.hashing.tokens import mix
from corpora.matching.arrays import Numbers
from corpora.matching.contexts import N_WORDS, NOUNS_HAVE_CAPITALS
from corpora.matching.form_facts import UNCASED, Floats, FormFacts, hashed_words, title_parts
from corpora.matching.survey import (
    FormPlaces,
    Texts,
    form_rows,
    linked_rows,
    rows_of,
    summed,
    word_rows,
)
from corpora.segmentation.language_tags import primary_language

NAMES = (
    "documents that link the form",
    "places that are links",
    "links that mean the entity",
    "entities linked together",
    "entity linked on the page",
    "part of another title on the page",
    "words",
    "characters",
    "capital",
    "further capital",
    "is the title",
    "is the title, but for endings",
    "starts a sentence",
    "capital after",
    "capital before",
    "word after",
    "word before",
    "capital before a small word",
    "name before a small word",
    "capital after a small word",
    "word after that no link shows",
    "word before that no link shows",
)
"""The names of the features, in order."""
_SHIFT = np.int64(1 << 32)
LINKED, PRIOR, TITLE, AFTER, BEFORE, TYPE, INSIDE, NAME = 0, 2, 11, 13, 14, 15, 17, 18
"""The features by which a refusal is explained, and those of a name before a small word."""
PART = 0.4
"""The log-odds above which the word after a form counts as a part of the name: links have it inside
half again as often as after them. It decides where it has a capital, or no letters have any."""


@dataclass(frozen=True)
class PlaceKnowledge:
    """The facts about forms, entities and words that are known before a document is read."""

    facts: FormFacts
    forms: npt.NDArray[np.int32]
    words: npt.NDArray[np.int32]
    entities: npt.NDArray[np.int32]
    sizes: npt.NDArray[np.int64]
    """The sums of ``TABLES``."""

    @classmethod
    def open(cls, folder: Path, chosen: Path) -> "PlaceKnowledge":
        """Map the tables that ``write_facts`` and ``sum_surveys`` wrote, and ``chosen_forms``."""
        names = ("forms", "words", "entities", "sizes")
        tables = (np.load(folder / f"{name}.npy", mmap_mode="r") for name in names)
        return cls(FormFacts(folder, chosen), *tables)

    @property
    def n_links(self) -> int:
        """The number of links in the documents."""
        return int(self.sizes[0, 1])


class JudgedPlaces:
    """Places of forms in some documents, with their features and the links that have their span.

    Links that have the span of a place count as hidden.
    """

    def __init__(self, texts: Texts, found: FormPlaces, known: PlaceKnowledge) -> None:
        self.texts, self.found, self._known = texts, found, known
        facts = known.facts
        self.link = found.link_of(texts)
        """The link with the span of each place, as an index; -1: none."""
        self._rows = facts.entity_of[found.forms].astype(np.int64)
        self._linked = rows_of(texts.link_entities, facts.entities)
        self.is_right = self.means_same(self.link)
        """Whether that link is to the entity of the form."""
        self.n_links = self._links_on_page() - self.is_right
        """How often the document links the entity of the form, elsewhere."""
        beside = np.searchsorted(texts.link_ends, found.starts, side="right")
        touches = np.searchsorted(texts.link_starts, found.ends) > beside
        self.touched = np.where(touches, beside, -1)
        """The first link that overlaps each place, as an index; -1: none."""
        self.spelling = facts.spelling[found.forms].astype(np.int64)
        """The columns of ``SPELLING`` of each place."""

    def features(self) -> Floats:
        """Compute the features of places, shape (N, F), as ``NAMES`` lists them."""
        columns = (
            *self._counts(),
            self._relatedness(),
            self.n_links > 0,
            self._is_part_of_a_title(),
            np.minimum(self.spelling[:, 0], 4),
            np.log(np.maximum(self.spelling[:, 1], 1)),
            *self.spelling[:, [2, 3, 5, 7]].T,
            *self._surroundings(),
        )
        features = np.column_stack([np.asarray(column, np.float64) for column in columns])
        features[self.are_parts(features), TITLE] = 0
        return features

    def are_parts(self, features: Floats) -> npt.NDArray[np.bool_]:
        """Tell which places are parts of longer names: by hyphens, capitals, and words in links."""
        has_no_case = self.spelling[:, UNCASED] > 0
        is_part = self.texts.contexts.are_joined(self.found.starts, self.found.ends)
        is_part |= (has_no_case | (features[:, AFTER] > 0)) & (features[:, TYPE] > PART)
        if primary_language(self.texts.lang) not in NOUNS_HAVE_CAPITALS:
            is_part |= (features[:, BEFORE] > 0) & (self.spelling[:, 0] <= 1)
        return np.asarray(is_part)

    def means_same(self, links: Numbers) -> npt.NDArray[np.bool_]:
        """Tell at which places a link, given by its index or -1, is to the entity of the form."""
        linked = np.append(self._linked, -1)[links]
        return np.asarray((links >= 0) & (linked >= 0) & (linked == self._rows))

    def _links_on_page(self) -> Numbers:
        """Count how often the document of each place links its entity."""
        linked = self._linked
        documents = self.texts.document_of(self.texts.link_starts)
        keys = np.sort((documents * _SHIFT + linked)[linked >= 0])
        wanted = self.found.documents * _SHIFT + self._rows
        n = np.searchsorted(keys, wanted, side="right") - np.searchsorted(keys, wanted)
        return np.where(self._rows >= 0, n, 0)

    def _counts(self) -> tuple[Floats, ...]:
        """Compute the features of counts, of all documents but that of each place."""
        found, known = self.found, self._known
        pairs = found.documents * _SHIFT + found.forms
        _, of_place = np.unique(pairs, return_inverse=True)
        numbered = FormPlaces(found.starts, found.ends, of_place, found.documents)
        own = summed(*form_rows(numbered, self.link >= 0))[1][of_place].T
        right_here = np.bincount(of_place, weights=self.is_right)[of_place] if len(pairs) else 0
        documents, linked_in, places, links = np.maximum(known.forms[found.forms].T - own, 0)
        means, mentions, stands = known.facts.counts[found.forms].T
        means, mentions = np.maximum(means - right_here, 0), np.maximum(mentions - own[3], 0)
        is_counted = ~np.isnan(stands)
        stands = np.where(is_counted, stands - own[2], places)
        links = np.where(is_counted, mentions, links)
        return (
            _log_odds(linked_in, documents, plus=0.2),
            _log_odds(links, stands, plus=0.2),
            _log_odds(means, mentions, plus=0.3),
        )

    def _relatedness(self) -> Floats:
        """Compute how alike each entity is to the other entities that its document links.

        The cosine between sketches, without what the document itself adds to them.
        """
        sketches, signs = self._known.entities, self.texts.signs()
        rows, documents = linked_rows(self.texts, self._known.facts.entities)
        around = np.zeros(signs.shape)
        np.add.at(around, documents, _unit(sketches[rows] - signs[documents]))
        if not len(sketches):
            return np.zeros(len(self._rows))
        of = self.found.documents
        pairs = documents * _SHIFT + rows
        is_own = np.isin(of * _SHIFT + self._rows, pairs)[:, None]
        entities = _unit(sketches[np.maximum(self._rows, 0)] - is_own * signs[of])
        cosines = (entities * _unit(around[of] - is_own * entities)).sum(axis=1)
        return np.where(self._rows >= 0, cosines, 0.0)

    def _is_part_of_a_title(self) -> npt.NDArray[np.bool_]:
        """Tell which places are a part of the title of the page, or of its links.

        The title of the entity of the place does not count, nor does a link that overlaps it.
        """
        texts, found, facts = self.texts, self.found, self._known.facts
        names, documents = texts.titles()
        triples = [
            (document, word, name)
            for name, document in dict.fromkeys(zip(names, documents.tolist(), strict=True))
            for word in title_parts(name)
        ]
        if not triples:
            return np.zeros(len(self._rows), np.bool_)
        of, words, titles = zip(*triples, strict=True)
        keys = mix(hashed_words(words)) + np.array(of, np.uint64)
        keys_of_titles = keys ^ mix(long_hashes(pa.array(titles, pa.string())))
        wanted = mix(facts.words[found.forms]) + found.documents.astype(np.uint64)
        distinct, counts = np.unique(keys, return_counts=True)
        n_titles = np.append(counts, 0)[rows_of(wanted, distinct)]
        entities = np.append(facts.entities, np.uint64(0))[self._rows]
        links = np.append(texts.link_entities, np.uint64(0))[self.touched]
        is_own, is_link = (np.isin(wanted ^ mix(n), keys_of_titles) for n in (entities, links))
        n_others = n_titles - is_own - (is_link & (links != entities))
        return np.asarray((n_others > 0) & (facts.words[found.forms] > 0))

    def _surroundings(self) -> tuple[npt.NDArray[np.generic], ...]:
        contexts, found = self.texts.contexts, self.found
        after, is_upper_after = contexts.words_after(found.ends)
        before, is_upper_before = contexts.words_before(found.starts)
        name, is_inside, _ = contexts.names_before(found.starts)
        after_name = self._words_elsewhere(after)[:, :2]
        before_name = self._words_elsewhere(before)[:, 2:4]
        return (
            contexts.starts_sentence(found.starts),
            is_upper_after,
            is_upper_before,
            _type_word(after_name, after),
            _type_word(before_name, before),
            is_inside,
            _type_word(self._words_elsewhere(name)[:, 4:], name),
            contexts.has_name_after(found.ends),
            (after > 0) & ~after_name.any(axis=1),
            (before > 0) & ~before_name.any(axis=1),
        )

    def _words_elsewhere(self, words: Numbers) -> Numbers:
        """Return the counts of a word beside each place, in all documents but that of the place."""
        keys, values = summed(*word_rows(self.texts))
        at = rows_of(self.found.documents * np.int64(N_WORDS) + words, keys)
        own = np.append(values, np.zeros((1, values.shape[1]), np.int64), axis=0)[at]
        elsewhere: Numbers = np.maximum(self._known.words[words] - own, 0)
        return elsewhere


def _log_odds(part: Floats, whole: Floats, *, plus: float) -> Floats:
    """Compute the log-odds of a fraction; ``plus`` keeps them finite."""
    odds: Floats = (part + plus) / (np.maximum(whole - part, 0) + max(plus, 0.3))
    return np.log(odds)


def _unit(vectors: npt.NDArray[np.generic]) -> Floats:
    """Give vectors the length 1; zeros stay."""
    lengths = np.sqrt((vectors.astype(np.float64) ** 2).sum(axis=1, keepdims=True))
    units: Floats = vectors / np.maximum(lengths, 1e-9)
    return units


def _type_word(counts: npt.NDArray[np.int64], words: Numbers) -> Floats:
    """Compute how a word beside a name is used: the log-odds that it is a part of a longer one."""
    beside, inside = counts.T
    return np.where(words > 0, np.log((inside + 0.3) / (beside + 1.0)), -1.0)
