"""Names are looked up in sentences: the tags that the found ones have, at several thresholds.

A name has a *level*: in how many twentieths of its occurrences it is a mention
(``corpora.matching.sequences``). Found at a threshold are, of the names with at least this level,
the leftmost, and there the longest.

Shapes: F forms, C tags (``TagSet``), W words, V thresholds, G features.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from corpora.document import Sentence
from corpora.hashing.tokens import Runs, hash_strings
from corpora.ner.columns import Indices, SentenceColumns, begins_of
from corpora.ner.gazetteer import Lookup, Matches, Names, learn, leftmost_longest
from corpora.ner.tally import Labels, tally
from modeling.data.masking import ranges
from modeling.data.tagset import TagSet

TagCodes = NDArray[np.int16]

SCALE: Final = 20.0
"""Of features. AdamW moves every weight of a head by about its learning rate in a step, and a state
has hundreds of numbers: with the rates of fine-tuning, 5e-5, a few flags of 1 would be learned too
late to count."""

_HAN: Final = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_PARTS: Final = re.compile(rf"[{_HAN}]|(?:(?![{_HAN}])\w)+|[^\w\s]")


@dataclass(frozen=True, slots=True, eq=False)
class LookedUp:
    """What was found in the words of some sentences, one sentence after the other.

    The features of a word are, for each threshold and each tag but O, ``SCALE`` where the word has
    it, and at last ``SCALE`` where it has none at any threshold; else 0.
    """

    tags: TagCodes
    """(W, V) at each threshold the tag of each word; the first is the gazetteer's own."""
    n_tags: int
    """C."""

    def __len__(self) -> int:
        """How many words."""
        return len(self.tags)

    @property
    def n_features(self) -> int:
        """G."""
        n_thresholds: int = self.tags.shape[1]
        return n_thresholds * (self.n_tags - 1) + 1

    def rows(self, words: Indices) -> NDArray[np.float32]:
        """(n, G) the features of some words."""
        tags = self.tags[words].astype(np.int64)
        features = np.zeros((len(tags), self.n_features), np.float32)
        rows, thresholds = np.nonzero(tags)
        features[rows, thresholds * (self.n_tags - 1) + tags[rows, thresholds] - 1] = SCALE
        features[~tags.any(axis=1), -1] = SCALE
        return features


def decided(features: NDArray[np.float32], n_tags: int) -> Indices:
    """(W, G) features -> (W,) tags at the gazetteer's own threshold."""
    own = features[:, : n_tags - 1]
    outside = ~own.any(axis=1, keepdims=True)
    codes: Indices = np.concatenate([outside, own], axis=1).argmax(axis=1)
    return codes


def tag(names: Names, matches: Matches, n_words: int, *, thresholds: Sequence[int]) -> TagCodes:
    """(W, V) the tags of the names that are found at each threshold."""
    tags = np.zeros((n_words, len(thresholds)), np.int16)
    levels = names.levels[matches.forms]
    for column, threshold in enumerate(thresholds):
        used = np.flatnonzero(levels >= threshold)
        kept = used[leftmost_longest(matches.starts[used], matches.ends[used])]
        begins = 1 + 2 * names.labels[matches.forms[kept]]
        starts, sizes = matches.starts[kept], matches.ends[kept] - matches.starts[kept]
        tags[ranges(starts, sizes), column] = np.repeat(begins + 1, sizes)
        tags[starts, column] = begins
    return tags


def by_hash(forms: pa.ListArray, labels: Indices, levels: Indices) -> Names:
    """Forms (F,), lists of words, to be looked up; of equal ones the highest level, or the first.

    Empty forms are left out.
    """
    begins = begins_of(forms)
    tokens = Runs(hash_strings(forms.flatten()))
    starts, ends = begins[:-1], begins[1:]
    order = np.argsort(-levels, kind="stable")
    kept = order[ends[order] > starts[order]]
    starts, ends = starts[kept], ends[kept]
    hashes, firsts = np.unique(tokens.hash(starts, ends), return_index=True)
    starts, ends, kept = starts[firsts], ends[firsts], kept[firsts]
    heads = tokens.hash(starts, np.minimum(starts + 2, ends))
    lookup = Lookup(hashes, heads, (ends - starts).astype(np.int32))
    return Names(lookup, labels[kept].astype(np.int32), levels[kept].astype(np.int32))


def find(names: Names, sentences: SentenceColumns, *, by_parts: bool) -> Matches:
    """Every name wherever it stands, by start, the longer first.

    ``by_parts``: forms are parts of words (``parts_of``); a name begins and ends with a word.
    """
    if not by_parts:
        return names.lookup.find(sentences)
    words = sentences.tokens.dictionary_encode()
    parts = parts_of(words.dictionary).take(words.indices)
    begins = begins_of(parts)
    columns = SentenceColumns(parts.flatten(), begins[sentences.begins], sentences.tag_strings)
    matches = names.lookup.find(columns)
    starts = np.searchsorted(begins, matches.starts, side="right") - 1
    ends = np.searchsorted(begins, matches.ends, side="left")
    whole = (begins[starts] == matches.starts) & (begins[ends] == matches.ends)
    return Matches(starts[whole], ends[whole], matches.forms[whole])


def parts_of(texts: pa.StringArray) -> pa.ListArray:
    """The parts of texts: runs of letters and digits, each Han or Kana character, each other one.

    Whitespace is no part of anything. What is left does not depend on how a text is cut into words.
    """
    parts = [_PARTS.findall(text) for text in texts.to_pylist()]
    return pa.array(parts, pa.list_(pa.string()))


def word_columns(words: Sequence[Sequence[str]]) -> SentenceColumns:
    """The words of sentences, without tags."""
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    tokens = pa.array(list(chain.from_iterable(words)), pa.string())
    begins = np.concatenate([[0], np.cumsum(lengths)])
    return SentenceColumns(tokens, begins, pa.nulls(len(tokens), pa.string()))


def tagged_columns(sentences: Sequence[Sentence], tagset: TagSet) -> SentenceColumns:
    """Sentences with the tags that the set has; the others are O."""
    columns = word_columns([sentence.tokens for sentence in sentences])
    codes = [np.zeros(0, np.int64), *(tagset.encode(sentence.tags) for sentence in sentences)]
    tags = pa.array(tagset.tags, pa.string()).take(pa.array(np.concatenate(codes)))
    return SentenceColumns(columns.tokens, columns.begins, tags)


def names_of(train: Iterable[SentenceColumns], tagset: TagSet) -> Names:
    """The mentions of tagged sentences as names; labels have the ids of the tag set."""
    train, labels = list(train), Labels()
    labels.number(tagset.labels)
    return learn(tally(train, labels).forms.table(), train, labels)
