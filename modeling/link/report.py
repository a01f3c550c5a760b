"""The report on links: tables in Markdown, the numbers as JSON, and a table of all mentions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Final

from corpora.reports import counted
from corpora.reports.pages import Block, Heading, Prose, Table, to_markdown
from corpora.system.cells import cell_of
from corpora.system.writing import write_json, write_text
from modeling.bootstrap import Interval
from modeling.link.evaluation import F1, RANKS, BootstrapRatio, Outcome, OutcomeRatios, groups

_COLUMNS: Final = ("document", "form", "label", "gold", "chosen", "probability", "is_written",
                   "baseline", "prior", "rank", "n_senses", "is_known")  # fmt: skip
_Answer = Callable[[Outcome], str | None]
_ANSWERS: Final[Mapping[str, _Answer]] = {
    "baseline": lambda one: one.baseline,
    "prior alone": lambda one: one.prior,
    "all features": lambda one: one.chosen,
}
"""The entity that each way of linking chooses."""


def measure(
    outcomes: Sequence[Outcome], *, replicates: int = 1000, nil: bool = False
) -> dict[str, Any]:  # Any: a ``BootstrapRatio`` or an ``F1``, by its name
    """Compute all numbers of the report, each a ``BootstrapRatio`` or an ``F1``, by name.

    With ``nil``, mentions without an entity are links to NIL, as in HIPE-2022. Because spans are
    given, its precision, recall and F1 are all the ratio of mentions with the right answer. Without
    ``nil``, the entity of such a mention is not known, and a link of it is neither right nor wrong.
    """
    has_answer = _is_any if nil else _has_id
    ratios = OutcomeRatios(outcomes, replicates=replicates)
    found: dict[str, BootstrapRatio | F1] = {
        "coverage": ratios.ratio(lambda o: o.is_known, _has_id),
        "form in training": ratios.ratio(lambda o: o.n_senses > 0, _has_id),
    }
    for name, answer in _ANSWERS.items():
        is_right = partial(_is_right, answer)
        found[f"accuracy, {name}"] = ratios.ratio(is_right, _has_id)
        found[f"accuracy of known entities, {name}"] = ratios.ratio(is_right, lambda o: o.is_known)
    for rank in RANKS:
        found[f"recall at {rank} of known entities"] = ratios.ratio(
            partial(_is_within, rank), lambda o: o.is_known
        )
    found["wrong among written"] = ratios.ratio(
        lambda o: o.chosen != o.gold, lambda o: o.is_written and has_answer(o)
    )
    found["written"] = ratios.ratio(lambda o: o.is_written, _has_id)
    if not nil and not all(map(_has_id, outcomes)):
        found["written of names without an id"] = ratios.ratio(
            lambda o: o.is_written, lambda o: not _has_id(o)
        )
    found["links, strict"] = ratios.f1(
        lambda o: o.is_written and o.is_right, lambda o: o.is_written and has_answer(o), _has_id
    )
    found["NIL"] = ratios.f1(
        lambda o: not o.is_written and not o.is_known and has_answer(o),
        lambda o: not o.is_written and has_answer(o),
        lambda o: not o.is_known and has_answer(o),
    )
    if nil:
        answers: Mapping[str, _Answer] = {
            **_ANSWERS,
            "links that are written": lambda o: o.chosen if o.is_written else None,
        }
        for name, answer in answers.items():
            is_right = partial(_is_right, answer)
            found[f"NIL is an answer: {name}"] = ratios.ratio(is_right, _is_any)
    return found


def _is_right(answer: _Answer, outcome: Outcome) -> bool:
    return answer(outcome) == outcome.gold


def _is_within(rank: int, outcome: Outcome) -> bool:
    return outcome.rank is not None and outcome.rank <= rank


def _is_any(_: Outcome) -> bool:
    return True


def _has_id(outcome: Outcome) -> bool:
    return outcome.gold is not None


def write_report(
    outcomes: Sequence[Outcome],
    folder: Path,
    *,
    title: str,
    replicates: int = 1000,
    nil: bool = False,
) -> str:
    """Write ``report.md``, ``report.json`` and ``names.tsv``; return the Markdown."""
    measures = measure(outcomes, replicates=replicates, nil=nil)
    text = to_markdown(list(_describe(outcomes, measures, title=title)))
    folder.mkdir(parents=True, exist_ok=True)
    write_text(folder / "names.tsv", _rows(outcomes))
    write_json(folder / "report.json", {name: _plain(value) for name, value in measures.items()})
    write_text(folder / "report.md", [text])
    return text


def _describe(
    outcomes: Sequence[Outcome],
    measures: dict[str, Any],  # Any: as of ``measure``
    *,
    title: str,
) -> Iterator[Block]:
    n_linked = sum(outcome.gold is not None for outcome in outcomes)
    documents = len({outcome.document for outcome in outcomes})
    yield Heading(title, level=1)
    yield Prose(
        f"{counted(len(outcomes), 'name')} of {counted(documents, 'document')}, {n_linked:,} "
        "with an id. Intervals: 95 %, by the bootstrap over documents. A known entity is one of "
        "the register, of the vocabulary, or of a training document."
    )
    yield Heading("Accuracy")
    rows = [["", "of all names with an id", "", "of those whose entity is known", ""]]
    for way in _ANSWERS:
        both = (measures[f"accuracy, {way}"], measures[f"accuracy of known entities, {way}"])
        rows.append([way, *(cell for ratio in both for cell in (_value(ratio), _between(ratio)))])
    yield Table(rows)
    yield Prose(
        "Baseline: the most frequent entity of the form in training. Accuracy counts the first "
        "candidate, whether it is sure enough to be written or not."
    )
    yield Heading("Candidates, links and what is left open")
    rows = [["", "ratio", "95 %", "part", "of"]]
    names = [name for name, value in measures.items() if isinstance(value, BootstrapRatio)]
    rows += [_row(name, measures[name]) for name in names if not name.startswith("accuracy")]
    for name in ("links, strict", "NIL"):
        one: F1 = measures[name]
        rows += [_row(f"{name}: precision", one.precision), _row(f"{name}: recall", one.recall)]
        rows.append([f"{name}: F1", f"{one.value:.3f}", _between(one), "", ""])
    yield Table(rows)
    yield Prose(
        "NIL: names that are left without a link; right where their id is not known, or, with "
        "--nil, where they have none. Without --nil, names without an id count nowhere else."
    )
    yield Heading("By class, ambiguity and novelty")
    rows = [["", "names", *_ANSWERS, "written", "wrong"]]
    for name, some in groups(outcomes):
        written = [one for one in some if one.is_written]
        wrong = sum(not one.is_right for one in written)
        n_right = (sum(_is_right(answer, one) for one in some) for answer in _ANSWERS.values())
        cells = [_quotient(n, len(some)) for n in n_right]
        rows.append([name, f"{len(some):,}", *cells, f"{len(written):,}", f"{wrong:,}"])
    yield Table(rows)


def _row(name: str, ratio: BootstrapRatio) -> list[str]:
    return [name, _value(ratio), _between(ratio), f"{ratio.part:,}", f"{ratio.whole:,}"]


def _quotient(part: int, whole: int) -> str:
    return f"{part / whole:.3f}" if whole else ""


def _value(ratio: BootstrapRatio) -> str:
    return _quotient(ratio.part, ratio.whole)


def _between(measure: BootstrapRatio | F1) -> str:
    interval: Interval | None = measure.interval
    return f"{interval.low:.3f} to {interval.high:.3f}" if interval else ""


def _plain(value: BootstrapRatio | F1) -> dict[str, object]:
    return {**asdict(value), "value": value.value}


def _rows(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "\t".join(_COLUMNS) + "\n"
    for outcome in outcomes:
        values = (getattr(outcome, name) for name in _COLUMNS)
        yield "\t".join(_cell(value) for value in values) + "\n"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4f}"
    return "" if value is None else cell_of(str(value))
