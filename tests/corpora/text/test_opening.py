"""Archives: unpacked as a stream, never in part without saying so."""

import bz2
import gzip
import lzma
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.text import opening
from corpora.text.opening import TextError, archive_kind, read_chunks

PACKERS = {"gzip": gzip.compress, "bzip2": bz2.compress, "xz": lzma.compress}
TEXT = bytes(n * n % 251 for n in range(50_000))
KINDS = pytest.mark.parametrize("kind", PACKERS)


def unpack(folder, data, *, max_bytes=1 << 30, span=None):
    path = folder / "f"
    path.write_bytes(data)
    return b"".join(read_chunks(path, name="f", max_bytes=max_bytes, span=span))


@KINDS
@pytest.mark.parametrize("chunk", [1000, 1 << 20])
def test_streams_in_a_row_and_zeros_at_the_end_are_read(kind, chunk, tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "CHUNK", chunk)
    pack = PACKERS[kind]

    found = unpack(tmp_path, pack(TEXT) + pack(b"") + pack(b"end") + bytes(5))

    assert found == TEXT + b"end"
    assert archive_kind(tmp_path / "f") == kind


@KINDS
@given(where=st.floats(0, 1), size=st.sampled_from([0, 3, 50_000]))
def test_an_archive_that_is_cut_anywhere_is_an_error(kind, where, size, tmp_path_factory):
    packed = PACKERS[kind](TEXT[:size])
    end = 6 + int(where * (len(packed) - 7))  # what kind it is can still be seen

    with pytest.raises(TextError, match=r"byte \d+ unpacked") as caught:
        unpack(tmp_path_factory.mktemp("cut"), packed[:end])

    assert caught.value.reason == "truncated_archive"


@KINDS
def test_a_second_stream_that_is_damaged_is_an_error(kind, tmp_path):
    packed = PACKERS[kind](TEXT)
    damaged = packed[:40] + bytes(byte ^ 0x55 for byte in packed[40:60]) + packed[60:]

    with pytest.raises(TextError, match="leave it out") as caught:
        unpack(tmp_path, packed + damaged)

    assert caught.value.reason in {"damaged_archive", "truncated_archive"}


@KINDS
def test_what_follows_an_archive_and_is_none_is_an_error(kind, tmp_path):
    with pytest.raises(TextError) as caught:
        unpack(tmp_path, PACKERS[kind](TEXT) + b"something else")

    assert caught.value.reason == "damaged_archive"


@KINDS
def test_the_bound_is_on_what_is_unpacked(kind, tmp_path):
    packed = PACKERS[kind](bytes(1_000_000))

    assert len(unpack(tmp_path, packed, max_bytes=1_000_000)) == 1_000_000
    with pytest.raises(TextError, match="over the bound") as caught:
        unpack(tmp_path, packed, max_bytes=999_999)
    assert caught.value.reason == "too_large"


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "FREE_BYTES", 1 << 20)

    with pytest.raises(TextError, match="200 times"):
        unpack(tmp_path, bz2.compress(bytes(8 << 20)))


def test_deflate_without_an_end_is_seen_at_a_checksum(tmp_path):
    stream = zlib.compressobj(wbits=31)
    packed = stream.compress(TEXT) + stream.flush(zlib.Z_SYNC_FLUSH)

    with pytest.raises(TextError) as caught:
        unpack(tmp_path, packed)

    assert caught.value.reason == "truncated_archive"


def test_a_part_of_a_file_is_read(tmp_path):
    assert unpack(tmp_path, TEXT, span=(17, 4242)) == TEXT[17:4242]
