"""What goes into a tagger: sentences, as windows of pieces that an encoder reads.

Shapes: S sentences, W words of all of them together, B windows (one or more for each sentence),
T pieces of all windows together, Q pieces of all words (each counted once), G features.

A sentence that fits is one window; a longer one is several that overlap. Each word is read in one
window, the one in which it stands furthest from the edges, so that heads and decoders see whole
sentences, whatever the encoder's length.
"""

from dataclasses import dataclass

from torch import Tensor

from modeling.data.batch import Batch, Layout, Movable


@dataclass(frozen=True, slots=True)
class SentenceBatch(Movable):
    """Sentences to be tagged, with gold tags or without; the training loop takes it as a batch."""

    ids: tuple[str, ...]
    """(S,) of the sentences, for messages."""
    inputs: Batch
    """The windows; its ``ids`` are those of their sentences."""
    words: Layout
    """Of W rows: the words of S sentences."""
    word_pieces: Tensor
    """(Q,) int64: the rows of ``inputs.pieces`` of each word, one word after the other."""
    word_offsets: Tensor
    """(W,) int64: where the rows of each word begin in ``word_pieces``; each has at least one."""
    windows: Tensor
    """(W,) int64: the sequence of ``inputs`` in which each word is read."""
    features: Tensor | None = None
    """(W, G) float32, of a gazetteer; None: there is none."""
    tags: Tensor | None = None
    """(W,) int64 gold tags (``TagSet``); None: unknown."""
    spans: "SpanBatch | None" = None
    """Candidates, for a span head."""

    @property
    def pieces(self) -> Tensor:
        """(T,) of all windows."""
        return self.inputs.pieces

    @property
    def n_targets(self) -> dict[str, int]:
        """Words that are tagged: what losses are divided by, whatever the head."""
        return {} if self.tags is None else {"tags": len(self.tags)}


@dataclass(frozen=True, slots=True)
class SpanBatch(Movable):
    """P candidate spans, sentence by sentence; each lies in one window (of ``inputs``)."""

    sentences: Tensor
    """(P,) int64: the sentence of each, ascending."""
    starts: Tensor
    """(P,) int64: its first word, counted in the sentence."""
    ends: Tensor
    """(P,) int64: after its last word."""
    windows: Tensor
    """(P,) int64: the sequence of ``inputs`` that it is read in."""
    first_pieces: Tensor
    """(P,) int64: the row of ``inputs.pieces`` of its first piece."""
    last_pieces: Tensor
    """(P,) int64: of its last piece; all pieces between belong to it."""
    labels: Tensor | None = None
    """(P,) int64: 0 for no span, 1 + the id of its label; None: unknown."""
