"""``model_refresh`` from end to end, by ``dag.test()``: two versions of the corpus, and one worse.

What it is run on, and in which steps: ``steps.py``.
"""

import json

import pytest
import torch
from safetensors.torch import load_file

from corpora.datasets.shards import open_dataset, sha256_of
from corpora.store.inspection import verify
from corpora.store.retention import prune
from corpora.store.versions import current, version_names
from modeling.training.sources import read_entities

ENCODERS, TAGGERS, EXAMPLES = "klein-encoder", "letters-tagger", "kleinwiki-examples"
VERSIONS = ["20261201T0000", "20261202T0000"]


@pytest.fixture(scope="module")
def store(runs):
    return runs.model.folder / "store"


@pytest.fixture(scope="module")
def finals(store):
    """The folders of both encoders, as they were published."""
    return [store / ENCODERS / version / "final" for version in VERSIONS]


def names(final):
    return read_entities(final / "entities.arrow").to_pylist()


def rows(final):
    """(entities, width)."""
    [found] = [
        tensor
        for name, tensor in load_file(final / "model.safetensors").items()
        if name.endswith("entity_embeddings.entities.weight")
    ]
    return found


def made_from(final):
    return json.loads((final / "run.json").read_text())


def is_published_and_told(event, shelf):
    """A version is whole, and its event has the fingerprint of its manifest."""
    version = shelf / event["version"]
    manifest = json.loads((version / "run.json").read_text())
    assert verify(version)
    return event["path"] == str(version) and event["fingerprint"] == manifest["fingerprint"]


def test_without_ner_data_an_encoder_is_published_unjudged(runs, store):
    first = runs.model.steps[0]

    assert first["state"] == "success", runs.model.log[-5000:]
    assert first["tasks"]["refresh.publish_tagger"] == ["skipped", 1]
    [event] = first["events"]
    assert event["asset"] == "onoma_encoders"
    assert is_published_and_told(event, store / ENCODERS)


def test_a_tagger_that_is_as_good_is_published_with_its_encoder(runs, store):
    second = runs.model.steps[1]
    told = {event["asset"]: event for event in second["events"]}

    assert second["state"] == "success", runs.model.log[-5000:]
    assert set(told) == {"onoma_encoders", "onoma_taggers"}
    assert is_published_and_told(told["onoma_encoders"], store / ENCODERS)
    assert is_published_and_told(told["onoma_taggers"], store / TAGGERS)
    scores = store / TAGGERS / VERSIONS[1] / "evaluation" / "evaluation.json"
    told_f1 = told["onoma_taggers"]["totals"]["strict_f1"]
    assert told_f1 == json.loads(scores.read_text())["scores"]["strict_f1"]["mean"] > 0
    earlier = version_names(store / TAGGERS)[0]
    assert f"--against {store / TAGGERS / earlier} --fail-if-worse" in runs.model.log


def test_ids_of_entities_are_dense_and_those_of_the_vocabulary(runs, finals):
    shelf = runs.corpus.folder / "store" / "kleinwiki-vocab"
    for final, version in zip(finals, ("20261108", "20261208"), strict=True):
        ids = {row["entity"]: row["id"] for row in open_dataset(shelf / version).rows()}

        assert sorted(ids.values()) == list(range(len(rows(final))))
        assert dict(zip(names(final), range(len(rows(final))), strict=True)) == ids


def test_entities_that_both_corpora_have_keep_their_rows(finals):
    before, after = map(names, finals)
    distances = torch.cdist(rows(finals[1]), rows(finals[0]))

    assert set(before) < set(after)
    for name, nearest in zip(after, distances.argmin(dim=1), strict=True):
        if name in before:  # a few steps have moved it; any other row is further away
            assert before[nearest] == name
    moved = [distances[after.index(name), before.index(name)] for name in before]
    [new] = [distances[after.index(name)].min() for name in set(after) - set(before)]
    assert max(moved) < new


def test_a_refresh_goes_on_from_the_encoder_that_is_current(finals):
    first, second = map(made_from, finals)

    assert first["init_from"] is None
    weights = {"model.safetensors": sha256_of(finals[0] / "model.safetensors")}
    assert second["init_from"]["sha256"] == weights


@pytest.mark.parametrize(("number", "version"), [(0, "20261108"), (1, "20261208")])
def test_the_examples_that_a_model_was_trained_on_are_not_pruned(runs, finals, number, version):
    shelf = runs.corpus.folder / "store" / EXAMPLES
    [examples] = made_from(finals[number])["examples"]
    assert examples["dataset_sha256"] == sha256_of(shelf / version / "dataset.json")

    fates = prune(shelf, keep=1, keep_for=[finals[number].parent], is_dry_run=True)

    needed = {fate.version: fate.reason for fate in fates if fate.reason.startswith("needed")}
    assert needed == {version: f"needed by {finals[number].parent}"}


def test_a_tagger_names_the_encoder_that_it_began_with(store, finals):
    manifest = (store / TAGGERS / VERSIONS[1] / "final" / "run.json").read_text()

    assert sha256_of(finals[1] / "model.safetensors") in manifest
    assert sha256_of(finals[0] / "model.safetensors") not in manifest


def test_of_a_model_that_is_worse_nothing_is_published(runs, store):
    last = runs.model.steps[2]

    assert last["state"] == "failed"
    assert last["tasks"]["refresh.evaluate"] == ["failed", 1]  # trying again would not help
    assert {state for name, (state, _) in last["tasks"].items() if "publish" in name} == {
        "upstream_failed"
    }
    assert last["events"] == []
    for shelf in (ENCODERS, TAGGERS):
        assert version_names(store / shelf)[-1] == VERSIONS[1]
        assert current(store / shelf).name == VERSIONS[1]


def test_what_was_refused_can_be_looked_at_and_the_rest_is_tidied_up(runs):
    work = runs.model.folder / "work" / "klein-model"

    assert [folder.name for folder in work.iterdir()] == ["20261203T0000"]
    [comparison] = work.glob("*/tagger/*/evaluation/against-20261202T0000/comparison.json")
    assert json.loads(comparison.read_text())
