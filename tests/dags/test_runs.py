"""All DAGs from end to end, by ``dag.test()``, once for all tests of this file.

What they are run on, and in which steps: ``steps.py``. One file, since each test process makes
what its files share, and this takes a minute.
"""

import json

import pytest
import torch
from safetensors.torch import load_file

from corpora.datasets.shards import open_dataset
from corpora.store.inspection import verify
from corpora.store.retention import prune
from corpora.store.versions import current, version_names
from corpora.system.files import sha256_of
from corpora.wikipedia.reuse import TAKEN
from modeling.training.sources import read_entities
from pipelines.wikipedia_to_documents import main as wikipedia_to_documents
from tests.dags.steps import dumps, part_of

SHELVES = ("kleinwiki", "kleinwiki-vocab", "kleinwiki-examples")
ENCODERS, TAGGERS, EXAMPLES = "klein-encoder", "letters-tagger", "kleinwiki-examples"


def ids(vocabulary):
    return {row["entity"]: row["id"] for row in open_dataset(vocabulary).rows()}


def test_a_dump_becomes_published_datasets(runs):
    first = runs.corpus.steps[0]

    assert first["state"] == "success", runs.corpus.log[-5000:]
    for shelf in (*SHELVES, "kleinwiki-tokenizer"):
        assert verify(runs.corpus.folder / "store" / shelf / "20261108")


def test_the_asset_records_fingerprints_and_totals(runs):
    [event] = runs.corpus.steps[0]["events"]
    version = runs.corpus.folder / "store" / "kleinwiki" / "20261108"
    documents = open_dataset(version / "documents")

    assert event["asset"] == "onoma_corpora"
    assert event["wiki"] == "kleinwiki"
    assert event["documents"]["fingerprint"] == documents.description["plan"]["fingerprint"]
    assert event["documents"]["totals"]["documents"]["rows"] == documents.n_rows
    assert event["documents"]["path"] == str(version)
    assert set(event) == {"asset", "wiki", "documents", "tokenizer", "vocabulary", "examples"}


def test_a_command_that_was_killed_is_tried_again_and_goes_on(runs, tmp_path):
    second = runs.corpus.steps[1]
    dump = tmp_path / part_of("20261201")
    dump.write_text(dumps()["20261201"], encoding="utf-8")
    wikipedia_to_documents(["--input", str(dump), "--output", str(tmp_path / "direct")])

    assert second["state"] == "success", runs.corpus.log[-5000:]
    assert len(second["killed"]) == 1
    assert second["tasks"]["refresh.documents"] == ["success", 2]
    assert "exit status 137" in runs.corpus.log
    assert f"--reuse {runs.corpus.folder / 'store' / 'kleinwiki' / '20261108'}" in runs.corpus.log
    files = [
        json.loads((folder / "run.json").read_text())["files"]
        for folder in (runs.corpus.folder / "store" / "kleinwiki" / "20261208", tmp_path / "direct")
    ]
    assert files[0] == files[1]


def test_rendered_pages_are_refreshed_and_unchanged_ones_are_taken_over(runs):
    first, second = runs.rendered.steps
    shelf = runs.rendered.folder / "store" / "bachwiki"

    assert (first["state"], second["state"]) == ("success", "success"), runs.rendered.log[-5000:]
    old, new = (shelf / name for name in ("20261108", "20261208"))
    texts = [{d.title: d.text for d in open_dataset(v / "documents").records()} for v in (old, new)]
    assert [title for title in texts[0] if texts[0][title] != texts[1][title]] == ["Windmühle"]
    assert json.loads((new / "run.json").read_text())["reused"][TAKEN] == len(texts[0]) - 1


def test_a_refresh_keeps_the_ids_of_entities_and_the_tokenizer(runs):
    store = runs.corpus.folder / "store"
    before, after = (ids(store / "kleinwiki-vocab" / name) for name in ("20261108", "20261208"))

    assert before.items() <= after.items()
    assert version_names(store / "kleinwiki-tokenizer") == ["20261108"]


def test_drift_stops_a_refresh_before_anything_is_published(runs):
    third, store = runs.corpus.steps[2], runs.corpus.folder / "store"

    assert third["state"] == "failed"
    assert third["tasks"]["refresh.compare"] == ["failed", 1]  # trying again would not help
    assert third["tasks"]["refresh.publish"][0] == "upstream_failed"
    assert third["events"] == []
    for shelf in SHELVES:
        assert version_names(store / shelf)[:3] == ["20261108", "20261208", "20270208"]


def test_a_dump_without_news_is_left_alone(runs):
    fourth = runs.corpus.steps[3]

    assert fourth["state"] == "success"
    assert fourth["tasks"]["refresh.compare"] == ["skipped", 1]
    assert fourth["tasks"]["refresh.publish"][0] == "skipped"
    assert fourth["events"] == []


def test_the_date_of_a_dump_goes_before_that_of_an_earlier_run_of_the_day(runs):
    version = runs.corpus.folder / "store" / "kleinwiki" / "20270208"
    inputs = json.loads((version / "documents" / "dataset.json").read_text())["plan"]["inputs"]

    assert "-20270101-" in json.dumps(inputs)  # the run before, on that day, took 20261201


def test_drift_that_is_accepted_is_published(runs):
    fifth, store = runs.corpus.steps[4], runs.corpus.folder / "store"

    assert fifth["state"] == "success", runs.corpus.log[-5000:]
    assert [event["documents"]["version"] for event in fifth["events"]] == ["20270208"]
    assert {current(store / shelf).name for shelf in SHELVES} == {"20270208"}


def test_an_old_run_that_is_repeated_does_not_bring_its_version_back(runs):
    sixth, store = runs.corpus.steps[5], runs.corpus.folder / "store"

    assert sixth["tasks"]["refresh.plan"] == ["failed", 1]
    assert "onoma store switch" in runs.corpus.log
    assert {current(store / shelf).name for shelf in SHELVES} == {"20270208"}


def test_news_whose_vocabulary_is_missing_do_not_stop_others(runs):
    news, store = runs.corpus.steps[6], runs.corpus.folder / "store"

    assert [event["name"] for event in news["events"]] == ["good"]
    assert open_dataset(current(store / "good-annotated")).n_rows > 0
    assert "leer: no vocabulary. Run corpus_refresh" in runs.corpus.log


def test_what_stopped_a_refresh_can_be_looked_at_and_the_rest_is_tidied_up(runs):
    work = runs.corpus.folder / "work" / "kleinwiki"

    assert [folder.name for folder in work.iterdir()] == ["20270108"]
    drift = json.loads((work / "20270108" / "diff.json").read_text())
    assert "exceeded" in json.dumps(drift)
    assert "documents" in runs.corpus.log.partition("moved too far")[2][:200]


def test_an_edition_becomes_ner_data_and_a_tagger(runs):
    first, store = runs.edition.steps[0], runs.edition.folder / "store"
    events = {event["asset"]: event for event in first["events"]}

    assert first["state"] == "success", runs.edition.log[-5000:]
    assert set(events) == {"onoma_editions", "onoma_taggers"}
    tagger = current(store / "letters-tagger")
    assert tagger.name.startswith("20261122T")
    assert verify(tagger)
    scores = json.loads((tagger / "evaluation" / "evaluation.json").read_text())["scores"]
    assert events["onoma_taggers"]["totals"]["strict_f1"] == scores["strict_f1"]["mean"] > 0
    assert (
        events["onoma_editions"]["totals"]["ner"]["rows"]
        == open_dataset(current(store / "letters-ner") / "ner").n_rows
    )


def test_a_tagger_that_is_worse_is_not_published(runs):
    second, store = runs.edition.steps[1], runs.edition.folder / "store"

    assert second["state"] == "failed"
    assert second["tasks"]["refresh.evaluate"] == ["failed", 1]
    assert second["events"] == []
    for shelf in ("letters-ner", "letters-tagger"):
        assert len(version_names(store / shelf)) == 1


def test_a_failure_is_reported_to_the_command_of_the_settings(runs):
    reports = (runs.edition.folder / "failures.txt").read_text(encoding="utf-8")

    assert "refresh.evaluate[0]: failed at try 1." in reports
    assert "points below that of" in reports


def test_an_edition_that_was_refused_is_left_alone_until_it_changes(runs):
    third = runs.edition.steps[2]

    assert third["state"] == "success"
    assert third["tasks"]["refresh.look"] == ["skipped", 1]
    assert third["tasks"]["refresh.ner"] == ["skipped", 0]


@pytest.fixture(scope="module")
def store(runs):
    return runs.model.folder / "store"


@pytest.fixture(scope="module")
def versions(store):
    """Return the names of both encoders; that of the first is the time of an event."""
    first, second = version_names(store / ENCODERS)
    assert second == "20261202T0000"
    return [first, second]


@pytest.fixture(scope="module")
def finals(store, versions):
    """Return the folders of both encoders, as they were published."""
    return [store / ENCODERS / version / "final" for version in versions]


def names(final):
    return read_entities(final / "entities.arrow").to_pylist()


def rows(final):
    """Return the table of entities of a model, (entities, width)."""
    [found] = [
        tensor
        for name, tensor in load_file(final / "model.safetensors").items()
        if name.endswith("entity_embeddings.entities.weight")
    ]
    return found


def made_from(final):
    return json.loads((final / "run.json").read_text())


def is_published_and_recorded(event, shelf):
    """Check that a version is whole; return whether its event has its path and fingerprint."""
    version = shelf / event["version"]
    manifest = json.loads((version / "run.json").read_text())
    assert verify(version)
    return event["path"] == str(version) and event["fingerprint"] == manifest["fingerprint"]


def test_an_event_of_a_corpus_starts_a_run_that_trains_its_model(runs, versions):
    corpora = [event for step in runs.corpus.steps for event in step["events"]]
    first, *others = runs.model.steps

    assert first["type"] == "asset_triggered"
    assert [{"asset": "onoma_corpora", **extra} for extra in first["consumed"]] == corpora[:1]
    assert len(corpora) > 2  # Airflow's scheduler hands over only the first of several
    assert [event["version"] for event in first["events"]] == versions[:1]
    assert all(step["consumed"] == [] for step in others)


def test_without_ner_data_an_encoder_is_published_unjudged(runs, store):
    first = runs.model.steps[0]

    assert first["state"] == "success", runs.model.log[-5000:]
    assert first["tasks"]["refresh.publish_tagger"] == ["skipped", 1]
    [event] = first["events"]
    assert event["asset"] == "onoma_encoders"
    assert is_published_and_recorded(event, store / ENCODERS)


def test_a_tagger_that_is_as_good_is_published_with_its_encoder(runs, store, versions):
    second = runs.model.steps[1]
    events = {event["asset"]: event for event in second["events"]}

    assert second["state"] == "success", runs.model.log[-5000:]
    assert set(events) == {"onoma_encoders", "onoma_taggers"}
    assert is_published_and_recorded(events["onoma_encoders"], store / ENCODERS)
    assert is_published_and_recorded(events["onoma_taggers"], store / TAGGERS)
    scores = store / TAGGERS / versions[1] / "evaluation" / "evaluation.json"
    recorded_f1 = events["onoma_taggers"]["totals"]["strict_f1"]
    assert recorded_f1 == json.loads(scores.read_text())["scores"]["strict_f1"]["mean"] > 0
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


def test_a_tagger_names_the_encoder_that_it_began_with(store, finals, versions):
    manifest = (store / TAGGERS / versions[1] / "final" / "run.json").read_text()

    assert sha256_of(finals[1] / "model.safetensors") in manifest
    assert sha256_of(finals[0] / "model.safetensors") not in manifest


def test_of_a_model_that_is_worse_nothing_is_published(runs, store, versions):
    last = runs.model.steps[2]

    assert last["state"] == "failed"
    assert last["tasks"]["refresh.evaluate"] == ["failed", 1]  # trying again would not help
    assert {state for name, (state, _) in last["tasks"].items() if "publish" in name} == {
        "upstream_failed"
    }
    assert last["events"] == []
    for shelf in (ENCODERS, TAGGERS):
        assert version_names(store / shelf)[-1] == versions[1]
        assert current(store / shelf).name == versions[1]


def test_what_was_refused_can_be_looked_at_and_the_rest_is_tidied_up(runs):
    work = runs.model.folder / "work" / "klein-model"

    assert [folder.name for folder in work.iterdir()] == ["20261203T0000"]
    [comparison] = work.glob("*/tagger/*/evaluation/against-20261202T0000/comparison.json")
    assert json.loads(comparison.read_text())
