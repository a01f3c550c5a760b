"""Compare the Char-Entity Transformer with its ablations: Table 4 of its paper.

    python -m benchmarks.chinese ../data --output build/chinese
    python -m benchmarks.chinese ../data --output build/chinese --sets weibo peoples-daily
    python -m benchmarks.chinese ../data --output build/e5 --model models/multilingual-e5-small \\
        --sets weibo cluener resume sanguo --seeds 1 2 3 --jobs 16
    python -m benchmarks.chinese ../data --output build/tiny --tiny

DATA is a folder with the unpacked sets ``ner-zh``, ``zh-novels``, ``zh-news`` and ``wiki-text-zh``.
Needs jieba. First one encoder without entities is trained on Chinese Wikipedia and news, for all
sets. With ``--model`` it begins as that encoder, whose subwords are replaced by single characters
(``with_characters``). Without, it has 4 layers of 128, and begins with random weights. It would not
learn to use absolute positions within this budget; therefore the heads of its first layer attend to
the two characters before and the two after from the start (``begin``). Then a lexicon is made for
each set from the raw text of its domain. For each variant the encoder is trained further on that
text, with the same number of steps, and fine-tuned on the set in the same way:

    base                the first encoder, not trained further, without entities
    no pre-training     the first encoder; the words of our lexicon are new to it in fine-tuning
    without entities    trained further without entities (BERT+FUR)
    our lexicon         trained further with entities (``entity_bert``)
    by name             as our lexicon; at the start an entity is read as the characters of its name
    likely names        as by name, with the words alone that ``augment --words tagger`` matches
    known words kept    the lexicon also keeps the words that jieba knows
    added to embeddings entities are added to the embeddings of characters (BERT+FUR+ENT)
    no classification   the same without the objective ``subword_entities``
    random n-grams      the lexicon is as many strings, drawn at random from the candidates of ours
    open domain         the lexicon is jieba's dictionary

The set ``sanguo`` is the novel 三国演义. Its lexicon is made from all chapters. The labels are the
listed names, matched in the text, leftmost and longest. Of the chapters 80 train, 10 choose the
epoch, and 30 are scored.

The raw text of each other domain has the training sentences of the set. In addition, that of
CLUENER has headlines of the news from which CLUENER is drawn (THUCNews) and web news; that of Weibo
has web news; that of People's Daily has the raw text of January 1998, in which its test sentences
may occur, too, without labels.

All steps are commands that users have; the same command resumes. ``--jobs`` trains several variants
at once. Where examples are there, their texts are not made again, so the work can go on elsewhere
with ``encoders``, ``examples``, ``ner``, ``tokenizer`` and ``words`` of the output folder alone.
"""

import argparse
import json
import math
import random
from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch

from benchmarks.chinese_sets import (
    BASELINE,
    LEXICONS,
    PUBLISHED,
    RECIPES,
    SETS,
    SETTINGS,
    SMALL,
    VARIANTS,
    Size,
    scores_of,
    slug,
    tagger,
)
from benchmarks.chinese_tables import write_tables
from benchmarks.chinese_texts import command, make_documents, make_ner, packed, raw_text
from benchmarks.inputs import existing
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_batches
from corpora.lexicon.known import jieba_dictionary, read_known
from corpora.lexicon.words import is_word
from corpora.tokenization.tokenizers import Tokenizer
from modeling.huggingface.importing import read_pretrained
from modeling.models.pretraining import PretrainingModel
from modeling.recipes.pretraining import recipe

GENERAL = ("wiki", "daily", "web", "titles")
"""Names of the raw texts that the first encoder is trained on."""
OFFSETS = (-1, 1, -2, 2)
"""The offset to which each head of the first layer attends before training; see ``begin``."""


# --- the first encoder


def make_base(args: argparse.Namespace) -> None:
    """Make the documents, the tokenizer and the first encoder, which all sets use.

    Does nothing if the encoder is there.
    """
    output, start = args.output, args.output / "encoders" / "start"
    if not is_made(output / "examples" / "general"):
        for name, texts in raw_text(args.data).items():
            make_documents(output, name, texts[:12] if args.tiny and name != "sanguo" else texts)
        general = [output / "documents" / name for name in GENERAL]
        everything = [*general, output / "documents/sanguo"]
        settings = ["--characters", "--size", 8000, "--output", output / "tokenizer"]
        command(output, "pipelines.documents_to_tokenizer", "--input", *everything, *settings)
        make_examples(args, general, output / "examples" / "general")
    if not (start / "config.json").is_file():
        make = partial(with_characters, args.model) if args.model else begin
        make(output / "tokenizer", start)
    if not args.only_data:
        settings = [*size_of(args).first, f"training.max_steps={args.steps}"]
        train(args, "bert_fur", settings, examples="general", name="base", init=start)


def with_characters(model: Path, tokenizer_folder: Path, folder: Path) -> None:
    """Write a published encoder whose subwords are the characters of a tokenizer.

    A character has the embedding of the subword that is this character, with the sign of a space
    (▁) or without; special tokens have those of their kind. Others have the embedding of [UNK].
    The number of characters with an embedding of their own is printed, and the tokenizer is written
    beside the encoder.
    """
    given = read_pretrained(model)
    theirs, ours = Tokenizer.open(model), Tokenizer.open(tokenizer_folder)
    known = theirs.backend.get_vocab(with_added_tokens=True)
    ids = torch.full((ours.size,), theirs.special.unk)
    characters = ours.backend.get_vocab(with_added_tokens=False)
    for character, id in characters.items():
        bare = character.removeprefix("##")
        found = known.get(bare, known.get(f"▁{bare}"))
        if found is not None:
            ids[id] = found
    for (_, id), (_, of) in zip(ours.special_items, theirs.special_items, strict=True):
        ids[id] = of
    n_known = int((ids != theirs.special.unk).sum())
    print(f"{n_known:,} of {ours.size:,} subwords have an embedding in {model.name}")
    encoder = given.config.encoder
    weights = {
        name: tensor.index_select(0, ids) if len(tensor) == encoder.n_subwords else tensor
        for name, tensor in given.weights.items()
    }
    encoder = replace(encoder, n_subwords=ours.size)
    config = replace(given.config, encoder=encoder)
    replace(given, config=config, weights=weights).build().save(folder)
    ours.save(folder)


def begin(tokenizer_folder: Path, folder: Path) -> None:
    """Write an untrained encoder whose first layer attends to characters nearby.

    The tokenizer is written beside it.

    Embeddings of positions are cosines and sines of 16 random frequencies w. The query of a head at
    position i is the key of position i + o, o being the head's offset in ``OFFSETS``:
    cos w(i + o) = cos wi cos wo - sin wi sin wo, and sin w(i + o) = sin wi cos wo + cos wi sin wo.
    """
    tokenizer = Tokenizer.open(tokenizer_folder)
    torch.manual_seed(1)
    settings = ["encoder.norm=pre", f"encoder.n_subwords={tokenizer.size}"]
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


def make_examples(
    args: argparse.Namespace, documents: Sequence[Path], made: Path, *more: object
) -> None:
    length = ["--max-length", size_of(args).length, "--validation", 0.02]
    settings = ["--tokenizer", args.output / "tokenizer", *length, *more, "--output", made]
    command(args.output, "pipelines.documents_to_examples", "--input", *documents, *settings)


def is_made(folder: Path) -> bool:
    """Return whether there is a complete dataset in a folder."""
    return (folder / "dataset.json").is_file()


def size_of(args: argparse.Namespace) -> Size:
    return PUBLISHED if args.model else SMALL


def train(
    args: argparse.Namespace,
    recipe: str,
    settings: Sequence[str],
    *,
    examples: str,
    name: str,
    init: Path,
) -> None:
    """Train an encoder, or resume its training.

    Args:
        settings: with ``training.max_steps``.
        examples: the name of a folder of examples.
        name: the name of the folder that is made.
        init: the folder of the encoder to begin with.
    """
    size = size_of(args)
    settings = [*settings, f"data.max_length={size.length}", "training.keep=1"]
    settings += ["training.checkpoint_every=500", "training.evaluate_every=500"]
    if torch.cuda.is_available():
        settings.append("training.precision=bfloat16")
    settings += args.set
    if args.tiny:
        settings += [f"training.{of}=4" for of in ("max_steps", "evaluate_every")]
    settings = list({setting.partition("=")[0]: setting for setting in settings}.values())
    where = ["--examples", args.output / "examples" / examples, "--init-from", init]
    where += ["--output", args.output / "encoders" / name, "--set", *settings]
    command(args.output, "modeling.pretrain", recipe + size.suffix, *where)


# --- a set


def make_lexicons(args: argparse.Namespace, name: str, kinds: Iterable[str]) -> None:
    """Make lexicons of a set, and for each of them examples of the domain's text.

    Each lexicon is matched in the text; the words that it has there twice or more become the
    entities of the examples (``words/NAME-KIND`` and ``examples/NAME-KIND``). The training
    sentences of the set are a part of the text (but not of that of ``sanguo``).
    """
    output, documents = args.output, [args.output / "documents" / n for n in SETS[name].domain]
    if name != "sanguo":
        rows = open_dataset(output / "ner" / name).rows()
        sentences = ["".join(row["tokens"]) for row in rows if row["split"] == "train"]
        documents.append(make_documents(output, f"{name}-train", packed(sentences, 50)))
    lexicon, whole = output / "lexicons" / name, output / "lexicons" / f"{name}-all"
    for known, made in (("jieba", lexicon), ("none", whole)):
        settings = ["--per", "all", "--known", known, "--output", made]
        command(output, "pipelines.documents_to_lexicon", "--input", *documents, *settings)
    lexicons = {"ours": lexicon, "tagger": lexicon, "all": whole, **other_forms(output, lexicon)}
    for kind in kinds:
        forms, made = lexicons[kind], output / "examples" / f"{name}-{kind}"
        matched, words = output / "matched" / made.name, output / "words" / made.name
        settings = ["--forms", forms, "--output", matched]
        if forms.is_dir():  # a table has entities of its own
            settings += ["--entities", "global", *(["--words", kind] if kind == "tagger" else [])]
        command(output, "pipelines.augment_mentions", "--input", *documents, *settings)
        settings = ["--origins", "lexicon", "--existing", "any", "--link-probability", "off"]
        settings += ["--min-count", 2, "--output", words]
        command(output, "pipelines.documents_to_entity_vocab", "--input", matched, *settings)
        make_examples(args, [matched], made, "--entity-vocab", words)


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


def run(
    args: argparse.Namespace, name: str, variant: str, *, baseline: Future[None] | None
) -> None:
    """Train a variant further on the text of a set, and fine-tune and score it on the set.

    Its scores are compared with those of ``BASELINE``.

    Args:
        baseline: done when the tagger of ``BASELINE`` is; None if this is it.
    """
    encoder = (
        args.output / "encoders" / (f"{name}-{slug(variant)}" if variant in RECIPES else "base")
    )
    if variant in RECIPES:
        steps = args.further or SETS[name].steps
        train(
            args,
            RECIPES[variant],
            [*size_of(args).further, f"training.max_steps={steps}", *SETTINGS.get(variant, ())],
            examples=f"{name}-{LEXICONS.get(variant, 'ours')}",
            name=encoder.name,
            init=args.output / "encoders" / "base" / "final",
        )
    output, ner = args.output, args.output / "ner" / name
    made, words = tagger(output, name, variant), output / "words" / f"{name}-"
    scored = scores_of(output, name, variant) / "evaluation.json"
    n_scored = len(json.loads(scored.read_text("utf-8"))["runs"]) if scored.is_file() else 0
    if n_scored >= len(args.seeds):
        return
    epochs, n_train = SETS[name].epochs, 0 if args.model else SETS[name].train_size
    if args.tiny:
        epochs, n_train = 1, 64
    settings = [
        f"training.epochs={epochs}",
        f"training.train_size={n_train}",
        *size_of(args).tagger,
    ]
    if variant not in {"base", BASELINE}:
        settings.append(f"data.entities={words}{LEXICONS.get(variant, 'ours')}")
    where = ["--ner", ner, "--model", encoder, "--output", made, "--threads", 1]
    where += ["--seeds", ",".join(map(str, args.seeds)), "--set", *settings]
    command(output, "modeling.finetune", f"softmax{size_of(args).suffix}", *where)
    against: Sequence[object] = ()
    if baseline:
        baseline.result()
        against = ["--against", tagger(output, name, BASELINE)]
    command(output, "modeling.evaluate", made, "--ner", ner, "--threads", 1, *against)


# --- all


def main() -> None:
    """Make the data of all sets, then train and score all variants, and write the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=existing, help="folder with the unpacked sets")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--model", type=existing, help="an encoder of transformers to begin with")
    sets = ("cluener", "resume", "sanguo")
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=sets)
    parser.add_argument("--variants", nargs="+", choices=VARIANTS, default=VARIANTS, metavar="V")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--steps", type=int, default=1500, help="of the first encoder")
    parser.add_argument("--further", type=int, help="steps of further training (by set)")
    parser.add_argument("--jobs", type=int, default=1, help="variants that are trained at once")
    parser.add_argument("--only-data", action="store_true", help="make the data, train nothing")
    parser.add_argument(
        "--set", nargs="+", default=[], metavar="NAME=VALUE", help="of pre-training"
    )
    parser.add_argument("--tiny", action="store_true", help="a few steps of each, to try it out")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    make_base(args)
    kinds = dict.fromkeys(LEXICONS.get(variant, "ours") for variant in args.variants)
    for name in args.sets:
        if not is_made(args.output / "ner" / name):
            make_ner(args, name)
        made = {kind: args.output / "examples" / f"{name}-{kind}" for kind in kinds}
        if left := [kind for kind, folder in made.items() if not is_made(folder)]:
            make_lexicons(args, name, left)
    if args.only_data:
        return
    work = [(name, variant) for variant in args.variants for name in args.sets]
    futures: dict[tuple[str, str], Future[None]] = {}
    with ThreadPoolExecutor(args.jobs) as pool:
        for name, variant in sorted(work, key=lambda of: of[1] != BASELINE):
            baseline = futures.get((name, BASELINE))
            futures[name, variant] = pool.submit(run, args, name, variant, baseline=baseline)
    for future in futures.values():
        future.result()
    write_tables(args)


if __name__ == "__main__":
    main()
