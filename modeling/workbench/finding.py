"""Search for forms, words and entities in the letters that have been read."""

from collections.abc import Callable, Iterator
from itertools import accumulate, islice
from typing import Literal

from corpora.document import SpanIndex
from corpora.errors import CorpusError
from modeling.workbench.desk import Desk
from modeling.workbench.entries import examples
from modeling.workbench.letters import Letter
from modeling.workbench.messages import LetterPlace, LetterPlaces, SourceCandidates, Status
from modeling.workbench.names import Item, spans_of

_CONTEXT = 48
_MAX_FOUND = 500


def occurrences(desk: Desk, form: str) -> LetterPlaces:
    """Find the places of a form in all letters that were read, and the status of each."""
    return _found(desk, form.strip() and form, _occurrences)


def search(desk: Desk, words: str) -> LetterPlaces:
    """Find words in the texts of all letters that were read, whatever their case."""
    return _found(desk, words.casefold().strip(), _search)


def _found(
    desk: Desk, wanted: str, find: Callable[[Letter, int, str], Iterator[LetterPlace]]
) -> LetterPlaces:
    """Collect the first places that ``find`` yields for all documents, and count the others.

    An empty ``wanted`` has no places.
    """
    with desk.lock:
        places = (
            place
            for letter in (desk.letters.all if wanted else ())
            for number in range(len(letter.names))
            for place in find(letter, number, wanted)
        )
        return {
            "found": list(islice(places, _MAX_FOUND)),
            "more": sum(1 for _ in places),
            "unread": desk.n_unread,
        }


def _occurrences(letter: Letter, number: int, form: str) -> Iterator[LetterPlace]:
    names = letter.names[number]
    if form not in names.document.text:
        return
    items = SpanIndex[Item]()
    for item in names.items():
        items.add(item.start, item.end, item)
    for span in spans_of(names.document.text, form):
        touched = items.touching(span.start, span.end)
        same = next((i for i in touched if (i.start, i.end) == (span.start, span.end)), None)
        status: Status | Literal["none"] = same.status if same else "none"
        if not same and any(i.status in {"accepted", "there"} for i in touched):
            status = "there"
        shown = place_of(letter, number, span.start, end=span.end)
        yield {**shown, "status": status, "item": same.to_json() if same else None}


def entries(
    desk: Desk, words: str, *, form: str, label: str, source: str = "0"
) -> SourceCandidates:
    """Find candidates for words, or else a form, each with an example of its use.

    ``source`` is the index of the source, in digits. Its failure is returned as an ``error``, with
    no candidates.
    """
    if not source.isdecimal() or int(source) >= len(desk.sources):
        return {"entries": []}
    try:
        rows = desk.sources[int(source)].find(words or form, label=label)
    except CorpusError as error:
        return {"entries": [], "error": str(error)}
    with desk.lock:
        contexts = examples(_contexts(desk), {candidate["entity"] for candidate in rows})
    return {"entries": [{**row, "example": contexts.get(row["entity"], "")} for row in rows]}


def _contexts(desk: Desk) -> Iterator[tuple[str, str]]:
    """Yield the entity of each name in the letters, with the context of the name."""
    for letter in desk.letters.all:
        for names in letter.names:
            text = names.document.text
            for name in names.names():
                if name.entity:
                    start, end = max(0, name.start - 30), min(len(text), name.end + 30)
                    yield name.entity, " ".join(text[start:end].split())


def _search(letter: Letter, number: int, wanted: str) -> Iterator[LetterPlace]:
    """Find words without case: a character may be several then, as the ``ß`` of ``Straße``."""
    text = letter.names[number].document.text
    folded = text.casefold()
    start = folded.find(wanted)
    if start < 0:
        return
    sizes = (len(character.casefold()) for character in text)
    of_place = {place: index for index, place in enumerate(accumulate(sizes, initial=0))}
    while start >= 0:
        end = start + len(wanted)
        if start in of_place and end in of_place:
            yield place_of(letter, number, of_place[start], end=of_place[end])
        start = folded.find(wanted, end)


def place_of(letter: Letter, number: int, start: int, *, end: int) -> LetterPlace:
    """Describe a place in a document of a letter, with the text around it."""
    text = letter.names[number].document.text
    return {
        "letter": letter.number,
        "title": letter.title,
        "document": number,
        "start": start,
        "end": end,
        "before": text[max(0, start - _CONTEXT) : start],
        "form": text[start:end],
        "after": text[end : end + _CONTEXT],
    }
