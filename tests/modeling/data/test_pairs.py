import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from corpora.errors import CorpusError
from modeling.data.examples import ExampleSet
from modeling.data.rng import Rng
from modeling.data.texts import AdjacentSentences, Draws, Viewer, grow, next_sentence


@pytest.fixture(scope="module")
def train(tmp_path_factory, samples):
    rows = [samples.row(f"d{number // 2}#{number % 2}", 40) for number in range(200)]
    return ExampleSet(samples.write(tmp_path_factory.mktemp("pairs") / "x", rows), "train")


def views(examples, pairs, *, max_length=48, epoch=0, **settings):
    """Return a view of each example."""
    show = Viewer(pairs, max_length, **settings)
    shown = list(examples)
    hashes = np.array([example.hash for example in shown], np.uint64)
    return show(shown, [examples] * len(shown), Rng.of(hashes, seed=1, epochs=epoch))


def parts_of(view):
    return [(part.example.id, part.start, part.end) for part in view.parts]


def sentence_borders(example):
    return AdjacentSentences.of(example).borders


@pytest.mark.parametrize("pairs", ["nsp", "sop"])
@pytest.mark.parametrize("max_length", [12, 30, 48])
def test_pairs_fit_and_have_two_texts(train, pairs, max_length):
    for view in views(train, pairs, max_length=max_length):
        sizes = [part.size for part in view.parts]
        assert len(sizes) == 2
        assert min(sizes) > 0
        assert sum(sizes) + 3 <= max_length


def test_connected_texts_stand_side_by_side_in_one_example(train):
    connected = [view for view in views(train, "nsp") if view.label == 1]

    for view in connected:
        first, second = view.parts
        assert first.example is second.example is view.example
        assert first.end == second.start
        assert first.end in sentence_borders(view.example)


def test_texts_that_are_not_connected_are_of_two_documents(train):
    others = [view for view in views(train, "nsp") if view.label == 0]

    for view in others:
        first, second = view.parts
        assert first.example is view.example
        assert first.example.document_id != second.example.document_id
        assert second.start in sentence_borders(second.example)[1:]


@pytest.mark.parametrize("max_length", [12, 48, 64])
@pytest.mark.parametrize("pairs", ["none", "nsp", "sop"])
def test_what_is_shown_of_an_example_depends_on_no_other_of_the_batch(train, pairs, max_length):
    show = Viewer(pairs, max_length)

    alone = [
        show([e], [train], Rng.of(np.array([e.hash], np.uint64), seed=1, epochs=0))[0]
        for e in train
    ]

    for one, view in zip(alone, views(train, pairs, max_length=max_length), strict=True):
        assert (one.label, one.notes) == (view.label, view.notes)
        assert parts_of(one) == parts_of(view)


def words_of_one_subword(samples, sizes):
    """Return examples of these numbers of subwords, each a document; each word is one subword."""
    rows = [samples.row(f"d{number}#0", n) for number, n in enumerate(sizes)]
    return [
        samples.example(row | {"word_starts": list(range(row_size))})
        for row, row_size in zip(rows, sizes, strict=True)
    ]


SEEDS = st.integers(0, 2**64 - 1)


@given(sizes=st.tuples(*2 * [st.integers(8, 60)]), drawn=SEEDS)
def test_where_there_is_room_the_label_changes_no_length(samples, sizes, drawn):
    example, partner = map(AdjacentSentences.of, words_of_one_subword(samples, sizes))
    assume(min(example.n, partner.n) > 1)
    labels = [Draws(label, drawn, bytes(200)) for label in (0, 1 << 63)]

    shown = [next_sentence(example, partner, draws, room=120) for draws in labels]

    assert [view.label for view in shown] == [0, 1]
    first, second = ([part.size for part in view.parts] for view in shown)
    assert first == second


@given(sizes=st.tuples(*2 * [st.integers(8, 60)]), drawn=SEEDS)
def test_two_examples_are_divided_alike_whichever_comes_first(samples, sizes, drawn):
    example, partner = map(AdjacentSentences.of, words_of_one_subword(samples, sizes))
    assume(min(example.n, partner.n) > 1)
    draws = Draws(1 << 63, drawn, bytes(200))

    one, other = (
        next_sentence(*pair, draws, room=120) for pair in ((example, partner), (partner, example))
    )

    assert one.parts[1].size == other.parts[1].size


@pytest.mark.parametrize("max_length", [40, 64])
def test_texts_are_as_long_with_the_one_label_as_with_the_other(tmp_path, samples, max_length):
    rows = [samples.row(f"d{n // 2}#{n % 2}", 60 - n % 7, seed=n) for n in range(400)]
    examples = ExampleSet(samples.write(tmp_path / "x", rows), "train")

    shown = [
        view
        for epoch in range(10)
        for view in views(examples, "nsp", max_length=max_length, epoch=epoch)
    ]

    sizes = np.array([sum(part.size for part in view.parts) for view in shown])
    labels = np.array([view.label for view in shown])
    spread = sizes.std() * np.sqrt(4 / len(sizes))
    assert abs(sizes[labels == 1].mean() - sizes[labels == 0].mean()) < 4 * spread


def test_texts_of_next_sentence_prediction_are_swapped_only_if_so_asked(train):
    plain, swapped = (
        [v for epoch in range(5) for v in views(train, "nsp", epoch=epoch, swap_pairs=swaps)]
        for swaps in (False, True)
    )

    is_swapped = [parts_of(a) != parts_of(b) for a, b in zip(plain, swapped, strict=True)]
    for one, other, is_other in zip(plain, swapped, is_swapped, strict=True):
        assert one.label == other.label
        assert parts_of(other) == (parts_of(one)[::-1] if is_other else parts_of(one))
    for label in (0, 1):
        of_label = [s for s, view in zip(is_swapped, plain, strict=True) if view.label == label]
        assert abs(sum(of_label) - len(of_label) / 2) < 5 * np.sqrt(len(of_label) / 4)


def test_sentence_order_swaps_neighbours_of_one_example(train):
    for view in views(train, "sop"):
        first, second = view.parts if view.label else view.parts[::-1]
        assert first.example is second.example is view.example
        assert first.end == second.start


def test_the_length_of_the_text_that_is_shown_first_does_not_tell_the_order(tmp_path, samples):
    """Whatever the lengths at the ends of examples: here their last sentences are short."""
    starts = [0, 13, 20, 31, 38, 50, 56, 57, 58, 59]
    row = samples.row("a#0", 60) | {"word_starts": list(range(60)), "sentence_starts": starts}
    rows = [row | {"id": f"a#{number}"} for number in range(400)]
    examples = ExampleSet(samples.write(tmp_path / "x", rows), "train")

    shown = views(examples, "sop")

    firsts = [[v.parts[0].size for v in shown if v.label == label] for label in (0, 1)]
    assert abs(np.mean(firsts[0]) - np.mean(firsts[1])) < 4


@pytest.mark.parametrize("pairs", ["nsp", "sop"])
def test_half_of_the_labels_are_1(train, pairs):
    labels = [view.label for epoch in range(5) for view in views(train, pairs, epoch=epoch)]

    assert abs(sum(labels) - 500) < 5 * np.sqrt(1000 / 4)


def test_an_example_that_fits_is_shown_as_a_whole(train):
    for view in views(train, "sop"):
        assert sum(part.size for part in view.parts) == len(view.example.subwords)


def test_an_example_of_one_sentence_is_shown_as_it_is_and_counted(tmp_path, samples):
    row = samples.row("a#0", 9) | {"sentence_starts": [0]}
    examples = ExampleSet(samples.write(tmp_path / "x", [row]), "train")

    [view] = views(examples, "sop")

    assert [part[1:] for part in view.parts] == [(0, 9)]
    assert view.label is None
    assert view.count() == {"pairs.single_sentence": 1}


def test_where_there_is_one_document_texts_are_shown_as_they_are_and_counted(tmp_path, samples):
    rows = [samples.row(f"a#{number}", 40) for number in range(20)]
    examples = ExampleSet(samples.write(tmp_path / "x", rows), "train")

    shown = views(examples, "nsp")

    assert [view.count()["pairs.no_partner"] for view in shown] == [1] * 20
    assert [view.label for view in shown] == [None] * 20


def test_two_long_sentences_keep_the_subwords_next_to_their_border(tmp_path, samples):
    row = samples.row("a#0", 40) | {"word_starts": list(range(40)), "sentence_starts": [0, 25]}
    examples = ExampleSet(samples.write(tmp_path / "x", [row]), "train")

    [view] = views(examples, "sop", max_length=23)

    assert sorted(part[1:] for part in view.parts) == [(15, 25), (25, 35)]
    assert view.count()["subwords.left_out"] == 20


def test_a_sentence_outside_its_example_is_an_error_that_names_it(samples):
    row = samples.row("a#7", 9) | {"sentence_starts": [0, 9]}

    with pytest.raises(CorpusError, match="example a#7: has a sentence outside"):
        sentence_borders(samples.example(row))


def literal_growth(before, after, room, coins):
    """Grow both sides by the published pseudo-code, with the budget counted once."""
    front, back, coins = list(before), list(after), list(coins)
    n_front = n_back = 0
    front_closed, back_closed = not front, not back
    while not (front_closed and back_closed):
        if front_closed:
            prepend = False
        elif back_closed:
            prepend = True
        else:
            prepend = coins[n_front + n_back] == 0
        if prepend and front[n_front] <= room:
            room -= front[n_front]
            n_front += 1
            front_closed = n_front == len(front)
        elif prepend:
            front_closed = True
        elif back[n_back] <= room:
            room -= back[n_back]
            n_back += 1
            back_closed = n_back == len(back)
        else:
            back_closed = True
    return n_front, n_back


SIZES = st.lists(st.integers(1, 6), max_size=8)


@given(before=SIZES, after=SIZES, room=st.integers(0, 40), seed=st.integers(0, 99))
def test_texts_grow_as_the_published_rules_say(before, after, room, seed):
    coins = np.random.default_rng(seed).integers(0, 2, 64).astype(np.uint8)

    grown = grow(before, after, room=room, coins=coins)

    assert grown == literal_growth(before, after, room, coins)


@given(before=SIZES, after=SIZES, room=st.integers(0, 40), seed=st.integers(0, 99))
def test_texts_grow_until_no_neighbour_fits(before, after, room, seed):
    coins = np.random.default_rng(seed).integers(0, 2, 64).astype(np.uint8)

    n_before, n_after = grow(before, after, room=room, coins=coins)

    left = room - sum(before[:n_before]) - sum(after[:n_after])
    assert left >= 0
    assert all(
        side[n] > left for side, n in ((before, n_before), (after, n_after)) if n < len(side)
    )
