"""The pages of a concordance: one for each register, or one for each initial where it is large."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar
from urllib.parse import urlsplit

from corpora.concordance.collect import (
    NO_ID,
    Concordance,
    LetterRange,
    ShownDocument,
    Subject,
    Untagged,
)
from corpora.registers.entry import Date, Entry
from corpora.registers.identifiers import address_of
from corpora.reports import counted
from corpora.reports.pages import render
from corpora.system.cells import one_line

T = TypeVar("T")

PAGE_MENTIONS = 1000
"""The most mentions on a page; a register with more is divided by initials."""
CONTEXT = 70
"""The characters of context on either side of a mention."""
_LONGEST_CUT = 30
"""The characters of the longest word at the edge of a context that is left out; Chinese, Japanese
and Thai have no spaces between words."""
_TITLES = {
    "person": "Persons",
    "place": "Places",
    "organization": "Organizations",
    "work": "Works",
    "event": "Events",
    "other": "Other entities",
}


@dataclass(frozen=True, slots=True)
class PageFile:
    """A file to write."""

    name: str
    html: str


@dataclass(frozen=True, slots=True)
class NameInContext:
    """A name in its context, after the line, or the character, at which it stands."""

    line: str
    left: str
    name: str
    right: str
    label: str | None


@dataclass(frozen=True, slots=True)
class FormMeaning:
    """An id and a label of a form, with its occurrences."""

    subject: Subject | None
    """The entity; None: the form stands without an id."""
    label: str | None
    occurrences: Sequence[LetterRange]
    known: Sequence[Subject]
    """The entities that the form means by the register, if it has no other id here."""


def make_pages(concordance: Concordance, *, title: str) -> Iterator[PageFile]:
    """Yield all pages; the first is ``index.html``."""
    writer = _Writer(concordance, title)
    pages = list(writer.pages())
    yield PageFile("index.html", writer.index())
    yield from pages


def make_table(concordance: Concordance) -> Iterator[str]:
    """Yield the lines of ``index.tsv``: each entity with each document that names it.

    Entities are sorted by kind and name as on the pages, documents by date.
    """
    yield "kind\tid\tname\tdocument\ttitle\tdate\tmentions\n"
    writer = _Writer(concordance, "")
    for kind in writer.kinds:
        for subject in writer.mentioned(kind):
            for number, n in sorted(Counter(each.letter for each in subject.mentions).items()):
                letter = concordance.letters[number]
                of = (kind, subject.id, subject.name, letter.id, letter.title, letter.date, str(n))
                yield "\t".join(map(one_line, of)) + "\n"


class _Writer:
    """A writer of the pages, which knows the page of each entity."""

    def __init__(self, concordance: Concordance, title: str) -> None:
        self.data, self.title = concordance, title
        self.page_of: dict[str, str] = {}
        self.numbers = {id: n for n, id in enumerate(concordance.subjects)}
        self.forms = {form: n for n, form in enumerate(sorted(concordance.ambiguous))}
        self.untagged = {each.form: n for n, each in enumerate(concordance.untagged)}
        self.page_of_form: dict[str, str] = {}
        self.page_of_untagged: dict[str, str] = {}
        self.n_untagged: dict[str, list[Untagged]] = {}
        for each in concordance.untagged:
            for id in each.subjects:
                self.n_untagged.setdefault(id, []).append(each)
        self.kinds = [kind for kind in _TITLES if any(s.kind == kind for s in self._subjects())]

    def _subjects(self) -> Iterable[Subject]:
        return self.data.subjects.values()

    def mentioned(self, kind: str) -> list[Subject]:
        """List the entities of a kind that are mentioned, by name."""
        own = (s for s in self._subjects() if s.kind == kind and s.mentions)
        return sorted(own, key=lambda subject: (*_order(subject.name), subject.id))

    def pages(self) -> Iterator[PageFile]:
        """Yield all pages except the first; pages are assigned before any is written."""
        forms = list(_cut(self.forms, lambda form: len(self.data.ambiguous[form]) * 3))
        untagged = list(_cut(self.data.untagged, lambda each: len(each.occurrences)))
        for number, part in enumerate(forms):
            self.page_of_form |= dict.fromkeys(part, _numbered("forms", number))
        for number, some in enumerate(untagged):
            names = [each.form for each in some]
            self.page_of_untagged |= dict.fromkeys(names, _numbered("untagged", number))
        parts = {kind: self._parts(kind) for kind in self.kinds}
        for kind in self.kinds:
            yield from self._register(kind, parts[kind])
        for name, title, shown in (
            ("forms", "One form, several ids or labels, or none", forms),
            ("untagged", "Untagged known forms", untagged),
        ):
            pages = [(_numbered(name, number), str(number + 1)) for number in range(len(shown))]
            for number, items in enumerate(shown):
                around = _neighbours(pages, number)
                yield self._page(pages[number][0], title, around=around, **{name: items})

    def index(self) -> str:
        """Write the first page."""
        kinds = []
        for kind in self.kinds:
            subjects = [subject for subject in self._subjects() if subject.kind == kind]
            n_mentioned = sum(bool(subject.mentions) for subject in subjects)
            n = sum(len(subject.mentions) for subject in subjects)
            kinds.append((kind, _TITLES[kind], (n_mentioned, len(subjects) - n_mentioned, n)))
        n_untagged = sum(len(each.occurrences) for each in self.data.untagged)
        unknown = [s for s in self._subjects() if s.entry is None and not s.is_in_vocab]
        several = "forms with more than one id or label, or without an id"
        return render(
            "concordance_index",
            w=self,
            title=self.title,
            n_documents=counted(len(self.data.letters), "document"),
            kinds=kinds,
            findings=[
                ("forms", len(self.forms), several),
                ("untagged", n_untagged, "places where a known form stands untagged"),
            ],
            unknown=unknown if self.data.has_register else None,
            n_unknown=counted(len(unknown), "id"),
        )

    def _parts(self, kind: str) -> list[tuple[str, list[Subject]]]:
        """Distribute the mentioned entities of a kind over pages, and note the page of each."""
        subjects = self.mentioned(kind)
        if sum(len(subject.mentions) for subject in subjects) <= PAGE_MENTIONS:
            parts = [(f"{kind}.html", subjects)]
        else:
            parts = []
            for first, group in self._by_initial(subjects):
                cut = _cut(group, lambda subject: len(subject.mentions))
                name = f"{kind}-{_plain(first)}"
                parts += [(_numbered(name, n), some) for n, some in enumerate(cut)]
        for page, some in parts:
            self.page_of |= dict.fromkeys((subject.id for subject in some), page)
        return parts

    @staticmethod
    def _by_initial(subjects: Sequence[Subject]) -> list[tuple[str, list[Subject]]]:
        groups = groupby(subjects, key=lambda subject: initial(subject.name))
        return [(first, list(group)) for first, group in groups]

    def _register(self, kind: str, parts: list[tuple[str, list[Subject]]]) -> Iterator[PageFile]:
        """Yield the page of a kind, and the pages of its initials."""
        never = [s for s in self._subjects() if s.kind == kind and not s.mentions]
        never.sort(key=lambda subject: _order(subject.name))
        main, title = f"{kind}.html", _TITLES[kind]
        is_one = [page for page, _ in parts] == [main]
        shown = parts[0][1] if is_one else []
        initials = self._by_initial(self.mentioned(kind))
        yield self._page(main, title, subjects=shown, initials=initials, never=never)
        links = [
            (page, f"{some[0].name[:12]} – {some[-1].name[:12]}") for page, some in parts if some
        ]
        for number, (page, some) in enumerate([] if is_one else parts):
            around = _neighbours(links, number)
            yield self._page(page, f"{links[number][1]} · {title}", subjects=some, around=around)

    def _page(self, name: str, title: str, **parts: object) -> PageFile:
        """Render a page of the parts that are given."""
        nav = [("index.html", "Index"), *((f"{kind}.html", _TITLES[kind]) for kind in self.kinds)]
        empty: dict[str, object] = dict.fromkeys(("subjects", "forms", "untagged", "never"), ())
        values = empty | {"around": (), "initials": None, "nav": nav} | parts
        return PageFile(
            name, render("concordance", w=self, title=f"{title} · {self.title}", **values)
        )

    # what the templates ask for

    def address(self, subject: Subject) -> str:
        """Return the page of an entity, with its place there."""
        page = self.page_of.get(subject.id, f"{subject.kind}.html")
        return f"{page}#e{self.numbers[subject.id]}"

    def by_letter(
        self, occurrences: Sequence[LetterRange]
    ) -> Iterator[tuple[ShownDocument, Iterator[NameInContext]]]:
        """Yield letters with occurrences in their contexts."""
        for number, group in groupby(occurrences, key=lambda each: each.letter):
            letter = self.data.letters[number]
            yield letter, (_context(letter, occurrence) for occurrence in group)

    def meanings(self, form: str) -> Iterator[FormMeaning]:
        """Yield the ids and labels of a form that has several, the most frequent first."""
        occurrences, subjects = self.data.ambiguous[form], self.data.subjects
        known = [subjects[id] for id in self.data.meant[form]] if len(occurrences) == 1 else []
        for (id, label), some in sorted(occurrences.items(), key=lambda item: -len(item[1])):
            yield FormMeaning(subjects[id] if id != NO_ID else None, label, some, known)

    @staticmethod
    def facts(entry: Entry) -> Iterator[tuple[str, str]]:
        """Yield what an entry says, each with the address that it leads to, if any."""
        for text in (_dates(entry), entry.description):
            if text:
                yield text, ""
        for id in entry.ids:
            address = address_of(id) or ""
            text = str(id)
            if address == id.id:
                text = urlsplit(address).netloc if id.scheme == "url" else id.scheme
            yield text, address
        yield _Writer.place_of(entry), ""

    @staticmethod
    def place_of(entry: Entry | None) -> str:
        """Return the file and line of an entry."""
        return f"{entry.source}:{entry.line}" if entry else ""


def _context(letter: ShownDocument, occurrence: LetterRange) -> NameInContext:
    text, start, end = letter.text, occurrence.start, occurrence.end
    left, right = _around(text, start, end)
    line = letter.lines.at(start)
    return NameInContext(
        f"{line}" if line else f"c{start}", left, text[start:end], right, occurrence.label
    )


def _around(text: str, start: int, end: int) -> tuple[str, str]:
    """Return the context on both sides, without words that it would cut, unless they are long."""
    left, right = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
    if start > CONTEXT:
        word, _, rest = left.partition(" ")
        left = "…" + (rest if len(word) <= _LONGEST_CUT else left)
    if end + CONTEXT < len(text):
        rest, _, word = right.rpartition(" ")
        right = (rest if len(word) <= _LONGEST_CUT else right) + "…"
    return left, right


def sort_key(name: str) -> str:
    """Return the key that sorts names without case, accents, and leading punctuation."""
    plain = unicodedata.normalize("NFKD", name)
    plain = "".join(c for c in plain if not unicodedata.combining(c)).casefold()
    return plain.lstrip("".join({c for c in plain if not c.isalnum()})) or plain


def initial(name: str) -> str:
    """Return the letter that a name is sorted under; ``#`` if it begins with none."""
    first = sort_key(name)[:1].upper()
    return first if first.isalpha() else "#"


def _order(name: str) -> tuple[bool, str, str]:
    """Return the key that sorts names so that those of one initial are together, ``#`` first."""
    first = initial(name)
    return first != "#", first, sort_key(name)


def _plain(first: str) -> str:
    """Convert an initial to a part of a file name."""
    return first.lower() if first.isascii() and first.isalpha() else f"u{ord(first):04x}"


def _cut(items: Iterable[T], weight: Callable[[T], int]) -> Iterator[list[T]]:
    """Split a list into parts of at most ``PAGE_MENTIONS``; a larger item is a part of its own."""
    part: list[T] = []
    total = 0
    for item in items:
        n = weight(item)
        if part and total + n > PAGE_MENTIONS:
            yield part
            part, total = [], 0
        part.append(item)
        total += n
    if part:
        yield part


def _numbered(name: str, number: int) -> str:
    return f"{name}-{number + 1}.html" if number else f"{name}.html"


def _neighbours(links: Sequence[tuple[str, str]], number: int) -> list[tuple[str, str]]:
    """Return links to the previous and the next page."""
    return [
        (links[at][0], sign.format(links[at][1]))
        for at, sign in ((number - 1, "← {}"), (number + 1, "{} →"))
        if 0 <= at < len(links)
    ]


def _dates(entry: Entry) -> str:
    if entry.birth or entry.death:
        return f"{_years(entry.birth)}–{_years(entry.death)}"
    return _years(entry.active)


def _years(date: Date | None) -> str:
    if date is None:
        return ""
    years = dict.fromkeys(str(y) for y in (date.first_year, date.last_year) if y is not None)
    return "/".join(years) or date.given
