"""Suggestions of names: by a tagger (cached beside the output), from an existing list, or none."""

import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.document import Mention
from corpora.errors import CorpusError
from corpora.system.arguments import message_of
from corpora.system.parsing import parse_json
from corpora.tei.edition import Edition
from corpora.tei.provenance import Model
from corpora.tei.review import REVIEW, ReviewedLine, by_file, mentions_in
from modeling.workbench.letters import FileTexts

if TYPE_CHECKING:
    from modeling.taggers.tagger import Tagger


log = logging.getLogger(__name__)


class ListedSuggestions:
    """The suggestions of a list of ``onoma predict --candidates`` that are found in the text.

    Without a list there are no suggestions: a person marks all names.
    """

    def __init__(self, candidates: Iterable[ReviewedLine] = (), model: Model = REVIEW) -> None:
        self.model = model
        self._by_file = by_file(candidates)

    def known(self, file: FileTexts) -> list[Sequence[Mention]] | None:
        """List, for each document of a file, the suggestions that are found in its text."""
        listed = self._by_file.get(file.name, ())
        return [mentions_in(listed, document) for document in file.documents]

    def find(self, file: FileTexts) -> list[Sequence[Mention]]:
        """Return the same as ``known``."""
        return self.known(file) or []


class TaggedSuggestions:
    """The names that a tagger finds, cached in a file, so that each text is tagged once.

    A text is tagged again if the edition reads it in another way, or the map of labels has changed.
    """

    def __init__(
        self, tagger: "Tagger", model: Model, cache: Path, *, threshold: float = 0.0
    ) -> None:
        self.tagger, self.model, self.threshold = tagger, model, threshold
        self._cache = cache
        self._found: dict[str, dict[str, list[Mention]]] = {}
        for line in cache.read_bytes().split(b"\n") if cache.exists() else ():
            try:
                row = parse_json(line)
                found = {
                    id: [_mention(cells) for cells in rows] for id, rows in row["found"].items()
                }
                self._found[row["key"]] = found
            except (ValueError, TypeError, KeyError, AttributeError, CorpusError):
                continue  # empty or incomplete; the file is tagged again

    def known(self, file: FileTexts) -> list[Sequence[Mention]] | None:
        """Return the suggestions of a file that was tagged before; None for another."""
        mentions = self._found.get(self._key(file))
        if mentions is None:
            return None
        return [
            [m for m in mentions.get(document.id, ()) if (m.score or 0.0) >= self.threshold]
            for document in file.documents
        ]

    def find(self, file: FileTexts) -> list[Sequence[Mention]]:
        """Tag the documents of a file, and append the names to the cache.

        If they cannot be written there, as on a full disk, a warning says so.
        """
        tagged = self.tagger.annotate_all(file.documents)
        found = {document.id: list(document.mentions) for document in tagged}
        key = self._key(file)
        self._found[key] = found
        rows = {
            id: [(m.start, m.end, m.label, m.entity, m.score) for m in mentions]
            for id, mentions in found.items()
        }
        line = json.dumps({"key": key, "found": rows}, ensure_ascii=False)
        try:
            self._cache.parent.mkdir(parents=True, exist_ok=True)
            with self._cache.open("a", encoding="utf-8") as cache:
                cache.write(f"\n{line}")  # ends a line that was cut
        except OSError as error:
            said = "the names are not kept, and the file is tagged again at the next start"
            log.warning("%s: %s: %s", file.name, message_of(error), said)
        return self.known(file) or []

    def _key(self, file: FileTexts) -> str:
        """Hash all that the names depend on: the texts as they are read, and the map of labels."""
        read = [replace(document, mentions=()) for document in file.documents]
        return sha256(repr((self.tagger.label_map, read)).encode("utf-8", "replace")).hexdigest()


def tagged_suggestions(
    run: Path, edition: Edition, *, cache: Path, threshold: float = 0.0, labels: str = ""
) -> TaggedSuggestions:
    """Open a tagger for the names that an edition can write; ``labels`` is a map of its labels."""
    from modeling.predict import tei  # noqa: PLC0415 - loads torch
    from modeling.predict.loading import load_tagger  # noqa: PLC0415

    tagger = load_tagger(run, labels=labels)
    tei.check_tagger_labels(tagger, edition)
    model = tei.model_of(tagger)
    return TaggedSuggestions(tagger, model, cache / f"{model.id}.jsonl", threshold=threshold)


def taken_run(folder: Path) -> Path | None:
    """Return the run whose tagger was put into use last; None where none was."""
    try:
        number = (folder / "taken").read_text(encoding="utf-8").strip()
    except FileNotFoundError:
        return None
    return folder / number / "run"


def _mention(cells: tuple[int, int, str | None, str | None, float | None]) -> Mention:
    start, end, label, entity, score = cells
    return Mention(start, end, label=label, entity=entity, score=score, origin="prediction")
