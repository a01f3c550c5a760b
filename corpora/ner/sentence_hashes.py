"""The sentences of a split as hashes: which stand in another split, which have several taggings.

17 bytes a sentence are kept. Comparisons go through the hashes in ``PARTS`` parts, by their highest
bits, so that hardly more is needed while they are compared.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from corpora.hashing.tokens import Hashes
from corpora.ner.columns import Flags, Indices

PARTS = 16
_SHIFT = np.uint64(60)


class SentenceHashes:
    """Two hashes for each sentence, of its tokens and of tokens and tags; and its length."""

    def __init__(self) -> None:
        self._texts: list[Hashes] = []
        self._labelled: list[Hashes] = []
        self._lengths: list[npt.NDArray[np.uint8]] = []
        self.n_tokens = self.longest = self.n_single = 0

    def add(self, texts: Hashes, labelled: Hashes, lengths: Indices) -> None:
        """Add sentences, in reading order."""
        self._texts.append(texts)
        self._labelled.append(labelled)
        self._lengths.append(np.minimum(lengths, 255).astype(np.uint8))
        self.n_tokens += int(lengths.sum())
        self.n_single += int(np.count_nonzero(lengths == 1))
        self.longest = max(self.longest, int(lengths.max(initial=0)))

    def __len__(self) -> int:
        return sum(map(len, self._texts))

    def batches(self) -> Sequence[Hashes]:
        """The hashes of the tokens, as they were added."""
        return self._texts

    def part(self, number: int) -> tuple[Hashes, Hashes, npt.NDArray[np.uint8]]:
        """Texts, labelled, lengths (at most 255) of the sentences of a part, in reading order."""
        chosen = [np.flatnonzero(texts >> _SHIFT == number) for texts in self._texts]
        empty = np.zeros(0, np.uint64)
        texts = [empty, *(v[i] for v, i in zip(self._texts, chosen, strict=True))]
        labelled = [empty, *(v[i] for v, i in zip(self._labelled, chosen, strict=True))]
        lengths = [v[i] for v, i in zip(self._lengths, chosen, strict=True)]
        return (
            np.concatenate(texts),
            np.concatenate(labelled),
            np.concatenate([np.zeros(0, np.uint8), *lengths]),
        )


def find_leaks(
    train: SentenceHashes, other: SentenceHashes, *, min_tokens: Sequence[int]
) -> list[tuple[int, int, int]]:
    """Count sentences, those that stand in train, and those that do with their tags.

    One triple for each of ``min_tokens``, over the sentences that have at least so many.
    """
    counts = np.zeros((len(min_tokens), 3), np.int64)
    for number in range(PARTS):
        texts, labelled, lengths = other.part(number)
        train_texts, train_labelled, _ = train.part(number)
        leaked = is_in(texts, np.sort(train_texts))
        with_tags = is_in(labelled, np.sort(train_labelled)) & leaked
        for row, least in enumerate(min_tokens):
            long = lengths >= least
            counts[row] += [long.sum(), (leaked & long).sum(), (with_tags & long).sum()]
    return [(int(n), int(leaked), int(tagged)) for n, leaked, tagged in counts]


def find_conflicting(splits: Sequence[SentenceHashes]) -> Hashes:
    """The hashes, sorted, of the sentences that have more than one sequence of tags."""
    found = [_conflicting(split.part(number) for split in splits) for number in range(PARTS)]
    return np.concatenate(found)


def _conflicting(parts: Iterator[tuple[Hashes, Hashes, npt.NDArray[np.uint8]]]) -> Hashes:
    columns = [(texts, labelled) for texts, labelled, _ in parts]
    texts, labelled = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(texts)
    texts, labelled = texts[order], labelled[order]
    differs = (texts[1:] == texts[:-1]) & (labelled[1:] != labelled[:-1])
    return np.unique(texts[1:][differs])


def count_in(split: SentenceHashes, hashes: Hashes) -> int:
    """Count the sentences whose hash is among some, which are sorted."""
    return sum(int(np.count_nonzero(is_in(texts, hashes))) for texts in split.batches())


def is_in(values: Hashes, ordered: Hashes) -> Flags:
    """Whether each value stands in an array that is sorted."""
    return np.asarray(places_in(values, ordered) >= 0)


def places_in(values: Hashes, ordered: Hashes) -> Indices:
    """Where each value stands in an array that is sorted; -1 where it does not."""
    if not len(ordered):
        return np.full(len(values), -1, np.int64)
    places = np.searchsorted(ordered, values)
    places[places == len(ordered)] = 0
    places[ordered[places] != values] = -1
    return places
