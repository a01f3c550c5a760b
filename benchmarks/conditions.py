"""A tagger under conditions that its test part does not have, and its speed.

    python -m benchmarks.conditions RUN --ner build/ddt --others build/danplus --output made.json

Each score is strict F1 with its interval, beside what the names of train score, looked up:

- *noise*: of a test part whose characters are damaged, as by OCR: of so many in a hundred, a third
  is dropped, a third replaced, and a third followed by another. Others are drawn as often as they
  stand in the text; a word keeps one character at least. The same text for every tagger.
- *without*: of all names but those whose label ends in ``deriv`` or ``part`` (DaN+, GermEval 2014).
- *others*: of the test parts of other sets, and of its own, in the labels that all have
  (``per-loc-org``).

*speed* is sentences of the test part, at most 256, per second of CPU time on one thread, without
loading; everything else is computed on a GPU if there is one.
"""

import argparse
import json
import random
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from corpora.document import Sentence
from corpora.ner.labels import LabelMap, label_map_path, load_label_map
from modeling.data.predictions import Tagged
from modeling.evaluate.evaluation import evaluate
from modeling.evaluate.relabelling import relabel, relabel_sentence
from modeling.finetune.data import NerData
from modeling.taggers.tagger import Tagger
from modeling.training.world import best_device

NOISE = (5, 10)
"""The percentages of damaged characters."""
COMMON = "per-loc-org"
TIMED = 256
"""The most sentences whose tagging is timed."""
DERIVED = re.compile(r".+(deriv|part)")

Score = dict[str, Any]


def noisy(sentences: Sequence[Sentence], percent: int, *, seed: int = 1) -> list[Sentence]:
    """Damage the words of sentences; their tags stay."""
    characters = "".join(word for sentence in sentences for word in sentence.tokens)
    return [
        replace(sentence, tokens=tuple(damage(sentence, percent / 100, characters, seed=seed)))
        for sentence in sentences
    ]


def damage(sentence: Sentence, ratio: float, characters: str, *, seed: int) -> Iterator[str]:
    """Yield the damaged words of a sentence; they depend on its id and words alone."""
    rng = random.Random(f"{seed} {sentence.id}")
    for word in sentence.tokens:
        made = []
        for character in word:
            kind = rng.random() / ratio if ratio else 1.0
            other = rng.choice(characters)
            kept = "" if kind < 2 / 3 else character
            made.append(kept + (other if 1 / 3 <= kind < 1 else ""))
        yield "".join(made) or rng.choice(characters)


class Scorer:
    """A tagger, and the names that it was trained on."""

    def __init__(self, tagger: Tagger, data: NerData) -> None:
        self.tagger, self.data = tagger, data
        self.train, self.dev = data.split("train"), data.split("dev")

    def score(self, tagged: Sequence[Tagged], labels: LabelMap | None = None) -> Score:
        """Return F1 in percent, its interval, the F1 of a list, and how many names there are."""
        known, names = [self.train, self.dev], self.tagger.labels
        if labels:
            tagged = relabel(tagged, labels).tagged
            known = [[relabel_sentence(one, labels) for one in some] for some in known]
            names = tuple(dict.fromkeys(filter(None, map(labels.target, names))))
        found = evaluate(tagged, labels=names, train=known[0], dev=known[1])
        strict, baseline = found.strict.micro, found.baseline
        assert strict.interval
        assert baseline
        return {
            "f1": round(100 * strict.f1, 2),
            "interval": [round(100 * at, 2) for at in (strict.interval.low, strict.interval.high)],
            "list": round(100 * baseline.score.f1, 2),
            "names": strict.gold,
        }

    def conditions(self, others: Sequence[NerData]) -> dict[str, Any]:
        """Measure everything but the speed."""
        test = self.data.split("test")
        tagged = self.tagger.tag(test)
        made: dict[str, Any] = {}
        made["noise"] = {
            str(percent): self.score(self.tagger.tag(noisy(test, percent))) for percent in NOISE
        }
        if derived := [label for label in self.tagger.labels if DERIVED.fullmatch(label)]:
            made["without"] = self.score(tagged, LabelMap("plain", dict.fromkeys(derived, "")))
        if others:
            common = load_label_map(label_map_path(COMMON))
            made["others"] = {self.data.name: self.score(tagged, common)} | {
                other.name: self.score(self.tagger.tag(other.split("test")), common)
                for other in others
            }
        return made


def speed(tagger: Tagger, test: Sequence[Sentence]) -> float:
    """Measure how many sentences the tagger, on the CPU, tags per second of CPU time."""
    tagger.tag(test[: tagger.batch_size])  # warms up: what is made once is made
    begin = time.process_time()
    tagger.tag(test[:TIMED])
    return round(min(len(test), TIMED) / (time.process_time() - begin), 1)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure, and write it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=Path, help="a run of modeling.finetune")
    parser.add_argument("--ner", type=Path, required=True, help="what it was trained on")
    parser.add_argument("--others", type=Path, nargs="*", default=[], help="other sets")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE")
    parser.add_argument("--threads", type=int, default=1)
    args = parser.parse_args(argv)
    torch.set_num_threads(args.threads)
    scorer = Scorer(Tagger.load(args.run, device=best_device()), NerData.open(args.ner))
    made = {"speed": speed(Tagger.load(args.run), scorer.data.split("test"))}
    made |= scorer.conditions([NerData.open(other) for other in args.others])
    args.output.write_text(json.dumps(made) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
