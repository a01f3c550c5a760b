"""Tables are made of records, and say what was not run."""

import argparse
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from benchmarks import result_tables, tables
from benchmarks.result_cells import Cell, NerSet, plan, read_records, read_sets

SETS, TABLES = read_sets(tables.ROOT / "benchmarks" / "tables.toml")


def record(name, f1, **more):
    made = {
        "cell": name,
        "f1": {"viterbi": f1, "free": 80.0, "fix": 80.5, "cse": 79.5},
        "minutes": 6.4,
    }
    made |= {"interval": [70.1, 90.2], "new": [61.2, 40], "list": 42.0, "ece": 3.0}
    return made | {"encoder": "e5"} | more


def test_a_published_figure_stands_only_beside_the_part_that_papers_score():
    for one in SETS.values():
        assert bool(one.published) <= (one.test == "published")
        assert bool(one.source) == bool(one.published)
    assert {cell.set for cells in TABLES.values() for cell in cells} == set(SETS)


def test_cells_come_in_the_order_of_what_they_tell_and_each_once():
    cells = list(plan(["a", "b"]))

    assert [cell.name for cell in cells[:4]] == [
        *("a-crf-seed1", "b-crf-seed1", "a-span-seed1", "b-span-seed1")
    ]
    assert len({cell.name for cell in cells}) == len(cells) == 2 * 5 * 3


def test_cells_that_cannot_be_run_are_left_out():
    cells = list(plan(["a", "b"], ["crf"], sizes=[50, 100], left_out=["b-crf-100*"]))

    assert {cell.row for cell in cells} == {
        *("a-crf-50", "a-crf-50-names", "a-crf-100", "a-crf-100-names", "b-crf-50"),
        "b-crf-50-names",
    }


def test_a_row_has_the_mean_of_its_seeds_and_what_was_not_run_is_counted():
    cells = [Cell("s", "crf", seed) for seed in (1, 2, 3)] + [Cell("t", "crf", 1)]
    sets = {
        "s": NerSet("s", "f", (), 4, "published", source="P", published={"crf": 87.8}),
        "t": NerSet("t", "f", (), 4, "the dev part"),
    }
    records = {f"s-crf-seed{n}": record(f"s-crf-seed{n}", f1) for n, f1 in ((1, 80), (2, 84))}

    text = "\n".join(result_tables.render("x", cells, sets=sets, records=records))

    assert "| s | **82.0** ± 2.8 (2) | 42.0 | 70.1–90.2 | 61.2 of 40 |  |" in text
    assert "- Scored is the published test part: s (4 epochs).\n" in text
    assert "- Published of s: `crf` 87.8 (P).\n" in text
    assert text.startswith("Encoder: e5. GPU: none.")
    assert text.endswith(
        "Not run: 2 of 4 seeds of a head on a set.\n"
        "`python -m benchmarks.tables x --model MODEL --data DATA` runs them."
    )


def test_a_learning_curve_has_a_column_for_each_number_of_sentences():
    cells = [Cell("s", "crf", 1, size, has_names=names) for size in (50, 300) for names in (0, 1)]
    sets = {"s": NerSet("s", "f", (), 4, "the dev part")}
    records = {cell.name: record(cell.name, 80) for cell in cells}

    lines = list(result_tables.render("x", cells, sets=sets, records=records))

    assert lines[1:6] == [
        "| sentences | 50 | 300 |",
        "| --- | ---: | ---: |",
        "| s: `crf` | **80.0** (1) | **80.0** (1) |",
        "| s: `crf`, with names | **80.0** (1) | **80.0** (1) |",
        "| s: a list | 42.0 | 42.0 |",
    ]


def test_a_set_is_a_row_with_details_of_the_first_head():
    cells = [Cell("s", "crf", 1), Cell("s", "cse", 1), Cell("s", "span", 1), Cell("t", "cse", 1)]
    sets = {name: NerSet(name, "f", (), 4, "the dev part") for name in ("s", "t")}
    records = {name: record(name, 80) for name in ("s-cse-seed1", "t-cse-seed1")}
    records["s-crf-seed1"] = record("s-crf-seed1", 84, device="X100", speed=31.4)

    lines = list(result_tables.render("x", cells, sets=sets, records=records))

    assert lines[0] == "Encoder: e5. GPU: X100.\n"
    assert lines[1].endswith(
        "| a list | `crf`: 95 % | `crf`: new names | `crf`: sentences a second |"
    )
    assert lines[3:5] == [
        "| s | **84.0** (1) | **80.0** (1) | 42.0 | 70.1–90.2 | 61.2 of 40 | 31 |",
        "| t |  | **80.0** (1) | 42.0 |  |  |  |",
    ]


def test_other_settings_come_before_those_of_a_cell_and_need_records_of_their_own(
    tmp_path, monkeypatch, capsys
):
    args = argparse.Namespace(tiny=False, set=["training.head_lr_ratio=1"])

    of_set = tables.settings_of(Cell("sturm", "span", 1), SETS["sturm"], args)
    of_curve = tables.settings_of(Cell("sturm", "crf", 1, 50), SETS["sturm"], args)

    assert of_set == [
        "optimizer.lr=1e-4",
        "training.head_lr_ratio=1",
        f"training.epochs={SETS['sturm'].epochs}",
        "head.span_features=words",
    ]
    assert of_curve[2:] == [
        *("training.epochs=4", "training.samples=1600", "training.train_size=50")
    ]
    command = ["tables", "curves", "--model", str(tmp_path), "--data", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", [*command, "--set", "optimizer.lr=1"])
    with pytest.raises(SystemExit):
        tables.parse()
    assert "--records" in capsys.readouterr().err


def test_records_are_compared_cell_by_cell(tmp_path):
    cells = {"x": [Cell("s", "crf", seed) for seed in (1, 2, 3)] + [Cell("t", "crf", 1)]}
    theirs = [record("s-crf-seed1", 78), record("s-crf-seed2", 79), record("t-crf-seed1", 50)]
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(one) + "\n" for one in theirs), "utf-8")
    ours = {
        name: record(name, f1)
        for name, f1 in (("s-crf-seed1", 80), ("s-crf-seed2", 82), ("s-crf-seed3", 99))
    }

    lines = list(result_tables.differences(cells, ours, tmp_path))

    assert lines[2] == "| s: `crf` | 2 | 81.0 | 78.5 | +2.5 ± 0.5 |"
    assert lines[3] == "| all | 2 | 81.0 | 78.5 | +2.5 ± 0.5 |"
    assert not any("t: `crf`" in line for line in lines)


def test_heads_are_compared_with_a_crf_on_the_sets_and_seeds_that_both_have():
    cells = {"x": list(plan(["a", "b", "c"]))}
    scores = {
        "a-crf-seed1": 80, "a-crf-seed2": 82, "b-crf-seed1": 70, "c-crf-seed3": 60,
        "a-cse-seed1": 81, "a-cse-seed2": 84, "b-cse-seed1": 66, "c-cse-seed1": 99,
    }  # fmt: skip

    records = {name: record(name, f1) for name, f1 in scores.items()}
    lines = list(result_tables.compare_heads(cells, records))

    assert lines[2:] == ["| `cse` | 2 | 3 | -1.2 ± 2.7 | -4.0 (b) | +1.5 (a) |", ""]


def test_names_inside_others_are_not_scored_on_other_sets():
    danish = TABLES["danish"]

    assert [of.name for of in tables.others_of(danish[0], SETS, danish)] == ["danplus"]
    nested = next(cell for cell in danish if cell.set == "nested-danplus")
    assert tables.others_of(nested, SETS, danish) == []


def test_a_cell_that_has_a_record_is_not_run_again(tmp_path, monkeypatch):
    page, ran = tmp_path / tables.PAGE.name, []
    page.write_text("a\n<!-- table curves -->\nold\n<!-- end of table curves -->\nz\n", "utf-8")
    model = tmp_path / "e5"
    model.mkdir()
    command = ["tables", "curves", "--only", "sturm-crf-50-seed*", "--model", str(model)]
    command += ["--data", str(tmp_path), "--records", str(tmp_path)]

    def run(cell, *_, **__):
        ran.append(cell.name)
        return record(cell.name, 50 + cell.seed)

    monkeypatch.setattr(tables, "run", run)
    monkeypatch.setattr(sys, "argv", [*command, "--minutes", "10"])

    tables.main()
    assert ran == ["sturm-crf-50-seed1", "sturm-crf-50-seed2"]  # then 10 minutes are over
    tables.main()
    assert ran[2:] == ["sturm-crf-50-seed3"]
    text = page.read_text("utf-8")
    assert "old" not in text
    assert "**52.0** ± 1.0 (3)" in text
    assert text.startswith("a\n")
    assert text.endswith("z\n")


def fails(cell, *_, **__):
    if cell.seed == 2:
        raise RuntimeError("no")
    return record(cell.name, 50 + cell.seed)


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_cell_that_fails_is_named_and_cells_are_run_in_the_order_of_patterns(tmp_path, jobs):
    tasks = {
        ("curves", cell): partial(fails, cell)
        for cell in (Cell("s", "crf", 3), Cell("s", "crf", 2), Cell("s", "crf", 1))
    }

    made = dict(tables.run_each(tasks.items(), jobs))

    assert {cell.seed: one and one["cell"] for (_, cell), one in made.items()} == {
        3: "s-crf-seed3",
        2: None,
        1: "s-crf-seed1",
    }
    args = argparse.Namespace(model=None, records=tmp_path, only=["*seed2", "*seed1"])
    left = list(tables.cells_left({"curves": [cell for _, cell in tasks]}, args))
    assert [cell.seed for _, cell in left] == [2, 1]


@pytest.mark.parametrize(
    ("status", "error"), [(1, RuntimeError), (143, KeyboardInterrupt), (130, KeyboardInterrupt)]
)
def test_signals_stop_all_cells_and_other_failures_only_one(tmp_path, monkeypatch, status, error):
    def main(_):
        sys.stderr.write("said\n")
        return status

    module = argparse.Namespace(main=main)
    monkeypatch.setattr(tables.importlib, "import_module", lambda _: module)

    with pytest.raises(error):
        tables.command(tmp_path, "modeling.finetune", "--list")

    assert (tmp_path / "log.txt").read_text("utf-8") == "said\n"
    assert not (tmp_path / "minutes.jsonl").exists()


def test_the_sets_of_cells_that_run_at_once_are_made_before(tmp_path, monkeypatch):
    made = []
    monkeypatch.setattr(tables, "make_ner", lambda of, _: made.append(of.name))
    monkeypatch.setattr(tables, "run_each", lambda tasks, _: ((key, None) for key, _ in tasks))
    args = argparse.Namespace(model=None, records=tmp_path, only=["ddt-crf-*1"], jobs=2, minutes=9)

    failed = list(tables.run_cells({"danish": TABLES["danish"]}, SETS, args))

    assert made == ["ddt", "danplus"]  # it is scored on the other set, too
    assert failed == ["ddt-crf-seed1"]


def quick(cell, *_, **__):
    return record(cell.name, 50)


def test_cells_that_run_when_the_minutes_are_over_are_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "make_ner", lambda *_: None)
    monkeypatch.setattr(tables, "run", quick)
    monkeypatch.setattr(tables, "ProcessPoolExecutor", lambda jobs, **_: ThreadPoolExecutor(jobs))
    args = argparse.Namespace(model=None, records=tmp_path, only=["*"], jobs=2, minutes=6)

    assert list(tables.run_cells({"danish": TABLES["danish"]}, SETS, args)) == []

    kept = read_records(tmp_path / "danish.jsonl")
    assert list(kept) in (["ddt-crf-seed1", "danplus-crf-seed1"],
                          ["danplus-crf-seed1", "ddt-crf-seed1"])  # fmt: skip


def test_records_of_another_encoder_are_not_mixed_with_ours(tmp_path):
    args = argparse.Namespace(model=tmp_path / "bert", records=tmp_path)

    with pytest.raises(SystemExit, match="--records DIR"):
        tables.check_encoder({"a": record("a", 1)}, args)


def test_sentences_that_stand_together_stay_on_one_side(tmp_path):
    source = tmp_path / "a.conll"
    source.write_text("\n\n".join(f"w{n} O" for n in range(40)) + "\n", "utf-8")

    paths = list(tables.in_blocks([source], tmp_path / "made", size=2))

    read = {path.stem: tables.split_blank(path.read_text("utf-8")) for path in paths}
    assert read["dev"] == ["w16 O", "w17 O", "w36 O", "w37 O"]
    assert read["test"] == ["w18 O", "w19 O", "w38 O", "w39 O"]
    assert sum(map(len, read.values())) == 40
