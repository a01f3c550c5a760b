"""Counts of an edition's tagged names and of places where their forms stand, by fold.

All that is said of a place in a tagged document comes from the other folds alone, as if the names
of its own fold were not tagged: so the places of tagged documents show how right names are that are
written into others. Names without an id, or with an id that the register lacks, say that a form is
a name; they do not say what it means.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Generic, TypeVar

from corpora.document import Document, Mention
from corpora.hashing.sampling import ratio
from corpora.matching.composition import composed
from corpora.registers.entry import Entry, FormKind, kind_of_label
from corpora.registers.lemmas import Lemmas
from corpora.registers.occurrences import WORD, FormFinder, Occurrence
from corpora.registers.register import Register
from corpora.tei.edition import Edition
from corpora.tei.pointers import with_space

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


K = TypeVar("K")
N_FOLDS = 10
_MANY = 5
"""The least number of places of a kind without a tagged name that make a document with tagged names
of other kinds one in which this kind is not tagged."""
SIDES = ("the word before", "the word after", "the block")
"""What stands around a place; the block of a name of a correspondent is one of its own."""
_BY_MODELS = re.compile(r"(#onoma-[\w.-]+\s*)+")
_CORRESPONDENTS = ("sent_by", "received_by")


class HeldCounts(Generic[K]):
    """Counts that can be read without those of one fold of the documents."""

    def __init__(self) -> None:
        self._all: Counter[K] = Counter()
        self._folds: defaultdict[int, Counter[K]] = defaultdict(Counter)

    def add(self, key: K, fold: int) -> None:
        """Count one, which was seen in a document of a fold."""
        self._all[key] += 1
        self._folds[fold][key] += 1

    def get(self, key: K, held: int | None) -> int:
        """Return a count without the fold that is held back; None: with all."""
        count = self._all.get(key, 0)
        return count if held is None or not count else count - self._folds[held][key]

    def keys(self, held: int | None) -> Iterator[K]:
        """Yield the keys that have a count without a fold."""
        return (key for key in self._all if self.get(key, held))


@dataclass(frozen=True, slots=True)
class TaggedName:
    """A tagged name of a kind that registers have."""

    form: str
    kind: str
    entities: tuple[str, ...]
    """What it refers to: ids of the register's entries, or, without a register, entities."""


class TaggedNames:
    """The forms of an edition, what is tagged in its documents, and where forms stand untagged."""

    def __init__(
        self, documents: Sequence[Document], register: Register | None, edition: Edition
    ) -> None:
        self.register, self._edition = register, edition
        self.lang = next((document.lang for document in documents if document.lang), None)
        self.known = register_forms(register) if register else {}
        self.names = HeldCounts[tuple[str, str]]()  # form, kind
        self.entities = HeldCounts[tuple[str, str]]()  # form, entity
        self.documents = HeldCounts[tuple[str, str]]()  # form, entity: once for each document
        self.mentions = HeldCounts[str]()  # entity
        self.in_letters = HeldCounts[tuple[str, str, str]]()  # correspondents, form, entity
        self.beside = HeldCounts[tuple[str, str, str]]()  # form, word before it, entity
        self.inside = HeldCounts[tuple[str, bool]]()  # word of a longer name, whether it is first
        self.places = HeldCounts[tuple[str, bool]]()  # form or kind, whether it is tagged there
        self.around = HeldCounts[tuple[str, int, str, bool]]()  # form or kind, side, word, tagged
        self.with_unknown_id: set[str] = set()
        """Forms of names with an id that the register lacks."""
        self.words: Counter[str] = Counter()
        self.meanings: defaultdict[str, set[str]] = defaultdict(set)
        self.kinds: defaultdict[str, set[str]] = defaultdict(set)
        for document in documents:
            self.words.update(WORD.findall(document.text))
        self.tagged = [document for document in documents if self._read_names(document)]
        self.listed_inside: set[tuple[str, bool]] = set()
        for form, known in self.known.items():
            self.kinds[form].update(known.entries.values())
            words = WORD.findall(form)
            self.listed_inside.update((word, True) for word in words[:-1])
            self.listed_inside.update((word, False) for word in words[1:])
        finder = self.finder(None)
        for document in self.tagged:
            self._read_places(document, finder)

    def finder(self, held: int | None) -> FormFinder:
        """Make a finder of the register's forms, and of those that are tagged in other folds."""
        forms = {form for form, _ in self.names.keys(held)}
        return FormFinder(forms.union(self.known), lang=self.lang)

    def names_of(self, document: Document) -> dict[tuple[int, int], TaggedName]:
        """Find the names that people tagged, by start and end; those of models do not count."""
        names: dict[tuple[int, int], TaggedName] = {}
        lemmas = Lemmas(document)
        for mention in whole_names(document):
            kind = kind_of_label(mention.label)
            if kind and not is_by_model(mention):
                span = mention.start, mention.end
                earlier = names[span].entities if span in names else ()
                form = lemmas.form(*span)
                names[span] = TaggedName(
                    form, kind, (*earlier, *self._entities(mention, document.text))
                )
        return names

    def _entities(self, mention: Mention, text: str) -> Iterator[str]:
        entity = self.identify(mention.entity) if mention.entity else None
        if entity:
            yield entity
        elif mention.entity:
            self.with_unknown_id.add(composed(text[mention.start : mention.end]))

    def identify(self, entity: str) -> str | None:
        """Return the id of the register's entry; without a register, the entity as it is."""
        if self.register is None:
            return entity
        entry = self.register.find(entity)
        return entry.id if entry else None

    def correspondents(self, document: Document) -> tuple[str, frozenset[str]]:
        """Return who wrote to whom, as one string, and the entities of these persons."""
        references = [
            document.metadata.get(f"{key}_ref", document.metadata.get(key, ""))
            for key in _CORRESPONDENTS
        ]
        each = (one for reference in references for one in reference.split("; ") if one)
        entities = (self.identify(with_space(one, self._edition)) for one in each)
        return " → ".join(references), frozenset(filter(None, entities))

    def surroundings(
        self, document: Document, occurrences: Sequence[Occurrence], held: int | None
    ) -> Iterator[tuple[str, ...]]:
        """Yield for each place what stands around it, as ``SIDES`` lists it."""
        correspondents = self.correspondents(document)[1]
        for one in occurrences:
            known = self.known.get(one.form)
            meant = {e for e in self.meanings[one.form] if self.entities.get((one.form, e), held)}
            is_own = bool(correspondents & meant.union(known.entries if known else ()))
            yield one.left, one.right, f"{one.block} {is_own}"

    def tagged_kinds(self, document: Document, occurrences: Sequence[Occurrence]) -> set[str]:
        """Tell the kinds of names that are tagged in a document: of the others nothing is known.

        A kind without a tagged name is one of them only if few of its forms stand there.
        """
        there = {name.kind for name in self.names_of(document).values()}
        if not there:
            return set()
        counts = Counter(self.kind(one.form, None) for one in occurrences)
        return there | {kind for kind, count in counts.items() if count < _MANY}

    def kind(self, form: str, held: int | None) -> str:
        """Return the kind of most tagged names of a form, or else of an entry."""
        counts = {kind: self.names.get((form, kind), held) for kind in sorted(self.kinds[form])}
        known = self.known.get(form)
        entries = set(known.entries.values()) if known else set()
        return max(counts, key=lambda kind: (counts[kind], kind in entries))

    def share_inside(self, word: str, held: int | None, *, is_first: bool) -> float:
        """Estimate in how many of its places a word begins (or continues) a longer name."""
        inside = self.inside.get((word, is_first), held) + ((word, is_first) in self.listed_inside)
        return min(1.0, inside / (self.words[word] + 1))

    def _read_names(self, document: Document) -> bool:
        names, fold = self.names_of(document), fold_of(document)
        letter, _ = self.correspondents(document)
        for name in names.values():
            self.names.add((name.form, name.kind), fold)
            self.kinds[name.form].add(name.kind)
            words = WORD.findall(name.form)
            for word in words[:-1]:
                self.inside.add((word, True), fold)
            for word in words[1:]:
                self.inside.add((word, False), fold)
            for entity in name.entities:
                self.meanings[name.form].add(entity)
                self.entities.add((name.form, entity), fold)
                self.mentions.add(entity, fold)
                self.in_letters.add((letter, name.form, entity), fold)
        for pair in {(name.form, entity) for name in names.values() for entity in name.entities}:
            self.documents.add(pair, fold)
        return bool(names)

    def _read_places(self, document: Document, finder: FormFinder) -> None:
        names, fold, occurrences = self.names_of(document), fold_of(document), finder.find(document)
        kinds = self.tagged_kinds(document, occurrences)
        around = self.surroundings(document, occurrences, fold)
        for one, sides in zip(occurrences, around, strict=True):
            name = names.get((one.start, one.end))
            kind = name.kind if name else self.kind(one.form, None)
            if kind not in kinds:
                continue
            for entity in name.entities if name else ():
                self.beside.add((one.form, one.left, entity), fold)
            for key in (one.form, kind):
                self.places.add((key, name is not None), fold)
                for side, word in enumerate(sides):
                    self.around.add((key, side, word, name is not None), fold)


def whole_names(document: Document) -> list[Mention]:
    """Return the mentions of a document; names side by side with one id count as one.

    An edition tags *Ham* and *burg*, or *Prinz* and *Eugen*, alone where a line ends between them.
    They are parts of one name if they have one entity and one label, both are by people or both by
    models, at most a blank is between them, and no word occurs in both.
    """
    mentions: list[Mention] = []
    text = document.text
    for mention in document.mentions:
        last = mentions[-1] if mentions else None
        if last and last.entity and _alike(last) == _alike(mention):
            parts = text[last.start : last.end], text[mention.start : mention.end]
            is_next = text[last.end : mention.start] in {"", " "} and last.end <= mention.start
            if is_next and set(WORD.findall(parts[0])).isdisjoint(WORD.findall(parts[1])):
                mentions[-1] = replace(last, end=mention.end)
                continue
        mentions.append(mention)
    return mentions


def _alike(mention: Mention) -> tuple[str | None, str | None, bool]:
    return mention.entity, mention.label, is_by_model(mention)


def is_by_model(mention: Mention) -> bool:
    """Tell whether Onoma wrote a name, and no person."""
    return bool(_BY_MODELS.fullmatch(mention.attributes.get("@resp", "")))


def fold_of(document: Document) -> int:
    """Return the fold of a document: that of its file."""
    return int(ratio(document.source) * N_FOLDS)
