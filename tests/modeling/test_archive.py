"""Archives: one file, always with the same bytes; nothing in it is trusted."""

import errno
import json
import stat
import warnings
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from modeling.export.__main__ import main
from modeling.taggers.archive import (
    CHECKSUMS,
    ArchiveError,
    _check_name,
    files_in,
    opened,
    pack,
    unpack,
)
from modeling.taggers.encoder import Encoder
from modeling.taggers.tagger import Tagger

TEXT = "ich war bei Anna und in Bad Berg ."


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    (made / "inner").mkdir(parents=True)
    (made / "weights").write_bytes(bytes(range(256)) * 50)
    (made / "inner" / "names.txt").write_text("Ulm\n")
    (made / ".lock").write_text("1")
    return made


def make(path, entries, *, listed=None, attributes=0o100644 << 16, compression=0):
    """Make a zip of (name, content), with true checksums or with those of ``listed``."""
    import hashlib

    hashes = {name: hashlib.sha256(content).hexdigest() for name, content in entries}
    with zipfile.ZipFile(path, "w", compression) as made:
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr, info.compress_type = attributes, compression
            made.writestr(info, content)
        text = json.dumps({"version": 1, "sha256": hashes if listed is None else listed})
        made.writestr(CHECKSUMS, text, compress_type=zipfile.ZIP_STORED)
    return path


def test_what_is_packed_is_unpacked(folder, tmp_path):
    pack(files_in(folder), tmp_path / "a.onoma")
    unpack(tmp_path / "a.onoma", tmp_path / "again")

    assert {n: p.read_bytes() for n, p in files_in(tmp_path / "again").items()} == {
        n: p.read_bytes() for n, p in files_in(folder).items()
    }
    assert "inner/names.txt" in files_in(tmp_path / "again")
    assert not (tmp_path / "again" / ".lock").exists()


def test_a_full_disk_is_an_error_that_names_the_archive(folder, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(zipfile.ZipFile, "writestr", full)

    with pytest.raises(OSError, match=r"No space left on device: .*a\.onoma"):
        pack(files_in(folder), tmp_path / "a.onoma")


def test_the_same_files_make_the_same_bytes(folder, tmp_path):
    files = files_in(folder)
    pack(files, tmp_path / "one")
    (folder / "weights").touch()
    (folder / "weights").chmod(0o600)
    pack(dict(reversed(files.items())), tmp_path / "other")

    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()


@pytest.mark.parametrize(
    "name",
    ["../out", "/out", "a/../../out", "a//b", "./a", "a\\..\\b", "C:out", "a/", "", "..", "a\nb"],
)
def test_nothing_is_written_beside_the_folder(tmp_path, name):
    archive = make(tmp_path / "evil.zip", [("good", b"1"), (name, b"2")])
    target = tmp_path / "in" / "side"
    target.mkdir(parents=True)

    with pytest.raises(ArchiveError):
        unpack(archive, target)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [archive]


@given(st.text(max_size=12))
def test_a_name_that_is_allowed_stays_inside(name):
    try:
        _check_name(name, where=Path("archive"))
    except ArchiveError:
        return

    root = Path("/elsewhere/folder")
    assert root in (root / name).resolve().parents


def test_a_link_is_no_file(tmp_path):
    archive = make(
        tmp_path / "a", [("link", b"/etc/passwd")], attributes=(stat.S_IFLNK | 0o777) << 16
    )

    with pytest.raises(ArchiveError, match="no plain file"):
        unpack(archive, tmp_path / "in")


def test_what_grows_when_it_is_unpacked_is_refused(tmp_path):
    archive = make(tmp_path / "a", [("zeros", bytes(10**6))], compression=zipfile.ZIP_DEFLATED)

    with pytest.raises(ArchiveError, match="stored as it is"):
        unpack(archive, tmp_path / "in")


@pytest.mark.parametrize("listed", [{}, {"a": "0" * 64}, {"a": "0" * 64, "b": "0" * 64}])
def test_files_that_are_not_as_listed_are_refused(tmp_path, listed):
    archive = make(tmp_path / "archive", [("a", b"1")], listed=listed)

    with pytest.raises(ArchiveError):
        unpack(archive, tmp_path / "in")


def test_a_damaged_byte_is_found(folder, tmp_path):
    archive = tmp_path / "a.onoma"
    pack(files_in(folder), archive)
    damaged = bytearray(archive.read_bytes())
    damaged[200] ^= 1
    archive.write_bytes(damaged)

    with pytest.raises(ArchiveError):
        unpack(archive, tmp_path / "in")


@pytest.mark.parametrize("content", [b"", b"no zip", b"PK\x05\x06" + bytes(18)])
def test_what_is_no_archive_is_an_error(tmp_path, content):
    (tmp_path / "a").write_bytes(content)

    with pytest.raises(ArchiveError):
        opened(tmp_path / "a")


def test_a_list_that_grows_or_stands_there_twice_is_refused(tmp_path):
    listed = json.dumps({"version": 1, "sha256": {}, "more": " " * 10**6})
    for name, times, kind in (("grows", 1, zipfile.ZIP_DEFLATED), ("twice", 2, zipfile.ZIP_STORED)):
        with zipfile.ZipFile(tmp_path / name, "w", kind) as made, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of zipfile, about the same name
            for _ in range(times):
                made.writestr(CHECKSUMS, listed)

        with pytest.raises(ArchiveError, match="one list of checksums"):
            unpack(tmp_path / name, tmp_path / "in")


def test_a_list_that_is_no_mapping_is_an_error(tmp_path):
    archive = make(tmp_path / "a", [("x", b"1")], listed=[[1, 2]])

    with pytest.raises(ArchiveError, match="no list of checksums"):
        unpack(archive, tmp_path / "in")


def test_a_file_called_as_the_list_is_not_packed(folder, tmp_path):
    (folder / CHECKSUMS).write_text("{}")

    with pytest.raises(ArchiveError, match="has its own"):
        pack(files_in(folder), tmp_path / "a")
    assert not (tmp_path / "a").exists()


def test_a_tagger_from_an_archive_finds_the_same(tagger_run, tmp_path):
    archive = tmp_path / "sturm.onoma"
    assert main([str(tagger_run), "--archive", str(archive)]) == 0

    packed = Tagger.load(archive)

    assert packed(TEXT) == Tagger.load(tagger_run)(TEXT)
    assert packed(TEXT)


def test_an_archive_is_unpacked_once_until_it_changes(tmp_path):
    archive = make(tmp_path / "a", [("x", b"1")])
    first, again = opened(archive), opened(archive)

    archive.unlink()
    make(archive, [("x", b"23")])

    assert again == first
    assert (opened(archive) / "x").read_bytes() == b"23"
    assert (first / "x").read_bytes() == b"1"


def test_a_gazetteer_is_carried_too(tmp_path, ner, bases, finetune):
    run = tmp_path / "run"
    assert finetune(run, ner, bases / "plain", epochs=1, augment_lexicon="train") == 0
    assert main([str(run), "--archive", str(tmp_path / "a.onoma")]) == 0

    packed = Tagger.load(tmp_path / "a.onoma")

    assert packed.gazetteer is not None
    assert packed(TEXT) == Tagger.load(run)(TEXT)


def test_an_encoder_from_an_archive_is_the_same(bases, tmp_path):
    archive = tmp_path / "first.onoma"
    assert main([str(bases / "entities"), "--archive", str(archive)]) == 0

    [packed] = Encoder.load(archive).words([TEXT])

    [words] = Encoder.load(bases / "entities").words([TEXT])
    assert (packed.vectors == words.vectors).all()


def test_the_same_run_makes_the_same_archive(tagger_run, tmp_path):
    for name in ("one", "other"):
        assert main([str(tagger_run), "--archive", str(tmp_path / name)]) == 0

    assert (tmp_path / "one").read_bytes() == (tmp_path / "other").read_bytes()
