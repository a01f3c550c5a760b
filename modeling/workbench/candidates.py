"""Sources of candidates for a name besides a register: a vocabulary, a reconciliation service."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NotRequired, Protocol, TypedDict
from urllib.error import URLError
from urllib.parse import urlencode, urlsplit
from urllib.request import Request

from corpora.errors import CorpusError
from corpora.registers.identifiers import address_of, read_id
from corpora.system.parsing import parse_json
from corpora.system.web import check_address, opener
from corpora.tei.edition import Edition
from corpora.tei.pointers import with_space
from modeling.serve.entries import EntryIndex as Index
from modeling.serve.entries import FoundEntry
from modeling.workbench.messages import EntityCandidate

_SHOWN: Final = 12
_SECONDS: Final = 8.0
_MOST_BYTES: Final = 1 << 20
_KEPT: Final = 2_000
"""The most answers of a service that are kept."""

_HEADERS: Final = {
    "Accept": "application/json",
    "Content-Type": "application/x-www-form-urlencoded",
}


class _Kind(TypedDict):
    name: str


class _Row(TypedDict):
    """A candidate in the answer of a reconciliation service."""

    id: str
    name: str
    type: NotRequired[list[_Kind | str] | None]
    description: NotRequired[str | None]


class CandidateSource(Protocol):
    """A source of candidates."""

    name: str

    def find(self, words: str, *, label: str) -> list[EntityCandidate]:
        """Find the entities that words may mean, the best first; raises ``CorpusError``."""

    def about(self, entity: str) -> EntityCandidate | None:
        """Describe an entity; None where it is not of this source."""


class DatasetVocabulary:
    """The entities of a dataset of ``onoma vocab``."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._index = Index.open([str(path)])

    def find(self, words: str, *, label: str) -> list[EntityCandidate]:  # noqa: ARG002 - of all kinds
        """Find entities with a form like the words; of equally similar ones, the frequent first."""
        return [_shown(entry) for entry, _ in self._index.search(words, limit=_SHOWN)]

    def about(self, entity: str) -> EntityCandidate | None:
        """Describe an entity of the vocabulary; None for another."""
        entry = self._index.entry(entity) if entity else None
        return _shown(entry) if entry else None


def _shown(entry: FoundEntry) -> EntityCandidate:
    about = " · ".join(filter(None, [", ".join(entry.kinds), entry.description]))
    return {"entity": entry.id, "name": entry.name, "about": about}


class Reconciled:
    """A service with the Reconciliation Service API (0.1 or 0.2).

    Only the words of a name are sent: nothing else of the edition leaves this machine.
    """

    def __init__(self, address: str, edition: Edition) -> None:
        self.address, self.edition = check_address(address, option="reconcile"), edition
        self.name = urlsplit(address).hostname or ""
        self._space: str | None = None
        self._found: dict[str, list[EntityCandidate]] = {}

    def find(self, words: str, *, label: str) -> list[EntityCandidate]:  # noqa: ARG002 - of all kinds
        """Return the candidates of the service; raises ``CorpusError`` where it does not answer."""
        key = words.strip()
        if key not in self._found:
            if len(self._found) >= _KEPT:
                self._found.clear()
            self._found[key] = self._asked(key)
        return self._found[key]

    def about(self, entity: str) -> EntityCandidate | None:
        """Describe an entity from the answers that are kept of this session; None for another."""
        every = (candidate for proposals in self._found.values() for candidate in proposals)
        return next((candidate for candidate in every if candidate["entity"] == entity), None)

    def _asked(self, words: str) -> list[EntityCandidate]:
        try:
            if self._space is None:
                self._space = str(parse_json(self._fetch(None)).get("identifierSpace") or "")
            asked = {"queries": json.dumps({"q": {"query": words, "limit": _SHOWN}})}
            rows = parse_json(self._fetch(urlencode(asked).encode()))["q"]["result"]
            return [self._candidate(row) for row in rows[:_SHOWN]]
        except (URLError, OSError) as error:
            reason = getattr(error, "reason", None) or error
            raise CorpusError(f"{self.name}: does not answer ({reason}).") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorpusError(
                f"{self.name}: does not answer as a reconciliation service does ({error!r})."
            ) from error

    def _fetch(self, body: bytes | None) -> bytes:
        request = Request(self.address, data=body, headers=_HEADERS)  # noqa: S310
        with opener().open(request, timeout=_SECONDS) as answer:
            text: bytes = answer.read(_MOST_BYTES + 1)
        if len(text) > _MOST_BYTES:
            raise ValueError("its answer is larger than 1 MiB")
        return text

    def _candidate(self, row: _Row) -> EntityCandidate:
        kinds = [kind["name"] if isinstance(kind, dict) else kind for kind in row.get("type") or ()]
        about = [", ".join(map(str, kinds[:3])), str(row.get("description") or "")]
        return {
            "entity": self._entity(str(row["id"])),
            "name": str(row["name"]),
            "about": " · ".join(filter(None, about)),
        }

    def _entity(self, id: str) -> str:
        """Convert an id to the form that the edition reads from ``@ref``: ``gnd:118540238``."""
        space = self._space or ""
        if "://" in id or not space:
            reference = id
        else:
            reference = f"{space}{'/' if space[-1].isalnum() else ''}{id}"
        entity = with_space(reference, self.edition)
        if not entity.startswith(f"{self.edition.name}:"):
            return entity
        known = read_id(reference)
        return with_space((address_of(known) if known else None) or reference, self.edition)


def about(sources: Sequence[CandidateSource], entity: str) -> EntityCandidate | None:
    """Describe an entity by the first source that knows it; None where none does."""
    return (
        next(filter(None, (source.about(entity) for source in sources)), None) if entity else None
    )
