"""``--json``: one object on standard output, of what the command has written; all else beside."""

import json

import pytest

import onoma
from corpora.system.arguments import Summary
from modeling.command import show
from tests.datasets import write_dataset
from tests.modeling.link.samples import letters

TINY = ("training.max_steps=2", "training.evaluate_every=1", "encoder.width=16", "data.n_workers=0")


@pytest.fixture
def summary(capsys):
    """Run a command, which ends with a status; returns what it prints."""

    def run(*command, status=0):
        assert onoma.main([*map(str, command), "--json"]) == status
        found = json.loads(capsys.readouterr().out)
        assert isinstance(found, dict)
        return found

    return run


@pytest.fixture
def evaluated(tagger_run, ner, summary, tmp_path):
    options = ("--replicates", 20, "--output", tmp_path / "scores")
    return summary("evaluate", tagger_run, "--ner", ner, *options)


def read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def test_pretrain_prints_what_was_measured_last_and_report_where_the_page_is(
    examples, tmp_path, summary
):
    run = tmp_path / "run"

    found = summary(
        *("pretrain", "neiss_small", "--examples", examples, "--output", run, "--set", *TINY)
    )

    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert found["model"] == str(run / "final")
    assert found["last"]["evaluation"] == lines[-1]
    assert lines[-1]["step"] == 2
    pytest.importorskip("matplotlib")
    assert summary("report", run)["output"] == str(run / "report.html")


def test_recipes_are_listed_as_json(summary):
    assert "daluke_small" in summary("pretrain", "--list")["recipes"]
    assert "crf" in summary("finetune", "--list")["recipes"]


def test_finetune_prints_its_summary(tagger_run, ner, bases, summary):
    settings = ("--set", "optimizer.lr=5e-3", "training.epochs=6")  # those of the finished run

    found = summary(
        *("finetune", "crf_small", "--ner", ner, "--model", bases / "plain"),
        *("--output", tagger_run, *settings),
    )

    assert found == {"output": str(tagger_run), **read(tagger_run / "summary.json")}


def test_evaluate_prints_its_reports_and_a_table_has_its_cells(evaluated, summary, tmp_path):
    [report] = evaluated["reports"]

    assert report == {"folder": evaluated["output"], **read(tmp_path / "scores/evaluation.json")}
    [cell] = summary("report", tmp_path / "scores", "--table", "encoders")["cells"]
    assert cell["mean"] == report["scores"]["strict_f1"]["mean"]


def test_a_worse_run_ends_with_status_3_and_its_numbers(
    tagger_run, ner, bases, finetune, tmp_path, summary, capsys
):
    worse = tmp_path / "worse"
    assert finetune(worse, ner, bases / "plain", epochs=1) == 0
    capsys.readouterr()

    found = summary(
        *("evaluate", worse, "--ner", ner, "--against", tagger_run, "--fail-if-worse"),
        *("--replicates", 50),
        status=3,
    )

    assert found["comparison"] == read(next(worse.rglob("comparison.json")))


def test_predict_counts_names_and_files(tagger_run, tmp_path, summary, capsys):
    write_dataset(tmp_path / "documents", letters(2))
    (tmp_path / "letter.txt").write_text("ich war in Ulm.")
    text = '<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body><p>in Ulm</p></body></text></TEI>'
    (tmp_path / "letter.xml").write_text(text)
    (tmp_path / "map.toml").write_text('other = "drop"\n[labels]\nplace = "place"\n')
    predict = ("predict", tagger_run)

    found = summary(*predict, "--text", tmp_path / "letter.txt", "--output", tmp_path / "out.tsv")
    assert found == {"output": str(tmp_path / "out.tsv"), "names": 1}
    output = ("--output", tmp_path / "made")
    found = summary(*predict, "--documents", tmp_path / "documents", *output)
    assert found["written"] == 2
    tei = ("--tei", tmp_path / "letter.xml", "--edition", "tei")
    labels = ("--labels", tmp_path / "map.toml")
    found = summary(*predict, *tei, *labels, "--output", tmp_path / "enriched")
    assert (found["read"], found["written"], found["rejected"]) == (1, 1, {})
    with pytest.raises(SystemExit, match="2"):
        onoma.main(["predict", str(tagger_run), "--text", "-", "--json"])
    assert "--json needs --output" in capsys.readouterr().err


def test_link_prints_what_was_learned_scored_and_linked(tmp_path, summary):
    write_dataset(tmp_path / "letters", letters(40))
    linker, linked = tmp_path / "linker", tmp_path / "linked"

    found = summary("link", "train", tmp_path / "letters", "--max-wrong", 0.1, "--output", linker)
    assert found["threshold"] == read(linker / "linker.json")["threshold"]
    found = summary(*("link", "evaluate", tmp_path / "letters", "--output", tmp_path / "r"))
    assert found["scores"] == read(tmp_path / "r" / "report.json")
    documents = ("--documents", tmp_path / "letters", "--output", linked)
    assert summary("link", "apply", linker, *documents)["counters"]
    found = summary("link", "score", "--gold", tmp_path / "letters", "--predicted", linked)
    strict = found["strict"]
    assert strict["f1"] == 2 * strict["right"] / (strict["predicted"] + strict["gold"])


def test_models_that_leave_are_named_with_their_files(tagger_run, bases, tmp_path, summary):
    found = summary("export", bases / "plain", "--output", tmp_path / "hub")
    assert {*found["files"]} == {path.name for path in (tmp_path / "hub").iterdir()}
    found = summary("export", tagger_run, "--archive", tmp_path / "a.onoma")
    assert found["bytes"] == (tmp_path / "a.onoma").stat().st_size
    found = summary("publish", tagger_run, tmp_path / "store" / "tagger", "--version", "v1")
    assert found == {"output": str(tmp_path / "store/tagger/v1"), "version": "v1"}


def test_inspect_prints_the_variances(bases, ner, tmp_path, summary):
    pytest.importorskip("matplotlib")
    options = ("--ner", ner, "--plot", "pca", "--sample", 50, "--output", tmp_path / "inside")

    found = summary("inspect", bases / "plain", *options)

    assert found["spans"] == read(tmp_path / "inside" / "spans.json")


@pytest.mark.parametrize("is_own", [True, False])
def test_pandas_is_hidden_from_pyarrow_in_processes_that_are_a_command(is_own, monkeypatch):
    calls = []
    monkeypatch.setattr("modeling.command.hide_pandas_from_pyarrow", lambda: calls.append(1))
    monkeypatch.setattr("corpora.system.imports.own_process", is_own)

    assert onoma.main(["finetune", "--list"]) == 0

    assert bool(calls) == is_own


def test_lines_are_written_beside_the_summary(capsys):
    summary = show(["a", Summary({"n": 1}), "b"])

    assert summary == Summary({"n": 1})
    assert capsys.readouterr().out == "a\nb\n"
