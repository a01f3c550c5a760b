"""Where forms, words and entities stand in the letters that were read."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Literal

from corpora.document import SpanIndex, index_of
from modeling.workbench.candidates import find_all
from modeling.workbench.desk import Desk
from modeling.workbench.entries import examples
from modeling.workbench.letters import Letter
from modeling.workbench.messages import Candidate, Candidates, Place, Places, Status
from modeling.workbench.names import Item, spans_of

_CONTEXT = 48
_MAX_FOUND = 500


def occurrences(desk: Desk, form: str) -> Places:
    """Places where a form stands in all letters that were read, and what is there."""
    with desk.lock:
        places = _places(desk, form)
        return {
            "found": list(islice(places, _MAX_FOUND)),
            "more": sum(1 for _ in places),
            "unread": sum(not (each.sha256 or each.error) for each in desk.letters.all),
        }


def _places(desk: Desk, form: str) -> Iterator[Place]:
    if not form.strip():
        return
    for letter in desk.letters.all:
        for number, names in enumerate(letter.names):
            text = names.document.text
            if form not in text:
                continue
            items, there = SpanIndex[Item](), index_of(names.document.mentions)
            for item in names.items():
                items.add(item.start, item.end, item)
            for span in spans_of(text, form):
                touched = items.touching(span.start, span.end)
                status: Status | Literal["there", "none"]
                same = [i for i in touched if (i.start, i.end) == (span.start, span.end)]
                own = bool(there.touching(span.start, span.end))
                if not same and (own or any(i.status == "accepted" for i in touched)):
                    status = "there"
                else:
                    status = same[0].status if same else "none"
                yield {
                    "letter": letter.number,
                    "title": letter.title,
                    "document": number,
                    "start": span.start,
                    "end": span.end,
                    "before": text[max(0, span.start - _CONTEXT) : span.start],
                    "form": form,
                    "after": text[span.end : span.end + _CONTEXT],
                    "status": status,
                    "item": same[0].to_json() if same else None,
                }


def search(desk: Desk, words: str) -> Places:
    """Find words in the texts of all letters that were read, whatever their case."""
    wanted = words.casefold().strip()
    with desk.lock:
        places = (
            place
            for letter in (desk.letters.all if wanted else ())
            for number in range(len(letter.names))
            for place in _search(letter, number, wanted)
        )
        return {
            "found": list(islice(places, _MAX_FOUND)),
            "more": sum(1 for _ in places),
            "unread": sum(not (each.sha256 or each.error) for each in desk.letters.all),
        }


def entries(desk: Desk, words: str, *, form: str, label: str, source: str = "0") -> Candidates:
    """Find candidates of a source for words, or for the form of a name, with an example."""
    found = find_all(desk.sources, words or form, label=label, of=source)
    with desk.lock:
        given = examples(_contexts(desk), {each["entity"] for each in found["entries"]})
    shown: list[Candidate] = [
        {**one, "example": given.get(one["entity"], "")} for one in found["entries"]
    ]
    return {**found, "entries": shown}


def _contexts(desk: Desk) -> Iterator[tuple[str, str]]:
    """Entities that are meant in the letters, and where."""
    for letter in desk.letters.all:
        for names in letter.names:
            text = names.document.text
            decided = [item.mention() for item in names.items() if item.status == "accepted"]
            for name in (*decided, *names.document.mentions):
                if name.entity:
                    start, end = max(0, name.start - 30), min(len(text), name.end + 30)
                    yield name.entity, " ".join(text[start:end].split())


def _search(letter: Letter, number: int, wanted: str) -> Iterable[Place]:
    text = letter.names[number].document.text
    folded = text.casefold()
    if len(folded) != len(text):  # some letters become two: places would shift
        folded = text.lower() if len(text.lower()) == len(text) else text
    start = folded.find(wanted)
    while start >= 0:
        end = start + len(wanted)
        yield {
            "letter": letter.number,
            "title": letter.title,
            "document": number,
            "start": start,
            "end": end,
            "before": text[max(0, start - _CONTEXT) : start],
            "form": text[start:end],
            "after": text[end : end + _CONTEXT],
        }
        start = folded.find(wanted, end)
