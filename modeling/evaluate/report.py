"""The files of an evaluation: its numbers, two pages to read, all errors, all predictions."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from corpora.datasets.shards import write_json, write_text
from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.system.parsing import parse_json
from modeling.data.predictions import PredictedSpan, Tagged
from modeling.evaluate.contents import describe
from modeling.evaluate.errors import list_errors
from modeling.evaluate.evaluation import Evaluation, as_json
from modeling.evaluate.intervals import Spread
from modeling.pages import to_html, to_markdown

VERSION: Final = 1
"""Of ``evaluation.json``."""


def write_report(
    evaluations: Mapping[str, Evaluation],
    folder: Path,
    *,
    title: str,
    settings: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> None:
    """Write what runs (named by their seeds, say) scored; ``evaluation.json`` is written last.

    Beside it ``report.md``, ``report.html``, ``errors.tsv`` and ``predictions.jsonl``. ``settings``
    are what tables are made by (``tables.py``). Raises ``CorpusError`` without evaluations, or
    where they were not made alike.
    """
    blocks = describe(evaluations, title=title, notes=notes, settings=settings)
    numbers = to_json(evaluations, title=title, settings=settings)
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "report.md", [to_markdown(blocks)])
    write_text(folder / "report.html", [to_html(blocks)])
    found = {run: (one.tagged, one.findings) for run, one in evaluations.items()}
    write_text(folder / "errors.tsv", list_errors(found))
    write_predictions({run: one.tagged for run, one in evaluations.items()}, folder)
    write_json(folder / "evaluation.json", numbers)


def to_json(
    evaluations: Mapping[str, Evaluation], *, title: str, settings: Mapping[str, Any]
) -> dict[str, Any]:
    """All numbers of all runs, and the scores that tables are made of, over the runs."""
    names = next(iter(evaluations.values())).scores
    across = {name: Spread.of([one.scores[name] for one in evaluations.values()]) for name in names}
    return {
        "version": VERSION,
        "title": title,
        "settings": settings,
        "scores": as_json(across),
        "runs": {run: one.to_json() for run, one in evaluations.items()},
    }


def write_predictions(runs: Mapping[str, Sequence[Tagged]], folder: Path) -> Path:
    """Write ``predictions.jsonl``: a line for each run and sentence."""
    path = folder / "predictions.jsonl"
    write_text(path, (_line(run, one) for run, tagged in runs.items() for one in tagged))
    return path


def _line(run: str, one: Tagged) -> str:
    row: dict[str, Any] = {
        "run": run,
        "id": one.sentence.id,
        "document_id": one.sentence.document_id,
        "split": one.sentence.split,
        "tokens": one.sentence.tokens,
        "gold": one.sentence.tags,
        "spans": [[s.start, s.end, s.label, s.probability] for s in one.spans],
    }
    row |= {"tags": one.tags} if one.tags else {}
    row |= {"words": list(one.words)} if one.words else {}
    return json.dumps(row, ensure_ascii=False) + "\n"


def read_predictions(path: Path) -> dict[str, list[Tagged]]:
    """Read ``predictions.jsonl`` again, by run: to compare runs.

    Inner tags and places in the text are not in it. Raises ``CorpusError`` for another file.
    """
    runs: dict[str, list[Tagged]] = {}
    for run, one in _read_lines(path):
        runs.setdefault(run, []).append(one)
    return runs


def _read_lines(path: Path) -> Iterator[tuple[str, Tagged]]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    row = parse_json(line)
                    yield row["run"], _tagged(row)
                except (ValueError, KeyError, TypeError) as error:
                    raise CorpusError(
                        f"{path}:{number}: no prediction ({error!r}). Evaluate again."
                    ) from error
    except OSError as error:
        raise CorpusError(
            f"{path}: cannot be read ({error.strerror}). Name the predictions of an evaluation."
        ) from error


def _tagged(row: Mapping[str, Any]) -> Tagged:
    return Tagged(
        sentence=Sentence(
            id=row["id"],
            document_id=row["document_id"],
            split=row["split"],
            tokens=tuple(row["tokens"]),
            tags=tuple(row["gold"]),
        ),
        spans=tuple(
            PredictedSpan(start=start, end=end, label=label, probability=probability)
            for start, end, label, probability in row["spans"]
        ),
        tags=tuple(row.get("tags", ())),
        words=tuple((label, probability) for label, probability in row.get("words", ())),
    )
