"""Tables of many evaluations: rows and columns are values of settings, cells are scores.

Example, heads by data set (as in the NEISS paper, Table 8):
  ``table(read_evaluations(Path("runs")), rows="head.kind", columns="dataset").to_markdown()``
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Final

from corpora.errors import CorpusError, UsageError
from corpora.reports.pages import Block, Prose, to_markdown
from corpora.reports.pages import Table as PageTable
from corpora.system.cells import one_line
from corpora.system.parsing import parse_json
from modeling.evaluate.records import EvaluationRecord, SavedEvaluation
from modeling.evaluate.report import VERSION
from modeling.evaluate.scores import Spread

Names = str | Sequence[str]
FILE: Final = "evaluation.json"
_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "[": "{[}",  # after the end of a row, it would begin an option
}
"""Characters that LaTeX writes by a command; before the others of ``_LATEX_SPECIAL`` it needs a
backslash."""
_LATEX_SPECIAL = re.compile(r"[\\~^±[&%$#_{}]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An evaluation on disk: one or more runs that differ in their seeds."""

    folder: Path
    title: str
    settings: Mapping[str, str]
    """The values of settings as text, by their names with dots (``head.kind``)."""
    runs: Mapping[str, SavedEvaluation]
    """The runs by name."""

    def setting(self, name: str) -> str | None:
        """Look up a setting, as text; None if there is none of this name."""
        return {"title": self.title, "folder": str(self.folder), **self.settings}.get(name)


def read_evaluations(folder: Path) -> list[Finished]:
    """Read every ``evaluation.json`` below a folder; ``CorpusError`` where there is none."""
    return find_evaluations([folder])[0]


def find_evaluations(folders: Sequence[Path]) -> tuple[list[Finished], list[Path]]:
    """Read the evaluations below some folders, each once; also return the folders without any.

    Raises ``CorpusError`` if no folder holds an evaluation, or a folder does not exist.
    """
    found: dict[Path, Path] = {}
    empty = []
    for folder in folders:
        if not folder.is_dir():
            raise CorpusError(f"{folder}: is no folder. Name runs that were evaluated.")
        paths = {path.resolve(): path for path in sorted(folder.rglob(FILE))}
        empty += [] if paths else [folder]
        found |= {place: path for place, path in paths.items() if place not in found}
    if not found:
        raise CorpusError(
            f"{', '.join(map(str, folders))}: holds no {FILE}. Evaluate something first: "
            "onoma evaluate RUN --ner DIR."
        )
    return [_read(path) for path in found.values()], empty


def _read(path: Path) -> Finished:
    try:
        read: EvaluationRecord = parse_json(path.read_text(encoding="utf-8"))
        version = read["version"]
        if version == VERSION:
            return Finished(
                folder=path.parent,
                title=read["title"],
                settings=dict(_flatten(read["settings"])),
                runs=read["runs"],
            )
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{path}: is no evaluation ({error!r}). Evaluate again.") from error
    raise CorpusError(f"{path}: has version {version}, not {VERSION}. Evaluate again.")


def _flatten(settings: Mapping[str, object], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in settings.items():
        if isinstance(value, Mapping):
            yield from _flatten(value, f"{before}{name}.")
        else:
            text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
            yield before + name, text


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTable:
    """A table of scores: rows and columns in order, and the cells that have runs."""

    title: str
    rows: Sequence[str]
    columns: Sequence[str]
    cells: Mapping[tuple[str, str], Spread]
    """The spread of the runs of a row and column."""
    notes: Sequence[str]

    def to_markdown(self) -> str:
        """Format the table and its notes; a cell is mean ± sample deviation (n), in percent."""
        lines = [["", *self.columns]]
        lines += [[row, *(self._show(row, column) for column in self.columns)] for row in self.rows]
        blocks: list[Block] = [Prose(self.title), PageTable(lines), *map(Prose, self.notes)]
        return to_markdown(blocks)

    def to_latex(self) -> str:
        """Format a ``tabular`` with the rules of booktabs; title and notes are comments."""
        lines = [f"% {' '.join(text.split())}" for text in (self.title, *self.notes)]
        lines += [f"\\begin{{tabular}}{{l{'r' * len(self.columns)}}}", "\\toprule"]
        lines += [_latex_row(["", *self.columns]), "\\midrule"]
        for row in self.rows:
            lines.append(_latex_row([row, *(self._show(row, column) for column in self.columns)]))
        return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", ""])

    def _show(self, row: str, column: str) -> str:
        spread = self.cells.get((row, column))
        if spread is None:
            return ""
        n, expected = len(spread.values), max(len(cell.values) for cell in self.cells.values())
        return f"{spread} ({n})" if n == expected else f"{spread} ({n} of {expected})"

    def _each(self) -> Iterator[tuple[str, str, Spread]]:
        for place in product(self.rows, self.columns):
            if spread := self.cells.get(place):
                yield *place, spread

    def to_json(self) -> dict[str, object]:
        """Convert the table to JSON: title, notes, and each cell with all its values."""
        cells = [
            {
                "row": row,
                "column": column,
                "mean": spread.mean,
                "deviation": spread.deviation,
                "n": len(spread.values),
                "values": list(spread.values),
            }
            for row, column, spread in self._each()
        ]
        return {"title": self.title, "cells": cells, "notes": list(self.notes)}

    def to_tsv(self) -> str:
        """Format a line for each cell: row, column, mean, deviation, n, all values."""
        lines = ["row\tcolumn\tmean\tdeviation\tn\tvalues\n"]
        for row, column, spread in self._each():
            deviation = "" if spread.deviation is None else repr(spread.deviation)
            n, values = len(spread.values), " ".join(map(repr, spread.values))
            names = f"{one_line(row)}\t{one_line(column)}"
            lines.append(f"{names}\t{spread.mean!r}\t{deviation}\t{n}\t{values}\n")
        return "".join(lines)


def _latex_row(cells: Sequence[str]) -> str:
    escaped = (_LATEX_SPECIAL.sub(lambda m: _LATEX.get(m[0]) or f"\\{m[0]}", c) for c in cells)
    return " & ".join(escaped) + r" \\"


def table(
    evaluations: Sequence[Finished], *, rows: Names, columns: Names, value: str = "strict_f1"
) -> ResultTable:
    """Arrange the scores of evaluations in a table, by settings.

    ``rows`` and ``columns`` each name one or several settings, with dots in groups
    (``head.kind``), or the ``title`` or ``folder`` of an evaluation. ``value`` is a score
    (``Evaluation.scores``) or a path with dots in what ``Evaluation.to_json`` returns
    (``strict.by_label.PER.f1``). Raises ``UsageError`` for a setting that no evaluation has, or a
    value that is no score.
    """
    of_rows, of_columns = ([each] if isinstance(each, str) else each for each in (rows, columns))
    wanted = [*of_rows, *of_columns]
    _check(evaluations, wanted)
    groups: defaultdict[tuple[str, str], list[Finished]] = defaultdict(list)
    for evaluation in evaluations:
        groups[_key(evaluation, of_rows), _key(evaluation, of_columns)].append(evaluation)
    return ResultTable(
        title=f"{value.replace('_f1', ' F1')}: mean ± sample deviation (n), in percent",
        rows=_sorted({row for row, _ in groups}),
        columns=_sorted({column for _, column in groups}),
        cells={key: _spread(group, value) for key, group in groups.items()},
        notes=_notes(groups.values(), wanted=wanted),
    )


def _check(evaluations: Sequence[Finished], names: Sequence[str]) -> None:
    known = dict.fromkeys(name for evaluation in evaluations for name in evaluation.settings)
    for name in names:
        if name not in known and name not in {"title", "folder"}:
            raise UsageError(
                f"{name}: no evaluation has this setting. There are title, folder, "
                f"{', '.join(known)}."
            )


def _key(one: Finished, names: Sequence[str]) -> str:
    """Join the values of settings; those that are ``none`` are left out at the end."""
    values = [one.setting(name) or "not set" for name in names]
    while len(values) > 1 and values[-1] == "none":
        del values[-1]
    return " · ".join(values)


def _spread(group: Sequence[Finished], value: str) -> Spread:
    return Spread.of(
        [
            _value(run, value, where=f"{evaluation.folder}, run {name}")
            for evaluation in group
            for name, run in evaluation.runs.items()
        ]
    )


def _value(run: SavedEvaluation, value: str, *, where: str) -> float:
    if value in run["scores"]:
        return run["scores"][value]
    found: object = run
    for name in value.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise UsageError(
            f"{value}: is no score of {where}. There are {', '.join(run['scores'])}, and numbers "
            "by their path: strict.by_label.LABEL.f1, baseline.score.f1."
        )
    return float(found)


def _sorted(names: set[str]) -> list[str]:
    """Sort names: numbers by size, then texts by the alphabet."""

    def place(name: str) -> tuple[bool, float, str]:
        try:
            return False, float(name), name
        except ValueError:
            return True, 0.0, name

    return sorted(names, key=place)


def _notes(groups: Iterable[Sequence[Finished]], *, wanted: Sequence[str]) -> list[str]:
    """Write a note on other settings that differ inside cells, if any do."""
    differing = dict.fromkeys(
        name
        for group in groups
        for name in dict.fromkeys(name for one in group for name in one.settings)
        if name not in wanted and len({one.setting(name) for one in group}) > 1
    )
    return [f"Runs of one cell differ also in: {', '.join(differing)}."] if differing else []
