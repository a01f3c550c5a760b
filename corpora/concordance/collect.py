"""The data of a concordance, from documents: entities, their mentions, forms that do not agree.

All texts and mentions are held in memory: about three times the size of the text.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from corpora.document import Document, Mention
from corpora.matching.composition import composed
from corpora.matching.form_table import SurfaceMatcher
from corpora.registers.entry import Entry, FormKind, kind_of_label
from corpora.registers.lines import TextLines
from corpora.registers.register import Register

NO_ID = ""
"""Stands for the id of mentions without one."""
_SEARCHED: tuple[FormKind, ...] = (
    *("canonical", "variant", "full", "inverted", "with_role", "surname", "added"),
)
"""The kinds of a register's forms that are searched for in the text; forenames alone are not."""
MIN_RATIO = 0.1
"""The lowest ratio of tagged places of a name; a word below it is a common word."""
_DATES = ("sent_date", "date")
_ISO = re.compile(r"(?P<year>-?\d{4})(?:-\d\d){0,2}")
_YEAR = re.compile(r"(?<!\d)(?P<year>\d{4})(?!\d)")


class ShownDocument(NamedTuple):
    """The parts of a document that are shown."""

    id: str
    title: str
    date: str
    """The date in the document; empty if there is none."""
    source: str
    text: str
    lines: TextLines

    @property
    def key(self) -> tuple[bool, int, str, str]:
        """The key that sorts letters by date; letters without a year come last."""
        written = _ISO.match(self.date) or _YEAR.search(self.date)
        if written is None:
            return (True, 0, "", self.id)
        return (False, int(written["year"]), written[0].removeprefix(written["year"]), self.id)


class LetterRange(NamedTuple):
    """A range of characters of a letter."""

    letter: int
    start: int
    end: int
    label: str = ""


@dataclass(slots=True)
class Subject:
    """An entity with its mentions."""

    id: str
    """The id of its entry, or else the id in the mentions."""
    kind: str
    name: str
    entry: Entry | None = None
    is_in_vocab: bool = False
    """Whether an entity vocabulary names it."""
    mentions: list[LetterRange] = field(default_factory=list)
    forms: Counter[str] = field(default_factory=Counter)
    labels: Counter[str] = field(default_factory=Counter)
    known: tuple[str, ...] = ()
    """The forms that a register or a vocabulary gives it; like ``forms``, composed."""


@dataclass(slots=True)
class Untagged:
    """A known form, with its occurrences outside of mentions."""

    form: str
    subjects: list[str]
    n_tagged: int
    occurrences: list[LetterRange] = field(default_factory=list)

    @property
    def n(self) -> int:
        """The number of all places of the form."""
        return self.n_tagged + len(self.occurrences)


@dataclass(slots=True)
class Concordance:
    """All data that the pages show."""

    letters: list[ShownDocument]
    """All letters, sorted by date."""
    subjects: dict[str, Subject]
    has_register: bool
    ambiguous: dict[str, dict[tuple[str, str], list[LetterRange]]]
    """The occurrences of ambiguous forms, by form, then by id and label: the form has more than one
    id or label, or lacks the id that it has elsewhere."""
    meant: dict[str, list[str]]
    """The ids of the entities that each known form may mean."""
    untagged: list[Untagged]
    common: list[Untagged]
    """The known forms that are seldom tagged, and so are words: counted, without their places."""
    n_without_id: int
    """The number of mentions of persons, places and the like that have no id."""


def collect(
    documents: Iterable[Document],
    register: Register | None,
    *,
    vocab: Mapping[str, tuple[str, Sequence[str]]],
) -> Concordance:
    """Collect the mentions of documents by entity.

    ``vocab`` has the titles and the forms of entities that no register has. A form that is tagged
    in less than ``MIN_RATIO`` of its places is a common word.
    """
    documents = sorted(documents, key=lambda document: _letter(document).key)
    letters = [_letter(document) for document in documents]
    subjects = {
        entry.id: Subject(entry.id, entry.kind, entry.name, entry, known=_composed(entry.texts()))
        for entry in (register.entries.values() if register else ())
    }
    by_form: dict[str, dict[tuple[str, str], list[LetterRange]]] = defaultdict(dict)
    for number, document in enumerate(documents):
        for mention in document.mentions:
            found = LetterRange(number, mention.start, mention.end, mention.label or "")
            form = composed(" ".join(document.text[mention.start : mention.end].split()))
            for id in _ids(mention, register):
                by_form[form].setdefault((id, found.label), []).append(found)
                if id != NO_ID:
                    _add(subjects, id, found=found, form=form)
    n_without_id = sum(
        len(at)
        for places in by_form.values()
        for (id, label), at in places.items()
        if id == NO_ID and kind_of_label(label)
    )
    for subject in subjects.values():
        _name(subject, vocab)
    _drop_labels_without_ids(by_form)
    meant = _known_forms(subjects)
    untagged, common = _split(_untagged(documents, subjects, meant))
    return Concordance(
        letters=letters,
        subjects=subjects,
        has_register=register is not None,
        ambiguous={
            form: places
            for form, places in by_form.items()
            if len(places) > 1 or (form in meant and any(id == NO_ID for id, _ in places))
        },
        meant=meant,
        untagged=untagged,
        common=common,
        n_without_id=n_without_id,
    )


def _composed(forms: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(composed, forms)))


def _letter(document: Document) -> ShownDocument:
    dates = (document.metadata.get(name, "") for name in _DATES)
    date = next(filter(None, dates), document.timestamp or "")
    title = document.title or document.id
    lines = TextLines(document.metadata)
    return ShownDocument(document.id, title, date, document.source, document.text, lines)


def _ids(mention: Mention, register: Register | None) -> Iterator[str]:
    """Yield the ids of what a mention refers to: the entry's id if there is an entry."""
    if not mention.entity:
        yield NO_ID
    elif register is None:
        yield mention.entity
    else:
        for id in mention.entity.split():
            entry = register.find(id)
            yield entry.id if entry else id


def _add(subjects: dict[str, Subject], id: str, *, found: LetterRange, form: str) -> None:
    subject = subjects.setdefault(id, Subject(id, "", ""))
    subject.mentions.append(found)
    subject.forms[form] += 1
    subject.labels[found.label] += 1


def _name(subject: Subject, vocab: Mapping[str, tuple[str, Sequence[str]]]) -> None:
    """Set the name of an entity without an entry: from the vocabulary, or its usual form."""
    if subject.entry is not None:
        return
    [(label, _)] = subject.labels.most_common(1)
    subject.kind = kind_of_label(label) or "other"
    subject.name = subject.forms.most_common(1)[0][0]
    if subject.id in vocab:
        subject.name, subject.known = vocab[subject.id][0], _composed(vocab[subject.id][1])
        subject.is_in_vocab = True


def _drop_labels_without_ids(by_form: dict[str, dict[tuple[str, str], list[LetterRange]]]) -> None:
    """Remove mentions with labels that never have an id, such as dates."""
    with_id = {label for places in by_form.values() for id, label in places if id != NO_ID}
    for form, places in by_form.items():
        by_form[form] = {key: at for key, at in places.items() if key[1] in with_id}


def _known_forms(subjects: Mapping[str, Subject]) -> dict[str, list[str]]:
    """Map the forms of mentions and registers to the entities that they may mean."""
    meant: dict[str, dict[str, None]] = defaultdict(dict)
    for subject in subjects.values():
        searched = _composed(subject.entry.texts(*_SEARCHED)) if subject.entry else subject.known
        for form in (*subject.forms, *(form for form in searched if _is_a_name(form))):
            meant[form][subject.id] = None
    return {form: list(ids) for form, ids in meant.items()}


def _untagged(
    documents: Sequence[Document], subjects: Mapping[str, Subject], meant: Mapping[str, list[str]]
) -> list[Untagged]:
    """Find the occurrences of known forms that are in no mention."""
    tagged: Counter[str] = Counter()
    for subject in subjects.values():
        tagged.update(subject.forms)
    forms = list(meant)
    languages = Counter(document.lang for document in documents)
    lang = next((lang for lang, _ in languages.most_common(1)), None)
    matcher = SurfaceMatcher(forms, lang=lang, ignore_case=False)
    found: dict[str, Untagged] = {}
    for number, document in enumerate(documents):
        occupied = [(mention.start, mention.end) for mention in document.mentions]
        for start, end, index in matcher.find(document.text, occupied, composes=True):
            form = forms[index]
            if form not in found:
                found[form] = Untagged(form, meant[form], tagged[form])
            found[form].occurrences.append(LetterRange(number, start, end))
    return [found[form] for form in sorted(found, key=str.casefold)]


def _is_a_name(form: str) -> bool:
    """Tell whether to search a register's form: two characters, no small letter first, a letter."""
    return len(form) > 1 and not form[0].islower() and any(map(str.isalpha, form))


def _split(found: list[Untagged]) -> tuple[list[Untagged], list[Untagged]]:
    """Separate forms that are names from single words that are seldom tagged.

    A form of several words is a name, and so is one that is never tagged.
    """
    parted: tuple[list[Untagged], list[Untagged]] = ([], [])
    for each in found:
        is_word = " " not in each.form and each.n_tagged > 0
        parted[is_word and each.n_tagged / each.n < MIN_RATIO].append(each)
    return parted
