"""The folder of a run: whose it is, and whether a command may go on in it.

settings.json           settings, examples, processes, versions
metrics.jsonl           what was measured, a line each
start.safetensors       the weights before the first step
histograms.json         of the weights at the start and at the end
tokenizer/              that of the examples
checkpoints/step-…      to go on from; each is a model as final/ is, too
best.safetensors        the weights with the lowest held-out loss, with training.patience
final/                  the trained model: config.json, model.safetensors, tokenizer, entities
average/                the same with averaged weights, with optimizer.ema
"""

import fcntl
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from corpora import __version__
from corpora.datasets.shards import write_json
from corpora.errors import CorpusError
from corpora.system.files import locked
from corpora.system.parsing import parse_json

_COMPARED = ("config", "examples", "init_from", "world_size")
_HARMLESS = (  # to the weights
    "config.data.n_workers",
    "config.training.keep",
    "config.training.keep_every",
    "config.training.log_every",
    "config.training.checkpoint_every",
)


class OtherRunError(CorpusError):
    """A folder holds a run with other settings, examples or processes."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    """Where the files of a run lie."""

    path: Path

    @property
    def settings(self) -> Path:
        """What the run is."""
        return self.path / "settings.json"

    @property
    def metrics(self) -> Path:
        """What was measured."""
        return self.path / "metrics.jsonl"

    @property
    def start(self) -> Path:
        """The weights before the first step."""
        return self.path / "start.safetensors"

    @property
    def histograms(self) -> Path:
        """Of the weights, at the start and at the end."""
        return self.path / "histograms.json"

    @property
    def tensorboard(self) -> Path:
        """The folder for TensorBoard."""
        return self.path / "tensorboard"

    @property
    def checkpoints(self) -> Path:
        """The folder of checkpoints."""
        return self.path / "checkpoints"

    @property
    def best(self) -> Path:
        """The weights that did best on held-out examples; kept where training may end early."""
        return self.path / "best.safetensors"

    @property
    def tokenizer(self) -> Path:
        """The folder of the examples' tokenizer."""
        return self.path / "tokenizer"

    @property
    def average(self) -> Path:
        """The folder of the trained model with averaged weights."""
        return self.path / "average"

    @property
    def final(self) -> Path:
        """The folder of the trained model."""
        return self.path / "final"

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Hold the folder; raises ``FolderInUseError`` where another run does."""

        def busy(holder: str) -> str:
            return (
                f"{self.path}: another run (process {holder}) works here. Wait for it, or choose "
                "another --output."
            )

        with locked(self.path / ".lock", busy=busy, take=fcntl.lockf):
            yield

    def claim(self, settings: Mapping[str, Any], *, is_forced: bool) -> None:
        """Write the settings; where there are checkpoints, compare with those that are there.

        Raises ``OtherRunError`` that names what differs, unless forced.
        """
        is_begun = self.final.is_dir() or next(self.checkpoints.glob("step-*"), None) is not None
        if is_begun and not is_forced:
            differing = list(differences(self.read_settings(), settings))
            if differing:
                raise OtherRunError(
                    f"{self.path}: holds a run with other settings:\n  "
                    + "\n  ".join(differing)
                    + "\nChoose another --output, or go on all the same with --force."
                )
        write_json(self.settings, settings)

    def read_settings(self) -> dict[str, Any]:
        """What ``claim`` wrote; ``CorpusError`` where it cannot be read."""
        try:
            return dict(parse_json(self.settings.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError) as error:
            raise CorpusError(
                f"{self.settings}: not readable ({error}), but there are checkpoints. Choose "
                "another --output, or go on all the same with --force."
            ) from error


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> Iterator[str]:
    """Say in a line each what differs and would make another model."""
    old, new = (_flat({name: s.get(name) for name in _COMPARED}) for s in (there, here))
    for name in sorted(old.keys() | new.keys()):
        if name not in _HARMLESS and old.get(name) != new.get(name):
            yield f"{name}: {json.dumps(old.get(name))} there, {json.dumps(new.get(name))} here"


def _flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Values by their path: ``config.optimizer.lr``."""
    if isinstance(value, Mapping) and value:
        items = ((str(key), item) for key, item in value.items())
    elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        items = ((str(number), item) for number, item in enumerate(value))
    else:
        return {prefix: list(value) if isinstance(value, tuple) else value}
    flat: dict[str, Any] = {}
    for key, item in items:
        flat |= _flat(item, f"{prefix}.{key}" if prefix else key)
    return flat


def versions() -> dict[str, str]:
    """Of what computes; other versions may give other last digits."""
    others = {name: version(name) for name in ("torch", "numpy", "tokenizers", "pyarrow")}
    return {"onoma": __version__} | others
