"""The common parts of training runs: saving, resuming, averaging and publishing weights."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from torch import Tensor, nn

from corpora.errors import CorpusError
from corpora.system.writing import appearing
from modeling.models.weights import write_tensors
from modeling.training.checkpoints import (
    Checkpoint,
    load_tensors,
    load_weights,
    prune,
    weights_of,
    write_checkpoint,
)
from modeling.training.loop import Conditions
from modeling.training.metrics import Line
from modeling.training.optimizer import Optimizer
from modeling.training.run_folder import RunFolder
from modeling.training.run_log import Display, Recorder


@dataclass
class RunState:
    """The state of a run, except weights and the optimizer's state."""

    step: int = 0
    """The number of steps made."""


class Core:
    """The training of a model in the folder of a run, by one process."""

    model: nn.Module
    optimizer: Optimizer
    recorder: Recorder
    progress: RunState

    def __init__(self, folder: RunFolder, conditions: Conditions, display: Display) -> None:
        self.folder, self.conditions, self.display = folder, conditions, display
        self.world = conditions.world

    def record(self, kind: str, values: Line) -> None:
        """Log a line of this kind, with what was measured after the last step."""
        self.recorder.record({"kind": kind, "step": self.progress.step, **values})

    def resume(self, checkpoint: Checkpoint) -> None:
        """Load weights, optimizer state and average.

        Raises ``CorpusError`` unless all are finite, and of this model. Only step counts may be
        infinite.
        """
        weights = checkpoint.tensors("model.safetensors")
        state = checkpoint.tensors("optimizer.safetensors")
        average = checkpoint.tensors("ema.safetensors")
        steps = {name for name in state if name.endswith(".step")}  # may be infinite on purpose
        for name, tensor in [*weights.items(), *state.items(), *average.items()]:
            if name not in steps and not tensor.isfinite().all():
                raise CorpusError(
                    f"{checkpoint.path}: {name} holds numbers that are not finite: training has "
                    "diverged before it was written. Remove this checkpoint, to resume from the "
                    "one before; or begin again with a lower optimizer.lr, or optimizer.clip."
                )
        load_weights(self.model, weights, where=checkpoint.path)
        self.optimizer.load_state(state)
        self.optimizer.load_average(average)

    def save_checkpoint(
        self,
        values: Mapping[str, object],
        *,
        keep: int,
        keep_every: int = 0,
        files: Mapping[str, Path] | None = None,
    ) -> None:
        """Write a checkpoint to resume from, and remove old ones."""
        tensors: dict[str, Mapping[str, Tensor]] = {
            "model.safetensors": weights_of(self.model),
            "optimizer.safetensors": self.optimizer.state(),
        }
        if self.optimizer.average is not None:
            tensors["ema.safetensors"] = self.optimizer.average
        folder, step = self.folder.checkpoints, self.progress.step
        write_checkpoint(folder, step, tensors=tensors, values=values, files=files)
        prune(folder, written=step, keep=keep, keep_every=keep_every)

    def copy_weights(self) -> dict[str, Tensor]:
        """Copy the weights as they are now."""
        return {name: tensor.clone() for name, tensor in weights_of(self.model).items()}

    def keep_best(self) -> None:
        """Save the current weights as the best."""
        with appearing(self.folder.best) as temporary:
            write_tensors(temporary, weights_of(self.model))

    def take_best(self) -> None:
        """Load the weights that ``keep_best`` saved."""
        best = self.folder.best
        load_weights(self.model, load_tensors(best, self.world.device), where=best)

    @contextmanager
    def averaged(self) -> Iterator[bool]:
        """Use the averaged weights inside the context; yields False if there are none."""
        if self.optimizer.average is None:
            yield False
            return
        own = self.copy_weights()
        load_weights(self.model, own | self.optimizer.average, where=self.folder.path)
        yield True
        load_weights(self.model, own, where=self.folder.path)
