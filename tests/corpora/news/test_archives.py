"""Records of archives: all of them in every form, in parts, and around damage."""

import io
import random
import zipfile
import zlib
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator

from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.news.pages import FetchedPage, read_pages
from corpora.warc.archives import ArchiveRecord, Damaged, ranges_of, read_archive
from tests.corpora.news.archive_samples import (
    FORMS,
    PAGE,
    READABLE,
    arc_record,
    by_record,
    plain,
    stored,
    wacz,
    warc_record,
    with_dictionary,
)

BLOCKS = st.lists(st.binary(max_size=2_000), min_size=1, max_size=12)
FEW = settings(max_examples=25)


def archive(folder, data, name="a.warc"):
    path = folder / name
    path.write_bytes(data)
    return path


def read(path, **more):
    return list(read_archive(path, max_block=1 << 20, **more))


def blocks_of(found):
    return [record.block for record in found if isinstance(record, ArchiveRecord)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("archives")


@pytest.mark.parametrize("form", READABLE)
@FEW
@given(blocks=BLOCKS)
def test_every_record_is_read_in_every_form(folder, form, blocks):
    path = archive(folder, READABLE[form]([warc_record("response", block) for block in blocks]))

    found = read(path)

    assert blocks_of(found) == blocks
    assert not [record for record in found if isinstance(record, Damaged)]


@pytest.mark.parametrize("form", ["plain", "by_record", "with_dictionary", "wacz"])
@FEW
@given(blocks=BLOCKS, range_bytes=st.integers(1, 3_000))
def test_parts_hold_each_record_once(folder, form, blocks, range_bytes):
    path = archive(folder, READABLE[form]([warc_record("response", block) for block in blocks]))

    parts = list(ranges_of(path, range_bytes=range_bytes))

    found = [read(path, start=start, end=end) for start, end, _ in parts]
    assert [block for part in found for block in blocks_of(part)] == blocks
    assert [len(part) for part in found] == [n for _, _, n in parts]


def test_a_dictionary_that_is_not_packed_itself_is_read(tmp_path):
    data = with_dictionary([warc_record("response", PAGE)], is_packed=False)

    assert blocks_of(read(archive(tmp_path, data))) == [PAGE]


def test_ends_of_lines_with_a_carriage_return_too_many_end_headers(tmp_path):
    head, block = warc_record("response", PAGE).split(b"\r\n\r\n", maxsplit=1)
    record = head.replace(b"\r\n", b"\r\r\n") + b"\r\r\n\r\r\n" + block

    found = read(archive(tmp_path, record * 2))

    assert blocks_of(found) == [PAGE, PAGE]


@pytest.mark.parametrize(
    "data",
    [
        b"\xfd7zXZ\0" + bytes(100),
        b"BZh9" + bytes(100),
        b"PK\x03\x04" + bytes(100),
        wacz([], method=zipfile.ZIP_DEFLATED),
    ],
)
def test_a_file_that_must_be_unpacked_is_an_error(data, tmp_path):
    path = archive(tmp_path, data)

    with pytest.raises(UsageError, match=r"a\.warc: is .* (xz|bzip2) -d|unzip a\.warc"):
        list(ranges_of(path, range_bytes=1))


@FEW
@given(blocks=st.lists(st.binary(min_size=1, max_size=500), min_size=2, max_size=6), data=st.data())
def test_a_wrong_byte_costs_one_record_of_those_that_are_packed_alone(folder, blocks, data):
    packed = by_record([warc_record("response", block) for block in blocks])
    at = data.draw(st.integers(0, len(packed) - 1))
    wrong = packed[:at] + bytes([packed[at] ^ 0x55]) + packed[at + 1 :]

    found = read(archive(folder, wrong))

    kept = blocks_of(found)
    assert Counter(kept) <= Counter(blocks)
    assert len(kept) >= len(blocks) - 1
    assert len(found) == len(blocks)


@pytest.mark.parametrize("separator", ["\u2028", "\x85", "\x0b", "\x1c", "\r"])
def test_only_line_ends_begin_another_field_of_a_header(folder, separator):
    value = f"reserved; /a{separator}Content-Length: 3{separator}WARC-Type: metadata"

    [found] = read(archive(folder, warc_record("response", PAGE, Onoma_Mining=value)))

    assert isinstance(found, ArchiveRecord)
    assert (found.kind, found.block) == ("response", PAGE)
    assert found.headers["onoma-mining"] == value


def test_where_a_damaged_record_stood_is_reported(folder):
    records = [warc_record("response", PAGE + bytes([n]) * 300) for n in (65, 66, 67)]
    members = [by_record([record]) for record in records]
    middle = members[1][:60] + b"\0\0\0" + members[1][63:]

    found = read(archive(folder, members[0] + middle + members[2]))

    assert [type(record) for record in found] == [ArchiveRecord, Damaged, ArchiveRecord]
    assert found[1].place == str(len(members[0]))
    assert found[1].reason == "damaged_archive"


@pytest.mark.parametrize(
    "wrong", [b"Content-Length: 9", b"Content-Length: 90000", b"Content-Length: x"]
)
def test_a_wrong_length_costs_one_record(folder, wrong):
    records = [warc_record("response", bytes([n]) * 100) for n in (65, 66, 67)]
    records[1] = records[1].replace(b"Content-Length: 100", wrong)

    for form in (plain, by_record):
        found = read(archive(folder, form(records)))

        assert blocks_of(found) == [b"A" * 100, b"C" * 100]
        assert len(found) == 3


def test_a_file_that_is_cut_loses_its_last_record_alone(folder):
    records = [warc_record("response", bytes([n]) * 1_000) for n in (65, 66)]
    for form in FORMS.values():
        data = form(records)

        found = read(archive(folder, data[:-20]))

        assert isinstance(found[-1], Damaged)
        assert found[-1].reason in ("truncated_archive", "truncated_record")
        assert blocks_of(found) in ([b"A" * 1_000], [])
    for n in (1, 8, 10):
        found = read(archive(folder, plain(records)[: len(plain(records[:1])) + n]))

        assert blocks_of(found) == [b"A" * 1_000]
        assert [record.reason for record in found[1:]] == ["bad_header"]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("ratio", [0.2, 0.4, 0.6, 0.8, 0.97])
def test_a_file_that_is_cut_gives_every_record_that_was_whole(folder, form, ratio):
    rng = random.Random(1)
    blocks = [rng.randbytes(1_500) for _ in range(12)]
    records = [warc_record("response", block) for block in blocks]
    packed = FORMS[form](records)
    cut_off = packed[: int(len(packed) * ratio)]
    n_there = sum(1 for block in blocks if block in unpacked(cut_off))

    found = read(archive(folder, cut_off))

    assert blocks_of(found) == blocks[:n_there]
    assert [record.reason for record in found[n_there:]] in (
        ["truncated_archive"],
        ["truncated_record"],
    )


def unpacked(data):
    """Unpack gzip members as far as possible; the last one may be cut."""
    if not data.startswith(b"\x1f\x8b"):
        return data
    whole = b""
    while data:
        stream = zlib.decompressobj(16 + zlib.MAX_WBITS)
        whole += stream.decompress(data)
        data = stream.unused_data
    return whole


def test_an_archive_inside_of_an_archive_is_not_read(folder):
    inner = by_record([warc_record("response", b"inner")])
    outer = [stored(warc_record("response", inner)), by_record([warc_record("response", b"last")])]
    path = archive(folder, b"".join(outer))

    found = read(path)

    assert blocks_of(found) == [inner, b"last"]
    assert [n for *_, n in ranges_of(path, range_bytes=1) if n] == [1, 1]


def test_a_page_of_which_the_archive_has_only_the_beginning_is_rejected(folder):
    records = [
        warc_record("response", PAGE + b"<p>Ein halber Satz", WARC_Truncated="length"),
        warc_record("response", PAGE + b"<p>Ein ganzer Satz."),
    ]

    cut_off, whole = read_pages(archive(folder, plain(records)), source="a.warc", max_bytes=1 << 20)

    assert isinstance(cut_off, Rejected)
    assert (cut_off.reason, cut_off.position) == ("truncated_page", "byte 0")
    assert "WARC-Truncated: length" in cut_off.message
    assert isinstance(whole, FetchedPage)


def test_only_the_first_bytes_of_a_block_are_kept(folder):
    path = archive(folder, by_record([warc_record("response", b"x" * 100_000)]))

    [record] = read_archive(path, max_block=10)

    assert (record.block, record.length) == (b"x" * 10, 100_000)


def test_arc_is_read_like_warc(folder):
    records = [
        arc_record(
            b"1 0 X\nURL IP-address Archive-date\n", url="filedesc://a.arc", type="text/plain"
        ),
        arc_record(PAGE + b"one"),
        arc_record(PAGE + b"two", url="https://a.example/with space"),
    ]
    for form in (plain, by_record):
        found = read(archive(folder, form(records)))

        assert [record.kind for record in found] == ["filedesc", "response", "response"]
        assert found[2].url == "https://a.example/with space"
        assert found[1].date == "2026-11-01T12:00:00Z"
        assert found[2].block == PAGE + b"two"


@pytest.mark.parametrize(
    "data", [b"", b"Dear Sir,\n\nthis is a letter.\n", b"\x1f\x8b\x08 no gzip"]
)
def test_what_is_no_archive_is_reported(folder, data):
    [found] = read(archive(folder, data))

    assert isinstance(found, Damaged)
    assert found.place == "0"


@pytest.mark.parametrize("form", ["plain", "by_record"])
def test_warcio_reads_the_same(form):
    blocks = [b"one", b"", PAGE + b"three"]
    data = FORMS[form]([warc_record("response", block) for block in blocks])

    records = ArchiveIterator(io.BytesIO(data), no_record_parse=True)

    assert [record.raw_stream.read() for record in records] == blocks


@pytest.mark.realdata
def test_real_archives_have_the_records_that_warcio_finds(realdata):
    for path in sorted(realdata("warc").glob("*.gz")):
        with path.open("rb") as file:
            records = ArchiveIterator(file, no_record_parse=True)
            expected = [(record.rec_type, len(record.raw_stream.read())) for record in records]

        found = read(path)

        assert [(record.kind, record.length) for record in found] == expected
