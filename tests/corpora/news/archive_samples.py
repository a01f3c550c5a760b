"""Archives for tests, written byte by byte."""

import gzip
import io
import sys
import zipfile
import zlib

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

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


def by_frame(records):
    return b"".join(zstd.compress(record) for record in records)


def with_dictionary(records, *, is_packed=True):
    """Pack records in frames of zstd with a dictionary, which stands before them."""
    samples = [warc_record("response", PAGE + bytes([n] * 90)) for n in range(200)]
    trained = zstd.train_dict(samples, 4_000)
    content = trained.dict_content
    head = zstd.compress(content) if is_packed else content
    frames = b"".join(zstd.compress(record, zstd_dict=trained) for record in records)
    return b"\x5d\x2a\x4d\x18" + len(head).to_bytes(4, "little") + head + frames


def wacz(records, *, method=zipfile.ZIP_STORED):
    """Put records into two archives of a WACZ, and something else before and behind them."""
    half = len(records) // 2
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as package:
        package.writestr("datapackage.json", "{}")
        package.writestr("archive/b.warc", plain(records[:half]))
        package.writestr("archive/a.warc.gz", by_record(records[half:]))
        package.writestr("pages/pages.jsonl", "{}\n")
    return file.getvalue()


FORMS = {
    "plain": plain,
    "by_record": by_record,
    "as_a_whole": as_a_whole,
    "in_blocks": in_blocks,
    "by_frame": by_frame,
    "with_dictionary": with_dictionary,
}
READABLE = FORMS | {"wacz": wacz}
