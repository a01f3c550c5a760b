"""Documents to an entity vocabulary: ids, counts, aliases with priors and link probabilities.

Examples:
  python -m pipelines.documents_to_entity_vocab --input build/dawiki/documents --output build/vocab
  python -m pipelines.documents_to_entity_vocab --input build/dawiki --output build/vocab2
      --previous build/vocab --min-count 5 --workers 2
  python -m pipelines.documents_to_entity_vocab --input build/dawiki build/svwiki build/nowiki
      --equivalents equivalents.tsv --output build/nordic
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from corpora.build import Build, Scratch
from corpora.document import ORIGINS, Rejected
from corpora.errors import UsageError
from corpora.plan import InputFile, Plan, Stage, Unit, describe_file
from pipelines.options import CommonOptions, option
from pipelines.outcomes import Counts, Rows, Written, Yield
from pipelines.run import run

ABOUT = __doc__
DATASETS = {"": "entities"}
PART_BYTES = 256 << 20
"""Of shards of documents whose entities, and forms, are merged at once."""
EQUIVALENTS = "equivalents"
PREVIOUS = "previous "
OCCURRENCES = "occurrences.npy"
FORMS = "forms"


@dataclass(frozen=True, kw_only=True)
class Options(CommonOptions):
    """What ``documents_to_entity_vocab`` asks for."""

    origins: tuple[str, ...] = option(
        ("link",),
        nargs="+",
        metavar="ORIGIN",
        help=f"of the mentions that count: {', '.join(sorted(ORIGINS))} (default: link, as LUKE)",
    )
    min_count: int = option(
        1, type=int, metavar="N", help="mentions that an entity needs (default: 1)"
    )
    max_size: int = option(
        1_000_000, type=int, metavar="N", help="entities at most (default: 1000000)"
    )
    existing: str = option(
        "auto",
        choices=("auto", "pages", "any"),
        help="keep entities that are pages of the input, or any; auto: pages, of those wikis whose "
        "pages are in the input (default)",
    )
    max_aliases: int | None = option(
        None, type=int, metavar="N", help="forms of an entity that are kept (default: all)"
    )
    link_probability: str = option(
        "on", choices=("on", "off"), help="count where forms stand unlinked; reads all text again"
    )
    previous: Path | None = option(
        None, type=Path, metavar="DIR", help="a vocabulary whose ids are kept"
    )
    compact: bool = option(
        False,  # noqa: FBT003 - the default of a flag
        action="store_true",
        help="with --previous: give new ids, without holes and without retired rows",
    )
    equivalents: Path | None = option(
        None,
        type=Path,
        metavar="FILE",
        help="lines of entities that are the same, with tabs between; the first names them",
    )


def plan(options: Options) -> Plan:
    """Find the shards of documents, and plan a unit for each, and for each part of the counts."""
    from corpora.dataset_inputs import find_shards

    _check(options)
    files = find_shards(options.input, "documents", exclude=options.exclude)[: options.limit]
    n_parts = max(1, -(-sum(file.size for file in files) // PART_BYTES))
    settings = {
        "origins": _origins(options),
        "min_count": options.min_count,
        "max_size": options.max_size,
        "existing": options.existing,
        "max_aliases": options.max_aliases,
        "link_probability": options.link_probability,
        "compact": options.compact,
    }
    auxiliary = _auxiliary(options)
    return Plan(
        pipeline="documents_to_entity_vocab",
        datasets=DATASETS,
        parameters=settings | {"limit": options.limit, "exclude": list(options.exclude)},
        units=_part_units(n_parts, settings),
        auxiliary=auxiliary,
        stages=tuple(_stages(files, settings, auxiliary, n_parts=n_parts)),
    )


def _origins(options: Options) -> list[str]:
    """The origins that count; several may stand in one word, with commas between."""
    origins = {origin for word in options.origins for origin in word.split(",")}
    if unknown := sorted(origins - ORIGINS):
        raise UsageError(f"--origins {', '.join(unknown)}: there are {', '.join(sorted(ORIGINS))}.")
    return sorted(origins)


def _check(options: Options) -> None:
    for name in ("min_count", "max_size", "max_aliases"):
        value = getattr(options, name)
        if value is not None and value < 1:
            raise UsageError(f"--{name.replace('_', '-')} {value}: must be at least 1.")
    if options.compact and not options.previous:
        raise UsageError("--compact gives new ids to a --previous vocabulary; there is none.")
    if options.previous and options.previous.resolve() == options.output.resolve():
        raise UsageError("--previous and --output are the same. Choose another --output.")


def _auxiliary(options: Options) -> dict[str, InputFile]:
    from corpora.shards import open_dataset

    files = {}
    if options.equivalents:
        files[EQUIVALENTS] = describe_file(EQUIVALENTS, options.equivalents)
    if options.previous:
        for shard in open_dataset(options.previous, "entities").shards:
            name = f"{PREVIOUS}{shard.name}"
            files[name] = describe_file(name, options.previous / shard.name)
    return files


def _stages(
    files: Sequence[InputFile],
    settings: Mapping[str, Any],
    auxiliary: Mapping[str, InputFile],
    *,
    n_parts: int,
) -> Iterator[Stage]:
    settings = {**settings, "n_parts": n_parts, "equivalents": EQUIVALENTS in auxiliary}
    readers = tuple(Unit(number, (file,), {}, settings) for number, file in enumerate(files))
    parts = _part_units(n_parts, settings)
    if EQUIVALENTS in auxiliary:
        unit = Unit(0, (), {EQUIVALENTS: auxiliary[EQUIVALENTS]}, {})
        yield Stage("equivalents", (unit,), {"equivalents": "entity_equivalents"})
    yield Stage("count", readers, {"counts": "entity_counts", "pages": "entity_pages"})
    yield Stage("merge", parts, {"totals": "entity_totals", "entity_forms": "entity_forms"})
    earlier = {name: file for name, file in auxiliary.items() if name.startswith(PREVIOUS)}
    yield Stage("choose", (Unit(0, (), earlier, settings),), {"chosen": "entities"})
    yield Stage("link", parts, {"aliases": "entity_aliases", "forms": "forms"})
    if settings["link_probability"] == "on":
        yield Stage("index", (Unit(0, (), {}, {}),), {})
        yield Stage("find", readers, {"occurrences": "form_occurrences"})


def _part_units(n_parts: int, settings: Mapping[str, Any]) -> tuple[Unit, ...]:
    settings = {**settings, "n_parts": n_parts}
    return tuple(Unit(number, (), {}, settings) for number in range(n_parts))


def equivalents(unit: Unit, _: Scratch) -> Iterator[Yield]:
    """Read the table of equivalents."""
    from corpora.entity_counts import batches_of
    from corpora.entity_exports import read_equivalents

    table = read_equivalents(unit.auxiliary[EQUIVALENTS].check())
    for batch in batches_of(table, "entity_equivalents"):
        yield Rows("equivalents", batch)


def after_equivalents(scratch: Scratch) -> Iterator[Yield]:
    """Make it a table on disk that all workers share."""
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches
    from corpora.wikipedia.redirects import build_table

    [path] = scratch.shards("equivalents")
    batches = read_batches(path, SCHEMAS["entity_equivalents"])
    summary = build_table(scratch.tables / EQUIVALENTS, batches)
    yield Counts({"equivalents": summary.n_redirects})


def count(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Count the mentions of a shard, and list its pages."""
    from corpora.entity_counts import MentionCounter, by_part, parts_of
    from corpora.record_errors import read_rows
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches
    from corpora.wikipedia.redirects import RedirectTable

    settings = unit.settings
    merged = RedirectTable(scratch.tables / EQUIVALENTS) if settings["equivalents"] else None
    counter = MentionCounter(settings["origins"], equivalents=merged)
    columns = ("id", "group", "title", "text", "mentions")
    for batch in read_batches(unit.inputs[0].check(), SCHEMAS["documents"], columns=columns):
        for rows, made in read_rows(batch, counter.add):
            if isinstance(made, Rejected):
                yield made
            else:
                yield from repeat(Written(()), rows.num_rows)
    for dataset, table in (("counts", counter.counts()), ("pages", counter.pages())):
        parts = parts_of(table.column("entity"), settings["n_parts"])
        for batch in by_part(table, parts, schema=f"entity_{dataset}"):
            yield Rows(dataset, batch)
    yield Counts(counter.counters)


def merge(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Merge the counts of a part of the entities."""
    from corpora.entity_counts import PartTotals, batches_of, by_part, parts_of, read_part

    merged = PartTotals(
        read_part(scratch.shards("counts"), unit.number),
        read_part(scratch.shards("pages"), unit.number),
        origins=unit.settings["origins"],
    )
    for batch in batches_of(merged.totals(), "entity_totals"):
        yield Rows("totals", batch)
    forms = merged.forms(max_aliases=unit.settings["max_aliases"])
    parts = parts_of(forms.column("form"), unit.settings["n_parts"])
    for batch in by_part(forms, parts, schema="entity_forms"):
        yield Rows("entity_forms", batch)
    yield Counts(merged.counters)


def choose(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Choose the entities, and give them ids."""
    from corpora import entity_choice

    settings = unit.settings
    rules = entity_choice.Rules(
        min_count=settings["min_count"],
        max_size=settings["max_size"],
        existing=settings["existing"],
    )
    chosen, counters = entity_choice.choose(scratch.shards("totals"), rules)
    previous = _previous(unit.auxiliary)
    rows = entity_choice.number(chosen, previous, compact=settings["compact"])
    for batch in rows.to_batches(max_chunksize=1 << 14):
        yield Rows("chosen", batch)
    yield Counts(counters | {"entities.kept": len(chosen), "entities.ids": len(rows)})
    if previous is not None:
        yield Counts(entity_choice.count_changes(entity_choice.changes(rows, previous)))


def _previous(auxiliary: Mapping[str, InputFile]) -> Any:
    """The rows of an earlier vocabulary, or None."""
    from corpora.entity_vocab import read_vocab

    paths = [file.check() for name, file in auxiliary.items() if name.startswith(PREVIOUS)]
    return read_vocab(paths) if paths else None


def link(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Merge a part of the forms: how often each is linked, and to what."""
    from corpora.entity_aliases import Slices, link_forms
    from corpora.entity_counts import batches_of, read_part
    from corpora.entity_vocab import read_vocab

    vocab = read_vocab(scratch.shards("chosen"))
    slices = Slices(len(vocab), unit.settings["n_parts"])
    counts = read_part(scratch.shards("entity_forms"), unit.number)
    forms, aliases = link_forms(counts, vocab, slices=slices)
    for batch in batches_of(forms, "forms"):
        yield Rows("forms", batch)
    for batch in aliases:
        yield Rows("aliases", batch)
    yield Counts({"forms": len(forms), "aliases": sum(batch.num_rows for batch in aliases)})


def index(_: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Make all forms a table on disk that all workers share."""
    from corpora.entity_aliases import read_forms
    from corpora.form_table import build_form_table

    build_form_table(scratch.tables / FORMS, read_forms(scratch.shards("forms")))
    yield Counts()


def find(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Find all forms in the text of a shard, and count where they are no counted mention."""
    from corpora.entity_aliases import OccurrenceCounter, by_language, first_numbers
    from corpora.entity_counts import batches_of
    from corpora.form_table import FormTable
    from corpora.record_errors import read_rows
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches

    table = FormTable(scratch.tables / FORMS)
    n_forms = first_numbers(scratch.shards("forms"))[-1]
    counter = OccurrenceCounter(n_forms, origins=unit.settings["origins"])
    columns = ("id", "lang", "text", "mentions")
    for batch in read_batches(unit.inputs[0].check(), SCHEMAS["documents"], columns=columns):
        for lang, documents in by_language(batch):
            add = partial(counter.add, table=table, lang=lang)
            for _, made in read_rows(documents, add):
                if isinstance(made, Rejected):
                    yield Counts(written=-1, rejected=[made])
    for rows in batches_of(counter.table(), "form_occurrences"):
        yield Rows("occurrences", rows)


def after_find(scratch: Scratch) -> Iterator[Yield]:
    """Add up what the units found."""
    import numpy as np

    from corpora.entity_aliases import first_numbers, sum_occurrences

    n_forms = first_numbers(scratch.shards("forms"))[-1]
    unlinked = sum_occurrences(scratch.shards("occurrences"), n_forms)
    np.save(scratch.tables / OCCURRENCES, unlinked)
    yield Counts({"forms.unlinked_occurrences": int(unlinked.sum())})


def write(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Finish a slice of the vocabulary."""
    from corpora.entity_aliases import Slices, read_occurrences, vocab_rows
    from corpora.entity_vocab import read_vocab

    rows = read_vocab(scratch.shards("chosen"))
    size = Slices(len(rows), unit.settings["n_parts"]).size
    unlinked = None
    if unit.settings["link_probability"] == "on":
        unlinked = read_occurrences(scratch.tables / OCCURRENCES, scratch.shards("forms"))
    batches = vocab_rows(
        rows.slice(unit.number * size, size),
        scratch.shards("aliases"),
        part=unit.number,
        unlinked=unlinked,
    )
    for batch in batches:
        yield Rows("", batch)


def write_side_files(build: Build) -> None:
    """Write the exports, the coverage and the report, from the finished shards alone."""
    from corpora import entity_exports as exports
    from corpora.entity_choice import changes
    from corpora.entity_vocab import read_vocab
    from corpora.shards import write_text

    shards = build.shard_paths("")
    names = exports.Names(shards, _members(build.plan.auxiliary, shards))
    for name, lines in (
        ("entity_vocab.jsonl", exports.luke_lines),
        ("entity_vocab.json", exports.tokenizer_lines),
        ("entity_vocab.tsv", exports.table_lines),
    ):
        write_text(build.side / name, lines(exports.read_rows(shards), names))
    write_text(build.side / "coverage.tsv", exports.coverage_lines(build.counters))
    text = exports.report(build.counters, build.plan.parameters, exports.read_rows(shards))
    write_text(build.side / "report.md", [text])
    previous = _previous(build.plan.auxiliary)
    if previous is not None:
        listed = changes(read_vocab(shards), previous)
        write_text(build.side / "changes.tsv", exports.change_lines(listed))


def _members(auxiliary: Mapping[str, InputFile], vocab: Sequence[Path]) -> dict[str, list[str]]:
    """The equivalents of each entity of the vocabulary, in the order of the table."""
    from corpora.entity_exports import members_of, read_equivalents
    from corpora.entity_vocab import read_vocab

    if EQUIVALENTS not in auxiliary:
        return {}
    table = read_equivalents(auxiliary[EQUIVALENTS].check())
    return members_of(table, read_vocab(vocab).column("entity"))


def next_steps(options: Options) -> list[str]:
    """What to look at, and what to type next."""
    from corpora.entity_exports import told_of_pages
    from corpora.shards import read_description

    output = options.output
    told = told_of_pages(read_description(output)["counters"])
    return [
        *([f"WARNING {told}"] if told else []),
        f"made  {output} (dataset); {output}/entity_vocab.jsonl, .json, .tsv",
        f"read  {output}/report.md: what other sizes and minimum counts would keep",
        f"next  python -m corpora.shards verify {output}",
        f"      python -m pipelines.augment_mentions --forms {output} --policy gated --input …",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pipeline."""
    return run("pipelines.documents_to_entity_vocab", argv)


if __name__ == "__main__":
    sys.exit(main())
