"""Archives for tests, written byte by byte."""

import gzip
import zlib

PAGE = b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"


def warc_record(kind, block, *, url="https://a.example/", date="2026-11-01T12:00:00Z", **headers):
    """Return a record of WARC."""
    named = {
        "WARC-Type": kind,
        "WARC-Record-ID": "<urn:uuid:00000000-0000-0000-0000-000000000000>",
        "WARC-Date": date,
        "WARC-Target-URI": url,
        **{name.replace("_", "-"): value for name, value in headers.items()},
        "Content-Length": str(len(block)),
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return b"WARC/1.0\r\n" + head.encode() + b"\r\n" + block + b"\r\n\r\n"


def arc_record(block, *, url="https://a.example/", date="20261101120000", type="text/html"):
    """Return a record of ARC."""
    return f"{url} 192.0.2.1 {date} {type} {len(block)}\n".encode() + block + b"\n"


def plain(records):
    return b"".join(records)


def by_record(records):
    return b"".join(gzip.compress(record, mtime=0) for record in records)


def as_a_whole(records):
    return gzip.compress(b"".join(records), mtime=0)


def in_blocks(records, *, size=700):
    """Pack records in gzip members that begin anywhere, as parallel packers do."""
    data = b"".join(records)
    pieces = [data[start : start + size] for start in range(0, len(data), size)]
    return b"".join(gzip.compress(piece, mtime=0) for piece in pieces)


def stored(record):
    """Return a gzip member whose bytes are not packed: what is inside can be found in it."""
    packer = zlib.compressobj(0, zlib.DEFLATED, 16 + zlib.MAX_WBITS)
    return packer.compress(record) + packer.flush()


FORMS = {
    "plain": plain,
    "by_record": by_record,
    "as_a_whole": as_a_whole,
    "in_blocks": in_blocks,
}
