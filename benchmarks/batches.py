"""Measure how many subwords a second become batches.

    python -m benchmarks.batches --examples build/examples [--max-length 512] [--steps 40]

A step has 256 examples in micro-batches of 32; there is no model. Each figure is the median of
three rounds of the same steps. A round before these is not counted, so that the files are in
memory.

``made`` is the number of subwords, with [CLS] and [SEP], for each second of the process's own time.
``loaded`` is the same by the clock, if one worker makes the batches and the process only unpacks
them. ``padding`` is the fraction of (B, N) without subwords: of the micro-batches as they are, and
as they would be if the examples of a step were not ordered by length.
"""

import argparse
import statistics
import time
from dataclasses import replace

import numpy as np

from benchmarks.inputs import existing
from corpora.tokenization.tokenizers import Tokenizer
from modeling.config import (
    DataConfig,
    EncoderConfig,
    HeadsConfig,
    MaskingConfig,
    PretrainConfig,
    TrainingConfig,
)
from modeling.data.batches import Batches
from modeling.data.examples import ExampleSet
from modeling.data.texts import SubwordIds

LUKE = MaskingConfig()
NEISS = MaskingConfig(budget="bernoulli")
ROUNDS = 3


def configs(max_length: int, n_entities: int) -> dict[str, PretrainConfig]:
    """Return the configurations to measure, by name; those with entities if there are some."""
    words = EncoderConfig(attention="whole_word_relative", n_segments=2)
    plain = PretrainConfig(
        encoder=replace(words, attention="plain"),
        masking=NEISS,
        data=DataConfig(max_length=max_length, n_workers=0),
        training=TrainingConfig(batch_size=256, micro_batch_size=32),
    )
    entities = replace(
        plain,
        encoder=EncoderConfig(attention="entity_aware", n_entities=n_entities),
        heads=HeadsConfig(weights={"subwords": 1.0, "entities": 1.0}),
        masking=LUKE,
    )
    found = {
        "single subwords": replace(plain, masking=replace(NEISS, unit="subword")),
        "whole words": plain,
        "whole words, words": replace(plain, encoder=words),
        "sentence order": replace(plain, data=replace(plain.data, pairs="sop")),
        "next sentence": replace(plain, data=replace(plain.data, pairs="nsp")),
    }
    if n_entities:
        found["whole words, entities"] = entities
        found["mentions first"] = replace(entities, masking=replace(LUKE, unit="entity"))
    return found


def n_subwords(batches: Batches, steps: range) -> int:
    """Make the steps in this process, and return how many subwords they have."""
    return sum(len(batch.subwords) for step in steps for batch in batches.batch(step))


def made(batches: Batches, steps: range) -> float:
    """Return how many subwords a second become batches, by the process's own time.

    This is the median of the rounds; the first one is not counted.
    """
    speeds = []
    for _ in range(1 + ROUNDS):
        start = time.process_time()
        speeds.append(n_subwords(batches, steps) / (time.process_time() - start))
    return statistics.median(speeds[1:])


def loaded(batches: Batches, steps: range) -> float:
    """Return how many subwords a second arrive from one worker, by the clock.

    The clock starts when the first step has arrived. This is the median of the rounds.
    """
    batches.n_workers = 1
    speeds = []
    for _ in range(ROUNDS):
        arriving = batches.steps(steps.start, steps.stop)
        next(arriving)
        start = time.perf_counter()
        n = sum(len(batch.subwords) for step in arriving for batch in step)
        speeds.append(n / (time.perf_counter() - start))
    return statistics.median(speeds)


def padding(lengths: np.ndarray, *, is_ordered: bool) -> float:
    """Return the fraction of empty places in micro-batches of 32 of steps of 256."""
    steps = lengths[: len(lengths) // 256 * 256].reshape(-1, 256)
    steps = np.sort(steps, axis=1) if is_ordered else steps
    micro = steps.reshape(-1, 32)
    return float(1 - micro.sum() / (micro.max(axis=1) * 32).sum())


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--examples", type=existing, required=True)
    parser.add_argument("--tokenizer", type=existing, help="if it does not lie beside the examples")
    parser.add_argument("--max-length", type=int, default=512)
    parser.add_argument("--steps", type=int, default=40)
    options = parser.parse_args()
    start = time.perf_counter()
    examples = ExampleSet(options.examples, "train")
    opened = time.perf_counter() - start
    subwords = SubwordIds.of(Tokenizer.open(options.tokenizer or options.examples))
    n_entities = 1 + max((int(e.entities.max()) for e in examples if len(e.entities)), default=-1)
    lengths = np.minimum(examples.lengths, options.max_length - 2) + 2
    shuffled = np.random.default_rng(1).permutation(lengths)
    print(
        f"{len(examples):,} examples, {lengths.mean():.0f} subwords each, opened in {opened:.2f} s"
    )
    ratios = [padding(shuffled, is_ordered=ordered) for ordered in (True, False)]
    print(f"padding {ratios[0]:.1%}, not ordered {ratios[1]:.1%}")
    print(f"{'':24}{'made/s':>12}{'loaded/s':>12}")
    for name, config in configs(options.max_length, n_entities).items():
        batches = Batches(config, [examples], subwords)
        steps = range(options.steps)
        print(
            f"{name:24}{made(batches, steps):>12,.0f}{loaded(batches, steps):>12,.0f}", flush=True
        )


if __name__ == "__main__":
    main()
