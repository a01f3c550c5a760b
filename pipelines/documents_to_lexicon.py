"""Documents to a lexicon: words that no dictionary has, found by how they stand in the text.

Examples:
  python -m pipelines.documents_to_lexicon --input build/novels --output build/lexicon --workers 2
  python -m pipelines.documents_to_lexicon --input build/news --per all --known words.txt
      --output build/lexicon
  python -m pipelines.documents_to_lexicon --input build/dewiki --min-count 10 --output build/names
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import repeat
from pathlib import Path
from typing import Any

from corpora.build import Build, Scratch
from corpora.document import Rejected
from corpora.errors import CorpusError, UsageError
from corpora.plan import InputFile, Plan, Stage, Unit, describe_file
from pipelines.options import CommonOptions, option
from pipelines.outcomes import Counts, Rows, Written, Yield
from pipelines.run import run

ABOUT = __doc__
DATASETS = {"": "lexicon"}
SLICE_BATCHES = 4
"""Batches of documents, of a million characters at most (or one document), in a slice."""
PART_BYTES = 4 << 20
"""Of shards of documents whose strings are counted by one unit, range after range."""
KNOWN = "known words"
KNOWN_NAMES = ("auto", "jieba", "none")
MARKS = ("known", "inner", "compound", "function")


@dataclass(frozen=True, kw_only=True)
class Options(CommonOptions):
    """What ``documents_to_lexicon`` asks for."""

    per: str = option(
        "group",
        choices=("document", "group", "all"),
        help="each document, each group (a novel, a bank), or all together has a lexicon of its "
        "own (default: group)",
    )
    symbols: str = option(
        "auto",
        choices=("auto", "characters", "words"),
        help="what words are made of: characters, or in languages with spaces, words (default: as "
        "the first document shows)",
    )
    max_length: int = option(
        4, type=int, metavar="N", help="symbols of the longest candidate (default: 4)"
    )
    min_count: int = option(
        5, type=int, metavar="N", help="how often a candidate must occur (default: 5)"
    )
    mi: str = option(
        "adjacent",
        choices=("adjacent", "weakest"),
        help="mutual information of a candidate of three symbols and more: the mean of its "
        "neighbouring symbols (default), or that of the two parts where it is weakest",
    )
    score: str = option(
        "product",
        choices=("product", "paper", "frequency"),
        help="how candidates are ranked: root of MI * smaller entropy (default), the paper's MI + "
        "left + right entropy, or the bare count",
    )
    known: str = option(
        "auto",
        metavar="jieba|FILE|none",
        help="words that are no news: jieba's dictionary, or the first field of each line of a "
        "file (default: jieba for Chinese, none for other languages)",
    )
    drop: tuple[str, ...] = option(
        ("known", "inner"),
        nargs="*",
        choices=MARKS,
        metavar="FLAG",
        help=f"candidates that are not ranked: {', '.join(MARKS)} (default: known inner)",
    )
    demote: tuple[str, ...] = option(
        ("compound", "function"),
        nargs="*",
        choices=MARKS,
        metavar="FLAG",
        help="candidates that are ranked by half of their score, for each of these flags (default: "
        "compound function)",
    )
    top: float = option(
        0.5, type=float, metavar="SHARE", help="of the ranked, those that are words (default: 0.5)"
    )


def plan(options: Options) -> Plan:
    """Find the shards, cut them into slices, and plan the stages."""
    from corpora.dataset_inputs import find_shards

    _check(options)
    files = find_shards(options.input, "documents", exclude=options.exclude)[: options.limit]
    n_parts = max(1, -(-sum(file.size for file in files) // PART_BYTES))
    kind, is_chinese = _look(files)
    settings = {
        "per": options.per,
        "symbols": kind if options.symbols == "auto" else options.symbols,
        "max_length": options.max_length,
        "min_count": options.min_count,
        "mi": options.mi,
        "score": options.score,
        "drop": sorted(set(options.drop)),
        "demote": sorted(set(options.demote)),
        "top": options.top,
        "n_parts": n_parts,
    }
    auxiliary = _known(options.known, is_chinese=is_chinese)
    return Plan(
        pipeline="documents_to_lexicon",
        datasets=DATASETS,
        parameters=settings
        | {
            "known": options.known if options.known in KNOWN_NAMES else "FILE",
            "limit": options.limit,
            "exclude": list(options.exclude),
        },
        units=tuple(Unit(number, (), {}, settings) for number in range(n_parts)),
        auxiliary=auxiliary,
        stages=tuple(_stages(files, settings, auxiliary)),
    )


def _check(options: Options) -> None:
    if options.max_length < 2:
        raise UsageError(f"--max-length {options.max_length}: must be at least 2.")
    if options.min_count < 2:
        raise UsageError(f"--min-count {options.min_count}: must be at least 2.")
    if not 0 < options.top <= 1:  # nan, too
        raise UsageError(f"--top {options.top}: must be above 0, and at most 1.")


def _look(files: Sequence[InputFile]) -> tuple[str, bool]:
    """What the symbols of the first document are that is not empty, and whether it is Chinese."""
    from corpora.lexicon.streams import is_chinese, kind_of
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    for file in files:
        for batch in read_batches(file.check(), SCHEMAS["documents"], columns=("lang", "text")):
            for lang, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if text.strip():
                    return kind_of(text), is_chinese(text, lang)
    raise CorpusError("The documents have no text. Choose others.")


def _known(known: str, *, is_chinese: bool) -> dict[str, InputFile]:
    from corpora.lexicon.known import jieba_dictionary

    if known == "none" or (known == "auto" and not is_chinese):
        return {}
    path = jieba_dictionary() if known in ("auto", "jieba") else Path(known)
    if not path.is_file():
        raise UsageError(f"--known {known}: no such file; or write jieba, or none.")
    return {KNOWN: describe_file(KNOWN, path)}


def _stages(
    files: Sequence[InputFile], settings: Mapping[str, Any], auxiliary: Mapping[str, InputFile]
) -> Iterator[Stage]:
    slices = tuple(
        Unit(number, (file,), {}, settings, part)
        for number, (file, part) in enumerate(_slices(files))
    )
    spreaders = tuple(Unit(unit.number, (), {}, settings) for unit in slices)
    parts = tuple(Unit(number, (), {}, settings) for number in range(settings["n_parts"]))
    counted = {"symbols": "lexicon_symbols", "totals": "lexicon_totals"}
    yield Stage("count", slices, counted | {"streams": "lexicon_streams"})
    yield Stage("number", (Unit(0, (), {}, settings),), {"firsts": "lexicon_firsts"})
    yield Stage("spread", spreaders, {"windows": "lexicon_windows"})
    yield Stage("merge", parts, {"strings": "lexicon_strings"})
    yield Stage("score", (Unit(0, (), auxiliary, settings),), {"ranks": "lexicon_ranks"})


def _slices(files: Sequence[InputFile]) -> Iterator[tuple[InputFile, dict[str, int]]]:
    """Some batches of a shard each."""
    import pyarrow as pa

    for file in files:
        with pa.memory_map(str(file.check())) as source, pa.ipc.open_file(source) as reader:
            n_batches = reader.num_record_batches
        for start in range(0, n_batches, SLICE_BATCHES):
            yield file, {"start": start, "end": min(start + SLICE_BATCHES, n_batches)}


def count(unit: Unit, _: Scratch) -> Iterator[Yield]:
    """Count the symbols of a slice."""
    from itertools import islice

    from corpora.lexicon.slices import COLUMNS, SliceCounter
    from corpora.record_errors import read_rows
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    settings = unit.settings
    counter = SliceCounter(settings["symbols"], longest=settings["max_length"])
    batches = read_batches(
        unit.inputs[0].check(), SCHEMAS["documents"], columns=COLUMNS[settings["symbols"]]
    )
    for batch in islice(batches, unit.part["start"], unit.part["end"]):
        add = partial(_count, counter, per=settings["per"])
        for rows, stream in read_rows(batch, add):
            if isinstance(stream, Rejected):
                yield stream
            else:
                yield Rows("streams", stream)
                yield from repeat(Written(()), rows.num_rows)
    is_whole = settings["per"] == "document"  # no other slice has more of its scopes
    yield Rows("symbols", counter.symbols(min_count=settings["min_count"] if is_whole else 1))
    yield Rows("totals", counter.totals())
    yield Counts(counter.counters)


def _count(counter: Any, batch: Any, *, per: str) -> Any:
    from corpora.lexicon.slices import texts_of

    return counter.add(texts_of(batch, per=per))


def number(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Number the symbols, and cut what can begin with each pair of them into ranges."""
    from corpora.lexicon.tables import check_documents, write_vocabulary

    if unit.settings["per"] == "document":
        check_documents(scratch.shards("totals"))
    scratch.tables.mkdir(exist_ok=True)
    firsts = write_vocabulary(
        scratch.tables,
        scratch.shards("streams"),
        symbols=scratch.shards("symbols"),
        totals=scratch.shards("totals"),
        min_count=unit.settings["min_count"],
    )
    yield from (Rows("firsts", batch) for batch in firsts.batches())
    yield Counts({"symbols.distinct": firsts.n_symbols - 2})


def spread(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Deal the windows of a slice out to ranges."""
    from corpora.lexicon.slices import spread as deal_out

    path = scratch.shard("streams", unit.number)
    for batch in deal_out(path, _vocabulary(scratch), longest=unit.settings["max_length"]):
        yield Rows("windows", batch)


def merge(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Count the strings of some ranges, and what stands around them."""
    from corpora.lexicon import slices

    settings = unit.settings
    vocabulary = _vocabulary(scratch)
    n_ranges = len(vocabulary.edges) + 1
    begin, end = (n_ranges * part // settings["n_parts"] for part in (unit.number, unit.number + 1))
    batches = slices.merge(
        scratch.shards("windows"),
        range(begin, end),
        vocabulary,
        longest=settings["max_length"],
        min_count=settings["min_count"],
    )
    for batch in batches:
        yield Rows("strings", batch)


def score(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Put the strings of all parts together, score, mark and rank them."""
    from corpora.lexicon import ranking
    from corpora.lexicon.known import read_known
    from corpora.lexicon.scores import fill_scores
    from corpora.lexicon.tables import write_strings

    settings = unit.settings
    vocabulary = _vocabulary(scratch)
    shards = scratch.shards("strings")
    min_count = settings["min_count"]
    strings = write_strings(scratch.tables, shards, vocabulary, min_count=min_count)
    fill_scores(strings, vocabulary.totals, mi=settings["mi"], score=settings["score"])
    known = [read_known(file.check()) for file in unit.auxiliary.values()]
    yield Counts(ranking.mark(strings, vocabulary, known))
    rules = {name: settings[name] for name in ("drop", "demote", "top")}
    ranked = ranking.rank(strings, **rules)
    for batch in ranked.batches():
        yield Rows("ranks", batch)
    yield Counts(ranked.counters)


@lru_cache(maxsize=1)  # read once by each worker
def _vocabulary_of(folder: Path) -> Any:
    from corpora.lexicon.tables import Vocabulary

    scratch = Scratch(folder)
    return Vocabulary(scratch.tables, tuple(scratch.shards("firsts")))


def _vocabulary(scratch: Scratch) -> Any:
    return _vocabulary_of(scratch.folder)


def write(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Write a part of the lexicon."""
    from corpora.lexicon.ranking import lexicon_rows
    from corpora.lexicon.tables import Strings

    settings = unit.settings
    batches = lexicon_rows(
        Strings(scratch.tables),
        _vocabulary(scratch),
        scratch.shard("ranks", 0),
        part=(unit.number, settings["n_parts"]),
        has_groups=settings["per"] != "all",
    )
    for batch in batches:
        yield Rows("", batch)


def write_side_files(build: Build) -> None:
    """Write the words as a table, and the page."""
    from corpora.lexicon.report import page_lines, read_page, table_lines
    from corpora.shards import write_text

    shards = build.shard_paths("")
    write_text(build.side / "lexicon.tsv", table_lines(shards))
    documents = [file.check() for file in build.plan.inputs]
    parameters = build.plan.parameters
    page = read_page(shards, documents, per=parameters["per"])
    lines = page_lines(page, counters=build.counters, parameters=parameters)
    write_text(build.side / "report.html", lines)


def next_steps(options: Options) -> list[str]:
    """What to look at, and what to type next."""
    output = options.output
    return [
        f"made  {output} (dataset); {output}/lexicon.tsv: the words, without what was dropped",
        f"read  {output}/report.html: scores, and the best words in context",
        f"next  python -m corpora.shards verify {output}",
        f"      python -m pipelines.augment_mentions --forms {output} --input …",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pipeline."""
    return run("pipelines.documents_to_lexicon", argv)


if __name__ == "__main__":
    sys.exit(main())
