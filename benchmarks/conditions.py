"""Score a tagger on noisy text, without some labels and on other sets, and measure its speed.

    python -m benchmarks.conditions RUN --ner build/ddt --others build/danplus --output made.json

Each score is strict F1 with its interval, and the F1 of looking up the names of train:

- *noise*: on the test part with 5 and with 10 % of its characters damaged, as by OCR. A third of
  these is dropped, a third replaced, and a third followed by another character. New characters are
  drawn by their frequency in the text; a word keeps at least one character. All taggers get the
  same text.
- *without*: on the test part, without names whose label ends in ``deriv`` or ``part`` (DaN+,
  GermEval 2014).
- *others*: on the test parts of its own and of other sets, with the labels that all sets have
  (``per-loc-org``).

*speed* is sentences of the test part, at most 256, per second of CPU time with ``--threads``,
without loading. Everything else is computed on a GPU if there is one.
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

from benchmarks.inputs import existing
from corpora.document import Sentence
from corpora.ner.labels import LabelMap, label_map_path, load_label_map
from modeling.data.predictions import Tagged
from modeling.evaluate.evaluation import evaluate
from modeling.evaluate.relabelling import relabel, relabel_sentence
from modeling.finetune.data import NerData
from modeling.taggers.tagger import Tagger
from modeling.training.world import best_device

NOISE = (5, 10)
"""Percentages of damaged characters."""
COMMON = "per-loc-org"
TIMED = 256
"""The largest number of sentences whose tagging is timed."""
DERIVED = re.compile(r".+(deriv|part)")

Score = dict[str, Any]


def noisy(sentences: Sequence[Sentence], percent: int, *, seed: int = 1) -> list[Sentence]:
    """Return the sentences with so many percent of their characters damaged; tags stay."""
    characters = "".join(word for sentence in sentences for word in sentence.tokens)
    return [
        replace(sentence, tokens=tuple(damage(sentence, percent / 100, characters, seed=seed)))
        for sentence in sentences
    ]


def damage(sentence: Sentence, ratio: float, characters: str, *, seed: int) -> Iterator[str]:
    """Yield the damaged words of a sentence; they follow from its id, its words and the seed.

    ``characters`` is all text: new characters are drawn from it.
    """
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
    """A tagger, and the dataset that it was trained on."""

    def __init__(self, tagger: Tagger, data: NerData) -> None:
        self.tagger, self.data = tagger, data
        self.train, self.dev = data.split("train"), data.split("dev")

    def score(self, tagged: Sequence[Tagged], labels: LabelMap | None = None) -> Score:
        """Return F1, its interval and the F1 of a list, all in percent, and the number of names.

        ``labels`` maps the labels to those that are scored.
        """
        known, names = [self.train, self.dev], self.tagger.labels
        if labels:
            tagged, _ = relabel(tagged, labels)
            known = [[relabel_sentence(one, labels) for one in some] for some in known]
            names = tuple(dict.fromkeys(filter(None, map(labels.target, names))))
        found = evaluate(tagged, labels=names, train=known[0], dev=known[1])
        strict, baseline = found.strict.micro, found.baseline
        assert strict.interval
        assert baseline
        return {
            "f1": round(100 * strict.f1, 4),
            "interval": [round(100 * at, 4) for at in (strict.interval.low, strict.interval.high)],
            "list": round(100 * baseline.score.f1, 4),
            "names": strict.gold,
        }

    def conditions(self, others: Sequence[NerData]) -> dict[str, Any]:
        """Return all scores: ``noise``, ``without`` if it has such labels, ``others`` if any."""
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
    """Return how many sentences a tagger on the CPU tags per second of CPU time."""
    tagger.tag(test[: tagger.batch_size])  # warms up: what is made once is made
    begin = time.process_time()
    tagger.tag(test[:TIMED])
    return round(min(len(test), TIMED) / (time.process_time() - begin), 1)


def main(argv: Sequence[str] | None = None) -> None:
    """Measure a tagger, and write the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("run", type=existing, help="a run of modeling.finetune")
    parser.add_argument("--ner", type=existing, required=True, help="what it was trained on")
    parser.add_argument("--others", type=existing, nargs="*", default=[], help="other sets")
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
