"""Saving of letters with the accepted names; the writer proves that nothing else is changed."""

import os
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from corpora.document import Mention
from corpora.errors import CorpusError
from corpora.system.writing import remove_leftovers, sync_folder, write_whole
from corpora.tei.include import masters_of
from corpora.tei.provenance import Model
from corpora.tei.review import REVIEW
from corpora.tei.schema import expect, new_errors_together
from corpora.tei.source import Source
from corpora.tei.style import reference
from corpora.tei.writer import Correction, WriteOptions, WrittenFile
from modeling.workbench.desk import Desk
from modeling.workbench.letters import Letter
from modeling.workbench.messages import Saved
from modeling.workbench.names import Item, RefusedError
from modeling.workbench.view import element_of_block


def markup(desk: Desk, number: int, *, document: int, block: int) -> dict[str, str]:
    """Return the TEI of a block as it ``is``, and as it ``will`` be with the accepted names."""
    with desk.lock:
        letter = desk.look(desk.letter_at(number))
        texts = desk.letters.texts(letter)
        if document >= len(texts) or block >= len(texts[document][0].paragraphs):
            raise RefusedError(f"{letter.name}: has no such block.")
        found, places = texts[document]
        element = element_of_block(found, places, block)
        if element is None:
            raise RefusedError("Nothing of this block is written in the file.")
        paragraph = found.paragraphs[block]
        source = places.source
        inside = [
            item
            for item in letter.names[document].items()
            if paragraph.start <= item.start < item.end <= paragraph.end
        ]
        written = write(desk, letter, {found.id: inside})
        after = Source(written.data, name=letter.name)
        shift = _number_of_text(after) - _number_of_text(source)
        node = after.nodes[element.number + shift]
        return {
            "is": source.text[element.start : element.end],
            "will": after.text[node.start : node.end],
            "skipped": "; ".join(sorted({name.reason for name in written.skipped})),
        }


def save(desk: Desk) -> Saved:
    """Write all letters that have decisions, each with the writer's proof; report on each."""
    with desk.lock:
        desk.refresh()
        report: Saved = {
            "written": [],
            "same": 0,
            "skipped": [],
            "refused": [],
            "registers": [],
            "reference": "",
        }
        decided = [one for one in desk.letters.all if any(desk.journal.of_file(one.name))]
        if desk.schema:
            expect(desk.schema, [one.path for one in decided if one.path.is_file()])
        remove_leftovers(desk.output)
        for letter in decided:
            try:
                _save(desk, desk.look(letter), report)
            except (CorpusError, OSError) as error:
                why = _say(error, letter.name)
                report["refused"].append({"n": letter.number, "why": why})
        if desk.schema:
            _check_masters(desk, desk.schema, report)
        if desk.made_entries.all:
            _save_registers(desk, report)
        report["reference"] = next(_references(desk, decided), "")
        return report


def _check_masters(desk: Desk, schema: Path, report: Saved) -> None:
    """Validate files with the saved ones that they include."""
    numbers = {letter.name: letter.number for letter in desk.letters.all}
    before = {letter.name: letter.path for letter in desk.letters.all}
    saved = {name: desk.output / name for name in before if (desk.output / name).is_file()}
    for name in masters_of(before) if saved else ():
        for error in new_errors_together(name, before, before | saved, schema=schema):
            why = f"{name}, with the files that it includes: {error}"
            report["refused"].append({"n": numbers[name], "why": why})


def _references(desk: Desk, letters: Sequence[Letter]) -> Iterator[str]:
    """Yield the links that people made, as they are written."""
    for names in (names for letter in letters for names in letter.names):
        for item in names.items():
            mention = item.mention()
            if item.status == "accepted" and mention.entity:
                attribute, value = reference(desk.refer(mention), desk.edition) or ("", "")
                yield f'{attribute}="{value}"' if attribute else ""


def _save_registers(desk: Desk, report: Saved) -> None:
    """Write the registers with the new entries, in a folder of their own."""
    for name, data in desk.made_entries.files(desk.new_entries()):
        try:
            if _put(desk, f"register/{name}", data):
                report["registers"].append(name)
        except (CorpusError, OSError) as error:
            report["refused"].append({"n": -1, "why": _say(error, name)})


def _save(desk: Desk, letter: Letter, report: Saved) -> None:
    if letter.error:
        raise CorpusError(letter.error)
    written = write(desk, letter, schema=desk.schema)
    path = desk.output / letter.name
    if path.exists() and path.samefile(letter.path):
        raise CorpusError(f"{path}: is the letter itself, and is not overwritten.")
    if not _put(desk, letter.name, written.data):
        report["same"] += 1
        return
    report["written"].append({"n": letter.number, "names": written.written})
    for name in written.skipped:
        report["skipped"].append({"n": letter.number, "form": name.text, "why": name.reason})


def _put(desk: Desk, name: str, data: bytes) -> bool:
    """Write a file into the output, unless it is so; tell whether it was written.

    Raises ``CorpusError`` if somebody has worked on the file since it was saved.
    """
    path = desk.output / name
    before = path.read_bytes() if path.exists() else None
    if before == data:
        return False
    if before is not None and _hash(before) not in _saved(desk, name):
        raise CorpusError(
            f"{path}: is not as it was saved: somebody has worked on it. It stays: move it "
            "away, and save again."
        )
    _note_saved(desk, name, _hash(data))
    write_whole(path, data, is_durable=True)
    sync_folder(path.parent)
    return True


def write(
    desk: Desk,
    letter: Letter,
    items: Mapping[str, Sequence[Item]] | None = None,
    *,
    schema: Path | None = None,
) -> WrittenFile:
    """Write the decided items of a letter, each with its model and its reviewer.

    ``items`` maps the ids of documents to items (default: all). Names that people added come last.
    The date is that of the letter's last decision, so that saving again gives the same bytes.
    Raises what ``TeiFile.write`` does.
    """
    items = items or {names.document.id: names.items() for names in letter.names}
    last = max((action.time for _, action in desk.journal.of_file(letter.name)), default="")
    is_part = letter.name in desk.letters.included
    options = WriteOptions(date=last[:10], schema=schema, is_part=is_part)
    written = WrittenFile(desk.letters.parsed(letter))
    for (model, reviewer), names, corrections in _by_author(desk, items):
        by = replace(options, reviewer=reviewer)
        written = written.add(names, model=model, options=by, corrections=corrections)
    return written


def _by_author(
    desk: Desk, items: Mapping[str, Sequence[Item]]
) -> list[tuple[tuple[Model, str], dict[str, list[Mention]], dict[str, list[Correction]]]]:
    """Group what was decided by (model, reviewer), then by document; the order is fixed.

    Yields the accepted names and the corrections of names of the edition.
    """
    names: defaultdict[tuple[Model, str], dict[str, list[Mention]]] = defaultdict(dict)
    corrections: defaultdict[tuple[Model, str], dict[str, list[Correction]]] = defaultdict(dict)
    for id, of in items.items():
        for item in of:
            is_suggested = item.suggestion and not item.is_own
            by = desk.model_of(item) if is_suggested else REVIEW, item.reviewer or desk.reviewer
            if item.is_own and item.status != "there":
                corrections[by].setdefault(id, []).append(desk.correction(item))
            elif item.status == "accepted":
                names[by].setdefault(id, []).append(desk.refer(item.mention()))
    authors = names.keys() | corrections.keys()
    order = sorted(authors, key=lambda by: (by[0] == REVIEW, by[0].id, by[1]))
    return [(by, names[by], corrections[by]) for by in order]


def _saved_path(desk: Desk) -> Path:
    return desk.output / ".workbench" / "saved.tsv"


def _saved(desk: Desk, name: str) -> set[str]:
    """Return the hashes of all contents that were ever saved under a name."""
    if not _saved_path(desk).exists():
        return set()
    lines = _saved_path(desk).read_bytes().decode("utf-8", "replace").split("\n")
    pairs = (line.partition("\t") for line in lines)
    return {digest for digest, _, saved in pairs if saved == _in_line(name)}


def _in_line(name: str) -> str:
    return name.replace("\n", " ")


def _note_saved(desk: Desk, name: str, digest: str) -> None:
    _saved_path(desk).parent.mkdir(parents=True, exist_ok=True)
    with _saved_path(desk).open("a", encoding="utf-8", newline="\n") as file:
        file.write(f"{digest}\t{_in_line(name)}\n")
        file.flush()
        os.fsync(file.fileno())


def _number_of_text(source: Source) -> int:
    """Find the index of the first element after the header; 0 without one.

    The difference of two indexes is the number of elements that were inserted into the header.
    """
    return next((n.number for n in source.nodes if n.name == "text"), 0)


def _say(error: Exception, name: str) -> str:
    if isinstance(error, OSError):
        return f"{name}: could not be written ({error.strerror}). What was there stays."
    return str(error)


def _hash(data: bytes) -> str:
    return sha256(data).hexdigest()
