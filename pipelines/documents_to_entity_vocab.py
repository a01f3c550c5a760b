r"""Build an entity vocabulary from documents: ids, counts, and forms with their probabilities.

Examples:
  onoma vocab --input build/dawiki/documents --output build/vocab
  onoma vocab --input build/dawiki --output build/vocab2 \
      --previous build/vocab --min-count 5 --workers 2
  onoma vocab --input build/dawiki build/svwiki build/nowiki \
      --languages --min-languages 2 --output build/nordic
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.document import ORIGINS
from corpora.errors import UsageError
from corpora.runs.plan import (
    InputFile,
    Plan,
    Stage,
    Unit,
    describe_file,
    named,
    partitions,
    unit_for_each,
)
from pipelines import run
from pipelines.graph import PCollection, Phase, Run
from pipelines.options import (
    CommonOptions,
    option,
    option_table,
    origins_of,
    refuse,
    said,
    values_in,
)

if TYPE_CHECKING:
    from corpora.runs.build import Build

DATASETS = {"": "entities"}
PART_BYTES = 256 << 20
"""Bytes of document shards for each partition of entities and forms, which is merged at once."""
PARAMETERS = (
    *("min_count", "max_size", "existing", "link_probability", "limit"),
    *("languages", "min_languages"),
)
EQUIVALENTS = "equivalents"
LANGLINKS = "langlinks "
PREVIOUS = "previous "


@option_table
class Options(CommonOptions):
    """Options of ``onoma vocab``."""

    origins: tuple[str, ...] = option(
        f"origins of the mentions to count: {', '.join(sorted(ORIGINS))} "
        "(default: link, as in LUKE)",
        ("link",),
        nargs="+",
        metavar="ORIGIN",
    )
    min_count: int = option(
        "leave out entities with fewer than N mentions (default: 1)", 1, at_least=1
    )
    max_size: int = option(
        "keep at most the N most frequent entities (default: 1000000)", 1_000_000, at_least=1
    )
    existing: Literal["auto", "pages", "any"] = option(
        "keep only entities that are pages of the input, or any (default: auto, pages for wikis "
        "with pages in the input)",
        "auto",
    )
    link_probability: Literal["on", "off"] = option(
        "compute which fraction of the places of each form are mentions; reads all text again "
        "(default: on)",
        "on",
    )
    previous: Path | None = option("earlier vocabulary, whose entities keep their ids")
    equivalents: Path | None = option(
        "tab-separated file with equal entities on each line, which become one entity named like "
        "the first",
        metavar="FILE",
    )
    languages: bool = option(
        "make one entity of the pages of all wikis that have the same Wikidata item, named like "
        "the item (wikidata:Q64)"
    )
    langlinks: tuple[Path, ...] = option(
        "with --languages: langlinks.sql.gz of each wiki; the pages that link to each other, not "
        "those with the same item, become one entity, named like the first",
        nargs="+",
        type=Path,
        metavar="FILE",
    )
    min_languages: int = option(
        "with --languages: leave out entities with pages in fewer than N languages (default: 1; "
        "mLUKE has 3)",
        1,
        at_least=1,
    )


def plan(options: Options) -> Plan:
    """Plan a unit for each shard of documents, and for each partition of the counts."""
    from corpora.runs.dataset_inputs import find_documents

    if options.previous and options.previous.resolve() == options.output.resolve():
        raise UsageError("--previous and --output are the same. Choose another --output.")
    if options.equivalents and options.languages:
        raise UsageError("--equivalents: --languages finds them. Leave one of them out.")
    if not options.languages:
        refuse(options, "min_languages", "langlinks", because="is for --languages")
    files = find_documents(options.input, limit=options.limit)
    parts = partitions(files, PART_BYTES)
    return Plan(
        pipeline="documents_to_entity_vocab",
        datasets=DATASETS,
        parameters={"origins": origins_of(options.origins), **values_in(options, *PARAMETERS)},
        units=parts,
        auxiliary=_auxiliary(options),
        stages=tuple(_stages(files, options, parts=parts)),
        settings=options,
    )


def _auxiliary(options: Options) -> dict[str, InputFile]:
    from corpora.runs.dataset_inputs import describe_shards

    files = {}
    if options.equivalents:
        files[EQUIVALENTS] = describe_file(EQUIVALENTS, options.equivalents)
    for number, path in enumerate(options.langlinks):
        files[f"{LANGLINKS}{number}"] = describe_file(f"{LANGLINKS}{number}", path)
    if options.previous:
        files |= describe_shards(options.previous, "entities", prefix=PREVIOUS)
    return files


def _stages(
    files: Sequence[InputFile], options: Options, *, parts: tuple[Unit, ...]
) -> Iterator[Stage]:
    readers = unit_for_each(files)
    one = (Unit(0),)
    if _has_equivalents(options):
        units = readers if options.languages else one
        if options.langlinks:
            units = tuple(Unit(n, tuple(files)) for n in range(len(options.langlinks)))
        yield Stage("equivalents", units, {"equivalents": "entity_equivalents"})
    yield Stage("count", readers, {"counts": "entity_counts", "pages": "entity_pages"})
    yield Stage("merge", parts, {"totals": "entity_totals", "entity_forms": "entity_forms"})
    yield Stage("choose", one, {"chosen": "entities"})
    yield Stage("link", parts, {"aliases": "entity_aliases", "forms": "forms"})
    if options.link_probability == "on":
        yield Stage("find", readers, {"occurrences": "form_occurrences"})


def _has_equivalents(options: Options) -> bool:
    return options.languages or options.equivalents is not None


def equivalents(units: PCollection, _: Options, run: Run) -> PCollection:
    """Read which entities are equal."""
    from pipelines.transforms import elements, entities

    step = elements.read_units(
        entities.find_equivalents,
        file=run.auxiliary.get(EQUIVALENTS),
        n_partitions=run.n_units["merge"],
        langlinks=named(LANGLINKS, run.auxiliary),
    )
    return units | step | run.write_shards("equivalents")


def index_equivalents(units: PCollection, _: Options, run: Run) -> PCollection:
    """Write the equivalents as a table on disk that all workers share."""
    from pipelines.transforms import entities

    return run.merge(units, entities.index_equivalents, stage="equivalents")


def count(units: PCollection, options: Options, run: Run) -> PCollection:
    """Count the mentions in documents, and list the pages."""
    from pipelines.transforms import elements, entities

    step = elements.read_units(
        entities.count_entities,
        origins=origins_of(options.origins),
        equivalents=run.work if _has_equivalents(options) else None,
        n_partitions=run.n_units["merge"],
        are_read_again=options.link_probability == "on",
    )
    return units | step | run.write_shards("count")


def merge(units: PCollection, options: Options, run: Run) -> PCollection:
    """Sum the counts of each partition of the entities."""
    from pipelines.transforms import elements, entities

    step = elements.read_units(
        entities.sum_entities,
        work=run.work,
        datasets=("counts", "pages", *(("equivalents",) if _has_equivalents(options) else ())),
        origins=origins_of(options.origins),
        n_partitions=run.n_units["link"],
    )
    return units | step | run.write_shards("merge")


def choose(units: PCollection, options: Options, run: Run) -> PCollection:
    """Choose the entities, and assign ids."""
    from corpora.entities.choice import EntityLimits
    from pipelines.transforms import elements, entities

    rules = EntityLimits(
        min_count=options.min_count,
        max_size=options.max_size,
        existing=options.existing,
        min_languages=options.min_languages,
    )
    previous = named(PREVIOUS, run.auxiliary)
    step = elements.read_units(
        entities.choose_entities, work=run.work, rules=rules, previous=previous
    )
    return units | step | run.write_shards("choose")


def link(units: PCollection, _: Options, run: Run) -> PCollection:
    """Sum each partition of the forms: how often each form is linked, and to which entity."""
    from pipelines.transforms import elements, entities

    n_partitions = run.n_units[""]
    step = elements.read_units(entities.count_links, work=run.work, n_partitions=n_partitions)
    return units | step | run.write_shards("link")


def index_forms(units: PCollection, options: Options, run: Run) -> PCollection:
    """Write all forms as a table on disk that all workers share, if they are to be counted."""
    from pipelines.transforms import entities

    is_on = options.link_probability == "on"
    index = [entities.index_forms] if is_on else []
    return run.merge(units, *index, stage="link")


def find(units: PCollection, options: Options, run: Run) -> PCollection:
    """Find all forms in documents, and count where they are not a counted mention."""
    from pipelines.transforms import elements, entities

    origins = origins_of(options.origins)
    step = elements.read_units(entities.find_forms, work=run.work, stage="count", origins=origins)
    return units | step | run.write_shards("find")


def sum_occurrences(units: PCollection, _: Options, run: Run) -> PCollection:
    """Sum the occurrences of the forms."""
    from pipelines.transforms import entities

    return run.merge(units, entities.add_occurrences, stage="find")


def finish(units: PCollection, options: Options, run: Run) -> PCollection:
    """Add the aliases to the rows of the vocabulary."""
    from pipelines.transforms import elements, entities

    step = elements.read_units(
        entities.add_aliases,
        work=run.work,
        n_partitions=run.n_units[""],
        with_link_probability=options.link_probability == "on",
    )
    return units | step | run.write_shards()


PHASES = (
    Phase(equivalents, "equivalents", index_equivalents),
    Phase(count, "count"),
    Phase(merge, "merge"),
    Phase(choose, "choose"),
    Phase(link, "link", index_forms),
    Phase(find, "find", sum_occurrences),
    Phase(finish),
)


def write_side_files(build: "Build", _: Options) -> None:
    """Write the exports, the coverage and the report, all from the finished shards."""
    from corpora.entities import exports
    from corpora.entities.choice import changes
    from corpora.entities.report import change_lines, coverage_lines, report
    from corpora.entities.vocabulary import read_vocab
    from corpora.system.writing import write_text

    shards, auxiliary = build.shard_paths(""), build.plan.auxiliary
    names = exports.ExportNames(shards)
    for name, lines in (
        ("entity_vocab.jsonl", exports.luke_lines),
        ("entity_vocab.json", exports.tokenizer_lines),
        ("entity_vocab.tsv", exports.table_lines),
        ("entity_ids.tsv", exports.id_lines),
    ):
        write_text(build.side / name, lines(exports.read_rows(shards), names))
    write_text(build.side / "coverage.tsv", coverage_lines(build.counters))
    text = report(build.counters, build.plan.parameters, exports.read_rows(shards))
    write_text(build.side / "report.md", [text])
    if previous := named(PREVIOUS, auxiliary):
        earlier = read_vocab(file.check() for file in previous)
        listed = changes(read_vocab(shards), earlier)
        write_text(build.side / "changes.tsv", change_lines(listed))


def warnings(_: Options, counters: Mapping[str, int]) -> Iterator[str]:
    """Warn of what is probably a mistake."""
    from corpora.entities.report import warn_of_missing_items, warn_of_missing_pages

    yield from filter(None, (warn_of_missing_items(counters), warn_of_missing_pages(counters)))


next_steps = said("""\
made  {output} (dataset); {output}/entity_vocab.jsonl, .json, .tsv
read  {output}/report.md: what other sizes and minimum counts would keep
next  onoma verify {output}
      onoma augment --forms {output} --policy gated --input …
""")


main = partial(run.main, "pipelines.documents_to_entity_vocab", "vocab")


if __name__ == "__main__":
    sys.exit(main())
