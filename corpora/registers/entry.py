"""An entry of a register: who or what is named, how, when, and its ids elsewhere."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Literal, TypeVar, get_args

from corpora.errors import CorpusError

T = TypeVar("T")

Kind = Literal["person", "place", "organization", "work", "event", "other"]
KINDS: frozenset[str] = frozenset(get_args(Kind))
FormKind = Literal[
    "canonical",  # the name of the entry
    "variant",  # another name, as it is written in the register
    "full",  # forenames and surname, in the order of speech
    "inverted",  # surname, forenames
    "with_role",  # a title or role and the surname
    "surname",  # the surname alone
    "forename",  # the forenames alone
    "added",  # a nickname or an addition
]
FORM_KINDS: frozenset[str] = frozenset(get_args(FormKind))


class InvalidEntryError(CorpusError):
    """An entry violates its own rules."""


@dataclass(frozen=True, slots=True)
class Form:
    """One way to write the name of an entry."""

    text: str
    kind: FormKind = "variant"
    type: str | None = None
    """The register's own name for this kind of form (``birth``, ``person_pseudonym``)."""

    def __post_init__(self) -> None:
        """Raise for an empty text or an unknown kind."""
        if not self.text.strip() or self.kind not in FORM_KINDS:
            raise InvalidEntryError(f"a form {self.text!r} of the kind {self.kind!r}")


@dataclass(frozen=True, slots=True)
class Date:
    """A date as it is given, and the range of years that it lies in, both ends included."""

    given: str
    first_year: int | None = None
    """None if unknown; negative before the common era."""
    last_year: int | None = None


@dataclass(frozen=True, slots=True)
class AuthorityId:
    """An id in a scheme (``gnd``, ``geonames``, ``wikidata``, ``viaf``, …)."""

    scheme: str
    id: str

    def __str__(self) -> str:
        """Return it as the entity of a mention: ``gnd:118750933``."""
        return f"{self.scheme}:{self.id}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """A person, place, organization, work or event of a register."""

    id: str
    """The id in the register, without the edition's space: ``P.0000004``."""
    kind: Kind
    name: str
    """The canonical name."""
    forms: tuple[Form, ...] = ()
    """The canonical form, then the others in the order of the register, then those made from
    parts."""
    birth: Date | None = None
    death: Date | None = None
    active: Date | None = None
    """When a person was active, a place or organization existed, a work was made."""
    ids: tuple[AuthorityId, ...] = ()
    """The ids in other schemes, in order."""
    description: str | None = None
    parent: str | None = None
    """The id of the entry that this one is part of, such as the place around a place."""
    related: tuple[str, ...] = ()
    """The ids of other entries that this one points to."""
    source: str = ""
    """The file that the entry was read from."""
    line: int = 0
    """The line in ``source``, from 1."""

    def __post_init__(self) -> None:
        """Raise for an entry without an id or a name."""
        if not self.id or not self.name or self.kind not in KINDS:
            raise InvalidEntryError(
                f"{self.source}:{self.line}: an entry needs an id, a name and a known kind, "
                f"not {self.id!r}, {self.name!r}, {self.kind!r}"
            )

    def id_in(self, scheme: str) -> str | None:
        """Return the first id in a scheme."""
        return next((each.id for each in self.ids if each.scheme == scheme), None)

    def texts(self, *kinds: FormKind) -> list[str]:
        """List the texts of forms of these kinds (default: all), each once."""
        chosen = kinds or FORM_KINDS
        return list(dict.fromkeys(form.text for form in self.forms if form.kind in chosen))


def merge(first: Entry, other: Entry) -> Entry:
    """Merge two entries with one id: the second fills in what the first lacks."""
    return replace(
        first,
        forms=_union(first.forms, other.forms),
        birth=first.birth or other.birth,
        death=first.death or other.death,
        active=first.active or other.active,
        ids=_union(first.ids, other.ids),
        description=first.description or other.description,
        parent=first.parent or other.parent,
        related=_union(first.related, other.related),
    )


def _union(first: Iterable[T], other: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys([*first, *other]))


def to_json(entry: Entry) -> dict[str, object]:
    """Convert an entry to JSON values, which ``parsing.typed`` reads; empty fields are left out."""
    return {name: value for name, value in asdict(entry).items() if value not in (None, (), "")}


_LABELS: dict[Kind, set[str]] = {
    "person": {"person", "persons", "per", "pers", "psn", "persname"},
    "place": {"place", "places", "loc", "location", "gpe", "lieu", "plc", "placename"},
    "organization": {
        *("organization", "organizations", "organisation", "organisations", "org", "orgname"),
        "institution",
    },
    "work": {"work", "works", "title", "bibl", "prod", "wrk"},
    "event": {"event", "events", "evt"},
}


def kind_of_label(label: str | None) -> Kind | None:
    """Return the kind of entry that a label names; None if any kind, or none (``date``)."""
    plain = "".join(filter(str.isalnum, (label or "").lower()))
    return next((kind for kind, labels in _LABELS.items() if plain in labels), None)
