"""Fine-tuning runs: each trial from its first epoch, or its last checkpoint, to its tagger.

OUTPUT/SETTING/seed-1/    a trial (see ``run_folder``); final/ is its tagger
OUTPUT/summary.json       the scores of the trials on dev, and the best setting
"""

import logging
import shutil
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import torch

from corpora.reports import counted
from corpora.system.writing import appearing, write_json
from modeling.data.predictions import Tagged
from modeling.finetune.continuing import Begun
from modeling.finetune.data import BOTH, NerData, TrialData, check_sentences, looked_up, nesting
from modeling.finetune.learning import add_lora, frozen, lr_ratios, merge_lora
from modeling.finetune.teaching import FILE as TEACHER
from modeling.finetune.teaching import Lessons, Teacher
from modeling.finetune.trials import Trial, write_summary
from modeling.huggingface.transfer import encoder_for, save_with_all_subwords, take_encoder
from modeling.models.tagging_model import TaggingModel
from modeling.taggers.counts import PRECISION, strict_f1, threshold_for
from modeling.taggers.entities import open_entities
from modeling.taggers.folders import Base
from modeling.taggers.tagger import TEMPERATURE_BOUNDS, calibrate, tag
from modeling.tagging_config import FinetuneConfig
from modeling.training.checkpoints import Checkpoint, load_weights, newest
from modeling.training.core import Core, RunState
from modeling.training.loop import Conditions, train
from modeling.training.metrics import Line, MetricsWindow
from modeling.training.optimizer import Optimizer
from modeling.training.records import DevRecord, Manifest
from modeling.training.run_folder import RunFolder, versions
from modeling.training.run_log import Display, Recorder
from modeling.training.schedules import Schedule, learning_rates
from modeling.training.world import World, best_device

if TYPE_CHECKING:
    from modeling.finetune.__main__ import Options

log = logging.getLogger(__name__)
_WEIGHTS = {"tags": 1.0}


def finetune(
    options: "Options",
    trials: Sequence[Trial],
    stream: TextIO,
    *,
    begun: Begun | None = None,
    teacher: Teacher | None = None,
) -> Path:
    """Train every trial that is not finished; returns the path of ``summary.json``.

    ``begun`` is a tagger whose training is continued, instead of an encoder; ``teacher`` is a
    tagger that is learned from. Raises ``CorpusError``, ``ConfigError`` or ``WeightsError`` for
    inputs that do not fit together, and ``DivergedError``.
    """
    RunFolder(options.output).check_place()
    data = NerData.open(options.ner, level=options.level)
    if data.left_out:
        Display(stream, max_steps=0).say(data.left_out)
    if options.level == BOTH:
        trials = [nesting(trial) for trial in trials]
    assert begun or options.model  # noqa: S101 - the command asks for one of them
    base = begun.base if begun else Base.open(options.model)
    check_sentences(data, trials)
    lessons = None
    for number, trial in enumerate(trials, 1):
        folder = RunFolder(options.output / trial.name)
        with folder.hold():
            display = Display(stream, max_steps=0)
            if len(trials) > 1:
                display.say(f"{trial.name} ({number} of {len(trials)})")
            settings = _settings(options.recipe, trial, data=data, base=base)
            if teacher:
                settings["examples"].append(teacher.identity)
            folder.claim(settings, is_forced=options.force, restarts=True, kind=FinetuneConfig)
            if teacher and lessons is None:  # only after ``claim`` has allowed the run
                file = options.output / TEACHER
                lessons = teacher.teach(data.split("train"), file, stream)
            session = _Session(
                trial, data, base, folder=folder, display=display, begun=begun, lessons=lessons
            )
            session.run()
    path, lines = write_summary(options.output, trials)
    for line in lines:
        display.say(line)
    display.say(f"next  {_next(options, data, trials)}")
    return path


def _next(options: "Options", data: NerData, trials: Sequence[Trial]) -> str:
    """Return the command that scores the taggers; where nothing is left to score, one that tags."""
    scoring = f"onoma evaluate {options.output} --ner {options.ner}"
    if any(trial.fold for trial in trials):
        return scoring
    split = next((name for name in ("test", "dev") if data.split(name)), None)
    return f"{scoring} --split {split}" if split else f"onoma predict {options.output} --text FILE"


def _settings(recipe: str, trial: Trial, *, data: NerData, base: Base) -> Manifest:
    """Collect all that determines a trial, with versions, for ``settings.json``."""
    return {
        "recipe": recipe,
        "setting": trial.setting,
        "fold": {"number": trial.fold.number, "of": trial.fold.of} if trial.fold else None,
        "config": trial.config.to_json(),
        "examples": [data.identity, *looked_up(trial.config)],
        "init_from": base.identity,
        "world_size": 1,
        "versions": versions() | {"threads": str(torch.get_num_threads())},
    }


@dataclass
class _Progress(RunState):
    epoch: int = 0
    """The number of completed epochs."""
    best: float = -1.0
    """The highest strict F1 on dev so far."""
    best_epoch: int = 0
    n_worse: int = 0
    """The number of epochs since the highest F1."""


class _Session(Core):
    """The training of one trial."""

    model: TaggingModel
    progress: _Progress

    def __init__(
        self,
        trial: Trial,
        data: NerData,
        base: Base,
        *,
        folder: RunFolder,
        display: Display,
        begun: Begun | None,
        lessons: Lessons | None,
    ) -> None:
        training = trial.config.training
        conditions = Conditions(World(device=best_device()), training.seed, training.precision)
        super().__init__(folder, conditions, display)
        self.config, self.base, self.begun = trial.config, base, begun
        entities, head = open_entities(self.config.data.entities, base), self.config.head
        encoder = encoder_for(
            base.config,
            reads_entities=head.scores_spans and head.span_features != "words",
            n_word_entities=entities.n_rows if entities else 0,
        )
        labels = begun.labels if begun else ()
        self.data = TrialData(
            data, base, encoder, trial=trial, entities=entities, labels=labels, lessons=lessons
        )
        tagger, subwords = self.data.tagger, self.data.subwords
        if subwords:
            tagger = replace(tagger, encoder=replace(encoder, n_subwords=len(subwords)))
        torch.manual_seed(training.seed)
        self.model = TaggingModel.from_config(tagger, class_weights=self.data.class_weights())
        self.model.encoder.encoder.recomputes = training.recompute
        self.progress = _Progress()

    def run(self) -> None:
        """Begin or resume, train to the end, and write the tagger."""
        if self.folder.final.is_dir():
            self._clean()
            self.display.say(f"is finished: {self.folder.final}")
            return
        if unknown := self.data.unknown:
            self.display.say(
                f"warning: {counted(sum(unknown.values()), 'name')} of dev cannot be found: no "
                f"name of train has the label {', '.join(unknown)}."
            )
        checkpoint = newest(self.folder.checkpoints)
        take_encoder(self.model, self.base.folder, subwords=self.data.subwords)
        if self.begun:
            gazetteer = self.data.gazetteer
            self.begun.take_head(self.model, gazetteer.classes if gazetteer else None)
        add_lora(self.model, self.config)
        self.model.to(self.world.device)
        self.optimizer = Optimizer(
            self.model,
            self.config.optimizer,
            frozen=frozen(self.model, self.config),
            lr_ratios=lr_ratios(self.model, self.config, is_head_new=self.begun is None),
            precision=self.config.training.precision,
        )
        if checkpoint is not None:
            self._resume(checkpoint)
        self.display.max_steps = self._n_steps
        self.recorder = Recorder(
            self.folder, self.display, after=self.progress.step if checkpoint else -1
        )
        try:
            while not self._is_done():
                self._train_epoch()
            self._finish()
        finally:
            self.recorder.close()

    @property
    def _n_steps(self) -> int:
        training = self.config.training
        n_steps = training.epochs * self.data.steps_per_epoch
        return min(n_steps, training.max_steps) if training.max_steps else n_steps

    def _is_done(self) -> bool:
        patience = self.config.training.patience
        if patience and self.progress.n_worse >= patience:
            return True
        return self.progress.step >= self._n_steps

    def _resume(self, checkpoint: Checkpoint) -> None:
        self.progress = _Progress(**checkpoint.values("progress.json"))
        self.resume(checkpoint)
        self.display.say(f"resumes after epoch {self.progress.epoch} ({checkpoint.path})")

    def _train_epoch(self) -> None:
        progress, window = self.progress, MetricsWindow()
        left = self._n_steps - progress.step
        config = self.config
        schedule = Schedule(learning_rates(config.schedule, config.optimizer.lr, self._n_steps))
        steps = train(
            self.model,
            self.data.epoch(progress.epoch, left),  # type: ignore[arg-type]  # has what is read
            self.optimizer,
            schedule=schedule,
            weights=_WEIGHTS,
            conditions=self.conditions,
            first_step=progress.step + 1,
        )
        with closing(steps):
            for step in steps:
                window.waiting.append(step)
                progress.step = step.number
                lr = step.lr
        window.read()
        progress.epoch += 1
        self.record("train", {"epoch": progress.epoch, "lr": lr, **window.line(_WEIGHTS)})
        self._evaluate()
        self.save_checkpoint({"progress.json": asdict(progress)}, keep=1)

    def _evaluate(self) -> None:
        """Score on dev, with the averaged weights if there are any, and keep the best weights."""
        progress = self.progress
        if not self.data.dev:
            return
        with self.averaged():
            scores = self._scores(self._tag_dev())
            f1 = scores["strict_f1"]
            progress.n_worse = 0 if f1 > progress.best else progress.n_worse + 1
            if f1 > progress.best or f1 == progress.best == 0.0:  # of epochs with F1 0, the last
                progress.best, progress.best_epoch = f1, progress.epoch
                self.keep_best()
        self.record("dev", {"epoch": progress.epoch, **scores})

    def _scores(self, tagged: Sequence[Tagged]) -> Line:
        """Score dev, beside what a list of the names of train scores."""
        return {
            "strict_f1": strict_f1(tagged),
            "predicted": sum(len(one.spans) for one in tagged),
            "baseline": self.data.names_f1,
        }

    def _tag_dev(self) -> list[Tagged]:
        with self.conditions.autocast():
            return tag(self.model, self.data.dev_batches(), self.data.dev or ())

    def _finish(self) -> None:
        """Write the tagger to ``final``: calibrated, and with its scores on dev."""
        is_best = self.config.training.choose == "best"
        if is_best:
            self.take_best()
        elif self.optimizer.average is not None:
            weights = self.copy_weights() | self.optimizer.average
            load_weights(self.model, weights, where=self.folder.path)
        merge_lora(self.model)
        scores: Line = {
            "epoch": self.progress.best_epoch if is_best else self.progress.epoch,
            "too_long": self.data.too_long(),
        }
        if self.data.dev:
            with self.conditions.autocast():
                temperature = calibrate(self.model, self.data.dev_batches())
            self.model.config = replace(self.model.config, temperature=temperature)
            tagged = self._tag_dev()
            scores |= {**self._scores(tagged), "temperature": temperature}
            scores["threshold"] = threshold_for(tagged, PRECISION)
            if temperature in TEMPERATURE_BOUNDS:
                self.display.say(_at_the_bound(temperature))
        self.record("final", scores)
        self._publish(scores)
        self._clean()
        self.display.say(f"made  {self.folder.final}")

    def _clean(self) -> None:
        """Remove the files that only an unfinished trial needs."""
        for path in (self.folder.checkpoints, self.folder.best):
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)

    def _publish(self, scores: DevRecord) -> None:
        """Write the folder ``final``, which appears only when it is complete."""
        read, data = self.folder.read_settings(), self.data.describe()
        settings: Manifest = {**read, "dev": scores, "data": data}
        with appearing(self.folder.final) as temporary:
            if (subwords := self.data.subwords) is None:
                self.model.save(temporary)
            else:  # with the whole vocabulary of the base
                base = self.base.folder
                save_with_all_subwords(self.model, temporary, base=base, subwords=subwords)
            self.data.save(temporary)
            write_json(temporary / "run.json", settings)


def _at_the_bound(temperature: float) -> str:
    return (
        f"warning: dev would have the probabilities softened or sharpened further than by the "
        f"temperature {temperature:g}, which is the bound: they are not calibrated. Is dev very "
        "small, or unlike train?"
    )
