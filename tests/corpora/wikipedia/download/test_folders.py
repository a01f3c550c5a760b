"""What is in the folder of a download: parts, locks, and what came before."""

import os

import pytest

from corpora.errors import CorpusError, DamagedDatasetError, FolderInUseError
from corpora.system.writing import temporary_path
from corpora.wikipedia.download import _hold
from corpora.wikipedia.fetching import MissingError
from tests.corpora.wikipedia.download.one_dump import INDEX, NAME, PATH, names
from tests.corpora.wikipedia.dump_server import Fault


def test_several_parts_are_fetched_by_two_connections_and_no_more(server, fetch, tmp_path):
    parts = {f"klwiki-20261101-p{n}.xml.bz2": bytes([n]) * 99_000 for n in range(9)}
    server.add_run("klwiki", "20261101", parts)

    fetch()

    assert all((tmp_path / name).read_bytes() == data for name, data in parts.items())
    assert 1 <= server.most_open <= 2


def test_a_file_that_fails_ends_the_others_and_keeps_what_has_come(server, fetch, tmp_path):
    parts = {f"klwiki-20261101-p{n}.xml.bz2": bytes([n]) * 99_000 for n in range(9)}
    server.add_run("klwiki", "20261101", parts)
    del server.files["/klwiki/20261101/klwiki-20261101-p4.xml.bz2"]

    with pytest.raises(MissingError, match="p4"):
        fetch()

    assert "klwiki-20261101.lock.json" not in names(tmp_path)
    assert all(parts[n] == (tmp_path / n).read_bytes() for n in names(tmp_path) if n in parts)


def test_whole_files_are_kept_and_damaged_ones_fetched_anew(server, fetch, tmp_path):
    parts = {f"klwiki-20261101-p{n}.xml.bz2": bytes([n]) * 999 for n in range(3)}
    server.add_run("klwiki", "20261101", parts)
    before = fetch().read_bytes()
    damaged = "klwiki-20261101-p1.xml.bz2"
    (tmp_path / damaged).write_bytes(b"?" * 999)
    server.asked.clear()

    after = fetch().read_bytes()

    assert after == before
    assert [path for path, _ in server.asked if path.endswith(".bz2")] == [
        f"/klwiki/20261101/{damaged}"
    ]
    assert (tmp_path / damaged).read_bytes() == parts[damaged]


def test_what_is_whole_by_its_lock_needs_no_server(server, fetch):
    fetch()
    server.files.clear()
    server.asked.clear()

    fetch(date="20261101")

    assert server.asked == []


def test_a_lock_of_other_files_does_not_count(fetch, tmp_path):
    fetch()

    fetch(date="20261101", exclude=())

    assert (tmp_path / INDEX).read_bytes() == b"0:1:A"


def test_a_damaged_lock_is_an_error(fetch, tmp_path):
    (tmp_path / "klwiki-20261101.lock.json").write_text("{", "utf-8")

    with pytest.raises(DamagedDatasetError, match="lock"):
        fetch(date="20261101")


def test_what_came_of_a_run_that_was_made_again_is_thrown_away(server, fetch, tmp_path):
    server.faults[PATH] = [Fault(cut_after=70_000), Fault(404)]
    with pytest.raises(MissingError):
        fetch()
    assert len(list(tmp_path.glob(".*.partial"))) == 1
    server.add_run("klwiki", "20261101", {NAME: b"other bytes"})
    server.asked.clear()

    fetch()

    assert (tmp_path / NAME).read_bytes() == b"other bytes"
    assert server.asked_for(NAME) == [None]
    assert not list(tmp_path.glob(".*.partial"))


def test_two_downloads_into_one_folder_are_refused(fetch, tmp_path):
    with _hold(tmp_path), pytest.raises(FolderInUseError):
        fetch()


def test_too_little_room_is_an_error_before_anything_is_fetched(
    server, fetch, tmp_path, monkeypatch
):
    free = os.statvfs(tmp_path)
    full = type("Usage", (), {"free": free.f_frsize})
    monkeypatch.setattr("corpora.wikipedia.download.shutil.disk_usage", lambda _: full)

    with pytest.raises(CorpusError, match="MB are free"):
        fetch()

    assert server.asked_for(NAME) == []


def test_half_a_lock_that_a_kill_left_goes_with_the_next_run(fetch, tmp_path):
    temporary_path(tmp_path / "klwiki-20261101.lock.json").touch()

    lock = fetch()

    assert names(tmp_path) == {lock.name, NAME}
