"""Runs on a runner of Beam, in this process: the same bytes, and errors that people can read.

On another machine: ``test_portable.py``.
"""

import re
import tempfile
from pathlib import Path

import apache_beam as beam
import pytest

from pipelines import documents_to_lexicon, news_to_documents, tei_to_ner, text_to_documents
from pipelines.graph import Phase
from pipelines.on_beam import beam_options
from pipelines.transforms import common_keys
from tests.corpora.news.archive_samples import by_record
from tests.killing import files_of
from tests.pipelines import broken_graphs
from tests.pipelines.test_news_to_documents import sample_records
from tests.pipelines.test_tei_to_ner import LETTERS

STORY = Path(__file__).parents[1] / "data" / "text" / "wulingzhen.txt"
RUNNER = "--runner=FnApiRunner"
LETTERS_ON_BEAM = ["--input", str(LETTERS), RUNNER]
WAYS = pytest.mark.parametrize("way", [[], ["--workers", "2"], [RUNNER]], ids=" ".join)


def test_options_reach_beam():
    assert beam_options(["--job_name=mine"]).get_all_options()["job_name"] == "mine"


@pytest.mark.parametrize("runner", [[RUNNER], ["--runner=DirectRunner", "--direct_num_workers=1"]])
def test_bytes_are_those_of_a_run_without_beam(runner, tmp_path):
    for name, options in (("here", []), ("beam", runner)):
        output = tmp_path / name
        assert tei_to_ner.main(["--input", str(LETTERS), "--output", str(output), *options]) == 0

    assert files_of(tmp_path / "beam") == files_of(tmp_path / "here")


def test_stages_and_their_merges_wait_for_each_other(tmp_path):
    text = ["--input", str(STORY), "--lang", "zh", "--group", "g", "--output", str(tmp_path / "zh")]
    assert text_to_documents.main([*text, RUNNER]) == 0
    for name, options in (("here", []), ("beam", [RUNNER])):
        lexicon = ["--input", str(tmp_path / "zh"), "--output", str(tmp_path / name)]
        assert documents_to_lexicon.main([*lexicon, "--known", "none", *options]) == 0

    assert files_of(tmp_path / "beam") == files_of(tmp_path / "here")


def test_articles_with_a_common_key_meet_on_any_runner(tmp_path, monkeypatch):
    monkeypatch.setattr(news_to_documents, "RANGE_BYTES", (3_500, 3_500))
    monkeypatch.setattr(common_keys, "SHARDS_PER_PARTITION", 1)
    (tmp_path / "a.warc.gz").write_bytes(by_record(sample_records()))
    other = "--runner=BundleBasedDirectRunner"
    ways = {"here": (3, []), "beam": (1, [RUNNER]), "rounds": (3, [RUNNER]), "other": (3, [other])}

    for name, (n_rounds, options) in ways.items():
        monkeypatch.setattr(common_keys, "ROUNDS", n_rounds)
        where = ["--warc", str(tmp_path / "a.warc.gz"), "--output", str(tmp_path / name)]
        assert news_to_documents.main([*where, *options]) == 0
        assert files_of(tmp_path / name) == files_of(tmp_path / "here"), name
    assert "near" in (tmp_path / "here" / "duplicates.tsv").read_text("utf-8")


def test_what_beam_makes_at_first_lies_where_the_run_does(tmp_path, monkeypatch):
    class Killed(beam.Pipeline):
        def __init__(self, **settings):
            super().__init__(**settings)
            raise SystemExit(137)

    system = tmp_path / "system"
    system.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(system))
    monkeypatch.setattr(beam, "Pipeline", Killed)
    command = [*LETTERS_ON_BEAM, "--output", str(tmp_path / "out")]

    with pytest.raises(SystemExit):
        tei_to_ner.main(command)
    left = list((tmp_path / "out").rglob("beam-pipeline-temp*"))
    monkeypatch.undo()

    assert list(system.iterdir()) == []
    assert left
    assert tei_to_ner.main(command) == 0
    assert not list((tmp_path / "out").rglob("beam-pipeline-temp*"))


def test_job_service_that_does_not_answer_is_named(tmp_path, capsys):
    service = ("--runner=PortableRunner", "--job_endpoint=localhost:1")

    status = tei_to_ner.main(["--input", str(LETTERS), "--output", str(tmp_path / "out"), *service])

    assert status == 2
    assert "--job_endpoint localhost:1: no job service answers" in capsys.readouterr().err


@pytest.fixture
def of_two_units(monkeypatch):
    monkeypatch.setattr("corpora.runs.plan.UNIT_FILES", 4)


@WAYS
@pytest.mark.usefixtures("of_two_units")
def test_error_of_a_unit_is_reported_whoever_does_it(way, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tei_to_ner, "phases", lambda: [Phase(broken_graphs.cannot_read)])

    assert tei_to_ner.main(["--input", str(LETTERS), "--output", str(tmp_path / "out"), *way]) == 1

    assert capsys.readouterr().err.endswith("error: b.xml:7: what is wrong. What to do.\n")


@WAYS
@pytest.mark.usefixtures("of_two_units")
def test_fault_of_ours_is_named_and_the_log_has_the_rest(way, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tei_to_ner, "phases", lambda: [Phase(broken_graphs.has_a_bug)])

    assert tei_to_ner.main(["--input", str(LETTERS), "--output", str(tmp_path / "out"), *way]) == 1

    last = capsys.readouterr().err.splitlines()[-1]
    assert re.match("error: ZeroDivisionError: in our code.*See .*/workers.log; the same", last)
    [log] = (tmp_path / "out").glob(".build/*/workers.log")
    assert "in broken_read" in log.read_text()
