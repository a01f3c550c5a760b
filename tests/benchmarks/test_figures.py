"""The figures that are kept, and how new ones are compared with them."""

import re

import pytest

from benchmarks.__main__ import FIGURES, ROOT, Benchmark, Figure, compare, keep, read_figures

KEPT = """[reading]
command = "reading --fast"
[reading.figures."time beside theirs"]
pattern = 'ratio ([0-9.]+)'
kept = 0.5
better = "less"
"""


@pytest.mark.parametrize(
    "benchmark", read_figures(FIGURES.read_text("utf-8")), ids=lambda b: b.name
)
def test_every_kept_figure_has_a_script_and_a_pattern_with_one_group(benchmark):
    assert (ROOT / "benchmarks" / f"{benchmark.command.split()[0]}.py").is_file()
    assert benchmark.figures
    for figure in benchmark.figures:
        assert re.compile(figure.pattern, re.MULTILINE).groups == 1
        assert figure.better in {"less", "more"}


@pytest.mark.parametrize(
    ("better", "value", "is_worse"),
    [("less", 0.54, False), ("less", 0.56, True), ("more", 0.46, False), ("more", 0.44, True)],
)
def test_a_figure_is_worse_beyond_its_tolerance(better, value, is_worse):
    figure = Figure("f", "(x)", kept=0.5, better=better)

    assert figure.is_worse(value) is is_worse


def test_figures_are_found_in_what_was_printed_and_shown_beside_the_kept_ones(capsys):
    [benchmark] = read_figures(KEPT)

    assert compare(benchmark, "speed 3\nratio 0.61\n") == {"time beside theirs": 0.61}
    assert "WORSE" in capsys.readouterr().out


def test_a_figure_that_is_not_printed_is_said(capsys):
    [benchmark] = read_figures(KEPT)

    assert not compare(benchmark, "nothing")
    assert "NOT FOUND" in capsys.readouterr().out


def test_kept_values_are_replaced_and_all_else_stays():
    [benchmark] = read_figures(KEPT)

    assert keep(KEPT, benchmark, {"time beside theirs": 0.41}) == KEPT.replace("0.5", "0.41")


def test_a_benchmark_whose_data_is_absent_has_no_arguments(tmp_path):
    benchmark = Benchmark("reading", "reading '{data}/dumps/*.bz2'", ())
    assert benchmark.arguments(tmp_path) is None
    (tmp_path / "dumps").mkdir()
    (tmp_path / "dumps" / "a.bz2").touch()

    assert benchmark.arguments(tmp_path) == ["reading", f"{tmp_path}/dumps/a.bz2"]
