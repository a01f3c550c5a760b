"""Letters about four people: two are called Marc, and the letter shows which one is meant."""

from corpora.document import Document, Mention
from modeling.link.candidates import KnownEntity
from modeling.link.records import LinkRecord, record_of

FRANZ, MARIA, PAUL, ANNA = "s:franz", "s:maria", "s:P.3", "s:P.4"
REGISTER = {
    PAUL: KnownEntity(entity=PAUL, forms=("Klee, Paul", "Klee", "Paul Klee"), kind="person"),
    ANNA: KnownEntity(entity=ANNA, forms=("Großmann, Anna",), kind="person", born=1905, dead=1950),
}


def letter(
    id: str, text: str, *names: tuple[str, str | None], by: str = "", day: str = "1914-01-15"
) -> Document:
    """Write a letter; each name is marked where it first stands after the one before."""
    mentions, start = [], 0
    for form, entity in names:
        start = text.index(form, start)
        mentions.append(Mention(start, start + len(form), entity=entity, label="person"))
        start += len(form)
    facts = {"sent_date": day} | ({"sent_by": by} if by else {})
    return Document(
        id=id, group="s", source=id, text=text, mentions=tuple(mentions), metadata=facts
    )


def letters(n: int = 12) -> list[Document]:
    """Make letters: those by Herwarth say Marc for Franz, those by Else say it for Maria."""
    made = []
    for number in range(n):
        by, who = (("Herwarth", FRANZ), ("Else", MARIA))[number % 2]
        first = "Franz" if who == FRANZ else "Maria"
        text = f"Gestern kam Marc zu uns. Ich sah {first} Marc malen, und Klee schrieb."
        names = [("Marc", who), (f"{first} Marc", who), ("Klee", PAUL)]
        made.append(letter(f"{number}", text, *names, by=by))
    return made


def records(n: int = 12) -> list[LinkRecord]:
    """Return the letters as a linker sees them."""
    return [record_of(document) for document in letters(n)]
