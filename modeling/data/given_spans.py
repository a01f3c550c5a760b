"""Spans that somebody names: the words that they cover, and where these stand in a batch.

Shapes: S sentences, W words, T pieces and B windows of a batch; P spans, sentence by sentence.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import chain

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from corpora.document import Document, Sentence, Span, TokenSpan
from corpora.errors import CorpusError
from corpora.segmentation.sentences import segmenter
from modeling.data.batch import Batch, Layout, Mentions
from modeling.data.candidates import windows_of
from modeling.data.chance import Integers
from modeling.data.chosen_sentences import Chosen
from modeling.data.masking import ranges
from modeling.data.sentence_batch import SpanBatch

WordSpan = tuple[int, int]
"""Words of a sentence, half-open."""


def whole_text(document: Document, spans: Iterable[Span] = ()) -> Sentence:
    """All words of a text as one sentence; words are cut where a span begins or ends."""
    breaker, text = segmenter(document.lang), document.text
    edges = breaker.edges(text)
    cuts = sorted({edge for span in spans for edge in (span.start, span.end)})
    pairs = [
        pair
        for sentence in document.sentences
        for pair in breaker.word_pairs(text, sentence, cuts=cuts, edges=edges)
    ]
    return Sentence(
        id=document.id,
        document_id=document.id,
        split="test",
        tokens=tuple([text[start:end] for start, end in pairs]),
        tags=("O",) * len(pairs),
        token_starts=tuple([start for start, _ in pairs]),
    )


def words_of(sentence: Sentence, span: Span | TokenSpan) -> WordSpan:
    """The words that a span covers, if only in part.

    A ``Span`` counts characters of the text, a ``TokenSpan`` words. Raises ``CorpusError`` where it
    covers none, or the sentence does not say where its words stand.
    """
    n_words = len(sentence.tokens)
    if isinstance(span, TokenSpan):
        first, end = span.start, span.end
    elif sentence.token_starts is None:
        raise CorpusError(
            f"{sentence.id}: has no text that characters could be counted in. Give words: "
            "TokenSpan(start=…, end=…, label='')."
        )
    else:
        starts = sentence.token_starts
        end = bisect_left(starts, span.end)
        first = max(0, bisect_right(starts, span.start) - 1)
        if n_words and starts[first] + len(sentence.tokens[first]) <= span.start:
            first += 1
    if not 0 <= first < end <= n_words:
        raise CorpusError(
            f"{sentence.id}: the span {span.start}:{span.end} covers no word; there are {n_words}."
        )
    return first, end


def given_spans(chosen: Chosen, spans: Sequence[Sequence[WordSpan]]) -> SpanBatch:
    """Where the spans of each sentence of a batch stand.

    Raises ``CorpusError`` for one that no window holds, as only long sentences have.
    """
    encoded = chosen.encoded
    sentences = np.repeat(np.arange(len(spans)), [len(own) for own in spans])
    starts, ends = _columns(chain.from_iterable(spans))
    before = (np.cumsum(chosen.n_words) - chosen.n_words)[sentences]
    firsts = encoded.word_starts[chosen.words[before + starts]]
    lasts = encoded.word_ends[chosen.words[before + ends - 1]]
    windows = windows_of(chosen, chosen.word_windows[before + starts], firsts=firsts, lasts=lasts)
    is_word = ends == starts + 1  # one that is longer than a window is read as far as it goes
    lasts = np.where(is_word, np.minimum(lasts, chosen.ends[windows]), lasts)
    if len(outside := np.flatnonzero(lasts > chosen.ends[windows])):
        place = int(outside[0])
        sentence = encoded.sentences[int(chosen.numbers[sentences[place]])]
        raise CorpusError(
            f"{sentence.id}: words {starts[place]} to {ends[place]} are more than a window of "
            f"{int(chosen.lengths.max())} pieces holds. Name a shorter span."
        )
    columns = (sentences, starts, ends, windows)
    rows = (chosen.rows(firsts, windows), chosen.rows(lasts - 1, windows))
    return SpanBatch(*(torch.from_numpy(column) for column in (*columns, *rows)))


def with_mentions(
    inputs: Batch, spans: SpanBatch, entities: NDArray[np.int64]
) -> tuple[Batch, Tensor]:
    """The windows with a mention at each span, of these entities (P,), and their rows (P,).

    Mentions stand window by window, those of a window in the order of the spans. On the CPU.
    """
    windows, layout = spans.windows.numpy(), inputs.rows.pieces
    order = np.argsort(windows, kind="stable")
    firsts, lasts = (
        layout.positions[rows].numpy()[order] for rows in (spans.first_pieces, spans.last_pieces)
    )
    sizes = lasts - firsts + 1
    counts = np.bincount(windows, minlength=layout.n_sequences)
    lengths = np.bincount(layout.sequences.numpy(), minlength=layout.n_sequences)
    of_mentions = Layout.of(counts)
    after = lengths[of_mentions.sequences.numpy()] + of_mentions.positions.numpy()
    together = Layout.placed(
        np.concatenate([layout.sequences.numpy(), of_mentions.sequences.numpy()]),
        np.concatenate([layout.positions.numpy(), after]),
        longest=int((lengths + counts).max()),
        n=layout.n_sequences,
    )
    mentions = Mentions(
        entities=torch.from_numpy(entities[order]),
        positions=torch.from_numpy(ranges(firsts, sizes)),
        offsets=torch.from_numpy(np.cumsum(sizes) - sizes),
    )
    rows = replace(inputs.rows, together=together, entities=of_mentions)
    return replace(inputs, rows=rows, mentions=mentions), torch.from_numpy(np.argsort(order))


def _columns(pairs: Iterable[WordSpan]) -> tuple[Integers, Integers]:
    table = np.array(list(pairs), np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
