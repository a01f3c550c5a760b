"""Sets, variants and sizes of ``benchmarks/chinese.py``, and the folders of their taggers."""

from dataclasses import dataclass
from pathlib import Path

BASELINE = "without entities"
RECIPES = {
    BASELINE: "bert_fur",
    "our lexicon": "entity_bert",
    "by name": "entity_bert",
    "likely names": "entity_bert",
    "known words kept": "entity_bert",
    "random n-grams": "entity_bert",
    "added to embeddings": "bert_fur_ent",
    "open domain": "entity_bert",
    "no classification": "entity_bert_no_classification",
}
"""The recipes that train the variants further; those of a small encoder end in ``_small``."""
SETTINGS = dict.fromkeys(("by name", "likely names"), ("training.entity_start=names",))
"""The settings of the variants that have some of their own."""
LEXICONS = {
    "likely names": "tagger",
    "known words kept": "all",
    "random n-grams": "random",
    "open domain": "open",
}
"""The lexicons of the variants whose lexicon is not ``ours``."""
VARIANTS = (BASELINE, "our lexicon", "base", *list(RECIPES)[2:], "no pre-training")


@dataclass(frozen=True)
class Size:
    """How encoders and taggers are trained."""

    suffix: str
    """The end of the names of recipes."""
    length: int
    """The length of examples in subwords."""
    first: tuple[str, ...]
    """Settings of the first encoder, on general text."""
    further: tuple[str, ...]
    """Settings of further training, on the text of a set's domain."""
    tagger: tuple[str, ...]
    """Settings of fine-tuning."""


_TRAINING = ("optimizer.bias_correction=true", "optimizer.betas=[0.9,0.98]", "masking.ratio=0.3")
_SMALL = (*_TRAINING, "encoder.norm=pre")
_LARGE = (*_TRAINING, "training.frozen=0")
SMALL = Size(
    suffix="_small",
    length=64,
    first=(*_SMALL, "optimizer.lr=1e-3"),
    further=(*_SMALL, "optimizer.lr=5e-4"),
    tagger=(),
)
PUBLISHED = Size(
    suffix="",
    length=128,
    first=(
        *_LARGE,
        "optimizer.lr=3e-4",
        "training.batch_size=256",
        "training.micro_batch_size=256",
        "data.n_workers=2",
    ),
    further=(
        *_LARGE,
        "optimizer.lr=1e-4",
        "training.batch_size=64",
        "training.micro_batch_size=64",
        "data.n_workers=0",
    ),
    tagger=("optimizer.lr=1e-4", "training.batch_size=32"),
)


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


SETS = {
    "cluener": Set(
        ("cluener-train.json",),
        ("--split", "sentence", "--ratios", "80/10/10"),
        ("titles", "web"),
        steps=200,
        epochs=5,
        train_size=3000,
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


def slug(text: str) -> str:
    return text.replace(" ", "-")


def tagger(output: Path, name: str, variant: str) -> Path:
    return output / "taggers" / f"{name}-{slug(variant)}"


def scores_of(output: Path, name: str, variant: str) -> Path:
    return tagger(output, name, variant) / "evaluation" / f"{name}-test"
