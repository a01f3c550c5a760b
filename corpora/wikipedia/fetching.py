"""Downloads over HTTP that give a whole file or none: resumed, checked, and sparing the server.

The bytes received so far lie in a ``PartialFile``, from which a download resumes, after a kill too.
A file gets its name once it has the size and the SHA-1 that were promised.
"""

import gzip
import hashlib
import os
import platform
import re
import time
import urllib.request
import zlib
from collections.abc import Callable
from dataclasses import dataclass, field
from http.client import HTTPException, HTTPResponse, InvalidURL
from importlib.metadata import version
from pathlib import Path
from ssl import SSLCertVerificationError
from threading import Event
from typing import IO, Self, TypeVar
from urllib.error import HTTPError, URLError

from corpora.errors import CorpusError
from corpora.system.files import open_own
from corpora.system.web import opener
from corpora.system.writing import sync_folder
from corpora.warc.http import retry_after
from corpora.wikipedia.dump_status import DumpFile

TIMEOUT_S = 60.0
"""The seconds without a byte after which a connection counts as broken."""
RETRIES = 6
"""The most retries in a row that bring no byte more than before."""
MAX_WAIT_S = 3600.0
"""The longest pause in seconds that is made; if a server asks for a longer one, the run ends."""
MAX_PAGE_BYTES = 64 << 20
"""The most bytes of a listing or a status; those of the largest wikis have about a megabyte."""
_CHUNK_BYTES = 1 << 20
_WRONG_HASHES = 2
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_RANGE = re.compile(r"bytes (\d+)-\d+/(\d+|\*)")
T = TypeVar("T")


class DownloadError(CorpusError):
    """A file could not be downloaded; what has arrived is kept."""


class MissingError(DownloadError):
    """The server has no such file (404, 410)."""


class WrongHashError(DownloadError):
    """A file arrived complete, but repeatedly with a hash other than the promised one."""


class TransferStoppedError(CorpusError):
    """A transfer was stopped, as another file failed or somebody interrupted the run."""


class _TryAgainError(Exception):
    """A transfer failed for a reason that may pass."""

    def __init__(self, why: str, *, after: float | None = None) -> None:
        super().__init__(why)
        self.after, self.progressed = after, False


def user_agent(contact: str) -> str:
    """Return the User-Agent that Wikimedia asks for: this program, its contact, the library."""
    return f"Onoma/{version('onoma')} ({contact}) Python-urllib/{platform.python_version()}"


def what_is_wrong(part: DumpFile, path: Path, sha1: str) -> str:
    """Say how a file of the right size differs from what was promised; empty if it does not.

    A file of which no hash is promised must be in gzip, and end as its own checksum says.
    """
    if part.sha1:
        return f"has the SHA-1 {sha1}, but {part.sha1} was promised" if sha1 != part.sha1 else ""
    try:
        with gzip.open(path) as file:
            while file.read(_CHUNK_BYTES):
                pass
    except (OSError, EOFError, zlib.error) as error:
        return f"is no whole archive ({error})"
    return ""


def hashes_of(path: Path) -> tuple[str, str]:
    """Compute the SHA-1 and SHA-256 of a file in one pass."""
    sha1, sha256 = hashlib.sha1(usedforsecurity=False), hashlib.sha256()
    with path.open("rb") as file:
        while data := file.read(_CHUNK_BYTES):
            sha1.update(data)
            sha256.update(data)
    return sha1.hexdigest(), sha256.hexdigest()


class PartialFile:
    """A file written in order, with its hashes; bytes of an earlier process are hashed again.

    Use it with ``with``. Written bytes reach the operating system at once, so that a kill loses
    none of them.
    """

    def __init__(self, path: Path) -> None:
        """Store the path; nothing is opened yet."""
        self.path = path
        self._most = 0

    def __enter__(self) -> Self:
        """Open the file, and hash its content."""
        self._file: IO[bytes] = open_own(self.path, "a+b")
        self._clear()
        self._file.seek(0)
        while data := self._file.read(_CHUNK_BYTES):
            self._count(data)
        self._most = self.size
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    def _clear(self) -> None:
        self.size = 0
        self.sha1, self.sha256 = hashlib.sha1(usedforsecurity=False), hashlib.sha256()

    def _count(self, data: bytes) -> None:
        self.size += len(data)
        self.sha1.update(data)
        self.sha256.update(data)

    def write(self, data: bytes) -> None:
        """Append bytes."""
        self._file.write(data)
        self._file.flush()
        self._count(data)

    def restart(self) -> None:
        """Discard all bytes."""
        self._file.truncate(0)
        self._clear()

    def has_grown(self) -> bool:
        """Tell whether the file is longer than at any earlier call of this method."""
        grown = self.size > self._most
        self._most = max(self._most, self.size)
        return grown

    def sync(self) -> None:
        """Flush the file to disk, so that it survives a power cut."""
        os.fsync(self._file.fileno())


@dataclass
class HttpClient:
    """An HTTP client for one server; several threads may use it, each with its own connection."""

    contact: str
    """The mail address or web page at which the operators of the server reach the user."""
    say: Callable[[str], object]
    """Called with a line about each problem."""
    got: Callable[[int], object] = lambda _: None
    """Called with the number of bytes of each chunk received."""
    sleep: Callable[[float], object] | None = None
    """Called to wait some seconds; None: wait so long, but only until ``stop`` is set."""
    stop: Event = field(default_factory=Event)
    """Set it to stop all threads."""

    def __post_init__(self) -> None:
        self._opener = opener()
        self._headers = {"User-Agent": user_agent(self.contact), "Accept-Encoding": "identity"}

    def read(self, url: str) -> bytes:
        """Read a small file; raises ``MissingError`` or ``DownloadError``."""
        return self._retrying(url, lambda: self._read_page(url))

    def _read_page(self, url: str) -> bytes:
        with self._open(url) as response:
            length, data = response.length, b""
            while piece := self._next(response, _CHUNK_BYTES):
                data += piece
                if len(data) > MAX_PAGE_BYTES:
                    raise DownloadError(f"{url}: has more than {MAX_PAGE_BYTES:,} bytes.")
        if length not in {None, len(data)}:
            raise _TryAgainError(f"ended after {len(data):,} of {length:,} bytes")
        return data

    def size(self, url: str) -> int:
        """Ask for the size of a file; raises ``MissingError`` or ``DownloadError``."""

        def ask() -> int:
            with self._open(url, method="HEAD") as response:
                return int(response.headers.get("Content-Length") or 0)

        if size := self._retrying(url, ask):
            return size
        raise DownloadError(f"{url}: the server does not tell its size. Choose another --mirror.")

    def fetch(self, part: DumpFile, folder: Path) -> str:
        """Download a part to ``folder/NAME``, or resume its download; returns its SHA-256.

        Raises ``MissingError``, ``WrongHashError``, ``DownloadError``, ``OSError`` (a full disk).
        """
        self._check_stop()
        path = partial_path(folder, part)
        with PartialFile(path) as partial:
            for n_wrong in range(1, _WRONG_HASHES + 1):
                self._retrying(part.url, lambda: self._go_on(part, partial))
                if not (wrong := what_is_wrong(part, path, partial.sha1.hexdigest())):
                    break
                partial.restart()
                why = f"{part.url}: {wrong}"
                if n_wrong == _WRONG_HASHES:
                    path.unlink()
                    raise WrongHashError(
                        f"{why}, {n_wrong} times. Nothing of it is kept; choose another --mirror."
                    )
                self.say(f"{why}; it is fetched again.")
            partial.sync()
        path.replace(folder / part.name)
        sync_folder(folder)
        return partial.sha256.hexdigest()

    def _go_on(self, part: DumpFile, partial: PartialFile) -> None:
        """Fetch the missing bytes of a part; a ``_TryAgainError`` notes whether any arrived."""
        try:
            self._transfer(part, partial)
        except _TryAgainError as error:
            error.progressed = partial.has_grown()
            raise

    def _transfer(self, part: DumpFile, partial: PartialFile) -> None:
        if partial.size > part.size:
            partial.restart()
        begin = partial.size
        if begin == part.size:
            return
        with self._open(part.url, begin) as response:
            is_part = response.status == 206
            self._check_length(response, part, begin if is_part else 0, partial=partial)
            if begin and not is_part:  # the length was checked, so this is not a proxy's error page
                self.say(f"{part.url}: the server sends no part of a file; it starts again.")
                partial.restart()
            while data := self._next(response, part.size - partial.size + 1):
                partial.write(data)
                self.got(len(data))
                if partial.size > part.size:
                    partial.restart()
                    raise _TryAgainError(f"sends more than the {part.size:,} bytes promised")
        if partial.size < part.size:
            raise _TryAgainError(f"ended after {partial.size:,} of {part.size:,} bytes")

    def _check_length(
        self, response: HTTPResponse, part: DumpFile, begin: int, *, partial: PartialFile
    ) -> None:
        """Raise unless a response holds exactly the bytes of a part from ``begin`` to its end."""
        length: int | None = response.length
        if response.status == 206:
            match = _RANGE.fullmatch(response.headers.get("Content-Range", ""))
            if match is None or int(match[1]) != begin:
                partial.restart()
                raise _TryAgainError("sends another part of the file than was asked for")
            length = int(match[2]) - begin if match[2] != "*" else length
        if length not in {None, part.size - begin}:
            size = (length or 0) + begin
            raise _TryAgainError(f"has {size:,} bytes, but {part.size:,} were promised")

    def _retrying(self, url: str, once: Callable[[], T]) -> T:
        """Retry an action until it succeeds or has failed too often in a row.

        The pause is what the server asks for, or doubles each time.
        """
        n_failed = 0
        while True:
            try:
                return once()
            except _TryAgainError as error:
                n_failed = 1 if error.progressed else n_failed + 1
                why, after = f"{url}: {error}", error.after
            if n_failed > RETRIES:
                raise DownloadError(
                    f"{why}; that was the {n_failed}th time in a row. What has come is kept: run "
                    "the same command later, or choose another --mirror."
                )
            seconds = min(60.0, 2.0**n_failed) if after is None else after
            if seconds > MAX_WAIT_S:
                raise DownloadError(f"{why}; it asks to come back in {seconds:,.0f} s. Do so.")
            self.say(f"{why}; again in {seconds:g} s.")
            (self.sleep or self.stop.wait)(seconds)
            self._check_stop()

    def _open(self, url: str, first: int = 0, *, method: str = "GET") -> HTTPResponse:
        self._check_stop()
        headers = self._headers | ({"Range": f"bytes={first}-"} if first else {})
        request = urllib.request.Request(url, headers=headers, method=method)  # noqa: S310 - see opener
        try:
            opened: HTTPResponse = self._opener.open(request, timeout=TIMEOUT_S)
            return opened
        except HTTPError as error:
            with error:
                raise _refused(url, error) from None
        except (InvalidURL, UnicodeError) as error:  # our address, or a redirect's target
            raise DownloadError(f"{url}: leads to no address ({error}).") from error
        except (OSError, HTTPException) as error:
            reason = error.reason if isinstance(error, URLError) else error
            if isinstance(reason, SSLCertVerificationError):
                raise DownloadError(f"{url}: its certificate is not valid ({reason}).") from error
            raise _TryAgainError(f"cannot be reached ({reason})") from error
        except ValueError as error:
            raise DownloadError(f"{url}: leads to no address ({error}).") from error

    def _next(self, response: HTTPResponse, most: int) -> bytes:
        """Read the next bytes of a response; empty at its end."""
        self._check_stop()
        try:
            return bytes(response.read1(min(most, _CHUNK_BYTES)))
        except (OSError, HTTPException) as error:
            raise _TryAgainError(f"the connection broke ({error})") from error

    def _check_stop(self) -> None:
        if self.stop.is_set():
            raise TransferStoppedError("stopped; what has come is kept.")


def partial_path(folder: Path, part: DumpFile) -> Path:
    """Return the path of an incomplete part: hidden, and different for different content."""
    return folder / f".{part.name}.{part.sha1[:16] or part.size}.partial"


def _refused(url: str, error: HTTPError) -> Exception:
    """Build the error for an HTTP status that is no success."""
    if error.code in _TRANSIENT:
        after = retry_after(error.headers.items(), now=time.time())
        return _TryAgainError(f"{error.code} {error.reason}", after=after)
    if error.code in {404, 410}:
        return MissingError(
            f"{url}: {error.code} {error.reason}. Runs are taken away after some months; choose "
            "another --date or --mirror."
        )
    advice = "Choose another --mirror."
    if error.code in {401, 403}:
        advice = "Is --contact an address where you are reached? Servers refuse who is not."
    return DownloadError(f"{url}: {error.code} {error.reason}. {advice}")
