"""Fine-tune the same encoder with transformers' Trainer and with ours, in turn.

    python -m benchmarks.trainer --ner build/ddt --model models/e5 --output build/trainer --epochs 6

For each seed: Trainer with its head for tokens (softmax), our ``softmax`` with one learning rate,
``softmax`` whose head learns ten times as fast, and ``crf`` likewise. All have the same encoder,
sentences, batches of 16, rate, linear schedule, and keep the epoch with the best F1 on dev. A line
of JSON each: strict F1 on test with its interval, CPU seconds of training and evaluation together,
optimizer steps, and MB of memory at most.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import (
    AutoModelForTokenClassification,
    AutoTokenizer,
    DataCollatorForTokenClassification,
    Trainer,
    TrainingArguments,
)

from benchmarks.inputs import existing
from corpora.document import Sentence
from corpora.tagging import from_iob2
from modeling.data.predictions import PredictedSpan, Tagged
from modeling.data.sentence_batches import first_by_hash
from modeling.data.tagset import TagSet
from modeling.evaluate.evaluation import as_json, evaluate
from modeling.finetune.data import NerData
from modeling.taggers.counts import strict_f1

BATCH, IGNORED, LONGEST = 16, -100, 256
OURS = {"softmax, one rate": ("softmax", 1), "softmax": ("softmax", 10), "crf": ("crf", 10)}


def encoded(sentences: Sequence[Sentence], tokenizer: Any, tagset: TagSet) -> list[dict[str, Any]]:
    """Encode sentences; the first subword of a word has its tag."""
    rows = []
    for sentence in sentences:
        row = tokenizer(
            list(sentence.tokens), is_split_into_words=True, truncation=True, max_length=LONGEST
        )
        words = np.array([-1 if word is None else word for word in row.word_ids()])
        is_first = (words >= 0) & (words != np.roll(words, 1))
        tags = np.asarray(tagset.encode(sentence.tags))
        row["labels"] = np.where(is_first, tags[words], IGNORED).tolist()
        rows.append(dict(row))
    return rows


def decoded(got: Any, *, sentences: Sequence[Sentence], tagset: TagSet) -> list[Tagged]:
    """Read the best tag of each word; words that were cut off have none."""
    tagged = []
    rows = zip(sentences, got.predictions, got.label_ids, strict=True)
    for sentence, row, of in rows:
        tags = list(tagset.decode(row[of != IGNORED].argmax(-1)))
        tags += ["O"] * (len(sentence.tokens) - len(tags))
        spans = [PredictedSpan(**asdict(s), probability=1.0) for s in from_iob2(tags)]
        tagged.append(Tagged(sentence=sentence, spans=tuple(spans)))
    return tagged


def with_trainer(args: argparse.Namespace) -> dict[str, Any]:
    """Train with transformers; score test."""
    train, dev, test = chosen(args)
    tagset = TagSet.of(sentence.tags for sentence in train)
    tokenizer = AutoTokenizer.from_pretrained(args.model)
    parts: Any = [encoded(part, tokenizer, tagset) for part in (train, dev, test)]
    settings = TrainingArguments(
        output_dir=str(args.output),
        seed=args.trainer,
        learning_rate=args.lr,
        per_device_train_batch_size=BATCH,
        per_device_eval_batch_size=2 * BATCH,
        num_train_epochs=args.epochs,
        warmup_steps=0.1,
        weight_decay=0.01,
        adam_beta2=0.98,
        eval_strategy="epoch",
        save_strategy="epoch",
        load_best_model_at_end=True,
        metric_for_best_model="f1",
        report_to=[],
        disable_tqdm=True,
        save_total_limit=1,
        use_cpu=True,
    )
    of_dev, of_test = (partial(decoded, sentences=part, tagset=tagset) for part in (dev, test))
    trainer: Any = Trainer(
        AutoModelForTokenClassification.from_pretrained(args.model, num_labels=len(tagset)),
        settings,
        DataCollatorForTokenClassification(tokenizer),
        train_dataset=parts[0],
        eval_dataset=parts[1],
        compute_metrics=lambda got: {"f1": strict_f1(of_dev(got))},
    )
    trainer.train()
    trainer.compute_metrics = None  # it is of dev
    scored = evaluate(of_test(trainer.predict(parts[2])), labels=tagset.labels)
    return {**as_json(scored.strict.micro), "steps": trainer.state.global_step}


def chosen(args: argparse.Namespace) -> list[list[Sentence]]:
    """Return the sentences of train (those that ours takes, too), dev and test."""
    train, dev, test = map(NerData.open(args.ner).split, ("train", "dev", "test"))
    return [[train[n] for n in first_by_hash(train, args.sentences).tolist()], dev, test]


def measured(*command: object) -> dict[str, float]:
    """Run a command; return its CPU seconds and MB, and raise ``SystemExit`` if it fails."""
    process = subprocess.Popen([sys.executable, "-m", *map(str, command)], stdout=sys.stderr)
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = status
    if status:
        raise SystemExit(f"status {status}: {' '.join(map(str, command))}")
    return {"cpu": used.ru_utime + used.ru_stime, "mb": used.ru_maxrss / 1024}


def main() -> None:
    """Train each way with each seed, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ner", type=existing, required=True, help="a ner dataset with dev, test")
    parser.add_argument("--model", type=existing, required=True, help="a folder of transformers")
    parser.add_argument("--output", type=Path, required=True, help="a folder for what is made")
    parser.add_argument("--sentences", type=int, default=0, help="of train, by hash (default: all)")
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=5e-5)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--ways", nargs="+", default=["Trainer", *OURS], help="(default: all)")
    parser.add_argument("--trainer", type=int, help="a seed: train with Trainer in this process")
    args = parser.parse_args()
    torch.set_num_threads(1)
    given = ["--ner", args.ner, "--model", args.model]
    if args.trainer is not None:
        args.output.mkdir(parents=True, exist_ok=True)
        (args.output / "scored.json").write_text(json.dumps(with_trainer(args)))
        return
    sizes = ["--sentences", args.sentences, "--epochs", args.epochs, "--lr", args.lr]
    for seed, way in product(args.seeds, args.ways):
        facts = {"set": args.ner.name, "seed": seed, "way": way}
        if way == "Trainer":
            out = args.output / f"trainer-{seed}"
            used = measured(
                "benchmarks.trainer", *given, *sizes, "--output", out, "--trainer", seed
            )
            tell(facts, used, json.loads((out / "scored.json").read_text()))
            continue
        head, ratio = OURS[way]
        out = args.output / f"{head}-{ratio}-{seed}"
        settings = {"epochs": args.epochs, "head_lr_ratio": ratio, "train_size": args.sentences}
        to = [f"optimizer.lr={args.lr}"]
        to += [f"training.{key}={value}" for key, value in settings.items()]
        where = [*given, "--output", out, "--seeds", seed]
        used = measured("modeling.finetune", head, *where, "--set", *to)
        tested = measured("modeling.evaluate", out, "--ner", args.ner)
        (scored,) = out.glob("evaluation/**/evaluation.json")
        (run,) = json.loads(scored.read_text())["runs"].values()
        used["cpu"] += tested["cpu"]
        tell(facts, used, run["strict"]["micro"])


def tell(way: dict[str, object], used: dict[str, float], scored: dict[str, Any]) -> None:
    """Print a line."""
    facts = {key: scored[key] for key in ("f1", "interval", "steps") if key in scored}
    print(json.dumps(way | used | facts), flush=True)


if __name__ == "__main__":
    main()
