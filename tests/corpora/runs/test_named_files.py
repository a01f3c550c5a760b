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
