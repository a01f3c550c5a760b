import json
import random
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from corpora.errors import CorpusError
from corpora.reports.pages import to_markdown
from modeling.evaluate.evaluation import evaluate
from modeling.evaluate.report import describe, write_report
from tests.modeling.evaluate.samples import LABELS, random_run, written


def measured(seed=1, *, train=True, n_documents=12, **settings):
    rng = random.Random(seed)
    run = random_run(rng, 60, n_documents=n_documents)
    sentences = [one.sentence for one in random_run(rng, 40)]
    settings = {"replicates": 50, "labels": LABELS} | settings
    return evaluate(run, train=sentences if train else None, dev=None, **settings)


def page_of(one, **settings):
    return to_markdown(describe({"": one}, title="x", **settings))


@pytest.fixture(scope="module")
def evaluations():
    return {str(seed): measured(seed, without=["LOC"]) for seed in (1, 2)}


@pytest.fixture(scope="module")
def folder(evaluations, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "new" / "folder"
    write_report(evaluations, folder, title="A | <b>", settings={"head": {"kind": "crf"}})
    return folder


def test_all_files_are_there(folder):
    names = {"evaluation.json", "report.md", "report.html", "errors.tsv", "predictions.jsonl"}

    assert {path.name for path in folder.iterdir()} == names


def test_the_json_has_every_run_and_what_they_score_together(folder, evaluations):
    read = json.loads((folder / "evaluation.json").read_text())

    assert read["settings"] == {"head": {"kind": "crf"}}
    for name, one in evaluations.items():
        micro = read["runs"][name]["strict"]["micro"]
        assert (micro["f1"], micro["gold"]) == (one.strict_f1, one.strict.micro.gold)
        assert micro["interval"]["low"] == one.strict.micro.interval.low
        assert len(read["runs"][name]["mentions"]) == len(one.mentions) == 5
        assert read["runs"][name]["baseline"]["score"]["f1"] == one.baseline.score.f1
    both = [one.strict_f1 for one in evaluations.values()]
    assert read["scores"]["strict_f1"]["mean"] == pytest.approx(sum(both) / 2)
    assert read["scores"]["strict_f1"]["values"] == both


def test_predictions_are_written_by_run_and_sentence(folder, evaluations):
    lines = map(json.loads, (folder / "predictions.jsonl").read_text().splitlines())

    found = [(row["run"], row["id"], row["spans"]) for row in lines]
    assert found == [
        (name, t.sentence.id, [[s.start, s.end, s.label, s.probability] for s in t.spans])
        for name, one in evaluations.items()
        for t in one.tagged
    ]


def test_labels_of_words_are_written(tmp_path):
    tagged = [written("O B-PER", "O B-PER", words=(("O", 0.25), ("PER", 1.0)))]
    one = evaluate(tagged, labels=["PER"], train=None, dev=None, replicates=5)

    write_report({"1": one}, tmp_path, title="words", settings={})

    [line] = (tmp_path / "predictions.jsonl").read_text().splitlines()
    assert json.loads(line)["words"] == [["O", 0.25], ["PER", 1.0]]


def test_the_list_of_errors_has_all_of_them(folder, evaluations):
    lines = (folder / "errors.tsv").read_text().splitlines()

    n = sum(found.kind != "correct" for one in evaluations.values() for found in one.findings)
    assert len(lines) == 1 + n


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_a_page_has_scores_of_runs_and_their_mean(folder, evaluations, name):
    page = (folder / name).read_text()

    values = [100 * one.strict_f1 for one in evaluations.values()]
    mean, half = sum(values) / 2, abs(values[0] - values[1]) / 2
    for value in values:
        assert f"{value:.2f}" in page
    assert f"{mean:.2f} ± {half * 2**0.5:.2f}" in page
    n = sum(found.kind == "missing" for found in evaluations["1"].findings)
    assert f"{min(n, 5)} of {n} missing" in page


def test_html_has_pictures_inside_and_asks_for_nothing_outside(folder):
    page = (folder / "report.html").read_text()

    pictures = [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL)]  # noqa: S314
    assert len(pictures) == 2
    assert not re.findall(r"(?:src|href)=", page)
    assert "<script" not in page
    assert "<title>A | &lt;b&gt;</title>" in page


def test_html_fits_a_telephone_and_wide_parts_are_scrolled_by_keys(folder):
    page = (folder / "report.html").read_text()

    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert not re.findall(r"<pre>|<div class=.wide.><table", page)
    assert page.count("<main>") == page.count("</main>") == 1
    assert "overflow-wrap: anywhere" in page
    assert "prefers-color-scheme: dark" in page


def test_what_words_hold_is_no_markup():
    tagged = [written("B-PER O", "O O", tokens=["*a*|_b_", "<i>`c`"])]
    one = evaluate(tagged, labels=["PER"], train=None, dev=None, replicates=5)

    page = page_of(one)

    assert r"\[\*a\*\|\_b\_\] \<i\>\`c\`" in page


def test_without_training_sentences_the_page_says_what_is_missing():
    page = page_of(measured(train=False), notes=["a note"])

    assert "Not measured: what training has seen" in page
    assert "a note" in page
    assert "names of train, looked up" not in page


def test_the_page_says_what_is_drawn():
    assert "each of 12 documents drawn" in page_of(measured())
    assert "each of 60 sentences drawn" in page_of(measured(n_documents=3))
    assert "; 3 documents;" in page_of(measured(n_documents=3))
    assert "; 1 document;" in page_of(measured(n_documents=1))


def test_intervals_hang_on_the_seed_of_the_bootstrap_alone():
    run = random_run(random.Random(1), 60)
    one, same, other = (
        evaluate(run, labels=LABELS, train=None, dev=None, replicates=50, seed=seed)
        for seed in (5, 5, 6)
    )

    assert one.to_json() == same.to_json()
    assert one.strict.micro.interval != other.strict.micro.interval
    assert one.scores == other.scores


def test_sentences_without_any_mention_are_evaluated():
    one = evaluate([written("O O", "O O")], labels=(), train=(), dev=(), replicates=5)

    assert one.strict_f1 == 0
    assert one.strict.micro.interval is None
    assert page_of(one)


def test_nothing_cannot_be_evaluated():
    with pytest.raises(CorpusError, match="no sentence to evaluate"):
        evaluate([], labels=LABELS, train=None, dev=None)


def test_leaving_out_an_unknown_label_is_an_error():
    with pytest.raises(CorpusError, match="to be left out: MISC, but the labels are LOC, PER"):
        measured(without=["MISC"])


def test_runs_that_were_measured_otherwise_are_not_put_together(tmp_path):
    runs = {"1": measured(), "2": measured(train=False)}

    with pytest.raises(CorpusError, match="Evaluate them alike"):
        write_report(runs, tmp_path / "report", title="x", settings={})

    assert not (tmp_path / "report").exists()


def test_a_label_of_one_run_alone_stands_on_the_page():
    runs = {"1": [written("B-PER", "B-PER")], "2": [written("B-PER", "B-tool")]}
    found = {
        n: evaluate(r, labels=["PER"], train=None, dev=None, replicates=5) for n, r in runs.items()
    }

    page = to_markdown(describe(found, title="x"))

    assert "| tool | 0 | 0.5 |" in page


def test_the_page_has_the_report_of_seqeval_which_finds_the_same():
    page = page_of(measured())

    assert "The same by seqeval" in page
    assert "the same as above" in page
    assert "NOT the same" not in page
    assert re.search(r"micro avg +0\.\d{4}", page)


def test_a_score_that_seqeval_does_not_find_is_said(caplog):
    one = measured()
    other = replace(one, strict=measured(seed=2).strict)

    page = page_of(other)

    assert "NOT the same as above" in page
    assert "seqeval finds F1" in caplog.text


def test_scores_need_no_torch():
    code = (
        "import sys, modeling.evaluate.report, modeling.evaluate.compare\n"
        "import modeling.report.tables, modeling.evaluate.relabelling\n"
        "heavy = {'torch', 'transformers', 'matplotlib', 'seqeval', 'sklearn'}\n"
        "assert not heavy & set(sys.modules)"
    )

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
