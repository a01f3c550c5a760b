"""What a gazetteer of the training set finds in the training set itself, honestly.

The names of a document are looked up among those of other documents: else every training name
would be found, and a model would learn to trust the gazetteer as it never may later.

Shapes: N sentences, W words.
"""

from collections.abc import Sequence

import numpy as np

from corpora.document import Sentence
from corpora.hashing.sampling import share
from corpora.matching.sequences import LEVELS
from corpora.ner.columns import Indices
from modeling.data.candidates import gold_spans
from modeling.data.gazetteer import THRESHOLDS, Gazetteer
from modeling.data.masking import ranges
from modeling.data.name_lookup import LookedUp, find, names_of, tag, tagged_columns
from modeling.data.sentences import SentenceSet
from modeling.data.tagset import TagSet

_ALL = tuple(range(LEVELS + 1))


def learn_gazetteer(
    sentences: Sequence[Sentence], tagset: TagSet, *, folds: int = 10
) -> tuple[Gazetteer, LookedUp]:
    """The gazetteer of a training set, and what is found in the set itself, cross-fitted.

    The gazetteer's own threshold is the one whose names, cross-fitted, score best.
    """
    found = cross_fitted(sentences, tagset, folds=folds, thresholds=_ALL)
    level = best_threshold(found, _gold(sentences, tagset))
    gazetteer = Gazetteer.learn(sentences, tagset, level=level)
    return gazetteer, LookedUp(found.tags[:, gazetteer.thresholds], found.n_tags)


def with_best_level(
    gazetteer: Gazetteer, sentences: Sequence[Sentence], tagset: TagSet
) -> Gazetteer:
    """A gazetteer that was not learned from these sentences, with the threshold that suits them.

    It is the one that scores best; by the borders of names alone, if it has classes that are no
    labels.
    """
    found = gazetteer.look_up([sentence.tokens for sentence in sentences], thresholds=_ALL)
    is_labelled = set(gazetteer.classes) <= set(tagset.labels)
    if is_labelled:
        begins = [1 + 2 * tagset.labels.index(label) for label in gazetteer.classes]
        codes = [0, *(code for begin in begins for code in (begin, begin + 1))]
        found = LookedUp(np.array(codes, np.int16)[found.tags], len(tagset))
    level = best_threshold(found, _gold(sentences, tagset), with_labels=is_labelled)
    return gazetteer.at_level(level)


def cross_fitted(
    sentences: Sequence[Sentence],
    tagset: TagSet,
    *,
    folds: int = 10,
    thresholds: Sequence[int] = (0, *THRESHOLDS),
) -> LookedUp:
    """What is found in each sentence of names that were learned from the other folds."""
    if not isinstance(sentences, SentenceSet):
        sentences = SentenceSet.of(sentences)
    of = folds_of(sentences, folds)
    lengths = np.array([len(sentence.tokens) for sentence in sentences], np.int64)
    begins = np.cumsum(lengths) - lengths
    members = [np.flatnonzero(of == fold) for fold in range(int(of.max(initial=-1)) + 1)]
    columns = [tagged_columns([sentences[n] for n in own.tolist()], tagset) for own in members]
    tags = np.zeros((int(lengths.sum()), len(thresholds)), np.int16)
    for fold, own in enumerate(members):
        names = names_of(columns[:fold] + columns[fold + 1 :], tagset)
        matches = find(names, columns[fold], by_parts=False)
        found = tag(names, matches, len(columns[fold].tokens), thresholds=thresholds)
        tags[ranges(begins[own], lengths[own])] = found
    return LookedUp(tags, len(tagset))


def folds_of(sentences: SentenceSet, folds: int) -> Indices:
    """(N,) the fold of each sentence: that of its document, or of its block.

    Documents are dealt to the folds in the order of their hashes. Where there is one document
    only, its sentences are cut into as many blocks as there are folds, for a name is likely to
    come again in the next sentences, as it would not in another document.
    """
    n_documents = int(sentences.documents.max(initial=-1)) + 1
    if n_documents < 2:
        return np.arange(len(sentences)) * folds // max(len(sentences), 1)
    _, firsts = np.unique(sentences.documents, return_index=True)
    shares = [share(sentences[number].document_id) for number in firsts.tolist()]
    ranks = np.argsort(np.argsort(shares, kind="stable"), kind="stable")
    return (ranks % folds)[sentences.documents]


def best_threshold(found: LookedUp, gold: Indices, *, with_labels: bool = True) -> int:
    """Which column of what was found has the best strict F1 (ties: the first).

    Args:
        found: columns are thresholds.
        gold: (W,) tags.
        with_labels: whether a label must be right, too: of the same ids as the gold ones.
    """
    n_labels = found.n_tags if with_labels else 1
    gold_keys = _keys(gold, n_labels)
    scores = []
    for column in found.tags.T.astype(np.int64):
        keys = _keys(column, n_labels)
        correct = len(np.intersect1d(keys, gold_keys, assume_unique=True))
        scores.append(2 * correct / max(len(keys) + len(gold_keys), 1))
    return int(np.argmax(scores))


def _gold(sentences: Sequence[Sentence], tagset: TagSet) -> Indices:
    codes = [np.zeros(0, np.int64), *(tagset.encode(sentence.tags) for sentence in sentences)]
    return np.concatenate(codes)


def _keys(tags: Indices, n_labels: int) -> Indices:
    """A number for each span: of its first and last word, and its label, if there are several."""
    firsts, lasts = gold_spans(tags)
    keys: Indices = (firsts * (len(tags) + 1) + lasts - firsts) * n_labels
    return keys + tags[firsts] % n_labels
