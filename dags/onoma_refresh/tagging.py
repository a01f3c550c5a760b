"""A tagger of an edition: trained, compared with the current one, published if it is not worse."""

import json
from pathlib import Path
from typing import Any

from onoma_refresh.commands import run
from onoma_refresh.results import describe_version
from onoma_refresh.settings import Edition, Settings


def finetune(settings: Settings, edition: Edition, *, ner: str, encoder: str, output: Path) -> None:
    """Fine-tune an encoder on NER data; goes on where it was stopped."""
    run(
        settings,
        "modeling.finetune",
        *(edition.recipe, "--ner", ner, "--model", encoder, "--output", output),
        *edition.finetune,
    )


def evaluate(settings: Settings, edition: Edition, *, ner: str, tagger: str) -> None:
    """Score a tagger; ``StoppedError`` where it is worse than the current one, not by chance.

    That which is current now: while this one was trained, another run may have published a better.
    """
    against = settings.current(f"{edition.name}-tagger")
    run(
        settings,
        "modeling.evaluate",
        *(tagger, "--ner", ner, "--output", Path(tagger) / "evaluation"),
        *(("--against", against, "--fail-if-worse") if against else ()),
        *edition.evaluate,
    )


def publish_model(settings: Settings, made: str, shelf: str, *, version: str) -> dict[str, Any]:
    """Publish what was trained; returns what its asset is told."""
    run(settings, "modeling.publish", made, settings.shelf(shelf), "--version", version)
    folder = settings.shelf(shelf) / version
    told = describe_version(folder)
    scores = folder / "evaluation" / "evaluation.json"
    if scores.is_file():
        evaluation = json.loads(scores.read_text(encoding="utf-8"))
        told["totals"] = {"strict_f1": evaluation["scores"]["strict_f1"]["mean"]}
    return told
