"""The Char-Entity Transformer against its ablations, from raw text on: Table 4 of its paper, small.

    python benchmarks/chinese.py ../data --output build/chinese
    python benchmarks/chinese.py ../data --output build/chinese --sets weibo peoples-daily
    python benchmarks/chinese.py ../data --output build/tiny --tiny

DATA is a folder with the unpacked sets ``ner-zh``, ``zh-novels``, ``zh-news`` and ``wiki-text-zh``.
Needs jieba. One encoder (4 layers of 128, no entities) is trained on Chinese Wikipedia and news,
for all sets, in place of a published BERT. Absolute positions take long to be understood, longer
than this budget: so the heads of its first layer begin by looking at the two characters before and
the two after (``begin``); all that follows is learned. Then, for each set, a lexicon is made of
the raw text of its domain, and the encoder is trained further on that text, once for each variant,
with the same number of steps; and each is fine-tuned on the set in the same way:

    base               the first encoder, without entities
    no pre-training    the same; the tagger begins with an empty table of our words
    without entities   trained further, no entities (BERT+FUR)
    our lexicon        trained further with entities (``entity_bert_small``)
    no classification  the same without the objective ``piece_entities``
    random n-grams     as many strings as our lexicon has words, drawn among its candidates
    open domain        jieba's dictionary instead of our lexicon

``sanguo`` is the novel setting: 三国演义; its lexicon is made of all chapters, once more with the
words that jieba knows (``known words kept``), for so it is with many of its names; the labels are
the listed names, matched in the text, leftmost and longest; 80 chapters train, 10 choose the
epoch, 30 are scored.

Domains: of CLUENER its training sentences, headlines of the news that it is drawn from (THUCNews)
and web news; of Resume its training sentences; of Weibo these and web news; of People's Daily these
and the raw text of January 1998, in which its test sentences may stand, too (without labels).

Everything is done by the commands that users have: run it again, and it goes on where it was.
"""

import argparse
import csv
import gzip
import json
import math
import os
import random
import resource
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from corpora.lexicon.known import jieba_dictionary, read_known
from corpora.lexicon.words import is_word
from corpora.schemas import SCHEMAS
from corpora.shards import open_dataset, read_batches
from corpora.tagging import from_iob2
from corpora.tokenizers import Tokenizer
from modeling.models.pretraining import PretrainingModel
from modeling.recipes import recipe

GENERAL = ("wiki", "daily", "web", "titles")
"""Raw text that the first encoder is trained on."""
RECIPES = {
    "without entities": "bert_fur_small",
    "our lexicon": "entity_bert_small",
    "no classification": "entity_bert_no_classification_small",
    "random n-grams": "entity_bert_small",
    "open domain": "entity_bert_small",
    "known words kept": "entity_bert_small",
}
LEXICONS = {"random n-grams": "random", "open domain": "open", "known words kept": "all"}
VARIANTS = ("base", "no pre-training", *list(RECIPES)[:-1])
OF_NOVEL = ("without entities", "our lexicon", "known words kept")
MAIN = ("without entities", "our lexicon", "random n-grams", "open domain")
"""Those that are trained with more seeds."""
BASELINE = "without entities"
ENCODER = ["encoder.norm=pre"]
TRAINING = ["optimizer.bias_correction=true", "optimizer.betas=[0.9,0.98]", "masking.share=0.3"]
LENGTH = 64
RATE = 1e-3
PARTS = ("form in train, whatever its label", "form not in train")
OFFSETS = (-1, 1, -2, 2)
"""Where the heads of the first layer look before anything is learned."""


@dataclass(frozen=True)
class Set:
    """A NER set: its files, how it is split, and the raw text of its domain."""

    files: tuple[str, ...]
    split: tuple[str, ...]
    domain: tuple[str, ...]
    steps: int
    """Of further training."""
    epochs: int
    train_size: int = 0
    seeds: int = 2
    """Of the main variants."""


SETS = {
    "cluener": Set(
        ("cluener-train.json",),
        ("--split", "sentence", "--ratios", "80/10/10"),
        ("titles", "web"),
        steps=200,
        epochs=5,
        train_size=3000,
        seeds=1,
    ),
    "resume": Set(
        ("resume-train.char.bmes", "resume-dev.char.bmes"),
        ("--split", "sentence", "--ratios", "90/10/0", "--split-of", "resume-dev.char.bmes=test"),
        (),
        steps=100,
        epochs=5,
    ),
    "weibo": Set(
        ("weibo-2nd-train.conll", "weibo-2nd-dev.conll"),
        ("--split", "sentence", "--ratios", "90/10/0", "--split-of", "weibo-2nd-dev.conll=test"),
        ("web",),
        steps=200,
        epochs=10,
    ),
    "peoples-daily": Set(
        ("peoples-daily-dev.txt",),
        ("--split", "sentence", "--ratios", "80/10/10"),
        ("daily",),
        steps=200,
        epochs=10,
    ),
    "sanguo": Set((), (), ("sanguo",), steps=150, epochs=4, train_size=3000),
}
CHAPTERS = {"train": range(1, 81), "dev": range(81, 91), "test": range(91, 121)}


# --- commands


def command(output: Path, module: str, *arguments: object) -> None:
    """Run a command of ours; what it says, and the CPU minutes that it took, go to files."""
    line = [sys.executable, "-m", module, *map(str, arguments)]
    print("$ python", *line[1:], flush=True)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    with (output / "log.txt").open("a", encoding="utf-8") as log:
        ended = subprocess.run(line, stdout=log, stderr=log, env=environment, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    with (output / "minutes.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"module": module, "minutes": seconds / 60}) + "\n")
    if ended.returncode:
        sys.exit(f"{module} failed: the end of {output / 'log.txt'} says why.")


def spent(output: Path) -> float:
    """CPU minutes of all commands so far, of earlier runs of this script, too."""
    with (output / "minutes.jsonl").open(encoding="utf-8") as file:
        return sum(json.loads(line)["minutes"] for line in file)


# --- texts


def raw_text(data: Path) -> dict[str, list[list[str]]]:
    """Documents of each source, each a list of lines."""
    news, novels = data / "zh-news", data / "zh-novels"
    with (data / "wiki-text-zh/wiki_00.jsonl").open(encoding="utf-8") as file:
        wiki = [json.loads(line)["text"].split("\n") for line in file]
    with gzip.open(news / "peoples-daily-199801.txt.gz", "rt", encoding="utf-8") as file:
        daily = ["".join(pair.rpartition("/")[0] for pair in line.split()) for line in file]
    titles = (news / "thucnews-titles.txt").read_text("utf-8").split("\n")
    web = (news / "clue-corpus-small-sampled.txt").read_text("utf-8").split("\n")
    chapters: list[list[str]] = []
    for line in (novels / "三国演义.txt").read_text("utf-8").split("\n"):
        if line.startswith("第") and "回" in line[:10]:
            chapters.append([])
        if chapters:
            chapters[-1].append(line.strip())
    return {
        "wiki": wiki,
        "daily": packed(daily, 20),
        "titles": packed([title.partition("\t")[0] for title in titles], 100),
        "web": packed(web, 1),
        "sanguo": chapters,
    }


def packed(lines: Iterable[str], size: int) -> list[list[str]]:
    """Lines in documents of so many."""
    full = [line for line in lines if line.strip()]
    return [full[start : start + size] for start in range(0, len(full), size)]


def make_documents(output: Path, name: str, texts: Sequence[Sequence[str]]) -> Path:
    """Write texts, and make documents of them."""
    source, made = output / "raw" / f"{name}.jsonl", output / "documents" / name
    source.parent.mkdir(parents=True, exist_ok=True)
    with source.open("w", encoding="utf-8") as file:
        for number, lines in enumerate(texts, 1):
            row = {"id": f"{name} {number:05}", "text": "\n".join(lines)}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    settings = ["--lang", "zh", "--group", name, "--output", made]
    command(output, "pipelines.text_to_documents", "--input", source, *settings)
    return made


# --- the first encoder


def make_base(args: argparse.Namespace) -> None:
    """Tokenizer and encoder for all sets; nothing if they are there."""
    output = args.output
    if (output / "encoders" / "base" / "final" / "config.json").is_file():
        return
    for name, texts in raw_text(args.data).items():
        make_documents(output, name, texts[:12] if args.tiny and name != "sanguo" else texts)
    general = [output / "documents" / name for name in GENERAL]
    tokenizer = output / "tokenizer"
    everything = [*general, output / "documents/sanguo"]
    settings = ["--characters", "--size", 8000, "--output", tokenizer]
    command(output, "pipelines.documents_to_tokenizer", "--input", *everything, *settings)
    make_examples(output, general, output / "examples" / "general")
    start = output / "encoders" / "start"
    if not (start / "config.json").is_file():
        begin(output / "tokenizer", start)
    train(args, "bert_fur_small", examples="general", name="base", steps=args.steps, init=start)


def begin(tokenizer_folder: Path, folder: Path) -> None:
    """Write an encoder that has learned nothing, but knows what stands beside what.

    Positions are sines and cosines of 16 random rates, and the query of a head is the key of the
    position so much further on: cos w(i + o) = cos wi cos wo - sin wi sin wo, and so on.
    """
    tokenizer = Tokenizer.open(tokenizer_folder)
    torch.manual_seed(1)
    settings = [*ENCODER, f"encoder.n_pieces={tokenizer.size}"]
    model = PretrainingModel.from_config(recipe("bert_fur_small").override(settings))
    width, n_rates = model.config.encoder.width // model.config.encoder.n_heads, 16
    rates = math.pi * torch.rand(n_rates)
    cosines, sines = torch.arange(n_rates), torch.arange(n_rates, 2 * n_rates)
    with torch.no_grad():
        positions = model.get_parameter("encoder.embeddings.positions.table.weight").zero_()
        angles = torch.arange(len(positions))[:, None] * rates
        positions[:, : 2 * n_rates] = 0.03 * torch.cat([angles.cos(), angles.sin()], dim=1)
        attention = model.encoder.encoder.layers[0].attention
        for head, offset in enumerate(OFFSETS):
            query, key = (
                part.weight[head * width : (head + 1) * width].zero_()
                for part in (attention.query, attention.key)
            )
            key[cosines, cosines] = key[sines, sines] = 2.0
            query[cosines, cosines] = query[sines, sines] = 2 * (rates * offset).cos()
            query[cosines, sines] = -2 * (rates * offset).sin()
            query[sines, cosines] = 2 * (rates * offset).sin()
    model.save(folder)
    tokenizer.save(folder)


def make_examples(output: Path, documents: Sequence[Path], made: Path, *more: object) -> None:
    settings = ["--tokenizer", output / "tokenizer", "--max-length", LENGTH, "--held-out", 0.02]
    arguments = ["--input", *documents, *settings, *more, "--output", made]
    command(output, "pipelines.documents_to_examples", *arguments)


def train(
    args: argparse.Namespace,
    recipe: str,
    *,
    examples: str,
    name: str,
    steps: int,
    init: Path,
) -> None:
    """Train an encoder, or go on with it."""
    steps = 4 if args.tiny else steps
    settings = [*ENCODER, *TRAINING, f"optimizer.lr={RATE if name == 'base' else RATE / 2}"]
    settings += [f"training.max_steps={steps}", f"training.evaluate_every={steps}"]
    settings += [f"training.checkpoint_every={min(steps, 500)}", "training.keep=1"]
    settings += [f"data.max_length={LENGTH}"]
    where = ["--examples", args.output / "examples" / examples, "--init-from", init]
    where += ["--output", args.output / "encoders" / name]
    command(args.output, "modeling.pretrain", recipe, *where, "--set", *settings)


# --- a set


def make_ner(args: argparse.Namespace, name: str) -> Path:
    """The tagged sentences of a set."""
    made = args.output / "ner" / name
    if name == "sanguo":
        files = list(silver(args, args.output / "raw" / "sanguo"))
        split: Sequence[str] = ()
    else:
        files = [args.data / "ner-zh" / file for file in SETS[name].files]
        split = SETS[name].split
    settings = ["--card", "off", *split, "--output", made]
    command(args.output, "pipelines.benchmark_to_ner", "--input", *files, *settings)
    return made


def silver(args: argparse.Namespace, folder: Path) -> Iterator[Path]:
    """Chapters whose listed names are tagged, a character a line: train, dev and test."""
    names = folder / "names.tsv"
    folder.mkdir(parents=True, exist_ok=True)
    with (args.data / "zh-novels/names-sanguo.tsv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    forms = {row[column] for row in rows for column in ("name", "courtesy_name")}
    forms |= {alias for row in rows for alias in row["aliases"].split(",")}
    names.write_text("".join(f"{f}\tname:{f}\n" for f in sorted(forms) if len(f) > 1), "utf-8")
    matched = args.output / "matched" / "sanguo-names"
    source = ["--input", args.output / "documents/sanguo", "--forms", names, "--output", matched]
    command(args.output, "pipelines.augment_mentions", *source)
    chapters = list(open_dataset(matched).records())
    for split, numbers in CHAPTERS.items():
        path = folder / f"{split}.conll"
        blocks = (lines for n in numbers for lines in tagged_lines(chapters[n - 1]))
        path.write_text("\n\n".join(blocks) + "\n", "utf-8")
        yield path


def tagged_lines(chapter: Any) -> Iterator[str]:
    """The sentences of a document, a character and its tag a line."""
    tags = ["O"] * len(chapter.text)
    for mention in chapter.mentions:
        tags[mention.start : mention.end] = [
            "B-PER",
            *["I-PER"] * (mention.end - mention.start - 1),
        ]
    for sentence in chapter.sentences:
        places = range(sentence.start, sentence.end)
        lines = [f"{chapter.text[n]} {tags[n]}" for n in places if not chapter.text[n].isspace()]
        if lines:
            yield "\n".join(lines)


def make_lexicons(args: argparse.Namespace, name: str, ner: Path) -> None:
    """For each lexicon: the words found in the domain's text, and examples that know them."""
    output, documents = args.output, [args.output / "documents" / n for n in SETS[name].domain]
    if name != "sanguo":
        sentences = [
            "".join(r["tokens"]) for r in open_dataset(ner).rows() if r["split"] == "train"
        ]
        documents.append(make_documents(output, f"{name}-train", packed(sentences, 50)))
    lexicon = output / "lexicons" / name
    for known, made in (("jieba", lexicon), ("none", output / "lexicons" / f"{name}-all")):
        if known == "jieba" or name == "sanguo":
            settings = ["--per", "all", "--known", known, "--output", made]
            command(output, "pipelines.documents_to_lexicon", "--input", *documents, *settings)
    others = {"all": made} if name == "sanguo" else other_forms(output, lexicon)
    for kind, forms in {"ours": lexicon, **others}.items():
        made = f"{name}-{kind}"
        matched, words = output / "matched" / made, output / "words" / made
        settings = ["--forms", forms, "--entities", "global", "--output", matched]
        command(output, "pipelines.augment_mentions", "--input", *documents, *settings)
        settings = ["--origins", "lexicon", "--existing", "any", "--link-probability", "off"]
        settings += ["--min-count", 2, "--output", words]
        command(output, "pipelines.documents_to_entity_vocab", "--input", matched, *settings)
        make_examples(output, [matched], output / "examples" / made, "--entity-vocab", words)


def other_forms(output: Path, lexicon: Path) -> dict[str, Path]:
    """Tables of forms: random candidates, as many as there are words; and jieba's dictionary."""
    candidates: list[str] = []
    n_words = 0
    dataset = open_dataset(lexicon)
    for shard in dataset.shards:
        for batch in read_batches(dataset.path / shard.name, SCHEMAS["lexicon"]):
            candidates += batch.column("form").to_pylist()
            n_words += sum(is_word(batch).to_pylist())
    drawn = random.Random(1).sample(sorted(candidates), n_words)
    known = [word for word in read_known(jieba_dictionary()).to_pylist() if len(word) > 1]
    made = {}
    for kind, forms in (("random", sorted(drawn)), ("open", known)):
        made[kind] = output / "raw" / f"{lexicon.name}-{kind}.tsv"
        made[kind].write_text("".join(f"{form}\t{kind}:{form}\n" for form in forms), "utf-8")
    return made


def variants_of(name: str) -> Sequence[str]:
    return OF_NOVEL if name == "sanguo" else VARIANTS


def run_set(args: argparse.Namespace, name: str) -> None:
    """Make all of a set, with one seed."""
    ner = make_ner(args, name)
    make_lexicons(args, name, ner)
    for variant in variants_of(name):
        if variant in RECIPES:
            train(
                args,
                RECIPES[variant],
                examples=f"{name}-{LEXICONS.get(variant, 'ours')}",
                name=f"{name}-{slug(variant)}",
                steps=SETS[name].steps,
                init=args.output / "encoders" / "base" / "final",
            )
        tag(args, name, variant, seeds=(1,))


def tag(args: argparse.Namespace, name: str, variant: str, *, seeds: Sequence[int]) -> None:
    """Fine-tune and score."""
    output, ner = args.output, args.output / "ner" / name
    encoder = output / "encoders" / (f"{name}-{slug(variant)}" if variant in RECIPES else "base")
    run, words = tagger(output, name, variant), output / "words" / f"{name}-"
    scored = scores_of(output, name, variant) / "evaluation.json"
    if scored.is_file() and len(json.loads(scored.read_text("utf-8"))["runs"]) >= len(seeds):
        return
    epochs, size = (1, 64) if args.tiny else (SETS[name].epochs, SETS[name].train_size)
    settings = [f"training.epochs={epochs}", f"training.train_size={size}"]
    if variant not in {"base", BASELINE}:
        settings.append(f"data.entities={words}{LEXICONS.get(variant, 'ours')}")
    where = ["--ner", ner, "--model", encoder, "--output", run, "--threads", 1]
    where += ["--seeds", ",".join(map(str, seeds))]
    command(output, "modeling.finetune", "softmax_small", *where, "--set", *settings)
    baseline = tagger(output, name, BASELINE)
    against = ["--against", baseline] if variant != BASELINE and baseline.is_dir() else []
    command(output, "modeling.evaluate", run, "--ner", ner, "--threads", 1, *against)


def slug(text: str) -> str:
    return text.replace(" ", "-")


def tagger(output: Path, name: str, variant: str) -> Path:
    return output / "taggers" / f"{name}-{slug(variant)}"


def scores_of(output: Path, name: str, variant: str) -> Path:
    return tagger(output, name, variant) / "evaluation" / f"{name}-test"


# --- tables


def table(output: Path, name: str) -> Iterator[str]:
    """The scores of a set, in lines."""
    yield f"\n## {name}\n"
    heads = ("", "F1", "95 %", "seeds", "seen", "unseen", "against", "words", "known")
    yield f"| {' | '.join(heads)} |"
    yield "| --- |" + " ---: |" * (len(heads) - 1)
    for variant in variants_of(name):
        if (scores_of(output, name, variant) / "evaluation.json").is_file():
            yield f"| {variant} | {' | '.join(cells(output, name, variant))} |"
    scores = scores_of(output, name, BASELINE) / "evaluation.json"
    if scores.is_file():
        [run, *_] = json.loads(scores.read_text("utf-8"))["runs"].values()
        yield f"\nA list of the training names: {percent(run['floor']['score']['f1'])}."


def cells(output: Path, name: str, variant: str) -> Iterator[str]:
    """F1 and its interval, that of other seeds, of names in training and not, the difference."""
    folder = scores_of(output, name, variant)
    runs = list(json.loads((folder / "evaluation.json").read_text("utf-8"))["runs"].values())
    first = runs[0]["strict"]["micro"]
    yield percent(first["f1"])
    yield f"{percent(first['interval']['low'])}–{percent(first['interval']['high'])}"
    yield ", ".join(percent(run["scores"]["strict_f1"]) for run in runs[1:])
    scores = {part["name"]: part["score"] for part in runs[0]["mentions"]}
    for score in (scores[name] for name in PARTS):
        yield f"{percent(score['f1'])} ({percent(score['recall'])} of {score['gold']:,})"
    compared = next(iter(folder.glob("against-*/comparison.json")), None)
    if compared:
        found = json.loads(compared.read_text("utf-8"))["difference"]
        low, high = found["interval"]["low"], found["interval"]["high"]
        yield f"{100 * found['value']:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})"
    else:
        yield ""
    if variant in {"base", BASELINE}:
        yield from ("", "")
        return
    rows = open_dataset(output / "words" / f"{name}-{LEXICONS.get(variant, 'ours')}").rows()
    forms = {row["title"] for row in rows}
    names = list(test_names(output / "ner" / name))
    yield f"{len(forms):,}"
    yield percent(sum(form in forms for form in names) / len(names))


def test_names(ner: Path) -> Iterator[str]:
    """The names of the test sentences, one by one."""
    for row in open_dataset(ner).rows():
        if row["split"] == "test":
            for span in from_iob2(row["tags"]):
                yield "".join(row["tokens"][span.start : span.end])


def percent(value: float) -> str:
    return f"{100 * value:.1f}"


def write_tables(args: argparse.Namespace) -> None:
    lines = [line for name in args.sets for line in table(args.output, name)]
    text = "\n".join([*lines, "", f"{spent(args.output):.1f} CPU minutes."])
    (args.output / "tables.md").write_text(text + "\n", "utf-8")
    print(text, flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path, help="folder with the unpacked sets")
    parser.add_argument("--output", type=Path, required=True)
    sets = ("cluener", "resume", "sanguo")
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=sets)
    parser.add_argument("--steps", type=int, default=1500, help="of the first encoder")
    parser.add_argument("--tiny", action="store_true", help="a few steps of each, to try it out")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    make_base(args)
    for name in args.sets:
        run_set(args, name)
        write_tables(args)
    for name in args.sets:
        for variant in variants_of(name):
            if variant in MAIN:
                tag(args, name, variant, seeds=range(1, SETS[name].seeds + 1))
        write_tables(args)


if __name__ == "__main__":
    main()
