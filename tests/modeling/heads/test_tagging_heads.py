"""Heads of tags: their losses, and the chains that decoders read."""

import itertools
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional

from corpora.document import TokenSpan
from modeling.config import EncoderConfig
from modeling.data.batch import Layout
from modeling.data.tagset import TagSet
from modeling.decoding.tags import decode
from modeling.heads.tagging_heads import CseHead, is_end, is_start
from modeling.layers.crf import Crf, RuledTransitions, Transitions, log_partition, score
from modeling.models.tagging_model import build_head
from modeling.tagging_config import HEADS, HeadConfig, TaggerConfig

TAGSET = TagSet(("LOC", "PER"))
KINDS = ["softmax", "cse", "crf", "crf_ner"]
WIDTH = 6
LENGTHS = [3, 0, 4, 1]


def make(kind, *, width, class_weights=None, **settings):
    head, encoder = HeadConfig(kind=kind, **settings), EncoderConfig(width=width)
    return build_head(TaggerConfig(labels=TAGSET.labels, encoder=encoder, head=head), class_weights)


def build(kind, *, width=WIDTH, **settings):
    torch.manual_seed(0)
    head = make(kind, width=width, **settings).double()
    with torch.no_grad():
        for parameter in head.parameters():
            parameter.copy_(torch.randn(parameter.shape))
    return head


def make_states(lengths=LENGTHS, *, seed=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(sum(lengths), WIDTH, dtype=torch.float64, generator=generator)


def tags_of(*sentences):
    codes = [TAGSET.encode(sentence.split()) for sentence in sentences]
    return torch.cat([torch.from_numpy(row) for row in codes])


GOLD = tags_of("B-LOC I-LOC O", "", "B-PER B-PER I-PER B-LOC", "B-LOC")


def paths_of(crf, sentence):
    """Return all paths of a sentence (M, n), and their scores (M,)."""
    length, n_tags = int(crf.lengths[sentence]), len(crf.starts)
    paths = torch.tensor(list(itertools.product(range(n_tags), repeat=length)))
    emissions = crf.emissions[sentence, :length].expand(len(paths), -1, -1)
    lengths = torch.full((len(paths),), length)
    return paths, score(Crf(emissions, lengths, crf.transitions, crf.starts), paths)


def test_softmax_loss_is_summed_cross_entropy():
    head, states = build("softmax"), make_states()

    loss = head.loss(head(states), Layout.of(LENGTHS), GOLD)

    expected = functional.cross_entropy(head.linear(states), GOLD, reduction="sum")
    torch.testing.assert_close(loss, expected.float())


def test_class_weights_give_torchs_weighted_mean_times_the_words():
    weights = torch.tensor([0.1, 2.0, 5.0], dtype=torch.float64)
    head, states = build("softmax", class_weights=weights), make_states()

    loss = head.loss(head(states), Layout.of(LENGTHS), GOLD)

    of_tags = weights[[0, 1, 1, 2, 2]]  # O, B-LOC, I-LOC, B-PER, I-PER
    mean = functional.cross_entropy(head.linear(states), GOLD, weight=of_tags)
    torch.testing.assert_close(loss, (mean * len(GOLD)).float())


@pytest.mark.parametrize("kind", ["softmax", "cse"])
def test_equal_class_weights_are_none(kind):
    head, weighted = build(kind), build(kind, class_weights=torch.full((3,), 7.0))
    states, words = make_states(), Layout.of(LENGTHS)

    losses = [h.loss(h(states), words, GOLD) for h in (head, weighted)]

    torch.testing.assert_close(*losses)


def test_class_weights_are_not_saved():
    head = build("cse", class_weights=torch.ones(3))

    assert head.state_dict().keys() == build("cse").state_dict().keys()


@pytest.mark.parametrize("kind", ["softmax", "cse"])
def test_class_weights_are_of_classes_and_not_of_tags(kind):
    with pytest.raises(ValueError, match="must be 3"):
        make(kind, width=4, class_weights=torch.ones(5))


@settings(max_examples=40)
@given(st.lists(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 3)), max_size=4), max_size=4))
def test_starts_and_ends_are_those_of_the_spans(sentences):
    """A sentence is a list of (what: LOC, PER or outside; how many words)."""
    tags, starts, ends = [], [], []
    for parts in sentences:
        begin = len(tags)
        for kind, size in parts:
            span = [TokenSpan(start=0, end=size, label=TAGSET.labels[kind])] if kind < 2 else []
            tags += TAGSET.encode_spans(span, size).tolist()
            starts += [kind < 2] + [False] * (size - 1)
            ends += [False] * (size - 1) + [kind < 2]
        assert len(tags) - begin == sum(size for _, size in parts)
    words = Layout.of([sum(size for _, size in parts) for parts in sentences])
    codes = torch.tensor(tags, dtype=torch.int64)

    assert is_start(codes).tolist() == starts
    assert is_end(codes, words).tolist() == ends


@pytest.mark.parametrize("weight", [1.0, 6.0])
@pytest.mark.parametrize("kind", ["bce", "l1", "l2"])
def test_cse_loss_is_that_of_classes_starts_and_ends(kind, weight):
    head = build("cse", boundary_loss=kind, boundary_weight=weight)
    states = make_states()

    loss = head.loss(head(states), Layout.of(LENGTHS), GOLD)

    scores = head.linear(states)
    gold = torch.tensor([1, 1, 0, 2, 2, 2, 1, 1])
    starts, ends = [1, 0, 0, 1, 1, 0, 1, 1], [0, 1, 0, 1, 0, 1, 1, 1]
    total = -sum(scores[i, :3].log_softmax(0)[k] for i, k in enumerate(gold.tolist()))
    for column, flags in ((-2, starts), (-1, ends)):
        for probability, flag in zip(scores[:, column].sigmoid(), flags, strict=True):
            away = 1 - probability if flag else probability
            by_kind = {"bce": -(1 - away).log(), "l1": away, "l2": away**2}
            total = total + (weight if flag else 1) * by_kind[kind]
    torch.testing.assert_close(loss, total.float())


def test_cse_chain_is_the_product_of_its_probabilities_on_every_path_it_allows():
    head = build("cse")
    scores = head(make_states())

    crf = head.crf(scores, Layout.of(LENGTHS))

    rows = iter(scores)
    for sentence, length in enumerate(LENGTHS):
        words = [next(rows) for _ in range(length)]
        paths, found = paths_of(crf, sentence)
        for path, value in zip(paths.tolist(), found, strict=True):
            before = [0, *path]
            if any(a == 0 and b in {2, 4} for a, b in itertools.pairwise(before)):
                assert value < -1e8  # an I- that continues nothing
                continue
            product = torch.ones((), dtype=torch.float64)
            for word, tag, next_tag in zip(words, path, [*path[1:], 0], strict=False):
                start, end = word[3].sigmoid(), word[4].sigmoid()
                ends_here = tag != 0 and next_tag not in {2, 4}
                product = product * word[:3].softmax(0)[(tag + 1) // 2]
                product = product * (start if tag in {1, 3} else 1 - start)
                product = product * (end if ends_here else 1 - end)
            torch.testing.assert_close(value, product.log())


@pytest.mark.parametrize("kind", ["crf", "crf_ner"])
def test_loss_of_a_chain_is_the_probability_of_the_gold_path_among_all(kind):
    head, states, words = build(kind), make_states(), Layout.of(LENGTHS)
    scores = head(states)

    loss = head.loss(scores, words, GOLD)

    crf = head.crf(scores, words)
    total = torch.zeros((), dtype=torch.float64)
    for sentence, gold in enumerate(GOLD.split(LENGTHS)):
        paths, found = paths_of(crf, sentence)
        total = total - found.log_softmax(0)[(paths == gold).all(1)].squeeze()
    torch.testing.assert_close(loss, total.float())


@pytest.mark.parametrize("kind", KINDS)
def test_losses_of_sentences_add_up(kind):
    head, states = build(kind), make_states()
    n = LENGTHS[0]

    whole = head.loss(head(states), Layout.of(LENGTHS), GOLD)

    first = head.loss(head(states[:n]), Layout.of(LENGTHS[:1]), GOLD[:n])
    rest = head.loss(head(states[n:]), Layout.of(LENGTHS[1:]), GOLD[n:])
    torch.testing.assert_close(whole, first + rest)


@pytest.mark.parametrize("kind", KINDS)
def test_a_temperature_divides_what_parts_two_paths(kind):
    head, words = build(kind), Layout.of([3])
    scores = head(make_states([3]))

    crfs = [head.crf(scores, words, temperature) for temperature in (1.0, 2.5)]

    cold, warm = (paths_of(crf, 0)[1] for crf in crfs)
    allowed = cold > -1e8
    torch.testing.assert_close((cold[allowed] / 2.5).log_softmax(0), warm[allowed].log_softmax(0))


def test_paths_of_softmax_have_the_probability_one_together():
    head, words = build("softmax"), Layout.of(LENGTHS)

    sums = log_partition(head.crf(head(make_states()), words))

    torch.testing.assert_close(sums, torch.zeros_like(sums))


def make_ruled(init):
    return RuledTransitions(follows=TAGSET.follows, begins=TAGSET.begins, init=init)


def ruled_by_formula(module):
    """Apply the penalties of Eq. 7 to transitions and starts."""
    allowed = torch.from_numpy(TAGSET.follows).float()
    begins = torch.from_numpy(TAGSET.begins).float()
    return [
        (a + module.factor * (1 - a)) * w - module.penalty * (1 - a)
        for w, a in ((module.between, allowed), (module.starts, begins))
    ]


@pytest.mark.parametrize("init", ["off", "on", "neiss"])
def test_ruled_transitions_are_the_formula(init):
    module = make_ruled(init)
    with torch.no_grad():
        module.penalty.add_(0.7)

    actual = module()

    expected = ruled_by_formula(module)
    torch.testing.assert_close(list(actual), expected)
    for one, other in zip(actual, expected, strict=True):
        torch.testing.assert_close(
            torch.autograd.grad((one * one).sum(), list(module.parameters()), allow_unused=True),
            torch.autograd.grad(
                (other * other).sum(), list(module.parameters()), allow_unused=True
            ),
        )


def test_rules_that_are_off_are_a_plain_chain():
    ruled, plain = make_ruled("off"), Transitions(len(TAGSET))
    plain.load_state_dict({"between": ruled.between, "starts": ruled.starts})

    torch.testing.assert_close(ruled(), plain())


def test_rules_that_are_on_push_down_what_they_forbid_alone():
    on = make_ruled("on")

    between, starts = on()

    forbidden = ~torch.from_numpy(TAGSET.follows)
    torch.testing.assert_close(between - on.between, -10.0 * forbidden)
    torch.testing.assert_close(starts - on.starts, -10.0 * ~torch.from_numpy(TAGSET.begins))


def test_published_rules_begin_with_small_numbers():
    numbers = torch.cat([p.detach().flatten() for p in make_ruled("neiss").parameters()])

    assert numbers.abs().max() <= 0.05
    assert len(numbers.unique()) == len(numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_dropout_is_for_training(kind):
    head, states = build(kind, dropout=0.5), make_states()

    training, evaluating = head(states), head.eval()(states)

    torch.testing.assert_close(evaluating, head.linear(states))
    assert not torch.equal(training, evaluating)


@pytest.mark.parametrize("kind", KINDS)
def test_half_precision_ends_with_the_scores(kind):
    head, states = build(kind).float(), make_states().float()
    words = Layout.of(LENGTHS)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        scores = head(states)
        loss = head.loss(scores, words, GOLD)
    loss.backward()

    exact = head.loss(functional.linear(states, head.linear.weight, head.linear.bias), words, GOLD)
    assert scores.dtype == loss.dtype == torch.float32
    assert all(p.grad is not None and p.grad.isfinite().all() for p in head.parameters())
    assert math.isclose(loss.item(), exact.item(), rel_tol=0.02)


@pytest.mark.parametrize("kind", KINDS)
def test_no_word_has_no_loss(kind):
    head, words = build(kind), Layout.of([0, 0])

    loss = head.loss(head(make_states([])), words, torch.zeros(0, dtype=torch.int64))
    loss.backward()

    assert loss.item() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_names_are_learned(kind):
    """Each word has a state of its own, so that every head can learn every tag."""
    torch.manual_seed(0)
    lengths = [len(row) for row in GOLD.split(LENGTHS)]
    states, words = torch.eye(len(GOLD)), Layout.of(lengths)
    head = make(kind, width=len(GOLD))
    adam = torch.optim.Adam(head.parameters(), lr=0.3)

    for _ in range(40):
        adam.zero_grad()
        head.loss(head(states), words, GOLD).backward()
        adam.step()

    for decoder in HEADS[kind].decoders:
        found = [one.spans for one in decode(head, head(states), words, decoder=decoder)]
        tags = [TAGSET.encode_spans(s, n) for s, n in zip(found, lengths, strict=True)]
        assert torch.cat([torch.from_numpy(row) for row in tags]).equal(GOLD)
        assert all(span.probability > 0.9 for spans in found for span in spans)


def test_a_cse_head_tells_its_parts():
    scores = torch.arange(10.0).view(2, 5)
    head = build("cse")

    classes, starts, ends = head.parts(scores)

    assert isinstance(head, CseHead)
    assert (classes.tolist(), starts.tolist(), ends.tolist()) == (
        [[0, 1, 2], [5, 6, 7]], [3, 8], [4, 9],
    )  # fmt: skip
