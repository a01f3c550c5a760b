"""The pages of a concordance: one for each register, or one for each initial where it is large."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import TypeVar
from urllib.parse import urlsplit

from corpora.concordance.collect import NO_ID, Concordance, Occurrence, Subject, Untagged
from corpora.registers.entry import Date, Entry
from corpora.registers.identifiers import address_of
from corpora.reports import counted, html_page, wide

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
class Page:
    """A file to write."""

    name: str
    html: str


def make_pages(concordance: Concordance, *, title: str) -> Iterator[Page]:
    """Yield all pages; the first is ``index.html``."""
    writer = _Writer(concordance, title)
    pages = list(writer.pages())
    yield Page("index.html", writer.index())
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
                yield "\t".join(" ".join(cell.split()) for cell in of) + "\n"


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

    def pages(self) -> Iterator[Page]:
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
        for number, part in enumerate(forms):
            body = "".join(map(self._form, part))
            yield self._page("forms", body, number=number, n_pages=len(forms))
        for number, some in enumerate(untagged):
            body = "".join(map(self._untagged_form, some))
            yield self._page("untagged", body, number=number, n_pages=len(untagged))

    def index(self) -> str:
        """Write the first page."""
        rows = []
        for kind in self.kinds:
            own = [subject for subject in self._subjects() if subject.kind == kind]
            mentioned = [subject for subject in own if subject.mentions]
            n = sum(len(subject.mentions) for subject in own)
            rows.append(
                f'<tr><td><a href="{kind}.html">{_TITLES[kind]}</a></td><td class="n">'
                f'{len(mentioned):,}</td><td class="n">{len(own) - len(mentioned):,}</td>'
                f'<td class="n">{n:,}</td></tr>'
            )
        head = '<tr><td></td><th class="n">mentioned</th><th class="n">never</th>'
        table = wide(f'<table>{head}<th class="n">mentions</th></tr>{"".join(rows)}</table>')
        n_untagged = sum(len(each.occurrences) for each in self.data.untagged)
        findings = {
            "forms with more than one id or label, or without an id": ("forms", len(self.forms)),
            "places where a known form stands untagged": ("untagged", n_untagged),
        }
        lines = [
            f'<li><a href="{page}.html">{n:,} {what}</a></li>' if n else f"<li>no {what}</li>"
            for what, (page, n) in findings.items()
        ]
        if self.data.has_register:
            unknown = [s for s in self._subjects() if s.entry is None and not s.is_in_vocab]
            links = ", ".join(f"{self._to(s)} ({len(s.mentions):,})" for s in unknown)
            after = f": {links}" if links else ""
            lines.append(f"<li>{counted(len(unknown), 'id')} that the register has not{after}</li>")
        common = ", ".join(
            f"<bdi>{escape(each.form)}</bdi> ({each.n_tagged:,} of {each.n:,})"
            for each in self.data.common
        )
        if common:
            lines.append(
                "<li>forms that are seldom tagged, and so are not listed (tagged, of all places): "
                f"{common}</li>"
            )
        n = len(self.data.letters)
        body = (
            f"<p>{counted(n, 'document')}.</p>{table}<h2>To look at</h2><ul>{''.join(lines)}</ul>"
        )
        return html_page(self.title, body, style=_STYLE)

    def _parts(self, kind: str) -> list[tuple[str, list[Subject]]]:
        """Distribute the mentioned entities of a kind over pages, and note the page of each."""
        own = self.mentioned(kind)
        if sum(len(subject.mentions) for subject in own) <= PAGE_MENTIONS:
            parts = [(f"{kind}.html", own)]
        else:
            parts = []
            for first, group in groupby(own, key=lambda subject: initial(subject.name)):
                cut = _cut(list(group), lambda subject: len(subject.mentions))
                name = f"{kind}-{_plain(first)}"
                parts += [(_numbered(name, n), some) for n, some in enumerate(cut)]
        for page, some in parts:
            self.page_of |= dict.fromkeys((subject.id for subject in some), page)
        return parts

    def _register(self, kind: str, parts: list[tuple[str, list[Subject]]]) -> Iterator[Page]:
        """Yield the page of a kind, and the pages of its initials."""
        never = [s for s in self._subjects() if s.kind == kind and not s.mentions]
        end = self._never(never)
        title = f"{_TITLES[kind]} · {self.title}"
        if [page for page, _ in parts] == [f"{kind}.html"]:
            body = self._contents(kind) + "".join(map(self._subject, parts[0][1])) + end
            yield Page(f"{kind}.html", self._html(title, body))
            return
        yield Page(f"{kind}.html", self._html(title, self._contents(kind) + end))
        links = [
            (page, f"{some[0].name[:12]} – {some[-1].name[:12]}") for page, some in parts if some
        ]
        for number, (page, some) in enumerate(parts):
            around = _neighbours(links, number)
            body = around + "".join(map(self._subject, some)) + around
            yield Page(page, self._html(f"{links[number][1]} · {title}", body, up=f"{kind}.html"))

    def _html(self, title: str, body: str, *, up: str = "") -> str:
        links = [
            f'<a href="{kind}.html">{_TITLES[kind]}</a>'
            for kind in self.kinds
            if f"{kind}.html" != up or up
        ]
        nav = " · ".join(['<a href="index.html">Index</a>', *links])
        return html_page(title, f"<nav>{nav}</nav>{body}", style=_STYLE)

    def _contents(self, kind: str) -> str:
        """List the entities of a kind by initial, each with a link."""
        groups = []
        for first, group in groupby(
            self.mentioned(kind), key=lambda subject: initial(subject.name)
        ):
            links = " · ".join(f"{self._to(s)} <i>{len(s.mentions):,}</i>" for s in group)
            groups.append(f"<dt>{escape(first)}</dt><dd>{links}</dd>")
        names = f"<dl>{''.join(groups)}</dl>"
        return f'<details class="az" open><summary>All by name</summary>{names}</details>{_LEGEND}'

    def _never(self, never: list[Subject]) -> str:
        if not never:
            return ""
        items = "".join(
            f"<li><bdi>{escape(s.name)}</bdi> <code>{escape(s.id)}</code> {_stands(s.entry)}</li>"
            for s in sorted(never, key=lambda s: _order(s.name))
        )
        return (
            f"<h2>Never mentioned: {len(never):,}</h2>"
            f"<details><summary>Show</summary><ul>{items}</ul></details>"
        )

    def _to(self, subject: Subject) -> str:
        page = self.page_of.get(subject.id, f"{subject.kind}.html")
        return f'<a href="{page}#e{self.numbers[subject.id]}"><bdi>{escape(subject.name)}</bdi></a>'

    def _subject(self, subject: Subject) -> str:
        """Write an entity with its mentions."""
        known = {*subject.known}
        forms = []
        for form, n in subject.forms.most_common():
            is_new = bool(known) and form not in known
            style = ' class="new"' if is_new else ""
            text = f"<bdi><b{style}>{escape(form)}</b></bdi>"
            if form in self.forms:
                page = self.page_of_form[form]
                text += f' <a href="{page}#f{self.forms[form]}">≠</a>'
            forms.append(f"{text} {n:,}")
        untagged = [
            f'<a href="{self.page_of_untagged[each.form]}#u{self.untagged[each.form]}">'
            f"<bdi>{escape(each.form)}</bdi></a> {len(each.occurrences):,}"
            for each in self.n_untagged.get(subject.id, ())
        ]
        lines = [f"<p>{' · '.join(forms)}</p>"]
        if untagged:
            lines.append(f"<p>Untagged: {' · '.join(untagged)}</p>")
        about = _about(subject, has_register=self.data.has_register)
        head = f'<h2>{escape(subject.name)}</h2><p class="a">{about}</p>{"".join(lines)}'
        mentions = self._occurrences(subject.mentions)
        return f'<section id="e{self.numbers[subject.id]}">{head}{mentions}</section>'

    def _occurrences(self, occurrences: Sequence[Occurrence]) -> str:
        """Write occurrences by letter, each in its context."""
        letters = []
        for number, group in groupby(occurrences, key=lambda each: each.letter):
            letter = self.data.letters[number]
            places = "".join(map(self._place, group))
            date = f"<time>{escape(letter.date[:10])}</time> " if letter.date else ""
            letters.append(
                f"<li>{date}<bdi>{escape(letter.title)}</bdi> <code>{escape(letter.source)}</code>"
                f"{places}</li>"
            )
        return f'<ol class="m">{"".join(letters)}</ol>'

    def _place(self, place: Occurrence) -> str:
        letter = self.data.letters[place.letter]
        text = letter.text
        left, right = _around(text, place.start, place.end)
        line = letter.lines.at(place.start)
        where = f"<i>{line}</i>" if line else f"<i>c{place.start}</i>"
        label = f' title="{escape(place.label)}"' if place.label else ""
        name = f"<mark{label}>{escape(text[place.start : place.end])}</mark>"
        return f"<p>{where}<bdi>{escape(left)}{name}{escape(right)}</bdi></p>"

    def _form(self, form: str) -> str:
        """Write a form that has several ids or labels."""
        places, subjects = self.data.ambiguous[form], self.data.subjects
        rows = []
        for (id, label), found in sorted(places.items(), key=lambda item: -len(item[1])):
            who = self._to(subjects[id]) if id != NO_ID else "without an id"
            if len(places) == 1:
                meant = self.data.meant[form]
                who += f" (known: {', '.join(self._to(subjects[id]) for id in meant)})"
            rows.append(
                f"<p>{who} · {escape(label)} · {len(found):,}</p>{self._occurrences(found[:3])}"
            )
            if len(found) > 3:
                rows.append(f"<p>and {len(found) - 3:,} more{'' if id == NO_ID else ' there'}.</p>")
        return f'<section id="f{self.forms[form]}"><h2>{escape(form)}</h2>{"".join(rows)}</section>'

    def _untagged_form(self, each: Untagged) -> str:
        """Write a form with its untagged occurrences."""
        who = ", ".join(self._to(self.data.subjects[id]) for id in each.subjects)
        return (
            f'<section id="u{self.untagged[each.form]}"><h2>{escape(each.form)}</h2>'
            f"<p>{who} · tagged {each.n_tagged:,}, untagged {len(each.occurrences):,}</p>"
            f"{self._occurrences(each.occurrences)}</section>"
        )

    def _page(self, name: str, body: str, *, number: int, n_pages: int) -> Page:
        titles = {
            "forms": "One form, several ids or labels, or none",
            "untagged": "Untagged known forms",
        }
        links = [(_numbered(name, n), str(n + 1)) for n in range(n_pages)]
        around = _neighbours(links, number) if n_pages > 1 else ""
        html = self._html(f"{titles[name]} · {self.title}", around + body + around)
        return Page(_numbered(name, number), html)


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


def _neighbours(links: Sequence[tuple[str, str]], number: int) -> str:
    """Write links to the previous and the next page."""
    shown = []
    for at, sign in ((number - 1, "← {}"), (number + 1, "{} →")):
        if 0 <= at < len(links):
            page, text = links[at]
            shown.append(f'<a href="{page}">{escape(sign.format(text))}</a>')
    return f"<nav>{' · '.join(shown)}</nav>"


def _stands(entry: Entry | None) -> str:
    return f"{escape(entry.source)}:{entry.line}" if entry else ""


def _about(subject: Subject, *, has_register: bool) -> str:
    """Write the description of an entity, from its entry."""
    entry = subject.entry
    parts = [f"<code>{escape(subject.id)}</code>"]
    if entry is None:
        if has_register and not subject.is_in_vocab:
            parts.append("<em>not in the register</em>")
        return " · ".join(parts)
    dates = _dates(entry)
    parts += [escape(text) for text in (dates, entry.description or "") if text]
    for id in entry.ids:
        address = address_of(id)
        text = escape(str(id))
        if address == id.id:
            text = escape(urlsplit(address).netloc if id.scheme == "url" else id.scheme)
        parts.append(f'<a href="{escape(address)}">{text}</a>' if address else text)
    parts.append(_stands(entry))
    return " · ".join(parts)


def _dates(entry: Entry) -> str:
    if entry.birth or entry.death:
        return f"{_years(entry.birth)}–{_years(entry.death)}"
    return _years(entry.active)


def _years(date: Date | None) -> str:
    if date is None:
        return ""
    years = dict.fromkeys(str(y) for y in (date.first_year, date.last_year) if y is not None)
    return "/".join(years) or date.given


_LEGEND = (
    '<p class="a">Before each place: the line of the file (after a c: the character of the text). '
    '<b class="new">Italic</b>: a form that the register has not. ≠: a form that has another id or '
    "label, too.</p>"
)
_STYLE = """
nav { margin: .8rem 0; } section { border-top: 1px solid #ccc; margin-top: 1.2rem; }
section h2 { margin-top: .8rem; font-size: 1.1rem; }
p { margin: .2rem 0; } .a { color: #666; font-size: .9em; } .az dt { float: left; clear: left;
  width: 2rem; font-weight: bold; } .az dd { margin: 0 0 .3rem 2rem; } i { font-style: normal;
  color: #6b6b6b; font-size: .85em; font-variant-numeric: tabular-nums; }
.m { list-style: none; padding: 0; } .m li { margin: .5rem 0; } .m p { padding-left: 3rem;
  text-indent: -3rem; } .m p i { display: inline-block; width: 2.5rem; margin-right: .5rem;
  text-align: right; text-indent: 0; } time { font-weight: 600; }
mark { background: #fde68a; color: inherit; padding: 0 .1em; } b.new { font-style: italic;
  font-weight: 600; border-bottom: 1px dotted; } em { color: #b45309; }
@media (max-width: 30rem) { body { margin: 1rem auto; } .m p { padding-left: 0; text-indent: 0; }
  .m p i { width: auto; } }
@media print { mark { font-weight: 600; } }
@media screen and (prefers-color-scheme: dark) { mark { background: #854d0e; }
  section { border-color: #444; }
  .a, i { color: #999; } em { color: #fbbf24; } }
"""
