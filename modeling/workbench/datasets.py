"""The rows of a dataset, or of the errors of an evaluation, filtered for reading in the page."""

import math
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, islice
from pathlib import Path

from corpora.datasets.shards import open_dataset
from corpora.document import Document, Mention, Paragraph, Sentence, without_crossing
from corpora.errors import UsageError
from corpora.system.parsing import parse_json
from corpora.tagging import from_iob2
from modeling.data.predictions import PredictedSpan, Tagged
from modeling.evaluate.errors import Finding, find_errors
from modeling.evaluate.records import PredictionRecord
from modeling.workbench.messages import LetterList, LetterRow, ShownItem, ShownLetter
from modeling.workbench.names import RefusedError
from modeling.workbench.view import plain_view

_SHOWN = 1_000
_LENGTH = re.compile(r"[<>][0-9]{1,9}")
_TITLE = 70  # characters of the text that stand for a missing title
_OF_MENTIONS: Mapping[str, Callable[[Document, Mention], str]] = {
    "label": lambda _, mention: mention.label or "",
    "entity": lambda _, mention: mention.entity or "",
    "form": lambda document, mention: document.text[mention.start : mention.end],
    "origin": lambda _, mention: mention.origin,
    "error": lambda _, mention: mention.attributes.get("error", ""),
    "run": lambda document, _: document.group,
}


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter of rows: ``label:place form:"Bad Berka" length:>500 words``."""

    mentions: Mapping[str, str]
    """Attributes and values that one mention of the row must have; a value may end in ``*``."""
    longer: int
    shorter: float
    words: tuple[str, ...]
    """Words that must all be in the title, the id or the text, regardless of case."""

    @classmethod
    def of(cls, text: str) -> "Filter":
        """Parse a filter; raises ``RefusedError`` for a wrong length, and says how to write it."""
        mentions: dict[str, str] = {}
        words: list[str] = []
        longer, shorter = 0, math.inf
        try:
            parts = shlex.split(text)
        except ValueError:  # a quotation mark that is not closed yet
            parts = text.replace('"', " ").split()
        for part in parts:
            name, colon, value = part.partition(":")
            if colon and name in _OF_MENTIONS:
                mentions[name] = value
            elif colon and name == "length":
                if not _LENGTH.fullmatch(value):
                    raise RefusedError("Write length:>500 or length:<500, in characters.")
                longer = int(value[1:]) if value[0] == ">" else longer
                shorter = int(value[1:]) if value[0] == "<" else shorter
            else:
                words.append(part.casefold())
        return cls(mentions, longer, shorter, tuple(words))

    def fits(self, document: Document) -> bool:
        """Tell whether a document passes the filter."""
        if not self.longer < len(document.text) < self.shorter:
            return False
        if self.words:
            text = f"{document.title or ''} {document.id} {document.text}".casefold()
            if not all(word in text for word in self.words):
                return False
        return not self.mentions or any(self._is_wanted(document, m) for m in document.mentions)

    def _is_wanted(self, document: Document, mention: Mention) -> bool:
        for name, wanted in self.mentions.items():
            value = _OF_MENTIONS[name](document, mention)
            if value != wanted and not (wanted[-1:] == "*" and value.startswith(wanted[:-1])):
                return False
        return True


class DatasetReader:
    """A read-only source of rows, as documents."""

    def __init__(self, name: str, n_rows: int, documents: Callable[[], Iterable[Document]]) -> None:
        self.name, self.n_rows, self.documents = name, n_rows, documents
        self._labels: set[str] = set()

    def listing(self, said: str) -> LetterList:
        """List the first rows that pass a filter, and tell whether there are more."""
        wanted = Filter.of(said)
        rows = enumerate(self.documents())
        numbered = ((n, document) for n, document in rows if wanted.fits(document))
        found = list(islice(numbered, _SHOWN + 1))
        for _, document in found:
            self._labels |= {m.label or "–" for m in document.mentions}
        return {
            "edition": self.name,
            "isReadOnly": True,
            "labels": sorted(self._labels),
            "reviewer": "",
            "letters": [_row(*row) for row in found[:_SHOWN]],
            "isMore": len(found) > _SHOWN,
            "all": self.n_rows,
            "journal": {"undo": 0, "redo": 0},
            "unreadable": [],
            "sources": [],
        }

    def letter(self, number: int) -> ShownLetter:
        """Return a row as a document; its mentions are items that can only be viewed."""
        document = next(islice(self.documents(), number, None), None)
        if document is None:
            raise RefusedError(f"There is no row {number}.")
        view = plain_view(document)
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


def open_documents(path: Path) -> DatasetReader:
    """Open a dataset of documents, or of NER sentences, which are documents of one paragraph."""
    dataset = open_dataset(path)
    if dataset.schema.name not in {"documents", "ner"}:
        raise UsageError(
            f"--documents {path}: is a dataset of {dataset.schema.name}; documents and ner can be "
            "read."
        )

    def documents() -> Iterator[Document]:
        for record in dataset.records():
            yield record if isinstance(record, Document) else _joined(record)

    return DatasetReader(dataset.path.name, dataset.n_rows, documents)


def open_evaluation(path: Path) -> DatasetReader:
    """Open the sentences with an error of an evaluation, each between its neighbours.

    Raises ``UsageError`` for a folder that ``onoma evaluate`` did not write.
    """
    runs: dict[str, list[Tagged]] = {}
    try:
        with (path / "predictions.jsonl").open(encoding="utf-8") as lines:
            for line in lines:  # not ``splitlines``: words may have other line ends (U+2028)
                row: PredictionRecord = parse_json(line)
                runs.setdefault(row["run"], []).append(_tagged(row))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UsageError(
            f"--evaluation {path}: cannot be read ({error}). Name a folder that "
            "onoma evaluate wrote."
        ) from error
    rows = [row for run, tagged in runs.items() for row in _errors_of(run, tagged)]
    return DatasetReader(path.resolve().name, len(rows), lambda: rows)


def _tagged(row: PredictionRecord) -> Tagged:
    sentence = Sentence(
        id=row["id"],
        document_id=row["document_id"],
        split=row["split"],
        tokens=tuple(row["tokens"]),
        tags=tuple(row["gold"]),
    )
    spans = (
        PredictedSpan(start=start, end=end, label=label, probability=probability)
        for start, end, label, probability in row["spans"]
    )
    return Tagged(sentence=sentence, spans=tuple(spans))


def _errors_of(run: str, tagged: Sequence[Tagged]) -> Iterator[Document]:
    found: dict[int, list[Finding]] = {}
    for error in find_errors(tagged):
        found.setdefault(error.index, []).append(error)
    for index, findings in found.items():
        if any(finding.kind != "correct" for finding in findings):
            yield _in_context(tagged, index, findings, run=run)


def _in_context(
    tagged: Sequence[Tagged], index: int, findings: Sequence[Finding], *, run: str
) -> Document:
    """Make a document of a sentence with its right and wrong names, between its neighbours.

    The neighbours are of the same document. Names that would cross others are in the title.
    """
    here = tagged[index].sentence
    around = [
        n
        for n in (index - 1, index, index + 1)
        if 0 <= n < len(tagged) and tagged[n].sentence.document_id == here.document_id
    ]
    lines = [" ".join(tagged[n].sentence.tokens) for n in around]
    text, firsts = "\n".join(lines), _starts(lines)
    starts = [firsts[around.index(index)] + start for start in _starts(here.tokens)]
    mentions = [_mention(finding, here.tokens, starts) for finding in findings]
    nested, dropped = without_crossing(mentions)
    also = "; ".join(f"{text[m.start : m.end]} ({m.label})" for m in dropped)
    kinds = [finding.kind for finding in findings if finding.kind != "correct"]
    title = f"{', '.join(dict.fromkeys(kinds))}: {' '.join(here.tokens)[:_TITLE]}"
    return Document(
        id=here.id,
        group=run,
        source=here.document_id or "",
        title=title + (f" (also predicted: {also})" if also else ""),
        text=text,
        paragraphs=tuple(
            Paragraph(first, first + len(line)) for first, line in zip(firsts, lines, strict=True)
        ),
        mentions=tuple(nested),
    )


def _mention(finding: Finding, tokens: Sequence[str], starts: Sequence[int]) -> Mention:
    """Make a mention of the gold name, or else of the spurious one, with the kind of error."""
    span, predicted = finding.gold or finding.predicted, finding.predicted
    assert span is not None  # noqa: S101 - there is one of them
    remark: str = finding.kind
    if predicted is not None and finding.kind in {"type", "boundary", "both"}:
        remark += f": {' '.join(tokens[predicted.start : predicted.end])} ({predicted.label})"
    return Mention(
        starts[span.start],
        starts[span.end - 1] + len(tokens[span.end - 1]),
        label=span.label,
        score=predicted.probability if predicted else None,
        origin="prediction",
        attributes={"error": finding.kind, "said": remark},
    )


def _joined(sentence: Sentence) -> Document:
    """Convert a sentence to a document: words joined by spaces, and spans as mentions."""
    starts, text = _starts(sentence.tokens), " ".join(sentence.tokens)
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


def _starts(tokens: Sequence[str]) -> list[int]:
    """Compute the offset of each word (or line) when all are joined by one character."""
    ends = accumulate(len(token) + 1 for token in tokens)
    return [0, *ends][: len(tokens)]


def _is_wrong(mention: Mention) -> bool:
    return mention.attributes.get("error", "correct") != "correct"


def _row(number: int, document: Document) -> LetterRow:
    title = document.title or " ".join(document.text[:_TITLE].split()) or document.id
    return {
        "n": number,
        "name": document.id,
        "title": title,
        "open": sum(map(_is_wrong, document.mentions)),
        "decided": len(document.mentions),
        "lost": 0,
        "isRead": True,
        "isWaiting": False,
        "error": "",
    }


def _item(number: int, mention: Mention) -> ShownItem:
    return {
        "id": f"{mention.start}-{mention.end}-{number}",
        "start": mention.start,
        "end": mention.end,
        "label": mention.label or "–",
        "entity": mention.entity or "",
        "status": "open" if _is_wrong(mention) else "accepted",
        "probability": mention.score,
        "isNew": False,
        "isChanged": False,
        "reviewer": "",
        "time": "",
        "origin": mention.attributes.get("said") or mention.origin,
    }
