"""Views of examples become a batch: framed by special pieces, masked, laid out for the layers.

Shapes: B examples, T rows of pieces, W words, E mentions.
"""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from modeling.data.batch import Batch, Layout, Mentions, Rows, Targets, Words
from modeling.data.chance import Chance, Integers
from modeling.data.frames import Frame
from modeling.data.masking import Masker, Text, ranges
from modeling.data.piece_entities import Spreader
from modeling.data.views import View


class Collator:
    """Makes batches of views.

    Args:
        masker: draws the masks.
        n_entities: rows of the model's entity vocabulary; 0: batches have no mentions.
        with_words: whether the model needs to know the words.
        with_segments: whether it needs to know first and second text.
        spread: gives entities to the pieces of mentions; None: mentions are rows of their own.
    """

    def __init__(
        self,
        masker: Masker,
        *,
        n_entities: int = 0,
        with_words: bool = False,
        with_segments: bool = False,
        spread: Spreader | None = None,
    ) -> None:
        self.masker, self.n_entities, self.spread = masker, n_entities, spread
        self.with_words, self.with_segments = with_words, with_segments
        masks_mentions = masker.config.unit == "entity"
        self._n_entities = n_entities if n_entities or masks_mentions else None

    def __call__(
        self, views: Sequence[View], chance: Chance, negatives: Integers | None = None
    ) -> Batch:
        """Make a batch of one view or more; ``chance`` has their numbers, in this order.

        Raises ``CorpusError`` that names the example where a row is not valid.
        """
        frame = Frame.of(views, self.masker.pieces, n_entities=self._n_entities)
        mentions = chosen = known = None
        entity_targets = {}
        if self.n_entities and len(frame.entities) and self.spread is None:
            chosen, replaced = self.masker.replace_entities(
                frame.entities, frame.mention_sequences, chance, n_entities=self.n_entities
            )
            mentions = _mentions(frame.text, replaced)
            entity_targets["entities"] = _targets(chosen, frame.entities[chosen], negatives)
        masked = self.masker.mask_text(frame.text, chance, chosen)
        if self.spread is not None:
            documents = [part.example.document_id for view in views for part in view.parts]
            known, asked = self.spread(
                frame, masked.rows, chance, documents=documents, negatives=negatives
            )
            entity_targets = {} if asked is None else {"piece_entities": asked}
        targets = {"pieces": _targets(masked.rows, masked.labels), "pairs": _pair_targets(views)}
        targets |= entity_targets
        return Batch(
            ids=tuple(view.example.id for view in views),
            pieces=torch.from_numpy(masked.pieces),
            rows=_rows(frame, with_words=self.with_words, with_mentions=mentions is not None),
            segments=torch.from_numpy(frame.segments) if self.with_segments else None,
            mentions=mentions,
            piece_entities=known,
            targets={name: target for name, target in targets.items() if len(target.labels)},
            counts=_count(views),
        )


def _mentions(text: Text, entities: Integers) -> Mentions:
    sizes = text.mention_ends - text.mention_starts
    return Mentions(
        entities=torch.from_numpy(entities),
        positions=torch.from_numpy(text.positions[ranges(text.mention_starts, sizes)]),
        offsets=torch.from_numpy(np.cumsum(sizes) - sizes),
    )


def _targets(
    rows: NDArray[np.int64], labels: Integers, negatives: Integers | None = None
) -> Targets:
    return Targets(
        rows=torch.from_numpy(rows),
        labels=torch.from_numpy(labels),
        negatives=None if negatives is None else torch.from_numpy(negatives),
    )


def _pair_targets(views: Sequence[View]) -> Targets:
    labelled = [(row, view.label) for row, view in enumerate(views) if view.label is not None]
    rows, labels = np.array(labelled, np.int64).reshape(-1, 2).T.copy()
    return _targets(rows, labels)


def _count(views: Sequence[View]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for view in views:
        counts.update(view.count())
    return dict(counts)


def _rows(frame: Frame, *, with_words: bool, with_mentions: bool) -> Rows:
    pieces = Layout.of(frame.lengths)
    words = _words(frame) if with_words else None
    if not with_mentions:
        return Rows(pieces, together=pieces, words=words)
    text, sequences = frame.text, frame.mention_sequences
    counts = np.bincount(sequences, minlength=len(frame.lengths))
    entities = Layout.of(counts)
    together = Layout.placed(
        np.concatenate((text.sequences, sequences)),
        np.concatenate((text.positions, frame.lengths[sequences] + entities.positions.numpy())),
        longest=int((frame.lengths + counts).max()),
        n=len(counts),
    )
    return Rows(pieces, together=together, words=words, entities=entities)


def _words(frame: Frame) -> Words:
    starts = frame.text.word_starts
    n_pieces = np.diff(starts, append=len(frame.text.pieces))
    n_words = np.bincount(frame.text.sequences[starts], minlength=len(frame.lengths))
    return Words(
        layout=Layout.of(n_words),
        of_piece=torch.from_numpy(np.repeat(np.arange(len(starts)), n_pieces)),
        n_pieces=torch.from_numpy(n_pieces),
    )
