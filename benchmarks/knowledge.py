"""Measure what an encoder learns from entities: DaLUKE's method, compared with its ablations.

    python -m benchmarks.knowledge ../data --model models/multilingual-e5-small --output build/know
    python -m benchmarks.knowledge ../data --model MODEL --output build/tiny --tiny

DATA is a folder with the unpacked sets ``wiki-text-de``, ``wiki-dumps`` and ``neiss-ner``. The text
is German Wikipedia without links, in which titles of articles are matched, and an English dump with
its links and matched titles. The encoder is MODEL with only some of its layers (``--layers``) and
the subwords of these texts. Each variant trains it further, with the same number of steps and of
examples in a step:

    heads alone     the encoder stays frozen; the heads that predict subwords and entities learn
    no entities     masked subwords alone; the encoder is frozen for half of the steps, also below
    plain           with entities (DaLUKE's recipe); the same attention for subwords and entities
    entity-aware    the same with entity-aware attention, as in DaLUKE
    centered        as entity-aware, but the mean state of the encoder is 0 at the start
    by name         as centered, and entities start from the subwords of their names
    by name alone   as entity-aware, but entities start from the subwords of their names
    links alone     as entity-aware, but the only entities are those of links

``links alone`` has its own examples, of the same text with fewer entities. The accuracy of
predicting masked subwords and entities is measured on documents that no variant was trained on,
with a 95 % interval by the normal approximation, and compared with always predicting the most
frequent one. Then a CRF is trained on Sturm from the encoder of each variant, and from the encoder
before further training, with each of ``--seeds`` (none: no tagger).

All steps are commands that users have. What is there is not made again, so several processes can
share the work, each with some ``--variants``. Prints the table of ``docs/results.md``;
``knowledge.json`` has the numbers.
"""

import argparse
import json
import math
import re
import statistics
from collections import Counter
from pathlib import Path
from typing import Any

from benchmarks.chinese_texts import command, spent
from benchmarks.inputs import existing
from benchmarks.result_cells import read_sets
from corpora.datasets.shards import open_dataset
from modeling.training.run_log import read_metrics

ROOT = Path(__file__).resolve().parent
DUMP = "wiki-dumps/enwiki-2014-first-pages.xml.bz2"
VARIANTS: dict[str, tuple[str, ...]] = {
    "heads alone": ("encoder.attention=plain", "training.frozen=1.0"),
    "no entities": ("encoder.attention=plain", 'heads.weights={"subwords":1}'),
    "plain": ("encoder.attention=plain",),
    "entity-aware": (),
    "centered": ("training.center=true",),
    "by name": ("training.center=true", "training.entity_start=names"),
    "by name alone": ("training.entity_start=names",),
    "links alone": (),
}  # fmt: skip
BASE = "the encoder as it was"
TITLE = re.compile(r"[^(),:]{4,}")


def main() -> None:
    """Make what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=existing)
    parser.add_argument("--model", type=existing, required=True)
    parser.add_argument("--layers", default="1,5,9,12")
    parser.add_argument("--files", type=int, default=12, help="of German text, a megabyte each")
    parser.add_argument("--steps", type=int, default=800, help="of 32 examples of 128 subwords")
    parser.add_argument("--seeds", type=int, nargs="*", default=[1, 2, 3])
    parser.add_argument(
        "--set",
        nargs="+",
        default=[],
        metavar="NAME=VALUE",
        help="further settings of all variants",
    )
    parser.add_argument(
        "--variants", nargs="+", choices=(BASE, *VARIANTS), default=(BASE, *VARIANTS), metavar="V"
    )
    parser.add_argument("--output", type=Path, required=True, metavar="DIR")
    parser.add_argument("--tiny", action="store_true", help="two steps, one megabyte, one seed")
    args = parser.parse_args()
    if args.tiny:
        args.files, args.steps, args.seeds = 1, 2, [1]
    args.output.mkdir(parents=True, exist_ok=True)
    encoder = make_examples(args)
    rows = {
        name: pretrained(args, name, encoder)
        if name in VARIANTS
        else {"f1": scores(args, encoder, "base")}
        for name in args.variants
    }
    (args.output / "knowledge.json").write_text(json.dumps(rows, indent=1) + "\n", "utf-8")
    show(rows, minutes=spent(args.output))


# --- data


def make_examples(args: argparse.Namespace) -> Path:
    """Make documents, entities, the encoder that all variants begin with, and examples.

    What is there is not made again. Returns the folder of the encoder.
    """
    made, output = args.output, args.output
    texts = sorted((args.data / "wiki-text-de").glob("wiki_*"))[: args.files]
    steps = {
        "de": ("pipelines.text_to_documents", "--input", *texts,
               "--group", "dewiki", "--lang", "de"),
        "en": ("pipelines.wikipedia_to_documents", "--input", args.data / DUMP,
               "--allow-truncated"),
        "titles": ("pipelines.augment_mentions", "--input", made / "de",
                   "--forms", made / "titles.tsv", "--match-case", "--origin", "title_match"),
        "ner": ("pipelines.benchmark_to_ner", "--input",
                *(args.data / "neiss-ner" / file for file in sturm_files())),
        "vocab": ("pipelines.documents_to_entity_vocab", "--input", made / "titles", made / "en",
                  "--origins", "link", "title_match", "--existing", "any", "--min-count", "3"),
        "encoder": ("modeling.export", args.model, "--without-heads", "--keep-layers", args.layers,
                    "--trim-vocabulary", made / "titles", made / "en/documents", made / "ner"),
        "examples": packing(args, "link", "self_title", "title_match"),
        "examples-links": packing(args, "link"),
    }  # fmt: skip
    for name, (module, *arguments) in steps.items():
        if (made / name).is_dir():
            continue
        if name == "titles":
            write_titles(made / "de", made / "titles.tsv")
        command(output, module, *arguments, "--output", made / name)
    return made / "encoder"


def packing(args: argparse.Namespace, *origins: str) -> tuple[object, ...]:
    """Return the command that makes examples of both texts, with the entities of some origins."""
    texts = ("--input", args.output / "titles", args.output / "en")
    knows = ("--tokenizer", args.output / "encoder", "--entity-vocab", args.output / "vocab")
    how = ("--max-length", "128", "--validation", "0.05", "--origins", *origins)
    return "pipelines.documents_to_examples", *texts, *knows, *how


def sturm_files() -> tuple[str, ...]:
    """Return the names of the files of Sturm, as ``tables.toml`` has them."""
    return read_sets(ROOT / "tables.toml")[0]["sturm"].files


def write_titles(documents: Path, to: Path) -> None:
    """Write the titles of documents that are matched in the text, as a table of forms.

    Left out are titles of less than four characters, those with brackets, commas or colons, and
    those that two documents have.
    """
    rows = open_dataset(documents, "documents").rows()
    titles = Counter(title for row in rows if TITLE.fullmatch(title := row["title"] or ""))
    lines = (f"{title}\tdewiki:{title}\n" for title, n in sorted(titles.items()) if n == 1)
    to.write_text("".join(lines), "utf-8")


# --- training


def pretrained(args: argparse.Namespace, name: str, encoder: Path) -> dict[str, Any]:
    """Train the encoder of a variant further, and a tagger on it.

    Returns the last lines ``unigram`` and ``evaluation`` of its log, and ``f1``: see ``scores``.
    """
    run = args.output / name.replace(" ", "-")
    examples = args.output / ("examples-links" if name == "links alone" else "examples")
    settings = [
        f"training.max_steps={args.steps}",
        "training.batch_size=32", "training.micro_batch_size=32", "data.n_workers=0",
        f"training.evaluate_every={args.steps}",
        f"training.evaluate_examples={20 if args.tiny else 500}", *args.set, *VARIANTS[name],
    ]  # fmt: skip
    if not (run / "final").is_dir():
        where = ("--examples", examples, "--init-from", encoder, "--output", run)
        command(args.output, "modeling.pretrain", "daluke", *where, "--set", *settings)
    lines = list(read_metrics(run / "metrics.jsonl"))
    last = {line["kind"]: line for line in lines}
    found = {kind: last[kind] for kind in ("unigram", "evaluation")}
    return {**found, "f1": scores(args, run, run.name)}


def scores(args: argparse.Namespace, model: Path, name: str) -> list[float]:
    """Fine-tune CRFs from an encoder on Sturm; return their strict F1 on test, in percent.

    There is one for each seed. Taggers that are there are not trained again.
    """
    if not args.seeds:
        return []
    run, ner = args.output / "taggers" / name, args.output / "ner"
    seeds, short = ",".join(map(str, args.seeds)), ["training.epochs=1", "training.samples=32"]
    settings = ["optimizer.lr=2e-4", *(short if args.tiny else ["training.epochs=6"])]
    if not (run / "summary.json").is_file():
        where = ("--ner", ner, "--model", model, "--output", run, "--seeds", seeds)
        command(args.output, "modeling.finetune", "crf", *where, "--set", *settings)
        command(args.output, "modeling.evaluate", run, "--ner", ner)
    [report] = (run / "evaluation").rglob("evaluation.json")
    runs = json.loads(report.read_text("utf-8"))["runs"]
    return [round(100 * of["scores"]["strict_f1"], 2) for of in runs.values()]


# --- the table


def show(rows: dict[str, dict[str, Any]], *, minutes: float) -> None:
    """Print the minutes, and the table with a row for each variant."""
    print(f"{minutes:.0f} minutes of the processor.\n")
    print("| | masked subwords, top 1 | masked entities, top 1 | F1 on Sturm's test |")
    print("| --- | ---: | ---: | ---: |")
    unigram: dict[str, Any] = next(
        (row["unigram"] for row in rows.values() if "unigram" in row), {}
    )
    print(f"| the most frequent | {_cells(unigram)} | |")
    for name, row in rows.items():
        print(f"| {name} | {_cells(row.get('evaluation', {}))} | {_mean(row['f1'])} |")


def _cells(line: dict[str, Any]) -> str:
    return " | ".join(_accuracy(line, of) for of in ("subwords", "entities"))


def _accuracy(line: dict[str, Any], of: str) -> str:
    if of not in line.get("targets", {}):
        return ""
    p, n = line["accuracy"][of]["1"], line["targets"][of]
    return f"{100 * p:.1f} ± {196 * math.sqrt(p * (1 - p) / n):.1f}"


def _mean(f1: list[float]) -> str:
    if not f1:
        return ""
    spread = f" ± {statistics.stdev(f1):.1f}" if len(f1) > 1 else ""
    return f"{statistics.fmean(f1):.1f}{spread} ({len(f1)})"


if __name__ == "__main__":
    main()
