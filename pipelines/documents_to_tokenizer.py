"""Documents to a tokenizer: a WordPiece vocabulary, or one of characters, for transformers.

Examples:
  python -m pipelines.documents_to_tokenizer --input build/dewiki --output build/tok --workers 2
  python -m pipelines.documents_to_tokenizer --input build/dewiki --cased --output build/cased
  python -m pipelines.documents_to_tokenizer --input build/zhwiki --characters --size 8000
      --output build/characters
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from itertools import repeat
from typing import Any

from corpora.build import Build, Scratch
from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.plan import InputFile, Plan, Stage, Unit
from pipelines.options import CommonOptions, option
from pipelines.outcomes import Counts, Rows, Written, Yield
from pipelines.run import run

ABOUT = __doc__
DATASETS = {"": "pieces"}
PART_BYTES = 1 << 30
"""Of shards of documents whose words are merged at once."""


@dataclass(frozen=True, kw_only=True)
class Options(CommonOptions):
    """What ``documents_to_tokenizer`` asks for."""

    size: int = option(
        30_000, type=int, metavar="N", help="pieces at most, special ones too (default: 30000)"
    )
    cased: bool = option(
        False,  # noqa: FBT003 - the default of a flag
        action="store_true",
        help="keep capitals (default: text is lower-cased; accents and umlauts stay in any case)",
    )
    characters: bool = option(
        False,  # noqa: FBT003 - the default of a flag
        action="store_true",
        help="every character is a piece: nothing is merged",
    )
    coverage: float = option(
        0.99999,
        type=float,
        metavar="SHARE",
        help="of all characters, the share that pieces must cover; words with others are unknown "
        "(default: 0.99999; --characters takes as many as --size allows)",
    )
    min_count: int = option(
        1, type=int, metavar="N", help="learn from words seen N times (default: 1)"
    )
    max_words: int = option(
        2_000_000,
        type=int,
        metavar="N",
        help="learn from the N most frequent words at most: 1.5 kB of memory each (default: "
        "2000000); report.md says how often a word must be seen for that",
    )


def plan(options: Options) -> Plan:
    """Find the shards of documents, and plan a unit for each, and one that learns from all."""
    from corpora.dataset_inputs import find_shards

    _check(options)
    files = find_shards(options.input, "documents", exclude=options.exclude)[: options.limit]
    settings = {
        "size": options.size,
        "cased": options.cased,
        "characters": options.characters,
        "coverage": options.coverage,
        "min_count": options.min_count,
        "max_words": options.max_words,
    }
    return Plan(
        pipeline="documents_to_tokenizer",
        datasets=DATASETS,
        parameters=settings
        | {
            "limit": options.limit,
            "exclude": list(options.exclude),
            "tokenizers": version("tokenizers"),
        },
        units=(Unit(0, (), {}, settings),),
        stages=tuple(_stages(files, settings)),
    )


def _check(options: Options) -> None:
    from corpora.tokenizer_learning import MIN_SIZE

    if options.size < MIN_SIZE:
        raise UsageError(f"--size {options.size}: must be at least {MIN_SIZE}.")
    if options.min_count < 1:
        raise UsageError(f"--min-count {options.min_count}: must be at least 1.")
    if options.max_words < 1:
        raise UsageError(f"--max-words {options.max_words}: must be at least 1.")
    if not 0 < options.coverage <= 1:  # nan, too
        raise UsageError(f"--coverage {options.coverage}: must be above 0, and at most 1.")


def _stages(files: Sequence[InputFile], settings: Mapping[str, Any]) -> Iterator[Stage]:
    n_parts = max(1, -(-sum(file.size for file in files) // PART_BYTES))
    settings = {"cased": settings["cased"], "n_parts": n_parts}
    readers = tuple(Unit(number, (file,), {}, settings) for number, file in enumerate(files))
    parts = tuple(Unit(number, (), {}, {}) for number in range(n_parts))
    yield Stage("count", readers, {"counts": "word_counts"})
    yield Stage("merge", parts, {"totals": "word_totals"})


def count(unit: Unit, _: Scratch) -> Iterator[Yield]:
    """Count the words of a shard."""
    from corpora.entity_counts import by_part, parts_of
    from corpora.record_errors import read_rows
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches
    from corpora.word_counts import WordCounter

    counter = WordCounter(cased=unit.settings["cased"])
    for batch in read_batches(unit.inputs[0].check(), SCHEMAS["documents"], columns=("id", "text")):
        for rows, made in read_rows(
            batch, lambda rows: counter.add(rows.column("text").to_pylist())
        ):
            if isinstance(made, Rejected):
                yield made
            else:
                yield from repeat(Written(()), rows.num_rows)
    table = counter.table()
    parts = parts_of(table.column("word"), unit.settings["n_parts"])
    for rows in by_part(table, parts, schema="word_counts"):
        yield Rows("counts", rows)


def merge(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Add up the counts of a part of the words."""
    from corpora import word_counts
    from corpora.entity_counts import read_part

    for batch in word_counts.merge(read_part(scratch.shards("counts"), unit.number)):
        yield Rows("totals", batch)


def write(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Learn the vocabulary, and count its pieces."""
    from corpora.tokenizer_learning import Rules, learn, limited, measure, piece_rows
    from corpora.word_counts import CharacterCounts, WordTable

    words = WordTable(scratch.shards("totals"))
    rules = limited(Rules(**unit.settings), words)
    characters = CharacterCounts.of(words)
    pieces = learn(words, characters, rules)
    measured = measure(words, characters, pieces, rules=rules)
    yield Rows("", piece_rows(pieces, measured.counts))
    yield Counts(measured.counters)


def write_side_files(build: Build) -> None:
    """Write the tokenizer and the report, from the finished shard and the counters alone."""
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches, write_text
    from corpora.tokenizer_report import report
    from corpora.tokenizers import Tokenizer, wordpiece

    [shard] = build.shard_paths("")
    pieces = [
        piece
        for batch in read_batches(shard, SCHEMAS["pieces"], columns=("piece",))
        for piece in batch.column("piece").to_pylist()
    ]
    backend = wordpiece(pieces, cased=build.plan.parameters["cased"])
    Tokenizer(backend, name=build.output.name).save(build.side)
    write_text(build.side / "report.md", [report(build.counters, build.plan.parameters)])


def next_steps(options: Options) -> list[str]:
    """What to look at, and what to type next."""
    output = options.output
    return [
        f"made  {output}: tokenizer.json, vocab.txt and a dataset of pieces and their counts",
        f"read  {output}/report.md: pieces per word, unknown words and characters",
        f"next  transformers.AutoTokenizer.from_pretrained({str(output)!r})",
        f"      python -m pipelines.documents_to_examples --tokenizer {output} --input …",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pipeline."""
    return run("pipelines.documents_to_tokenizer", argv)


if __name__ == "__main__":
    sys.exit(main())
