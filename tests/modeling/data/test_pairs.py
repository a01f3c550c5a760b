import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import CorpusError
from modeling.config import ConfigError
from modeling.data.chance import Chance
from modeling.data.examples import ExampleSet
from modeling.data.pairs import grow, sentence_borders, viewer_of


@pytest.fixture(scope="module")
def train(tmp_path_factory, samples):
    rows = [samples.row(f"d{number // 2}#{number % 2}", 40) for number in range(200)]
    return ExampleSet(samples.write(tmp_path_factory.mktemp("pairs") / "x", rows), "train")


def views(examples, pairs, *, max_length=48, epoch=0):
    """A view of each example."""
    show = viewer_of(pairs, max_length)
    return [
        show(e, examples, Chance.of(np.array([e.hash], np.uint64), seed=1, epochs=epoch))
        for e in examples
    ]


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


def test_sentence_order_swaps_neighbours_of_one_example(train):
    for view in views(train, "sop"):
        first, second = view.parts if view.label else view.parts[::-1]
        assert first.example is second.example is view.example
        assert first.end == second.start


@pytest.mark.parametrize("pairs", ["nsp", "sop"])
def test_half_of_the_labels_are_1(train, pairs):
    labels = [view.label for epoch in range(5) for view in views(train, pairs, epoch=epoch)]

    assert abs(sum(labels) - 500) < 5 * np.sqrt(1000 / 4)


def test_an_example_that_fits_is_shown_as_a_whole(train):
    for view in views(train, "sop"):
        assert sum(part.size for part in view.parts) == len(view.example.pieces)


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


def test_two_long_sentences_keep_the_pieces_next_to_their_border(tmp_path, samples):
    row = samples.row("a#0", 40) | {"word_starts": list(range(40)), "sentence_starts": [0, 25]}
    examples = ExampleSet(samples.write(tmp_path / "x", [row]), "train")

    [view] = views(examples, "sop", max_length=23)

    assert sorted(part[1:] for part in view.parts) == [(15, 25), (25, 35)]
    assert view.count()["pieces.left_out"] == 20


def test_a_sentence_outside_its_example_is_an_error_that_names_it(samples):
    row = samples.row("a#7", 9) | {"sentence_starts": [0, 9]}

    with pytest.raises(CorpusError, match="example a#7: has a sentence outside"):
        sentence_borders(samples.example(row))


def test_a_length_without_room_for_two_texts_is_refused():
    with pytest.raises(ConfigError, match="max_length 4"):
        viewer_of("nsp", 4)


def literal_growth(before, after, room, coins):
    """C.9, with the budget counted once (B-N14)."""
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
