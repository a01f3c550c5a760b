"""Measure what needs a GPU, with one command of at most 25 minutes, the most important first.

    python -m benchmarks.gpu --model models/multilingual-e5-small --data ../data --examples build/de
    python -m benchmarks.gpu --only 'speed-*' --minutes 10
    python -m benchmarks.gpu --table

Each step runs in its own process and has several parts. Each measured part becomes a line of
``benchmarks/records/gpu.jsonl``, with date, device, driver and versions. A part that has a line of
this device is not measured again, so the same command resumes. A step that does not fit into the
rest of ``--minutes``, or that lacks an option, is skipped and named. A step that takes longer than
its minutes is ended, and its finished parts are kept. A part that fails also becomes a line, with
its error; the next run tries it again. The steps:

    speed-*     subwords a second of pre-training in bfloat16, with the optimizer's step: ours, and
                a BERT of transformers of the same shape, on the same batches. All rows have full
                length, so its SDPA uses flash kernels. That BERT reads no entities. If the package
                flash_attn is installed, the BERT is also measured with it
    compiled-*  the same with torch.compile
    attention   a layer with each kind of attention, forward and backward; memory of the attention
    luke        benchmarks.encoder: ours and LUKE of transformers; rows without and with padding
    finetune-*  --model fine-tuned on a set of --data (see tables.py), three seeds: F1 on test
    pretrain    --recipe on --examples for the minutes that are left, then fine-tuned on these sets

``--tiny`` tries out all steps with tiny shapes, in some minutes of one core; a CPU is enough. It
compiles nothing to machine code, limits the minutes of no single step, and writes its record to a
folder in --output.
"""

import argparse
import gc
import importlib.util
import json
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatch
from functools import cache, partial
from itertools import cycle
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from benchmarks import attention, tables
from benchmarks.inputs import existing
from benchmarks.result_cells import read_sets
from benchmarks.result_tables import table_lines
from benchmarks.synthetic_files import write_dataset
from corpora.tokenization.tokenizers import SPECIALS, Tokenizer, wordpiece
from modeling.config import PretrainConfig
from modeling.data.batch import Batch
from modeling.data.batches import Batches
from modeling.data.entities import Scopes
from modeling.data.examples import ExampleSet
from modeling.data.texts import SubwordIds
from modeling.models.costs import batch_flops
from modeling.models.pretraining import PretrainingModel
from modeling.recipes import change
from modeling.recipes.pretraining import recipe
from modeling.training.loop import Conditions, train
from modeling.training.metrics import peak_flops
from modeling.training.optimizer import Optimizer
from modeling.training.schedules import build_schedule
from modeling.training.world import World, best_device

Values = dict[str, Any]
Prepared = tuple[PretrainConfig, list[Batch]]
Parts = Iterator[tuple[str, Callable[[], Values]]]

VOCABULARIES = {"neiss": (30_000, 0), "daluke": (30_000, 50_000), "entity_bert": (21_128, 10_000)}
"""The numbers of subwords and entities of each model whose speed is measured."""
TINY: dict[str, Any] = {"width": 32, "n_layers": 1, "n_heads": 2, "inner_width": 64}
TINY_LUKE = "--size 64x1 --batch 2 --length 32 --subwords 500 --entities 50 --rounds 1"
LENGTHS, KINDS = (320, 2_048, 8_192), ("relative", "absolute", "whole-word relative")
SETS = ("sturm", "ddt")
N_BATCHES, WARM, ROUNDS, MENTION = 4, 4, 3, 3
THEIRS = "transformers, sdpa"
PRECISION = "training.precision=bfloat16"
GRACE = 20  # seconds
START_UP, FINETUNING = 60, 150
"""Seconds that are reserved to start pre-training, and to fine-tune on each set after it."""


@dataclass(frozen=True)
class Step:
    """A step of the benchmark, with a function that yields its parts."""

    name: str
    minutes: float
    """The most minutes of the step; with ``takes_rest`` the least: it takes all that are left."""
    parts: Callable[[argparse.Namespace], Parts]
    needs: tuple[str, ...] = ()
    takes_rest: bool = False


# --- the speed of pre-training


def speed(args: argparse.Namespace, *, name: str, compiles: bool = False) -> Parts:
    """Yield the parts that measure pre-training: BERTs of transformers, then our model.

    The batches are made when the first part is measured, and all parts use them.
    """
    made = cache(lambda: prepared(name, args))
    kinds = ["sdpa"] + ["flash_attention_2"] * bool(importlib.util.find_spec("flash_attn"))
    for kind in kinds:
        part = f"transformers, {kind}"
        yield part, partial(time_theirs, made, args, compiles=compiles, kind=kind)
    yield "ours", partial(time_ours, made, args, compiles=compiles)


def prepared(name: str, args: argparse.Namespace) -> Prepared:
    """Return the settings of a recipe, and masked batches of synthetic examples.

    There are ``N_BATCHES`` batches on the device, each of about ``--subwords`` subwords in rows of
    full length. Nothing is frozen.
    """
    n_subwords, n_entities = (500, 50 if VOCABULARIES[name][1] else 0)
    config = change(recipe(name), training={"frozen": 0.0})
    if args.tiny:
        config = change(config, encoder=TINY | {"entity_width": 16}, data={"max_length": 34})
    else:
        n_subwords, n_entities = VOCABULARIES[name]
    size = max(2, args.subwords // config.data.max_length)
    config = change(
        config,
        encoder={"n_subwords": n_subwords, "n_entities": n_entities},
        training={"batch_size": size, "micro_batch_size": size},
    )
    folder = args.output / "synthetic" / name
    shutil.rmtree(folder, ignore_errors=True)
    rng, n = np.random.default_rng(1), N_BATCHES * size
    write_dataset(folder, (example(rng, number, config) for number in range(n)))
    words = [*SPECIALS, *map(str, range(n_subwords - len(SPECIALS)))]
    ids = SubwordIds.of(Tokenizer(wordpiece(words, cased=True), name="synthetic"))
    scopes = None
    if config.heads.entity_scope != "vocabulary":
        scopes = Scopes.read([folder], config.heads.entity_scope)
    batches = Batches(config, [ExampleSet(folder, "train")], ids, scopes=scopes)
    return config, [batch.to(best_device()) for n in range(N_BATCHES) for batch in batches.batch(n)]


def example(rng: np.random.Generator, number: int, config: PretrainConfig) -> dict[str, object]:
    """Return a row of an examples dataset, of the full length of the recipe.

    Subwords are random, two for each word. If the model has entities, a mention of ``MENTION``
    subwords begins at every thirtieth subword.
    """
    length, of = config.data.max_length - 2, config.encoder
    words = np.arange(0, length, 2, dtype=np.int32)
    starts = words[: -(MENTION - 1)][:: 5 * MENTION] if of.n_entities else words[:0]
    return {
        "id": f"{number}", "document_id": f"{number}", "group": "synthetic", "split": "train",
        "input_ids": rng.integers(len(SPECIALS), of.n_subwords, length, dtype=np.int32),
        "word_starts": words, "sentence_starts": words[::15],
        "entity_ids": rng.integers(3, max(of.n_entities, 4), len(starts), dtype=np.int32),
        "entity_starts": starts, "entity_ends": starts + np.int32(MENTION),
        "entity_origins": ["link"] * len(starts),
    }  # fmt: skip


def time_ours(made: Callable[[], Prepared], args: argparse.Namespace, *, compiles: bool) -> Values:
    """Measure steps of our training loop, in bfloat16.

    MFU is added if the peak of the device is known.
    """
    config, batches = made()
    device = best_device()
    torch.manual_seed(1)
    model = PretrainingModel.from_config(config).to(device)
    if compiles:
        model.compile(dynamic=True, backend=backend(args))
    steps = train(
        model,
        ([batch] for batch in cycle(batches)),
        Optimizer(model, config.optimizer),
        schedule=build_schedule(config),
        weights=config.heads.weights,
        conditions=Conditions(World(device=device), precision="bfloat16"),
    )
    values = timed(lambda: next(steps), batches, args)
    if peak := peak_flops(device, "bfloat16"):
        flops = statistics.fmean(batch_flops(config, batch) for batch in batches)
        values["MFU %"] = 100 * flops / (values["ms"] / 1e3) / peak
    return values


def time_theirs(
    made: Callable[[], Prepared], args: argparse.Namespace, *, compiles: bool, kind: str
) -> Values:
    """Measure steps of a BERT of transformers with the shape of our model, in bfloat16.

    It predicts the same masked subwords and is trained by fused AdamW.

    Args:
        made: returns the settings and the batches.
        kind: the implementation of attention, as transformers calls it.
    """
    config, batches = made()
    device, of = best_device(), config.encoder
    settings: dict[str, Any] = {"attn_implementation": kind}  # Any: the parameter has no type
    torch.manual_seed(1)
    model: torch.nn.Module = transformers.BertForMaskedLM(
        transformers.BertConfig(
            vocab_size=of.n_subwords,
            hidden_size=of.width,
            num_hidden_layers=of.n_layers,
            num_attention_heads=of.n_heads,
            intermediate_size=of.inner_width,
            hidden_act=of.activation,
            hidden_dropout_prob=of.dropout,
            attention_probs_dropout_prob=of.attention_dropout,
            max_position_embeddings=config.data.max_length,
            **settings,
        )
    )
    model.to(device).train()
    if compiles:
        model.compile(backend=backend(args))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)
    inputs = cycle([as_padded(batch) for batch in batches])

    def step() -> None:
        optimizer.zero_grad()
        with torch.autocast(device.type, torch.bfloat16):
            loss = model(**next(inputs)).loss
        loss.backward()
        optimizer.step()

    return timed(step, batches, args)


def backend(args: argparse.Namespace) -> str:
    """Return the backend of ``torch.compile``: with ``--tiny`` one that compiles nothing.

    Compiling C++ takes a minute on a CPU.
    """
    return "eager" if args.tiny else "inductor"


def as_padded(batch: Batch) -> dict[str, torch.Tensor]:
    """Return subword ids and labels, each (B, N); a label is -100 if nothing is predicted there.

    There is no attention mask, as all rows have full length.
    """
    layout = batch.rows.subwords
    assert layout.attend is None
    masked = batch.targets["subwords"]
    labels = torch.full_like(batch.subwords, -100).index_copy(0, masked.rows, masked.labels)
    return {"input_ids": layout.pad(batch.subwords), "labels": layout.pad(labels)}


def timed(step: Callable[[], object], batches: list[Batch], args: argparse.Namespace) -> Values:
    """Return subwords a second, milliseconds a step, seconds of warm-up, and on a GPU peak memory.

    The time of a step is the median over rounds; steps that compile and warm up come before these.
    The peak of memory is in GB and without the warm-up.
    """
    synchronize, is_cuda = torch.cuda.synchronize, best_device().type == "cuda"
    seconds = []
    n_steps = 1 if args.tiny else 2 * N_BATCHES
    for n in (WARM, *[n_steps] * (1 if args.tiny else ROUNDS)):
        begin = time.perf_counter()
        for _ in range(n):
            step()
        if is_cuda:
            synchronize()
        seconds.append(time.perf_counter() - begin)
        if is_cuda and len(seconds) == 1:
            torch.cuda.reset_peak_memory_stats()
    each = statistics.median(seconds[1:]) / n_steps
    n_subwords = statistics.fmean(len(batch.subwords) for batch in batches)
    values = {"subwords/s": n_subwords / each, "ms": each * 1e3, "warm-up s": seconds[0]}
    if is_cuda:
        values["GB"] = torch.cuda.max_memory_allocated() / 1e9
    return values | {"against": THEIRS}


# --- layers, and other benchmarks


def layers(args: argparse.Namespace) -> Parts:
    """Yield a part for each kind of attention and each length, all with about as many subwords."""
    for length in (16,) if args.tiny else LENGTHS:
        n = max(1, args.subwords // length)
        for kind in KINDS:
            yield f"{kind}, {n} x {length}", partial(time_layer, kind, n, length)


def time_layer(kind: str, n: int, length: int) -> Values:
    """Measure forward and backward of a layer of NEISS, on ``n`` sequences of one length.

    Memory is that of the attention alone, without the feed-forward network.
    """
    device = best_device()
    asked = argparse.Namespace(clock="wall", bfloat16=True)
    rows, layer = attention.make_rows(n, length, device.type), attention.layer_of(kind).to(device)
    x = torch.randn(n * length, attention.WIDTH, device=device, requires_grad=True)
    times = [attention.seconds(layer, x, rows, arguments=asked) for _ in range(WARM + ROUNDS)]
    with torch.autocast(device.type, torch.bfloat16):
        kept = attention.kept_bytes(layer.attention, x, rows)
    return {
        "ms": 1e3 * statistics.median(times[WARM:]),
        "peak MiB": attention.peak_bytes(layer.attention, x, rows, arguments=asked) / 2**20,
        "kept MiB": kept / 2**20,
        "against": f"relative, {n} x {length}",
    }


def luke(args: argparse.Namespace) -> Parts:
    """Yield the parts that keep what ``benchmarks.encoder`` prints."""
    size = TINY_LUKE if args.tiny else "--size 768x12 --batch 32"
    for only in ("transformers", "padding"):
        more = ["--device", best_device().type, "--bf16", "--only", only]
        yield only, partial(printed, "benchmarks.encoder", *size.split(), *more)


def printed(module: str, *arguments: str) -> Values:
    return {"printed": command(module, *arguments)}


# --- training


def finetune(args: argparse.Namespace, *, name: str) -> Parts:
    """Yield the one part of a set: a CRF fine-tuned with three seeds."""
    yield "crf", lambda: finetuned(args, name, model=args.model, output=args.output / name)


def finetuned(args: argparse.Namespace, name: str, *, model: Path, output: Path) -> Values:
    """Fine-tune and score a CRF; return strict F1 on test of each seed, and seconds.

    Seconds are those of fine-tuning by the clock. The interval, and the F1 of a list of the
    training names, are of the first seed. An interrupted run resumes after its last epoch.

    Args:
        name: the name of a set in ``tables.toml``.
    """
    of = read_sets(Path(tables.__file__).with_suffix(".toml"))[0][name]
    ner, seeds = tables.make_ner(of, args), "1" if args.tiny else "1,2,3"
    samples = ["training.samples=16"] if args.tiny else []
    settings = [*tables.LEARNING, f"training.epochs={1 if args.tiny else of.epochs}"]
    where = ["--ner", ner, "--model", model, "--output", output, "--seeds", seeds, "--set"]
    begin = time.perf_counter()
    command("modeling.finetune", "crf", *where, *settings, *samples, PRECISION)
    took = time.perf_counter() - begin
    command("modeling.evaluate", output, "--ner", ner)
    [path] = (output / "evaluation").rglob("evaluation.json")
    runs = list(json.loads(path.read_text("utf-8"))["runs"].values())
    interval = runs[0]["strict"]["micro"]["interval"]
    return {
        "F1": [100 * run["scores"]["strict_f1"] for run in runs],
        "95 %": [100 * interval[side] for side in ("low", "high")],
        "a list": 100 * runs[0]["baseline"]["score"]["f1"],
        "seconds": took,
    }


def pretrain(args: argparse.Namespace) -> Parts:
    """Yield the parts of pre-training: first steps, the whole run, and fine-tuning on each set.

    The first steps are timed, so that the whole run can have as many steps as there is time for.
    """
    deadline = time.monotonic() + 60 * args.minutes
    output, n_sets = args.output / args.recipe, len(SETS) if args.data else 0
    yield "first steps", lambda: pretrained(args, args.output / "first-steps", n_steps=60)
    for_sets = 0 if args.tiny else n_sets * FINETUNING + START_UP
    yield args.recipe, lambda: pretrained(args, output, until=deadline - for_sets)
    for name in SETS if args.data else ():
        made = args.output / f"{name}-after-{args.recipe}"
        yield f"{name} after it", partial(finetuned, args, name, model=output, output=made)


def pretrained(
    args: argparse.Namespace, output: Path, *, n_steps: int = 0, until: float = 0.0
) -> Values:
    """Pre-train, and return the speed, losses and accuracies of the last lines of the log.

    A run that was begun before keeps its number of steps.

    Args:
        n_steps: the number of steps; 0: as many as fit before ``until``.
        until: a time of ``time.monotonic``.
    """
    config, begun = recipe(args.recipe), output / "settings.json"
    if args.tiny:
        n_steps = 4
    elif begun.is_file():
        n_steps = json.loads(begun.read_text("utf-8"))["config"]["training"]["max_steps"]
    elif not n_steps:
        step = last(args.output / "first-steps", "train")["seconds"] / 10
        n_steps = max(100, round((until - time.monotonic()) / step))
    size = max(2, args.subwords // config.data.max_length)
    settings = [PRECISION, "training.frozen=0", "optimizer.unlocked_lr=null"]
    settings += [f"training.{name}={size}" for name in ("batch_size", "micro_batch_size")]
    settings += [f"training.{name}={n_steps}" for name in ("max_steps", "evaluate_every")]
    settings += ["training.log_every=10", "training.checkpoint_every=1000"]
    settings += [f"encoder.{key}={value}" for key, value in TINY.items() if args.tiny]
    where = ["--examples", args.examples, "--output", output, "--set"]
    command("modeling.pretrain", args.recipe, *where, *settings)
    values = {"steps": n_steps, "subwords/s": last(output, "train")["subwords_per_second"]}
    if "mfu" in (line := last(output, "train")):
        values["MFU %"] = 100 * line["mfu"]
    found = last(output, "evaluation")
    for objective, loss in found.get("loss", {}).items():
        values |= {f"{objective}: loss": loss}
        values |= {f"{objective}: right %": 100 * found["accuracy"][objective]["1"]}
    return values


def last(run: Path, kind: str) -> Values:
    """Return the last line of a kind in the log of a run; an empty one if there is none."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text("utf-8").splitlines())
    return next((line for line in reversed(list(lines)) if line["kind"] == kind), {})


def command(module: str, *arguments: object) -> str:
    """Run a command of ours, and return what it printed.

    Raises ``RuntimeError`` with the end of its errors if it fails.
    """
    line = [sys.executable, "-m", module, *map(str, arguments)]
    print("$", shlex.join(["python", *line[1:]]), flush=True)
    done = subprocess.run(line, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{module}: exit status {done.returncode}\n{done.stderr[-2_000:]}")
    return done.stdout


STEPS = (
    *(Step(f"speed-{name}", 1.5, partial(speed, name=name)) for name in VOCABULARIES),
    Step("compiled-neiss", 3, partial(speed, name="neiss", compiles=True)),
    Step("attention", 1, layers),
    Step("luke", 2, luke),
    *(
        Step(f"finetune-{name}", 4, partial(finetune, name=name), ("model", "data"))
        for name in SETS
    ),
    *(
        Step(f"compiled-{name}", 4, partial(speed, name=name, compiles=True))
        for name in ("daluke", "entity_bert")
    ),
    Step("pretrain", 6, pretrain, ("examples",), takes_rest=True),
)


# --- records and tables


@cache
def machine() -> Values:
    """Return the device, its driver, the versions of libraries, and the date (UTC)."""
    of: Values = {"device": "CPU", "driver": "", "torch": torch.__version__}
    if best_device().type == "cuda":
        asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        done = subprocess.run(asked, check=False, capture_output=True, text=True)
        of |= {"device": torch.cuda.get_device_name(), "driver": done.stdout.strip()}
    return of | {"transformers": transformers.__version__, "date": f"{datetime.now(UTC):%Y-%m-%d}"}


def read_record(path: Path) -> list[Values]:
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    return [json.loads(line) for line in lines]


def done_of(record: Sequence[Values], step: str) -> set[str]:
    """Return the parts of a step that were measured on this device without an error.

    "" stands for the whole step.
    """
    here = machine()["device"]
    return {
        line["part"]
        for line in record
        if (line["step"], line["device"]) == (step, here) and "error" not in line["values"]
    }


def measure(step: Step, args: argparse.Namespace) -> None:
    """Measure the parts of a step that are left, and add a line to the record for each.

    A line for the whole step follows if none of them failed.
    """
    done, has_failed = done_of(read_record(args.record), step.name), False
    for part, run in step.parts(args):
        if part in done:
            continue
        begin = time.perf_counter()
        try:
            values = run()
        except Exception as error:  # noqa: BLE001 - the others are still worth their time
            values, has_failed = {"error": f"{type(error).__name__}: {error}"[:2_000]}, True
        gc.collect()  # compiled models have reference cycles
        values["took s"] = time.perf_counter() - begin
        keep(args.record, values, step=step.name, part=part)
    if not has_failed:
        keep(args.record, {}, step=step.name, part="")


def keep(record: Path, values: Mapping[str, Any], *, step: str, part: str) -> None:
    """Add a line to the record, and print it."""
    record.parent.mkdir(parents=True, exist_ok=True)
    line = {"step": step, "part": part, "values": values} | machine()
    with record.open("a", encoding="utf-8") as file:
        file.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"{step}: {part or 'done'} {shown(values)}", flush=True)


def shown(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {as_text(value)}" for name, value in values.items() if value)


def as_text(value: object) -> str:
    """Format a number with three digits, a list of numbers, or the first line of an error.

    A number of 100 or more is rounded to a whole one.
    """
    if isinstance(value, list):
        return ", ".join(map(as_text, value))
    if isinstance(value, float | int):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value).partition("\n")[0].replace("|", "\\|")


def run_steps(args: argparse.Namespace, argv: Sequence[str]) -> Iterator[str]:
    """Run the steps that are left and fit into the minutes.

    Yields a line for each step that was skipped, was ended, or failed.
    """
    begin = time.monotonic()
    for step in STEPS:
        if not fnmatch(step.name, args.only) or is_whole(step, args):
            continue
        left = args.minutes - (time.monotonic() - begin) / 60
        minutes = left if step.takes_rest or args.tiny else step.minutes
        if missing := [f"--{name}" for name in step.needs if getattr(args, name) is None]:
            yield f"{step.name}: skipped, it needs {' and '.join(missing)}"
        elif step.minutes > left:
            yield f"{step.name}: skipped, its {step.minutes:g} minutes do not fit in {left:.1f}"
        elif not ends([*argv, "--step", step.name, "--minutes", f"{minutes}"], 60 * minutes):
            yield f"{step.name}: ended after its {minutes:.1f} minutes, finished parts are kept"
        elif not is_whole(step, args):
            yield f"{step.name}: something failed, see {args.record}"


def is_whole(step: Step, args: argparse.Namespace) -> bool:
    """Return whether all parts of a step were measured on this device."""
    return "" in done_of(read_record(args.record), step.name)


def ends(arguments: Sequence[str], seconds: float) -> bool:
    """Run a step in its own process; return False if it took longer than ``seconds``.

    The step and all that it started are then ended: by SIGTERM, as pre-training writes a
    checkpoint, and by SIGKILL after some time.
    """
    line = [sys.executable, "-m", "benchmarks.gpu", *arguments]
    process = subprocess.Popen(line, process_group=0)
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    finally:
        for number in (signal.SIGTERM, signal.SIGKILL):  # pre-training writes a checkpoint first
            with suppress(ProcessLookupError):
                os.killpg(process.pid, number)
                for _ in range(10 * GRACE):
                    process.poll()
                    os.killpg(process.pid, 0)
                    time.sleep(0.1)
    return True


def render(record: Sequence[Values]) -> Iterator[str]:
    """Yield the lines of tables for the docs: one for each device and step.

    Of each part the newest line counts.
    """
    newest = {(line["device"], line["step"], line["part"]): line for line in record if line["part"]}
    for device in dict.fromkeys(device for device, _, _ in newest):
        lines = [line for line in newest.values() if line["device"] == device]
        end = lines[-1]
        versions = f"torch {end['torch']}, transformers {end['transformers']}"
        driver = f", driver {end['driver']}" if end["driver"] else ""
        yield f"{device}{driver}, {versions}, {end['date']}:\n"
        for step in dict.fromkeys(line["step"] for line in lines):
            yield from render_step([line for line in lines if line["step"] == step])


def render_step(lines: Sequence[Values]) -> Iterator[str]:
    """Yield what the parts of a step printed, and a table with a row for each part.

    If a part names another part to compare with, its speed relative to that is a column.
    """
    times = {line["part"]: line["values"].get("ms") for line in lines}
    rows: dict[str, Values] = {}
    for line in lines:
        values = {name: value for name, value in line["values"].items() if name != "took s"}
        if base := times.get(values.pop("against", None)):
            values["speed ×"] = base / values["ms"]
        if printed := values.pop("printed", None):
            yield f"{line['step']}, {line['part']}:\n\n```\n{printed.strip()}\n```\n"
        if values:
            rows[line["part"]] = values
    names = list(dict.fromkeys(name for values in rows.values() for name in values))
    if rows:
        made = [[n, *(as_text(v.get(name, "")) for name in names)] for n, v in rows.items()]
        yield from table_lines([lines[0]["step"], *names], made)


def main(argv: Sequence[str] | None = None) -> None:
    """Run the steps, or one of them in this process, or print the tables."""
    argv = sys.argv[1:] if argv is None else argv
    args = parse(argv)
    if args.table:
        print("\n".join(render(read_record(args.record))))
        return
    if args.tiny:  # for this process and all its children
        torch.set_num_threads(1)
        os.environ["OMP_NUM_THREADS"] = "1"
    if args.step:
        measure(next(step for step in STEPS if step.name == args.step), args)
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # runs `finally`, which ends the step
    left = list(run_steps(args, argv))
    print("\n".join(left or ["all is measured: --table prints it"]))


def parse(argv: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=25, help="of all steps together")
    parser.add_argument("--only", default="*", help=f"steps: {', '.join(s.name for s in STEPS)}")
    parser.add_argument("--model", type=existing, help="a folder of transformers, to be fine-tuned")
    parser.add_argument("--data", type=existing, help="the folder with the unpacked sets")
    parser.add_argument("--examples", type=existing, help="made by documents_to_examples")
    parser.add_argument("--recipe", default="neiss", help="of what is pre-trained: neiss, daluke")
    parser.add_argument("--subwords", type=int, default=32_768, help="of a step, about")
    parser.add_argument("--output", type=Path, default=Path("build/gpu"))
    parser.add_argument("--record", type=Path)
    parser.add_argument("--table", action="store_true", help="print the tables, measure nothing")
    parser.add_argument("--tiny", action="store_true", help="try it out with tiny shapes")
    parser.add_argument("--step", help=argparse.SUPPRESS)
    args = parser.parse_args(argv)
    if args.tiny:
        args.subwords, args.output = 128, args.output / "tiny"
    kept = args.output if args.tiny else tables.ROOT / "benchmarks" / "records"
    args.record = args.record or kept / "gpu.jsonl"
    return args


if __name__ == "__main__":
    main()
