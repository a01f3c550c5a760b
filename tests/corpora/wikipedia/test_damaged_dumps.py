"""Damage costs the page that it is in, and is reported: where, what, and what to do."""

import bz2
import gzip
import lzma
import random
import re
import tracemalloc

import pytest

from corpora.document import Rejected
from corpora.wikipedia.dump import examine, read_pages
from corpora.wikipedia.pages import WikiPage

HEAD = "<mediawiki xml:lang='de'><siteinfo><dbname>kleinwiki</dbname></siteinfo>\n"
FOOT = "</mediawiki>\n"


def page(number, text="", *, title=None):
    title = f"Seite {number}" if title is None else title
    return (
        f"<page><title>{title}</title><id>{number}</id>"
        f"<revision><text>{text}</text></revision></page>\n"
    )


def noise(n_characters, *, seed=0):
    return "".join(random.Random(seed).choices("abcdefghijklmnopqrstuvwxyz  ", k=n_characters))


def read(path, *, range_bytes=1 << 30, max_page_bytes=1 << 20):
    work_directory = path.parent / "work_directory"
    dump = examine(path, range_bytes=range_bytes, work_directory=work_directory)
    options = {
        "source": path.name,
        "max_page_bytes": max_page_bytes,
        "work_directory": work_directory,
    }
    return dump, [record for range in dump.ranges for record in read_pages(path, range, **options)]


def write(folder, text, *, name="dump"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def summary(records):
    return [r.title if isinstance(r, WikiPage) else r.reason for r in records]


def reasons_of(rejected):
    return {record.reason for record in rejected}


@pytest.mark.parametrize(
    ("damaged", "reason", "message"),
    [
        (page(2, "a < b"), "malformed_xml", "page 'Seite 2' is not well-formed XML.*line 1, col"),
        (page(2, "a\x01b"), "malformed_xml", "not well-formed"),
        (page(2, "a &nbsp; b"), "malformed_xml", "undefined entity"),
        (page(2, "a <b>c</b>"), "malformed_xml", r"<b> in <text>"),
        (page(2, title=" "), "no_title", "has no title"),
        (page(2).replace("text>", "texts>"), "no_text", "no revision with a <text>"),
        (page(2).replace("<text>", "<text bytes='12'>"), "no_text", "pages-articles"),
        (page(2).replace("<text>", "<a>" * 200), "malformed_xml", "deep"),
        (page(2).replace("</page>", ""), "malformed_xml", "is not closed"),
        ("<page/>\n", "malformed_xml", "is not closed"),
        (page(2, "x" * 5000), "too_large", "page 'Seite 2' has 5,0.. bytes or more"),
    ],
)  # fmt: skip
def test_a_damaged_page_is_rejected_and_its_neighbours_are_read(damaged, reason, message, tmp_path):
    path = write(tmp_path, HEAD + page(1) + damaged + page(3) + FOOT)

    _, records = read(path, max_page_bytes=4000)

    assert summary(records) == ["Seite 1", reason, "Seite 3"]
    assert re.search(message, records[1].message)
    assert records[1].position == f"byte {len(HEAD + page(1))}"
    assert records[1].message.startswith(f"dump: {records[1].position}: ")
    assert 0 < len(records[1].excerpt) <= 200


def test_invalid_utf8_costs_one_page(tmp_path):
    xml = (HEAD + page(1) + page(2, "MARK") + page(3) + FOOT).encode()

    _, records = read(write(tmp_path, xml.replace(b"MARK", b"\xc3(")))

    assert summary(records) == ["Seite 1", "malformed_xml", "Seite 3"]
    assert "\ufffd(" in records[1].excerpt


@pytest.mark.parametrize(
    ("text", "message"),
    [(page(2).replace("<page>", ""), "lost its <page>"), ("\0" * 700, "belongs to no page")],
)
def test_text_between_pages_is_rejected(text, message, tmp_path):
    path = write(tmp_path, HEAD + page(1) + text + page(3) + FOOT)

    _, records = read(path)

    assert summary(records) == ["Seite 1", "malformed_xml", "Seite 3"]
    assert message in records[1].message


def test_dumps_written_one_behind_the_other_are_read(tmp_path):
    path = write(tmp_path, (HEAD + page(1) + FOOT) * 2)

    dump, records = read(path)

    assert dump.complete
    assert summary(records) == ["Seite 1"] * 2


def test_a_page_above_the_bound_is_not_held_in_memory(tmp_path):
    path = write(tmp_path, HEAD + page(1, "x" * 40_000_000) + page(2) + FOOT)

    tracemalloc.start()
    _, records = read(path, max_page_bytes=4_000_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert summary(records) == ["too_large", "Seite 2"]
    assert peak < 16_000_000


@pytest.mark.parametrize("pack", [bytes, bz2.compress, gzip.compress, lzma.compress])
def test_a_page_cut_off_by_the_end_of_the_dump_is_truncated(pack, tmp_path):
    xml = (HEAD + page(1) + page(2, noise(500))).encode()

    dump, records = read(write(tmp_path, pack(xml[:-100])))

    assert summary(records) == ["Seite 1", "truncated"]
    assert "page 'Seite 2' ends with the file" in records[1].message
    assert not dump.complete


def test_a_dump_may_be_cut_off_anywhere(tmp_path):
    pages = page(1), page(2, "ä")
    xml = (HEAD + "".join(pages) + FOOT).encode()
    starts = [len(HEAD), len(HEAD + pages[0])]
    ends = [start + len(one.encode()) - 1 for start, one in zip(starts, pages, strict=True)]
    for end in range(len(HEAD), len(xml)):
        path = write(tmp_path, xml[:end])

        dump, records = read(path)

        whole = [f"Seite {n}" for n, last in enumerate(ends, start=1) if last <= end]
        is_inside = any(first + 1 < end < last for first, last in zip(starts, ends, strict=True))
        assert summary(records) == whole + ["truncated"] * is_inside
        assert dump.complete == (end >= len(xml.rstrip()))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress])
def test_a_compressed_file_that_is_cut_off_is_read_up_to_there(pack, tmp_path):
    pages = [page(n, noise(2000, seed=n)) for n in range(100)]
    data = pack((HEAD + "".join(pages) + FOOT).encode())

    dump, records = read(write(tmp_path, data[: len(data) // 2]), range_bytes=20_000)

    titles, rejected = summary(records)[:-2], records[-2:]
    assert titles == [f"Seite {n}" for n in range(len(titles))]
    assert 30 < len(titles) < 60
    assert reasons_of(rejected) == {"truncated"}
    assert "end too early" in dump.why


def test_a_damaged_gzip_is_read_up_to_the_damage(tmp_path):
    pages = [page(n, noise(2000, seed=n)) for n in range(100)]
    data = bytearray(gzip.compress((HEAD + "".join(pages) + FOOT).encode()))
    data[60_000:60_100] = bytes(100)

    dump, records = read(write(tmp_path, bytes(data)), range_bytes=20_000)

    assert summary(records)[-1] == "damaged_block"
    assert "Seite 40" in summary(records)
    assert "gzip data are damaged" in records[-1].message
    assert not dump.complete


BLOCKS = "".join(page(n, noise(3000, seed=n)) for n in range(300))  # ten blocks of 100 kB
PACKED = bz2.compress((HEAD + BLOCKS + FOOT).encode(), compresslevel=1)


@pytest.mark.parametrize("byte", [101_000, 170_000, 222_222])
def test_a_damaged_bzip2_block_costs_what_is_in_it(byte, tmp_path):
    data = bytearray(PACKED)
    data[byte] ^= 0x55

    dump, records = read(write(tmp_path, bytes(data)))

    pages = {record.title for record in records if isinstance(record, WikiPage)}
    rejected = [record for record in records if isinstance(record, Rejected)]
    assert {"Seite 0", "Seite 299"} <= pages
    assert 300 - len(pages) <= 100_000 // 3000 + 3
    assert reasons_of(rejected) == {"damaged_block"}
    assert any("the bzip2 block at byte" in record.message for record in rejected)
    assert dump.complete


def test_damaged_bzip2_is_reported_alike_in_ranges_of_any_size(tmp_path):
    rng = random.Random(1)
    for number in range(3):
        data = bytearray(PACKED)
        for byte in rng.sample(range(100_000, len(data)), k=3):
            data[byte] ^= 1 << rng.randrange(8)
        path = write(tmp_path, bytes(data), name=f"dump{number}")
        whole = read(path)

        parts = read(path, range_bytes=rng.choice([40_000, 200_000, 500_000]))

        assert parts[1] == whole[1]
        assert any(isinstance(record, Rejected) for record in whole[1])


def test_a_bzip2_dump_may_be_cut_off_anywhere(tmp_path):
    rng = random.Random(2)
    for number, end in enumerate(rng.sample(range(80_000, len(PACKED)), k=8)):
        path = write(tmp_path, PACKED[:end], name=f"dump{number}")

        dump, records = read(path)

        titles = [record.title for record in records if isinstance(record, WikiPage)]
        assert titles == [f"Seite {n}" for n in range(len(titles))]
        assert records[-1].reason == "truncated"
        assert not dump.complete
        assert "ends too early" in dump.why


def test_a_bzip2_dump_that_lost_only_its_last_bytes_has_all_pages(tmp_path):
    dump, records = read(write(tmp_path, PACKED[:-6]))

    assert summary(records) == [f"Seite {n}" for n in range(300)]
    assert dump.complete


def test_a_hole_in_a_bzip2_dump_costs_the_blocks_that_it_touches(tmp_path):
    data = PACKED[:150_000] + bytes(3_000_000) + PACKED[200_000:]

    dump, records = read(write(tmp_path, data))

    pages = [record for record in records if isinstance(record, WikiPage)]
    assert len(pages) > 100
    assert records[-1] == pages[-1]
    assert pages[-1].title == "Seite 299"
    assert any(isinstance(record, Rejected) for record in records)
    assert dump.complete
