import contextlib
import io
import re
import shutil
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest

from modeling.pretrain.__main__ import main as pretrain
from modeling.report.__main__ import main
from modeling.report.page import draw_losses, make_page, read_run, read_runs

pytest.importorskip("matplotlib")
SETTINGS = ["training.max_steps=4", "training.evaluate_every=2", "training.log_every=1"]
SETTINGS += ["encoder.width=16", "data.n_workers=0"]


@pytest.fixture(scope="module")
def runs(examples, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs")
    for name in ("daluke_small", "neiss_small"):
        output = folder / name
        inputs = ["--examples", str(examples), "--output", str(output)]
        assert pretrain([name, *inputs, "--set", *SETTINGS]) == 0
    return [folder / "daluke_small", folder / "neiss_small"]


@pytest.fixture(scope="module")
def page(runs):
    """Make the page of the first run alone; matplotlib takes a second for it."""
    return make_page([read_run(runs[0])])


@pytest.fixture(scope="module")
def reported(runs):
    """Report both runs; returns the page, and what the command says."""
    with contextlib.redirect_stderr(io.StringIO()) as said:
        assert main([str(run) for run in runs]) == 0
    return (runs[0] / "report.html").read_text("utf-8"), said.getvalue()


@pytest.fixture(scope="module")
def worse_page(runs, tmp_path_factory):
    """Make the page of a run with a strange name and patience, worse at last."""
    folder = tmp_path_factory.mktemp("strange") / "a<b"
    shutil.copytree(runs[0], folder)
    run = read_run(folder)
    training = run.settings["config"]["training"] | {"patience": 2}
    settings = run.settings | {"config": run.settings["config"] | {"training": training}}
    worse = run.of_kind("evaluation")[-1] | {
        "step": 9,
        "loss": {"subwords": 9.125, "entities": 9.0},
    }
    broken = worse | {"step": 10, "loss": {"subwords": None, "entities": 1.0}}
    return make_page([replace(run, settings=settings, lines=[*run.lines, worse, broken])])


def pictures(page):
    return [ET.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)]  # noqa: S314


def test_a_page_has_all_pictures_inside_and_asks_for_nothing_outside(page):
    assert len(pictures(page)) == 5
    assert not re.findall(r"(?:src|href)=\"(?!#)[^\"]*", page)
    assert "<script" not in page


def test_accuracies_of_the_last_evaluation_are_in_the_table(page, runs):
    last = read_run(runs[0]).of_kind("evaluation")[-1]
    for objective in ("subwords", "entities"):
        loss, top = last["loss"][objective], last["accuracy"][objective]["50"]
        assert f'<td>{objective}</td><td class="n">4</td>' in page
        assert f">{loss:.3f}</td>" in page
        assert f">{top:.1%}</td>" in page


def test_with_patience_the_best_evaluation_is_in_the_table(worse_page):
    assert '<td>subwords</td><td class="n">4</td>' in worse_page
    assert '<td>subwords</td><td class="n">9</td>' not in worse_page


def test_several_runs_stand_side_by_side(reported):
    page, _ = reported

    titles = ["".join(picture.itertext()) for picture in pictures(page)]
    assert len(titles) == 6
    assert all("daluke_small" in title and "neiss_small" in title for title in titles[1:4])


def test_runs_of_one_name_are_named_by_the_folders_above(runs, tmp_path):
    folders = [tmp_path / place for place in ("a/x/run", "b/x/run", "b/other")]
    for folder in folders:
        shutil.copytree(runs[0], folder)

    named = read_runs([*folders, folders[0]])

    assert [run.name for run in named] == ["a/x/run", "b/x/run", "other"]


def test_each_run_has_a_line_of_its_own_in_the_legend_whatever_its_name(runs):
    run = read_run(runs[0])
    names = ["_hidden", "$b^$", "漢<字>", *(f"run {n}" for n in range(12))]

    picture = draw_losses([replace(run, name=name) for name in names]).svg

    [drawn] = pictures(picture)
    for name in names:
        assert f"{name}, validation" in "".join(drawn.itertext())
    looks = re.findall(r'<use xlink:href="(#\w+)"[^>]* fill="(#\w+)"', picture)
    assert len(set(looks)) == len(names)


def test_pictures_have_no_styles_that_a_strict_policy_would_drop(page):
    for picture in re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL):
        assert "style" not in picture
        assert 'role="img" aria-label=' in picture


def test_the_same_runs_give_the_same_page(page, runs):
    assert make_page([read_run(runs[0])]) == page


def test_names_are_escaped(worse_page):
    assert "a<b" not in worse_page
    assert "a&lt;b" in worse_page


def test_the_page_lies_in_the_first_run(reported):
    page, said = reported

    assert page.startswith("<!doctype html>")
    assert "made" in said


def test_a_folder_without_a_run_is_said_so(tmp_path, capsys):
    assert main([str(tmp_path)]) == 1

    assert "holds no run" in capsys.readouterr().err


def test_without_matplotlib_the_message_says_what_to_install(runs, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    assert main([str(runs[0])]) == 1

    assert "onoma[plots]" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--columns", "dataset"], "--columns is for --rows"),
        (["--table", "heads", "--columns", "dataset"], "--columns is for --rows"),
        (["--table", "heads", "--rows", "encoder"], "--table and --rows: one of them"),
        (["--value", "token_f1"], "--value is for a table"),
    ],
)
def test_options_that_would_have_no_effect_are_refused(given, said, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main([str(tmp_path), *given])

    assert ended.value.code == 2
    assert said in capsys.readouterr().err
