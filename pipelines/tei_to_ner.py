r"""Convert TEI editions to documents and NER data: datasets, CoNLL and JSON files, and a report.

Examples:
  onoma tei --inspect 'letters/*.xml'
  onoma tei --input 'letters/*.xml' --edition sturm --output build/sturm
  onoma tei --input letters --edition my.toml --output build/mine --workers 2
  onoma tei --input letters --edition sturm --register 'register/*.xml' \
      --output build/sturm

--inspect converts nothing: it counts what the markup of the files holds. Its options:
  onoma tei --inspect --help
"""

import logging
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.document import Span
from corpora.errors import CorpusError, UsageError
from corpora.hashing.sampling import choose_all
from corpora.hashing.splits import SPLITS, parse_ratios, read_split_file
from corpora.ner.alignment import Nested
from corpora.runs.plan import (
    InputFile,
    Plan,
    describe_each,
    describe_file,
    describe_files,
    find_inputs,
    list_files,
    make_units,
    named,
)
from corpora.system.cells import guarded
from corpora.system.expat_version import warn_of_old_expat
from corpora.tei.abbreviations import as_tables, last_words, learn_abbreviations
from corpora.tei.card import languages_of, passed_over, plain_counters, sections_of, warnings_of
from corpora.tei.edition import SUFFIXES, Edition, edition_path, load_edition
from corpora.tei.include import IncludedPart, find_included, find_repeated
from corpora.tei.languages import Abbreviations
from corpora.tei.reader import read_tei
from corpora.tei.xml import XmlError
from pipelines import run
from pipelines.graph import PCollection, Phase, Run
from pipelines.options import FileOptions, option, option_table, refuse, said, values_in

if TYPE_CHECKING:
    import pyarrow as pa

    from corpora.ner.card import Health
    from corpora.runs.build import Build

_REGISTER = "register "  # the prefix of names of register files
log = logging.getLogger(__name__)
_INCLUDED = "included "
DATASETS = {"documents": "documents", "ner": "ner"}
MAX_BYTES = 500_000_000


@option_table
class Options(FileOptions):
    """Options of ``onoma tei``."""

    edition: str = option(
        "edition that says how to read the elements: a built-in name or a TOML file (default: tei)",
        "tei",
        metavar="NAME|FILE",
    )
    register: tuple[str, ...] = option(
        "TEI files with the registers of persons, places … that names refer to; implies --lines",
        metavar="PATTERN",
    )
    lines: bool = option(
        "record the line numbers of the text in its file, for the concordance; xi:include is not "
        "followed"
    )
    split: Literal["document", "sentence"] = option(
        "what is assigned to train, dev or test as a whole: documents or sentences (default: "
        "document)",
        "document",
    )
    ratios: str = option(
        "relative sizes of train, dev and test; a hash assigns each document or sentence "
        "(default: 80/10/10)",
        "80/10/10",
        metavar="A/B/C",
    )
    split_file: Path | None = option(
        "file with the split of each input file, in lines 'NAME TAB SPLIT'; replaces --ratios",
        metavar="FILE",
    )
    seed: int = option("seed of the hash that assigns the splits (default: 1)", 1)
    nested: Nested = option(
        "which of nested names to tag: the outermost, the innermost, or two levels (default: "
        "outer)",
        "outer",
    )
    abbreviations: Literal["listed", "learned"] = option(
        "words that end no sentence: those of the tables and the edition, or also those learned "
        "from the input (default: listed)",
        "listed",
    )

    @property
    def has_lines(self) -> bool:
        """Whether documents hold the line numbers of their text in its file."""
        return self.lines or bool(self.register)


@dataclass(frozen=True, kw_only=True)
class TeiSettings(Options):
    """The options, and what the edition file and the files say."""

    edition_name: str
    patterns: Sequence[str]
    """The patterns of the edition file itself."""
    learned: Mapping[str, Abbreviations]
    """Learned abbreviations, by language; empty if the options do not ask for them."""
    repeated: Mapping[str, Mapping[IncludedPart, str]]
    """For each file, the text that an earlier file has included, and the name of that file."""
    max_bytes: int
    """The size of the largest file that is not rejected, with all that it includes."""


def plan(options: Options) -> Plan:
    """Find the files, choose the split of each, and pack them into units."""
    warn_of_old_expat()
    if options.split_file and options.split == "sentence":
        raise UsageError("--split-file names documents; leave --split sentence out.")
    edition_file = describe_file("edition", edition_path(options.edition))
    edition = load_edition(Path(edition_file.path))
    found = find_inputs(options.input, suffix=SUFFIXES, exclude=options.exclude)
    files = list_files(dict(islice(found.items(), options.limit)))
    # Which files others include decides the units; with line numbers, nothing is included.
    included = {} if options.has_lines else find_included(files, max_bytes=MAX_BYTES)
    # An included file is only read as a part of the files that include it.
    files = [file for file in files if file.name not in included]
    repeated = find_repeated(files, included)
    for name, parts in repeated.items():
        for part, earlier in parts.items():
            log.warning(
                "%s: its text in %s is read once, as a part of %s, which includes it, too. Leave "
                "one of the two out with --exclude, if it should be in the other.",
                *(name, part.file, earlier),
            )
    settings = options.settings(
        TeiSettings,
        edition_name=edition.name,
        patterns=[key for key, _ in edition.own],
        learned=_learned(files, edition, options, included=included),
        repeated=repeated,
        max_bytes=MAX_BYTES,
    )
    splits, how = _splits([file.name for file in files], edition, options)
    auxiliary = {"edition": edition_file} | describe_each({"splits": options.split_file})
    auxiliary |= _registers(options)
    auxiliary |= {f"{_INCLUDED}{name}": file for name, file in included.items()}
    return Plan(
        pipeline="tei_to_ner",
        datasets=DATASETS,
        parameters=values_in(settings, "edition_name", "nested")
        | {"lines": settings.has_lines, "patterns": settings.patterns}
        | {"abbreviations": settings.learned, **how}
        | values_in(options, "limit", "exclude")
        | ({"repeated": _listed(repeated)} if repeated else {}),
        units=make_units(files, settings=splits),
        auxiliary=auxiliary,
        settings=settings,
    )


def _listed(repeated: Mapping[str, Mapping[IncludedPart, str]]) -> dict[str, list[tuple[str, ...]]]:
    """List what ``find_repeated`` found: it is read from files whose hashes no plan has."""
    return {
        name: [(*part, file) for part, file in parts.items()] for name, parts in repeated.items()
    }


def _registers(options: Options) -> dict[str, InputFile]:
    """Describe the files of the register, by name; raises ``CorpusError`` for files without one."""
    if not options.register:
        return {}
    from corpora.registers.register import read_registers

    found = describe_files(find_inputs(options.register, suffix=SUFFIXES, option="register"))
    read_registers((file.name, file.read()) for file in found)
    return {f"{_REGISTER}{file.name}": file for file in found}


def _learned(
    files: Sequence[InputFile],
    edition: Edition,
    options: Options,
    *,
    included: Mapping[str, InputFile],
) -> Mapping[str, Abbreviations]:
    """Learn abbreviations from all files, if the options ask for it."""
    if options.abbreviations != "learned":
        return {}
    readable = [file for file in files if file.size <= MAX_BYTES]
    texts = _texts(readable, edition, included=included)
    return as_tables(learn_abbreviations(texts, edition))


def _texts(
    files: Sequence[InputFile], edition: Edition, *, included: Mapping[str, InputFile]
) -> Iterator[tuple[str | None, str]]:
    """Yield the language and the text of each document."""
    read = partial(read_tei, edition=edition, included=included, max_bytes=MAX_BYTES)
    for file in files:
        with suppress(XmlError):  # the run will reject the file, with the reason
            for text in read(file.read(), name=file.name):
                if text.document:
                    yield text.document.lang, text.document.text


def _splits(
    names: Sequence[str], edition: Edition, options: Options
) -> tuple[Mapping[str, str], dict[str, object]]:
    """Choose the split of each file, and describe the method.

    No split is chosen here when splitting by sentence, nor where a file has several documents,
    which are not known yet.
    """
    if options.split_file:
        refuse(options, "ratios", "seed", because="has no effect beside --split-file. Omit one")
        return read_split_file(options.split_file, names), {"split": "file"}
    ratios = parse_ratios(options.ratios)
    how: dict[str, object] = {"split": options.split, "ratios": ratios, "seed": options.seed}
    if options.split == "sentence" or edition.makes_several:
        return {}, how
    return choose_all(names, ratios, seed=options.seed), how


def graph(units: PCollection, settings: TeiSettings, run: Run) -> PCollection:
    """Read files, parse them, cut them into sentences, and write documents and sentences."""
    from pipelines.transforms import files, tei
    from pipelines.transforms.elements import per_record, read_units

    parse = per_record(
        tei.parse_tei,
        settings=settings,
        edition=run.auxiliary["edition"],
        registers=tuple(named(_REGISTER, run.auxiliary)),
        included={file.name: file for file in named(_INCLUDED, run.auxiliary)},
    )
    read = read_units(files.read_files, max_bytes=settings.max_bytes)
    plain = replace(settings, learned={}, repeated={})
    cut = per_record(tei.cut_sentences, settings=plain)
    return units | read | parse | cut | run.write_shards()


def phases() -> tuple[Phase, ...]:
    """Give the only graph."""
    return (Phase(graph),)


def write_side_files(build: "Build", settings: TeiSettings) -> None:
    """Write CoNLL, JSON, the splits and the card from the finished shards."""
    from corpora.ner.columns import columns_of_split
    from corpora.ner.exports import write_columns, write_json
    from corpora.ner.health import examine_columns

    if not build.accounting.written:
        raise CorpusError(
            f"no document was written: none of {build.accounting.read:,} files has text that the "
            "edition reads. See what they hold with --inspect; content, leave_out and choose of "
            "the edition file say what is read (docs/editions.md)."
        )
    shards = build.shard_paths("ner")
    for split in SPLITS:
        rows = partial(_outer_rows, shards, split)
        write_columns(rows, build.side / f"{split}.conll", form="conll")
        write_json(rows, build.side / f"{split}.json")
    chosen = {name: s for unit in build.plan.units for name, s in unit.settings.items()}
    if chosen:
        lines = (f"{guarded(name)}\t{split}\n" for name, split in chosen.items())
        build.write("splits.tsv", lines)
    _write_card(
        build,
        settings,
        examine_columns({split: partial(columns_of_split, shards, split) for split in SPLITS}),
    )


def _outer_rows(shards: Sequence[Path], split: str) -> "Iterator[pa.RecordBatch]":
    """Read the rows of a split, without inner tags."""
    import pyarrow as pa

    from corpora.ner.columns import rows_of_split

    for batch in rows_of_split(shards, split, columns=("id", "split", "tokens", "tags")):
        yield batch.append_column(
            "inner_tags", pa.nulls(len(batch), batch.schema.field("tags").type)
        )


def _write_card(build: "Build", settings: TeiSettings, health: "Health") -> None:
    """Write the card as Markdown and as JSON."""
    from corpora.ner.card import to_json, to_markdown
    from corpora.system.writing import write_json

    counters = build.counters
    edition = load_edition(build.plan.auxiliary["edition"].check())
    ends = Counter[str]()
    learned = learn_abbreviations(_documents(build.shard_paths("documents"), ends), edition)
    warned, taken = list(warnings(settings, counters)), bool(settings.learned)
    notes = _notes(build, settings)
    run = notes | {
        "warnings": warned,
        "languages": dict(languages_of(counters)),
        "abbreviations": {
            lang: [each._asdict() for each in found] for lang, found in learned.items()
        },
        "abbreviations taken": taken,
        "not in the text": passed_over(counters),
    }
    write_json(build.side / "card.json", {**to_json(health), "run": run})
    card = to_markdown(
        health,
        title=f"NER data from the edition {settings.edition_name}",
        notes=notes,
        warnings=warned,
        sections=sections_of(counters, settings.patterns, learned, ends=ends, taken=taken),
    )
    build.write("card.md", [card, *_write_register(build)])


def _write_register(build: "Build") -> Iterator[str]:
    """Write the register and its coverage beside the datasets; yield a section for the card."""
    files = named(_REGISTER, build.plan.auxiliary)
    if not files:
        return
    from corpora.datasets.shards import read_documents
    from corpora.registers.coverage import measure, side_files, to_markdown
    from corpora.registers.register import read_registers, write_register

    register = read_registers((file.name, file.read()) for file in files)
    shards = map(read_documents, build.shard_paths("documents"))
    coverage = measure(chain.from_iterable(shards), register)
    build.write("register.jsonl", write_register(register))
    for name, lines in side_files(coverage):
        build.write(name, lines)
    yield f"\n{to_markdown(coverage)}"


def _documents(shards: Sequence[Path], last: Counter[str]) -> Iterator[tuple[str | None, str]]:
    """Yield language and text of each document; count the words at ends of sentences in ``last``.

    These are the last words of sentences that another sentence follows in the same line.
    """
    from corpora.datasets.shards import read_batches

    for path in shards:
        for batch in read_batches(path, "documents", columns=("lang", "text", "sentences")):
            for row in batch.to_pylist():
                last.update(last_words(row["text"], [Span(**span) for span in row["sentences"]]))
                yield row["lang"], row["text"]


def warnings(settings: TeiSettings, counters: Mapping[str, int]) -> Iterator[str]:
    """Warn of what is probably a mistake."""
    return warnings_of(counters, settings.patterns)


def _notes(build: "Build", settings: TeiSettings) -> dict[str, str]:
    """Collect what a reader of the card must know: how it was split, what was counted."""
    account = build.accounting
    notes = {
        "edition": settings.edition_name,
        "split by": "file" if settings.split_file else settings.split,
        "nested names": settings.nested,
        "files": f"read {account.read:,}, written {account.written:,}, "
        f"filtered {account.n_filtered:,}, rejected {account.n_rejected:,}",
    }
    if not settings.split_file:
        ratios = "/".join(f"{ratio:g}" for ratio in parse_ratios(settings.ratios).values())
        notes["ratios"] = f"{ratios} (seed {settings.seed})"
    if included := named(_INCLUDED, build.plan.auxiliary):
        notes["files that others include"] = ", ".join(file.name for file in included)
    return notes | {name: f"{count:,}" for name, count in plain_counters(build.counters).items()}


next_steps = said("""\
made  {output}/documents, {output}/ner (datasets); {output}/train.conll … test.json
read  {output}/card.md before you trust a score
next  onoma verify {output}
      onoma show {output}/documents --limit 1
      onoma finetune crf --ner {output}/ner --model … --output …
""")


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pipeline; or, with ``--inspect``, only count what the markup holds."""
    given = list(sys.argv[1:] if argv is None else argv)
    if "--inspect" in given:
        from corpora.tei.inspection import main as inspect

        return inspect(["--help"] if {"-h", "--help"} & {*given} else given)
    return run.main("pipelines.tei_to_ner", "tei", argv)


if __name__ == "__main__":
    sys.exit(main())
