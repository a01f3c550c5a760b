"""The messages of the workbench to its page (``page/*.js``): JSON of these shapes."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

Status = Literal["open", "accepted", "rejected"]


class History(TypedDict):
    """How many actions can be undone and done again."""

    undo: int
    redo: int


class Row(TypedDict):
    """A letter in the list."""

    n: int
    name: str
    title: str
    open: int
    decided: int
    lost: int
    isRead: bool
    isWaiting: bool
    error: str


class Listing(TypedDict):
    """All letters, or the first rows of a dataset, which has the last three."""

    edition: str
    labels: Sequence[str]
    reviewer: str
    letters: list[Row]
    journal: History
    unreadable: list[str]
    sources: list[str]
    canTrain: NotRequired[bool]
    isReadOnly: NotRequired[bool]
    isMore: NotRequired[bool]
    all: NotRequired[int]


class Name(TypedDict):
    """A name that the edition has."""

    start: int
    end: int
    label: str
    entity: str


class ShownItem(Name):
    """A name that is decided on."""

    id: str
    status: Status
    probability: float | None
    isNew: bool
    isChanged: bool
    reviewer: str
    time: str
    said: NotRequired[list[int | str | None] | None]
    """Start, end, label and entity that were suggested."""
    origin: NotRequired[str]
    """Of a row of a dataset."""


class Block(TypedDict):
    """A paragraph; ``part``: the note it is in; ``row``: of a table."""

    start: int
    end: int
    kind: str
    part: NotRequired[int]
    row: NotRequired[int]


class Mark(TypedDict):
    """The beginning of a page, line or column; ``inside`` a word, maybe."""

    at: int
    kind: str
    n: NotRequired[str]
    inside: NotRequired[bool]
    facs: NotRequired[str]


class Style(TypedDict):
    """How characters are written."""

    start: int
    end: int
    style: str


class Note(TypedDict):
    """A note, and the character that it stands behind."""

    part: int
    at: int
    n: str
    place: str


class BlockTei(TypedDict):
    """Where the characters of a block stand in an element (``view.tei_of_blocks``)."""

    element: int
    runs: list[list[int]]


class DocumentTei(TypedDict):
    """Elements as they are written, with prefixes, and the blocks in them."""

    elements: list[dict[str, str]]
    blocks: list[BlockTei | None]


class View(TypedDict):
    """A document as it is read; offsets count characters of ``text``."""

    id: str
    title: str
    lang: str
    text: str
    blocks: list[Block]
    marks: list[Mark]
    styles: list[Style]
    notes: list[Note]
    names: list[Name]
    tei: NotRequired[DocumentTei]
    """In the page that needs no server."""


class Candidate(TypedDict):
    """An entity that a name may mean, and what is said ``about`` it."""

    entity: str
    name: str
    about: str
    example: NotRequired[str]


class Candidates(TypedDict):
    """What one source says of words."""

    entries: list[Candidate]
    error: NotRequired[str]


class RegisterEntry(Candidate):
    """An entry of a register, with the words of its forms."""

    kind: str
    forms: list[str]


class State(TypedDict):
    """What changes in a letter: its items, and its row in the list."""

    row: Row
    sha256: str
    items: list[list[ShownItem]]
    there: int
    journal: History


class ShownLetter(State):
    """A letter as its edition reads it."""

    name: str
    documents: list[View]
    entries: dict[str, Candidate]


class Decided(TypedDict):
    """The letters that were changed, and the last item."""

    letters: dict[int, State]
    item: str
    journal: History
    letter: int
    document: int


class Place(TypedDict):
    """Words in a letter, with what stands before and after them."""

    letter: int
    title: str
    document: int
    start: int
    end: int
    before: str
    form: str
    after: str
    status: NotRequired[Status | Literal["there", "none"]]
    """Of a form: what is there."""
    item: NotRequired[ShownItem | None]


class Places(TypedDict):
    """The first places, how many more there are, and how many letters were not read."""

    found: list[Place]
    more: int
    unread: int


class FormRow(TypedDict):
    """A form, and how often it is said to be what."""

    form: str
    labels: dict[str, int]
    entities: dict[str, int]
    open: int


class EntityRow(TypedDict):
    """An entity, and the forms that mean it."""

    entity: str
    name: str
    forms: dict[str, int]
    times: int


class Day(TypedDict):
    """What a person decided on a day."""

    day: str
    reviewer: str
    verdicts: dict[str, int]


class Overview(TypedDict):
    """All letters at once."""

    forms: list[FormRow]
    contradictions: list[FormRow]
    entities: list[EntityRow]
    more: int
    days: list[Day]
    errors: list[str]
    unread: int


class SavedLetter(TypedDict):
    """A letter that was written."""

    n: int
    names: int


class SkippedName(TypedDict):
    """A name that was not written."""

    n: int
    form: str
    why: str


class RefusedLetter(TypedDict):
    """A letter that was not written."""

    n: int
    why: str


class Saved(TypedDict):
    """What saving did."""

    written: list[SavedLetter]
    same: int
    skipped: list[SkippedName]
    refused: list[RefusedLetter]


Percent = list[float | None]
"""A value, and both ends of its interval; None where it has none."""


class Gains(TypedDict):
    """Strict F1 on the letters held out; ``before`` and ``difference`` where a tagger was there."""

    before: NotRequired[Percent]
    after: Percent
    difference: NotRequired[Percent]
    unit: str
    names: int


class Training(TypedDict):
    """What is there to learn from, what is being done, and what the last training scored."""

    done: int
    least: int
    isKnown: bool
    heldOut: int
    isRunning: bool
    hasFailed: bool
    said: str
    scores: Gains | None
    isTaken: bool
