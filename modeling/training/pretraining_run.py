"""Pre-training runs, from the first step or the last checkpoint to the trained model."""

import logging
import math
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import torch

from corpora.errors import CorpusError
from corpora.system.parsing import read_json
from corpora.system.writing import appearing, sync_file, write_json
from modeling.command import Termination
from modeling.config import OF_ENTITIES, ConfigError, PretrainConfig
from modeling.data.batch import Batch
from modeling.models.costs import batch_flops, count_parameters
from modeling.models.pretraining_model import CONFIG_FILE, PretrainingModel
from modeling.models.weights import WeightsError, write_tensors
from modeling.training.centering import center_states
from modeling.training.checkpoints import Checkpoint, load_tensors, newest, weights_of
from modeling.training.core import Core, RunState
from modeling.training.feeding import Feed
from modeling.training.jobs import (
    PretrainingJob,
    check_examples,
    check_job,
    check_objectives,
    settings_of,
    take_weights,
)
from modeling.training.loop import Conditions, DivergedError, TrainingStep, train
from modeling.training.metrics import Line, MetricsWindow, TrainingClock, peak_flops
from modeling.training.optimizer import Optimizer
from modeling.training.records import Manifest
from modeling.training.run_folder import RunFolder
from modeling.training.run_log import Display, Recorder, read_metrics
from modeling.training.schedules import build_schedule
from modeling.training.sources import ENTITIES, Sources, complete, open_sources
from modeling.training.symptoms import conclusions, likeness, symptoms
from modeling.training.validation import Validation, validate, without_mentions
from modeling.training.weights import Distances, histograms
from modeling.training.world import World

log = logging.getLogger(__name__)


def pretrain(
    job: PretrainingJob, world: World, display: Display, *, termination: Termination | None = None
) -> Path:
    """Train, or resume; returns the folder of the trained model.

    Raises ``CorpusError`` or ``ConfigError`` for inputs that do not fit together, and
    ``DivergedError``. If ``termination`` asks for the end, writes a checkpoint and raises
    ``Terminated``, or, after Ctrl-C, ``KeyboardInterrupt``.
    """
    folder = RunFolder(job.output)
    with ExitStack() as stack:
        with world.together():
            sources = open_sources(job.examples)
            config = complete(job.config, sources)
            check_job(config, job)
            settings = settings_of(job, config, sources, world=world)
            if world.is_first:
                stack.enter_context(folder.hold())
                folder.claim(settings, is_forced=job.is_forced, kind=PretrainConfig)
            session = Session(
                config,
                sources,
                settings,
                folder=folder,
                base=job.init_from,
                conditions=Conditions(
                    world,
                    seed=config.training.seed,
                    precision=config.training.precision,
                    termination=termination or Termination(),
                ),
                display=display,
            )
        seen = world.gather(folder.describe())
        with world.together():
            if len(set(seen)) > 1:
                where = "; ".join(f"rank {rank}: {text}" for rank, text in enumerate(seen))
                raise CorpusError(
                    f"--output: the processes see different folders ({where}). Name one that all "
                    "of them share, with the newest checkpoint in it."
                )
        return session.run()


@dataclass
class _Progress(RunState):
    best: float = math.inf
    """The lowest validation loss so far."""
    n_worse: int = 0
    """The number of evaluations since the lowest loss."""
    transferred: list[str] = field(default_factory=list)
    """The names of the parameters that were copied from another model."""
    window: MetricsWindow = field(default_factory=MetricsWindow)

    def to_json(self) -> dict[str, object]:
        """Convert the state to JSON, for a checkpoint."""
        best = None if math.isinf(self.best) else self.best
        return {**vars(self), "best": best, "window": self.window.to_json()}

    @classmethod
    def of(cls, checkpoint: Checkpoint) -> Self:
        """Read the state of a run from a checkpoint."""
        values = checkpoint.values("progress.json")
        best = math.inf if values["best"] is None else values["best"]
        return cls(**{**values, "best": best, "window": MetricsWindow(**values["window"])})


class Session(Core):
    """A pre-training run in one process."""

    model: PretrainingModel
    progress: _Progress

    def __init__(
        self,
        config: PretrainConfig,
        sources: Sources,
        settings: Manifest,
        *,
        folder: RunFolder,
        base: Path | None,
        conditions: Conditions,
        display: Display,
    ) -> None:
        super().__init__(folder, conditions, display)
        self.config, self.sources, self.settings, self.base = config, sources, settings, base
        self.weights = config.heads.weights
        self.schedule = build_schedule(config)
        self.feed = Feed(config, sources, self.world)
        check_examples(config, sources, has_validation=self.feed.has_validation)
        check_objectives(config, self.feed.batches)
        if self.world.device.type == "cuda":
            torch.use_deterministic_algorithms(config.training.deterministic)
        torch.manual_seed(config.training.seed)
        self.model = PretrainingModel.from_config(config)
        self.model.encoder.encoder.recomputes = config.training.recompute
        self.progress, self.clock = _Progress(), TrainingClock()
        self.peak = peak_flops(self.world.device, config.training.precision)
        self.distances: Distances

    def run(self) -> Path:
        """Begin or resume, train to the end, and return the folder of the trained model.

        A finished run is left as it is, also if its checkpoints were removed. Raises
        ``CorpusError`` if all checkpoints are damaged, or if other settings would change nothing.
        """
        checkpoint = None
        if self.world.is_first:
            checkpoint = newest(self.folder.checkpoints, begins_again=False)
        step = self.world.agree(-1 if checkpoint is None else checkpoint.step)
        if step >= 0:
            checkpoint = Checkpoint(self.folder.checkpoints / f"step-{step:06d}", step)
            self.progress = self._read_progress(checkpoint)
        if self.folder.final.is_dir() and (checkpoint is None or self._is_done()):
            if self.world.is_first:
                self.folder.check_finished(self.settings, kind=PretrainConfig)
            self.display.say(f"is finished: {self.folder.final}")
            return self.folder.final
        if checkpoint is None:
            self._begin()
        else:
            self._resume(checkpoint)
        if self.config.training.compile:
            self.model.compile(dynamic=True)
        try:
            if not self._is_done():
                self._train()
            return self._finish()
        finally:
            self.recorder.close()

    def _read_progress(self, checkpoint: Checkpoint) -> _Progress:
        """Read the state of the run.

        If it kept no best weights so far (``training.patience`` is new), the best is looked for
        from here on.
        """
        progress = _Progress.of(checkpoint)
        if not checkpoint.values("settings.json")["config"]["training"].get("patience"):
            progress.best, progress.n_worse = math.inf, 0
        return progress

    def _begin(self) -> None:
        """Set and save the weights to begin with, and evaluate them before the first step."""
        if self.base is not None:
            self.progress.transferred = take_weights(self.model, self.base, self.sources)
        self.model.to(self.world.device)
        # The axes of names may differ in sign from machine to machine.
        self.world.share(parameter.detach() for parameter in self.model.parameters())
        if self.config.training.center:
            first, given = self.feed.batches.batch(0), self.progress.transferred
            center_states(self.model, first, self.world, transferred=given)
        if self.world.is_first:
            weights = weights_of(self.model)
            write_tensors(self.folder.start, weights)
            sync_file(self.folder.start)
            made = histograms(weights, self.progress.transferred)
            write_json(self.folder.histograms, {"start": made})
            self.sources.tokenizer.save(self.folder.tokenizer)
        self._set_up(after=-1)
        self.record("model", self._description())
        if self.feed.has_validation:
            if self.world.is_first:
                for kind, baseline in self.feed.baselines():
                    line = baseline.to_json()
                    self.record(kind, line)
                    if kind == "unigram":
                        self.feed.check_validation(line["targets"])
                self.feed.check_pairs()
            if self.base is not None:
                batches = map(without_mentions, self.feed.validation)
                self.record("base", self._evaluate(batches).to_json())
        self._evaluate_and_note()

    def _resume(self, checkpoint: Checkpoint) -> None:
        """Restore the run, whose progress was read, from a checkpoint.

        Raises ``CorpusError`` if the best weights until then are missing, or the checkpoint is of
        another model.
        """
        if self._has_best and not self.folder.best.is_file():
            raise CorpusError(
                f"{self.folder.best}: missing, but the run found its best weights before step "
                f"{self.progress.step}. Copy the folder of the run again, with all its files."
            )
        self.model.to(self.world.device)
        self._set_up(after=self.progress.step)
        try:
            self.resume(checkpoint)
        except WeightsError:  # after --force: the run keeps the settings that it was made with
            if self.world.is_first:
                write_json(self.folder.settings, checkpoint.values("settings.json"))
            raise
        if self.world.is_first:
            self.display.say(f"resumes after step {self.progress.step:,} ({checkpoint.path})")
            then, now = checkpoint.values("settings.json")["versions"], self.settings["versions"]
            if then != now:
                log.warning("%s there, %s here: last digits may differ.", then, now)

    def _set_up(self, *, after: int) -> None:
        """Set up the optimizer, the distances from the weights of the start, and the log.

        The log resumes after the step ``after`` (−1: from the beginning). Raises ``ConfigError`` if
        no weight would be trained, and ``CorpusError`` if the file of the start is damaged.
        """
        progress, is_first = self.progress, self.world.is_first
        is_locked = progress.step < self.schedule.unlock_after
        frozen = progress.transferred if is_locked else []
        if len(frozen) == len(list(self.model.parameters())):
            raise ConfigError(
                "training.frozen: all weights are transferred, so that none could be trained. "
                "--set training.frozen=0 optimizer.unlocked_lr=null."
            )
        precision = self.config.training.precision
        self.optimizer = Optimizer(
            self.model, self.config.optimizer, frozen=frozen, precision=precision
        )
        start = load_tensors(self.folder.start, torch.device("cpu")) if is_first else {}
        self.distances = Distances(start, progress.transferred)  # memory-mapped
        self.recorder = Recorder(self.folder, self.display, after=after, is_silent=not is_first)
        if (weights := self.feed.entity_weights()) is not None:
            self.model.heads["entities"].label_weights = weights.to(self.world.device)
        if self.feed.proposal is not None:
            log_q = torch.from_numpy(self.feed.proposal).log().to(self.world.device)
            for name in OF_ENTITIES & self.weights.keys():
                self.model.heads[name].set_proposal(log_q)  # type: ignore[operator]

    def _train(self) -> None:
        """Make the steps that are left; log, evaluate and save when due."""
        training = self.config.training
        steps = train(
            self.model,
            self._fed(),
            self.optimizer,
            schedule=self.schedule,
            weights=self.weights,
            conditions=self.conditions,
            first_step=self.progress.step + 1,
        )
        if self.world.is_first:
            for folder in (self.folder.final, self.folder.average):
                shutil.rmtree(folder, ignore_errors=True)  # a shorter run's
        self.clock.go()
        try:
            with closing(steps), self.conditions.termination.deferred():
                for step in steps:
                    self._note(step)
                    if step.number % training.evaluate_every == 0 or self._is_done():
                        self._evaluate_and_note()
                    if self._is_done():
                        self._log(step)
                    is_end_asked = self._is_end_asked(step)
                    is_due = step.number % training.checkpoint_every == 0
                    if is_due or is_end_asked or self._is_done():
                        self._save()
                    if self._is_done():
                        return
                    if is_end_asked:
                        self.display.say(f"stopped: wrote a checkpoint after step {step.number:,}")
                        raise self.conditions.termination.end()
        except DivergedError as error:
            name = f"broken-step-{error.step:06d}-of-{self.world.rank}.json"
            write_json(self.folder.path / name, {"step": error.step, "examples": list(error.ids)})
            raise

    def _fed(self) -> Iterator[list[Batch]]:
        """Yield the micro-batches of the steps that are left, and count what is in them."""
        for micro_batches in self.feed.steps(self.progress.step):
            for batch in micro_batches:
                self.progress.window.left_out.update(batch.counts)
                if self.peak:
                    self.clock.flops += batch_flops(self.config, batch)
            yield micro_batches

    def _note(self, step: TrainingStep) -> None:
        """Add a step to the window; log every ``log_every`` steps and after the last one."""
        training = self.config.training
        self.progress.step = step.number
        self.progress.window.waiting.append(step)
        if step.number % training.log_every == 0 or step.number == training.max_steps:
            self._log(step)

    def _log(self, step: TrainingStep) -> None:
        """Log the steps since the last line of the log, if there are any."""
        self._read()
        window = self.progress.window
        if not window.n_steps:
            return
        self.clock.stop()
        if self.world.is_first:
            line: Line = {"lr": step.lr}
            line |= window.line(self.weights)
            line |= self.clock.line(self.peak)
            line["distance"] = self.distances.measure(weights_of(self.model))
            self.record("train", line)
        self.clock.go()

    def _read(self) -> None:
        """Read the waiting steps from the device; ``DivergedError`` unless all are finite."""
        self.clock.n_subwords += self.progress.window.read()

    def _evaluate_and_note(self) -> None:
        """Evaluate on validation examples, log, and note whether the loss is the lowest so far.

        Raises ``ConfigError`` if ``training.patience`` waits for the loss, but nothing has one.
        """
        if not self.feed.has_validation:
            return
        self._read()
        self.clock.stop()
        evaluation = self._evaluate(self.feed.validation)
        self.record("evaluation", self._examine(evaluation.to_json()))
        is_measured = any(self.weights[name] for name in evaluation.loss)
        if self.config.training.patience and not is_measured:
            raise ConfigError(
                f"training.patience={self.config.training.patience} waits for a better validation "
                "loss, but the validation examples have nothing to predict for heads.weights: "
                "make examples with a larger onoma examples --validation, or --set "
                "training.patience=0."
            )
        loss, progress = evaluation.weighted(self.weights), self.progress
        if loss < progress.best:
            progress.best, progress.n_worse = loss, 0
            if self.config.training.patience and self.world.is_first:
                self.keep_best()
        else:
            progress.n_worse += 1
        self.clock.go()

    def _examine(self, line: Line) -> Line:
        """Add signs of a model that learns nothing; warn of those that the last evaluation lacks.

        The first process alone logs, and so examines.
        """
        if not (self.world.is_first and self.progress.step):
            return line
        batch = next(iter(self.feed.validation)).to(self.world.device)
        with self.conditions.autocast():
            line["likeness"] = likeness(self.model.encoder, batch)
        earlier = list(read_metrics(self.folder.metrics))
        line["symptoms"] = symptoms(line, earlier, self.config)
        known = [one.get("symptoms", {}) for one in earlier if one["kind"] == "evaluation"]
        for name, text in line["symptoms"].items():
            if name not in (known or [{}])[-1]:
                self.display.say(f"warning: {text}")
        return line

    def _evaluate(self, batches: Iterable[Batch]) -> Validation:
        return validate(
            self.model, batches, objectives=list(self.weights), conditions=self.conditions
        )

    @property
    def _has_best(self) -> bool:
        """Whether the weights of the lowest validation loss were kept."""
        return self.config.training.patience > 0 and not math.isinf(self.progress.best)

    def _is_done(self) -> bool:
        """Tell whether the last step is made, or ``patience`` evaluations were no better."""
        training, progress = self.config.training, self.progress
        has_stalled = 0 < training.patience <= progress.n_worse
        return progress.step >= training.max_steps or has_stalled

    def _is_end_asked(self, step: TrainingStep) -> bool:
        """Tell whether a signal came; processes that train together end after the same step."""
        is_alone = self.world.size == 1
        return self.conditions.termination.is_asked if is_alone else step.is_end_asked

    def _save(self) -> None:
        """Write a checkpoint, and remove old ones."""
        self._read()
        self.clock.stop()
        if self.world.is_first:
            values = {
                "progress.json": self.progress.to_json(),
                "settings.json": self.settings,
                CONFIG_FILE: self.config.to_json(),
            }
            self.save_checkpoint(
                values,
                keep=self.config.training.keep,
                keep_every=self.config.training.keep_every,
                files=self._belongings(),
            )
        self.clock.go()

    def _belongings(self) -> dict[str, Path]:
        """Return by name the files that make a checkpoint a usable model: tokenizer, entities."""
        files = {path.name: path for path in self.folder.tokenizer.iterdir()}
        if self.sources.entities_file is not None:
            files[ENTITIES] = self.sources.entities_file
        return files

    def _description(self) -> Line:
        """Count parameters and steps, and describe the costs (``Feed.costs``)."""
        transferred = [self.model.get_parameter(name) for name in self.progress.transferred]
        return {
            "parameters": count_parameters(self.model),
            "transferred": sum(parameter.numel() for parameter in transferred),
            "steps_per_epoch": self.feed.batches.steps_per_epoch,
            **self.feed.costs(),
        }

    def _finish(self) -> Path:
        """Write the trained model to ``final``, and its averaged weights, if any, to ``average``.

        With ``training.patience``, ``final`` is the model with the lowest validation loss.
        """
        with self.averaged() as is_averaged:
            if is_averaged:
                if self.feed.has_validation:
                    self.record("average", self._evaluate(self.feed.validation).to_json())
                self._publish(self.folder.average)
        if self._has_best:
            self.take_best()
        if self.world.is_first:
            start = read_json(self.folder.histograms)["start"]
            end = histograms(weights_of(self.model), self.progress.transferred)
            write_json(self.folder.histograms, {"start": start, "end": end})
        self._publish(self.folder.final)
        if self.world.is_first:
            for text in conclusions(list(read_metrics(self.folder.metrics)), self.config.to_json()):
                self.display.say(f"warning: {text}")
        return self.folder.final

    def _publish(self, folder: Path) -> None:
        if self.world.is_first:
            publish(self.model, folder, sources=self.sources, settings=self.settings)
            self.display.say(f"made  {folder}")


def publish(model: PretrainingModel, folder: Path, *, sources: Sources, settings: Manifest) -> None:
    """Write weights, settings, tokenizer and entities; the folder appears when it is complete.

    It also holds ``run.json``: recipe, examples, versions.
    """
    with appearing(folder) as temporary:
        model.save(temporary)
        sources.tokenizer.save(temporary)
        write_json(temporary / "run.json", settings)
        if sources.entities_file is not None:
            shutil.copyfile(sources.entities_file, temporary / ENTITIES)
