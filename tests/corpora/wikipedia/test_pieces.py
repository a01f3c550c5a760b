"""Files that can only be read from their beginning are cut once; only whole pieces are used."""

import gzip
import os
import random

import pyarrow as pa
import pytest

from corpora.errors import CorpusError, InputChangedError
from corpora.system.files import sha256_of
from corpora.wikipedia.pieces import cut_pieces, open_pieces

TEXT = b"".join(b"%d windmills\n" % n for n in range(20_000))


@pytest.fixture
def dump(tmp_path):
    path = tmp_path / "dump.xml.gz"
    path.write_bytes(gzip.compress(TEXT))
    return path


def cut(dump, *, piece_bytes=100_000, sha256=None):
    work_directory = dump.parent / "work_directory"
    return cut_pieces(
        dump,
        container="gzip",
        work_directory=work_directory,
        piece_bytes=piece_bytes,
        sha256=sha256,
    )


def text_of(source, start=0, end=1 << 30):
    return b"".join(chunk.data for chunk in source.chunks(start, end) if chunk.own)


def times(folder):
    return {file.name: file.stat().st_mtime_ns for file in folder.iterdir()}


def test_pieces_together_are_the_text(dump):
    pieces = cut(dump)

    assert text_of(pieces) == TEXT
    assert len(times(pieces.folder)) == len(TEXT) // 100_000 + 2  # the last piece, and the index


@pytest.mark.parametrize(("start", "end"), [(0, 1), (99_999, 100_001), (150_000, 250_001)])
def test_any_range_can_be_read(start, end, dump):
    pieces = cut(dump)

    assert text_of(pieces, start, end) == TEXT[start:end]


def test_what_is_cut_is_not_cut_again(dump):
    before = times(cut(dump).folder)

    pieces = cut(dump, piece_bytes=7_000)

    assert times(pieces.folder) == before


@pytest.mark.parametrize(
    ("name", "n_bytes"),
    [("index.json", None), *(("piece-00001.zst", n_bytes) for n_bytes in (None, 0, 50))],
)
def test_pieces_that_are_missing_or_shorter_than_they_were_are_made_again(name, n_bytes, dump):
    path = cut(dump).folder / name
    path.unlink() if n_bytes is None else os.truncate(path, n_bytes)

    with pytest.raises(CorpusError, match="Run again"):
        text_of(open_pieces(dump, work_directory=dump.parent / "work_directory"))

    assert text_of(cut(dump)) == TEXT


@pytest.mark.parametrize("name", ["piece-00001.zst", "index.json"])
def test_no_flipped_bit_is_read(name, dump):
    folder = cut(dump).folder
    whole = (folder / name).read_bytes()
    rng = random.Random(1)
    for place in rng.sample(range(len(whole)), 25):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << rng.randrange(8)
        (folder / name).write_bytes(flipped)

        with pytest.raises(CorpusError, match="Run again"):
            text_of(open_pieces(dump, work_directory=dump.parent / "work_directory"))

    assert text_of(cut(dump)) == TEXT


def test_a_piece_that_is_too_short_inside_is_no_endless_loop(dump):
    pieces = cut(dump)
    short = pieces.folder / "piece-00000.zst"
    with pa.output_stream(str(short), compression="zstd") as file:
        file.write(TEXT[:1000])
    pieces.index.pieces[0] = sha256_of(short)

    with pytest.raises(CorpusError, match="Run again"):
        text_of(pieces)


def test_another_file_of_the_same_size_and_time_is_cut_again(dump):
    dump.write_bytes(gzip.compress(TEXT, 0, mtime=0))
    before = dump.stat()
    cut(dump)
    dump.write_bytes(gzip.compress(TEXT.upper(), 0, mtime=0))
    os.utime(dump, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert dump.stat().st_size == before.st_size

    assert text_of(cut(dump)) == TEXT.upper()


def test_a_file_that_is_another_than_was_planned_is_not_cut(dump):
    with pytest.raises(InputChangedError, match="has changed"):
        cut(dump, sha256="0" * 64)


def test_a_file_that_has_changed_is_cut_anew(dump):
    cut(dump)
    dump.write_bytes(gzip.compress(TEXT.upper()))

    with pytest.raises(CorpusError, match="has changed"):
        open_pieces(dump, work_directory=dump.parent / "work_directory")

    assert text_of(cut(dump)) == TEXT.upper()


def test_what_an_interrupted_run_left_is_thrown_away(dump):
    folder = cut(dump).folder
    (folder / "index.json").unlink()
    (folder / "piece-00077.zst").write_bytes(b"left over")

    pieces = cut(dump)

    assert "piece-00077.zst" not in times(pieces.folder)
