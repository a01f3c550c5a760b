"""What is written appears whole, or not at all."""

import pytest

from corpora.system.writing import appearing, link_or_copy


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_an_error_leaves_what_was_there_and_no_other_file(kind, tmp_path):
    path = tmp_path / "path"
    path.write_text("old") if kind == "file" else (path / "old").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))

    def fail():
        with appearing(path) as temporary:
            temporary.touch() if kind == "file" else temporary.mkdir()
            raise ValueError("why")

    with pytest.raises(ValueError, match="why"):
        fail()

    assert sorted(tmp_path.rglob("*")) == before


def test_a_link_does_not_replace_a_file(tmp_path):
    for name in ("source", "target"):
        (tmp_path / name).write_text(name)

    with pytest.raises(FileExistsError):
        link_or_copy(tmp_path / "source", tmp_path / "target")

    assert (tmp_path / "target").read_text() == "target"
