"""Inputs that are listed when a run is planned, and hashed by the units that read them."""

import json
import os
import shutil

import pytest

from corpora.runs.build import Build
from pipelines import documents_to_tokenizer, news_to_documents, text_to_documents
from tests.killing import files_of

WAYS = pytest.mark.parametrize("way", [[], ["--runner=FnApiRunner"]], ids=["here", "beam"])


@pytest.fixture
def story(tmp_path):
    path = tmp_path / "in" / "story.txt"
    path.parent.mkdir()
    path.write_text("Ein Tag in Ulm.\n", encoding="utf-8")
    return path


def change(path, old, new):
    """Replace as many bytes by others, without a trace in size or time."""
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(old, new))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def make(path, output, *way):
    return text_to_documents.main(
        ["--input", str(path.parent), "--lang", "de", "--output", str(output), *way]
    )


def test_the_plan_of_a_terabyte_of_archives_reads_none_of_it(tmp_path):
    path = tmp_path / "huge.warc.gz"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 1 << 40)
    options = news_to_documents.Options(warc=(str(path),), output=tmp_path / "out")

    plan = news_to_documents.plan(options)

    assert len(plan.units) == (1 << 40) // news_to_documents.RANGE_BYTES[1]
    assert [len(stage.units) for stage in plan.stages[:1]] == [1]


def test_what_is_published_names_the_hashes_that_units_have_taken(story, tmp_path):
    assert make(story, tmp_path / "out") == 0
    shutil.copytree(story.parent, tmp_path / "copy")
    assert make(tmp_path / "copy" / "story.txt", tmp_path / "other", "--group", "in") == 0

    plans = [
        json.loads((tmp_path / n / "dataset.json").read_text())["plan"] for n in ("out", "other")
    ]
    assert [len(file["sha256"]) for file in plans[0]["inputs"]] == [64]
    assert plans[0]["inputs"] == plans[1]["inputs"]


@WAYS
def test_other_bytes_are_read_again_though_name_size_and_time_are_the_same(story, tmp_path, way):
    assert make(story, tmp_path / "out", *way) == 0

    change(story, b"Ulm", b"Bad")
    assert make(story, tmp_path / "out", *way) == 0

    assert make(story, tmp_path / "new") == 0
    assert files_of(tmp_path / "out") == files_of(tmp_path / "new")


@WAYS
def test_a_new_time_of_the_same_bytes_changes_nothing(story, tmp_path, way, capsys):
    assert make(story, tmp_path / "out") == 0

    os.utime(story, ns=(1, 1))
    assert make(story, tmp_path / "out", *way) == 0

    assert "already complete" in capsys.readouterr().out


def test_units_of_a_killed_run_are_not_kept_where_an_input_has_changed(
    story, tmp_path, monkeypatch
):
    def killed(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Build, "publish", killed)
    assert make(story, tmp_path / "out") == 130
    monkeypatch.undo()

    change(story, b"Ulm", b"Bad")
    assert make(story, tmp_path / "out") == 0

    assert make(story, tmp_path / "new") == 0
    assert files_of(tmp_path / "out") == files_of(tmp_path / "new")


@pytest.mark.parametrize("n_before", [0, 1])
def test_a_damaged_shard_of_the_input_ends_the_run(story, tmp_path, capsys, n_before):
    story.write_text("Ein Tag in Ulm. " * 50, encoding="utf-8")
    assert make(story, tmp_path / "documents") == 0
    command = [
        "--input",
        str(tmp_path / "documents"),
        "--output",
        str(tmp_path / "out"),
        "--size",
        "1000",
    ]
    for _ in range(n_before):
        assert documents_to_tokenizer.main(command) == 0
    [shard] = (tmp_path / "documents").glob("*.arrow")
    damaged = bytearray(shard.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    shard.write_bytes(damaged)

    assert documents_to_tokenizer.main(command) == 1

    assert "damaged (other bytes than were written)" in capsys.readouterr().err
