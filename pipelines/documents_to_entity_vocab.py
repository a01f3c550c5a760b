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
from dataclasses import replace
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
    describe_each,
    named,
    partitions,
    unit_for_each,
)
from pipelines import run
from pipelines.graph import Phase
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
    *("origins", "min_count", "max_size", "existing", "link_probability", "limit"),
    *("languages", "min_languages"),
)


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

    @property
    def has_equivalents(self) -> bool:
        """Whether several entities may be the same."""
        return self.languages or self.equivalents is not None

    @property
    def has_link_probability(self) -> bool:
        """Whether the places of forms are counted, for which all text is read again."""
        return self.link_probability == "on"


def plan(options: Options) -> Plan:
    """Plan a unit for each shard of documents, and for each partition of the counts."""
    from corpora.runs.dataset_inputs import find_documents

    if options.previous and options.previous.resolve() == options.output.resolve():
        raise UsageError("--previous and --output are the same. Choose another --output.")
    if options.equivalents and options.languages:
        raise UsageError("--equivalents: --languages finds them. Leave one of them out.")
    if not options.languages:
        refuse(options, "min_languages", "langlinks", because="is for --languages")
    options = replace(options, origins=tuple(origins_of(options.origins)))
    files = find_documents(options.input, limit=options.limit)
    parts = partitions(files, PART_BYTES)
    return Plan(
        pipeline="documents_to_entity_vocab",
        datasets=DATASETS,
        parameters=values_in(options, *PARAMETERS),
        units=parts,
        auxiliary=_auxiliary(options),
        stages=tuple(_stages(files, options, parts=parts)),
        settings=options.settings(Options),
    )


def _auxiliary(options: Options) -> dict[str, InputFile]:
    """Describe ``equivalents``, ``langlinks`` with numbers, and the shards of ``previous``."""
    from corpora.runs.dataset_inputs import describe_shards

    links = {f"langlinks {number}": path for number, path in enumerate(options.langlinks)}
    files = describe_each({"equivalents": options.equivalents, **links})
    if options.previous:
        files |= describe_shards(options.previous, "entities", prefix="previous ")
    return files


def _stages(
    files: Sequence[InputFile], options: Options, *, parts: tuple[Unit, ...]
) -> Iterator[Stage]:
    readers = unit_for_each(files)
    one = (Unit(0),)
    if options.has_equivalents:
        units = readers if options.languages else one
        if options.langlinks:
            units = tuple(Unit(n, tuple(files)) for n in range(len(options.langlinks)))
        yield Stage("equivalents", units, {"equivalents": "entity_equivalents"})
    yield Stage("count", readers, {"counts": "entity_counts", "pages": "entity_pages"})
    yield Stage("merge", parts, {"totals": "entity_totals", "entity_forms": "entity_forms"})
    yield Stage("choose", one, {"chosen": "entities"})
    yield Stage("link", parts, {"aliases": "entity_aliases", "forms": "forms"})
    if options.has_link_probability:
        yield Stage("find", readers, {"occurrences": "form_occurrences"})


def phases() -> tuple[Phase, ...]:
    """List the functions of the units of each stage, and those that merge what units wrote."""
    from pipelines.transforms import entities

    return (
        Phase.of_units(entities.find_equivalents, "equivalents", entities.index_equivalents),
        Phase.of_units(entities.count_entities, "count"),
        Phase.of_units(entities.sum_entities, "merge"),
        Phase.of_units(entities.choose_entities, "choose"),
        Phase.of_units(entities.count_links, "link", entities.index_forms),
        Phase.of_units(entities.find_forms, "find", entities.add_occurrences),
        Phase.of_units(entities.add_aliases),
    )


def write_side_files(build: "Build", _: Options) -> None:
    """Write the exports, the coverage and the report, all from the finished shards."""
    from corpora.entities import exports
    from corpora.entities.choice import changes
    from corpora.entities.report import change_lines, coverage_lines, report
    from corpora.entities.vocabulary import read_vocab

    shards = build.shard_paths("")
    names = exports.ExportNames(shards)
    for name, lines in (
        ("entity_vocab.jsonl", exports.luke_lines),
        ("entity_vocab.json", exports.tokenizer_lines),
        ("entity_vocab.tsv", exports.table_lines),
        ("entity_ids.tsv", exports.id_lines),
    ):
        build.write(name, lines(exports.read_rows(shards), names))
    build.write("coverage.tsv", coverage_lines(build.counters))
    text = report(build.counters, build.plan.parameters, exports.read_rows(shards))
    build.write("report.md", [text])
    if previous := named("previous ", build.plan.auxiliary):
        earlier = read_vocab(file.check() for file in previous)
        listed = changes(read_vocab(shards), earlier)
        build.write("changes.tsv", change_lines(listed))


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
