"""What ``python -m modeling.evaluate`` does: tag, score, and write the report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from corpora.datasets.shards import sha256_of, write_json, write_text
from corpora.document import Sentence
from corpora.errors import CorpusError, UsageError
from corpora.ner.labels import LabelMap, label_map_path, load_label_map
from modeling.data.predictions import Tagged
from modeling.data.tagger_inputs import name_too_long
from modeling.decoding import check_decoder
from modeling.evaluate.compare import compare
from modeling.evaluate.evaluation import Evaluation, evaluate
from modeling.evaluate.relabelling import relabel, relabel_sentence
from modeling.evaluate.report import write_report
from modeling.finetune.data import NerData, chosen_for_training
from modeling.finetune.trials import Fold
from modeling.models.weights import FILE as WEIGHTS
from modeling.taggers.folders import (
    TaggerFolder,
    best_taggers,
    find_taggers,
    read_manifest,
    read_settings,
)
from modeling.taggers.tagger import Tagger

if TYPE_CHECKING:
    from modeling.evaluate.__main__ import Options


class WorseError(CorpusError):
    """A run is worse than another, and not by chance."""


def run(options: "Options") -> Iterator[str]:
    """Score, write, and say what came of it in lines.

    Raises ``WorseError`` where that is asked for, when all is written.
    """
    if options.fail_if_worse and options.against is None:
        raise UsageError("--fail-if-worse needs --against: worse than which run?")
    data = NerData.open(options.ner)
    train = data if options.train is None else NerData.open(options.train)
    labels = None if options.labels is None else load_label_map(label_map_path(options.labels))
    scorer = _Scorer(options, data, train, labels)
    find = find_taggers if options.every_setting else best_taggers
    taggers = find(options.run)
    decoders = (options.decoder or "").split(",")
    _check_decoders(taggers, [decoder for decoder in decoders if decoder])
    output = options.output or options.run / "evaluation" / f"{data.name}-{options.split}"
    for setting in dict.fromkeys(tagger.setting for tagger in taggers):
        own = [tagger for tagger in taggers if tagger.setting == setting]
        for decoder in decoders:
            parts = [setting if options.every_setting else "", decoder]
            folder = output.joinpath(*(part for part in parts if part))
            yield from scorer.report(own, folder, decoder=decoder or None)
    if options.against is not None:
        yield from scorer.compare(taggers, best_taggers(options.against), output)


def _check_decoders(taggers: Sequence[TaggerFolder], decoders: Sequence[str]) -> None:
    """Raise ``UsageError`` for a decoder that does not go with a tagger, before any is scored."""
    for tagger in taggers:
        for decoder in decoders:
            check_decoder(read_settings(tagger.path).head.kind, decoder)


@dataclass(frozen=True)
class _Scorer:
    options: "Options"
    data: NerData
    train: NerData
    labels: LabelMap | None

    def report(
        self, taggers: Sequence[TaggerFolder], folder: Path, *, decoder: str | None
    ) -> Iterator[str]:
        """Score the taggers of one setting, and write a report of all."""
        found = {t.name.split("/")[-1] or "tagger": self._tag(t, decoder) for t in taggers}
        if len({bool(own.fold) for own in found.values()}) > 1:
            raise CorpusError(f"{self.options.run}: some taggers are of folds, and some are not.")
        if all(own.fold for own in found.values()):
            found = _joined(list(found.values()))
        evaluations = {name: self._evaluate(own) for name, own in found.items()}
        manifest = next(iter(found.values())).manifest
        name = self.data.name
        write_report(
            evaluations,
            folder,
            title=f"{_name(self.options.run)} on {name}, {self._split(found)}",
            settings=self._settings(manifest, decoder=decoder, found=found),
            notes=self._notes(found),
        )
        scores = [one.strict_f1 for one in evaluations.values()]
        mean = sum(scores) / len(scores)
        what = " ".join(part for part in (taggers[0].setting, decoder or "") if part)
        yield f"{what + ': ' if what else ''}strict F1 {mean:.4f} ({len(scores)} scored)"
        yield f"made  {folder} (report.md, report.html, errors.tsv, predictions.jsonl)"

    def _split(self, found: Mapping[str, "_Found"]) -> str:
        return "folds" if any(own.fold for own in found.values()) else self.options.split

    def _tag(self, found: TaggerFolder, decoder: str | None) -> "_Found":
        tagger = Tagger.load(found.path, device="cuda" if torch.cuda.is_available() else "cpu")
        tagger.decoder, tagger.batch_size = decoder, self.options.batch_size
        manifest = read_manifest(found.path)
        fold = Fold(**manifest["fold"]) if manifest.get("fold") else None
        train, sentences = self._sentences(manifest, fold)
        if not sentences:
            raise CorpusError(f"{self.data.path}: no sentence of the split {self.options.split!r}.")
        return _Found(
            tagged=tagger.tag(sentences),
            train=train,
            labels=tagger.labels,
            manifest=manifest,
            fold=fold,
            decoder=tagger.decoder_used,
            too_long=name_too_long(tagger.model.config, tagger.tokenizer, sentences),
            sha256={found.name or "tagger": sha256_of(found.path / WEIGHTS)},
        )

    def _sentences(
        self, manifest: Mapping[str, Any], fold: Fold | None
    ) -> tuple[list[Sentence], list[Sentence]]:
        """What was trained on (nothing, where that is not known), and what is scored."""
        if fold is None:
            train = self._trained_on(manifest) if self._knows_train(manifest) else []
            return train, self.data.split(self.options.split)
        if manifest["examples"][:1] != [self.data.identity]:
            raise UsageError(
                f"--ner {self.data.path}: the folds of {self.options.run} are of another dataset."
            )
        return self.data.fold(fold)

    def _knows_train(self, manifest: Mapping[str, Any]) -> bool:
        """Whether the tagger's own training sentences are at hand, or others were asked for."""
        is_asked_for = self.options.train is not None
        return is_asked_for or manifest["examples"][:1] == [self.train.identity]

    def _trained_on(self, manifest: Mapping[str, Any]) -> list[Sentence]:
        size = manifest["config"]["training"]["train_size"]
        is_own = manifest["examples"][:1] == [self.train.identity]
        train = self.train.split("train")
        return chosen_for_training(train, size, where=self.train.path) if is_own else train

    def _evaluate(self, found: "_Found") -> Evaluation:
        train: Sequence[Sentence] = found.train
        dev: Sequence[Sentence] = self.train.split("dev") if train else []
        tagged = found.tagged
        names: Sequence[str] = found.labels
        if self.labels is not None:
            tagged = relabel(tagged, self.labels).tagged
            train, dev = ([relabel_sentence(s, self.labels) for s in some] for some in (train, dev))
            mapped = (self.labels.target(label) for label in found.labels)
            names = tuple(dict.fromkeys(label for label in mapped if label))
        return evaluate(
            tagged,
            labels=names,
            train=train or None,
            dev=dev,
            without=self.options.without,
            seed=self.options.seed,
            replicates=self.options.replicates,
        )

    def _settings(
        self, manifest: Mapping[str, Any], *, decoder: str | None, found: Mapping[str, "_Found"]
    ) -> dict[str, Any]:
        used = next(iter(found.values())).decoder
        return {
            "dataset": self.data.name,
            "split": self._split(found),
            "decoder": decoder or used,
            "trained_on": manifest.get("data", {}).get("ner"),
            "recipe": manifest.get("recipe"),
            "encoder": (manifest.get("init_from") or {}).get("name"),
            "label_map": self.options.labels,
            "head": manifest["config"]["head"],
            "gazetteer": manifest["config"]["gazetteer"],
            "data": manifest["config"]["data"],
            "optimizer": manifest["config"]["optimizer"],
            "schedule": manifest["config"]["schedule"],
            "training": {k: v for k, v in manifest["config"]["training"].items() if k != "seed"},
            "versions": manifest.get("versions"),
            "sha256": self.data.identity
            | {name: sha for own in found.values() for name, sha in own.sha256.items()},
        }

    def _notes(self, found: Mapping[str, "_Found"]) -> list[str]:
        """What a reader must know of the taggers: gold spans that their head cannot find."""
        notes = []
        for name, own in found.items():
            for side, counts in (
                relabel(own.tagged, self.labels).changes.items() if self.labels else ()
            ):
                told = ", ".join(f"{change}: {n:,}" for change, n in sorted(counts.items()))
                notes.append(
                    f"{name}: {side} labels changed by {self.options.labels}: {told or 'none'}"
                )
            if not own.fold and not self._knows_train(own.manifest):
                trained_on = own.manifest.get("data", {}).get("ner")
                notes.append(
                    f"{name}: was trained on another dataset ({trained_on}), and so it is not "
                    "measured what training has seen, nor what its names score: name it (--train)."
                )
            if own.too_long["spans"]:
                shown = "; ".join(own.too_long["some"][:5])
                notes.append(
                    f"{name}: {own.too_long['spans']} gold spans are longer than the head can "
                    f"find, and are missed: {shown}"
                )
        return notes

    def compare(
        self, first: Sequence[TaggerFolder], second: Sequence[TaggerFolder], output: Path
    ) -> Iterator[str]:
        """Two runs, the first seed of each, on the same sentences; of folds all."""
        ours, theirs = (self._mapped(self._first_of(taggers)) for taggers in (first, second))
        assert self.options.against is not None  # noqa: S101 - or nobody asks
        comparison = compare(
            ours, theirs, seed=self.options.seed, replicates=self.options.replicates
        )
        names = _told_apart(self.options.run, self.options.against)
        folder = output / f"against-{names[1].replace('/', '-')}"
        folder.mkdir(parents=True, exist_ok=True)
        write_text(folder / "comparison.md", [comparison.to_markdown(names=names)])
        write_json(folder / "comparison.json", comparison.to_json())
        yield f"made  {folder} (comparison.md, comparison.json)"
        if self.options.fail_if_worse and comparison.is_worse:
            raise WorseError(f"{self.options.run}: {comparison.describe_fall(names[1])}")

    def _first_of(self, taggers: Sequence[TaggerFolder]) -> "_Found":
        found = self._tag(taggers[0], None)
        if not found.fold:
            return found
        own = [t for t in taggers if t.setting == taggers[0].setting]
        tagged = [found, *(self._tag(tagger, None) for tagger in own[1:])]
        return next(iter(_joined(tagged).values()))

    def _mapped(self, found: "_Found") -> list[Tagged]:
        return relabel(found.tagged, self.labels).tagged if self.labels else found.tagged


@dataclass(frozen=True, kw_only=True)
class _Found:
    """What a tagger found, and what it had learned from."""

    tagged: list[Tagged]
    train: list[Sentence]
    labels: tuple[str, ...]
    manifest: Mapping[str, Any]
    fold: Fold | None
    decoder: str
    too_long: Mapping[str, Any]
    """How many gold spans the head cannot find, and the names of some."""
    sha256: Mapping[str, str]
    """Of the weights: of a cross-validation, of each fold."""


def _joined(folds: Sequence[_Found]) -> dict[str, _Found]:
    """All folds of a seed as one: each sentence was tagged by a model that had not seen it."""
    by_seed: dict[int, list[_Found]] = {}
    for fold in folds:
        by_seed.setdefault(fold.manifest["config"]["training"]["seed"], []).append(fold)
    if len(by_seed) == 1:
        return {"all folds": _join(folds)}
    return {f"all folds, seed {seed}": _join(own) for seed, own in by_seed.items()}


def _join(folds: Sequence[_Found]) -> _Found:
    return replace(
        folds[0],
        tagged=[one for fold in folds for one in fold.tagged],
        train=[],
        labels=tuple(sorted({label for fold in folds for label in fold.labels})),
        sha256={name: sha for fold in folds for name, sha in fold.sha256.items()},
        too_long={
            "spans": sum(fold.too_long["spans"] for fold in folds),
            "some": [name for fold in folds for name in fold.too_long["some"]],
        },
    )


def _name(run: Path) -> str:
    return run.resolve().name


def _told_apart(first: Path, second: Path) -> tuple[str, str]:
    """The names of two runs, with those of the folders around them where they are the same."""
    parts = [path.resolve().parts for path in (first, second)]
    n = 1
    while parts[0][-n:] == parts[1][-n:] and n < max(map(len, parts)):
        n += 1
    ours, theirs = ("/".join(part[-n:]) for part in parts)
    return ours, theirs
