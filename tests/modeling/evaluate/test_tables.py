import json
import statistics
from dataclasses import replace

import pytest

from corpora.errors import CorpusError, UsageError
from modeling.evaluate.evaluation import evaluate
from modeling.evaluate.report import write_report
from modeling.report.tables import find_evaluations, read_evaluations, table
from tests.modeling.evaluate.samples import written

RIGHT, WRONG = written("B-PER", "B-PER"), written("B-PER", "O")


def run_of(n_right):
    """Evaluate a run whose recall is ``n_right`` tenths."""
    tagged = [RIGHT] * n_right + [WRONG] * (10 - n_right)
    return evaluate(tagged, labels=["PER"], train=None, dev=None, replicates=2)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Write reports of heads on two data sets; one was run once, one is missing."""
    folder = tmp_path_factory.mktemp("runs")
    made = {("crf", "Sturm"): [5, 7], ("crf", "Arendt"): [6, 8], ("cse", "Sturm"): [9]}
    for (head, dataset), n_right in made.items():
        settings = {"head": {"kind": head, "dropout": 0.1}, "dataset": dataset}
        write_report(
            {str(seed): run_of(n) for seed, n in enumerate(n_right)},
            folder / head / dataset,
            title=f"{head} on {dataset}",
            settings=settings,
        )
    return folder


def test_a_cell_is_the_mean_of_its_runs(runs):
    found = table(
        read_evaluations(runs), rows="head.kind", columns="dataset", value="strict_recall"
    )

    assert (list(found.rows), list(found.columns)) == (["crf", "cse"], ["Arendt", "Sturm"])
    cell = found.cells["crf", "Sturm"]
    assert cell.values == (0.5, 0.7)
    assert (cell.mean, cell.deviation) == pytest.approx((0.6, statistics.stdev([0.5, 0.7])))


def test_a_cell_with_fewer_runs_and_one_without_are_seen(runs):
    found = table(
        read_evaluations(runs), rows="head.kind", columns="dataset", value="strict_recall"
    )

    lines = found.to_markdown().splitlines()

    assert "| crf | 70.00 ± 14.14 (2) | 60.00 ± 14.14 (2) |" in lines
    assert "| cse |  | 90.00 (1 of 2) |" in lines


def test_a_table_for_latex_has_the_same_cells(runs):
    found = table(read_evaluations(runs), rows="title", columns="dataset", value="strict_recall")

    lines = found.to_latex().splitlines()

    assert lines[0] == "% strict_recall: mean ± sample deviation (n), in percent"
    assert lines[1:5] == [
        r"\begin{tabular}{lrr}", r"\toprule", r" & Arendt & Sturm \\", r"\midrule"
    ]  # fmt: skip
    assert r"cse on Sturm &  & 90.00 (1 of 2) \\" in lines
    assert lines[-2:] == [r"\bottomrule", r"\end{tabular}"]


def test_signs_of_latex_are_escaped(runs):
    evaluations = [replace(one, title="[a_b & 5 % \\ ^") for one in read_evaluations(runs)]

    found = table(evaluations, rows="title", columns="dataset", value="strict_recall")

    assert r"{[}a\_b \& 5 \% \textbackslash{} \textasciicircum{} & " in found.to_latex()


def test_a_setting_that_is_none_is_not_in_the_name_of_a_row(runs):
    found = [replace(one, settings={**one.settings, "x": "none"}) for one in read_evaluations(runs)]

    names = [table(found, rows=rows, columns="dataset").rows for rows in (["head.kind", "x"], "x")]

    assert names == [["crf", "cse"], ["none"]]


def test_settings_with_the_same_value_are_not_one_row(runs):
    one, *_ = read_evaluations(runs)
    pairs = [("names", "none"), ("none", "names"), ("none", "none")]
    found = [replace(one, settings={**one.settings, "x": x, "y": y}) for x, y in pairs]

    rows = table(found, rows=["x", "y"], columns="dataset").rows

    assert rows == ["names", "none", "none · names"]


def test_lines_of_values_have_every_run(runs):
    found = table(
        read_evaluations(runs), rows="head.kind", columns="dataset", value="strict_recall"
    )

    head, *lines = [line.split("\t") for line in found.to_tsv().splitlines()]

    assert head == ["row", "column", "mean", "deviation", "n", "values"]
    assert ["cse", "Sturm", "0.9", "", "1", "0.9"] in lines
    assert sum(int(line[4]) for line in lines) == 5


def test_what_else_differs_in_a_cell_is_said(runs):
    found = table(read_evaluations(runs), rows="head.kind", columns="head.dropout")

    assert found.notes == ["Runs of one cell differ also in: dataset."]


def test_several_settings_make_one_name(runs):
    found = table(read_evaluations(runs), rows=["head.kind", "dataset"], columns="head.dropout")

    assert list(found.rows) == ["crf · Arendt", "crf · Sturm", "cse · Sturm"]


def test_any_number_of_an_evaluation_can_be_shown(runs):
    evaluations = read_evaluations(runs)

    found = table(
        evaluations, rows="head.kind", columns="dataset", value="strict.by_label.PER.recall"
    )

    assert found.cells["cse", "Sturm"].values == (0.9,)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"rows": "head"}, "head: no evaluation has this setting. There are .*head.kind"),
        ({"value": "f1"}, "f1: is no score of .*There are strict_f1"),
        ({"value": "strict.micro"}, "strict.micro: is no score"),
    ],
)
def test_a_wrong_name_is_answered_with_the_right_ones(runs, names, message):
    chosen = {"rows": "head.kind", "columns": "dataset"} | names

    with pytest.raises(UsageError, match=message):
        table(read_evaluations(runs), **chosen)


def test_numbers_are_ordered_as_numbers(tmp_path):
    for size in (1000, 200, 30):
        settings = {"size": size, "dataset": "x"}
        write_report({"1": run_of(5)}, tmp_path / str(size), title="x", settings=settings)

    found = table(read_evaluations(tmp_path), rows="size", columns="dataset")

    assert list(found.rows) == ["30", "200", "1000"]


def test_a_folder_without_evaluations_is_an_error(tmp_path):
    with pytest.raises(CorpusError, match=r"holds no evaluation.json"):
        read_evaluations(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [("{", "is no evaluation"), (json.dumps({"version": 0}), "has version 0, not 2")],
)
def test_what_is_no_evaluation_is_named(tmp_path, text, message):
    (tmp_path / "evaluation.json").write_text(text)

    with pytest.raises(CorpusError, match=message):
        read_evaluations(tmp_path)


def test_each_evaluation_below_some_folders_counts_once(runs, tmp_path):
    empty = tmp_path / "encoder"
    empty.mkdir()

    found, without = find_evaluations([runs / "crf", empty, runs, runs / "crf" / "Sturm"])

    assert sorted(one.folder for one in found) == sorted(
        one.folder for one in read_evaluations(runs)
    )
    assert without == [empty]


def test_a_folder_that_is_not_there_is_an_error(runs, tmp_path):
    with pytest.raises(CorpusError, match=r"nothing: is no folder"):
        find_evaluations([runs, tmp_path / "nothing"])
