"""Training of a new tagger for suggestions, on the decisions so far.

The training runs in another process; the taggers before and after it are scored on held-out
letters.

OUTPUT/.workbench/training/split.json   the letters that are learned from, and those held out
OUTPUT/.workbench/training/1/           the first training: sentences, run, log, scores
OUTPUT/.workbench/training/taken        the number of the training whose tagger is in use
"""

import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final

from corpora.document import Document, Sentence, without_crossing
from corpora.hashing.sampling import ratio
from corpora.ner.alignment import to_sentences
from corpora.ner.labels import LabelMap, label_map_path, load_label_map
from corpora.runs.plain import write_dataset
from corpora.system.parsing import read_json
from corpora.system.writing import write_json, write_text
from modeling.evaluate.records import ComparisonRecord, EvaluationRecord, IntervalRecord
from modeling.evaluate.relabelling import relabel_sentence
from modeling.finetune import process
from modeling.taggers.archive import opened
from modeling.taggers.folders import find_tagger, read_manifest
from modeling.workbench.desk import Desk
from modeling.workbench.letters import Letter
from modeling.workbench.messages import Gains, Percent, TrainingState
from modeling.workbench.names import RefusedError
from modeling.workbench.suggestions import tagged_suggestions, taken_run

if TYPE_CHECKING:
    from modeling.finetune.data import NerData

_HELD_OUT: Final = 4
"""One of this many letters is held out: it is not trained on, and both taggers are scored on it."""
_LEAST: Final = 4
_LINE: Final = 200


class Learner:
    """The trainings on the decisions of one edition, one at a time.

    Args:
        desk: the letters.
        settings: how to train, and the folder of the trainings.
        on_use: called when a new tagger is put into use.
        tagger: the tagger that is in use at first, if any.
        labels: a map from labels of ``tagger`` and ``ner`` to those of the edition, if any.
        threshold: the least probability of a suggestion.
        ner: more tagged sentences to train on: those that ``tagger`` was trained on.
    """

    def __init__(
        self,
        desk: Desk,
        settings: process.TrainSettings,
        *,
        on_use: Callable[[], object],
        tagger: Path | None = None,
        labels: str = "",
        threshold: float = 0.0,
        ner: Path | None = None,
    ) -> None:
        self.desk, self.settings, self._on_use = desk, settings, on_use
        self.tagger, self.threshold, self.ner = tagger, threshold, ner
        self.labels = load_label_map(label_map_path(labels)) if labels else None
        self.folder = settings.folder
        self._job: process.CommandChain | None = None
        self._starting = threading.Lock()

    @cached_property
    def _is_known(self) -> bool:
        """Whether it is known which letters the tagger was trained on; these are not held out.

        It is known if ``ner`` is the dataset that the tagger was trained on, or without a tagger.
        """
        if self.tagger is None:
            return True
        examples = read_manifest(find_tagger(opened(self.tagger)).path)["examples"]
        learned = [example["dataset"] for example in examples if "dataset" in example]
        data = self._open_ner()
        return data is not None and data.identity["dataset"] in learned

    @cached_property
    def _learned_names(self) -> set[str]:
        """The names of the documents of ``ner``."""
        return {_name_of(sentence.document_id) for sentence in self._sentences()}

    def _done(self) -> tuple[list[Letter], dict[str, list[str]]]:
        """Return the letters that are done, and the split into ``learned`` and ``held_out``.

        The split also has the letters of earlier trainings.
        """
        done = [letter for letter in self.desk.letters.all if _is_done(letter)]
        learned = {
            letter.name: any(
                _name_of(document.id) in self._learned_names for document in letter.documents
            )
            for letter in done
        }
        path = self.folder / "split.json"
        known = read_json(path) if path.exists() else {"learned": [], "held_out": []}
        return done, _deal(learned, known)

    @property
    def _is_running(self) -> bool:
        return self._job is not None and self._job.status is None

    def state(self) -> TrainingState:
        """Count the letters to learn from; tell the progress and scores of the last training."""
        with self.desk.lock:
            done, split = self._done()
        job = self._job
        lines = job.log().split("\n") if job else []
        said = [line for line in lines if line.strip() and not line.startswith("next ")]
        has_ended = job is not None and job.status == 0
        return {
            "done": len(done),
            "least": _LEAST,
            "isKnown": self._is_known,
            "heldOut": len({letter.name for letter in done}.intersection(split["held_out"])),
            "isRunning": self._is_running,
            "hasFailed": job is not None and bool(job.status),
            "said": said[-1][-_LINE:] if said else "",
            "scores": _scores(job.folder / "scores") if job and has_ended else None,
            "isTaken": bool(job and has_ended and taken_run(self.folder) == job.folder / "run"),
        }

    def start(self) -> TrainingState:
        """Start a training on the letters that are done.

        Raises ``RefusedError`` while another one runs, or where too few letters are done, or none
        can be held out.
        """
        with self._starting:  # two pages may ask at once
            if self._is_running:
                raise RefusedError("It is learning already.")
            folder, commands = self._prepare()
            self._job = process.CommandChain(folder, commands)
        return self.state()

    def _prepare(self) -> tuple[Path, list[process.Command]]:
        """Write the sentences into a new folder; return it with the commands of the training."""
        with self.desk.lock:
            done, split = self._done()
            if len(done) < _LEAST:
                raise RefusedError(
                    f"Letters that are decided to the end: {len(done)}; {_LEAST} are needed, one "
                    "of which is held out."
                )
            held_out = set(split["held_out"])
            learned = [
                d for letter in done if letter.name not in held_out for d in _decided(letter)
            ]
            tested = [d for letter in done if letter.name in held_out for d in _decided(letter)]
        if not tested:
            raise RefusedError(
                f"All letters that are decided ({len(done)}) are among those that the tagger has "
                "learned (--ner), so none can be held out for the scores. Decide others, too."
            )
        sentences = process.sentences_to_learn(learned)
        for document in tested:
            sentences += [
                sentence for sentence in to_sentences(document, lambda _: "test") if sentence.tokens
            ]
        sentences += self._more({document.id for document in (*learned, *tested)})
        folder = process.new_folder(self.folder)
        write_json(self.folder / "split.json", split)
        write_dataset(sentences, folder / "ner")
        return folder, list(self._commands(folder, sentences))

    def stop(self) -> TrainingState:
        """Stop the training that runs, if any."""
        if self._job is not None and self._is_running:
            self._job.stop()
            self._job = None
        return self.state()

    def use(self) -> TrainingState:
        """Let the tagger that was trained last suggest from now on.

        Raises ``RefusedError`` where no training has succeeded.
        """
        job = self._job
        if job is None or job.status != 0:
            raise RefusedError("There is no tagger that was trained to its end.")
        edition, cache, run = self.desk.edition, self.folder.parent, job.folder / "run"
        self.desk.use(tagged_suggestions(run, edition, cache=cache, threshold=self.threshold))
        write_text(self.folder / "taken", [job.folder.name])
        self._on_use()
        return self.state()

    def _more(self, decided: set[str]) -> Iterator[Sentence]:
        """Yield the sentences of ``ner`` to learn from, relabelled, without decided letters."""
        names = {_name_of(id) for id in decided}
        for sentence in self._sentences():
            if _name_of(sentence.document_id) not in names:
                yield relabel_sentence(sentence, self.labels) if self.labels else sentence

    def _sentences(self) -> Iterator[Sentence]:
        """Yield the sentences of ``ner`` to learn from: all but those of the split ``test``."""
        if data := self._open_ner():
            for sentence in data.sentences:
                if sentence.split != "test":
                    yield sentence

    def _open_ner(self) -> "NerData | None":
        """Read ``ner``, if it is given."""
        from modeling.finetune.data import NerData  # noqa: PLC0415 - loads torch

        return None if self.ner is None else NerData.open(self.ner)

    def _commands(self, folder: Path, sentences: Sequence[Sentence]) -> Iterator[process.Command]:
        taken = taken_run(self.folder)
        before = taken or self.tagger
        labels = self._write_labels(folder / "labels.toml", self.labels) if self.labels else None
        yield self.settings.command(
            folder, sentences, tagger=before, labels=None if taken else labels
        )
        score = ("modeling.evaluate", folder / "run", "--ner", folder / "ner", "--split", "test")
        options: list[object] = ["--output", folder / "scores"]
        if before:
            options += ["--against", before]
        if labels:
            options += ["--labels", labels]
        yield (*score, *options)

    def _write_labels(self, path: Path, given: LabelMap) -> Path:
        """Write the label map, extended by the edition's own labels, which decided letters have."""
        rows = {label: label for label in self.desk.labels} | dict(given.labels)
        quoted = partial(json.dumps, ensure_ascii=False)  # TOML has no halves of characters
        lines = [f"{quoted(old)} = {quoted(new)}\n" for old, new in rows.items()]
        write_text(path, [f'other = "{given.other}"\n\n[labels]\n', *lines])
        return path


def _is_done(letter: Letter) -> bool:
    """Tell whether somebody has decided on all that was suggested in a letter."""
    if letter.error or letter.is_waiting:
        return False
    statuses = [item.status for names in letter.names for item in names.items()]
    return "open" not in statuses and any(status != "there" for status in statuses)


def _deal(learned: Mapping[str, bool], known: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Hold out one in four letters; a letter that was dealt once stays on its side.

    Letters that the first tagger was trained on (``learned``) are never held out.
    """
    held_out = [name for name in known["held_out"] if not learned.get(name)]
    dealt = {"learned": list(known["learned"]), "held_out": held_out}
    new = sorted(learned.keys() - {*dealt["learned"], *held_out}, key=ratio)
    n = len(held_out) + sum(not learned.get(name) for name in dealt["learned"])
    for name in new:
        n += not learned[name]
        is_next = not learned[name] and _HELD_OUT * len(held_out) < n
        dealt["held_out" if is_next else "learned"].append(name)
    return dealt


def _name_of(document: str | None) -> str:
    """Return the last part of a document id, by which letters and ``ner`` are compared."""
    return PurePosixPath(document or "").name


def _decided(letter: Letter) -> Iterator[Document]:
    """Yield the documents of a letter, with the names as they will be."""
    for names in letter.names:
        nested, _ = without_crossing([mention for mention in names.names() if mention.label])
        yield replace(names.document, mentions=tuple(nested))


def _scores(folder: Path) -> Gains:
    """Read the strict F1 of both taggers on the held-out letters, in percent, with intervals."""
    comparisons = sorted(folder.glob("against-*/comparison.json"))
    if comparisons:
        comparison: ComparisonRecord = read_json(comparisons[0])
        before, after = comparison["second"], comparison["first"]
        difference = comparison["difference"]
        return {
            "before": _percent(before["f1"], before["interval"]),
            "after": _percent(after["f1"], after["interval"]),
            "difference": _percent(difference["value"], difference["interval"]),
            "unit": difference["unit"],
            "names": after["gold"],
        }
    evaluation: EvaluationRecord = read_json(folder / "evaluation.json")
    [run] = evaluation["runs"].values()
    micro = run["strict"]["micro"]
    return {
        "after": _percent(micro["f1"], micro["interval"]),
        "unit": run["unit"],
        "names": micro["gold"],
    }


def _percent(value: float, interval: IntervalRecord | None) -> Percent:
    """Convert a value and both ends of its interval to percent; None where it has none."""
    ends = (interval["low"], interval["high"]) if interval else (None, None)
    return [None if number is None else round(100 * number, 1) for number in (value, *ends)]
