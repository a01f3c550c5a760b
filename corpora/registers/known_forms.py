"""The forms that a register gives its entries."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import product

from corpora.matching.composition import composed
from corpora.registers.entry import Entry, FormKind
from corpora.registers.register import Register

_WHOLE: frozenset[FormKind] = frozenset({"canonical", "variant", "full", "with_role"})


@dataclass(slots=True)
class KnownForm:
    """A form of a register, with the entries that have it."""

    entries: dict[str, str] = field(default_factory=dict)
    """The kind of each entry, by its id."""
    is_whole: bool = False
    """Whether an entry has it as a whole name, not as a surname or forename alone."""
    is_surname: bool = False

    def add(self, entry: Entry, kind: FormKind) -> None:
        """Add an entry that has the form."""
        self.entries[entry.id] = entry.kind
        self.is_whole |= kind in _WHOLE
        self.is_surname |= kind == "surname"


def register_forms(register: Register) -> dict[str, KnownForm]:
    """Collect the forms of a register, and initials with the surname (*F. Marc*), composed."""
    forms: defaultdict[str, KnownForm] = defaultdict(KnownForm)
    for entry in register.entries.values():
        for form in entry.forms:
            text = composed(form.text)
            if entry.kind != "person" or "," not in text:  # *Marc, Franz* is no name in a sentence
                forms[text].add(entry, form.kind)
        for text in initials_of(entry):
            forms[text].add(entry, "full")
    return dict(forms)


def initials_of(entry: Entry) -> Iterator[str]:
    """Yield the names of a person with initials instead of forenames (*F. Marc*), composed."""
    by_kind: defaultdict[str, list[str]] = defaultdict(list)
    for form in entry.forms:
        by_kind[form.kind].append(composed(form.text))
    texts = set(map(composed, entry.texts()))
    for surname, forename in product(by_kind["surname"], by_kind["forename"]):
        if entry.kind == "person" and f"{forename} {surname}" in texts:
            letters = [f"{name[0]}." for name in forename.split() if name[0].isupper()]
            if letters:
                yield f"{' '.join(letters)} {surname}"
