"""Compare fine-tuning with ``transformers.Trainer``: same model, sentences, steps and threads.

    python -m benchmarks.trainer --model models/multilingual-e5-small --ner build/sturm --steps 20
    python -m benchmarks.trainer --model MODEL --ner build/sturm --steps 500 --seeds 1 2 3

Each way learns from the same sentences in the same order, in a process of its own:

    Trainer   its default AdamW over all rows; batches are padded to their longest sentence
    dense     ours without padding, with a row for each subword of the vocabulary
    ours      as ``modeling.finetune`` does it: only the rows of subwords that train and dev have

Processor seconds are those of the steps alone, without loading; memory is the peak of the process,
with loading. F1 is strict, on dev, of the best tag of each word after the last step; after few
steps it says nothing. The ways take turns. Times are medians over the seeds, memory is the highest.
F1 is given for each seed, then its mean and, if there are two seeds or more, its 95 % interval by
Student's t in brackets.
"""

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from transformers import AutoModelForTokenClassification, Trainer, TrainingArguments

from benchmarks.inputs import existing
from corpora.tagging import from_iob2
from modeling.config import OptimizerConfig
from modeling.data.sentence_batches import SentenceCollator
from modeling.data.sentences import SentenceEncoder, UsedSubwords
from modeling.data.tagset import TagSet
from modeling.finetune.data import NerData
from modeling.huggingface.transfer import encoder_for, take_encoder
from modeling.models.tagging import TaggingModel
from modeling.taggers.folders import Base
from modeling.tagging_config import HeadConfig, SentencesConfig, TaggerConfig
from modeling.training.optimizer import Optimizer

WAYS = ("Trainer", "dense", "ours")
MAX_LENGTH = 256  # longer sentences are left out everywhere
IGNORED = -100
QUANTILES = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26)
"""The 97.5 % quantiles of Student's t for 1, 2, 3 … degrees of freedom."""


class Task:
    """The encoded sentences, in the order in which all ways learn from them."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args, self.base = args, Base.open(args.model)
        data = NerData.open(args.ner)
        self.tagset = TagSet.of(sentence.tags for sentence in data.sentences)
        encoder = SentenceEncoder(self.base.tokenizer, SentencesConfig(max_length=MAX_LENGTH))
        self.encoded = [encoder.encode(data.split(split)) for split in ("train", "dev")]
        short = [np.flatnonzero(one.n_windows == 1) for one in self.encoded]
        self.dev_numbers = short[1]
        drawn, n = np.random.default_rng(args.seed), args.steps * args.batch
        laps = -(-n // len(short[0]))
        self.order = np.concatenate([drawn.permutation(short[0]) for _ in range(laps)])[:n]

    def rows(self, part: int, numbers: np.ndarray) -> Iterator[dict[str, list[int]]]:
        """Yield sentences as transformers takes them: a label for the first subword of each word.

        Other subwords have the label that is ignored.
        """
        collate = SentenceCollator(self.encoded[part], tagset=self.tagset)
        for number in numbers.tolist():
            batch = collate([number])
            assert batch.tags is not None
            labels = torch.full_like(batch.subwords, IGNORED)
            labels[batch.word_subwords[batch.word_offsets]] = batch.tags
            yield {"input_ids": batch.subwords.tolist(), "labels": labels.tolist()}

    def f1(self, found: list[list[str]]) -> float:
        """Return the strict F1 of tags of dev."""
        sentences = [self.encoded[1].sentences[n] for n in self.dev_numbers.tolist()]
        gold = {(n, span) for n, s in enumerate(sentences) for span in from_iob2(s.tags)}
        ours = {(n, span) for n, tags in enumerate(found) for span in from_iob2(tags)}
        return 2 * len(gold & ours) / max(len(gold) + len(ours), 1)


def run_ours(task: Task, *, is_dense: bool) -> tuple[float, float]:
    """Train with our loop; returns the processor seconds of all steps, and F1 on dev."""
    args, base = task.args, task.base
    used = None if is_dense else UsedSubwords.of(task.encoded)
    encoder = encoder_for(base.config, reads_entities=False)
    config = TaggerConfig(
        labels=task.tagset.labels,
        encoder=encoder if used is None else replace(encoder, n_subwords=len(used)),
        head=HeadConfig(kind="softmax", decoder="free", dropout=0.1),
        data=SentencesConfig(max_length=MAX_LENGTH),
    )
    model = TaggingModel.from_config(config)
    take_encoder(model, base.folder, subwords=used)
    collate, collate_dev = (
        SentenceCollator(one if used is None else used.renumber(one), tagset=task.tagset)
        for one in task.encoded
    )
    optimizer = Optimizer(model, OptimizerConfig(lr=args.rate, weight_decay=0.0, eps=1e-8))
    model.train()
    begin = time.process_time()
    for step in range(args.steps):
        batch = collate(task.order[step * args.batch : (step + 1) * args.batch])
        optimizer.gradients.flat.zero_()
        (model(batch)["tags"] / batch.n_targets["tags"]).backward()
        optimizer.step(args.rate * (1 - step / args.steps), optimizer.gradients.norm())
    seconds = time.process_time() - begin
    found = [one for n in task.dev_numbers.tolist() for one in model.find(collate_dev([n]))]
    return seconds, task.f1([list(one.tags) for one in found])


def run_trainer(task: Task) -> tuple[float, float]:
    """Train with ``transformers.Trainer``; returns seconds of the steps, and F1 on dev."""
    args, tags = task.args, task.tagset.tags
    model = AutoModelForTokenClassification.from_pretrained(args.model, num_labels=len(tags))

    def collate(rows: list[dict[str, list[int]]]) -> dict[str, torch.Tensor]:
        longest, fill = max(len(row["labels"]) for row in rows), {"input_ids": 0, "labels": IGNORED}
        made = {
            name: torch.tensor([row[name] + [other] * (longest - len(row[name])) for row in rows])
            for name, other in fill.items()
        }
        lengths = torch.tensor([[len(row["labels"])] for row in rows])
        return made | {"attention_mask": (torch.arange(longest) < lengths).long()}

    class InOrder(Trainer):
        def _get_train_sampler(self, *_: Any) -> torch.utils.data.Sampler[int]:
            return torch.utils.data.SequentialSampler(rows)

    rows = list(task.rows(0, task.order))
    with tempfile.TemporaryDirectory() as folder:
        settings = TrainingArguments(
            output_dir=folder,
            per_device_train_batch_size=args.batch,
            max_steps=args.steps,
            learning_rate=args.rate,
            save_strategy="no",
            logging_strategy="no",
            report_to=[],
            disable_tqdm=True,
            use_cpu=True,
            seed=args.seed,
        )
        trainer = InOrder(model=model, args=settings, train_dataset=rows, data_collator=collate)
        begin = time.process_time()
        trainer.train()
        seconds = time.process_time() - begin
    found = []
    model.eval()
    with torch.inference_mode():
        for row in task.rows(1, task.dev_numbers):
            best = model(input_ids=torch.tensor([row["input_ids"]])).logits[0].argmax(1).tolist()
            kept = zip(best, row["labels"], strict=True)
            found.append([tags[tag] for tag, label in kept if label != IGNORED])
    return seconds, task.f1(found)


def worker(args: argparse.Namespace) -> None:
    """Train one way with one seed in this process, and print the measures as JSON."""
    torch.set_num_threads(args.threads)
    torch.manual_seed(args.seed)
    task = Task(args)
    if args.way == "Trainer":
        seconds, f1 = run_trainer(task)
    else:
        seconds, f1 = run_ours(task, is_dense=args.way == "dense")
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps({"seconds": seconds, "f1": f1, "memory": memory}))


def main() -> None:
    """Run every way with every seed, and print the table."""
    args = parse()
    if args.way:
        worker(args)
        return
    runs: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
    for seed in args.seeds:
        for way in WAYS:
            command = [sys.executable, *sys.argv, "--way", way, "--seed", str(seed)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            runs[way].append(json.loads(done.stdout.splitlines()[-1]))
    slowest = statistics.median(run["seconds"] for run in runs["Trainer"])
    print(f"{args.steps} steps of {args.batch}, {args.threads} threads, seeds {args.seeds}")
    print("| | processor seconds a step | speed | memory, GB | F1 |\n| --- |" + " ---: |" * 4)
    for way, some in runs.items():
        seconds = statistics.median(run["seconds"] for run in some)
        memory = max(run["memory"] for run in some)
        f1 = spread([100 * run["f1"] for run in some])
        per_step = seconds / args.steps
        print(f"| {way} | {per_step:.3f} | {slowest / seconds:.2f} × | {memory:.2f} | {f1} |")


def spread(values: Sequence[float]) -> str:
    """Show each value, and their mean with its 95 % interval if there are two or more."""
    said, n = ", ".join(f"{value:.1f}" for value in values), len(values)
    if n < 2:
        return said
    mean, half = statistics.fmean(values), statistics.stdev(values) / n**0.5
    half *= QUANTILES[min(n, len(QUANTILES) + 1) - 2]
    return f"{said}; **{mean:.1f}** ({mean - half:.1f} to {mean + half:.1f})"


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--model", type=existing, required=True, help="a folder of transformers")
    parser.add_argument("--ner", type=existing, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--way", choices=WAYS, help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=1, help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    main()
