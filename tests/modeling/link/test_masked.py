"""Masked entity prediction among candidates, with a model that was pre-trained for two steps."""

import numpy as np
import pytest
import torch
from torch.profiler import ProfilerActivity

from corpora.document import Mention
from modeling.heads.pretraining import EntityHead, Transform
from modeling.link import linker as linking
from modeling.link.candidates import FEATURES, MASKED
from modeling.link.contexts import Reader
from modeling.link.linker import Linker, Training
from modeling.link.masked import EntityGuesser
from modeling.link.records import record_of
from tests.modeling.link.samples import letter

TEXT = "w1 w3 w5 w7 w9 w11"
NAMES = (Mention(0, 2), Mention(6, 8), Mention(12, 14))
CANDIDATES = [("e3", "e4", "nobody"), ("e5", "e3"), ("nobody", "none")]
UNSURE = [None] * 3


@pytest.fixture(scope="module")
def run(tmp_path_factory, examples):
    from modeling.pretrain.__main__ import main as pretrain

    folder = tmp_path_factory.mktemp("masked") / "run"
    small = ["training.max_steps=2", "training.batch_size=8", "training.micro_batch_size=8"]
    command = ["daluke_small", "--examples", str(examples), "--output", str(folder)]
    assert pretrain([*command, "--set", *small]) == 0
    return folder


@pytest.fixture(scope="module")
def guesser(run):
    return EntityGuesser.load(run)


def among(guesser, given, number):
    """Return log-probabilities among the known candidates of a name, others as ``given`` says.

    They come from the logits of all entities, as the head gives them.
    """
    [states] = guesser.encoder.entities([TEXT], [given])
    with torch.inference_mode():
        logits = guesser.head.logits(torch.from_numpy(states))[number].double().numpy()
    chosen = np.array([logits[guesser.ids[e]] for e in CANDIDATES[number] if e in guesser.ids])
    return chosen - np.log(np.exp(chosen).sum())


def test_the_surest_name_is_resolved_first_and_given_to_the_next_pass(guesser):
    found = guesser.guess(TEXT, NAMES, CANDIDATES, sure=UNSURE)

    alone = [among(guesser, NAMES, number) for number in (0, 1)]
    first = int(alone[1].max() > alone[0].max())
    best = CANDIDATES[first][int(alone[first].argmax())]
    given = list(NAMES)
    given[first] = Mention(NAMES[first].start, NAMES[first].end, entity=best)
    np.testing.assert_allclose(found[first][:2], alone[first], atol=1e-5)
    later = among(guesser, given, 1 - first)
    np.testing.assert_allclose(found[1 - first][:2], later, atol=1e-5)
    assert not np.allclose(later, alone[1 - first], atol=1e-5)  # the resolved name is read


def test_names_that_are_sure_are_given_from_the_start_and_not_guessed(guesser, monkeypatch):
    found = guesser.guess(TEXT, NAMES, CANDIDATES, sure=[None, 1, 0])

    given = [NAMES[0], Mention(NAMES[1].start, NAMES[1].end, entity="e3"), NAMES[2]]
    np.testing.assert_allclose(found[0][:2], among(guesser, given, 0), atol=1e-5)
    assert np.isnan(found[1]).all()

    monkeypatch.setattr(guesser, "_logits", None)  # nothing is read if all are sure
    assert np.isnan(np.concatenate(guesser.guess(TEXT, NAMES, CANDIDATES, sure=[0, 1, 0]))).all()


def test_no_tensor_has_as_many_numbers_as_there_are_entities(guesser):
    names = [*guesser.ids, *(f"x{n}" for n in range(250_000))]
    width = guesser.encoder.model.entity_embeddings.entities.embedding_dim
    transform = Transform(width=guesser.encoder.width, out_width=width)
    head = EntityHead(table=torch.nn.Embedding(len(names), width), transform=transform)
    large = EntityGuesser(guesser.encoder, head, names)

    with torch.profiler.profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profile:
        found = large.guess(TEXT, NAMES, [*CANDIDATES[:2], ("x249999", "e3")], sure=UNSURE)

    assert np.isfinite(found[2]).all()
    assert max(event.cpu_memory_usage for event in profile.events()) < len(names)


def test_entities_that_the_encoder_does_not_know_have_no_probability(guesser):
    found = guesser.guess(TEXT, NAMES, CANDIDATES, sure=UNSURE)

    assert np.isnan(found[0]).tolist() == [False, False, True]
    assert np.isnan(found[2]).all()


def test_models_without_names_of_entities_guess_none(bases):
    assert EntityGuesser.load(bases / "entities") is None


def test_a_linker_has_columns_of_what_is_guessed_and_links_alike_when_read(
    run, tmp_path, monkeypatch
):
    monkeypatch.setattr(linking, "SURE", 1.1)  # no name is
    texts = [("w1 w3 w5", "e3"), ("w7 w3 w9", "e4")] * 6
    records = [
        record_of(letter(f"{n}", text, ("w3", entity)), with_text=True)
        for n, (text, entity) in enumerate(texts)
    ]
    training = Training(records, {}, reader=Reader(run, keeps=True))
    linker = training.train(settings={"encoder": str(run)})
    linker.save(tmp_path)

    [found] = training._found[0].candidates
    columns = found.features[:, FEATURES.index(MASKED[0]) :][:, :2]
    np.testing.assert_allclose(np.exp(columns[:, 0]).sum(), 1, atol=1e-6)
    assert not columns[:, 1].any()
    [one], [other] = (each.rank(records[0]) for each in (linker, Linker.load(tmp_path)))
    assert one.entities == other.entities
    np.testing.assert_allclose(one.choice, other.choice, atol=1e-4)
