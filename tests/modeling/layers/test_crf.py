"""Linear chains against the sum, and the best, of all paths one by one."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from modeling.data.tagset import TagSet
from modeling.layers.crf import (
    FORBIDDEN,
    Crf,
    constrained,
    expected_score,
    log_partition,
    log_partition_of_logs,
    messages,
    messages_of_logs,
    pair_counts,
    score,
    span_log_probabilities,
    viterbi,
    word_log_marginals,
)

TAGSET = TagSet(("LOC", "PER"))
LENGTHS = [4, 0, 1, 3, 2]
SCALES = [1.0, 400.0]  # the sums are scaled; the potentials part too far for that


def draw(lengths, *, n_tags=5, scale=1.0, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    shapes = (len(lengths), max(lengths, default=0), n_tags), (n_tags, n_tags), (n_tags,)
    emissions, transitions, starts = (
        (torch.randn(shape, generator=generator) * scale).to(dtype).requires_grad_()
        for shape in shapes
    )
    return Crf(emissions, torch.tensor(lengths, dtype=torch.int64), transitions, starts)


def valid(crf):
    return constrained(crf, TAGSET.follows, TAGSET.begins)


def is_valid(path):
    begins = TAGSET.begins[path[0]] if path else True
    return begins and all(TAGSET.follows[a, b] for a, b in itertools.pairwise(path))


def potentials(crf):
    return crf.emissions, crf.transitions, crf.starts


def literal_score(crf, sentence, path):
    terms = [crf.emissions[sentence, word, tag] for word, tag in enumerate(path)]
    terms += [crf.starts[tag] for tag in path[:1]]
    terms += [crf.transitions[pair] for pair in itertools.pairwise(path)]
    return torch.stack(terms).sum() if terms else crf.starts.sum() * 0


def scored_paths(crf, sentence):
    """Return all paths of a sentence, and their scores."""
    length = int(crf.lengths[sentence])
    paths = list(itertools.product(range(len(crf.starts)), repeat=length))
    tags = torch.tensor(paths, dtype=torch.int64).view(len(paths), length)
    scores = crf.emissions[sentence, torch.arange(length), tags].sum(1)
    scores = scores + crf.transitions[tags[:, :-1], tags[:, 1:]].sum(1)
    return paths, scores + crf.starts[tags[:, :1]].sum(1)


def all_log_partitions(crf):
    sentences = range(len(crf.lengths))
    return torch.stack([scored_paths(crf, s)[1].logsumexp(0) for s in sentences])


def log_probability(crf, sentence, holds):
    """Return the log-probability of all paths for which ``holds`` is true."""
    paths, scores = scored_paths(crf, sentence)
    held = torch.tensor([holds(path) for path in paths])
    return scores.masked_fill(~held, -torch.inf).logsumexp(0) - scores.logsumexp(0)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("change", [lambda crf: crf, valid], ids=["free", "constrained"])
def test_log_partition_and_its_gradient_are_of_the_sum_over_all_paths(change, scale):
    crf = draw(LENGTHS, scale=scale)
    weights = torch.arange(1.0, 6.0, dtype=torch.float64)

    actual = log_partition(change(crf))

    expected = all_log_partitions(change(crf))
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(
        torch.autograd.grad((weights * actual).sum(), potentials(crf)),
        torch.autograd.grad((weights * expected).sum(), potentials(crf)),
    )


@settings(max_examples=30)
@given(
    lengths=st.lists(st.integers(0, 4), max_size=4),
    n_tags=st.sampled_from([1, 3, 5]),
    scale=st.sampled_from([0.0, 1.0, 30.0, 1000.0]),
    seed=st.integers(0, 2**16),
)
def test_any_chain_is_summed_and_decoded_as_all_its_paths(lengths, n_tags, scale, seed):
    crf = draw(lengths, n_tags=n_tags, scale=scale, seed=seed)

    sums, best = log_partition(crf), viterbi(crf)

    for sentence, length in enumerate(lengths):
        _, scores = scored_paths(crf, sentence)
        torch.testing.assert_close(sums[sentence], scores.logsumexp(0))
        path = best[sentence].tolist()
        torch.testing.assert_close(literal_score(crf, sentence, path[:length]), scores.max())
        assert not any(path[length:])


@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_scaled_sums_are_those_of_logarithms_in_long_sentences(scale):
    crf = draw([700, 1, 512], n_tags=9, scale=scale)
    assert crf.potentials.is_scalable()

    actual = log_partition(crf)

    expected = log_partition_of_logs(crf.potentials)
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(
        torch.autograd.grad(actual.sum(), potentials(crf)),
        torch.autograd.grad(expected.sum(), potentials(crf)),
    )


@settings(max_examples=30)
@given(st.integers(0, 2**16))
def test_scaled_sums_are_those_of_logarithms_as_far_as_they_are_used(seed):
    """Potentials are ± 62, so that steps part by 248, of at most 250."""
    free = draw([12, 7], seed=seed)
    emissions, transitions, starts = (62 * x.sign() for x in potentials(free))
    crf = valid(Crf(emissions, free.lengths, transitions, starts))
    assert crf.potentials.is_scalable()

    actual = messages(crf.potentials)

    expected = messages_of_logs(crf.potentials)
    stands = crf.stands[:, :, None]
    for one, other in zip(actual[:2], expected[:2], strict=True):
        possible = stands & (other > FORBIDDEN / 2)
        torch.testing.assert_close(one[possible], other[possible])
        assert (one[stands & ~possible] < FORBIDDEN / 2).all()
    torch.testing.assert_close(actual.log_partition, expected.log_partition)


def test_potentials_that_part_too_far_are_not_scaled():
    """The tag that is e^-760 times less likely at first is the more likely one later."""
    emissions = torch.tensor([[[0.0, -760.0], [0.0, 800.0]]], dtype=torch.float64)
    transitions = torch.tensor([[0.0, -790.0], [0.0, 0.0]], dtype=torch.float64)
    crf = Crf(emissions, torch.tensor([2]), transitions, torch.zeros(2, dtype=torch.float64))

    torch.testing.assert_close(log_partition(crf), all_log_partitions(crf))
    assert word_log_marginals(crf)[0, 0, 1].exp() > 0.99


def test_scores_are_those_of_the_path():
    crf = draw(LENGTHS)
    tags = torch.randint(len(TAGSET), (5, 4), generator=torch.Generator().manual_seed(1))

    actual = score(crf, tags)

    paths = [row[:n].tolist() for row, n in zip(tags, LENGTHS, strict=True)]
    expected = torch.stack([literal_score(crf, s, path) for s, path in enumerate(paths)])
    torch.testing.assert_close(actual, expected)
    torch.testing.assert_close(
        torch.autograd.grad(actual.sum(), potentials(crf)),
        torch.autograd.grad(expected.sum(), potentials(crf)),
    )


def test_constrained_viterbi_is_the_best_valid_path():
    crf = draw([5, 3, 1], scale=3.0)

    best = viterbi(valid(crf))

    for sentence, length in enumerate([5, 3, 1]):
        paths, scores = scored_paths(crf, sentence)
        allowed = torch.tensor([is_valid(path) for path in paths])
        winner = paths[int(scores.masked_fill(~allowed, -torch.inf).argmax())]
        assert best[sentence, :length].tolist() == list(winner)


@settings(max_examples=20)
@given(st.integers(0, 2**16), st.sampled_from([1.0, 1e4, 1e6]))
def test_constrained_viterbi_is_valid_whatever_the_potentials(seed, scale):
    crf = draw([30, 30], scale=scale, dtype=torch.float32, seed=seed)

    best = viterbi(valid(crf))

    assert all(is_valid(path) for path in best.tolist())


@pytest.mark.parametrize("scale", SCALES)
def test_marginals_of_words_are_the_paths_with_the_tag(scale):
    crf = draw(LENGTHS, scale=scale)

    marginals = word_log_marginals(crf)

    for sentence, length in enumerate(LENGTHS):
        assert (marginals[sentence, length:] == -torch.inf).all()
        for word, tag in itertools.product(range(length), range(len(TAGSET))):
            expected = log_probability(crf, sentence, lambda p, w=word, t=tag: p[w] == t)
            torch.testing.assert_close(marginals[sentence, word, tag], expected)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("change", [lambda crf: crf, valid], ids=["free", "constrained"])
def test_span_probabilities_are_the_paths_with_exactly_that_span(change, scale):
    crf = change(draw(LENGTHS, scale=scale))
    spans = [
        (sentence, start, end, label)
        for sentence, length in enumerate(LENGTHS)
        for start in range(length)
        for end in range(start + 1, length + 1)
        for label in (0, 1)
    ]
    names = ("sentences", "starts", "ends", "labels")
    columns = dict(zip(names, torch.tensor(spans).T, strict=True))

    actual = span_log_probabilities(crf, **columns)

    def has(start, end, label):
        tags = (1 + 2 * label, *[2 + 2 * label] * (end - start - 1))
        return lambda p: p[start:end] == tags and (end == len(p) or p[end] != 2 + 2 * label)

    expected = [log_probability(crf, sentence, has(*span)) for sentence, *span in spans]
    torch.testing.assert_close(actual, torch.stack(expected))


def test_a_word_is_in_a_span_as_often_as_it_is_not_outside():
    crf = valid(draw([40], scale=2.0))
    spans = [(s, e, k) for s in range(40) for e in range(s + 1, 41) for k in (0, 1)]
    starts, ends, labels = torch.tensor(spans).T

    log_probabilities = span_log_probabilities(
        crf, sentences=torch.zeros_like(starts), starts=starts, ends=ends, labels=labels
    )

    words = torch.arange(40)[:, None]
    covers = ((starts <= words) & (words < ends)).double()
    inside = covers @ log_probabilities.exp()
    torch.testing.assert_close(inside, 1 - word_log_marginals(crf)[0, :, 0].exp())


def test_what_stands_beyond_a_sentence_changes_nothing():
    crf, tags = draw(LENGTHS), torch.zeros(5, 4, dtype=torch.int64)
    emissions = crf.emissions.detach().masked_fill(~crf.stands[:, :, None], torch.nan)
    other = Crf(emissions.requires_grad_(), crf.lengths, crf.transitions, crf.starts)
    span = {name: torch.tensor([3]) for name in ("sentences", "ends")}
    span |= {"starts": torch.tensor([1]), "labels": torch.tensor([0])}

    for function in (
        log_partition,
        lambda crf: score(crf, tags.masked_fill(~crf.stands, -100)),
        lambda crf: viterbi(crf).double(),
        lambda crf: word_log_marginals(crf).exp(),
        lambda crf: span_log_probabilities(crf, **span),
    ):
        torch.testing.assert_close(function(other), function(crf))
    gradient = torch.autograd.grad(log_partition(other).sum(), other.emissions)[0]
    assert not gradient[~crf.stands].any()
    assert gradient.isfinite().all()


def test_a_batch_is_its_sentences():
    crf = draw(LENGTHS)

    together = log_partition(crf)

    alone = [
        log_partition(Crf(crf.emissions[s : s + 1, :n], torch.tensor([n]), *potentials(crf)[1:]))
        for s, n in enumerate(LENGTHS)
    ]
    torch.testing.assert_close(together, torch.cat(alone))


@pytest.mark.parametrize("lengths", [[], [0], [0, 0, 0]])
def test_no_word_is_no_error(lengths):
    crf = draw(lengths)
    tags = torch.zeros(len(lengths), 0, dtype=torch.int64)
    none = torch.zeros(0, dtype=torch.int64)

    log_likelihood = score(crf, tags) - log_partition(crf)
    log_likelihood.sum().backward()

    assert log_likelihood.tolist() == [0.0] * len(lengths)
    assert viterbi(crf).shape == tags.shape
    assert word_log_marginals(crf).shape == (*tags.shape, len(TAGSET))
    assert not len(span_log_probabilities(crf, sentences=none, starts=none, ends=none, labels=none))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_gradients_have_the_type_of_the_potentials_and_sums_are_exact(dtype):
    crf = draw([60, 20], dtype=dtype)
    emissions, transitions, starts = (x.detach().double() for x in potentials(crf))
    exact = Crf(emissions, crf.lengths, transitions, starts)

    loss = log_partition(crf)
    gradients = torch.autograd.grad(loss.sum(), potentials(crf))

    assert {g.dtype for g in gradients} == {dtype}
    torch.testing.assert_close(loss, log_partition(exact))


@pytest.mark.parametrize("scale", [1e3, 1e6])
def test_large_potentials_give_finite_losses_and_gradients(scale):
    crf = draw([50, 3], scale=scale, dtype=torch.float32)
    tags = torch.zeros(2, 50, dtype=torch.int64)

    loss = (log_partition(valid(crf)) - score(crf, tags)).sum()
    loss.backward()

    assert loss.isfinite()
    assert loss >= 0
    assert all(x.grad.isfinite().all() for x in potentials(crf))


def test_potentials_that_are_no_numbers_are_not_hidden():
    crf = draw([3, 2])
    emissions = crf.emissions.detach().clone()
    emissions[0, 1, 2] = torch.nan

    sums = log_partition(Crf(emissions, crf.lengths, *potentials(crf)[1:]))

    assert sums.isnan().tolist() == [True, False]


def test_shapes_that_do_not_fit_are_an_error():
    with pytest.raises(ValueError, match=r"need 2 lengths, 5 x 5 transitions"):
        Crf(torch.zeros(2, 3, 5), torch.tensor([3, 1]), torch.zeros(4, 4), torch.zeros(5))


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("change", [lambda crf: crf, valid], ids=["free", "constrained"])
def test_pairs_and_mean_scores_are_of_all_paths_by_their_probability(change, scale):
    teacher, student = change(draw(LENGTHS, scale=scale)), draw(LENGTHS, seed=1)

    words, pairs = word_log_marginals(teacher).exp(), pair_counts(teacher)
    actual = expected_score(student, words, pairs)

    counts, means = torch.zeros_like(pairs), []
    for sentence in range(len(LENGTHS)):
        paths, scores = scored_paths(teacher, sentence)
        probabilities = scores.detach().softmax(0)
        means.append((probabilities * scored_paths(student, sentence)[1]).sum())
        for path, probability in zip(paths, probabilities, strict=True):
            for pair in itertools.pairwise(path):
                counts[sentence][pair] += probability
    torch.testing.assert_close(pairs, counts)
    torch.testing.assert_close(actual, torch.stack(means))


def test_the_score_of_one_path_is_its_own_mean():
    crf = draw(LENGTHS)
    tags = torch.randint(
        5, (len(LENGTHS), max(LENGTHS)), generator=torch.Generator().manual_seed(3)
    )
    words = torch.nn.functional.one_hot(tags, 5)
    pairs = torch.zeros(len(LENGTHS), 5, 5)
    for sentence, length in enumerate(LENGTHS):
        for pair in itertools.pairwise(tags[sentence, :length].tolist()):
            pairs[sentence][pair] += 1

    torch.testing.assert_close(expected_score(crf, words, pairs), score(crf, tags))


def test_no_student_is_nearer_to_a_teacher_than_itself():
    teacher = valid(draw(LENGTHS))
    words, pairs = word_log_marginals(teacher).exp(), pair_counts(teacher)

    loss = (log_partition(teacher) - expected_score(teacher, words, pairs)).sum()
    for gradient in torch.autograd.grad(loss, (teacher.emissions,)):
        torch.testing.assert_close(gradient, torch.zeros_like(gradient))


def test_nothing_is_expected_of_no_words():
    crf = draw([0, 0])

    assert not pair_counts(crf).any()
    assert expected_score(crf, torch.zeros(2, 0, 5), pair_counts(crf)).tolist() == [0, 0]
