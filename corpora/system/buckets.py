"""Objects in buckets: ``s3://BUCKET/NAME``, ``gs://BUCKET/NAME`` and ``az://CONTAINER/NAME``.

Credentials and addresses come from the environment, by the names that the providers' own tools use
(docs/scale.md). An object appears whole or not at all. ``replace`` is a conditional write, so that
one of several concurrent writers wins. Failed requests are repeated until ``PATIENCE`` is over.
"""

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from corpora.errors import CorpusError, UsageError
from corpora.system.files import home
from corpora.system.threads import map_in_order
from corpora.system.web import hide_password
from corpora.system.writing import appearing

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutMode
    from obstore.store import AzureStore, ClientConfig, GCSStore, RetryConfig, S3Config, S3Store

    Store = S3Store | GCSStore | AzureStore

T = TypeVar("T")
PATIENCE = "ONOMA_BUCKET_SECONDS"
"""The environment variable that says for how many seconds requests are repeated (default: 180)."""
SCHEMES = ("s3", "gs", "az")
N_TRANSFERS = 8
"""The number of objects that are downloaded or uploaded at once."""
_URL = re.compile(rf"({'|'.join(SCHEMES)})://([^/]+)/*(.*)", re.DOTALL)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_NO_BUCKET = re.compile("<Code>(NoSuchBucket|ContainerNotFound)</Code>")
_REFUSED = re.compile(
    r"401 Unauthorized|403 Forbidden|404 Not Found|Missing \w+Credential"
    r"|HEAD .{0,2000} 400 Bad Request|<Code>(?:Expired|Invalid)Token</Code>"
)
_REASON = re.compile("<Code>(.{0,100}?)</Code>.{0,1000}?<Message>(.{0,300}?)</Message>", re.DOTALL)
_ENDPOINTS = ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT", "AZURE_STORAGE_ENDPOINT")
MACHINE = "ONOMA_MACHINE_CREDENTIALS"
"""The environment variable that lets a machine of a cloud be asked for its credentials."""
_CREDENTIALS = {
    "s3": r"AWS_(ACCESS_KEY_ID|WEB_IDENTITY_TOKEN_FILE|CONTAINER_.+|SKIP_SIGNATURE)",
    "gs": r"GOOGLE_(SERVICE_ACCOUNT.*|APPLICATION_CREDENTIALS|SKIP_SIGNATURE)",
    "az": r"AZURE_(.*KEY|.*TOKEN.*|.*SECRET|.*SAS.*|.*EMULATOR|USE_AZURE_CLI|SKIP_SIGNATURE)",
}
"""Variables that give credentials, or say that none are needed, by kind of bucket."""
_OF_GOOGLE = Path(".config/gcloud/application_default_credentials.json")
_CONTROL = "".join(map(chr, [*range(32), 127]))
_VERSION = " version "
_WRITER = "onomawriter"  # a metadata key, of letters only, as all providers allow


def is_url(path: object) -> bool:
    """Tell whether a path is the address of a bucket; raises ``UsageError`` for other addresses."""
    text = str(path)
    if _URL.fullmatch(text):
        return True
    if _ADDRESS.match(text):
        raise UsageError(
            f"{text}: is no path, nor s3://BUCKET/…, gs://BUCKET/… or az://CONTAINER/…."
        )
    return False


@dataclass(frozen=True, slots=True)
class ListedObject:
    """An object in a listing."""

    name: str
    """The name relative to the ``Bucket`` that was listed."""
    size: int
    etag: str
    """A string that differs between states of an object; see ``_etag``."""
    changed: datetime


@dataclass(frozen=True, slots=True)
class ObjectContent:
    """An object that was read."""

    data: bytes
    etag: str
    writer: str
    """The writer, if ``replace`` wrote the object; else empty."""


class Bucket:
    """A folder in a bucket; names of objects are relative to it."""

    def __init__(self, url: str) -> None:
        """Open it; raises ``UsageError`` where the library for it is missing."""
        match = _URL.fullmatch(url)
        if match is None:
            raise UsageError(f"{url}: is no address of a bucket.")
        kind, root, prefix = match.groups()
        prefix = prefix.strip("/")
        if any(part in {"", ".", ".."} for part in prefix.split("/") if prefix):
            raise UsageError(f"{url}: has an empty part, or dots as a part.")
        if any(character in prefix for character in _CONTROL):
            raise UsageError(f"{url!r}: has a tab or another control character. Name it otherwise.")
        self.url = f"{kind}://{root}/{prefix}".rstrip("/")
        self._prefix = f"{prefix}/" if prefix else ""
        self._store = open_store(kind, root)

    def __truediv__(self, name: str) -> "Bucket":
        """Return a folder inside."""
        return Bucket(f"{self.url}/{name}")

    def url_of(self, name: str) -> str:
        """Return the address of an object."""
        return f"{self.url}/{name}"

    def list(self, prefix: str = "") -> list[ListedObject]:
        """List the objects whose names begin with a prefix, sorted by name."""
        import obstore

        full = f"{self._prefix}{prefix}"
        folder = full.rpartition("/")[0]  # only whole folders can be listed

        def collect() -> list[ListedObject]:
            return [
                ListedObject(
                    meta["path"][len(self._prefix) :],
                    meta["size"],
                    _etag(meta),
                    meta["last_modified"],
                )
                for chunk in obstore.list(self._store, folder or None)
                for meta in chunk
                if meta["path"].startswith(full)
            ]

        return sorted(self._again(prefix, collect), key=lambda found: found.name)

    def find(self, name: str) -> ListedObject | None:
        """Find one object, without a listing; None where there is none."""
        import obstore

        def look() -> ListedObject | None:
            try:
                meta = obstore.head(self._store, self._prefix + name)
            except FileNotFoundError:
                return None
            return ListedObject(name, meta["size"], meta["e_tag"] or "", meta["last_modified"])

        return self._again(name, look)

    def read(self, name: str) -> ObjectContent | None:
        """Read an object; None where there is none."""
        import obstore

        def get() -> ObjectContent | None:
            try:
                got = obstore.get(self._store, self._prefix + name)
                data = bytes(got.bytes())
            except FileNotFoundError as error:
                if _NO_BUCKET.search(str(error)):
                    raise
                return None
            return ObjectContent(data, _etag(got.meta), got.attributes.get(_WRITER, ""))

        return self._again(name, get)

    def download(self, name: str, path: Path, *, changed: datetime | None = None) -> str:
        """Download an object in one atomic step; return its SHA-256.

        ``changed`` becomes the time of the file: two processes that download the same object write
        the same file. Raises ``FileNotFoundError`` where there is none.
        """
        path.parent.mkdir(parents=True, exist_ok=True)
        with appearing(path, is_durable=False) as temporary:

            def fetch() -> str:
                with temporary.open("wb") as file:
                    return self._stream(name, file.write)

            sha256 = self._again(name, fetch)
            if changed:
                os.utime(temporary, times=(int(changed.timestamp()),) * 2)
            return sha256

    def sha256(self, name: str) -> str:
        """Hash an object; raises ``FileNotFoundError`` where there is none."""
        return self._again(name, lambda: self._stream(name, len))

    def _stream(self, name: str, take: Callable[[bytes], object]) -> str:
        import obstore

        got = obstore.get(self._store, self._prefix + name)
        digest = hashlib.sha256()
        for chunk in got.stream():  # one that is cut short is continued, or an error
            digest.update(chunk)
            take(bytes(chunk))
        return digest.hexdigest()

    def put(self, name: str, data: bytes | Path) -> None:
        """Write an object unconditionally: only for names that contain the hash of the content."""
        import obstore

        self._again(name, lambda: obstore.put(self._store, self._prefix + name, data))

    def replace(self, name: str, data: bytes, *, seen: str, writer: str) -> bool:
        """Write an object if it has not changed since its etag was ``seen`` (empty: did not exist).

        Returns whether the object is this ``writer``'s now: the answer to a successful write may be
        lost.
        """
        import obstore
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def attempt() -> bool:
            try:
                obstore.put(
                    self._store,
                    self._prefix + name,
                    data,
                    mode=self._mode(name, seen),
                    attributes={_WRITER: writer},
                )
            except (AlreadyExistsError, PreconditionError):
                there = self.read(name)
                return there is not None and (there.writer, there.data) == (writer, data)
            return True

        return self._again(name, attempt)

    def _mode(self, name: str, seen: str) -> "PutMode":
        """Choose the condition of a write; raises ``PreconditionError`` if the object has changed.

        Google compares version numbers only, which its listings lack.
        """
        import obstore
        from obstore.exceptions import PreconditionError

        if not seen:
            return "create"
        etag, _, version = seen.partition(_VERSION)
        if self.url.startswith("gs:") and not version:
            try:
                now = obstore.head(self._store, self._prefix + name)
            except FileNotFoundError:
                raise PreconditionError(f"{name}: is gone") from None
            if (now["e_tag"] or "").strip('"') != etag.strip('"'):
                raise PreconditionError(f"{name}: has changed")
            version = now["version"] or ""
        return {"e_tag": etag, "version": version} if version else {"e_tag": etag}

    def delete(self, names: Iterable[str]) -> None:
        """Delete objects, if they are there, several at once."""
        import obstore

        def drop(name: str) -> None:
            with suppress(FileNotFoundError):
                self._again(name, lambda: obstore.delete(self._store, self._prefix + name))

        transfer(drop, names)

    def _again(self, name: str, do: Callable[[], T]) -> T:
        """Call ``do`` until it succeeds or patience is over; a refused request is not repeated."""
        import obstore.exceptions as errors

        refused = (
            errors.PermissionDeniedError,
            errors.UnauthenticatedError,
            errors.InvalidPathError,
            errors.NotSupportedError,
            errors.UnknownConfigurationKeyError,
        )
        end = time.monotonic() + patience()
        pause = 0.1
        while True:
            try:
                return do()
            except FileNotFoundError as error:  # also the error that obstore raises
                if _NO_BUCKET.search(str(error)):
                    raise CorpusError(f"{self.url_of(name)}: no such bucket. {_ADVICE}") from error
                raise FileNotFoundError(2, "No such object", self.url_of(name)) from None
            except (errors.BaseError, ConnectionError, TimeoutError) as error:
                is_refused = isinstance(error, refused) or _REFUSED.search(str(error))
                if is_refused or time.monotonic() + pause > end:
                    raise CorpusError(
                        f"{self.url_of(name)}: {_first_line(error)}. {_ADVICE}"
                    ) from error
            time.sleep(pause)
            pause = min(pause * 2, 5)


_ADVICE = (
    "Check the address, the credentials in the environment (docs/scale.md) and the network; the "
    "same command resumes."
)


def transfer(do: Callable[[T], object], items: Iterable[T]) -> None:
    """Download or upload each of these items by ``do``, ``N_TRANSFERS`` at once."""
    for _ in map_in_order(do, items, n_threads=N_TRANSFERS):
        pass


def _etag(meta: "ObjectMeta") -> str:
    """Return a string that differs between states of an object: its etag and version, if any.

    Google compares versions, others compare etags.
    """
    version = meta["version"]
    return (meta["e_tag"] or "") + (f"{_VERSION}{version}" if version else "")


def etag_of(state: str) -> str:
    """Return the etag alone of ``ListedObject.etag``: listings lack versions, perhaps quotes."""
    return state.partition(_VERSION)[0].strip('"')


def patience() -> float:
    """Return how long a request is tried again, in seconds."""
    text = os.environ.get(PATIENCE, "180")
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{PATIENCE}={text}: is no number of seconds.") from None


def _first_line(error: Exception) -> str:
    """Return the first line of an error, and the server's own words.

    The library appends the configuration of the request.
    """
    text = hide_password(str(error).strip())
    line = text.partition("\n")[0].partition("<")[0].rstrip(" .:")[:500]
    said = _REASON.search(text)
    return f"{line}: {said[1]} ({said[2].strip(' .')})" if said else line


@cache
def open_store(kind: str, root: str) -> "Store":
    """Open a bucket, once in a process, as the environment configures it.

    Raises ``UsageError`` for an endpoint that is no address, missing credentials, or a missing
    package.
    """
    for variable in _ENDPOINTS:
        endpoint = os.environ.get(variable)
        if endpoint and not endpoint.startswith(("http://", "https://")):
            raise UsageError(f"{variable}: must begin with https:// or http://.")
    try:
        from obstore.store import AzureStore, GCSStore, S3Store
    except ImportError:
        raise UsageError(
            f"{kind}://{root}: buckets need another package: pip install 'onoma[buckets]'."
        ) from None
    _check_credentials(kind, root)
    seconds = timedelta(seconds=max(patience(), 1))
    client: ClientConfig = {
        "connect_timeout": min(seconds, timedelta(seconds=10)),
        "read_timeout": min(seconds, timedelta(seconds=60)),
        "timeout": timedelta(hours=1),
        "allow_http": True,  # has an effect only where the environment names an http:// address
    }
    retry: RetryConfig = {"max_retries": 3, "retry_timeout": seconds}
    if kind == "s3":
        config: S3Config = {"checksum_algorithm": "SHA256"}  # the server checks what it received
        if not {"AWS_REGION", "AWS_DEFAULT_REGION"} & os.environ.keys():
            config["region"] = "us-east-1"
        return S3Store(root, config=config, client_options=client, retry_config=retry)
    if kind == "gs":
        return GCSStore(root, client_options=client, retry_config=retry)
    return AzureStore(root, client_options=client, retry_config=retry)


def _check_credentials(kind: str, root: str) -> None:
    """Raise ``UsageError`` without credentials: the library would ask the address of a cloud."""
    has_file = kind == "gs" and (home() / _OF_GOOGLE).exists()
    is_given = any(re.fullmatch(_CREDENTIALS[kind], name) for name in os.environ)
    if not (is_given or has_file or os.environ.get(MACHINE)):
        raise UsageError(
            f"{kind}://{root}: no credentials in the environment (docs/scale.md). On a machine of "
            f"a cloud, {MACHINE}=1 asks for those of the machine."
        )
