"""A Wikipedia dump to documents with every link as a mention, redirects resolved, titles matched.

Examples:
  python -m pipelines.wikipedia_to_documents --output build/dawiki --workers 2
      --input dawiki-20261101-pages-articles-multistream.xml.bz2
  python -m pipelines.wikipedia_to_documents --output build/dewiki --augment off
      --input 'dewiki-*-pages-articles*.bz2' --templates my.toml
  python -m pipelines.wikipedia_to_documents --output build/dawiki-20261201
      --input 'dumps/dawiki-20261201-*' --reuse build/dawiki-20261101
"""

import logging
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import Any

from corpora.build import BUILD, PIECES, Build, Scratch
from corpora.document import Rejected
from corpora.errors import CorpusError, UsageError
from corpora.expat_version import warn_of_old_expat
from corpora.plan import InputFile, Plan, Stage, Unit, describe_file, describe_files, find_inputs
from pipelines.options import CommonOptions, option
from pipelines.outcomes import Counts, Filtered, Rows, Written, Yield
from pipelines.run import run

ABOUT = __doc__
DATASETS = {"documents": "documents", "redirects": "redirects", "reuse": "reuse"}
FOUND = {"pages": "wiki_pages", "found_redirects": "redirects", "meanings": "meanings"}
UNITS = 1000
"""How many units a large dump is cut into, about."""
RANGE_BYTES = (8 << 20, 64 << 20)
"""Smallest and largest part of a dump that a worker takes at once, of XML."""
BATCH_CHARACTERS = 1 << 20
_log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Options(CommonOptions):
    """What ``wikipedia_to_documents`` asks for."""

    augment: str = option(
        "article", choices=("article", "off"), help="match titles of an article's links in its text"
    )
    right: str = option(
        "word",
        choices=("word", "prefix"),
        help="whether a title must end where a word ends, or may be its beginning (windmill|s)",
    )
    anchors: str = option(
        "off", choices=("on", "off"), help="match the texts of an article's links, too"
    )
    extractor: str = option(
        "onoma", choices=("onoma", "wikiextractor"), help="what reads the wikitext"
    )
    namespaces: tuple[int, ...] = option(
        (0,), nargs="+", type=int, metavar="N", help="numbers of those that are read (default: 0)"
    )
    disambiguation: str = option(
        "keep", choices=("keep", "drop"), help="pages that only list meanings; flagged if kept"
    )
    templates: tuple[Path, ...] = option(
        (),
        nargs="+",
        type=Path,
        metavar="FILE",
        help="more tables of templates (TOML): what they show, which leave no hole",
    )
    reuse: Path | None = option(
        None,
        type=Path,
        metavar="DIR",
        help="an earlier run: pages that are as they were then are not read again",
    )
    abbreviations: Path | None = option(
        None,
        type=Path,
        metavar="FILE",
        help="a table of the language's abbreviations (TOML), in place of ours or a learned one",
    )
    wiki: str | None = option(None, metavar="NAME", help="dawiki …, if not as the dump says")
    lang: str | None = option(None, metavar="TAG", help="da …, if not as the dump says")
    license: str | None = option(None, metavar="SPDX", help="if not that of Wikipedia")
    max_page_size: float = option(
        50.0, type=float, metavar="MB", help="a larger page is rejected (default: 50)"
    )
    allow_truncated: bool = option(
        False,  # noqa: FBT003 - the default of a flag
        action="store_true",
        help="read a dump that ends too early as far as it goes",
    )


def plan(options: Options) -> Plan:
    """Find the dump's files, look at their heads and ends, and cut them into ranges."""
    warn_of_old_expat()
    from corpora.wikipedia.dump import examine
    from corpora.wikipedia.reuse import find_earlier, with_earlier
    from corpora.wikipedia.wikiextractor import check_installed

    if options.extractor == "wikiextractor":
        check_installed()
    if not 0 < options.max_page_size < float("inf"):
        raise UsageError(f"--max-page-size {options.max_page_size:g}: must be above 0.")
    earlier = find_earlier(options.reuse, output=options.output) if options.reuse else None
    found = find_inputs(options.input, exclude=options.exclude)
    files = describe_files(found)
    scratch = options.output / BUILD / PIECES
    total = sum(file.size for file in files) * 4
    range_bytes = min(max(total // UNITS, RANGE_BYTES[0]), RANGE_BYTES[1])
    dumps = [
        examine(file.check(), range_bytes=range_bytes, scratch=scratch, sha256=file.sha256)
        for file in files
    ]
    for dump in dumps:
        if not dump.complete and not options.allow_truncated:
            raise CorpusError(f"{dump.why} (--allow-truncated reads what is there.)")
    tables = {
        f"templates {n}": describe_file(f"templates {n}", path)
        for n, path in enumerate(options.templates)
    }
    settings = _settings(options, [dump.site for dump in dumps], file=files[0].name)
    _say_doubts(options, files, dumps)
    _say_missing_tables(settings["wiki"], settings["lang"])
    parts = [
        (file, range_.to_json())
        for file, dump in zip(files, dumps, strict=True)
        for range_ in dump.ranges
    ]
    settings["abbreviations"] = _abbreviations(
        options, settings, parts, earlier=earlier, scratch=scratch
    )
    if options.limit is not None:
        parts = list(_limited(parts, options.limit, settings, scratch=scratch))
    scratch_name = {"scratch": str(scratch.absolute())}
    extract_units = tuple(
        Unit(number, (file,), tables, settings | scratch_name, part)
        for number, (file, part) in enumerate(parts)
    )
    made = Plan(
        pipeline="wikipedia_to_documents",
        datasets=DATASETS,
        parameters=settings | {"limit": options.limit, "exclude": list(options.exclude)},
        units=tuple(Unit(number, (), {}, settings) for number in range(len(parts))),
        auxiliary=tables,
        stages=(Stage("extract", extract_units, FOUND),),
    )
    return with_earlier(made, earlier) if earlier else made


def _settings(options: Options, sites: Sequence[Any], *, file: str) -> dict[str, Any]:
    """What all units must know; ``file`` is the name of a dump's file, which may hold its date.

    Raises ``UsageError`` where the files are of several wikis.
    """
    from corpora.wikipedia.articles import license_of
    from corpora.wikipedia.titles import language_of

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
    return {
        "wiki": name,
        "lang": lang,
        "site": {
            "name": name,
            "lang": lang,
            "base": site.base,
            "case_sensitive": site.case_sensitive,
            "namespaces": dict(site.namespaces),
        },
        "namespaces": sorted(options.namespaces),
        "disambiguation": options.disambiguation,
        "extractor": _extractor(options.extractor),
        "augment": options.augment,
        "right": options.right,
        "anchors": options.anchors,
        "license": options.license or license_of(site.base, file=file, generator=site.generator),
        "max_page_bytes": int(options.max_page_size * 1e6),
        "n_tables": len(options.templates),
    }


def _abbreviations(
    options: Options,
    settings: dict[str, Any],
    parts: Sequence[tuple[InputFile, dict[str, Any]]],
    *,
    earlier: Any,
    scratch: Path,
) -> dict[str, Any] | None:
    """The table of abbreviations in place of our own for the language, if there is to be one.

    That of ``--abbreviations``, or, where we have none, that of the earlier run (its sentences are
    taken over), or one that is learned from the first pages, whatever ``--limit`` says.
    """
    from corpora.abbreviations import learn
    from corpora.sentence_tables import read_toml
    from corpora.sentences import has_table
    from corpora.wikipedia.readers import reader_of

    if options.abbreviations:
        return read_toml(options.abbreviations)
    if has_table(settings["lang"]):
        return None
    before = earlier.plan["parameters"] if earlier else {}
    if before.get("lang") == settings["lang"] and before.get("abbreviations"):
        return dict(before["abbreviations"])
    reader = reader_of(settings | {"abbreviations": None}, options.templates)
    pages = (page for file, part in parts for page in _pages(file, part, settings, scratch=scratch))
    return learn(reader.texts(pages)) or None


def _say_doubts(options: Options, files: Sequence[InputFile], dumps: Sequence[Any]) -> None:
    """Warn where a file's name and its head disagree, unless the user has said what it is."""
    if options.wiki and options.lang:
        return
    for file, dump in zip(files, dumps, strict=True):
        if dump.site.doubt:
            _log.warning(
                "%s: %s. The <siteinfo> is believed; if it is wrong, say --wiki and --lang.",
                file.name,
                dump.site.doubt,
            )


def _say_missing_tables(wiki: str, lang: str) -> None:
    from corpora.wikipedia.readers import missing_tables

    if missing := missing_tables(wiki, lang):
        _log.warning("%s (%s): there is no table of %s.", wiki, lang, "; of ".join(missing))


def _extractor(name: str) -> str:
    """The engine, with its version where it is not our own: another one makes other bytes."""
    return name if name == "onoma" else f"{name} {version(name)}"


def _limited(
    parts: Sequence[tuple[InputFile, dict[str, Any]]],
    limit: int,
    settings: dict[str, Any],
    *,
    scratch: Path,
) -> Iterator[tuple[InputFile, dict[str, Any]]]:
    """The ranges that hold the first pages; the last one says how many of its are taken."""
    for file, part in parts:
        n = 0
        for _ in _pages(file, part, settings, scratch=scratch):
            n += 1
            if n == limit:
                yield file, part | {"limit": n}
                return
        limit -= n
        yield file, part


def _pages(
    file: InputFile,
    part: dict[str, Any],
    settings: dict[str, Any],
    *,
    scratch: Path,
    find: Callable[[str], Any] | None = None,
) -> Iterator[Any]:
    from corpora.wikipedia.dump import Range, read_pages

    place = {name: value for name, value in part.items() if name != "limit"}
    yield from islice(
        read_pages(
            file.check(),
            Range.from_json(place),
            source=file.name,
            max_page_bytes=settings["max_page_bytes"],
            scratch=scratch,
            sha256=file.sha256,
            find=find,
        ),
        part.get("limit"),
    )


def extract(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Read the pages of a range: documents whose links still name what is written, redirects.

    Of a page that an earlier run has a row of, only the place of the row is noted.
    """
    from corpora.wikipedia.readers import reader_of
    from corpora.wikipedia.reuse_places import Place, earlier_of
    from corpora.wikipedia.reuse_rows import PageRows

    settings = dict(unit.settings)
    reader = reader_of(settings, list(_tables(unit)))
    [file] = unit.inputs
    pieces = Path(settings["scratch"])
    old = earlier_of(settings.get("earlier"), kept=scratch.carried)
    rows = PageRows(reader.documents, file.name, old)
    for page in _pages(file, dict(unit.part), settings, scratch=pieces, find=rows.find):
        if isinstance(page, Rejected):
            yield page
        elif isinstance(page, Place):
            rows.take(page)
            yield Written(())
        else:
            yield from _outcomes(reader, page, rows, source=file.name)
        if rows.n_characters >= BATCH_CHARACTERS:
            yield Rows("pages", rows.batch())
    yield Rows("pages", rows.batch())
    yield Rows("found_redirects", _redirect_batch(reader.redirects))
    yield Rows("meanings", _titles_batch([*reader.meanings, *rows.meanings]))
    yield Counts(reused=rows.reused)


def _outcomes(reader: Any, page: Any, rows: Any, *, source: str) -> Iterator[Yield]:
    """Read a page, and say what became of it; name those without text."""
    from corpora.record_errors import read_record

    reason = read_record(
        partial(_read, reader, page, source=source),
        source=source,
        position=page.position,
        excerpt=page.text,
    )
    counters = reader.ledger.taken()
    if isinstance(reason, Rejected):
        yield reason
        return
    if reason:
        yield Filtered(source, reason)
        if reason == "no_text":
            yield Counts({f"no_text/{page.title}": 1})
        return
    rows.add(page.hash, counters, meaning=reader.meaning_of(page))
    yield Written(())


def _read(reader: Any, page: Any, *, source: str) -> str | Rejected:
    """Read a page; why it is left out, empty if it is not."""
    from corpora.wikipedia.wikiextractor import ExtractorError

    try:
        return str(reader.read(page, source=source))
    except ExtractorError as error:
        return Rejected(
            source=source,
            position=page.position,
            reason="extractor_failed",
            message=f"{source}: {page.position}: page {page.title!r}: {error}",
            excerpt=page.text[:200],
        )


def _tables(unit: Unit) -> Iterator[Path]:
    """Where the user's tables of templates are."""
    for number in range(unit.settings["n_tables"]):
        table = unit.auxiliary[f"templates {number}"]
        table.read()  # raises where it changed since the plan was made
        yield Path(table.path)


def _redirect_batch(redirects: Sequence[Any]) -> Any:
    import pyarrow as pa

    from corpora.schemas import SCHEMAS

    schema = SCHEMAS["redirects"].columns
    columns = [[getattr(redirect, name) for redirect in redirects] for name in schema.names]
    return pa.RecordBatch.from_arrays([pa.array(c, pa.string()) for c in columns], schema=schema)


def _titles_batch(titles: Sequence[str]) -> Any:
    import pyarrow as pa

    from corpora.schemas import SCHEMAS

    schema = SCHEMAS["meanings"].columns
    return pa.RecordBatch.from_arrays([pa.array(sorted(titles), pa.string())], schema=schema)


def after_extract(scratch: Scratch) -> Iterator[Yield]:
    """Build the table of redirects, and find pages that stand twice in the dump."""
    from corpora.doubles import find_doubles
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches
    from corpora.wikipedia.redirects import build_table
    from corpora.wikipedia.unmatched import build_unmatched

    schema = SCHEMAS["redirects"]
    summary = build_table(
        scratch.tables / "redirects",
        (
            batch.filter(batch.column("resolved").is_null())  # not those to other wikis
            for path in scratch.shards("found_redirects")
            for batch in read_batches(path, schema, columns=("title", "target", "resolved"))
        ),
    )
    yield Counts(
        {
            "redirects.all": summary.n_redirects,
            "redirects.chains": summary.n_chains,
            "redirects.longest_chain": summary.longest_chain,
            "redirects.loops": summary.n_loops,
            "redirects.too_long": summary.n_too_long,
            "redirects.doubles": summary.n_doubles,
        }
    )
    build_unmatched(
        scratch.tables / "unmatched",
        (
            batch
            for path in scratch.shards("meanings")
            for batch in read_batches(path, SCHEMAS["meanings"])
        ),
    )
    rejected = list(find_doubles(scratch))
    yield Counts(written=-len(rejected), rejected=rejected)


def write(unit: Unit, scratch: Scratch) -> Iterator[Yield]:
    """Resolve the links of a unit's documents, match titles, and finish its redirects."""
    from corpora.canonical import canonical
    from corpora.doubles import without_doubles
    from corpora.record_errors import read_rows
    from corpora.schemas import SCHEMAS
    from corpora.shards import read_batches
    from corpora.wikipedia.readers import resolver_of, unmatched_in
    from corpora.wikipedia.redirects import RedirectTable
    from corpora.wikipedia.reuse import AGAIN
    from corpora.wikipedia.reuse_rows import TakenRows

    taken = TakenRows(scratch.carried)
    table = RedirectTable(scratch.tables / "redirects")
    unmatched = unmatched_in(scratch.tables / "unmatched", unit.settings)
    resolver = resolver_of(unit.settings, table, unmatched)
    for dataset in ("pages", "found_redirects"):
        schema = FOUND[dataset]
        path = scratch.shard(dataset, unit.number)
        batches = read_batches(path, SCHEMAS[schema])
        if dataset == "pages":
            batches = map(taken.fill, batches)  # which looks at each row, doubles too
        for batch in without_doubles(batches, scratch, dataset=dataset, number=unit.number):
            if dataset == "pages":
                for _, finished in read_rows(batch, lambda rows: canonical(resolver.finish(rows))):
                    if isinstance(finished, Rejected):
                        yield Counts(written=-1, rejected=[finished])
                        continue
                    for name in ("documents", "reuse"):
                        yield Rows(name, finished.select(SCHEMAS[name].columns.names))
            else:
                resolved = table.finals(batch.column("title"))
                yield Rows("redirects", batch.set_column(4, batch.schema.field(4), resolved))
    yield Counts(resolver.counters, reused={AGAIN: resolver.n_again} if resolver.n_again else {})


def write_side_files(build: Build) -> None:
    """Write the report."""
    from corpora.abbreviations import to_toml
    from corpora.shards import write_text
    from corpora.wikipedia.report import to_markdown

    write_text(build.side / "report.md", [to_markdown(build)])
    if table := build.plan.parameters["abbreviations"]:
        write_text(build.side / "abbreviations.toml", [to_toml(table)])


def next_steps(options: Options) -> list[str]:
    """What to look at, and what to type next."""
    from corpora.wikipedia.reuse import say_reused

    output = options.output
    return [
        *say_reused(output),
        f"made  {output}/documents, {output}/redirects (datasets)",
        f"      {output}/reuse, for the next run: --reuse {output} reads changed pages only",
        f"read  {output}/report.md: what became of every page, link, number and template",
        f"next  python -m corpora.shards verify {output}",
        f"      python -m corpora.shards show {output}/documents --limit 1",
        f"      python -m pipelines.documents_to_entity_vocab --input {output}/documents …",
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the pipeline."""
    return run("pipelines.wikipedia_to_documents", argv)


if __name__ == "__main__":
    sys.exit(main())
