"""The JSON messages of the workbench to its page (``page/*.js``), as typed dicts."""

from collections.abc import Sequence
from typing import Literal, NotRequired, TypedDict

Status = Literal["open", "accepted", "rejected", "there"]
"""``there``: a name of the edition on which nobody has decided."""


class History(TypedDict):
    """The numbers of actions that can be undone and redone."""

    undo: int
    redo: int


class LetterRow(TypedDict):
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


class LetterList(TypedDict):
    """All letters, or the first rows of a dataset; only a dataset has the last three fields.

    ``entryLabels`` are those of which registers have entries.
    """

    edition: str
    labels: Sequence[str]
    entryLabels: NotRequired[list[str]]
    reviewer: str
    letters: list[LetterRow]
    journal: History
    unreadable: list[str]
    sources: list[str]
    canTrain: NotRequired[bool]
    isReadOnly: NotRequired[bool]
    isMore: NotRequired[bool]
    all: NotRequired[int]


class NameElement(TypedDict):
    """The element of a name that the edition has."""

    element: str
    attributes: dict[str, str]


class ShownItem(TypedDict):
    """A name that is decided on, or that the edition has."""

    id: str
    start: int
    end: int
    label: str
    entity: str
    status: Status
    probability: float | None
    isNew: bool
    isChanged: bool
    reviewer: str
    time: str
    said: NotRequired[list[int | str | None] | None]
    """The suggested start, end, label and entity; None for a name that was added."""
    own: NotRequired[NameElement]
    """The element, of a name that the edition has."""
    remark: NotRequired[str]
    origin: NotRequired[str]
    """The origin of the mention, in a row of a dataset."""


class ParagraphView(TypedDict):
    """A paragraph; ``part`` is the note that it is in, ``row`` the row of a table that it is in."""

    start: int
    end: int
    kind: str
    part: NotRequired[int]
    row: NotRequired[int]


class BreakMark(TypedDict):
    """The beginning of a page, line or column; ``inside`` says that it is within a word."""

    at: int
    kind: str
    n: NotRequired[str]
    inside: NotRequired[bool]
    facs: NotRequired[str]
    image: NotRequired[str]
    """The image of a page: an address of the program, or one that the command line allows."""


class StyledSpan(TypedDict):
    """A span of characters with a style, such as ``italic``."""

    start: int
    end: int
    style: str


class Note(TypedDict):
    """A note, and the offset ``at`` in the text at which it stands."""

    part: int
    at: int
    n: str
    place: str


class BlockTei(TypedDict):
    """The places of a block's characters in the TEI of an element (``view.tei_of_blocks``)."""

    element: int
    runs: list[list[int]]


class DocumentTei(TypedDict):
    """Elements as written in the file, with their prefixes, and the blocks in them."""

    elements: list[dict[str, str]]
    blocks: list[BlockTei | None]


class DocumentView(TypedDict):
    """A document as it is read; offsets count characters of ``text``."""

    id: str
    title: str
    lang: str
    text: str
    blocks: list[ParagraphView]
    marks: list[BreakMark]
    styles: list[StyledSpan]
    notes: list[Note]
    tei: NotRequired[DocumentTei]
    """Only in the page that needs no server."""


class EntityCandidate(TypedDict):
    """An entity that a name may mean, with a short description (``about``)."""

    entity: str
    name: str
    about: str
    example: NotRequired[str]


class SourceCandidates(TypedDict):
    """The candidates of one source for the words of a name, or its error."""

    entries: list[EntityCandidate]
    error: NotRequired[str]


class RegisterEntry(EntityCandidate):
    """An entry of a register, with the words of its forms."""

    kind: str
    forms: list[str]


class LetterState(TypedDict):
    """The parts of a letter that change: its items, and its row in the list."""

    row: LetterRow
    sha256: str
    items: list[list[ShownItem]]
    there: int
    journal: History


class ShownLetter(LetterState):
    """A letter as its edition reads it."""

    name: str
    documents: list[DocumentView]
    entries: dict[str, EntityCandidate]


class Decided(TypedDict):
    """The letters that were changed, and the item that was changed last."""

    letters: dict[int, LetterState]
    item: str
    journal: History
    letter: int
    document: int


class LetterPlace(TypedDict):
    """Words in a letter, with the text before and after them."""

    letter: int
    title: str
    document: int
    start: int
    end: int
    before: str
    form: str
    after: str
    status: NotRequired[Status | Literal["none"]]
    """In a search for a form: the status of the item there, ``there`` in another name, or
    ``none``."""
    item: NotRequired[ShownItem | None]


class LetterPlaces(TypedDict):
    """The first places, the number of further ones, and the number of letters not yet read."""

    found: list[LetterPlace]
    more: int
    unread: int


class FormRow(TypedDict):
    """A form, with counts of its labels, its entities and its open items."""

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
    """The decisions of a person on a day, counted by verdict."""

    day: str
    reviewer: str
    verdicts: dict[str, int]


class Overview(TypedDict):
    """A summary of all letters."""

    forms: list[FormRow]
    contradictions: list[FormRow]
    entities: list[EntityRow]
    more: int
    days: list[Day]
    errors: list[str]
    unread: int


class UnlinkedRow(TypedDict):
    """A form of names without an entity, with its first place and the names of candidates."""

    label: str
    times: int
    first: LetterPlace
    candidates: list[str]


class Unlinked(TypedDict):
    """The forms of names without an entity, and the number of those that are not listed."""

    rows: list[UnlinkedRow]
    more: int
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
    """The result of saving."""

    written: list[SavedLetter]
    same: int
    skipped: list[SkippedName]
    refused: list[RefusedLetter]
    registers: list[str]
    """The names of the registers that were written with new entries."""
    reference: str
    """A link as it is written, ``ref="#p1"``; empty where nothing is linked."""


Percent = list[float | None]
"""A value and both ends of its confidence interval, which are None if there is none."""


class Gains(TypedDict):
    """Strict F1 on the held-out letters; ``before`` and ``difference`` if there was a tagger."""

    before: NotRequired[Percent]
    after: Percent
    difference: NotRequired[Percent]
    unit: str
    names: int


class TrainingState(TypedDict):
    """The letters to learn from, the state of the training, and the scores of the last one."""

    done: int
    least: int
    isKnown: bool
    heldOut: int
    isRunning: bool
    hasFailed: bool
    said: str
    scores: Gains | None
    isTaken: bool
