"""The folder of a run: its files, its lock, and whether a command may resume in it.

settings.json           settings, examples, number of processes, versions
metrics.jsonl           the log: a line for each thing measured
start.safetensors       the weights before the first step
histograms.json         histograms of the weights at the start and at the end
tokenizer/              the tokenizer of the examples
checkpoints/step-…      checkpoints to resume from; each is also a model, as final/ is
best.safetensors        the weights with the lowest validation loss, with training.patience
final/                  the trained model: config.json, model.safetensors, tokenizer, entities
average/                the trained model with averaged weights, with optimizer.ema
"""

import fcntl
import json
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from pathlib import Path

from corpora import __version__
from corpora.errors import CorpusError
from corpora.system.files import locked, sha256_of
from corpora.system.parsing import parse_json, read_json
from corpora.system.writing import remove_leftovers, write_json
from modeling.config import Config, ConfigError
from modeling.training.records import Manifest, ModelIdentity

_COMPARED = ("config", "examples", "init_from", "world_size")
_HARMLESS = (  # settings that do not change the weights
    "config.data.n_workers",
    "config.training.keep",
    "config.training.keep_every",
    "config.training.log_every",
    "config.training.recompute",
    "config.training.checkpoint_every",
)


class OtherRunError(CorpusError):
    """The error for a folder that holds a run with other settings, examples or processes."""


class RunFolder:
    """The paths of the files of a run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.settings, self.metrics = path / "settings.json", path / "metrics.jsonl"
        self.start, self.best = path / "start.safetensors", path / "best.safetensors"
        self.histograms, self.tensorboard = path / "histograms.json", path / "tensorboard"
        self.checkpoints, self.tokenizer = path / "checkpoints", path / "tokenizer"
        self.final, self.average = path / "final", path / "average"

    @contextmanager
    def hold(self) -> Iterator[None]:
        """Lock the folder; raises ``FolderInUseError`` if another run holds it."""

        def busy(holder: str) -> str:
            return (
                f"{self.path}: another run (process {holder}) works here. Wait for it, or choose "
                "another --output."
            )

        with locked(self.path / ".lock", busy=busy, take=fcntl.lockf):
            remove_leftovers(self.path)
            yield

    def check_place(self) -> None:
        """Raise ``OtherRunError`` where the folder holds datasets, such as those that are read."""
        if any((self.path / name).exists() for name in ("run.json", "dataset.json")):
            raise OtherRunError(f"{self.path}: holds datasets. Choose another --output.")

    def claim(
        self,
        settings: Mapping[str, object],
        *,
        is_forced: bool,
        restarts: bool = False,
        kind: type[Config] = Config,
    ) -> None:
        """Write the settings; if the folder holds a run, compare them with its settings first.

        A setting of ``config``, of the type ``kind``, that an earlier version had not had its
        default there.

        Raises ``OtherRunError`` with the differences, unless forced. A forced run resumes all the
        same, or, with ``restarts``, removes the old checkpoints and model and begins again. Also
        raises what ``check_place`` raises.
        """
        self.check_place()
        differing = self._differing(settings, is_forced=is_forced, kind=kind)
        if differing and not is_forced:
            what, force = ("tagger", "begin again") if restarts else ("run", "resume all the same")
            raise OtherRunError(
                f"{self.path}: holds a {what} with other settings:\n  "
                + "\n  ".join(differing)
                + f"\nChoose another --output, or {force} with --force."
            )
        if differing and restarts:
            for path in (self.final, self.checkpoints):
                shutil.rmtree(path, ignore_errors=True)
        write_json(self.settings, settings)

    def _differing(
        self, settings: Mapping[str, object], *, is_forced: bool, kind: type[Config]
    ) -> list[str]:
        if not self.final.is_dir() and next(self.checkpoints.glob("step-*"), None) is None:
            return []
        try:
            return list(differences(_as_now(self.read_settings(), kind), settings))
        except CorpusError as error:
            if not is_forced:
                raise
            return [str(error)]

    def check_finished(self, settings: Mapping[str, object], *, kind: type[Config]) -> None:
        """Raise ``OtherRunError`` if the model in ``final`` was made with other settings.

        Then ``settings.json``, which a forced command has replaced, has those of the model again.
        """
        file = self.final / "run.json"
        made: Manifest = read_json(file) if file.is_file() else {}
        differing = list(differences(_as_now(made, kind), settings)) if made else []
        if differing:
            write_json(self.settings, made)
            raise OtherRunError(
                f"{self.final}: is finished, and was made with other settings:\n  "
                + "\n  ".join(differing)
                + "\nNothing is left to train, also with --force. Choose another --output, or a "
                "larger training.max_steps."
            )

    def describe(self) -> str:
        """Say what is in the folder, so that processes can compare what they see."""
        if not self.settings.is_file():
            return "no run"
        steps = sorted(path.name for path in self.checkpoints.glob("step-*"))
        parts = [sha256_of(self.settings)[:8], *steps, *(["final"] if self.final.is_dir() else [])]
        return f"a run ({', '.join(parts)})"

    def read_settings(self) -> Manifest:
        """Read the settings that ``claim`` wrote; ``CorpusError`` if they cannot be read."""
        try:
            settings: Manifest = parse_json(self.settings.read_text(encoding="utf-8"))
            return {**settings}  # raises TypeError unless it is an object
        except (OSError, ValueError, TypeError) as error:
            raise CorpusError(
                f"{self.settings}: not readable ({error}), but there are checkpoints. Choose "
                "another --output, or resume all the same with --force."
            ) from error


def _as_now(settings: Manifest, kind: type[Config]) -> Manifest:
    """Add the defaults of settings that an earlier version had not."""
    with suppress(ConfigError, KeyError, TypeError):  # then they are compared as they are
        return {**settings, "config": kind.from_json(settings["config"]).to_json()}
    return settings


def differences(there: Mapping[str, object], here: Mapping[str, object]) -> Iterator[str]:
    """Yield a line for each difference in settings that would lead to another model."""
    old, new = (_flat({name: s.get(name) for name in _COMPARED}) for s in (there, here))
    for name in sorted(old.keys() | new.keys()):
        if name not in _HARMLESS and old.get(name) != new.get(name):
            yield f"{name}: {json.dumps(old.get(name))} there, {json.dumps(new.get(name))} here"


def _flat(value: object, prefix: str = "") -> dict[str, object]:
    """Flatten nested settings to values by path, as ``config.optimizer.lr``."""
    if isinstance(value, Mapping) and value:
        items = ((str(key), item) for key, item in value.items())
    elif isinstance(value, list | tuple) and value and isinstance(value[0], Mapping):
        items = ((str(number), item) for number, item in enumerate(value))
    else:
        return {prefix: list(value) if isinstance(value, tuple) else value}
    flat: dict[str, object] = {}
    for key, item in items:
        flat |= _flat(item, f"{prefix}.{key}" if prefix else key)
    return flat


def versions() -> dict[str, str]:
    """Return the versions of the code that computes; other versions may change last digits."""
    others = {name: version(name) for name in ("torch", "numpy", "tokenizers", "pyarrow")}
    return {"onoma": __version__} | others


def identify(base: Path, name: str = "") -> ModelIdentity:
    """Return the name of a folder with a model, and the hashes of its files with weights."""
    kinds = ("*.safetensors", "*.bin", "*.onnx")
    files = [file for kind in kinds for file in sorted(base.glob(kind))]
    return {"name": name or base.name, "sha256": {file.name: sha256_of(file) for file in files}}
