r"""Learn a tokenizer for transformers from documents: a WordPiece or character vocabulary.

Examples:
  onoma tokenizer --input build/dewiki --output build/tok --workers 2
  onoma tokenizer --input build/dewiki --cased --output build/cased
  onoma tokenizer --input build/zhwiki --characters --size 8000 \
      --output build/characters
"""

import logging
import sys
from dataclasses import asdict, fields
from functools import partial
from importlib.metadata import version
from typing import TYPE_CHECKING

from corpora.runs.plan import Plan, Stage, Unit, partitions, unit_for_each
from pipelines import run
from pipelines.graph import Phase
from pipelines.options import CommonOptions, option, option_table, said, values_in

if TYPE_CHECKING:
    from corpora.runs.build import Build
    from corpora.tokenization.learning import VocabularyLimits

log = logging.getLogger(__name__)

DATASETS = {"": "subwords"}
MIN_SIZE = 256
"""The least ``--size``: room for special tokens, and for letters and digits at the beginning and
inside of words."""
PART_BYTES = 1 << 30
"""Bytes of document shards for each partition of words, which is merged at once."""


@option_table
class Options(CommonOptions):
    """Options of ``onoma tokenizer``."""

    size: int | None = option(
        "largest number of subwords, including special ones (default: a quarter of the distinct "
        "words, from 1000 to 30000; with --characters 30000)",
        at_least=MIN_SIZE,
    )
    cased: bool = option(
        "keep capital letters (default: lower-case the text; accents and umlauts stay in any case)"
    )
    characters: bool = option("make each character a subword, and merge none")
    min_count: int = option(
        "learn from words that occur at least N times (default: 1)", 1, at_least=1
    )

    @property
    def limits(self) -> "VocabularyLimits":
        """What decides the vocabulary; its size is 0 where the words decide it."""
        from corpora.tokenization.learning import VocabularyLimits

        given = {field.name: getattr(self, field.name) for field in fields(VocabularyLimits)}
        return VocabularyLimits(**given | {"size": self.size or 0})


def plan(options: Options) -> Plan:
    """Plan a unit for each shard of documents, and a unit that learns from all."""
    from corpora.runs.dataset_inputs import find_documents

    files = find_documents(options.input, limit=options.limit)
    return Plan(
        pipeline="documents_to_tokenizer",
        datasets=DATASETS,
        parameters=asdict(options.limits)
        | values_in(options, "limit")
        | {"tokenizers": version("tokenizers")},
        units=(Unit(0),),
        stages=(
            Stage("count", unit_for_each(files), {"counts": "word_counts"}),
            Stage("merge", partitions(files, PART_BYTES), {"totals": "word_totals"}),
        ),
        settings=options.settings(Options),
    )


def phases() -> tuple[Phase, ...]:
    """List the functions of the units of each stage."""
    from pipelines.transforms import tokenizer

    return (
        Phase.of_units(tokenizer.count_words, "count"),
        Phase.of_units(tokenizer.sum_words, "merge"),
        Phase.of_units(tokenizer.learn_subwords),
    )


def write_side_files(build: "Build", options: Options) -> None:
    """Write the tokenizer and the report, both from the finished shard and the counters."""
    from corpora.datasets.shards import read_batches
    from corpora.tokenization.report import report
    from corpora.tokenization.tokenizers import Tokenizer, wordpiece

    [shard] = build.shard_paths("")
    subwords = [
        subword
        for batch in read_batches(shard, "subwords", columns=("subword",))
        for subword in batch.column("subword").to_pylist()
    ]
    backend = wordpiece(subwords, cased=options.cased)
    Tokenizer(backend, name=build.output.name).save(build.side)
    build.write("report.md", [report(build.counters, options.limits)])
    n_words = build.counters["words.distinct"]
    if options.size and not options.characters and 2 * len(subwords) > n_words:
        log.warning(
            "%s subwords for %s distinct words: many are seen once or twice, and little can be "
            "learned of them. Leave out --size, or add text.",
            f"{len(subwords):,}",
            f"{n_words:,}",
        )


next_steps = said("""\
made  {output}: tokenizer.json, vocab.txt and a dataset of subwords and their counts
read  {output}/report.md: subwords per word, unknown words and characters
next  transformers.AutoTokenizer.from_pretrained({path!r})
      onoma examples --tokenizer {output} --input …
""")


main = partial(run.main, "pipelines.documents_to_tokenizer", "tokenizer")


if __name__ == "__main__":
    sys.exit(main())
