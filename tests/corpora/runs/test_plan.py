import errno
import os
from pathlib import Path

import pytest

from corpora.errors import InputChangedError, UsageError
from corpora.runs.plan import describe_file, find_inputs, list_file, make_units


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make some files in a folder, and change to it."""
    for name in ("a/1.xml", "a/2.xml", "b/1.xml", "b/x.txt", "c/deep/3.XML", "a[1].xml", "a1.xml"):
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(*patterns, **options):
    return list(find_inputs(patterns, suffix=".xml", **options))


def test_hidden_files_and_what_lies_in_hidden_folders_are_left_out(folder):
    for name in ("a/.1.xml", "a/.git/1.xml", "a/.build/0123/1.xml", "a/b/.snapshots/1.xml"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).touch()

    assert names("a") == ["1.xml", "2.xml"]
    assert names("a/.git") == ["1.xml"]


@pytest.mark.parametrize("target", [".", "..", "../c", "../b"])
def test_folders_behind_links_are_read_and_a_link_to_a_folder_above_it_is_an_error(folder, target):
    (folder / "c" / "link").symlink_to(target)

    if target == "../b":
        assert names("c") == ["deep/3.XML", "link/1.xml"]
        return
    with pytest.raises(UsageError, match="c/link: is a link to a folder that it lies in"):
        names(".")


def test_relative_and_absolute_paths_give_the_same_names(folder, monkeypatch):
    absolute = names(str(folder / "a"), str(folder / "b"))
    monkeypatch.chdir(folder / "a")

    assert names(".", "../b") == absolute


@pytest.mark.parametrize("name", ["link", "link.xml"])
def test_a_file_with_two_names_is_an_error_unless_one_is_left_out(tmp_path, name):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "1.xml").write_text("<a/>")
    (tmp_path / "b.xml").hardlink_to(tmp_path / "a" / "1.xml")  # a copy, as far as names tell
    (tmp_path / name).symlink_to("a/1.xml" if name.endswith(".xml") else "a")

    with pytest.raises(UsageError, match=rf"a/1\.xml and .*{name}.* are one file.* Leave one"):
        names(str(tmp_path))
    assert names(str(tmp_path), exclude=[f"{name}*"]) == ["a/1.xml", "b.xml"]


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("pattern", ["", "none/*.xml", "none", "~nosuch/*.xml", "b/*.xml.gz"])
def test_pattern_without_a_file_is_an_error(pattern):
    with pytest.raises(UsageError, match="--input"):
        names("a", pattern)


@pytest.mark.parametrize("pattern", ["a", "a/*", "**", "a/1.xml", "a/3.xml"])
def test_pipe_or_link_that_leads_nowhere_is_an_error_unless_it_is_left_out(folder, pattern):
    (folder / "a" / "1.xml").unlink()
    os.mkfifo(folder / "a" / "1.xml")
    (folder / "a" / "3.xml").symlink_to("nowhere")

    with pytest.raises(UsageError, match=r"a/1.xml: is no file, but a pipe|a/3.xml: is a link"):
        names(pattern)
    assert "2.xml" in names("a", exclude=["1.xml", "3.xml"])


@pytest.mark.parametrize("closed", ["a", "c/deep"])
@pytest.mark.parametrize("pattern", ["*/*", "**/*.xml", "**", "*/1.xml", "*/deep/*", "c/*/3.XML"])
def test_folder_that_a_pattern_cannot_look_into_is_an_error(folder, closed, pattern, monkeypatch):
    may = os.access
    monkeypatch.setattr(os, "access", lambda at, *how: at != folder / closed and may(at, *how))

    if (closed, pattern) in {("a", "c/*/3.XML"), ("c/deep", "*/*"), ("c/deep", "*/1.xml")}:
        assert names(pattern)
        return
    with pytest.raises(UsageError, match=f"{closed}: cannot be read"):
        names(pattern)


def test_folder_that_cannot_be_listed_is_an_error(folder, monkeypatch):
    def scan(path):
        if Path(path) == folder / "c" / "deep":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return listed(path)

    listed = os.scandir
    monkeypatch.setattr(os, "scandir", scan)

    with pytest.raises(UsageError, match="c/deep: cannot be read"):
        names("c")


@pytest.mark.parametrize("read", [list_file, describe_file])
def test_file_that_is_gone_is_named(read, tmp_path):
    with pytest.raises(UsageError, match="gone: cannot be read"):
        read("a", tmp_path / "gone")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("patterns", "exclude", "found"),
    [
        (["a/*.xml"], [], ["1.xml", "2.xml"]),
        (["a/*.xml", "b/*.xml"], [], ["a/1.xml", "a/2.xml", "b/1.xml"]),
        (["a/1.xml"], [], ["1.xml"]),  # relative to what all patterns share
        (["b", "c"], [], ["b/1.xml", "c/deep/3.XML"]),  # the files below that fit
        (["a", "b/../a", "a/1.xml"], [], ["1.xml", "2.xml"]),  # named twice, read once
        (["a[1].xml", "a1.xml"], [], ["a1.xml", "a[1].xml"]),  # brackets in a name
        (["a", "b"], ["b/*"], ["a/1.xml", "a/2.xml"]),
    ],
)
def test_patterns_and_folders_find_files(patterns, exclude, found):
    assert names(*patterns, exclude=exclude) == found


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("exclude", [["3.xml"], ["*"]])
def test_exclude_that_matches_nothing_or_all_is_an_error(exclude):
    with pytest.raises(UsageError, match="--exclude"):
        names("a", exclude=exclude)


@pytest.mark.parametrize("name", [b"a\xff.xml", b"a\tb.xml", b"a\nb.xml"])
def test_name_that_cannot_stand_in_a_table_is_an_error(tmp_path, name):
    (tmp_path / os.fsdecode(name)).touch()

    with pytest.raises(UsageError, match=f"'{tmp_path}/a.*not printable UTF-8"):
        names(str(tmp_path))

    (tmp_path / "b.xml").touch()
    assert names(str(tmp_path), exclude=["a*"]) == ["b.xml"]


def test_input_that_changed_is_not_read(folder):
    file = describe_file("1.xml", folder / "a" / "1.xml")
    (folder / "a" / "1.xml").write_text("A/1.xml")

    with pytest.raises(InputChangedError, match="has changed since the run began"):
        file.read()


def test_units_hold_whole_files_in_order_up_to_a_bound(folder, monkeypatch):
    monkeypatch.setattr("corpora.runs.plan.UNIT_BYTES", 14)
    files = [describe_file(name, folder / "a" / "1.xml") for name in "abcde"]  # of 7 bytes

    units = make_units(files, settings={"a": 1, "e": 5})

    assert [[file.name for file in unit.inputs] for unit in units] == [
        ["a", "b"],
        ["c", "d"],
        ["e"],
    ]
    assert [unit.settings for unit in units] == [{"a": 1}, {}, {"e": 5}]
