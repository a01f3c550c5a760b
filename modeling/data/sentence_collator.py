"""Sentences become a batch: their windows framed and laid out, and what is known of their words.

Shapes: N sentences of the set and W words of it; of a batch S sentences, W words, B windows, T rows
of pieces.
"""

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from modeling.data.batch import Batch, Layout, Rows, Words
from modeling.data.candidates import candidates
from modeling.data.chance import Integers
from modeling.data.chosen_sentences import Chosen
from modeling.data.entity_lookup import EntityLookup
from modeling.data.masking import ranges
from modeling.data.piece_entities import piece_entities
from modeling.data.sentence_batch import SentenceBatch
from modeling.data.sentence_encoder import EncodedSentences
from modeling.data.tagset import TagSet


class WordFeatures(Protocol):
    """Numbers for each word of a set of sentences."""

    @property
    def n_features(self) -> int:
        """G."""

    def rows(self, words: Integers) -> NDArray[np.float32]:
        """(n, G) of some words."""


class SentenceCollator:
    """Makes batches of sentences, by their numbers.

    Args:
        encoded: the sentences.
        tagset: of the tagger, to give batches the gold tags; None: they have none.
        features: of a gazetteer; None: there is none.
        with_words: whether the encoder needs to know the words of its pre-tokenizer.
        max_span_pieces: of the candidates for a span head; 0: there is no such head.
        entities: that pieces know, if the encoder's pieces do.
    """

    def __init__(
        self,
        encoded: EncodedSentences,
        *,
        tagset: TagSet | None = None,
        features: WordFeatures | None = None,
        with_words: bool = False,
        max_span_pieces: int = 0,
        entities: EntityLookup | None = None,
    ) -> None:
        self.encoded, self.tagset, self.features = encoded, tagset, features
        self.with_words, self.max_span_pieces = with_words, max_span_pieces
        self._tags = None if tagset is None else encoded.tags(tagset)
        self._entities = None if entities is None else entities.of_pieces(encoded)

    def __len__(self) -> int:
        """How many sentences there are."""
        return len(self.encoded)

    def __call__(self, numbers: Sequence[int] | Integers) -> SentenceBatch:
        """Make a batch of one sentence or more."""
        encoded = self.encoded
        chosen = Chosen.of(encoded, np.asarray(numbers, np.int64))
        names = [encoded.sentences[number].id for number in chosen.numbers.tolist()]
        words = chosen.words
        firsts = chosen.rows(encoded.word_starts[words], chosen.word_windows)
        lasts = np.minimum(encoded.word_ends[words], chosen.ends[chosen.word_windows])
        sizes = lasts - encoded.word_starts[words]
        tags = None if self._tags is None else self._tags[words]
        features = None if self.features is None else self.features.rows(words)
        return SentenceBatch(
            ids=tuple(names),
            inputs=self._inputs(chosen, names),
            words=Layout.of(chosen.n_words),
            word_pieces=torch.from_numpy(ranges(firsts, sizes)),
            word_offsets=torch.from_numpy(np.cumsum(sizes) - sizes),
            windows=torch.from_numpy(chosen.word_windows),
            features=None if features is None else torch.from_numpy(features),
            tags=None if tags is None else torch.from_numpy(tags),
            spans=candidates(chosen, max_pieces=self.max_span_pieces, tags=tags)
            if self.max_span_pieces
            else None,
        )

    def _inputs(self, chosen: Chosen, names: Sequence[str]) -> Batch:
        encoded, lengths = self.encoded, chosen.lengths
        sizes = lengths - 2
        inside = ranges(chosen.firsts + 1, sizes)
        shown = ranges(chosen.starts, sizes)
        ids = np.full(int(lengths.sum()), encoded.special.cls, np.int64)
        ids[chosen.firsts + lengths - 1] = encoded.special.sep
        ids[inside] = encoded.pieces[shown]
        layout = Layout.of(lengths)
        words = known = None
        if self._entities is not None:
            entities = self._entities[shown]
            known = piece_entities(inside[entities > 0], entities[entities > 0])
        if self.with_words:
            begins = np.ones(len(ids), np.bool_)
            begins[inside] = encoded.begins_word[shown]
            begins[chosen.firsts + 1] = True  # a window may cut a word
            words = _words(begins, layout)
        cut = encoded.word_ends[chosen.words] > chosen.ends[chosen.word_windows]
        counts = {
            "words.cut": int(np.count_nonzero(cut)),
            "words.unknown": int(np.count_nonzero(encoded.is_unknown[chosen.words])),
        }
        return Batch(
            ids=tuple(names[sentence] for sentence in chosen.sentences.tolist()),
            pieces=torch.from_numpy(ids),
            rows=Rows(layout, together=layout, words=words),
            piece_entities=known,
            counts={name: count for name, count in counts.items() if count},
        )


def _words(begins: NDArray[np.bool_], layout: Layout) -> Words:
    """The words of rows, by which rows begin one."""
    starts = np.flatnonzero(begins)
    n_pieces = np.diff(starts, append=len(begins))
    n_words = np.bincount(layout.sequences.numpy()[starts], minlength=layout.n_sequences)
    return Words(
        layout=Layout.of(n_words),
        of_piece=torch.from_numpy(np.repeat(np.arange(len(starts)), n_pieces)),
        n_pieces=torch.from_numpy(n_pieces),
    )
