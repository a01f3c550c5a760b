"""Tables of languages, read from TOML, that complete ICU's sentences and words."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import get_type_hints
from unicodedata import normalize

from corpora.errors import UsageError
from corpora.system.parsing import JsonObject, parse_toml, read_toml
from corpora.system.typed_tables import check_table


class Period(Enum):
    """The role of a period after a word."""

    STOP = "a full stop, a token of its own"
    INNER = "part of the word; the sentence goes on"
    EITHER = "part of the word, and the full stop too if a new sentence follows"
    FINAL = "part of the word, and the full stop too unless a number follows"
    ORDINAL = "part of the word, but a full stop where the sentence ends"


@dataclass(frozen=True, slots=True, kw_only=True)
class LanguageRules:
    """The rules of a language that complete ICU's; see ``languages/de.toml``."""

    periods: Mapping[str, Period] = field(default_factory=dict)
    """The role of the period of each abbreviation, which is written without its last period and
    without spaces (``z.B``)."""
    before_numbers: frozenset[str] = frozenset()
    after_numbers: frozenset[str] = frozenset()
    """Abbreviations that may be final only after a number: ``1914 г.``, but ``г. Москва``."""
    endings: tuple[str, ...] = ()
    words: frozenset[str] = frozenset()
    starters: frozenset[str] = frozenset()
    conjunctions: frozenset[str] = frozenset()
    ordinals: bool = False
    roman_ordinals: bool = False
    keeps_hyphens: bool = False
    stops: str = ""
    """The characters after which a sentence always ends."""
    commas: str = ""
    """The characters that ICU takes for stops, and that end no sentence."""
    unbroken_stops: tuple[str, ...] = ()
    """Abbreviations that contain stops (``។ល។``)."""
    ends: tuple[str, ...] = ()
    """Marks that end a sentence if white space follows, like a question mark."""
    full_stop: bool = True
    """Whether a period ends sentences."""
    dashes_end: bool = False
    """Whether a dash after a full stop belongs to the sentence before it."""
    characters: bool = False
    """Whether each Han character is a word."""

    def with_abbreviations(
        self, more: Mapping[str, Sequence[str]], *, is_certain: bool
    ) -> "LanguageRules":
        """Add abbreviations: ``never_final`` and ``may_be_final``, as a table's file has them.

        Abbreviations that are certain override the table; others are added where the table says
        nothing.
        """
        starters = sorted(self.starters)
        added = make_table({**more, "starters": starters}, source="abbreviations").periods
        given = set(_forms(entry for entries in more.values() for entry in entries))
        outweigh = given if is_certain else set[str]()
        new = {f: p for f, p in added.items() if f not in self.periods or f in outweigh}
        return replace(self, periods={**self.periods, **new}, words=self.words - outweigh)


_PERIODS = ("never_final", "may_be_final", "before_numbers", "after_numbers")
"""The keys of the file with abbreviations, which end with a period."""
_OF_WORDS = (*_PERIODS, "words", "starters", "endings")
"""The keys whose entries are compared with words of the text, in composed letters."""
_FIELDS = {name: kind for name, kind in get_type_hints(LanguageRules).items() if name != "periods"}
_KEYS = _FIELDS | dict.fromkeys(_PERIODS, tuple[str, ...])


def read_table(toml: str, *, source: str) -> LanguageRules:
    """Read a language's table; raise ``UsageError`` for an unknown key or an invalid value."""
    return make_table(parse_toml(toml, where=source), source=source)


def read_checked(path: Path) -> JsonObject:
    """Read the file of a table from a user; raise ``UsageError`` where it is not valid."""
    table = read_toml(path)
    make_table(table, source=str(path))
    return table


def make_table(table: JsonObject, *, source: str) -> LanguageRules:
    """Make a table from the content of its file; raise ``UsageError`` as ``read_table`` does."""
    values = check_table(table, _KEYS, where=source)
    for key in _OF_WORDS:
        if key in values:
            values[key] = type(values[key])(map(composed, values[key]))
    for key in _PERIODS:
        for entry in values.get(key, ()):
            if not entry.endswith("."):
                raise UsageError(f"{source}: {key}: {entry!r} does not end with a period.")
    return LanguageRules(
        **{
            "roman_ordinals": values.get("ordinals", False),
            **{key: value for key, value in values.items() if key in _FIELDS},
            "periods": _periods(values),
            "before_numbers": frozenset(_forms(values.get("before_numbers", ()))),
            "after_numbers": frozenset(_forms(values.get("after_numbers", ()))),
            "conjunctions": frozenset(c.removesuffix(".") for c in values.get("conjunctions", ())),
        }
    )


def composed(word: str) -> str:
    """Return a word with its marks composed with their letters, where Unicode can (NFC)."""
    return word if word.isascii() else normalize("NFC", word)


def _periods(table: JsonObject) -> dict[str, Period]:
    """Map abbreviations, and the parts of those with spaces, to the role of their period.

    Without ``starters``, only a capital, or a letter of a script without capitals, shows that a new
    sentence follows.
    """
    final = Period.EITHER if table.get("starters") else Period.FINAL
    inner, either = table.get("never_final", []), table.get("may_be_final", [])
    parts = [part for entry in [*inner, *either] for part in entry.split() if part[-1] == "."]
    letters = [*_forms(part for part in [*inner, *parts] if len(part) == 2)]
    initials = {entry[0].upper() for entry in either if len(entry) == 2 and entry[0].islower()}
    return {
        **dict.fromkeys(_forms(parts), Period.EITHER),
        **dict.fromkeys(_forms(inner), Period.INNER),
        **{letter: Period.INNER if letter.islower() else Period.EITHER for letter in letters},
        **dict.fromkeys(_forms(either), final),
        **dict.fromkeys(initials, Period.EITHER),
    }


def _forms(entries: Iterable[str]) -> Iterator[str]:
    """Yield each entry without its spaces and last period, as it is and capitalized."""
    for entry in entries:
        form = composed("".join(entry.split())).removesuffix(".")
        yield from (form, form[:1].upper() + form[1:])
