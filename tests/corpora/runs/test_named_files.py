"""Files that users name: devices, links, and files of runs."""

import json
import os
from pathlib import Path

import pytest

from corpora.errors import UsageError
from corpora.runs.journal import sealed
from corpora.runs.named_files import write_named


def test_device_or_pipe_that_the_user_names_is_written_to_and_not_replaced():
    reads, writes = os.pipe()
    try:
        write_named(Path(f"/dev/fd/{writes}"), ["a", "b"])

        assert os.read(reads, 10) == b"ab"
    finally:
        os.close(reads)
        os.close(writes)


def test_dash_is_not_taken_for_the_name_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    with pytest.raises(UsageError, match="give /dev/stdout"):
        write_named(Path("-"), ["{}"])

    assert not list(tmp_path.iterdir())


def test_file_behind_a_link_that_the_user_names_is_written(tmp_path):
    (tmp_path / "link").symlink_to("inside/file")

    write_named(tmp_path / "link", ["a"])

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "inside" / "file").read_text() == "a"


@pytest.mark.parametrize("name", ["run.json", "card.md", "ner/dataset.json"])
def test_file_of_a_run_is_not_replaced(name, tmp_path):
    (tmp_path / "ner").mkdir()
    run = sealed({"fingerprint": "", "files": {"card.md": "0", "ner/dataset.json": "0"}})
    (tmp_path / "run.json").write_text(json.dumps(run))
    (tmp_path / "link").symlink_to(name)

    for path in (tmp_path / name, tmp_path / "link"):
        with pytest.raises(UsageError, match=f"{name}: belongs to a run"):
            write_named(path, ["x"])
    write_named(tmp_path / "mine.md", ["x"])


@pytest.mark.parametrize("name", ["settings.json", "metrics.jsonl"])
def test_file_of_a_training_run_is_not_replaced(name, tmp_path):
    (tmp_path / "settings.json").write_text('{"recipe": "bert"}\n')

    with pytest.raises(UsageError, match=f"{name}: belongs to a training run"):
        write_named(tmp_path / name, ["{}\n"])

    write_named(tmp_path / "report.html", ["<!DOCTYPE html>\n"])


FORMS = {
    "HTML": "\n<!doctype html>\n<p>a</p>\n",
    "XML": '<TEI xmlns="http://www.tei-c.org/ns/1.0"/>\n',
    "JSON": '[\n {"a": 1}]\n',
    "text": "{\tO\n<\tO\n",
}


@pytest.mark.parametrize("there", FORMS)
@pytest.mark.parametrize("made", FORMS)
def test_file_of_another_form_is_not_replaced(there, made, tmp_path):
    path = tmp_path / "file"
    path.write_text(FORMS[there])

    if there == made:
        write_named(path, ["", FORMS[made]])
    else:
        with pytest.raises(UsageError, match=f"is {there}, not {made}. Name another place"):
            write_named(path, ["", FORMS[made]])

    assert path.read_text() == FORMS[there]


@pytest.mark.parametrize("word", ["<unk>", "<!DOCTYPE", '{"a"'])
def test_tagged_words_are_text_whatever_the_first_is(word, tmp_path):
    path = tmp_path / "file"
    path.write_text("Jena B-LOC\n")

    write_named(path, [f"{word} O\n<s> B-PER\n"])
    write_named(path, ["Jena B-LOC\n"])

    assert path.read_text() == "Jena B-LOC\n"


def test_file_without_text_is_replaced_and_one_of_bytes_is_not(tmp_path):
    empty, binary = tmp_path / "empty", tmp_path / "weights"
    empty.touch()
    binary.write_bytes(b"\x10\0\0\0{}")

    write_named(empty, ["a"])
    write_named(empty, [])
    write_named(empty, ["{}"])
    with pytest.raises(UsageError, match="is binary, not text"):
        write_named(binary, ["a"])

    assert empty.read_text() == "{}"
