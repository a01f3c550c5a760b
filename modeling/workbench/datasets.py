"""A dataset of documents, or of NER sentences, to read in the page: rows by filters."""

import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from corpora.datasets.shards import open_dataset
from corpora.document import Document, Mention, Paragraph, Sentence
from corpora.errors import UsageError
from corpora.tagging import from_iob2
from modeling.workbench.names import RefusedError
from modeling.workbench.view import plain_view

_SHOWN = 1_000
_TITLE = 70  # characters of a row that has no title
_OF_MENTIONS: Mapping[str, Callable[[Document, Mention], str]] = {
    "label": lambda _, mention: mention.label or "",
    "entity": lambda _, mention: mention.entity or "",
    "form": lambda document, mention: document.text[mention.start : mention.end],
    "origin": lambda _, mention: mention.origin,
}


@dataclass(frozen=True, slots=True)
class Filter:
    """Which rows are shown: ``label:place form:"Bad Berka" length:>500 words``."""

    mentions: Mapping[str, str]
    """What one mention must be; a value may end in ``*``."""
    longer: int
    shorter: int | None
    words: tuple[str, ...]
    """In the title, the id or the text, whatever their case."""

    @classmethod
    def of(cls, said: str) -> "Filter":
        """Read what somebody wrote; raises ``RefusedError`` that says what can be written."""
        mentions: dict[str, str] = {}
        words: list[str] = []
        longer, shorter = 0, None
        try:
            parts = shlex.split(said)
        except ValueError:  # a quotation mark that is not closed yet
            parts = said.replace('"', " ").split()
        for part in parts:
            name, colon, value = part.partition(":")
            if colon and name in _OF_MENTIONS:
                mentions[name] = value
            elif colon and name == "length":
                if not value[1:].isdigit() or value[0] not in "<>":
                    raise RefusedError("Write length:>500 or length:<500, in characters.")
                longer = int(value[1:]) if value[0] == ">" else longer
                shorter = int(value[1:]) if value[0] == "<" else shorter
            else:
                words.append(part.casefold())
        return cls(mentions, longer, shorter, tuple(words))

    def fits(self, document: Document) -> bool:
        """Tell whether a document is to be shown."""
        length = len(document.text)
        if length <= self.longer or (self.shorter is not None and length >= self.shorter):
            return False
        if self.words:
            text = f"{document.title or ''} {document.id} {document.text}".casefold()
            if not all(word in text for word in self.words):
                return False
        return not self.mentions or any(map(self._test(document), document.mentions))

    def _test(self, document: Document) -> Callable[[Mention], bool]:
        def is_wanted(mention: Mention) -> bool:
            return all(
                _is_like(_OF_MENTIONS[name](document, mention), value)
                for name, value in self.mentions.items()
            )

        return is_wanted


def _is_like(found: str, wanted: str) -> bool:
    return found.startswith(wanted[:-1]) if wanted.endswith("*") else found == wanted


class DatasetReader:
    """A dataset whose rows are read, and never changed."""

    def __init__(self, path: Path) -> None:
        self.dataset = open_dataset(path)
        if self.dataset.schema.name not in {"documents", "ner"}:
            raise UsageError(
                f"--documents {path}: is a dataset of {self.dataset.schema.name}; documents and "
                "ner can be read."
            )
        self._labels: dict[str, None] = {}

    def listing(self, said: str) -> dict[str, Any]:
        """The first rows that fit a filter, and whether there may be more."""
        wanted = Filter.of(said)
        numbered = ((n, document) for n, document in self._documents() if wanted.fits(document))
        found = list(islice(numbered, _SHOWN + 1))
        for _, document in found:
            self._labels |= dict.fromkeys(m.label or "–" for m in document.mentions)
        return {
            "edition": self.dataset.path.name,
            "isReadOnly": True,
            "labels": sorted(self._labels),
            "reviewer": "",
            "letters": [_row(*each) for each in found[:_SHOWN]],
            "isMore": len(found) > _SHOWN,
            "all": self.dataset.n_rows,
            "journal": {"undo": 0, "redo": 0},
            "unreadable": [],
            "hasRegister": False,
        }

    def letter(self, number: int) -> dict[str, Any]:
        """A row as a document; its mentions are items that can be looked at."""
        found = next(islice(self._documents(), number, None), None)
        if found is None:
            raise RefusedError(f"There is no row {number}.")
        _, document = found
        view = plain_view(document) | {"names": []}
        if not view["blocks"]:
            view["blocks"] = [{"start": 0, "end": len(document.text), "kind": "p"}]
        items = [_item(n, mention) for n, mention in enumerate(document.mentions)]
        return {
            "row": _row(number, document),
            "name": document.id,
            "sha256": "",
            "documents": [view],
            "items": [items],
            "there": 0,
            "journal": {"undo": 0, "redo": 0},
            "entries": {},
        }

    def _documents(self) -> Iterator[tuple[int, Document]]:
        for number, record in enumerate(self.dataset.records()):
            yield number, record if isinstance(record, Document) else _joined(record)


def _joined(sentence: Sentence) -> Document:
    """A sentence as a text, its words apart by spaces, and its spans as mentions."""
    starts, length = [], 0
    for token in sentence.tokens:
        starts.append(length)
        length += len(token) + 1
    text = " ".join(sentence.tokens)
    mentions = [
        Mention(starts[s.start], starts[s.end - 1] + len(sentence.tokens[s.end - 1]), label=s.label)
        for s in from_iob2(sentence.tags, strict=False)
    ]
    return Document(
        id=sentence.id,
        group=sentence.split,
        source=sentence.document_id,
        text=text,
        paragraphs=(Paragraph(0, len(text)),) if text else (),
        mentions=tuple(mentions),
    )


def _row(number: int, document: Document) -> dict[str, Any]:
    title = document.title or " ".join(document.text[:_TITLE].split()) or document.id
    return {
        "n": number,
        "name": document.id,
        "title": title,
        "open": 0,
        "decided": len(document.mentions),
        "lost": 0,
        "isRead": True,
        "isWaiting": False,
        "error": "",
    }


def _item(number: int, mention: Mention) -> dict[str, Any]:
    return {
        "id": f"{mention.start}-{mention.end}-{number}",
        "start": mention.start,
        "end": mention.end,
        "label": mention.label or "–",
        "entity": mention.entity or "",
        "status": "accepted",
        "probability": mention.score,
        "isNew": False,
        "isChanged": False,
        "reviewer": "",
        "time": "",
        "origin": mention.origin,
    }
