"""The archive of a crawl: others can read it, kills leave it whole, its index can be made again."""

import gzip
import io
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing

import pytest
from warcio.archiveiterator import ArchiveIterator

from corpora.crawl.archive import Archive
from corpora.crawl.archive_index import NAME, ArchiveIndex
from corpora.crawl.pace import Used
from corpora.errors import CorpusError, DamagedDatasetError, FolderInUseError
from corpora.news.pages import FetchedPage, NoPage, Revisit, read_pages
from corpora.warc.archives import ArchiveRecord, read_archive
from corpora.warc.writer import (
    Asked,
    Response,
    digest_of,
    refusal_record,
    response_record,
    revisit_record,
)
from tests.file_operations import Operation, recorded

HTML = b"<html><body><p>Hallo</p></body></html>"
PACKED = gzip.compress(HTML, mtime=0)


def asked(path="/", **changed):
    values = {
        "url": f"https://a.example{path}",
        "began": 1_795_000_000.25,
        "seconds": 0.5,
        "session": "s1",
        "site": "a",
        "kind": "page",
        "elapsed": 3.0,
        "n_bytes": 100,
    }
    return Asked(**values | changed)


def response(body=HTML, status=200, **headers):
    fields = {"Content-Type": "text/html", "Content-Length": "7", "ETag": '"1"'} | headers
    named = tuple((name.replace("_", "-"), value) for name, value in fields.items())
    return Response(status=status, reason="Fine", headers=named, body=body, address="192.0.2.1")


def page(path="/", **changed):
    return response_record(asked(path, **changed), response())


def opened(folder, session="s1", **more):
    archive = Archive(folder, **more)
    archive.begin(session, {"software": "test"})
    return archive


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "archive"


def write(folder, *records, **more):
    with opened(folder, **more) as archive:
        return [archive.add(record) for record in records]


def every(folder):
    """Return the rows of the index of session ``s1``, and what of the archive was repaired."""
    with opened(folder) as archive:
        return list(archive.index.of_session("s1")), archive.repaired


def many(n=5):
    return [page(f"/{number}") for number in range(n)]


def kinds_of_records():
    refused = refusal_record(
        asked("/slow", attempt=2, tries=3), reason="timeout", detail="too slow"
    )
    packed = response(PACKED, Content_Encoding="gzip", Transfer_Encoding="chunked")
    unchanged = response(b"", 304)
    return [
        response_record(asked("/a"), packed),
        refused,
        response_record(asked("/gone", wait=30.0), response(b"", 429)),
        revisit_record(
            asked("/a", began=1.8e9),
            unchanged,
            date="2026-11-22T10:00:00Z",
            digest=digest_of(PACKED),
        ),
    ]


def test_warcio_reads_every_record_and_finds_its_digests_right(folder):
    write(folder, *kinds_of_records())
    found = []

    with next(folder.glob("*.warc.gz")).open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            header = record.rec_headers.get_header
            body = record.content_stream().read()
            found.append((record.rec_type, header("WARC-Target-URI"), body))

    assert [kind for kind, *_ in found] == [
        "warcinfo",
        "response",
        "metadata",
        "response",
        "revisit",
    ]
    assert found[1] == ("response", "https://a.example/a", HTML)
    assert b"refused: timeout\r\ndetail: too slow" in found[2][2]


def test_the_news_reader_finds_the_page_and_nothing_that_only_looks_like_one(folder):
    write(folder, *kinds_of_records())
    [path] = folder.glob("*.warc.gz")

    found = list(read_pages(path, source="x", max_bytes=10_000))

    info, first, failed, status, revisit = found
    assert isinstance(first, FetchedPage)
    assert (first.url, first.body, first.digest) == ("https://a.example/a", HTML, digest_of(PACKED))
    assert first.fetched == "2026-11-18T11:06:40.250Z"
    assert isinstance(revisit, Revisit)
    assert revisit.digest == first.digest
    assert [info, failed, status] == [
        NoPage("record.warcinfo"),
        NoPage("record.metadata"),
        NoPage("status", "429"),
    ]


def test_what_is_read_again_is_what_was_written(folder):
    with opened(folder) as archive:
        entry = archive.add(response_record(asked("/a"), response(PACKED, Content_Encoding="gzip")))

        answer = archive.read(entry)

    assert answer.status == 200
    assert answer.body == PACKED
    assert answer.header("content-encoding") == "gzip"
    assert answer.header("content-length") == str(len(PACKED))


def test_a_header_that_a_server_wrote_over_several_lines_starts_no_field_of_ours(folder):
    nasty = "x\r\nOnoma-Mining: allowed\r\n\r\nWARC/1.1"

    entry = write(folder, refusal_record(asked(), reason="timeout", detail=nasty))[0]

    [path] = folder.glob("*.warc.gz")
    record = list(read_archive(path, max_block=1000))[1]
    assert "onoma-mining" not in record.headers
    assert entry.detail == "x Onoma-Mining: allowed WARC/1.1"


def test_the_table_made_from_the_files_is_the_one_that_was_written(folder):
    entries = write(folder, *kinds_of_records())
    (folder / NAME).unlink()

    again, repaired = every(folder)

    assert again == entries
    assert repaired.is_rebuilt
    assert repaired.indexed == 4


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 100, None])
def test_a_damaged_table_is_made_again(folder, damage):
    entries = write(folder, *many())
    path = folder / NAME
    if damage is None:  # a page of it in the middle, as after a power cut
        data = bytearray(path.read_bytes())
        data[4096 : 3 * 4096] = bytes(2 * 4096)
        damage = bytes(data)
    path.write_bytes(damage)

    assert every(folder)[0] == entries


def test_a_table_that_is_behind_catches_up(folder):
    first = write(folder, *many(2))
    shutil.copy(folder / NAME, folder / "old")
    then = write(folder, page("/x"), page("/y"))
    (folder / "old").replace(folder / NAME)

    again, repaired = every(folder)

    assert again == first + then
    assert (repaired.indexed, repaired.is_rebuilt) == (2, False)


def test_a_page_of_an_older_archive_is_found_by_the_form_that_addresses_have_now(folder):
    write(folder, page("/%c3%a4"))
    with closing(sqlite3.connect(folder / NAME)) as table:
        table.execute("PRAGMA user_version = 1")

    with opened(folder, "s2") as archive:
        entry = archive.index.newest_answer("https://a.example/%C3%A4", (200,))
        assert entry is not None
        assert archive.read(entry).body == HTML
    assert archive.repaired.is_rebuilt


def test_a_table_that_turns_out_to_be_damaged_is_closed_and_made_again(folder, monkeypatch):
    entries = write(folder, *many(3))
    found, sizes = [], ArchiveIndex.sizes

    def damaged_at_first(index):
        found.append(index)
        if len(found) == 1:
            raise sqlite3.DatabaseError("database disk image is malformed")
        return sizes(index)

    monkeypatch.setattr(ArchiveIndex, "sizes", damaged_at_first)

    assert every(folder)[0] == entries
    with pytest.raises(sqlite3.ProgrammingError, match="closed"):
        sizes(found[0])


def test_a_table_of_another_archive_is_made_again(folder, tmp_path):
    write(folder, *many(3))
    entries = write(tmp_path / "other", page("/other"))
    shutil.copy(folder / NAME, tmp_path / "other" / NAME)

    assert every(tmp_path / "other")[0] == entries


def test_wherever_a_process_is_killed_all_whole_records_are_kept_and_no_more(folder, tmp_path):
    entries = write(folder, *many(3))
    [path] = folder.glob("*.warc.gz")
    data = path.read_bytes()
    end = len(data)
    begin = entries[-1].offset

    for cut in [*range(begin, begin + 12), *range(begin + 12, end, 37), end - 1]:
        copy = tmp_path / f"at-{cut}"
        shutil.copytree(folder, copy)
        (copy / path.name).write_bytes(data[:cut])
        (copy / NAME).unlink()
        kept, repaired = every(copy)
        assert kept == entries[:-1]
        assert repaired.cut_bytes == cut - begin
        assert (copy / path.name).read_bytes() == data[:begin]


def test_zeros_that_a_power_cut_leaves_at_the_end_are_cut_off(folder):
    entries = write(folder, *many(2))
    [path] = folder.glob("*.warc.gz")
    size = path.stat().st_size
    path.write_bytes(path.read_bytes() + bytes(5000))

    assert every(folder)[0] == entries
    assert path.stat().st_size == size


def test_after_a_cut_the_file_goes_on(folder):
    write(folder, *many(2))
    [path] = folder.glob("*.warc.gz")
    path.write_bytes(path.read_bytes() + gzip.compress(b"WARC/1.1\r\nhalf of it")[:-9])

    write(folder, page("/next"))

    records = list(read_archive(path, max_block=10_000))
    assert all(isinstance(record, ArchiveRecord) for record in records)
    assert [record.url[-5:] for record in records[1:]] == ["ple/0", "ple/1", "/next"]


def test_a_file_of_which_half_the_first_record_is_there_goes(folder):
    write(folder)
    (folder / "crawl-s1-00001.warc.gz").write_bytes(gzip.compress(b"WARC/1.1\r\n" * 99)[:20])

    assert write(folder, page("/a"))[0].file == "crawl-s1-00001.warc.gz"


def test_damage_in_the_middle_is_counted_and_what_follows_is_kept(folder):
    entries = write(folder, *many(3))
    [path] = folder.glob("*.warc.gz")
    data = bytearray(path.read_bytes())
    data[entries[1].offset + 40] ^= 0xFF
    path.write_bytes(bytes(data))
    (folder / NAME).unlink()

    kept, repaired = every(folder)

    assert kept == [entries[0], entries[2]]
    assert (repaired.damaged, repaired.cut_bytes) == (1, 0)


def test_a_record_that_is_not_where_the_table_says_is_an_error(folder):
    with opened(folder) as archive:
        first, second = archive.add(page("/a")), archive.add(page("/b"))
        (folder / second.file).write_bytes(b"")

        with pytest.raises(DamagedDatasetError, match=r"Take away .*index\.sqlite"):
            archive.read(first)


def test_a_file_has_an_end_and_another_goes_on(folder):
    write(folder, *many(3), roll_bytes=1500)
    entries = write(folder, page("/last"), roll_bytes=1500)

    files = sorted(path.name for path in folder.glob("*.warc.gz"))
    assert files == [f"crawl-s1-0000{number}.warc.gz" for number in (1, 2)]
    assert entries[0].file == files[-1]
    for name in files:
        first = next(iter(read_archive(folder / name, max_block=1000)))
        assert first.kind == "warcinfo"
        assert first.headers["warc-filename"] == name


def test_files_beyond_five_digits_are_in_the_order_of_their_numbers(folder):
    write(folder, page("/a"))
    first = folder / "crawl-s1-00001.warc.gz"
    for number in (99_999, 100_000):
        shutil.copyfile(first, folder / f"crawl-s1-{number}.warc.gz")
    (folder / NAME).unlink()

    entries = write(folder, page("/b"), roll_bytes=1)

    assert [entry.file for entry in entries] == ["crawl-s1-100001.warc.gz"]
    with opened(folder) as archive:
        numbers = [int(path.name.split("-")[2].split(".")[0]) for path in archive.files()]
    assert numbers == [1, 99_999, 100_000, 100_001]


def test_a_session_whose_name_begins_as_that_of_another_has_files_of_its_own(folder):
    write(folder, page("/a", session="s1-b"), session="s1-b")

    [entry] = write(folder, page("/b"))

    assert entry.file == "crawl-s1-00001.warc.gz"


def test_sessions_have_files_of_their_own(folder):
    write(folder, page("/a"))
    write(folder, page("/b", session="s2"), session="s2")

    with opened(folder) as archive:
        assert [e.url[-1] for s in ("s1", "s2") for e in archive.index.of_session(s)] == ["a", "b"]
        assert archive.index.newest("https://a.example/b", session="s1") is None
        assert archive.index.newest_answer("https://a.example/b", (200,)).session == "s2"


def test_what_a_site_used_is_known_again(folder):
    records = [page("/a"), page("/a", elapsed=7.0), page("/b", kind="feed"), page("/c", site="b")]
    write(folder, *records)

    with opened(folder) as archive:
        assert archive.index.used("s1", "a") == Used(pages=1, bytes=300, seconds=7.0)
        assert archive.index.used("s1", "none") == Used()


def test_a_full_disk_leaves_no_half_record(folder, monkeypatch):
    with opened(folder) as archive:
        archive.add(page("/a"))
        with monkeypatch.context() as patched:
            patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "full")))
            with pytest.raises(OSError, match="full"):
                archive.add(page("/b"))
        archive.add(page("/c"))

    entries, repaired = every(folder)
    assert [entry.url[-1] for entry in entries] == ["a", "c"]
    assert repaired.cut_bytes == 0


def test_a_table_that_cannot_be_written_stops_the_crawl_and_loses_nothing(folder, monkeypatch):
    with opened(folder) as archive:
        archive.add(page("/a"))
        with monkeypatch.context() as patched:
            error = sqlite3.OperationalError("database or disk is full")
            patched.setattr(ArchiveIndex, "add", lambda *_, **__: (_ for _ in ()).throw(error))
            with pytest.raises(CorpusError, match="Is the disk full"):
                archive.add(page("/b"))
        archive.add(page("/c"))

    assert [entry.url[-1] for entry in every(folder)[0]] == ["a", "c"]


def test_two_processes_cannot_write(folder):
    code = (
        "import sys; from pathlib import Path; from corpora.crawl.archive import Archive\n"
        "with Archive(Path(sys.argv[1])): print('held', flush=True); sys.stdin.read()"
    )
    command = [sys.executable, "-c", code, str(folder)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout.readline() == "held\n"

        with pytest.raises(FolderInUseError, match="another crawl works here"), Archive(folder):
            pass

        process.kill()
    with Archive(folder):
        pass


def test_a_name_of_a_session_is_a_name_of_a_file(folder):
    with pytest.raises(CorpusError, match="no name of a session"):
        opened(folder, session="../x")


def test_the_block_of_a_record_is_the_answer_byte_for_byte(folder):
    write(folder, response_record(asked("/a"), response(PACKED, Content_Encoding="gzip")))
    [path] = folder.glob("*.warc.gz")
    members = []
    stream = io.BytesIO(path.read_bytes())
    with gzip.GzipFile(fileobj=stream) as file:
        members = file.read().split(b"WARC/1.1\r\n")

    head = (
        b"HTTP/1.1 200 Fine\r\nContent-Type: text/html\r\nContent-Length: %d\r\n"
        b'ETag: "1"\r\nContent-Encoding: gzip\r\n\r\n' % len(PACKED)
    )
    assert members[2].partition(b"\r\n\r\n")[2] == head + PACKED + b"\r\n\r\n"


def test_a_file_that_a_kill_left_empty_goes(folder):
    folder.mkdir()
    (folder / "crawl-s9-00001.warc.gz").touch()
    with Archive(folder) as archive:
        assert not (folder / "crawl-s9-00001.warc.gz").exists()
        assert archive.repaired.cut_bytes == 0


def test_a_record_is_on_the_disk_when_it_is_added(folder):
    with opened(folder) as archive:
        archive.add(page("/1"))
        with recorded(folder) as operations:
            archive.add(page("/2"))

    [path] = folder.glob("crawl-*.warc.gz")
    assert Operation("fsync", path) in operations


def test_a_new_file_has_its_name_for_good_before_its_first_record_is_known(folder):
    with opened(folder) as archive, recorded(folder) as operations:
        archive.add(page("/1"))

    [path] = folder.glob("crawl-*.warc.gz")
    steps = [operation for operation in operations if operation.path in {path, folder}]
    assert [step.name for step in steps] == ["open", "fsync", "fsync", "fsync"]
    assert [step.path for step in steps[1:]] == [path, folder, path]
