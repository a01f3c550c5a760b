"""What is read in a folder that may come from elsewhere leads to nothing outside it."""

import errno
import os

import pytest

import onoma
from corpora.errors import CorpusError, DamagedDatasetError, FolderInUseError, UsageError
from corpora.system.files import (
    check_new,
    check_plain,
    check_utf8,
    inside,
    is_plain,
    locked,
    open_own,
    refuse_links,
    sha256_of,
    take_away,
)
from corpora.system.staging import cache_folder
from corpora.tei.schema import default_schema


def busy(holder):
    return f"process {holder}"


@pytest.mark.parametrize("name", ["a", "a/b.arrow", "名前.json", "a b", "x" * 255])
def test_plain_names_are_taken_as_they_are(name, tmp_path):
    assert check_plain(name, where=tmp_path) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", ".", "..", "../a", "a/../b", "/etc/passwd", "a//b", "a/", "./a", "a/./b"),
        *(".lock", ".build/x", "a\\b", "a\0b", "a\nb", "\udcff", "x" * 256, "é" * 128),
        *(None, 7, ["a"]),
    ],
)
def test_names_that_are_not_plain_are_refused(name, tmp_path):
    assert not is_plain(name)
    with pytest.raises(DamagedDatasetError, match="no plain name"):
        check_plain(name, where=tmp_path / "run.json")


def test_links_on_the_way_to_a_file_are_refused(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "documents").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(CorpusError, match="documents: is a link"):
        inside(tmp_path / "out", "documents/dataset.json")
    for folder in (tmp_path, tmp_path / "out" / "documents"):
        with pytest.raises(CorpusError, match="documents: is a link"):
            refuse_links(folder)


def test_a_folder_that_is_not_there_has_no_links(tmp_path):
    refuse_links(tmp_path / "nothing")


@pytest.mark.parametrize("mode", ["ab", "a+", "r+b"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_only_a_file_of_the_folder_is_opened_to_write(kind, mode, tmp_path):
    mine = tmp_path / "mine"
    mine.write_bytes(b"mine")
    path = tmp_path / "log"
    os.mkfifo(path) if kind == "pipe" else path.symlink_to(mine)

    with pytest.raises(CorpusError, match="is a link, or no file"):
        open_own(path, mode)

    assert mine.read_bytes() == b"mine"


def test_a_file_to_write_in_a_folder_that_is_missing_is_no_link(tmp_path):
    with pytest.raises(FileNotFoundError):
        open_own(tmp_path / "nothing" / "log", "ab")


def test_a_file_that_somebody_worked_on_is_not_written_anew(tmp_path):
    path, same = tmp_path / "a.xml", tmp_path / "same"
    check_new(path, b"made")
    for file in (path, same):
        file.write_bytes(b"made")

    for data in (b"made", same):
        check_new(path, data)
    path.write_bytes(b"mine")
    for data in (b"made", same):
        with pytest.raises(UsageError, match="may have worked on it"):
            check_new(path, data)


def test_a_file_of_mine_is_no_lock_and_stays(tmp_path):
    lock = tmp_path / ".lock"
    lock.write_text("my notes")

    with pytest.raises(CorpusError, match="no lock of ours"), locked(lock, busy=busy):
        pass

    assert lock.read_text() == "my notes"


def test_a_lock_that_is_another_file_too_is_not_written_to(tmp_path):
    mine = tmp_path / "pid"
    mine.write_text("1234\n")
    (tmp_path / ".lock").hardlink_to(mine)

    with locked(tmp_path / ".lock", busy=busy):
        pass

    assert mine.read_text() == "1234\n"


def test_the_holder_of_a_lock_is_named(tmp_path):
    lock = tmp_path / "made" / ".lock"

    with (
        locked(lock, busy=busy),
        pytest.raises(FolderInUseError, match=f"process {os.getpid()}"),
        locked(lock, busy=busy),
    ):
        pass

    with locked(lock, busy=busy):
        assert lock.read_text() == f"{os.getpid()}\n"


def test_a_lock_that_was_removed_meanwhile_is_taken_again(tmp_path):
    lock = tmp_path / ".lock"
    taken = []

    def take(descriptor, _):
        if not taken:
            lock.unlink()
        taken.append(os.fstat(descriptor).st_ino)

    with locked(lock, busy=busy, take=take):
        assert lock.stat().st_ino == taken[-1]
    assert len(taken) == 2


def test_of_a_link_the_link_alone_is_taken_away(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")

    for name in ("link", "folder", "nothing"):
        take_away(tmp_path / name)
        assert (tmp_path / "folder").exists() is (name == "link")
        assert not (tmp_path / "link").is_symlink()


def test_a_pipe_has_no_hash(tmp_path):
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(OSError, match="Not a file"):
        sha256_of(tmp_path / "pipe")


def test_locale_that_is_not_utf8_is_refused_because_names_would_be_others(monkeypatch):
    monkeypatch.setattr("sys.getfilesystemencoding", lambda: "iso8859-1")

    with pytest.raises(UsageError, match=r"read as iso8859-1, not UTF-8 .* PYTHONUTF8=1"):
        check_utf8([])


def test_name_that_is_no_utf8_is_refused():
    with pytest.raises(UsageError, match="no UTF-8"):
        check_utf8(["--input", "a\udcff"])


def test_a_current_folder_that_is_gone_is_an_error(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()

    with pytest.raises(UsageError, match="the current folder was removed"):
        check_utf8([])
    assert onoma._without_here(["", "/usr"]) == ["/usr"]


def test_user_without_a_home_is_told_to_set_one(monkeypatch):
    monkeypatch.delenv("HOME", raising=False)
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)

    for place in (default_schema, cache_folder):
        with pytest.raises(UsageError, match="has no home folder"):
            place()
    monkeypatch.setenv("HOME", "/home/ada")
    assert default_schema().is_relative_to("/home/ada")


@pytest.mark.parametrize("number", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_is_no_folder_in_use(number, tmp_path):
    def take(*_):
        raise OSError(number, os.strerror(number))

    with (
        pytest.raises(CorpusError, match="no locks") as raised,
        locked(tmp_path / ".lock", busy=str, take=take),
    ):
        pass

    assert not isinstance(raised.value, FolderInUseError)
