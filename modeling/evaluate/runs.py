"""The work of ``onoma evaluate``: tagging, scoring and reports."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from corpora.document import Sentence
from corpora.errors import CorpusError, UsageError
from corpora.hashing.splits import SPLITS
from corpora.ner.labels import LabelMap, label_map_path, load_label_map
from corpora.reports import counted
from corpora.system.arguments import Summary, fail
from corpora.system.files import sha256_of
from corpora.system.parsing import read_json
from corpora.system.staging import beside
from corpora.system.writing import remove_leftovers, write_json, write_text
from corpora.tagging import from_iob2
from modeling.data.predictions import Tagged
from modeling.data.tagger_inputs import TooLong
from modeling.evaluate.compare import RunComparison, compare
from modeling.evaluate.evaluation import Evaluation, evaluate
from modeling.evaluate.relabelling import relabel, relabel_sentence
from modeling.evaluate.report import write_report
from modeling.evaluate.scores import Spread
from modeling.finetune.data import OUTER, NerData, chosen_for_training
from modeling.finetune.trials import Fold
from modeling.pages import distinct_names
from modeling.taggers.archive import opened
from modeling.taggers.folders import (
    TaggerFolder,
    best_taggers,
    find_taggers,
    read_manifest,
    read_settings,
    weights_of,
)
from modeling.taggers.tagger import Tagger
from modeling.tagging_config import HEADS, check_decoder
from modeling.training.records import Manifest
from modeling.training.world import best_device

if TYPE_CHECKING:
    from modeling.evaluate.__main__ import Options


WORSE = 3
"""The exit status of ``--fail-if-worse`` if the run is worse."""


def run(options: "Options") -> Iterator[str | Summary]:
    """Tag, score and write the reports; yield lines for the terminal, and the summary last."""
    if options.fail_if_worse and options.against is None:
        raise UsageError("--fail-if-worse needs --against: worse than which run?")
    decoders = (options.decoder or "").split(",")
    if options.against is not None and len(decoders) > 1:
        raise UsageError(f"--decoder {options.decoder}: --against compares by one. Name one.")
    if options.output is None and options.run.is_file():
        raise UsageError(f"{options.run}: an archive has no room for a report. Name one: --output.")
    scored = opened(options.run)
    compared = others = list[TaggerFolder]()
    if options.against is not None:
        compared, others = best_taggers(scored), best_taggers(opened(options.against))
    taggers = (find_taggers if options.every_setting else best_taggers)(scored)
    learned = read_manifest(taggers[0].path)["examples"][:1]
    level = options.level or next((str(row.get("level", OUTER)) for row in learned), OUTER)
    data = NerData.open(options.ner, level=level)
    train = data if options.train is None else NerData.open(options.train, level=level)
    if data.left_out:
        yield data.left_out
    labels = None if options.labels is None else load_label_map(label_map_path(options.labels))
    scorer = _Scorer(options, data, train, labels)
    for tagger, decoder in product(taggers, filter(None, decoders)):
        check_decoder(read_settings(tagger.path).head.kind, decoder)
    output = options.output or beside(options.run / "evaluation" / f"{data.name}-{options.split}")
    reports: list[dict[str, object]] = []
    for setting in dict.fromkeys(tagger.setting for tagger in taggers):
        siblings = [tagger for tagger in taggers if tagger.setting == setting]
        for decoder in decoders:
            folder = output / (setting if options.every_setting else "") / decoder
            yield from scorer.report(siblings, folder, decoder=decoder or None)
            reports.append({"folder": str(folder), **read_json(folder / "evaluation.json")})
    summary: dict[str, object] = {"output": str(output), "reports": reports}
    status = 0
    if options.against is not None:
        folder, comparison = scorer.compare(compared, others, output, decoder=decoders[0])
        summary["comparison"] = read_json(folder / "comparison.json")
        yield f"made  {folder} (comparison.md, comparison.json)"
        if options.fail_if_worse and comparison.is_worse:
            fall = comparison.describe_fall(distinct_names([options.run, options.against])[1])
            status = fail(f"{options.run}: {fall}", status=WORSE)
    yield Summary(summary, status)


@dataclass(frozen=True, kw_only=True)
class _Found:
    """The predictions of a tagger and its training sentences, with labels already mapped."""

    tagged: list[Tagged]
    train: Sequence[Sentence]
    """Empty: the sentences are not known, or the tagger is of a fold."""
    dev: Sequence[Sentence]
    labels: tuple[str, ...]
    changes: Mapping[str, Counter[str]]
    """Counts of labels changed by the map of labels: ``gold`` and ``predicted``."""
    manifest: Manifest
    fold: Fold | None
    decoder: str
    too_long: TooLong
    sha256: Mapping[str, str]
    """The hashes of the weights, by tagger; a cross-validation has one for each fold."""


@dataclass(frozen=True)
class _Scorer:
    options: "Options"
    data: NerData
    train: NerData
    labels: LabelMap | None

    def report(
        self, taggers: Sequence[TaggerFolder], folder: Path, *, decoder: str | None
    ) -> Iterator[str]:
        """Score the taggers of one setting, write one report of all, and yield lines about it."""
        runs = {t.name.split("/")[-1] or "tagger": self._tag(t, decoder) for t in taggers}
        has_folds = {bool(run.fold) for run in runs.values()}
        if len(has_folds) > 1:
            raise CorpusError(f"{self.options.run}: some taggers are of folds, and some are not.")
        split = self.options.split
        if has_folds == {True}:
            runs, split = _joined(list(runs.values())), "folds"
        evaluations = {
            name: evaluate(
                run.tagged,
                labels=run.labels,
                train=run.train or None,
                dev=run.dev,
                without=self.options.without,
                replicates=self.options.replicates,
            )
            for name, run in runs.items()
        }
        write_report(
            evaluations,
            folder,
            title=f"{self.options.run.resolve().name} on {self.data.name}, {split}",
            settings=self._settings(list(runs.values()), split),
            notes=[note for name, run in runs.items() for note in self._notes(name, run)],
        )
        mean = fmean(evaluation.strict_f1 for evaluation in evaluations.values())
        title = " ".join(part for part in (taggers[0].setting, decoder or "") if part)
        yield f"{title + ': ' if title else ''}strict F1 {_scored(list(evaluations.values()))}"
        yield from _beside_baseline(mean, list(evaluations.values()))
        for note in dict.fromkeys(note for run in runs.values() for note in _out_of_reach(run)):
            yield f"note  {note}"
        yield f"made  {folder} (report.md, report.html, errors.tsv, predictions.jsonl)"

    def _tag(self, folder: TaggerFolder, decoder: str | None) -> _Found:
        tagger = Tagger.load(folder.path, device=best_device())
        tagger.decoder = decoder
        manifest = read_manifest(folder.path)
        part = manifest.get("fold")
        fold = Fold(**part) if part else None
        sentences = self._scored(manifest, fold)
        train = [] if fold else self._trained_on(manifest)
        dev = self.train.split("dev") if train else []
        tagged, labels = tagger.tag(sentences), tagger.labels
        changes: Mapping[str, Counter[str]] = {}
        if self.labels is not None:
            tagged, changes = relabel(tagged, self.labels)
            train, dev = ([relabel_sentence(s, self.labels) for s in some] for some in (train, dev))
            labels = tuple(dict.fromkeys(filter(None, map(self.labels.target, labels))))
        return _Found(
            tagged=tagged,
            train=train,
            dev=dev,
            labels=labels,
            changes=changes,
            manifest=manifest,
            fold=fold,
            decoder=tagger.decoder_used,
            too_long=tagger.too_long(sentences),
            sha256={folder.name or "tagger": sha256_of(weights_of(folder.path))},
        )

    def _scored(self, manifest: Manifest, fold: Fold | None) -> list[Sentence]:
        if fold is None:
            sentences = self.data.split(self.options.split)
        elif manifest["examples"][:1] == [self.data.identity]:
            _, sentences = self.data.fold(fold)
        else:
            raise UsageError(
                f"--ner {self.data.path}: the folds of {self.options.run} are of another dataset."
            )
        if not sentences:
            there = ", ".join(name for name in SPLITS if self.data.split(name))
            raise CorpusError(
                f"{self.data.path}: no sentence of the split {self.options.split!r}; it has "
                f"{there or 'none at all'}. Name another --split or dataset."
            )
        return sentences

    def _trained_on(self, manifest: Manifest) -> list[Sentence]:
        """Return the training sentences of the tagger, if it was trained on this dataset.

        Otherwise returns all training sentences of ``--train``, or none if it was not given. Raises
        ``UsageError`` if ``--train`` has none.
        """
        train = self.train.split("train")
        if manifest["examples"][:1] == [self.train.identity]:
            size = manifest["config"]["training"]["train_size"]
            return chosen_for_training(train, size, where=self.train.path)
        if self.options.train is None:
            return []
        if not train:
            raise UsageError(f"--train {self.train.path}: no sentence of the split 'train'.")
        return train

    def _settings(self, found: Sequence[_Found], split: str) -> dict[str, object]:
        manifest = found[0].manifest
        config: Mapping[str, object] = manifest["config"]
        training = manifest["config"]["training"]
        parts = ("head", "gazetteer", "data", "optimizer", "schedule")
        return {
            "dataset": self.data.name,
            "split": split,
            "decoder": found[0].decoder,
            "trained_on": manifest.get("data", {}).get("ner"),
            "recipe": manifest.get("recipe"),
            "encoder": (manifest.get("init_from") or {}).get("name"),
            "label_map": self.options.labels,
            **{part: config[part] for part in parts},
            "training": {name: n for name, n in training.items() if name != "seed"},
            "versions": manifest.get("versions"),
            "sha256": self.data.identity | {n: h for own in found for n, h in own.sha256.items()},
        }

    def _notes(self, name: str, run: _Found) -> Iterator[str]:
        """Yield the notes on a tagger that a reader of its report must know."""
        for side, counts in run.changes.items():
            changes = ", ".join(f"{change}: {n:,}" for change, n in sorted(counts.items()))
            yield f"{name}: {side} labels changed by {self.options.labels}: {changes or 'none'}"
        is_own = run.manifest["examples"][:1] == [self.train.identity]
        if not (run.fold or is_own or self.options.train):
            trained_on = run.manifest.get("data", {}).get("ner")
            yield (
                f"{name}: was trained on another dataset ({trained_on}), and so it is not "
                "measured what training has seen, nor what its names score: name it (--train)."
            )
        for note in _out_of_reach(run):
            yield f"{name}: {note}"
        if n := run.too_long["spans"]:
            shown = "; ".join(run.too_long["some"][:5])
            yield (
                f"{name}: {n} gold spans are longer than the head can find, and are missed: {shown}"
            )

    def compare(
        self,
        first: Sequence[TaggerFolder],
        second: Sequence[TaggerFolder],
        output: Path,
        *,
        decoder: str,
    ) -> tuple[Path, RunComparison]:
        """Compare two runs on the same sentences; returns the folder of the files, and the result.

        Of each run, the first tagger is compared, or, for folds, all folds of its seed. Both use
        ``decoder``; a tagger whose head has no such decoder, or all if it is empty, use their own.
        """
        assert self.options.against is not None  # noqa: S101 - or nobody asks
        ours, theirs = (self._first_of(taggers, decoder).tagged for taggers in (first, second))
        comparison = compare(ours, theirs, replicates=self.options.replicates)
        names = distinct_names([self.options.run, self.options.against])
        folder = output / f"against-{names[1].replace('/', '-')}"
        folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder)
        write_text(folder / "comparison.md", [comparison.to_markdown(names=names)])
        write_json(folder / "comparison.json", comparison.to_json())
        return folder, comparison

    def _first_of(self, taggers: Sequence[TaggerFolder], decoder: str) -> _Found:
        known = HEADS[read_settings(taggers[0].path).head.kind].decoders
        chosen = decoder if decoder in known else None
        run = self._tag(taggers[0], chosen)
        if not run.fold:
            return run
        others = [t for t in taggers[1:] if t.setting == taggers[0].setting]
        return next(iter(_joined([run, *(self._tag(t, chosen) for t in others)]).values()))


def _out_of_reach(run: _Found) -> Iterator[str]:
    """Yield a note if there are no gold names, or gold names of labels that the tagger lacks."""
    gold = Counter(span.label for tagged in run.tagged for span in from_iob2(tagged.sentence.tags))
    lacking = sorted(gold.keys() - {*run.labels})
    if not gold:
        yield "there is no gold name, so that every score is 0"
    elif lacking:
        yield (
            f"{counted(sum(gold[label] for label in lacking), 'gold name')} cannot be found: the "
            f"tagger has no label {', '.join(lacking)}, only {', '.join(run.labels)} (--labels "
            "maps labels)"
        )


def _scored(evaluations: Sequence[Evaluation]) -> str:
    """Say the mean of strict F1, its deviation, and from where to where its intervals go."""
    spread = Spread.of([evaluation.strict_f1 for evaluation in evaluations])
    deviation = "" if spread.deviation is None else f" ± {spread.deviation:.4f}"
    line = f"{spread.mean:.4f}{deviation} ({len(evaluations)} scored"
    if intervals := [
        evaluation.strict.micro.interval
        for evaluation in evaluations
        if evaluation.strict.micro.interval
    ]:
        low, high = (min(i.low for i in intervals), max(i.high for i in intervals))
        line += f"; 95 %: {low:.4f} to {high:.4f}"
    return f"{line})"


def _beside_baseline(mean: float, evaluations: Sequence[Evaluation]) -> Iterator[str]:
    """Yield the mean F1 of the gazetteer baseline, with a warning unless ``mean`` is above it."""
    if known := [evaluation.baseline.score.f1 for evaluation in evaluations if evaluation.baseline]:
        baseline = fmean(known)
        is_better = mean > baseline
        warning = "" if is_better else ": no worse than the tagger, which has learned too little"
        yield f"      the names of train, looked up: {baseline:.4f}{warning}"


def _joined(folds: Sequence[_Found]) -> dict[str, _Found]:
    """Join the folds of each seed: each sentence was tagged by a model not trained on it."""
    by_seed: dict[int, list[_Found]] = {}
    for fold in folds:
        by_seed.setdefault(fold.manifest["config"]["training"]["seed"], []).append(fold)
    if len(by_seed) == 1:
        return {"all folds": _join(folds)}
    return {f"all folds, seed {seed}": _join(runs) for seed, runs in by_seed.items()}


def _join(folds: Sequence[_Found]) -> _Found:
    sides = dict.fromkeys(side for fold in folds for side in fold.changes)
    return replace(
        folds[0],
        tagged=[sentence for fold in folds for sentence in fold.tagged],
        labels=tuple(sorted({label for fold in folds for label in fold.labels})),
        changes={side: sum((f.changes[side] for f in folds), Counter()) for side in sides},
        sha256={name: sha for fold in folds for name, sha in fold.sha256.items()},
        too_long={
            "spans": sum(fold.too_long["spans"] for fold in folds),
            "some": [name for fold in folds for name in fold.too_long["some"]],
        },
    )
