"""Writing of WARC 1.1 records (ISO 28500:2017), each as a gzip member of its own.

The body is written as it was sent, in its ``Content-Encoding``. Chunks are joined, and the header
``Transfer-Encoding`` is kept under another name. There are no ``request`` records: all requests are
alike but for the URL, and the ``warcinfo`` record has the ``User-Agent``. The decisions of the
crawler are in the fields ``Onoma-…``:

- ``Onoma-Session``, ``-Site``, ``-Kind``, ``-Depth``, ``-Attempt``: the request
- ``Onoma-Robots``: ``allow``, with the delay, or why there are no rules
- ``Onoma-Mining``: ``reserved``, ``allowed`` or ``unreserved``, and the reason
- ``Onoma-Seconds``: seconds from the request to the end of the answer
- ``Onoma-Elapsed``: seconds that the session has spent on the site
- ``Onoma-Bytes``: bytes of the body, as sent
- ``Onoma-Wait``: seconds that the host asked to wait
- ``Onoma-Refused``: in a ``metadata`` record, the reason for which there is no usable answer
"""

import gzip
import hashlib
import re
import time
import uuid
from base64 import b32encode
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from corpora.warc.http import Answer

_NO_TEXT = re.compile(r"[\x00-\x1f\x7f]+")
_LONGEST = 4096
_HTTP = "application/http;msgtype=response"
NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A request with its time, its purpose, and the decisions made before it."""

    url: str
    began: float
    """The time of the request, in seconds since 1970."""
    seconds: float = 0.0
    """The seconds until the end of the answer."""
    session: str = ""
    site: str = ""
    kind: str = ""
    depth: int = 0
    attempt: int = 1
    tries: int = 1
    """The number of attempts that are allowed."""
    robots: str = ""
    mining: str = ""
    elapsed: float = 0.0
    """The seconds that the session has spent on the site."""
    n_bytes: int = 0
    wait: float | None = None

    def fields(self) -> dict[str, str]:
        """Return the fields ``Onoma-…`` of the record."""
        names = ("session", "site", "kind", "depth", "robots", "mining")
        return {
            **{f"Onoma-{name.title()}": str(getattr(self, name)) for name in names},
            "Onoma-Attempt": f"{self.attempt}/{self.tries}",
            "Onoma-Seconds": f"{self.seconds:.3f}",
            "Onoma-Elapsed": f"{self.elapsed:.3f}",
            "Onoma-Bytes": str(self.n_bytes),
            "Onoma-Wait": "" if self.wait is None else f"{self.wait:.3f}",
        }


@dataclass(frozen=True, slots=True)
class WarcRecord:
    """A record that is to be written."""

    headers: dict[str, str]
    block: bytes

    @property
    def lowered(self) -> dict[str, str]:
        """The headers with names in lower case, as a reader returns them."""
        return {name.lower(): value for name, value in self.headers.items()}

    def packed(self) -> bytes:
        """Pack the record as a gzip member."""
        lines = ["WARC/1.1", *(f"{name}: {value}" for name, value in self.headers.items())]
        head = "\r\n".join([*lines, "", ""]).encode()
        return gzip.compress(head + self.block + b"\r\n\r\n", compresslevel=6)


@dataclass(frozen=True, kw_only=True)
class Response:
    """An HTTP response as received."""

    status: int
    reason: str = ""
    version: str = "1.1"
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    """The body as sent, in its ``Content-Encoding``, but with chunks joined."""
    address: str = ""

    def answer(self) -> Answer:
        """Return the response as it is read from an archive."""
        headers = ((name.lower(), value) for name, value in self.headers)
        kept = tuple(pair for pair in headers if pair[0] != "transfer-encoding")
        return Answer(self.status, kept, self.body)


def date_of(seconds: float) -> str:
    """Format seconds since 1970 as a date of WARC 1.1, with milliseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")[:-6] + "Z"


def response_record(asked: Asked, response: Response) -> WarcRecord:
    """Make a ``response`` record."""
    head = _head(response)
    fields = {
        "WARC-IP-Address": response.address,
        "WARC-Payload-Digest": digest_of(response.body),
        "Content-Type": _HTTP,
    }
    return _record("response", head + response.body, asked, fields=fields)


def revisit_record(asked: Asked, response: Response, *, date: str, digest: str) -> WarcRecord:
    """Make a ``revisit`` record: nothing has changed since ``date``."""
    fields = {
        "WARC-IP-Address": response.address,
        "WARC-Profile": NOT_MODIFIED,
        "WARC-Refers-To-Target-URI": asked.url,
        "WARC-Refers-To-Date": date,
        "WARC-Payload-Digest": digest,
        "Content-Type": _HTTP,
    }
    return _record("revisit", _head(response), asked, fields=fields)


def refusal_record(asked: Asked, *, reason: str, detail: str) -> WarcRecord:
    """Make a ``metadata`` record: a request got no answer that can be used."""
    block = f"refused: {reason}\r\ndetail: {_line(detail)}\r\n".encode()
    fields = {"Content-Type": "application/warc-fields", "Onoma-Refused": reason}
    return _record("metadata", block, asked, fields=fields)


def info_record(*, filename: str, about: Mapping[str, str]) -> WarcRecord:
    """Make the ``warcinfo`` record that a file begins with."""
    block = "".join(f"{name}: {_line(value)}\r\n" for name, value in about.items()).encode()
    fields = {"WARC-Filename": filename, "Content-Type": "application/warc-fields"}
    return _record("warcinfo", block, Asked(url="", began=time.time()), fields=fields)


def digest_of(body: bytes) -> str:
    """Compute the digest of a body, as archives write it: SHA-1 in Base32."""
    sha1 = hashlib.sha1(body, usedforsecurity=False).digest()
    return f"sha1:{b32encode(sha1).decode('ascii')}"


def _head(response: Response) -> bytes:
    lines = [f"HTTP/{response.version} {response.status} {_line(response.reason)}".rstrip()]
    has_length = False
    for name, value in response.headers:
        if name.lower() == "transfer-encoding":
            lines.append(f"X-Archive-Orig-Transfer-Encoding: {value}")
        elif name.lower() != "content-length":
            lines.append(f"{name}: {value}")
        elif not has_length:
            has_length = True
            lines.append(f"{name}: {len(response.body)}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1", "replace")


def _record(kind: str, block: bytes, asked: Asked, *, fields: Mapping[str, str]) -> WarcRecord:
    named = {
        "WARC-Type": kind,
        "WARC-Record-ID": f"<urn:uuid:{uuid.uuid4()}>",
        "WARC-Date": date_of(asked.began),
        "WARC-Target-URI": asked.url,
        **fields,
        **(asked.fields() if asked.url else {}),
        "WARC-Block-Digest": digest_of(block),
        "Content-Length": str(len(block)),
    }
    return WarcRecord(
        {name: line for name, value in named.items() if (line := _line(value))}, block
    )


def _line(value: str) -> str:
    """Clean and truncate a value, perhaps from a server, so that it stays on one line."""
    return _NO_TEXT.sub(" ", value).encode("utf-8", "replace").decode()[:_LONGEST].strip()
