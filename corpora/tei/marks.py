"""The places of elements in the text of a document, and the mentions that names become."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from corpora.document import Mention, Paragraph, Span
from corpora.tei.edition import Edition
from corpora.tei.languages import Language
from corpora.tei.layout import OpenName
from corpora.tei.pointers import entity_of
from corpora.tei.xml import Element

S = TypeVar("S", bound=Span)


class MarkContext(NamedTuple):
    """The context of a place: its language, page and speaker."""

    language: Language | None = None
    page: str = ""
    """``@n`` of the last ``pb``."""
    facs: str = ""
    """``@facs`` of the last ``pb``."""
    who: str = ""
    """``@who`` of the speech (``sp``, ``u``) around it."""

    def attributes(self) -> dict[str, str]:
        """Return the attributes that a mention gets from its context."""
        named = {"page": self.page, "facs": self.facs, "who": self.who}
        return {name: value for name, value in named.items() if value}


class Mark(NamedTuple):
    """The place of an element in the text."""

    before: OpenName
    """Its ``end`` is the number of characters before it."""
    place: OpenName
    origin: str
    context: MarkContext

    @property
    def start(self) -> int:
        """The offset of its first character; of the next one for an element without text."""
        return self.place.start if self.place.start >= 0 else self.before.end

    @property
    def end(self) -> int:
        """The offset after its last character."""
        return self.place.end if self.place.start >= 0 else self.before.end


class NameMark(NamedTuple):
    """An element that names something."""

    element: Element
    label: str | None
    mark: Mark


def to_mention(name: NameMark, span: Span, edition: Edition) -> Mention:
    """Create the mention of a name: what it names, its element and all attributes, its place."""
    element = name.element
    attributes = {"element": element.written_name, "byte": str(element.byte)}
    if element.file:
        attributes["file"] = element.file
    attributes |= {"in": name.mark.origin, **name.mark.context.attributes()}
    attributes |= {f"@{key}": value for key, value in element.attributes.items()}
    if reading := "".join(ruby.text() for ruby in element.walk() if ruby.name == "rt"):
        attributes["reading"] = reading
    return Mention(
        span.start,
        span.end,
        entity=entity_of(element.attributes, edition),
        label=name.label,
        attributes=attributes,
    )


def trim(place: OpenName | Span, text: str) -> Span | None:
    """Strip white space at both ends; None if nothing is left."""
    start, end = place.start, min(place.end, len(text))
    while start < end and text[end - 1].isspace():
        end -= 1
    while 0 <= start < end and text[start].isspace():
        start += 1
    return Span(start, end) if 0 <= start < end else None


def trim_all(places: Iterable[OpenName], text: str) -> list[Span]:
    """Strip white space at both ends of places; those with other characters are left, in order."""
    return sorted(span for place in places if (span := trim(place, text)))


def starting_in(within: Span, spans: Sequence[S]) -> Sequence[S]:
    """Return those of ordered spans that begin in another."""
    first = bisect_left(spans, within.start, key=_start)
    return spans[first : bisect_left(spans, within.end, lo=first, key=_start)]


def _start(span: Span) -> int:
    return span.start


def trim_paragraphs(paragraphs: list[Paragraph], text: str) -> tuple[Paragraph, ...]:
    """Strip white space at both ends of paragraphs; those without other characters are left out."""
    spans = ((trim(OpenName(p.start, p.end), text), p.kind) for p in paragraphs)
    return tuple(Paragraph(span.start, span.end, kind) for span, kind in spans if span)


def divide(
    paragraph: Span, marked: Sequence[Span], names: Sequence[Span]
) -> Iterator[tuple[Span, bool]]:
    """Divide a paragraph at marked sentences, not inside a name; tell what is a marked sentence.

    ``marked`` are ordered; what overlaps an earlier one is left out. Pieces may begin and end with
    white space.
    """
    if not marked:
        yield paragraph, False
        return
    cuts = {paragraph.start: False}  # where a piece begins, and whether it is marked
    reach = paragraph.start
    for span in marked:
        if span.start >= reach:
            reach = min(span.end, paragraph.end)
            cuts |= {span.start: True, reach: False}
    places = list(cuts)
    for name in names:
        first = bisect_right(places, name.start)
        for cut in places[first : bisect_left(places, name.end)]:
            cuts.pop(cut, None)
    cuts.pop(paragraph.end, None)
    for (start, is_marked), end in zip(cuts.items(), [*list(cuts)[1:], paragraph.end], strict=True):
        yield Span(start, end), is_marked


def join_paragraphs(
    paragraphs: tuple[Paragraph, ...], mentions: list[Mention]
) -> Iterator[tuple[Span, list[Mention]]]:
    """Yield paragraphs with the names in them.

    Where a name continues in the next paragraph, both are joined.
    """
    waiting = iter(mentions)  # in reading order
    mention = next(waiting, None)
    start, reach, inside = None, 0, list[Mention]()
    for paragraph in paragraphs:
        start = paragraph.start if start is None else start
        while mention is not None and mention.start < paragraph.end:
            inside.append(mention)
            reach = max(reach, mention.end)
            mention = next(waiting, None)
        if reach <= paragraph.end:
            yield Span(start, paragraph.end), inside
            start, inside = None, []
