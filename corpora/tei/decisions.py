"""The decisions of people on names of an edition: a file beside it, with a JSON line for each.

The workbench and ``onoma predict --apply`` append; ``onoma predict --tei`` reads, so that a
later run neither replaces nor offers again what was decided. A line::

    {"time": "2026-03-01T09:30:00+00:00", "reviewer": "kb", "verdict": "corrected",
     "file": "09.xml", "document": "09.xml",
     "name": {"start": 16, "end": 24, "form": "Worpswede", "before": "… aus ", "after": " kamen …",
              "label": "place", "entity": "letters:o7"},
     "was": {"start": 16, …, "label": "person", "entity": null},
     "model": "onoma-ba3e8d6b0ab2", "probability": 0.89}

Places are offsets in the document's text. They are given with the form and its context, by which
they are found again after the file was edited. Lines are never changed: a later decision on a place
replaces an earlier one, and nothing is removed.
"""

import fcntl
import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from corpora.document import Document, Mention, Span, SpanIndex
from corpora.errors import CorpusError, InvalidDocumentError
from corpora.system.files import open_own
from corpora.system.parsing import parse_json, typed
from corpora.system.writing import sync_folder

Verdict = Literal["accepted", "corrected", "rejected", "added", "withdrawn"]
"""``corrected``: another label, entity or boundary than in ``was``; ``added``: a name that no model
found; ``withdrawn``: earlier decisions on this place no longer hold."""
CONTEXT = 32
"""Characters that are kept on each side of a name."""
SUFFIX = ".decisions.jsonl"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedName:
    """A name as it was in the text of a document, with its label and entity."""

    start: int
    end: int
    form: str
    before: str = ""
    """The text before the name, at most ``CONTEXT`` characters."""
    after: str = ""
    label: str | None = None
    entity: str | None = None

    def __post_init__(self) -> None:
        """Raise if the offsets do not fit the form."""
        if not 0 <= self.start < self.end or self.end - self.start != len(self.form):
            raise InvalidDocumentError(
                f"{self.start}:{self.end} is no place of {self.form!r} in a text"
            )

    @classmethod
    def of(cls, text: str, mention: Mention) -> "DecidedName":
        """Describe a mention of a document's text."""
        start, end = mention.start, mention.end
        return cls(
            start=start,
            end=end,
            form=text[start:end],
            before=text[max(0, start - CONTEXT) : start],
            after=text[end : end + CONTEXT],
            label=mention.label,
            entity=mention.entity,
        )

    def find(self, text: str) -> Span | None:
        """Find the name's place in a text that may have been edited; None if it is uncertain.

        The old offsets count if the form is there with at least one of its contexts. Else an
        occurrence with both contexts is taken, then one with either; the nearest wins.
        """
        if text.startswith(self.form, self.start) and any(self._agreeing(text, self.start)):
            return Span(self.start, self.end)
        for sides in ([(True, True)], [(True, False), (False, True)]):
            if near := [start for side in sides for start in self._nearest(text, *side)]:
                start = min(near, key=lambda start: (abs(start - self.start), -start))
                return Span(start, start + len(self.form))
        return None

    def _agreeing(self, text: str, start: int) -> tuple[bool, bool]:
        """Tell whether the text before an occurrence is as it was, and whether that after it is."""
        end = start + len(self.form)
        before, after = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
        return before == self.before, after == self.after

    def _nearest(self, text: str, with_before: bool, with_after: bool) -> Iterator[int]:  # noqa: FBT001
        """Yield the nearest occurrences before and after the old place, with the given contexts."""
        before, after = self.before * with_before, self.after * with_after
        if with_before and len(before) < CONTEXT:  # the text begins with the context
            starts = [len(before)]
        elif with_after and len(after) < CONTEXT:  # or ends with it
            starts = [len(text) - len(after) - len(self.form)]
        else:
            whole, old = before + self.form + after, max(0, self.start - len(before))
            starts_of = text.rfind(whole, 0, old + len(whole)), text.find(whole, old)
            starts = [place + len(before) for place in starts_of if place >= 0]
        for start in starts:
            if start >= 0 and text.startswith(self.form, start):
                is_before, is_after = self._agreeing(text, start)
                if is_before >= with_before and is_after >= with_after:
                    yield start


def now() -> str:
    """Return the time as ISO 8601, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The decision of a person on one name."""

    reviewer: str
    """The id of the person, as in ``@resp`` of the edition, without ``#``."""
    verdict: Verdict
    file: str
    """The relative name of the file, as in commands."""
    document: str
    """The id of the document in the file."""
    name: DecidedName
    """For ``rejected``, the suggestion; else the name as it should be."""
    was: DecidedName | None = None
    """The name that was suggested or written before, if it differs; else None."""
    model: str = ""
    """The id of the model that suggested the name (``Model.id``); empty for none."""
    probability: float | None = None
    time: str = field(default_factory=now)
    there: bool = False
    """Whether it is on a name that the edition has: ``corrected``, or ``rejected`` to take it out;
    ``was`` has the name where it was corrected."""
    remark: str = ""
    """What the person remarks on the name."""
    action: str = ""
    """The id of the action, shared by the decisions made in it, in programs that can undo it;
    actions ``undo ID`` and ``redo ID`` revert and repeat it. Empty: none."""

    def __post_init__(self) -> None:
        """Raise for an invalid probability."""
        if self.probability is not None and not 0 <= self.probability <= 1:
            raise InvalidDocumentError(f"probability {self.probability!r} is none, from 0 to 1")

    def is_on(self, file: str, document: str) -> bool:
        """Tell whether the decision is on a document of a file.

        Either path may lack leading folders: ``a.xml`` is ``letters/a.xml``.
        """
        name = self.file
        if not (name == file or name.endswith(f"/{file}") or file.endswith(f"/{name}")):
            return False
        return self.document.removeprefix(name) == document.removeprefix(file)

    def to_line(self) -> str:
        """Write the decision as a line of the file."""
        values = asdict(self)
        for name in ("there", "remark"):
            if not values[name]:
                del values[name]
        return json.dumps(values, ensure_ascii=False) + "\n"

    @classmethod
    def of(cls, line: str) -> "Decision":
        """Parse a line; raises ``CorpusError`` if it is no decision."""
        return typed(cls, parse_json(line))


@dataclass(frozen=True, slots=True)
class Settled:
    """A decision in force, with its places in the present text."""

    decision: Decision
    span: Span
    was: Span | None = None
    """The place of the name before a correction, if it differs and is found; else None."""

    @property
    def is_name(self) -> bool:
        """Whether the person says that there is a name."""
        return self.decision.verdict != "rejected"

    def existing(self, document: Document) -> Mention | None:
        """Find the name of the edition that the decision is on, if it is as it was."""
        said, place = self.decision.was or self.decision.name, self.was or self.span
        key = place.start, place.end, said.label, said.entity
        return next((mention for mention in document.mentions if mention.key == key), None)

    def places(self) -> set[tuple[int, int]]:
        """Return the places of the name, and of the name that was corrected."""
        return {(span.start, span.end) for span in (self.span, self.was) if span}


class Answers:
    """The decisions on a document, indexed by place."""

    def __init__(self, settled: Iterable[Settled]) -> None:
        self._by_place: defaultdict[tuple[int, int], list[Settled]] = defaultdict(list)
        self._names = SpanIndex[Settled]()
        for decision in settled:
            for place in decision.places():
                self._by_place[place].append(decision)
            if decision.is_name:
                self._names.add(decision.span.start, decision.span.end, decision)

    def on(self, span: Span) -> list[Settled]:
        """Find the decisions that answer a suggestion at this place.

        If the decision says that there is a name, it answers every suggestion that overlaps the
        name, or is at the place that was corrected; a rejection answers only the same characters.
        """
        place = span.start, span.end
        answers = [*self._by_place.get(place, ()), *self._names.touching(*place)]
        return list({id(answer): answer for answer in answers}.values())


@dataclass(frozen=True, slots=True)
class Decisions:
    """All decisions of a file, in the order in which they were made."""

    entries: tuple[Decision, ...] = ()
    unreadable: tuple[str, ...] = ()
    """Messages on lines that are no decisions, as ``FILE:LINE: why``; a killed writer may leave
    such lines."""

    def of_document(self, file: str, document: str, text: str) -> tuple[list[Settled], int]:
        """Find the decisions in force on a document: (decisions, number that lost their place)."""
        standing: dict[int, Settled] = {}
        by_place: dict[tuple[int, int], int] = {}
        n_lost = 0
        for number, decision in enumerate(self.entries):
            if not decision.is_on(file, document):
                continue
            span = decision.name.find(text)
            if span is None:
                n_lost += 1
                continue
            settled = Settled(decision, span, decision.was.find(text) if decision.was else None)
            for place in settled.places():
                standing.pop(by_place.get(place, number), None)
                by_place[place] = number
            if decision.verdict != "withdrawn":
                standing[number] = settled
        return list(standing.values()), n_lost


def read_decisions(path: Path) -> Decisions:
    """Read a file of decisions; empty if it does not exist. Raises ``CorpusError`` if unreadable.

    A torn or damaged line is reported, all other lines count.
    """
    try:
        with path.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH)
            lines = file.read().split(b"\n")
    except FileNotFoundError:
        return Decisions()
    except OSError as error:
        raise CorpusError(f"{path}: decisions cannot be read ({error.strerror}).") from error
    entries: list[Decision] = []
    unreadable: list[str] = []
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            entries.append(Decision.of(line.decode()))
        except (UnicodeDecodeError, CorpusError) as error:
            unreadable.append(f"{path}:{number}: no decision ({error}); it is left out.")
    return Decisions(tuple(entries), tuple(unreadable))


def append_decisions(path: Path, decisions: Iterable[Decision]) -> int:
    """Append decisions, and sync the file; return its size in bytes before.

    Several processes may append at once. A line that another writer left unfinished is ended first,
    and stays. Raises ``OSError`` on a full disk; then none of these decisions is in the file.
    """
    data = "".join(decision.to_line() for decision in decisions).encode()
    if not data:
        return path.stat().st_size if path.exists() else 0
    is_new = not path.exists()
    path.parent.mkdir(parents=True, exist_ok=True)
    with open_own(path, "ab", buffering=0) as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = file.seek(0, os.SEEK_END)
        try:
            data = (b"\n" if _is_torn(path, size) else b"") + data
            while data:
                data = data[os.write(file.fileno(), data) :]
            os.fsync(file.fileno())
        except OSError:
            file.truncate(size)
            raise
    if is_new:
        sync_folder(path.parent)
    return size


def _is_torn(path: Path, size: int) -> bool:
    """Tell whether the last line lacks its newline."""
    with path.open("rb") as file:
        file.seek(max(0, size - 1))
        return size > 0 and file.read(1) != b"\n"


def decisions_path(edition: Path, files: Sequence[Path], *, is_shipped: bool) -> Path:
    """Return the default path of the decisions on an edition.

    Beside the edition file (``letters.toml`` has ``letters.decisions.jsonl``); for an edition that
    ships with Onoma, in the folder that holds the TEI files.
    """
    if not is_shipped:
        return edition.with_name(f"{edition.stem}{SUFFIX}")
    folder = Path(os.path.commonpath([path.resolve().parent for path in files]))
    return folder / f"{edition.stem}{SUFFIX}"
