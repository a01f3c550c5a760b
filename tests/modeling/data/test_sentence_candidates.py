import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Sentence, TokenSpan
from corpora.tagging import from_iob2, to_iob2
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.data.sentence_batches import SentenceCollator, too_long
from modeling.data.sentences import SentenceEncoder
from modeling.data.tagset import TagSet
from modeling.tagging_config import SentencesConfig

TOKENIZER = Tokenizer(wordpiece([*SPECIALS, "a", "##a"], cased=True), name="t")
TAGSET = TagSet(("LOC", "PER"))
LABELS = {"LOC": 1, "PER": 2}


@st.composite
def sentences(draw):
    """Draw sentences whose words have some subwords, with disjoint spans."""
    rows = []
    for number in range(draw(st.integers(1, 4))):
        sizes = draw(st.lists(st.integers(1, 7), max_size=14))
        borders = sorted(draw(st.sets(st.integers(0, len(sizes)), max_size=6)))
        spans = [
            TokenSpan(start=start, end=end, label=draw(st.sampled_from(("LOC", "PER"))))
            for start, end in zip(borders[::2], borders[1::2], strict=False)
        ]
        rows.append(
            Sentence(
                id=str(number),
                document_id="d",
                split="train",
                tokens=tuple("a" * size for size in sizes),
                tags=to_iob2(spans, len(sizes)),
            )
        )
    return rows


def encode(rows, *, length=200, overlap=64, context="none"):
    return SentenceEncoder(
        TOKENIZER, SentencesConfig(max_length=length, overlap=overlap, context=context)
    ).encode(rows)


def candidates(rows, most, **settings):
    batch = SentenceCollator(encode(rows, **settings), tagset=TAGSET, max_span_subwords=most)(
        range(len(rows))
    )
    return batch, batch.spans


def short_runs(rows, most):
    """Return the published spans, and single words: (sentence, start, end) of each."""
    return [
        (number, start, end)
        for number, row in enumerate(rows)
        for start in range(len(row.tokens))
        for end in range(start + 1, len(row.tokens) + 1)
        if sum(map(len, row.tokens[start:end])) <= most or end == start + 1
    ]


def named(spans):
    columns = (spans.sentences.tolist(), spans.starts.tolist(), spans.ends.tolist())
    return list(zip(*columns, strict=True))


@given(sentences(), st.integers(1, 20))
def test_candidates_are_the_short_runs_of_words(rows, most):
    _, spans = candidates(rows, most)

    assert named(spans) == short_runs(rows, most)


@given(sentences(), st.integers(1, 20))
def test_labels_are_those_of_the_gold_spans(rows, most):
    _, spans = candidates(rows, most)

    gold = {
        (number, span.start, span.end): LABELS[span.label]
        for number, row in enumerate(rows)
        for span in from_iob2(row.tags)
    }
    assert spans.labels.tolist() == [gold.get(span, 0) for span in named(spans)]


@given(sentences(), st.integers(1, 8), st.sampled_from(("none", "document")))
def test_where_windows_share_enough_every_candidate_lies_in_one(rows, most, context):
    batch, spans = candidates(rows, most, length=2 + 2 * 8, overlap=8, context=context)

    assert named(spans) == short_runs(rows, most)
    of_row = batch.inputs.rows.subwords.sequences
    assert of_row[spans.first_subwords].tolist() == spans.windows.tolist()
    assert of_row[spans.last_subwords].tolist() == spans.windows.tolist()
    for (number, start, end), first, last in zip(
        named(spans), spans.first_subwords.tolist(), spans.last_subwords.tolist(), strict=True
    ):
        subwords = [
            id for cut in TOKENIZER.encode(rows[number].tokens[start:end]) for id in cut.ids
        ]
        assert batch.subwords[first : last + 1].tolist() == subwords


@given(sentences(), st.integers(1, 20), st.integers(3, 20), st.integers(0, 8))
def test_gold_spans_are_candidates_or_named_as_too_long(rows, most, length, overlap):
    _, spans = candidates(rows, most, length=length, overlap=overlap)

    named_too_long = too_long(
        encode(rows, length=length, overlap=overlap), TAGSET, max_subwords=most
    )

    found = set(named(spans))
    missed = [
        (row, span)
        for number, row in enumerate(rows)
        for span in from_iob2(row.tags)
        if (number, span.start, span.end) not in found
    ]
    assert [(sentence, span) for sentence, span, _ in named_too_long] == missed


@given(sentences(), st.integers(3, 12), st.integers(0, 5))
def test_a_candidate_is_read_with_its_first_word_if_that_window_holds_it(rows, length, overlap):
    batch, spans = candidates(rows, 9, length=length, overlap=overlap)

    begins = np.cumsum([0, *(len(row.tokens) for row in rows)])
    last_rows = np.cumsum(np.bincount(batch.inputs.rows.subwords.sequences)) - 2  # before [SEP]
    first_words = begins[spans.sentences] + spans.starts.numpy()
    own = batch.windows.numpy()[first_words]
    sizes = (spans.last_subwords - spans.first_subwords).numpy()
    ends = batch.word_subwords[batch.word_offsets].numpy()[first_words] + sizes
    is_held = ends <= last_rows[own]
    assert ((spans.windows.numpy() == own) == is_held).all()
