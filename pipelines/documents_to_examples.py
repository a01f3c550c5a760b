r"""Make pre-training examples from documents: packed sentences with subwords, words and entities.

Examples:
  onoma examples --input build/dawiki --tokenizer build/tok \
      --entity-vocab build/vocab --output build/examples --workers 2
  onoma examples --input build/dewiki --tokenizer build/tok \
      --max-length 320 --output build/examples
"""

import logging
import sys
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.document import ORIGINS
from corpora.errors import CorpusError, UsageError
from corpora.runs.plan import (
    InputFile,
    Plan,
    Stage,
    describe_each,
    fingerprint_of,
    named,
    unit_for_each,
)
from pipelines import run
from pipelines.graph import Phase
from pipelines.options import CommonOptions, option, option_table, origins_of, said, values_in

if TYPE_CHECKING:
    from corpora.examples.maker import ExampleRules
    from corpora.runs.build import Build

log = logging.getLogger(__name__)
DATASETS = {"": "examples"}
PARAMETERS = (
    *("max_length", "max_entities", "min_sentence_subwords"),
    *("min_score", "unknown_entities", "min_entity_count", "only_with_mentions"),
    *("validation", "seed"),
)
_SPECIAL_SUBWORDS = 2  # [CLS] and [SEP], which models add to each example
_VOCAB = "entity vocabulary "  # the beginning of the names of its shards
_TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "vocab.txt",
)


@option_table
class Options(CommonOptions):
    """Options of ``onoma examples``."""

    tokenizer: Path = option(
        "tokenizer to cut words with: its folder, tokenizer.json or vocab.txt", metavar="DIR|FILE"
    )
    entity_vocab: Path | None = option(
        "entity vocabulary with the ids of entities (default: examples without entities)"
    )
    max_length: int = option(
        "longest example in subwords, including [CLS] and [SEP] (default: 512)", 512
    )
    max_entities: int = option(
        "largest number of entities in an example; a sentence that would exceed it begins the "
        "next (default: 128)",
        128,
        at_least=1,
    )
    min_sentence_subwords: int = option(
        "leave out sentences of fewer than N subwords; LUKE and DaLUKE take 5 (default: 1)",
        1,
        at_least=1,
    )
    origins: tuple[str, ...] = option(
        f"origins of the mentions that become entities: {', '.join(sorted(ORIGINS))} "
        "(default: all but prediction)",
        tuple(sorted(ORIGINS - {"prediction"})),
        nargs="+",
        metavar="ORIGIN",
    )
    min_score: float = option(
        "leave out mentions that were added with a lower probability (default: 0.5)",
        0.5,
        at_least=0,
        at_most=1,
        metavar="RATIO",
    )
    unknown_entities: Literal["keep", "drop"] = option(
        "keep mentions of entities outside the vocabulary as [UNK], like LUKE, or drop them, like "
        "DaLUKE (default: drop)",
        "drop",
    )
    min_entity_count: int = option(
        "treat entities with fewer than N mentions in the vocabulary as unknown, and leave them "
        "out of the entities of the examples (default: 1)",
        1,
        at_least=1,
    )
    words: Literal["tokenizer", "jieba"] = option(
        "where Chinese words begin, for whole-word masking: at each character, or where jieba "
        "cuts (default: tokenizer)",
        "tokenizer",
    )
    only_with_mentions: bool = option("leave out examples without an entity")
    validation: float = option(
        "fraction of the documents kept for validation, at least one of several (default: 0.01; "
        "0: none)",
        0.01,
        at_least=0,
        below=1,
        metavar="RATIO",
    )
    seed: int = option("seed of the hash that chooses the documents for validation (default: 1)", 1)
    is_folder: bool = True
    """Whether ``tokenizer`` is a folder, whose files are read together."""

    @property
    def rules(self) -> "ExampleRules":
        """The rules that make examples; ``validation`` is the requested fraction."""
        from corpora.examples.maker import ExampleRules
        from corpora.examples.mentions import MentionRules

        mentions = MentionRules(
            origins=tuple(origins_of(self.origins)),
            min_score=self.min_score,
            keep_unknown=self.unknown_entities == "keep",
            min_entity_count=self.min_entity_count,
            max_entities=self.max_entities,
        )
        return ExampleRules(
            length=self.max_length - _SPECIAL_SUBWORDS,
            mentions=mentions,
            min_sentence_subwords=self.min_sentence_subwords,
            words=self.words,
            only_with_mentions=self.only_with_mentions,
            validation=self.validation,
            seed=self.seed,
        )


def plan(options: Options) -> Plan:
    """Plan a unit for each shard; describe the tokenizer and the vocabulary."""
    from corpora.runs.dataset_inputs import find_documents
    from corpora.tokenization.tokenizers import Tokenizer

    _check(options)
    files = find_documents(options.input, limit=options.limit)
    tokenizer = Tokenizer.open(options.tokenizer)
    n_entities, sha256 = _identity(options.entity_vocab, options.min_entity_count)
    parameters = values_in(options, *PARAMETERS) | {
        "origins": origins_of(options.origins),
        "tokenizer_sha256": tokenizer.sha256,
        "tokenizer_size": tokenizer.size,
        "tokenizers": version("tokenizers"),
        "n_entities": n_entities,
        "entity_vocab_sha256": sha256,
    }
    if options.words == "jieba":
        parameters |= {"words": "jieba", "jieba": version("jieba")}
    units = unit_for_each(files)
    return Plan(
        pipeline="documents_to_examples",
        datasets=DATASETS,
        parameters=parameters | values_in(options, "limit"),
        units=units,
        auxiliary=_auxiliary(options),
        stages=(Stage("sample", units, {"shares": "document_shares"}),),
        settings=options.settings(Options, is_folder=options.tokenizer.is_dir()),
    )


def _check(options: Options) -> None:
    from corpora.segmentation.chinese_words import check_jieba

    if options.max_length <= _SPECIAL_SUBWORDS:
        raise UsageError(
            f"--max-length {options.max_length}: must be more than {_SPECIAL_SUBWORDS}, for [CLS] "
            "and [SEP] need two."
        )
    if options.words == "jieba":
        check_jieba("--words jieba")
    if not options.entity_vocab and (options.min_entity_count > 1 or options.only_with_mentions):
        raise UsageError(
            "--min-entity-count and --only-with-mentions need an --entity-vocab: without one, no "
            "mention becomes an entity."
        )
    if not options.entity_vocab and options.unknown_entities == "keep":
        raise UsageError(
            "--unknown-entities keep needs an --entity-vocab, even one of few entities: without "
            "one, no mention becomes an entity, nor [UNK]."
        )


def _identity(vocab: Path | None, min_count: int) -> tuple[int, str | None]:
    """Return how many entities of a vocabulary have the count, and the hash of its shards."""
    import numpy as np

    from corpora.datasets.shards import open_dataset
    from corpora.entities.vocabulary import limited_ids, read_vocab

    if vocab is None:
        return 0, None
    dataset = open_dataset(vocab, "entities")
    table = read_vocab([vocab / shard.name for shard in dataset.shards], columns=("count",))
    n_entities = int((limited_ids(np.asarray(table.column("count")), min_count) >= 0).sum())
    return n_entities, fingerprint_of({shard.name: shard.sha256 for shard in dataset.shards})


def _auxiliary(options: Options) -> dict[str, InputFile]:
    from corpora.runs.dataset_inputs import describe_shards

    folder, names = options.tokenizer, list(_TOKENIZER_FILES)
    if folder.is_file():
        folder, names = folder.parent, [folder.name, *names]
    paths = {f"tokenizer {name}": folder / name for name in names}
    files = describe_each({name: path for name, path in paths.items() if path.is_file()})
    if options.entity_vocab:
        files |= describe_shards(options.entity_vocab, "entities", prefix=_VOCAB)
    return files


def phases() -> tuple[Phase, ...]:
    """List the functions of the units of each stage, and the one that merges what units wrote."""
    from pipelines.transforms import examples

    return (
        Phase.of_units(examples.find_ratios, "sample", examples.prepare),
        Phase.of_units(examples.make_examples),
    )


def write_side_files(build: "Build", options: Options) -> None:
    """Write the report, and the files that belong to examples: tokenizer, entities, lost mentions.

    Raises ``CorpusError`` where all examples of several documents are in one split, though two
    splits were asked for.
    """
    from corpora.examples import lost_mentions
    from corpora.examples import report as example_report
    from corpora.tokenization.tokenizers import Tokenizer
    from pipelines.transforms.examples import TOKENIZER

    n_entities = build.plan.parameters["n_entities"]
    length = options.max_length - _SPECIAL_SUBWORDS
    shards = build.shard_paths("")
    summary = example_report.summarize(shards, length=length, n_entities=n_entities)
    n_documents = {split: int(counts[0]) for split, counts in summary.by_split.items()}
    _check_splits(n_documents, validation=options.validation)
    lost = build.notes
    text = example_report.report(summary, build.counters, build.plan.parameters, named=lost)
    build.write("report.md", [text])
    if lost:
        build.write(lost_mentions.FILE, lost_mentions.to_tsv(lost))
    if n_entities:
        shards = [file.check() for file in named(_VOCAB, build.plan.auxiliary)]
        min_count = options.min_entity_count
        example_report.write_entities(
            build.side / "_entities.ipc", shards, summary.train, min_count=min_count
        )
    Tokenizer.open(build.work.tables / TOKENIZER).save(build.side)


def _check_splits(n_documents: Mapping[str, int], *, validation: float) -> None:
    """Check that each split has documents with examples; it was chosen among all documents."""
    from corpora.examples.maker import TRAIN, VALIDATION

    n_train, n_validation = n_documents[TRAIN], n_documents[VALIDATION]
    if not n_train and not n_validation:
        log.warning("No examples: no document has any subword that is asked for. See report.md.")
    elif not validation or (n_train and (n_validation or n_train == 1)):
        return
    else:
        empty, size = (
            ("is for validation", "larger") if n_train else ("is left to train on", "smaller")
        )
        raise CorpusError(
            f"--validation {validation:g}: no example {empty}, for the documents that were chosen "
            f"have none. {n_train + n_validation:,} others have. Choose another --seed or a {size} "
            "--validation; nothing was published."
        )


next_steps = said("""\
made  {output} (dataset); its tokenizer and its entities lie beside it
read  {output}/report.md: how full the examples are, and what was lost
next  onoma verify {output}
      onoma show {output} --limit 1
      onoma pretrain RECIPE --examples {output} --output …
""")


main = partial(run.main, "pipelines.documents_to_examples", "examples")


if __name__ == "__main__":
    sys.exit(main())
