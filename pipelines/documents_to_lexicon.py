r"""Build a lexicon from documents: words that no dictionary has, found by statistics of the text.

Examples:
  onoma lexicon --input build/novels --output build/lexicon --workers 2
  onoma lexicon --input build/news --per all --known words.txt \
      --output build/lexicon
  onoma lexicon --input build/dewiki --min-count 10 --output build/names
"""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.errors import CorpusError, UsageError
from corpora.lexicon import MARKS
from corpora.runs.plan import (
    InputFile,
    Plan,
    Stage,
    Unit,
    describe_each,
    partitions,
    units_without_input,
)
from pipelines import run
from pipelines.graph import Phase
from pipelines.options import CommonOptions, option, option_table, said, values_in

if TYPE_CHECKING:
    from corpora.lexicon.streams import Kind
    from corpora.runs.build import Build

DATASETS = {"": "lexicon"}
COUNTED = {"symbols": "lexicon_symbols", "totals": "lexicon_totals", "streams": "lexicon_streams"}
SLICE_BATCHES = 4
"""Batches of documents in a slice; a batch has a million characters at most, or one document."""
PART_BYTES = 4 << 20
"""Bytes of document shards for each unit that counts strings, range after range."""
KNOWN_NAMES = ("auto", "jieba", "none")


@option_table
class Options(CommonOptions):
    """Options of ``onoma lexicon``."""

    per: Literal["document", "group", "all"] = option(
        "texts that share a lexicon: each document, each group (a novel, a newspaper), or all "
        "(default: group)",
        "group",
    )
    max_length: int = option(
        "length of the longest candidate in symbols (default: 8)", 8, at_least=2
    )
    min_count: int = option(
        "leave out candidates that occur fewer than N times (default: 5)", 5, at_least=2
    )
    score: Literal["product", "paper", "frequency"] = option(
        "score of candidates: root of MI * smaller entropy, the paper's MI + left + right "
        "entropy, or the count (default: product)",
        "product",
    )
    known: str = option(
        "words that get the flag known: jieba's dictionary, or the first field of each line of a "
        "file (default: jieba for Chinese, else none)",
        "auto",
        metavar="jieba|FILE|none",
    )
    names: Path | None = option(
        "file with a name in the first field of each line; names get none of the other flags",
        metavar="FILE",
    )
    drop: tuple[str, ...] = option(
        f"give candidates with these flags no rank: {', '.join(MARKS)}; known words that are "
        "names keep theirs (default: known inner)",
        ("known", "inner"),
        nargs="*",
        choices=MARKS,
        metavar="FLAG",
    )
    demote: tuple[str, ...] = option(
        "halve the score of candidates for each of these flags that they have (default: compound "
        "function)",
        ("compound", "function"),
        nargs="*",
        choices=MARKS,
        metavar="FLAG",
    )
    top: float = option(
        "fraction of the ranked candidates, the best first, that become words (default: 0.5)",
        0.5,
        above=0,
        at_most=1,
        metavar="RATIO",
    )


@dataclass(frozen=True, kw_only=True)
class LexiconSettings(Options):
    """The options, with the symbols of the documents, and what else was found of them."""

    symbols: Literal["characters", "words"]
    in_both_scripts: bool
    """Whether words of the lists are looked for in traditional script, too."""


def plan(options: Options) -> Plan:
    """Find the shards, cut them into slices, and plan the stages."""
    from corpora.runs.dataset_inputs import find_documents

    files = find_documents(options.input, limit=options.limit)
    parts = partitions(files, PART_BYTES)
    kind, is_chinese = _look(files)
    lists = _known(options.known, is_chinese=is_chinese) | _names(options.names)
    in_both_scripts = bool(lists) and is_chinese and _are_traditional(files)
    settings = options.settings(LexiconSettings, symbols=kind, in_both_scripts=in_both_scripts)
    return Plan(
        pipeline="documents_to_lexicon",
        datasets=DATASETS,
        parameters={
            **values_in(settings, "per", "symbols", "max_length", "min_count", "score"),
            "drop": sorted(set(options.drop)),
            "demote": sorted(set(options.demote)),
            "top": options.top,
            "n_parts": len(parts),
            "known": options.known if options.known in KNOWN_NAMES else "FILE",
            **values_in(settings, "in_both_scripts", "limit"),
        },
        units=parts,
        auxiliary=lists,
        stages=tuple(_stages(files, parts=parts)),
        settings=settings,
    )


def _look(files: Sequence[InputFile]) -> "tuple[Kind, bool]":
    """Return the kind of symbols of the first document that has text, and whether it is Chinese."""
    from corpora.datasets.shards import read_batches
    from corpora.lexicon.streams import is_chinese, kind_of

    for file in files:
        for batch in read_batches(file.check(), "documents", columns=("lang", "text")):
            for lang, text in zip(*(column.to_pylist() for column in batch.columns), strict=True):
                if text.strip():
                    return kind_of(text), is_chinese(text, lang)
    raise CorpusError("The documents have no text. Choose others.")


def _are_traditional(files: Sequence[InputFile]) -> bool:
    """Tell whether the first documents of any shard are in traditional script.

    Raises where they are, but OpenCC is not installed.
    """
    from corpora.datasets.shards import read_batches
    from corpora.lexicon.known import check_opencc, is_traditional

    for file in files:
        for batch in islice(read_batches(file.check(), "documents", columns=("text",)), 1):
            if any(map(is_traditional, batch.column(0).to_pylist())):
                check_opencc()
                return True
    return False


def _known(known: str, *, is_chinese: bool) -> dict[str, InputFile]:
    from corpora.lexicon.known import jieba_dictionary

    if known == "none" or (known == "auto" and not is_chinese):
        return {}
    path = jieba_dictionary() if known in ("auto", "jieba") else Path(known)
    if not path.is_file():
        raise UsageError(f"--known {known}: no such file; or write jieba, or none.")
    return describe_each({"known words": path})


def _names(path: Path | None) -> dict[str, InputFile]:
    if path and not path.is_file():
        raise UsageError(f"--names {path}: no such file.")
    return describe_each({"names": path})


def _stages(files: Sequence[InputFile], *, parts: tuple[Unit, ...]) -> Iterator[Stage]:
    slices = tuple(
        Unit(number, (file,), part=part) for number, (file, part) in enumerate(_slices(files))
    )
    yield Stage("count", slices, COUNTED)
    yield Stage("number", (Unit(0),), {"firsts": "lexicon_firsts"})
    yield Stage("spread", units_without_input(len(slices)), {"windows": "lexicon_windows"})
    yield Stage("merge", parts, {"strings": "lexicon_strings"})
    yield Stage("score", (Unit(0),), {"ranks": "lexicon_ranks"})


def _slices(files: Sequence[InputFile]) -> Iterator[tuple[InputFile, dict[str, int]]]:
    """Yield slices of a few batches of a shard each."""
    import pyarrow as pa

    for file in files:
        with pa.memory_map(str(file.check())) as source, pa.ipc.open_file(source) as reader:
            n_batches = reader.num_record_batches
        for start in range(0, n_batches, SLICE_BATCHES):
            yield file, {"start": start, "end": min(start + SLICE_BATCHES, n_batches)}


def phases() -> tuple[Phase, ...]:
    """List the functions of the units of each stage."""
    from pipelines.transforms import lexicon

    return (
        Phase.of_units(lexicon.count_symbols, "count"),
        Phase.of_units(lexicon.number_symbols, "number"),
        Phase.of_units(lexicon.deal_windows, "spread"),
        Phase.of_units(lexicon.count_strings, "merge"),
        Phase.of_units(lexicon.score_strings, "score"),
        Phase.of_units(lexicon.make_lexicon),
    )


def write_side_files(build: "Build", settings: LexiconSettings) -> None:
    """Write the words as a table, and the report page."""
    from corpora.lexicon.report import read_page, table_lines, to_html

    shards = build.shard_paths("")
    build.write("lexicon.tsv", table_lines(shards))
    documents = [file.check() for file in build.plan.inputs]
    page = read_page(shards, documents, per=settings.per)
    html = to_html(page, counters=build.counters, parameters=build.plan.parameters)
    build.write("report.html", [html])


next_steps = said("""\
made  {output} (dataset); {output}/lexicon.tsv: the words, without what was dropped
read  {output}/report.html: scores, and the best words in context
next  onoma verify {output}
      onoma augment --forms {output} --words tagger --input …
""")


main = partial(run.main, "pipelines.documents_to_lexicon", "lexicon")


if __name__ == "__main__":
    sys.exit(main())
