"""Bodies of responses: unpacked as they were packed, and never beyond their bound."""

import gzip
import zlib
from functools import partial
from random import Random

import brotli
import pytest

from corpora.warc.http import BodyError, parse_answer, unpack_body

PAGE = b"<!doctype html><html><p>Moor &amp; Torf</p></html>" * 50


def answer(body, *headers):
    lines = "".join(f"{header}\r\n" for header in ("Content-Type: text/html", *headers))
    found = parse_answer(b"HTTP/1.1 200 OK\r\n" + lines.encode() + b"\r\n" + body)
    assert found is not None
    return found


def raw_deflate(data):
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


def chunked(data, size=100):
    parts = [data[start : start + size] for start in range(0, len(data), size)]
    return b"".join(b"%x;ext=1\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"


PACKED = {
    "gzip": gzip.compress(PAGE, mtime=0),
    "x-gzip": gzip.compress(PAGE, mtime=0),
    "deflate": zlib.compress(PAGE),
    "br": brotli.compress(PAGE),
    "gzip, br": brotli.compress(gzip.compress(PAGE, mtime=0)),
    "identity": PAGE,
}


@pytest.mark.parametrize(
    ("body", "fields"),
    [
        *((body, [f"Content-Encoding: {coding}"]) for coding, body in PACKED.items()),
        *(
            (PAGE, [f"Content-Encoding: {none}"])
            for none in ("utf-8", "none", "8bit", "gzip, utf-8")
        ),
        *(  # the archive has unpacked it
            (PAGE, [f"Content-Encoding: {coding}", "Transfer-Encoding: chunked"])
            for coding in ("gzip", "br", "deflate")
        ),
    ],
)
def test_a_body_is_unpacked_if_it_is_packed(body, fields):
    assert unpack_body(answer(body, *fields), max_bytes=1_000_000) == PAGE


@pytest.mark.parametrize("end", [b"\r\n", b"\n"])
@pytest.mark.parametrize("blank", [b"\r\n", b"\n"])
def test_headers_end_at_the_first_blank_line_however_lines_end(end, blank):
    body = b"<html>a\n\nb\r\n\r\nc</html>"

    found = parse_answer(b"HTTP/1.0 200 OK" + end + b"Content-Type: text/html" + end + blank + body)

    assert found is not None
    assert (found.headers, found.body) == ((("content-type", "text/html"),), body)


def test_deflate_without_its_header_is_unpacked_too():
    found = answer(raw_deflate(PAGE), "Content-Encoding: deflate")

    assert unpack_body(found, max_bytes=1_000_000) == PAGE


@pytest.mark.parametrize("cuts", [(), (500,), (1, 2, 700)])
def test_a_body_in_several_members_of_gzip_is_unpacked_as_a_whole(cuts):
    edges = zip((0, *cuts), (*cuts, len(PAGE)), strict=True)
    members = b"".join(gzip.compress(PAGE[start:end], mtime=0) for start, end in edges)

    found = answer(members + b"\0\0", "Content-Encoding: gzip")

    assert unpack_body(found, max_bytes=1_000_000) == PAGE


def test_a_body_of_many_pieces_is_unpacked():
    body = bytes(Random(1).choices(b"<p>abcdefgh", k=100_000))

    found = answer(gzip.compress(body), "Content-Encoding: gzip")

    assert unpack_body(found, max_bytes=100_000) == body


def test_chunks_are_joined():
    found = answer(
        chunked(gzip.compress(PAGE, mtime=0)),
        "Transfer-Encoding: chunked",
        "Content-Encoding: gzip",
    )

    assert unpack_body(found, max_bytes=1_000_000) == PAGE


def test_a_body_that_ends_inside_of_a_chunk_is_only_the_beginning_of_a_page():
    found = answer(chunked(PAGE, size=1_000)[:-200], "Transfer-Encoding: chunked")

    with pytest.raises(BodyError, match="inside of a chunk") as raised:
        unpack_body(found, max_bytes=1_000_000)
    assert raised.value.reason == "truncated_page"


@pytest.mark.parametrize(
    ("coding", "pack"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("br", partial(brotli.compress, quality=1)),
    ],
)
def test_a_bomb_is_rejected(coding, pack):
    found = answer(pack(b"\0" * 50_000_000), f"Content-Encoding: {coding}")

    with pytest.raises(BodyError, match="unpacked") as raised:
        unpack_body(found, max_bytes=10_000_000)
    assert raised.value.reason == "too_large"


def test_a_bomb_below_the_bound_is_rejected_by_its_ratio():
    found = answer(gzip.compress(b"\0" * 5_000_000), "Content-Encoding: gzip")

    with pytest.raises(BodyError, match="200 times"):
        unpack_body(found, max_bytes=10_000_000)


@pytest.mark.parametrize(
    ("coding", "body", "reason"),
    [
        ("gzip", gzip.compress(PAGE, mtime=0)[:20] + b"?" * 40, "damaged_body"),
        ("gzip", gzip.compress(PAGE, mtime=0)[:-9], "damaged_body"),
        ("gzip", gzip.compress(PAGE, mtime=0) + gzip.compress(PAGE)[:-9], "damaged_body"),
        ("br", brotli.compress(bytes(range(256)) * 20)[:-9], "damaged_body"),
        ("zstd", b"\x28\xb5\x2f\xfd" + PAGE, "content_encoding"),
    ],
)
def test_what_cannot_be_unpacked_has_a_reason(coding, body, reason):
    with pytest.raises(BodyError) as raised:
        unpack_body(answer(body, f"Content-Encoding: {coding}"), max_bytes=1_000_000)
    assert raised.value.reason == reason


@pytest.mark.parametrize(
    ("block", "is_page"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nx", True),
        (b"HTTP/1.1 200 OK\nContent-type: application/xhtml+xml;charset=x\n\nx", True),
        (b"HTTP/1.1 200 OK\r\nContent-Type: text/html, text/html\r\n\r\nx", True),
        (b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n<html>", False),
        (b"HTTP/1.0 200\r\nServer: x\r\n\r\n <!-- a --> <!DOCTYPE html><html>", True),
        (b"HTTP/1.0 200\r\nServer: x\r\n\r\nplain text", False),
    ],
)
def test_a_page_is_known_by_its_type_or_without_one_by_its_beginning(block, is_page):
    found = parse_answer(block)

    assert found is not None
    assert found.is_page is is_page
