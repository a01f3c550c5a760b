"""Plain text to documents: options, workers and limits, and what ends the run."""

import json
import shlex
import shutil

import pytest

from corpora.datasets.shards import open_dataset
from corpora.runs import plan
from pipelines import text_to_documents
from tests.pipelines.text_runs import (
    DOC,
    SAMPLES,
    counters_of,
    describe,
    documents_of,
    published,
    rejected_of,
    run,
)

pytestmark = pytest.mark.usefixtures("without_runner")


@pytest.fixture
def small_parts(monkeypatch):
    """Cut even small files."""
    monkeypatch.setattr(text_to_documents, "RANGE_BYTES", 9000)
    monkeypatch.setattr(plan, "UNIT_BYTES", 9000)


def write_many(folder):
    """Write files of all forms, some of them large."""
    shutil.copytree(SAMPLES, folder)
    articles = [DOC.format(n, n, f"T{n}", f"T{n}\n\nSatz {n}. Noch einer.") for n in range(400)]
    (folder / "many").write_text("".join(articles))
    lines = [json.dumps({"id": f"j{n}", "text": f"Satz {n}. Ende."}) for n in range(400)]
    (folder / "many.jsonl").write_text("\r\n".join(["", *lines, "{", ""]), newline="")


def test_an_option_of_json_lines_makes_all_files_json_lines(tmp_path):
    (tmp_path / "f").write_text('torn"}\n{"body": "a"}\n{"body": "b"}\n')

    run(tmp_path / "out", "--field", "text=body", input=tmp_path / "f")

    assert [d.text for d in documents_of(tmp_path / "out")] == ["a", "b"]
    assert rejected_of(tmp_path / "out") == [("f", "line 1", "broken_json")]


@pytest.mark.parametrize("option", [("--split-pattern", "^{"), ("--split-blank", 0)])
def test_an_option_of_plain_text_makes_all_files_plain_text(option, tmp_path):
    (tmp_path / "f").write_text('{"text": "a"}\n{"text": "b"}\n')

    run(tmp_path / "out", *option, input=tmp_path / "f")

    assert [d.text for d in documents_of(tmp_path / "out")] == ['{"text": "a"}', '{"text": "b"}']


def test_a_field_that_only_has_the_name_of_a_column_rejects_no_record(tmp_path):
    (tmp_path / "f").write_text('{"text": "a", "lang": "Deutsch, alt", "group": ["x"]}\n')

    run(tmp_path / "out", "--lang", "de", "--metadata", "*", input=tmp_path / "f")

    [document] = documents_of(tmp_path / "out")
    assert (document.lang, document.group) == ("de", tmp_path.name)
    assert dict(document.metadata) == {"lang": "Deutsch, alt", "group": '["x"]'}
    counters = counters_of(tmp_path / "out")
    assert counters["fields.unusable"] == 2
    assert counters["fields.unusable/lang"] == counters["fields.unusable/group"] == 1


@pytest.mark.parametrize("rate", [0, 1])
def test_nothing_is_published_where_all_is_rejected(rate, tmp_path, capsys):
    (tmp_path / "f").write_text('{"text": "a"\n{"body": "b"}\n')

    assert run(tmp_path / "out", "--max-reject-rate", rate, input=tmp_path / "f") == 1

    message = capsys.readouterr().err
    assert "2 of 2 records were rejected (broken_json 1, missing_field 1), and none" in message
    assert "f:1: no JSON" in message
    assert not (tmp_path / "out/dataset.json").exists()


@pytest.mark.usefixtures("small_parts")
def test_bytes_do_not_depend_on_workers(tmp_path):
    write_many(tmp_path / "in")

    for workers in (1, 2):
        options = ["--workers", workers, "--lang", "de", "--exclude", "README.md", "news.jsonl"]
        assert run(tmp_path / f"out{workers}", *options, input=tmp_path / "in") == 0

    assert published(tmp_path / "out1") == published(tmp_path / "out2")
    assert len(describe(tmp_path / "out1")["shards"]) > 5


def test_documents_do_not_depend_on_how_files_are_cut(tmp_path, request):
    write_many(tmp_path / "in")
    run(tmp_path / "whole", "--lang", "de", input=tmp_path / "in" / "many*")

    request.getfixturevalue("small_parts")
    run(tmp_path / "cut", "--lang", "de", input=tmp_path / "in" / "many*")

    assert documents_of(tmp_path / "whole") == documents_of(tmp_path / "cut")
    assert counters_of(tmp_path / "whole") == counters_of(tmp_path / "cut")
    assert rejected_of(tmp_path / "cut") == [("many.jsonl", "line 402", "broken_json")]
    assert len(describe(tmp_path / "cut")["shards"]) > len(describe(tmp_path / "whole")["shards"])


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("limit", [1, 390, 10_000])
def test_limit_is_of_records_whatever_became_of_them(limit, tmp_path):
    write_many(tmp_path / "in")

    run(tmp_path / "out", "--limit", limit, input=tmp_path / "in" / "many*")

    assert describe(tmp_path / "out")["accounting"]["read"] == min(limit, 801)
    ids = [document.id for document in documents_of(tmp_path / "out")]
    every = [f"in:{n}" for n in range(400)] + [f"in:j{n}" for n in range(400)]
    assert ids == every[:limit]


def test_the_white_space_of_a_group_is_one_space(tmp_path):
    (tmp_path / "f").write_text("Ein Text.")

    run(tmp_path / "out", "--group", " x\ty\n z ", input=tmp_path / "f")

    [document] = open_dataset(tmp_path / "out").records()
    assert document.group == "x y z"


def test_the_name_of_the_folder_is_in_the_plan_only_where_it_names_a_group(tmp_path):
    prints = []
    for folder, group in (("a", "g"), ("b", "g"), ("a", None), ("b", None)):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "f").write_text("x")
        options = ["--group", group] if group else []
        run(tmp_path / f"{folder}-{group}", *options, input=tmp_path / folder / "f")
        prints.append(describe(tmp_path / f"{folder}-{group}")["plan"]["fingerprint"])

    assert prints[0] == prints[1]
    assert prints[2] != prints[3]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--encoding", "klingon"], "--encoding klingon"),
        (["--split-pattern", "("], "--split-pattern"),
        (["--split-pattern", "a", "--split-blank", "2"], "choose one"),
        (["--split-blank", "-1"], "--split-blank -1"),
        (["--split-blank", "1", "--format", "doc"], "only plain text"),
        (["--split-blank", "1", "--metadata", "author"], "--metadata is for JSON Lines"),
        (["--field", "text"], "COLUMN=FIELD"),
        (["--field", "text=a", "--format", "plain"], "--field is for"),
        (["--field", "text=a", "--split-blank", "1"], "--field is for JSON Lines"),
        (["--lang", "auf Deutsch"], "--lang auf Deutsch: no tag"),
        (["--group", " "], "--group"),
        (["--exclude", "nothing"], "--exclude nothing"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message, tmp_path, capsys):
    assert run(tmp_path / "out", *options) == 2

    assert message in capsys.readouterr().err


def test_files_in_which_no_line_fits_the_pattern_are_named(tmp_path, capsys):
    (tmp_path / "in").mkdir()
    for number in range(1, 6):
        (tmp_path / "in" / f"{number}.txt").write_text(f"Kapitel {number}" if number < 2 else "1.")

    status = run(tmp_path / "out", "--split-pattern", "^Kapitel", input=tmp_path / "in")

    said = capsys.readouterr().out
    assert status == 0
    assert "WARNING 2.txt, 3.txt, 4.txt and 1 more: no line fits --split-pattern ^Kapitel" in said


def test_pattern_that_is_empty_is_refused(tmp_path, capsys):
    with pytest.raises(SystemExit, match="2"):
        run(tmp_path / "out", "--split-pattern", "")

    assert "--split-pattern: is empty (is a variable not set?)" in capsys.readouterr().err


def test_the_next_steps_can_be_pasted_whatever_the_name_of_the_folder(tmp_path, capsys):
    output = tmp_path / "zwei Wörter's {output} %s"

    assert run(output, "--lang", "de", input=SAMPLES / "brief.txt") == 0

    said = capsys.readouterr().out.splitlines()
    [command] = [line.removeprefix("next  ") for line in said if line.startswith("next  ")]
    assert shlex.split(command)[-1] == str(output)


def test_the_next_step_is_named(tmp_path, capsys):
    run(tmp_path / "out", input=SAMPLES / "brief.txt")

    assert "onoma tokenizer" in capsys.readouterr().out
