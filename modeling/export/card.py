"""The card of a model: its kind, its training data, its scores, and its limits.

The content comes from the manifest beside the model (``run.json``) and from the reports of its run
(``evaluation.json``). The card says of missing facts that they are unknown.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from corpora.errors import CorpusError
from corpora.reports.pages import Block, Heading, Items, Preformatted, Prose, Table, to_markdown
from corpora.system.parsing import parse_json, read_json
from modeling.evaluate.records import EvaluationRecord, RatedRecord, SavedEvaluation
from modeling.evaluate.report import VERSION
from modeling.training.records import Manifest

if TYPE_CHECKING:
    from modeling.export.__main__ import Options

FILE: Final = "README.md"
MANIFEST: Final = "run.json"
_UNKNOWN: Final = "not stated"
_COMPARED: Final = ("head", "gazetteer", "optimizer")
_LIMITS: Final = """\
Predictions are no facts: a name that is found has a probability, and who relies on it should set a
threshold, or look at each.

The scores hold for text like that of the test set. On other times, places, genres and spellings
they are lower, and nobody has measured by how much unless a table here says so.

Names that the training data has are found more often than new ones, and kinds of names that it
lacks are not found at all.

Not for decisions about people: the data says who is mentioned, not who someone is."""


@dataclass(frozen=True, kw_only=True)
class CardContent:
    """The content of a card."""

    what: str
    """A sentence about what the model does."""
    usage: Sequence[str]
    """Lines of Python that use the model."""
    n_parameters: int
    manifest: Manifest = field(default_factory=Manifest)
    """The content of ``run.json``; empty: there is none."""
    labels: Sequence[str] = ()
    evaluations: Sequence["Report"] = ()
    library: str = "onoma"
    notes: Sequence[str] = ()


class Report(EvaluationRecord):
    """The content of ``evaluation.json``, with the record of this model as ``own``."""

    own: SavedEvaluation


def read_manifest(folder: Path) -> Manifest:
    """Read ``run.json`` beside a model; return an empty manifest if there is none."""
    file = folder / MANIFEST
    manifest: Manifest = read_json(file) if file.is_file() else {}
    return {**manifest}


def read_evaluations(run: Path, name: str, manifest: Manifest) -> list[Report]:
    """Read the reports in RUN/evaluation that score this tagger, in the order of their folders.

    A report scores the tagger if it lists the tagger's trial (``seed-1``) and was made with the
    same encoder, data and settings. Those of other versions are left out. Raises ``CorpusError``
    for a damaged report.
    """
    evaluations: list[Report] = []
    for file in sorted((run / "evaluation").rglob("evaluation.json")):
        try:
            report: EvaluationRecord = parse_json(file.read_text(encoding="utf-8"))
        except ValueError as error:
            raise CorpusError(f"{file}: damaged ({error}). Make the report again.") from error
        if set(report) >= {"runs", "settings", "scores"} and report.get("version") == VERSION:
            own = report["runs"].get(name.rsplit("/", maxsplit=1)[-1] or "tagger")
            if own and _made_with(manifest).items() <= report["settings"].items():
                evaluations.append({**report, "own": own})
    return evaluations


def _made_with(manifest: Manifest) -> dict[str, object]:
    """Return the settings from ``run.json`` beside a tagger that a report on it must have, too."""
    config: Mapping[str, object] = manifest.get("config", {})
    training = manifest.get("config", {}).get("training", {})
    return {
        **{part: config.get(part) for part in _COMPARED},
        "training": {name: n for name, n in training.items() if name != "seed"},
        "encoder": (manifest.get("init_from") or {}).get("name"),
        "trained_on": manifest.get("data", {}).get("ner"),
    }


def write_card(model: CardContent, options: "Options", folder: Path) -> None:
    """Write ``README.md`` with the front matter that model hubs read."""
    text = f"{_front(model, options)}\n{to_markdown(list(_blocks(model, options)))}"
    (folder / FILE).write_text(text, encoding="utf-8", newline="\n")


def _front(model: CardContent, options: "Options") -> str:
    """Format the front matter as YAML; values are written as JSON, which is valid YAML."""
    lines: dict[str, str | list[str]] = {"library_name": model.library}
    facts = options.on_card
    if facts["language"]:
        lines["language"] = [tag.strip() for tag in facts["language"].split(",")]
    if facts["licence"]:
        lines["license"] = facts["licence"].lower()
    lines["tags"] = ["onoma"]
    if model.labels:
        lines["pipeline_tag"] = "token-classification"
        lines["tags"] = ["named-entity-recognition", "onoma"]
    body = (f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in lines.items())
    return f"---\n{''.join(body)}---\n"


def _blocks(model: CardContent, options: "Options") -> Iterator[Block]:
    yield Heading(options.on_card["name"], 1)
    yield Prose(f"{model.what} {model.n_parameters:,} parameters.")
    yield Heading("Use")
    yield Preformatted("\n".join(model.usage))
    if model.notes:
        yield Items(model.notes)
    if model.labels:
        yield Heading("Labels")
        yield Prose(", ".join(model.labels))
    yield Heading("Data")
    yield Items(list(_data(model, options)))
    yield Heading("Training")
    yield Items(list(_training(model.manifest)))
    if config := model.manifest.get("config"):
        yield Preformatted(json.dumps(config, indent=1, ensure_ascii=False))
    yield Heading("Scores")
    yield from _scores(model)
    if model.labels:
        yield Heading("Intended use and limits")
        yield Prose("To find names in running text, for editions, catalogues and research.")
        yield Items(_LIMITS.split("\n\n"))
    yield Heading("Licence")
    yield Prose(f"Of the model: {options.on_card['licence'] or _UNKNOWN}.")


def _data(model: CardContent, options: "Options") -> Iterator[str]:
    manifest = model.manifest
    data = manifest.get("data", {})
    yield f"Trained on: {data.get('ner') or _examples(manifest) or _UNKNOWN}"
    for identity in manifest.get("examples") or ():
        for what, value in identity.items():
            if isinstance(value, str | int):
                yield f"{what}: {value}"
    for split, counts in (("train", data.get("train")), ("dev", data.get("dev"))):
        if counts:
            yield f"{split}: " + ", ".join(f"{n:,} {name}" for name, n in counts.items() if n)
    yield f"Licence of the data: {options.on_card['data_licence'] or _UNKNOWN}"


def _examples(manifest: Manifest) -> str:
    n = len(manifest.get("examples") or ())
    return f"{n} dataset{'s' * (n > 1)} of examples, by their hashes:" if n else ""


def _training(manifest: Manifest) -> Iterator[str]:
    if not manifest:
        yield f"Settings, versions: {_UNKNOWN} (there is no {MANIFEST} beside the model)"
        return
    yield f"Recipe: {manifest.get('recipe') or _UNKNOWN}"
    if begun := manifest.get("init_from"):
        hashes = ", ".join(f"{file} {sha256}" for file, sha256 in begun["sha256"].items())
        yield f"Begun with: {begun['name']} (sha256: {hashes})"
    if versions := manifest.get("versions"):
        yield "Versions: " + ", ".join(f"{name} {number}" for name, number in versions.items())


def _scores(model: CardContent) -> Iterator[Block]:
    dev = model.manifest.get("dev", {})
    if (f1 := dev.get("strict_f1")) is not None:
        yield Prose(
            f"Strict F1 on dev {f1:.4f} (epoch {dev.get('epoch')}), by which the epoch was chosen: "
            "no test."
        )
    if not model.evaluations:
        yield Prose("No test was scored: onoma evaluate makes a report.")
    for report in model.evaluations:
        yield from _report(report)


def _report(report: Report) -> Iterator[Block]:
    own, settings = report["own"], report["settings"]
    yield Heading(f"{settings.get('dataset')}, {settings.get('split')}", 3)
    yield Prose(
        f"{own['n_sentences']:,} sentences, decoder {settings.get('decoder')}. Strict: both ends "
        f"and the label must be right. Intervals of 95 % by bootstrap over {own['unit']} "
        f"({own['replicates']:,} replicates)."
    )
    rows = [["", "precision", "recall", "F1", "from", "to", "gold", "found"]]
    strict = own["strict"]
    for name, score in (("all", strict["micro"]), *strict["by_label"].items()):
        numbers = [score["precision"], score["recall"], score["f1"], *_interval(score)]
        rows.append([name, *map(_number, numbers), f"{score['gold']:,}", f"{score['predicted']:,}"])
    yield Table(rows)
    if baseline := own["baseline"]:
        yield Prose(
            "Looking up the names of the training data, without a model, scores "
            f"{baseline['score']['f1']:.4f}."
        )
    spread = report["scores"].get("strict_f1")
    if spread and spread["deviation"] is not None:
        yield Prose(
            f"Over {len(spread['values'])} runs with other seeds: {spread['mean']:.4f} ± "
            f"{spread['deviation']:.4f}."
        )
    yield Prose(
        f"Expected calibration error of the names found: {_number(own['scores']['ece']) or 'none'}."
    )


def _interval(score: RatedRecord) -> tuple[float | None, float | None]:
    found = score["interval"]
    return (found["low"], found["high"]) if found else (None, None)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
