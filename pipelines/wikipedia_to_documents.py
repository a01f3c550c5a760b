r"""Convert a Wikipedia dump to documents in which every link, and further titles, are mentions.

Examples:
  onoma wikipedia --output build/dawiki --workers 2 \
      --input dawiki-20261101-pages-articles-multistream.xml.bz2
  onoma wikipedia --output build/dewiki --augment off \
      --input 'dewiki-*-pages-articles*.bz2' --templates my.toml
  onoma wikipedia --output build/dawiki-20261201 \
      --input 'dumps/dawiki-20261201-*' --reuse build/dawiki-20261101
"""

import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from corpora.errors import CorpusError, UsageError
from corpora.runs.plan import (
    InputFile,
    Plan,
    Stage,
    Unit,
    describe_each,
    find_inputs,
    limited,
    list_files,
    units_without_input,
)
from corpora.segmentation.language_tags import check_tag, primary_language
from corpora.system.expat_version import warn_of_old_expat
from corpora.wikipedia.settings import WikiSettings
from pipelines import run
from pipelines.graph import Phase
from pipelines.options import FileOptions, option, option_table, refuse, said, values_in

if TYPE_CHECKING:
    from corpora.runs.build import Build
    from corpora.system.buckets import Bucket
    from corpora.wikipedia.dump import Dump
    from corpora.wikipedia.reuse import EarlierRun
    from corpora.wikipedia.siteinfo import SiteInfo

DATASETS = {"documents": "documents", "redirects": "redirects", "reuse": "reuse"}
DEFINED = {"definitions": "wiki_definitions"}
FOUND = {"pages": "wiki_pages", "found_redirects": "redirects", "revisions": "wiki_revisions"}
UNITS = 1000
"""The number of units of a large dump, about."""
MAX_PAGE_BYTES = 50_000_000
"""The size of the largest page that is not rejected; MediaWiki's own bound is 2 MB."""
RANGE_BYTES = (8 << 20, 64 << 20)
"""The smallest and the largest part of a dump that is one unit, in bytes of XML."""
_log = logging.getLogger(__name__)


@option_table
class Options(FileOptions):
    """Options of ``onoma wikipedia``."""

    augment: Literal["article", "off"] = option(
        "add mentions where titles that the article links to, or its own title, stand without a "
        "link (default: article)",
        "article",
    )
    extractor: Literal["onoma", "wikiextractor"] = option(
        "parser of the wikitext: Onoma's own, or the separate program WikiExtractor (default: "
        "onoma)",
        "onoma",
    )
    namespaces: tuple[int, ...] = option(
        "numbers of the namespaces to read; articles are in 0 (default: 0)",
        (0,),
        nargs="+",
        type=int,
        metavar="N",
    )
    disambiguation: Literal["keep", "drop"] = option(
        "keep pages that only list meanings of a title, flagged in their metadata, or drop them "
        "(default: keep)",
        "keep",
    )
    interwiki: Literal["keep", "drop"] = option(
        "keep links to articles of other Wikimedia wikis as mentions (enwiki:Berlin), or only "
        "their text (default: keep)",
        "keep",
    )
    templates: tuple[Path, ...] = option(
        "TOML files with rules for more templates: what each shows, and which to drop without a "
        "mark",
        nargs="+",
        type=Path,
        metavar="FILE",
    )
    expand_templates: bool = option(
        "expand templates that the dump defines as text with parameters; reads the dump twice "
        "(always done where there is no table of the wiki's templates)"
    )
    blocks: str = option(
        "write these blocks as a second dataset: tables,infoboxes,references,math, or some of "
        "them (default: none)",
        "",
        metavar="KINDS",
    )
    page_props: Path | None = option(
        "page_props.sql.gz of the same wiki and date, with the Wikidata items of pages",
        metavar="FILE",
    )
    reuse: Path | None = option(
        "output of an earlier run, from which pages that have not changed are taken over"
    )
    abbreviations: Path | None = option(
        "TOML table of abbreviations that end no sentence, instead of the built-in or learned one",
        metavar="FILE",
    )
    wiki: str | None = option(
        "database name of the wiki, such as dawiki (default: as the dump says)", metavar="NAME"
    )
    lang: str | None = option(
        "language of the wiki, such as da (default: as the dump or the name of the wiki says)",
        metavar="TAG",
    )
    license: str | None = option(
        "SPDX identifier of the licence of the text (default: that of Wikimedia at the date of "
        "the dump)",
        metavar="SPDX",
    )
    allow_truncated: bool = option("read an incomplete dump as far as it goes, instead of failing")


def plan(options: Options) -> Plan:
    """Find the files of the dump, examine their heads and ends, and cut them into ranges."""
    warn_of_old_expat()
    check_tag(options.lang)
    from corpora.runs.build import BUILD, PIECES
    from corpora.wikipedia.dump import is_cut_first, read_pages_of
    from corpora.wikipedia.html.zim import grouped, with_parts
    from corpora.wikipedia.reuse import find_earlier, place_of_earlier
    from corpora.wikipedia.wikiextractor import check_installed

    if options.extractor == "wikiextractor":
        check_installed()
    earlier = find_earlier(options.reuse, output=options.output) if options.reuse else None
    named = with_parts(find_inputs(options.input, exclude=options.exclude))
    groups = [
        tuple(map(InputFile.hashed, group)) if is_cut_first(group[0].check()) else group
        for group in grouped(list_files(named))
    ]
    files = [file for file, *_ in groups]
    work_directory = options.output / BUILD / PIECES
    dumps = _examine(files, work_directory, allow_truncated=options.allow_truncated)
    templates = {f"templates {n}": path for n, path in enumerate(options.templates)}
    tables = describe_each({**templates, "page_props": options.page_props})
    settings = _settings(options, dumps, file=files[0].name)
    pairs = list(zip(groups, dumps, strict=True))
    _warn(options, settings, {group[0].name: dump.site for group, dump in pairs})
    ranges = ((group, range_.to_json()) for group, dump in pairs for range_ in dump.ranges)
    units = tuple(
        Unit(number, group, {"work_directory": str(work_directory.absolute())}, part)
        for number, (group, part) in enumerate(ranges)
    )

    read = partial(read_pages_of, max_page_bytes=MAX_PAGE_BYTES)
    pages = (page for unit in units for page in read(unit))
    settings = _with_learned(options, settings, pages, earlier=earlier)
    if options.limit is not None:
        units = tuple(limited(units, options.limit, read))
    made = Plan(
        pipeline="wikipedia_to_documents",
        datasets=DATASETS | ({"blocks": "blocks"} if options.blocks else {}),
        parameters=settings.to_json() | values_in(options, "limit", "exclude"),
        units=units_without_input(len(units)),
        auxiliary=tables,
        stages=(
            *((Stage("define", units, DEFINED),) if settings.expand_templates else ()),
            Stage("extract", units, FOUND),
        ),
        settings=settings,
    )
    if earlier is None:
        return made
    place = place_of_earlier(earlier, made, is_elsewhere=options.has_runner)
    return replace(made, settings=replace(settings, earlier=place))


def _examine(
    files: Sequence[InputFile], work_directory: Path, *, allow_truncated: bool
) -> list["Dump"]:
    """Examine the files of a dump; raises ``CorpusError`` for one that is cut off."""
    from corpora.wikipedia.dump import examine

    total = sum(file.size for file in files) * 4
    range_bytes = min(max(total // UNITS, RANGE_BYTES[0]), RANGE_BYTES[1])
    dumps = [
        examine(
            file.check(), range_bytes=range_bytes, work_directory=work_directory, sha256=file.sha256
        )
        for file in files
    ]
    for dump in dumps:
        if not dump.complete and not allow_truncated:
            raise CorpusError(f"{dump.why} (--allow-truncated reads what is there.)")
    return dumps


def _settings(options: Options, dumps: Sequence["Dump"], *, file: str) -> WikiSettings:
    """Make the settings of all units; ``file`` is the name of a dump file, perhaps with its date.

    Raises ``UsageError`` where the files are of several wikis.
    """
    from corpora.wikipedia.articles import license_of
    from corpora.wikipedia.titles import codes_of, language_of
    from corpora.wikipedia.variant_titles import table_for

    sites = [dump.site for dump in dumps]
    names = {site.wiki for site in sites} if options.wiki is None else {options.wiki}
    if len(names) > 1:
        raise UsageError(
            f"--input: files of several wikis ({', '.join(sorted(names))}). Read one at a time, or "
            "say with --wiki that they are one."
        )
    [name] = names
    if not name:
        raise UsageError("--input: the dump does not say of which wiki it is. Say --wiki dawiki.")
    site = next((site for site in sites if site.namespaces), sites[0])
    lang = options.lang or site.lang or language_of(name) or name
    extractor = _extractor(options, dumps)
    is_html = extractor.startswith("html ")
    license_of_file = license_of(site.base, file=file, generator=site.generator)
    return WikiSettings(
        site=replace(site, wiki=name, lang=lang),
        namespaces=sorted(options.namespaces),
        disambiguation=options.disambiguation,
        interwiki=options.interwiki,
        variants=table_for(codes_of(name, lang)),
        extractor=extractor,
        augment=options.augment,
        license=options.license or (None if is_html else license_of_file),
        max_page_bytes=MAX_PAGE_BYTES,
        n_tables=len(options.templates),
        blocks=_kinds_of_blocks(options),
        expand_templates=not is_html and _is_expanding(options, name, lang),
    )


def _extractor(options: Options, dumps: Sequence["Dump"]) -> str:
    """Name the extractor, with its version if it is not ours: another may make other bytes."""
    forms = {range_.form for dump in dumps for range_ in dump.ranges}
    if forms == {"xml"}:
        name = options.extractor
        return name if name == "onoma" else f"{name} {version(name)}"
    if "xml" in forms:
        raise UsageError("--input: dumps of wikitext and rendered pages. Read them one at a time.")
    refuse(options, "extractor", "templates", "expand_templates", because="is for wikitext")
    return f"html {version('selectolax')}"


def _is_expanding(options: Options, wiki: str, lang: str) -> bool:
    """Read and check ``--expand-templates``, which wikis without a table of templates need."""
    from corpora.wikipedia.readers import has_own_templates

    if options.expand_templates and options.extractor != "onoma":
        raise UsageError("--expand-templates: not with --extractor wikiextractor. Leave out one.")
    is_known = options.extractor != "onoma" or has_own_templates(wiki, lang)
    return options.expand_templates or not is_known


def _kinds_of_blocks(options: Options) -> list[str]:
    """Parse and check ``--blocks``."""
    from corpora.wikipedia.aside import KINDS

    given = [name.strip() for name in options.blocks.split(",") if name.strip()]
    if unknown := set(given) - KINDS.keys():
        raise UsageError(f"--blocks {min(unknown)}: there is none; there are {', '.join(KINDS)}.")
    if given and options.extractor != "onoma":
        raise UsageError("--blocks: WikiExtractor cannot do it. Leave out --extractor or --blocks.")
    return [name for name in KINDS if name in given]


def _with_learned(
    options: Options,
    settings: WikiSettings,
    pages: Iterable[object],
    *,
    earlier: "EarlierRun | None",
) -> WikiSettings:
    """Add what is learned from the first pages, whatever ``--limit`` says.

    Abbreviations are those of ``--abbreviations``, or learned where we have no table of the
    language. The words beside names serve to match titles. From an earlier run, whose sentences and
    matches can be taken over, both are taken.
    """
    from corpora.matching import name_edges
    from corpora.runs.code import code_hash
    from corpora.segmentation import abbreviations
    from corpora.segmentation.sentences import has_table
    from corpora.segmentation.tables import read_checked
    from corpora.wikipedia.readers import reader_of

    table = read_checked(options.abbreviations) if options.abbreviations else None
    needs_table = table is None and not has_table(settings.site.lang)
    is_of_this_code = earlier and earlier.plan["code"] == code_hash("wikipedia_to_documents")
    before = earlier.plan["parameters"] if earlier and is_of_this_code else {}
    is_alike = (before.get("lang"), before.get("augment")) == (settings.site.lang, settings.augment)
    if is_alike:
        table = before["abbreviations"] if needs_table else table
        return replace(settings, abbreviations=table, name_edges=before["name_edges"])
    if settings.augment == "off" and not needs_table:
        return replace(settings, abbreviations=table)
    texts, n_characters = list[tuple[str, list[tuple[int, int]]]](), 0
    for page in reader_of(settings, options.templates).texts(pages):
        texts.append((page.text, [(link.start, link.end) for link in page.links]))
        n_characters += len(page.text)
        if n_characters >= abbreviations.MAX_CHARACTERS:
            break
    is_matching = settings.augment != "off"
    words = name_edges.learn(texts, lang=settings.site.lang) if is_matching else None
    if needs_table:
        table = abbreviations.learn(text for text, _ in texts) or None
    return replace(settings, abbreviations=table, name_edges=words.packed() if words else None)


def _warn(options: Options, settings: WikiSettings, sites: Mapping[str, "SiteInfo"]) -> None:
    """Warn where a file's name and head disagree, or ``--lang`` and the dump; of missing tables.

    ``sites`` has the head of each file, by the file's name.
    """
    from corpora.wikipedia.readers import missing_tables
    from corpora.wikipedia.titles import known_language_of

    wiki, lang = settings.site.wiki, settings.site.lang
    for file, site in sites.items():
        if site.doubt and not (options.wiki and options.lang):
            _log.warning(
                "%s: %s. The <siteinfo> is believed; if it is wrong, say --wiki and --lang.",
                file,
                site.doubt,
            )
    said = next((s.lang for s in sites.values() if s.lang), "") or known_language_of(wiki)
    if options.lang and said and primary_language(said) != primary_language(lang):
        _log.warning(
            "--lang %s: the dump is in %s. --lang counts; leave it out if it is wrong.", lang, said
        )
    if missing := missing_tables(wiki, lang):
        _log.warning("%s (%s): there is no table of %s.", wiki, lang, "; of ".join(missing))


def phases() -> tuple[Phase, ...]:
    """List the functions of the units of each stage, and those that merge what units wrote."""
    from pipelines.transforms import wikipedia

    return (
        Phase.of_units(wikipedia.read_definitions, "define", wikipedia.index_definitions),
        Phase.of_units(wikipedia.parse_pages, "extract", wikipedia.index_pages),
        Phase.of_units(wikipedia.finish_pages),
    )


def carry(settings: WikiSettings, bucket: "Bucket") -> WikiSettings:
    """Upload an earlier run of this machine; return the settings with its address."""
    from corpora.wikipedia.reuse_places import put_earlier

    if settings.earlier is None:
        return settings
    folder = put_earlier(bucket, **settings.earlier)
    return replace(settings, earlier={**settings.earlier, "folder": folder})


def write_side_files(build: "Build", settings: WikiSettings) -> None:
    """Write the report, and the table of abbreviations, if one was chosen."""
    from corpora.segmentation.abbreviations import to_toml
    from corpora.wikipedia.report import to_markdown

    build.write("report.md", [to_markdown(build, settings)])
    if table := settings.abbreviations:
        build.write("abbreviations.toml", [to_toml(table)])


_next_steps = said("""\
made  {output}/documents, {output}/redirects (datasets)
      {output}/reuse, for the next run: --reuse {output} reads changed pages only
read  {output}/report.md: what became of every page, link, number and template
next  onoma verify {output}
      onoma show {output}/documents --limit 1
      onoma vocab --input {output}/documents …
""")


def next_steps(options: Options) -> list[str]:
    """Tell what was taken over, what was made, and which commands may follow."""
    from corpora.wikipedia.reuse import say_reused

    return [*say_reused(options.output), *_next_steps(options)]


main = partial(run.main, "pipelines.wikipedia_to_documents", "wikipedia")


if __name__ == "__main__":
    sys.exit(main())
