"""Compare the Char-Entity Transformer with its ablations: Table 4 of its paper, at a small size.

    python -m benchmarks.chinese ../data --output build/chinese
    python -m benchmarks.chinese ../data --output build/chinese --sets weibo peoples-daily
    python -m benchmarks.chinese ../data --output build/tiny --tiny

DATA is a folder with the unpacked sets ``ner-zh``, ``zh-novels``, ``zh-news`` and ``wiki-text-zh``.
Needs jieba. In place of a published BERT, one encoder (4 layers of 128, no entities) is trained on
Chinese Wikipedia and news, for all sets. It would not learn to use absolute positions within this
budget; therefore the heads of its first layer attend to the two characters before and the two after
from the start (``begin``). Everything else is learned. Then a lexicon is made for each set from the
raw text of its domain. For each variant the encoder is trained further on that text, with the same
number of steps, and fine-tuned on the set in the same way:

    base               the first encoder, not trained further, without entities
    no pre-training    the first encoder; the words of our lexicon are new to it in fine-tuning
    without entities   trained further without entities (BERT+FUR)
    our lexicon        trained further with entities (``entity_bert_small``)
    no classification  the same without the objective ``subword_entities``
    random n-grams     the lexicon is as many strings, drawn at random from the candidates of ours
    open domain        the lexicon is jieba's dictionary

The set ``sanguo`` is the novel 三国演义. Its lexicon is made from all chapters. jieba knows many of
its names; the variant ``known words kept`` has a lexicon that also keeps the words that jieba
knows. The labels are the listed names, matched in the text, leftmost and longest. Of the chapters
80 train, 10 choose the epoch, and 30 are scored.

The raw text of each other domain has the training sentences of the set. In addition, that of
CLUENER has headlines of the news from which CLUENER is drawn (THUCNews) and web news; that of Weibo
has web news; that of People's Daily has the raw text of January 1998, in which its test sentences
may occur, too, without labels.

All steps are commands that users have; the same command resumes.
"""

import argparse
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.chinese_sets import (
    BASELINE,
    LEXICONS,
    MAIN,
    RECIPES,
    SETS,
    scores_of,
    slug,
    tagger,
    variants_of,
)
from benchmarks.chinese_tables import write_tables
from benchmarks.chinese_texts import command, make_documents, make_ner, packed, raw_text
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_batches
from corpora.lexicon.known import jieba_dictionary, read_known
from corpora.lexicon.words import is_word
from corpora.tokenization.tokenizers import Tokenizer
from modeling.models.pretraining import PretrainingModel
from modeling.recipes.pretraining import recipe

GENERAL = ("wiki", "daily", "web", "titles")
"""Names of the raw texts that the first encoder is trained on."""
ENCODER = ["encoder.norm=pre"]
TRAINING = ["optimizer.bias_correction=true", "optimizer.betas=[0.9,0.98]", "masking.ratio=0.3"]
LENGTH = 64
RATE = 1e-3
OFFSETS = (-1, 1, -2, 2)
"""The offset to which each head of the first layer attends before training; see ``begin``."""


# --- the first encoder


def make_base(args: argparse.Namespace) -> None:
    """Make the documents, the tokenizer and the first encoder, which all sets use.

    Does nothing if the encoder is there.
    """
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
    """Write an untrained encoder whose first layer attends to characters nearby.

    The tokenizer is written beside it.

    Embeddings of positions are cosines and sines of 16 random frequencies w. The query of a head at
    position i is the key of position i + o, o being the head's offset in ``OFFSETS``:
    cos w(i + o) = cos wi cos wo - sin wi sin wo, and sin w(i + o) = sin wi cos wo + cos wi sin wo.
    """
    tokenizer = Tokenizer.open(tokenizer_folder)
    torch.manual_seed(1)
    settings = [*ENCODER, f"encoder.n_subwords={tokenizer.size}"]
    model = PretrainingModel.from_config(recipe("bert_fur_small").override(settings))
    width, n_frequencies = model.config.encoder.width // model.config.encoder.n_heads, 16
    frequencies = math.pi * torch.rand(n_frequencies)
    cosines, sines = torch.arange(n_frequencies), torch.arange(n_frequencies, 2 * n_frequencies)
    with torch.no_grad():
        positions = model.get_parameter("encoder.embeddings.positions.table.weight").zero_()
        angles = torch.arange(len(positions))[:, None] * frequencies
        positions[:, : 2 * n_frequencies] = 0.03 * torch.cat([angles.cos(), angles.sin()], dim=1)
        attention: Any = model.encoder.encoder.layers[0].attention
        for head, offset in enumerate(OFFSETS):
            query, key = (
                part.weight[head * width : (head + 1) * width].zero_()
                for part in (attention.query, attention.key)
            )
            key[cosines, cosines] = key[sines, sines] = 2.0
            query[cosines, cosines] = query[sines, sines] = 2 * (frequencies * offset).cos()
            query[cosines, sines] = -2 * (frequencies * offset).sin()
            query[sines, cosines] = 2 * (frequencies * offset).sin()
    model.save(folder)
    tokenizer.save(folder)


def make_examples(output: Path, documents: Sequence[Path], made: Path, *more: object) -> None:
    settings = ["--tokenizer", output / "tokenizer", "--max-length", LENGTH, "--validation", 0.02]
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
    """Train an encoder, or resume its training.

    Args:
        examples: the name of a folder of examples.
        name: the name of the folder that is made.
        init: the folder of the encoder to begin with.
    """
    steps = 4 if args.tiny else steps
    settings = [*ENCODER, *TRAINING, f"optimizer.lr={RATE if name == 'base' else RATE / 2}"]
    settings += [f"training.max_steps={steps}", f"training.evaluate_every={steps}"]
    settings += [f"training.checkpoint_every={min(steps, 500)}", "training.keep=1"]
    settings += [f"data.max_length={LENGTH}"]
    where = ["--examples", args.output / "examples" / examples, "--init-from", init]
    where += ["--output", args.output / "encoders" / name]
    command(args.output, "modeling.pretrain", recipe, *where, "--set", *settings)


# --- a set


def make_lexicons(args: argparse.Namespace, name: str, ner: Path) -> None:
    """Make the lexicons of a set, and for each of them examples of the domain's text.

    Each lexicon is matched in the text; the words that it has there twice or more become the
    entities of the examples (``words/NAME-KIND`` and ``examples/NAME-KIND``).

    Args:
        ner: the dataset of the set, whose training sentences are a part of the text (but not of
            that of ``sanguo``).
    """
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
    """Write two tables of forms to compare a lexicon with, and return their paths by kind.

    ``random`` has candidates of the lexicon, drawn at random, as many as it has words; ``open`` has
    the words of jieba's dictionary of two characters or more.
    """
    candidates: list[str] = []
    n_words = 0
    dataset = open_dataset(lexicon)
    for shard in dataset.shards:
        for batch in read_batches(dataset.path / shard.name, SCHEMAS["lexicon"]):
            candidates += batch.column("form").to_pylist()
            n_words += sum(is_word(batch).to_pylist())
    drawn = random.Random(1).sample(sorted(candidates), n_words)
    known = [
        word for word in read_known(jieba_dictionary()).column("word").to_pylist() if len(word) > 1
    ]
    made = {}
    for kind, forms in (("random", sorted(drawn)), ("open", known)):
        made[kind] = output / "raw" / f"{lexicon.name}-{kind}.tsv"
        made[kind].write_text("".join(f"{form}\t{kind}:{form}\n" for form in forms), "utf-8")
    return made


def run_set(args: argparse.Namespace, name: str) -> None:
    """Make dataset, lexicons and encoders of a set, and a tagger with one seed for each variant."""
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
    """Fine-tune a tagger of a variant, and score it on test, also against ``BASELINE``.

    Does nothing if as many seeds are scored already.
    """
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


# --- all


def main() -> None:
    """Make everything for each set with one seed, then the main variants with more seeds.

    The tables are written again after each set.
    """
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
