"""The actions of a person in the workbench: look, decide, undo, search, save.

All requests of a page go through one ``Desk``, which returns plain data. Requests name letters,
documents and blocks by index, never by the name of a file.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path, PurePosixPath
from typing import NamedTuple
from uuid import uuid4

from corpora.document import Mention
from corpora.errors import CorpusError
from corpora.registers.entry import kind_of_label
from corpora.registers.new_entries import NewEntry, next_id
from corpora.registers.references import Habits, ReferenceStyle
from corpora.registers.register import make_register
from corpora.system.parsing import parse_json, typed
from corpora.system.writing import remove_leftovers, write_json
from corpora.tei.decisions import SUFFIX as JOURNAL
from corpora.tei.decisions import now
from corpora.tei.edition import Edition
from corpora.tei.provenance import Model
from corpora.tei.review import REVIEW
from corpora.tei.style import template, typed_entity
from corpora.tei.writer import ACROSS, INVALID, Correction, WriteOptions
from modeling.workbench import messages
from modeling.workbench.candidates import CandidateSource, about
from modeling.workbench.entries import SUFFIX, EditionEntries, MadeEntries, MadeEntry
from modeling.workbench.facsimiles import Facsimiles, images_in
from modeling.workbench.journal import Action, Journal
from modeling.workbench.letters import FileTexts, Letter, Letters, Suggester
from modeling.workbench.names import (
    DocumentNames,
    Item,
    ItemChange,
    RefusedError,
    changed,
    decision_on,
    id_of,
    open_item,
)
from modeling.workbench.view import tei_view


class ConflictError(CorpusError):
    """The error for a request that knows an outdated state: the page must reload."""


class Wanted(NamedTuple):
    """A change of an item, requested or done, with its letter and document."""

    letter: Letter
    names: DocumentNames
    change: ItemChange


class Desk:
    """The letters, the journal and the reviewer; a lock admits one action at a time."""

    def __init__(
        self,
        letters: Letters,
        journal: Journal,
        *,
        reviewer: str,
        output: Path,
        register: EditionEntries | None = None,
        sources: Sequence[CandidateSource] = (),
        schema: Path | None = None,
        style: ReferenceStyle | None = None,
        registers: Mapping[str, Path] | None = None,
        facsimiles: Facsimiles | None = None,
    ) -> None:
        self.letters, self.journal = letters, journal
        self.reviewer, self.output = reviewer, output
        self.register = register or EditionEntries(make_register([]), space=letters.edition.name)
        self.schema = schema
        """The schema that saved files are validated with; None: they are not."""
        self.sources: Sequence[CandidateSource] = (self.register, *sources)
        self._style, self.facsimiles = style, facsimiles or Facsimiles()
        made_path = journal.path.with_name(journal.path.name.removesuffix(JOURNAL) + SUFFIX)
        self.made_entries = MadeEntries(made_path, registers or {})
        self._habits: Habits | None = None
        self.labels = tuple(_writable(letters.edition))
        self.models = SuggestingModels(output / ".workbench" / "models.json")
        self.models.add(letters.suggester.model)
        self.lock = threading.RLock()

    def model_of(self, item: Item) -> Model:
        """Return the model that suggested an item; if it is unknown, the one that suggests now."""
        return self.models.known.get(item.model, self.letters.suggester.model)

    @property
    def edition(self) -> Edition:
        """The edition, with the rules by which the letters are read and written."""
        return self.letters.edition

    # Reading

    def look(self, letter: Letter) -> Letter:
        """Read a letter if it is new or has changed, and replay the decisions on it."""
        with self.lock:
            if self.letters.read(letter):
                self._replay(letter)
            return letter

    def suggest(self, letter: Letter) -> None:
        """Find the suggestions of a letter that waits for them, without holding the lock.

        They are dropped if the letter or the suggester has changed meanwhile.
        """
        self.look(letter)
        digest, documents = letter.sha256, letter.documents
        if not letter.is_waiting or letter.error:
            return
        suggester = self.letters.suggester
        mentions = suggester.find(FileTexts(letter.name, documents))
        with self.lock:
            if letter.sha256 == digest and suggester is self.letters.suggester:
                self.letters.suggest(letter, documents, mentions)
                self._replay(letter)

    def use(self, suggester: Suggester) -> None:
        """Replace the suggester: decided items stay, open items are suggested again."""
        with self.lock:
            self.letters.suggester = suggester
            self.models.add(suggester.model)
            self.models.keep()
            for letter in self.letters.all:
                if letter.sha256 and not letter.error:
                    file = FileTexts(letter.name, letter.documents)
                    self.letters.suggest(letter, file.documents, suggester.known(file))
                    self._replay(letter)

    def _replay(self, letter: Letter, *, first: int = 0) -> None:
        """Replay the decisions of the journal on a letter, from the index ``first`` on."""
        for index, decision in self.journal.of_file(letter.name):
            for names in letter.names if index >= first else ():
                if decision.is_on(letter.name, names.document.id):
                    names.replay(index, decision)

    def refresh(self) -> None:
        """Read and replay the decisions that other programs have made."""
        first = len(self.journal.entries)
        self._know_entries()
        if self.journal.refresh():
            for letter in self.letters.all:
                self._replay(letter, first=first)

    def _know_entries(self) -> None:
        """Offer the entries that people made, and that hold, as candidates."""
        if self.made_entries.all:
            self.register.new = {entry.id: entry.as_entry() for entry in self.new_entries()}

    @property
    def n_unread(self) -> int:
        """The number of letters that were not read yet."""
        return sum(not (letter.sha256 or letter.error) for letter in self.letters.all)

    def listing(self) -> messages.LetterList:
        """List all letters, with the numbers of decided and open items in those that were read."""
        with self.lock:
            self.refresh()
            rows = [self._row(letter) for letter in self.letters.all]
            return {
                "edition": self.edition.name,
                "labels": self.labels,
                "entryLabels": [label for label in self.labels if kind_of_label(label)],
                "reviewer": self.reviewer,
                "letters": rows,
                "journal": self._history(),
                "unreadable": list(self.journal.unreadable),
                "sources": [source.name for source in self.sources],
            }

    def _row(self, letter: Letter) -> messages.LetterRow:
        items = [item for names in letter.names for item in names.items()]
        return {
            "n": letter.number,
            "name": letter.name,
            "title": letter.title or letter.name,
            "open": sum(item.status == "open" for item in items),
            "decided": sum(item.status not in {"open", "there"} for item in items),
            "lost": sum(names.n_lost for names in letter.names),
            "isRead": bool(letter.sha256 or letter.error),
            "isWaiting": letter.is_waiting,
            "error": letter.error,
        }

    def _history(self) -> messages.History:
        return {"undo": len(self.journal.undoable), "redo": len(self.journal.redoable)}

    def letter(self, number: int) -> messages.ShownLetter:
        """Return a letter as its edition reads it; raises ``CorpusError`` if it cannot be read."""
        with self.lock:
            self.refresh()
            letter = self.look(self.letter_at(number))
            if letter.error:
                raise CorpusError(letter.error)
            texts = self.letters.texts(letter)
            views = [tei_view(*text, self.edition) for text in texts]
            for mark in (mark for view in views for mark in view["marks"]):
                self._show_image(letter, mark)
            return {
                **self._state(letter),
                "name": letter.name,
                "documents": views,
                "entries": self._entries_of(letter),
            }

    def _show_image(self, letter: Letter, mark: messages.BreakMark) -> None:
        """Replace the image of a page by an address that the page may load; else drop it."""
        image = mark.pop("image", "")
        if self.facsimiles.is_allowed(image):
            mark["image"] = image
        elif image and self.facsimiles.file(image):
            number = images_in(self.letters.parsed(letter).source).index(image)
            mark["image"] = f"api/letters/{letter.number}/images/{number}"

    def image(self, number: int, image: int) -> Path:
        """Find the file of an image of a letter; raises ``RefusedError`` where there is none."""
        images = images_in(self.letters.parsed(self.look(self.letter_at(number))).source)
        path = self.facsimiles.file(images[image]) if image < len(images) else None
        if path is None:
            raise RefusedError(f"There is no image {image}.")
        return path

    def _entries_of(self, letter: Letter) -> dict[str, messages.EntityCandidate]:
        """Look up the entities that the names of a letter mean; unknown ones are left out."""
        if not self.sources:
            return {}
        items = [item.entity for names in letter.names for item in names.items()]
        entries = {entity: about(self.sources, entity) for entity in set(items)}
        return {entity: known for entity, known in entries.items() if known}

    def letter_at(self, number: int) -> Letter:
        """Look up a letter by its index; raises ``RefusedError`` where there is none."""
        if not 0 <= number < len(self.letters.all):
            raise RefusedError(f"There is no letter {number}.")
        return self.letters.all[number]

    def _state(self, letter: Letter) -> messages.LetterState:
        """Return the parts of a letter that change: its items, and its row in the list."""
        return {
            "row": self._row(letter),
            "sha256": letter.sha256,
            "items": [[item.to_json() for item in names.items()] for names in letter.names],
            "there": sum(names.n_there for names in letter.names),
            "journal": self._history(),
        }

    # Deciding

    def decide(self, wanted: Sequence[Mapping[str, object]]) -> messages.Decided:
        """Apply a page's changes to items, all or none, and write them to the journal first.

        Each change has ``letter``, ``document``, ``id`` (empty: a new name), ``was`` (the item as
        the page knew it), and the new ``status``, ``start``, ``end``, ``label``, ``entity``. Raises
        ``RefusedError``, ``ConflictError``, and ``CorpusError`` for a journal that cannot be
        written; nothing was decided then.
        """
        with self.lock:
            self.refresh()
            changes: list[Wanted] = []
            for asked in wanted:
                changes.append(self._wanted(asked, beside=changes))
            return self._do(changes, uuid4().hex[:12])

    def _do(self, wanted: Sequence[Wanted], action: str) -> messages.Decided:
        model, time = self.letters.suggester.model.id, now()
        made: list[Wanted] = []
        for letter, names, (old, new) in wanted:
            if new is not None and new.status not in {"open", "there"}:
                by = (new.model or model) if new.suggestion and not new.is_own else ""
                new = replace(new, reviewer=self.reviewer, time=time, model=by)  # noqa: PLW2901
            made.append(Wanted(letter, names, ItemChange(old, new)))
        decisions = [
            decision_on(
                change,
                document=names.document,
                file=letter.name,
                model=model,
                reviewer=self.reviewer,
                action=action,
            )
            for letter, names, change in made
        ]
        indexes = self.journal.append(decisions)
        self._know_entries()
        for index, (_, names, change) in zip(indexes, made, strict=True):
            names.change(index, change)
        letter, names, change = made[-1]
        item = change.new or change.old
        return {
            "letters": {each.letter.number: self._state(each.letter) for each in made},
            "item": item.id if item else "",
            "journal": self._history(),
            "letter": letter.number,
            "document": letter.names.index(names),
        }

    def _wanted(self, asked: Mapping[str, object], *, beside: Iterable[Wanted] = ()) -> Wanted:
        letter = self.look(self.letter_at(_number(asked, "letter")))
        if letter.error:
            raise CorpusError(letter.error)
        if asked.get("sha256", letter.sha256) != letter.sha256:
            raise ConflictError(f"{letter.name}: was changed by somebody. It was read again.")
        document = _number(asked, "document")
        if document >= len(letter.names):
            raise RefusedError(f"{letter.name}: has no document {document}.")
        names = letter.names[document]
        id, was = asked.get("id", ""), asked.get("was", {})
        if not isinstance(id, str) or not isinstance(was, dict):
            raise RefusedError("A name has an id, and is what the page knew of it.")
        old = names.get(id) if id else None
        if id and (old is None or not _is_as_known(old, was)):
            raise ConflictError("Another page has decided on this name meanwhile. Look again.")
        new = self._new(names, old, asked)
        if new is not None:
            others = (other.change.new for other in beside if other.names is names)
            names.check(new, instead_of=old, beside=filter(None, others))
            if new.is_own and new.status != "there":
                self._prove(letter, names, new)
        return Wanted(letter, names, ItemChange(old, new))

    def _new(
        self, names: DocumentNames, old: Item | None, asked: Mapping[str, object]
    ) -> Item | None:
        """Compute the item that an item is to become; None: it is removed."""
        status = asked.get("status", "accepted")
        if old is not None and status in ("open", "there", "rejected"):  # no set: it may be a list
            again = open_item(old)
            if status == "rejected" and again:
                remark = asked.get("remark", "")
                again = replace(again, status="rejected", remark=str(remark))
            return again
        if old is None:
            if status != "accepted":
                raise RefusedError("A new name is accepted: nobody suggested it.")
            old = Item(id="", start=0, end=1, label="")
        item = changed(old, {**asked, "status": status}, labels=self.labels)
        if item.entity != old.entity:
            item = replace(item, entity=typed_entity(item.entity, self.edition))
        if item.is_own and item.is_as_suggested and not item.remark:
            item = replace(item, status="there", reviewer="", time="")
        if item.suggestion is None:
            item = replace(item, id=id_of(item))
            if item.id != old.id and names.get(item.id):
                raise RefusedError("There is a name with these characters already.")
        return item

    def _prove(self, letter: Letter, names: DocumentNames, item: Item) -> None:
        """Raise ``RefusedError`` if a name of the edition cannot be corrected so in its file."""
        file, document = self.letters.parsed(letter), names.document
        corrections = {document.id: [self.correction(item)]}
        options = WriteOptions(schema=self.schema)
        written = file.write({}, model=REVIEW, options=options, corrections=corrections)
        if not written.skipped:
            return
        reason = written.skipped[0].reason
        message = f"That cannot be written in place: {reason}."
        if reason == INVALID and self.schema:
            message = f"{self.schema.name} does not allow that there."
        elif reason == ACROSS and (can := file.possible(document, corrections[document.id][0])):
            forms = " or ".join(f"“{document.text[span.start : span.end]}”" for span in can)
            message += f" What can: {forms}."
        raise RefusedError(message)

    def correction(self, item: Item) -> Correction:
        """Return the correction of a name of the edition that a person decided on."""
        assert item.suggestion is not None  # noqa: S101 - the edition's name
        new = self.refer(item.mention()) if item.status == "accepted" else None
        return Correction(item.suggestion, new)

    def refer(self, mention: Mention) -> Mention:
        """Give a mention the reference to its entity in the way of the letters."""
        if not mention.entity:
            return mention
        if self._habits is None:
            self._habits = Habits(self.edition, given=self._style)
            self._habits.learn(
                d for letter in self.letters.all for d in self.look(letter).documents
            )
        return self._habits.refer_to_same(mention)

    def make_entry(self, asked: Mapping[str, object]) -> messages.Decided:
        """Make an entry with the next free id, and link a name to it: one action.

        ``asked`` is a change as for ``decide``, with ``name``, ``note`` and ``same`` of the entry.
        """
        with self.lock:
            self.refresh()
            label = str(asked.get("label"))
            kind = kind_of_label(label)
            if kind is None:
                raise RefusedError(f"The label {label!r} names no kind of entry.")
            entries = [*self.register.register.entries.values()]
            entries += [record.entry.as_entry() for record in self.made_entries.all]
            taken = {entry.id for entry in entries}
            id = next_id((e.id for e in entries if e.kind == kind), otherwise=label)
            while id in taken:
                id += "a"
            fields = {key: str(asked.get(key) or "") for key in ("name", "note", "same")}
            entry = NewEntry(id=id, kind=kind, **fields)
            wanted = self._wanted({**asked, "entity": f"{self.edition.name}:{id}"})
            action = uuid4().hex[:12]
            self.made_entries.append(MadeEntry(entry, action, self.reviewer, now()))
            return self._do([wanted], action)

    def new_entries(self) -> list[NewEntry]:
        """List the entries that people made and did not take back."""
        return self.made_entries.holding({action.id for action in self.journal.undoable})

    def undo(self) -> messages.Decided:
        """Undo the last action; raises ``RefusedError`` where there is none."""
        return self._step("undo", self.journal.undoable)

    def redo(self) -> messages.Decided:
        """Redo the action that was undone last; raises ``RefusedError`` where there is none."""
        return self._step("redo", self.journal.redoable)

    def _step(self, kind: str, actions: list[Action]) -> messages.Decided:
        with self.lock:
            self.refresh()
            if not actions:
                raise RefusedError(f"There is nothing to {kind}.")
            action = actions[-1]
            wanted = []
            for index in action.indexes if kind == "redo" else reversed(action.indexes):
                changed = self._changed_by(index)
                if changed is None:
                    actions.pop()
                    raise ConflictError(
                        f"{self.journal.entries[index].file}: was changed since, so this decision "
                        f"has no {kind}. The one before it has."
                    )
                old, new = changed.change
                wanted.append(
                    changed if kind == "redo" else changed._replace(change=ItemChange(new, old))
                )
            return self._do(wanted, f"{kind} {action.id}")

    def _changed_by(self, index: int) -> Wanted | None:
        decision = self.journal.entries[index]
        for letter in self.letters.all:
            if PurePosixPath(decision.file).name == PurePosixPath(letter.name).name:
                self.look(letter)
                for names in letter.names:
                    if index in names.changes:
                        return Wanted(letter, names, names.changes[index])
        return None


class SuggestingModels:
    """The models that have suggested names, by id, in a file beside what is saved."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            rows = parse_json(path.read_text(encoding="utf-8"))
            self.known = {model.id: model for model in typed(list[Model], rows)}
        except FileNotFoundError:
            self.known = {}
        except (OSError, ValueError) as error:
            raise CorpusError(
                f"{path}: cannot be read ({error}). Take it away: names of earlier models are then "
                "saved as those of the present one."
            ) from error

    def add(self, model: Model) -> None:
        """Add a model in memory; ``keep`` writes it to the file."""
        self.known[model.id] = model

    def keep(self) -> None:
        """Write all known models to the file."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(self._path.parent, self._path.name)
        write_json(self._path, [asdict(model) for model in self.known.values()])


def _writable(edition: Edition) -> Iterator[str]:
    """Yield the labels for which the edition has an element."""
    for label in [*edition.labels, *(name for name in edition.write if name not in edition.labels)]:
        try:
            template(edition, label)
        except CorpusError:
            continue
        yield label


def _number(asked: Mapping[str, object], name: str) -> int:
    value = asked.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise RefusedError(f"{name} is {value!r}, not a number from 0 on.")
    return value


def _is_as_known(item: Item, known: Mapping[str, object]) -> bool:
    """Tell whether an item is still what the page knew."""
    now_: Mapping[str, object] = item.to_json()
    return all(
        now_[name] == known.get(name) for name in ("start", "end", "label", "entity", "status")
    )
