"""Where the words and windows of a batch's sentences stand among its rows.

Shapes: of a batch S sentences, W words, B windows; a row is a piece, [CLS] and [SEP] included.
"""

from dataclasses import dataclass

import numpy as np

from modeling.data.chance import Integers
from modeling.data.masking import ranges
from modeling.data.sentence_encoder import EncodedSentences


@dataclass(frozen=True, slots=True, eq=False)
class Chosen:
    """Sentences of a batch, their words and windows, and where these stand among the rows."""

    encoded: EncodedSentences
    numbers: Integers
    """(S,) of the sentences."""
    n_words: Integers
    """(S,)"""
    words: Integers
    """(W,) of the set."""
    sentences: Integers
    """(B,) of which sentence of the batch each window is."""
    starts: Integers
    """(B,) pieces of the set, half-open."""
    ends: Integers
    """(B,)"""
    firsts: Integers
    """(B,) the row of each window's [CLS]."""
    word_windows: Integers
    """(W,) the window of the batch in which each word is read."""

    @classmethod
    def of(cls, encoded: EncodedSentences, numbers: Integers) -> "Chosen":
        """Look up sentences by number."""
        n_words, n_windows = encoded.n_words[numbers], encoded.n_windows[numbers]
        words = ranges(encoded.word_begins[numbers], n_words)
        begins = encoded.windows.begins[numbers]
        windows = ranges(begins, n_windows)
        shifts = np.cumsum(n_windows) - n_windows - begins
        starts, ends = encoded.windows.starts[windows], encoded.windows.ends[windows]
        lengths = ends - starts + 2
        return cls(
            encoded=encoded,
            numbers=numbers,
            n_words=n_words,
            words=words,
            sentences=np.repeat(np.arange(len(numbers)), n_windows),
            starts=starts,
            ends=ends,
            firsts=np.cumsum(lengths) - lengths,
            word_windows=encoded.word_windows[words] + np.repeat(shifts, n_words),
        )

    @property
    def lengths(self) -> Integers:
        """(B,) rows of each window, [CLS] and [SEP] included."""
        return self.ends - self.starts + 2

    def rows(self, pieces: Integers, windows: Integers) -> Integers:
        """The rows of pieces of the set, each in a window of the batch."""
        return self.firsts[windows] + 1 + pieces - self.starts[windows]
