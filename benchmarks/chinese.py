"""The Char-Entity Transformer against its ablations, from raw text on: Table 4 of its paper, small.

    python -m benchmarks.chinese ../data --output build/chinese
    python -m benchmarks.chinese ../data --output build/chinese --sets weibo peoples-daily
    python -m benchmarks.chinese ../data --output build/tiny --tiny

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
    no classification  the same without the objective ``subword_entities``
    random n-grams     as many strings as our lexicon has words, drawn among its candidates
    open domain        jieba's dictionary instead of our lexicon

``sanguo`` is the novel setting: 三国演义; its lexicon is made of all chapters, once more with the
words that jieba knows (``known words kept``), for so it is with many of its names; the labels are
the listed names, matched in the text, leftmost and longest; 80 chapters train, 10 choose the
epoch, 30 are scored.

Domains: of CLUENER its training sentences, headlines of the news that it is drawn from (THUCNews)
and web news; of Resume its training sentences; of Weibo these and web news; of People's Daily these
and the raw text of January 1998, in which its test sentences may stand, too (without labels).

Everything is done by the commands that users have: run it again, and it resumes.
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
"""For each head of the first layer, the offset it looks at before training; see ``begin``."""


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

    Positions are sines and cosines of 16 random frequencies, and the query of a head is the key of
    the position so much further on: cos w(i + o) = cos wi cos wo - sin wi sin wo, and so on.
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
    """Train an encoder, or resume it."""
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
    known = [
        word for word in read_known(jieba_dictionary()).column("word").to_pylist() if len(word) > 1
    ]
    made = {}
    for kind, forms in (("random", sorted(drawn)), ("open", known)):
        made[kind] = output / "raw" / f"{lexicon.name}-{kind}.tsv"
        made[kind].write_text("".join(f"{form}\t{kind}:{form}\n" for form in forms), "utf-8")
    return made


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


# --- all


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
