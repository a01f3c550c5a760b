"""Sets and variants of ``benchmarks/chinese.py``, and the folders of their taggers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

RECIPES = {
    "without entities": "bert_fur_small",
    "our lexicon": "entity_bert_small",
    "no classification": "entity_bert_no_classification_small",
    "random n-grams": "entity_bert_small",
    "open domain": "entity_bert_small",
    "known words kept": "entity_bert_small",
}
LEXICONS = {"random n-grams": "random", "open domain": "open", "known words kept": "all"}
VARIANTS = ("base", "no pre-training", *list(RECIPES)[:-1])
OF_NOVEL = ("without entities", "our lexicon", "known words kept")
MAIN = ("without entities", "our lexicon", "random n-grams", "open domain")
"""The variants that are trained with more than one seed."""
BASELINE = "without entities"


@dataclass(frozen=True)
class Set:
    """A NER set: its files, its split, and the names of the raw texts of its domain."""

    files: tuple[str, ...]
    split: tuple[str, ...]
    domain: tuple[str, ...]
    steps: int
    """The number of steps of further training."""
    epochs: int
    train_size: int = 0
    seeds: int = 2
    """The number of seeds of the variants in ``MAIN``."""


SETS = {
    "cluener": Set(
        ("cluener-train.json",),
        ("--split", "sentence", "--ratios", "80/10/10"),
        ("titles", "web"),
        steps=200,
        epochs=5,
        train_size=3000,
        seeds=1,
    ),
    "resume": Set(
        ("resume-train.char.bmes", "resume-dev.char.bmes"),
        ("--split", "sentence", "--ratios", "90/10/0", "--split-of", "resume-dev.char.bmes=test"),
        (),
        steps=100,
        epochs=5,
    ),
    "weibo": Set(
        ("weibo-2nd-train.conll", "weibo-2nd-dev.conll"),
        ("--split", "sentence", "--ratios", "90/10/0", "--split-of", "weibo-2nd-dev.conll=test"),
        ("web",),
        steps=200,
        epochs=10,
    ),
    "peoples-daily": Set(
        ("peoples-daily-dev.txt",),
        ("--split", "sentence", "--ratios", "80/10/10"),
        ("daily",),
        steps=200,
        epochs=10,
    ),
    "sanguo": Set((), (), ("sanguo",), steps=150, epochs=4, train_size=3000),
}
CHAPTERS = {"train": range(1, 81), "dev": range(81, 91), "test": range(91, 121)}


def variants_of(name: str) -> Sequence[str]:
    return OF_NOVEL if name == "sanguo" else VARIANTS


def slug(text: str) -> str:
    return text.replace(" ", "-")


def tagger(output: Path, name: str, variant: str) -> Path:
    return output / "taggers" / f"{name}-{slug(variant)}"


def scores_of(output: Path, name: str, variant: str) -> Path:
    return tagger(output, name, variant) / "evaluation" / f"{name}-test"
