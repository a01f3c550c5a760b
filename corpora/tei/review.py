"""Predictions as a list that a person reads, changes and has applied: ``candidates.tsv``.

A line is a prediction: the name between the text before and after it, and a column ``accept``.
Empty means yes; ``no`` (``n``, ``0``, ``false``, ``nein``, ``nej``, ``-``) means no. If the
``label``, ``entity`` or ``name`` (shorter or longer, as in the text) is changed, the new value is
written. A new line without ``start`` and ``end`` is a name that was missed. ``yes`` in the column
``there`` says that the line is on a name that the edition has: it is corrected, or taken out if it
is not accepted. The list may be saved by any spreadsheet.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from pathlib import Path

from corpora.document import Document, Mention, reading_order
from corpora.errors import UsageError
from corpora.system.cells import cell_of, text_of
from corpora.system.parsing import parse_json, typed
from corpora.tei.decisions import CONTEXT as SIDE
from corpora.tei.decisions import Answers, DecidedName, Decision, Decisions
from corpora.tei.edition import Edition
from corpora.tei.provenance import Model
from corpora.tei.style import REMARK, template, typed_entity
from corpora.tei.writer import (
    DEFAULT_OPTIONS,
    NOT_THERE,
    Correction,
    Skipped,
    TeiFile,
    WriteOptions,
    WrittenFile,
)

COLUMNS = (
    "file", "document", "before", "name", "after", "label", "entity", "probability", "accept",
    "start", "end", "suggested", "there", "remark",
)  # fmt: skip
_MADE = COLUMNS[:-3]
"""The columns that a list of predictions has."""
_BY_HAND = ("file", "name", "label")
"""The columns that a list of lines by a person has at least."""
CONTEXT = 40
"""The characters of context on each side of a name."""
REVIEW = Model(id="onoma-review", name="Onoma, list of candidates", version="", sha256="")
"""Stands in place of a model for names that a person found."""
NOT_ACCEPTED, CHANGED, REPEATED = "not accepted", "the text has changed since", "given twice"
NOT_FOUND, AMBIGUOUS = "the name is not in the text there", "the name is there more than once"
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_YES, _NO = (
    {"", "yes", "y", "1", "true", "x", "ja", "j", "wahr"},
    {"no", "n", "0", "false", "nein", "nej", "-", "falsch"},
)


_SEPARATOR = re.compile(r"sep=([^\r\n])\r?$", re.IGNORECASE | re.MULTILINE)
"""A first line for Excel, which says what stands between columns."""
_QUOTED_CELL = re.compile(r'(?m)(?:^|(?<=\t))"(?:((?:[^"\t]|"")*"(?=[\t\r\n]|\Z))|[^\t\r\n]*)')
"""A cell that begins with a quotation mark; group 1: the rest, if the mark is closed at its end."""


Refer = Callable[[Mention], Mention]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedLine:
    """A line of the list, as a person left it."""

    file: str
    document: str
    """The id of the document; empty if a new line does not give it."""
    name: str
    before: str
    after: str
    label: str
    entity: str | None
    score: float | None
    is_accepted: bool
    place: tuple[int, int] | None
    """The start and end of the suggestion; None for a new line."""
    suggested: tuple[str, str | None] | None
    """The label and entity of the suggestion; None for a new line."""
    where: str
    """The file and line of the list, for messages."""
    there: bool = False
    """Whether the line is on a name that the edition has."""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """A line with a known place: the suggestion, and the name to write."""

    candidate: ReviewedLine
    document: str
    suggestion: Mention | None
    mention: Mention
    existing: Mention | None = None
    """The name of the edition that the line is on."""

    @property
    def is_changed(self) -> bool:
        """Whether a person changed the suggestion."""
        return self.suggestion is not None and self.suggestion.key != self.mention.key


def write_candidates(path: Path, found: Iterable[tuple[str, Document, Sequence[Mention]]]) -> int:
    """Write the list of predictions by file and document; returns the number of lines."""
    number = 0
    with path.open("w", encoding="utf-8-sig", newline="") as out:  # BOM for spreadsheets
        rows = csv.writer(out, dialect="excel-tab", lineterminator="\n")
        rows.writerow(COLUMNS)
        for file, document, mentions in found:
            for mention in sorted(mentions, key=reading_order):
                rows.writerow(map(cell_of, _row(file, document, mention)))
                number += 1
    return number


def _row(file: str, document: Document, mention: Mention) -> list[str]:
    text, start, end = document.text, mention.start, mention.end
    score = "" if mention.score is None else f"{mention.score:.4f}"
    label, entity = mention.label or "", mention.entity or ""
    return [
        file,
        document.id,
        text[max(0, start - CONTEXT) : start],
        text[start:end],
        text[end : end + CONTEXT],
        label,
        entity,
        score,
        "",
        str(start),
        str(end),
        f"{label} {entity}".strip(),
        "",
        "",
    ]


def read_candidates(path: Path) -> list[ReviewedLine]:
    """Read the list after review; raises ``UsageError`` with file, line and what to write.

    Reads what spreadsheets save: UTF-8, UTF-16 or Windows-1252; tabs, ``;`` or ``,`` between
    columns, also named by a first line ``sep=;``; decimal commas, and probabilities in per cent.
    """
    try:
        text = _decoded(path.read_bytes())
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as a table ({error}).") from error
    rows = _rows_of(text, path)
    where, names = next(rows, (f"{path}:1", []))
    header = [cell.strip().lower() for cell in names]
    needed = _MADE if model_file(path).exists() else _BY_HAND
    if missing := [name for name in needed if name not in header]:
        raise UsageError(
            f"{where}: has no column {', '.join(missing)}. Make the list again, or put the "
            "line with the names of the columns back."
        )
    candidates = []
    for where, row in rows:
        extra = row[len(header) :]
        if any(cell.strip() for cell in extra) or (extra and any('"' in cell for cell in row)):
            raise UsageError(
                f"{where}: has {len(row)} cells, but there are {len(header)} columns. Is a tab or "
                "a quotation mark too many in a cell? Take it away."
            )
        if any(cell.strip() for cell in row):
            candidates.append(_candidate(dict(zip_longest(header, row, fillvalue="")), where))
    return candidates


def _rows_of(text: str, path: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield the rows of a table, each with its file and line; raises ``UsageError``."""
    named = _SEPARATOR.match(text)
    separator = named[1] if named else max("\t;,", key=text.partition("\n")[0].count)
    if separator == "\t":
        text = _QUOTED_CELL.sub(_closed, text)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        if named:
            next(rows)
        for row in rows:
            yield f"{path}:{rows.line_num}", row
    except csv.Error as error:
        raise UsageError(
            f"{path}:{rows.line_num}: cannot be read as a table ({error}). Save the list again, "
            "with tabs between columns."
        ) from error


def _closed(cell: re.Match[str]) -> str:
    """Put a cell in quotation marks that begins with one, but was saved without (Google Sheets)."""
    if cell[1] is not None:
        return cell[0]
    return '"{}"'.format(cell[0].replace('"', '""'))


def _decoded(data: bytes) -> str:
    mark = next((mark for mark in _MARKS if data.startswith(mark)), None)
    if mark:
        return data.decode(_MARKS[mark])
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", errors="replace")


def _candidate(cells: Mapping[str, str], where: str) -> ReviewedLine:
    plain = dict.fromkeys(COLUMNS, "")
    plain |= {name: text_of(value) for name, value in cells.items()}
    answer = plain.get("accept", "").strip().lower()
    if answer not in _YES | _NO:
        raise UsageError(f"{where}: accept is {answer!r}; write yes, no, or nothing for yes.")
    label, is_accepted = plain.get("label", "").strip(), answer in _YES
    if not plain.get("name", "").strip() or not plain.get("file", "").strip():
        raise UsageError(f"{where}: has no file or no name. Take the line away, or fill them in.")
    if not label and is_accepted:
        raise UsageError(f"{where}: has no label; to leave the name out, write accept = no.")
    known, _, entity = plain.get("suggested", "").strip().partition(" ")
    place = _place(plain, where)
    return ReviewedLine(
        file=plain["file"],
        document=plain["document"],
        name=plain["name"].strip("\ufeff") if place else plain["name"].strip(),
        before=plain["before"],
        after=plain["after"],
        label=label,
        entity=plain["entity"].strip() or None,
        score=_score(plain["probability"], where),
        is_accepted=is_accepted,
        place=place,
        suggested=(known, entity or None) if known else None,
        where=where,
        there=plain.get("there", "").strip().lower() in _YES - {""},
        remark=plain.get("remark", "").strip(),
    )


def _place(cells: Mapping[str, str], where: str) -> tuple[int, int] | None:
    cells_given = [cells.get(name, "").strip() for name in ("start", "end")]
    if not any(cells_given):
        return None
    try:
        start, end = (int(float(_number(cell))) for cell in cells_given)
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{where}: start or end cannot be read ({error}).") from error
    if not 0 <= start < end:
        raise UsageError(f"{where}: start {start} and end {end} are no place; put them back.")
    return start, end


def _score(cell: str, where: str) -> float | None:
    is_percent = cell.strip().endswith("%")
    try:
        score = float(_number(cell.strip().rstrip("% \u00a0\u202f"))) if cell.strip() else None
    except ValueError as error:
        raise UsageError(f"{where}: probability {cell!r} cannot be read ({error}).") from error
    if score is not None and is_percent:
        score /= 100
    if score is not None and not 0 <= score <= 1:
        raise UsageError(f"{where}: probability {cell!r} is none, from 0 to 1.")
    return score


def _number(text: str) -> str:
    return text.replace(",", ".")


def model_file(path: Path) -> Path:
    """Return the path of the file that names the model of a list: beside the list."""
    return path.with_name(f"{path.name}.model.json")


def model_of_list(path: Path, candidates: Iterable[ReviewedLine]) -> Model:
    """Read which model made the predictions of a list; raises ``UsageError``.

    A list of new lines alone, which a person wrote, needs no model.
    """
    if not model_file(path).exists() and all(
        candidate.suggested is None for candidate in candidates
    ):
        return REVIEW
    try:
        return typed(Model, parse_json(model_file(path).read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{model_file(path)}: which model made the list cannot be read ({error}). It was "
            "written beside the list: keep the two together."
        ) from error


def by_file(candidates: Iterable[ReviewedLine]) -> dict[str, list[ReviewedLine]]:
    """Group the lines by file, in the order of the list."""
    files: dict[str, list[ReviewedLine]] = {}
    for candidate in candidates:
        files.setdefault(candidate.file, []).append(candidate)
    return files


@dataclass(frozen=True, slots=True)
class Applied:
    """A file with the names of a list, and the decisions."""

    written: WrittenFile
    decisions: list[Decision]
    unplaced: list[str]
    """Messages on lines without a place in the text, as ``c.tsv:7: why``."""


def apply_candidates(
    data: bytes,
    edition: Edition,
    candidates: Sequence[ReviewedLine],
    *,
    name: str,
    model: Model,
    options: WriteOptions = DEFAULT_OPTIONS,
    decisions: Decisions | None = None,
    refer: Refer | None = None,
) -> Applied:
    """Write the accepted lines into a file, where its text still agrees with the list.

    ``decisions`` of earlier reviews protect the names that they are on; ``refer`` adds to a mention
    the attribute by which its entity is written. Raises what ``TeiFile`` raises, and
    ``UsageError`` for a label without an element, or two lines that contradict each other, with the
    line of the list.
    """
    file = TeiFile.read(data, edition, name=name)
    texts = {document.id: document.text for document in file.documents}
    documents = {document.id: document for document in file.documents}
    placed: list[Placed] = []
    skipped: list[Skipped] = []
    unplaced: list[tuple[str, str]] = []
    seen: dict[tuple[str, Mention | None, Mention], ReviewedLine] = {}
    for candidate in candidates:
        placement = located(_with_entity(candidate, file.edition), texts)
        if candidate.there and not isinstance(placement, str):
            placement = _on_existing(placement, documents[placement.document])
        if not isinstance(placement, str):
            placement = replace(placement, mention=_as_written(placement.mention, candidate, refer))
        if isinstance(placement, str):
            unplaced.append((candidate.where, placement))
            continue
        key = (placement.document, placement.suggestion, placement.mention)
        if other := seen.get(key):
            _check_agree(other, candidate)
            text = texts[placement.document]
            skipped.append(Skipped.of(placement.document, placement.mention, text, reason=REPEATED))
            continue
        seen[key] = candidate
        if candidate.is_accepted and not options.keep_cert:  # a person answers for the name
            placement = replace(placement, mention=replace(placement.mention, score=None))
        placed.append(placement)
        if not candidate.is_accepted and not candidate.there:
            shown = placement.suggestion or placement.mention
            text = texts[placement.document]
            skipped.append(Skipped.of(placement.document, shown, text, reason=NOT_ACCEPTED))
        elif candidate.is_accepted:
            _check_label(candidate, edition)
    written = _write(file, placed, model=model, options=options, decisions=decisions)
    reasons = [*(one.reason for one in skipped), *(reason for _, reason in unplaced)]
    counters = written.counters + Counter(f"skipped: {reason}" for reason in reasons)
    whole = replace(written, counters=counters, skipped=[*skipped, *written.skipped])
    failed = {(s.document, s.mention.key) for s in written.skipped}
    decisions_made = [
        _decision(one, name, texts[one.document], model=model, reviewer=options.reviewer)
        for one in placed
        if (one.document, one.mention.key) not in failed
        or not (one.candidate.is_accepted or one.candidate.there)
    ]
    return Applied(whole, decisions_made, [f"{where}: {reason}" for where, reason in unplaced])


def _with_entity(candidate: ReviewedLine, edition: Edition) -> ReviewedLine:
    """Normalize the entity of a line, if a person typed it."""
    typed, suggested = candidate.entity, candidate.suggested
    if typed is None or (suggested and suggested[1] == typed):
        return candidate
    return replace(candidate, entity=typed_entity(typed, edition))


def _as_written(mention: Mention, candidate: ReviewedLine, refer: Refer | None) -> Mention:
    """Return a mention with its reference in the way of the files, and the remark of its line."""
    mention = refer(mention) if refer else mention
    remark = {REMARK: candidate.remark} if candidate.remark else {}
    return replace(mention, attributes={**mention.attributes, **remark})


def _check_agree(first: ReviewedLine, second: ReviewedLine) -> None:
    """Raise ``UsageError`` if one of two lines on one name accepts it, and the other does not."""
    if first.is_accepted != second.is_accepted:
        raise UsageError(
            f"{second.where}: the name of {first.where} once more, but one line accepts it and the "
            "other does not. Take one of them away."
        )


def _check_label(candidate: ReviewedLine, edition: Edition) -> None:
    try:
        template(edition, candidate.label)
    except UsageError as error:
        raise UsageError(f"{candidate.where}: {error}") from error


def _write(
    file: TeiFile,
    placed: Sequence[Placed],
    *,
    model: Model,
    options: WriteOptions,
    decisions: Decisions | None,
) -> WrittenFile:
    """Write the names of a model, then those that a person found."""
    standing = {}
    for document in file.documents:
        text_of_file = (file.source.name, document.id, document.text)
        settled, _ = (decisions or Decisions()).of_document(*text_of_file)
        answers = Answers(settled)
        listed = [p.mention for p in placed if p.document == document.id]
        again = {id(one) for mention in listed for one in answers.on(mention)}
        standing[document.id] = [one for one in settled if id(one) not in again]
    accepted = [one for one in placed if one.candidate.is_accepted and not one.existing]
    suggested = _mentions(one for one in accepted if one.suggestion)
    written = file.write(suggested, model=model, options=options, standing=standing)
    missed = _mentions(one for one in accepted if not one.suggestion)
    corrections: dict[str, list[Correction]] = {}
    for line in placed:
        if line.existing is not None:
            new = line.mention if line.candidate.is_accepted else None
            corrections.setdefault(line.document, []).append(Correction(line.existing, new))
    if not missed and not corrections:
        return written
    return written.add(missed, model=REVIEW, options=options, corrections=corrections)


def _on_existing(placed: Placed, document: Document) -> Placed | str:
    """Find the name of the edition that a line is on; else return the reason."""
    candidate, mention = placed.candidate, placed.suggestion or placed.mention
    at = [m for m in document.mentions if (m.start, m.end) == (mention.start, mention.end)]
    if candidate.suggested is not None:
        at = [m for m in at if (m.label or "", m.entity) == candidate.suggested]
    if not at:
        return NOT_THERE
    return replace(placed, existing=at[0], suggestion=placed.suggestion or at[0])


def _mentions(placed: Iterable[Placed]) -> dict[str, list[Mention]]:
    mentions: dict[str, list[Mention]] = {}
    for line in placed:
        mentions.setdefault(line.document, []).append(line.mention)
    return mentions


def _decision(placed: Placed, file: str, text: str, *, model: Model, reviewer: str) -> Decision:
    """Build the decision that a person made with a line."""
    candidate, suggestion = placed.candidate, placed.suggestion
    name, was = placed.mention, None
    if not candidate.is_accepted:
        verdict, name = "rejected", suggestion or placed.mention
    elif suggestion is None:
        verdict = "added"
    elif placed.is_changed:
        verdict, was = "corrected", DecidedName.of(text, suggestion)
    else:
        verdict = "accepted"
    return Decision(
        reviewer=reviewer,
        verdict=verdict,  # type: ignore[arg-type]
        file=file,
        document=placed.document,
        name=DecidedName.of(text, name),
        was=was,
        model=model.id if suggestion and not candidate.there else "",
        probability=candidate.score if suggestion else None,
        there=candidate.there,
        remark=candidate.remark,
    )


def located(candidate: ReviewedLine, texts: Mapping[str, str]) -> Placed | str:
    """Find the place of a line in the documents of its file; else return the reason."""
    if candidate.place is None:
        return _found_by_name(candidate, texts)
    text = texts.get(candidate.document)
    places = _places(candidate, text, candidate.place) if text is not None else CHANGED
    if isinstance(places, str):
        return places
    old, new = places
    label, entity = candidate.suggested or (candidate.label, candidate.entity)
    score = candidate.score
    suggestion = Mention(*old, label=label or None, entity=entity, score=score, origin="prediction")
    if not candidate.is_accepted:
        return Placed(candidate, candidate.document, suggestion, suggestion)
    mention = replace(suggestion, label=candidate.label, entity=candidate.entity)
    if (old, label) != (new, candidate.label):  # the probability was for the old name
        mention = replace(mention, start=new[0], end=new[1], score=None)
    return Placed(candidate, candidate.document, suggestion, mention)


def mentions_in(candidates: Iterable[ReviewedLine], document: Document) -> list[Mention]:
    """List the suggestions that are in a document, as a model made them."""
    texts = {document.id: document.text}
    lines = (
        located(candidate, texts) for candidate in candidates if candidate.document == document.id
    )
    return [line.suggestion for line in lines if not isinstance(line, str) and line.suggestion]


_Place = tuple[int, int]


def _places(candidate: ReviewedLine, text: str, place: _Place) -> tuple[_Place, _Place] | str:
    """Find the places of a suggestion and of the name that a person made of it, or the reason."""
    start, end = place
    if _is_same(candidate.name, text[start:end]):
        return place, place
    if _is_around(candidate, text, place):
        corrected = _corrected(candidate.name, text, place)
        return (place, corrected) if corrected else NOT_FOUND
    if end - start != len(candidate.name):
        return CHANGED
    form, before, after = candidate.name, candidate.before[-SIDE:], candidate.after[:SIDE]
    name = DecidedName(start=start, end=end, form=form, before=before, after=after)
    moved = name.find(text)  # the file was edited in between
    return ((moved.start, moved.end),) * 2 if moved else CHANGED


def _is_same(cell: str, text: str) -> bool:
    """Tell whether a cell equals a text; ``?`` matches what an encoding could not represent."""
    if len(cell) != len(text):
        return False
    pairs = zip(cell, text, strict=True)
    return all(a == b or (a in "?\ufffd" and b > "\x7f") or (a.isspace() and b.isspace())
               for a, b in pairs)  # fmt: skip


def _is_around(candidate: ReviewedLine, text: str, place: _Place) -> bool:
    """Tell whether the text before and after a suggestion is as the list has it."""
    start, end = place
    before, after = text[max(0, start - CONTEXT) : start], text[end : end + CONTEXT]
    is_before = _is_same(candidate.before.strip(), before.strip())
    return is_before and _is_same(candidate.after.strip(), after.strip())


def _corrected(name: str, text: str, place: _Place) -> _Place | None:
    """Find a name that is shorter or longer than a suggestion, and overlaps it."""
    name = name.strip()
    start, end = place
    first = max(0, start - len(name) + 1)
    matches = [
        (at, at + len(name))
        for at in range(first, min(end, len(text)))
        if _is_same(name, text[at : at + len(name)])
    ]
    return max(matches, key=lambda span: (_shared(span, place), -span[0]), default=None)


def _shared(first: _Place, second: _Place) -> int:
    return min(first[1], second[1]) - max(first[0], second[0])


def _words(text: str) -> re.Pattern[str]:
    """Compile a pattern of words with any white space before and between them."""
    return re.compile(r"\s*" + r"\s+".join(map(re.escape, text.split())))


def _found_by_name(candidate: ReviewedLine, texts: Mapping[str, str]) -> Placed | str:
    """Find the only place of a name between the contexts that the line gives."""
    name = re.compile(r"\s+".join(map(re.escape, candidate.name.split())))
    after, before = _words(candidate.after), _words(candidate.before[::-1])
    spans = []
    for document, text in texts.items():
        if candidate.document not in {"", document}:
            continue
        backwards = text[::-1]
        for match in name.finditer(text):
            is_after = before.match(backwards, len(text) - match.start())
            if is_after and after.match(text, match.end()):
                spans.append((document, match.span()))
    if len(spans) != 1:
        return AMBIGUOUS if spans else NOT_FOUND
    [(document, (start, end))] = spans
    mention = Mention(start, end, label=candidate.label, entity=candidate.entity)
    return Placed(candidate, document, None, mention)
