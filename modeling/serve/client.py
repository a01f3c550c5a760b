"""A client of the service that needs no library of its extra.

>>> client = Client("http://127.0.0.1:8001")
>>> client.tag("Peter lebt in Frankfurt am Main.")
[{'start': 0, 'end': 5, 'text': 'Peter', 'label': 'person', 'probability': 0.98}, …]
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from http.client import HTTPResponse
from typing import Final, NotRequired, TypedDict
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request

from corpora.system.web import hide_password, opener, why_not

_JSON: Final = "application/json"
_TEI: Final = "application/tei+xml"


class ClientEntity(TypedDict):
    """An entry of the register that a name may mean."""

    id: str
    name: str
    score: float


class ClientName(TypedDict):
    """A name, with ``candidates`` if they were requested."""

    start: int
    end: int
    text: str
    label: str
    probability: float
    candidates: NotRequired[list[ClientEntity] | None]


class ClientWords(TypedDict):
    """The tags and names of a sentence that was cut into words."""

    tags: list[str]
    mentions: list[ClientName]


class _Text(TypedDict):
    mentions: list[ClientName]


class _Answer(TypedDict):
    texts: list[_Text]
    sentences: list[ClientWords]


class ServiceError(Exception):
    """A refusal or failure of the service, with its ``status`` and ``detail``."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.detail = status, detail


class Client:
    """A client of the service at an address.

    Args:
        address: the address, as the service prints it.
        token: sent with each request, if the service asks for one.
        seconds: timeout of an answer.
        tries: how often a request is sent at most while the service is busy (503).
    """

    def __init__(
        self, address: str, *, token: str | None = None, seconds: float = 60.0, tries: int = 10
    ) -> None:
        if (why := why_not(address)) is not None:
            raise ValueError(f"{hide_password(address)}: {why}.")
        self.address, self.seconds, self.tries = address.rstrip("/"), seconds, tries
        self._token = token

    def tag(self, text: str, **options: object) -> list[ClientName]:
        """Find the names in a text; ``options`` are those of ``POST /v1/tag`` (``threshold`` …)."""
        [found] = self._ask("/v1/tag", {"text": text, **options})["texts"]
        return found["mentions"]

    def tag_words(self, sentences: Sequence[Sequence[str]], **options: object) -> list[ClientWords]:
        """Tag sentences that are cut into words; return the ``tags`` and ``mentions`` of each."""
        asked = {"sentences": [list(words) for words in sentences], **options}
        return self._ask("/v1/tag", asked)["sentences"]

    def tag_all(self, texts: Iterable[str], **options: object) -> Iterator[list[ClientName]]:
        """Yield the names of each text, in the order of the texts, as soon as it is tagged.

        Raises ``ServiceError`` for a text that the service does not take or fails at, and for an
        answer that ends before the last text.
        """
        given = list(texts)
        asked = {"texts": given, "stream": True, **options}
        n_left = len(given)
        with self._open("/v1/tag", json.dumps(asked).encode(), {"Content-Type": _JSON}) as answer:
            for line in answer:
                if not line.endswith(b"\n"):
                    break
                found = json.loads(line)
                if "detail" in found:
                    status = found["status"]
                    raise ServiceError(status, f"text {found['id']}: {found['detail']}")
                yield found["mentions"]
                n_left -= 1
        if n_left:  # http.client ends a broken answer like a whole one
            ended = f"The answer ended {n_left:,} of {len(given):,} texts early: ask again."
            raise ServiceError(500, ended)

    def tag_tei(self, file: bytes, **options: str) -> bytes:
        """Return a TEI file with names added; options: ``threshold``, ``existing`` and more."""
        path = f"/v1/tag?{urlencode(options)}"
        with self._open(path, file, {"Content-Type": _TEI}) as answer:
            return bytes(answer.read())

    def health(self) -> dict[str, object]:
        """Return the status of the service, and what it serves (``GET /health``)."""
        with self._open("/health", None, {}) as answer:
            return dict(json.load(answer))

    def _ask(self, path: str, asked: Mapping[str, object]) -> _Answer:
        with self._open(path, json.dumps(asked).encode(), {"Content-Type": _JSON}) as answer:
            found: _Answer = json.load(answer)
            return found

    def _open(self, path: str, body: bytes | None, headers: Mapping[str, str]) -> HTTPResponse:
        """Send a request; retry while the service is busy (503), at most ``tries`` times in all."""
        for left in range(self.tries - 1, -1, -1):
            request = Request(  # noqa: S310 - the scheme was looked at
                self.address + path, data=body, headers=dict(headers)
            )
            if self._token:  # not for the server that a redirect leads to
                request.add_unredirected_header("Authorization", f"Bearer {self._token}")
            try:
                answer: HTTPResponse = opener().open(request, timeout=self.seconds)
                return answer
            except HTTPError as error:
                with error:
                    if error.code != 503 or not left:
                        raise ServiceError(error.code, _detail(error.read())) from None
                    time.sleep(float(error.headers.get("Retry-After", "1")))
        raise AssertionError("unreachable: the last try returns or raises")


def _detail(body: bytes) -> str:
    try:
        return str(json.loads(body)["detail"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return body[:200].decode("utf-8", "replace")
