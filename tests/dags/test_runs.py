"""``corpus_refresh``, ``news_refresh`` and ``editions_refresh`` from end to end, by ``dag.test()``.

What they are run on, and in which steps: ``steps.py``.
"""

import json

from corpora.datasets.shards import open_dataset
from corpora.store.inspection import verify
from corpora.store.versions import current, version_names
from pipelines.wikipedia_to_documents import main as wikipedia_to_documents
from tests.dags.steps import dumps, part_of

SHELVES = ("kleinwiki", "kleinwiki-vocab", "kleinwiki-examples")


def ids(vocabulary):
    return {row["entity"]: row["id"] for row in open_dataset(vocabulary).rows()}


def test_a_dump_becomes_published_datasets(runs):
    first = runs.corpus.steps[0]

    assert first["state"] == "success", runs.corpus.log[-5000:]
    for shelf in (*SHELVES, "kleinwiki-tokenizer"):
        assert verify(runs.corpus.folder / "store" / shelf / "20261108")


def test_the_asset_is_told_fingerprints_and_totals(runs):
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

    assert sixth["tasks"]["plan"] == ["failed", 1]
    assert "corpora.store switch" in runs.corpus.log
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
    told = {event["asset"]: event for event in first["events"]}

    assert first["state"] == "success", runs.edition.log[-5000:]
    assert set(told) == {"onoma_editions", "onoma_taggers"}
    tagger = current(store / "letters-tagger")
    assert tagger.name.startswith("20261122-")
    assert verify(tagger)
    scores = json.loads((tagger / "evaluation" / "evaluation.json").read_text())["scores"]
    assert told["onoma_taggers"]["totals"]["strict_f1"] == scores["strict_f1"]["mean"] > 0
    assert (
        told["onoma_editions"]["totals"]["ner"]["rows"]
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

    assert "refresh.evaluate[0]: failed after 1 tries" in reports
    assert "points below that of" in reports


def test_an_edition_that_was_refused_is_left_alone_until_it_changes(runs):
    third = runs.edition.steps[2]

    assert third["state"] == "success"
    assert third["tasks"]["refresh.look"] == ["skipped", 1]
    assert third["tasks"]["refresh.ner"] == ["skipped", 0]
