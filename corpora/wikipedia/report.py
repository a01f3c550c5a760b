"""``report.md``: the outcomes of all pages, links, numbers and templates of a dump."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.repeated_ids import Hashes
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.hashing.strings import long_hashes
from corpora.matching.arrays import run_begins
from corpora.runs.build import Build
from corpora.segmentation.sentences import table_name
from corpora.system.threads import map_in_order
from corpora.wikipedia.aside import KINDS
from corpora.wikipedia.ledger import LONG_SENTENCE, is_link_fate, links_add_up
from corpora.wikipedia.settings import WikiSettings

N_NAMES = 100
"""The most templates that are listed; ``counters.json`` has all."""
_LEAST_NEW = 1 << 16  # fewer new hashes are not worth a merge
_PLACES = {
    "text": "in the text",
    "in_templates": "in dropped templates",
    "in_tables": "in tables",
    "in_notes": "in templates left out on purpose",
}
_FATES = {
    "mentions": "became mentions",
    "file": "the file itself (links in its caption are mentions)",
    "category": "categories",
    "interlanguage": "the same article in another language",
    "interwiki": "another wiki or project that is no mention; the text stays",
    "namespace": "another namespace; the text stays",
    "section": "a section of the same page; the text stays",
    "subpage": "a subpage; the text stays",
    "empty": "without any text",
    "malformed": "never closed, or no title; the text stays",
    "in_template": "inside a template that is dropped",
    "in_table": "inside a table",
    "in_reference": "inside a reference",
    "in_comment": "inside a comment",
    "in_tag": "inside nowiki, math, gallery …",
}


_OF_IDS = ("ids.", "page_props.found")
_LENGTHS = {
    "sentences.one_word": "of one word",
    "sentences.long": f"longer than {LONG_SENTENCE} characters",
}
USUAL = {"sentences.one_word": 0.10, "sentences.long": 0.005}
"""The largest usual ratios to all sentences; real dumps in five languages have 2.6 to 8.3 %, and 0
to 0.02 %."""


def to_markdown(build: Build, settings: WikiSettings) -> str:
    """Write the report of a finished run."""
    counters, account = Counter(build.counters), build.accounting
    sections = [
        [f"# {settings.site.wiki}: from dump to documents", ""],
        _ratio(counters),
        _pages(account.read, account.written, account.filtered, rejected=account.rejected),
        _without_text(counters),
        _ids(counters, account.written),
        _left_out(counters),
        _links(counters),
        _redirects(counters),
        _numbers(counters),
        _sentences(counters, _table(settings)),
        _tables(counters),
        _blocks(counters, settings.blocks),
        _expanded(counters) if settings.expand_templates else [],
        _augmentation(build, counters),
        _templates(counters),
    ]
    return "\n".join(line for section in sections for line in section)


def _ratio(counters: Counter[str]) -> Iterator[str]:
    """Write how many words, numbers and links are in the text, and how many in what is left out."""
    links = {f"links.{name}": counters[f"links.{name}"] for name in _FATES}
    of = dict(counters) | {
        "numbers.text": counters["numbers.in_wikitext"],
        "links.text": links["links.mentions"],
        "links.in_templates": links["links.in_template"],
        "links.in_tables": links["links.in_table"],
        "links.in_notes": 0,
    }
    yield from ("## What is in the text, and what is not", "")
    yield "| | " + " | ".join(_PLACES.values()) + " |"
    yield f"| --- {'| ---: ' * len(_PLACES)}|"
    for what in ("words", "numbers", "links"):
        numbers = [of.get(f"{what}.{place}", 0) for place in _PLACES]
        all_ = max(sum(numbers), 1)
        yield f"| {what} | " + " | ".join(f"{n:,} ({n / all_:.1%})" for n in numbers) + " |"
    yield from (
        "",
        "Words are what stands between white space, every two characters where there is none; of",
        "templates and tables without names, pipes and equals signs. References are not counted;",
        "links of templates that are left out on purpose stand with the other templates.",
        "",
    )


def _pages(
    read: int, written: int, filtered: Mapping[str, int], *, rejected: Mapping[str, int]
) -> Iterator[str]:
    yield from ("## Pages", "", "| what became of them | pages |", "| --- | ---: |")
    yield f"| written as documents | {written:,} |"
    for name, n in filtered.items():
        yield f"| filtered: {name} | {n:,} |"
    for name, n in rejected.items():
        yield f"| **rejected: {name}** (see `rejected.jsonl`) | {n:,} |"
    yield from (f"| **read** | {read:,} |", "")


def _without_text(counters: Counter[str]) -> Iterator[str]:
    """Report the articles that were left out because they have no text."""
    titles = sorted(_by_name(counters, "no_text/"))
    if not titles:
        return
    shown = ", ".join(map(_cell, titles[:N_NAMES]))
    more = f" … and {len(titles) - N_NAMES:,} more, in `counters.json`"
    yield f"Without text (tables, templates, nothing): {shown}{more * (len(titles) > N_NAMES)}."
    yield ""


def _by_name(counters: Counter[str], kind: str) -> dict[str, int]:
    """Select the counters with a prefix, by the name after it."""
    return {name.removeprefix(kind): n for name, n in counters.items() if name.startswith(kind)}


def _cell(name: str) -> str:
    """Escape a name for a cell of a Markdown table."""
    return name.replace("|", "\\|").replace("\n", " ")


def _ids(counters: Counter[str], n_pages: int) -> Iterator[str]:
    """Report how many pages have an id or a type, by scheme and type."""
    found = {name: n for name, n in counters.items() if name.startswith((*_OF_IDS, "types."))}
    yield from ("## Ids and types", "")
    if not found:
        yield from ("No page has an id in an authority file, or a type.", "")
        return
    yield from ("| pages with | pages | of all |", "| --- | ---: | ---: |")
    named = {
        "page_props.found": "a Wikidata item, of `page_props`",
        "ids.pages": "an id in their wikitext",
        "ids.malformed": "*malformed ids*",
    }
    order = sorted(found, key=lambda name: (name not in named, name[:4], -found[name], name))
    for name in order:
        kind, _, rest = name.partition(".")
        what = named.get(name) or (f"`{rest}`" if kind == "ids" else f"the type {rest}")
        yield f"| {what} | {found[name]:,} | {found[name] / max(n_pages, 1):.1%} |"
    yield ""


def _links(counters: Counter[str]) -> Iterator[str]:
    yield from ("## Links in the source of the written pages", "")
    yield from ("| what became of them | links |", "| --- | ---: |")
    for name, n in sorted(counters.items(), key=lambda item: (-item[1], item[0])):
        if is_link_fate(name) and n:
            fate = name.removeprefix("links.")
            left_out = f"left out of the rendered page: {fate.removeprefix('in_')}"
            yield f"| {_FATES.get(fate, left_out)} | {n:,} |"
    yield f"| **in the source** | {counters.get('links.in_wikitext', 0):,} |"
    if created := counters.get("links.created"):
        yield f"| shown twice by a template | {created:,} |"
    sums = "adds up" if links_add_up(counters) else "**does not add up: please report this**"
    yield from ("", f"The ledger {sums}.", "")


def _tables(counters: Counter[str]) -> Iterator[str]:
    yield from ("## Tables", "")
    yield (
        f"{counters.get('tables.dropped', 0):,} tables were dropped whole, and "
        f"{counters.get('tables.stray_lines', 0):,} lines of tables that never open or never close."
    )
    yield ""


def _blocks(counters: Counter[str], asked: Sequence[str]) -> Iterator[str]:
    """Report the blocks that are kept beside the text."""
    if not asked:
        return
    yield from ("## Blocks beside the text", "")
    yield from ("| | blocks | cells | words | links |", "| --- | ---: | ---: | ---: | ---: |")
    for name in asked:
        kind = KINDS[name]
        columns = ("blocks", "block_cells", "block_words", "block_links")
        numbers = [counters[f"{column}.{kind}"] for column in columns]
        yield f"| {name} | " + " | ".join(f"{n:,}" for n in numbers) + " |"
    yield (
        f"\n{counters.get('blocks.inside', 0):,} of them stand in another block (tables in tables, "
        "references in tables and infoboxes). References are used again "
        f"{counters.get('blocks.used_again', 0):,} times; "
        f"{counters.get('blocks.undefined', 0):,} are used, but stand nowhere on their page."
    )
    yield ""


def _expanded(counters: Counter[str]) -> Iterator[str]:
    """Report the templates that are shown by their definition in the dump."""
    shown = _by_name(counters, "expanded/")
    names = sorted(shown, key=lambda name: (-shown[name], name))
    yield from ("## Templates shown by their definition in the dump", "")
    yield (
        f"{counters.get('templates.definitions', 0):,} definitions are text with "
        f"parameters, {counters.get('templates.redirects', 0):,} names lead to other templates. "
        f"{len(names):,} were used, {sum(shown.values()):,} times; "
        f"{counters.get('templates.not_expanded', 0):,} times this would have made a page too long."
    )
    yield ""
    if names:
        uses = ", ".join(f"{_cell(name)} ({shown[name]:,})" for name in names[:N_NAMES])
        yield from (f"Most often: {uses}.", "")


def _left_out(counters: Counter[str]) -> Iterator[str]:
    """Report the words of the parts of rendered pages that are no text."""
    left_out = _by_name(counters, "left_out/")
    if not left_out:
        return
    yield from ("## Left out of the rendered pages", "", "| reason | words |", "| --- | ---: |")
    for reason, n in sorted(left_out.items(), key=lambda pair: -pair[1]):
        yield f"| {reason} | {n:,} |"
    yield ""
    if n := counters["html.other_revision"]:
        yield f"{n:,} pages have HTML of another revision than their record says; it is read."
    if n := counters["html.errors"]:
        yield f"{n:,} error messages of templates: `metadata.template_errors` of their documents."
    yield ""


def _redirects(counters: Counter[str]) -> Iterator[str]:
    of = {name: counters[f"redirects.{name}"] for name in ("all", "chains", "longest_chain")}
    yield from ("## Redirects", "")
    yield (
        f"{of['all']:,} redirects, {of['chains']:,} of them chains (the longest has "
        f"{of['longest_chain']} steps); {counters.get('redirects.loops', 0):,} loop and "
        f"{counters.get('redirects.too_long', 0):,} are too long: links to these keep their title. "
        f"{counters.get('redirects.links', 0):,} links were led on by a redirect."
    )
    yield ""


def _numbers(counters: Counter[str]) -> Iterator[str]:
    lost, all_ = counters["numbers.lost"], counters["numbers.in_wikitext"]
    yield from ("## Numbers", "")
    yield (
        f"Of {all_:,} numbers in the wikitext outside markup, {lost:,} did not reach the text "
        f"({lost / max(all_, 1):.3%})."
    )
    yield ""


def _sentences(counters: Counter[str], table: str) -> Iterator[str]:
    """Report the table that cut the sentences, and the ratios of unusually long or short ones.

    Ratios above the usual get a warning.
    """
    n = counters["sentences.all"]
    yield from ("## Sentences", "", f"{n:,} outside headings, cut by {table}.")
    yield from ("", "| | sentences | share | usual |", "| --- | ---: | ---: | ---: |")
    wrong = []
    for name, usual in USUAL.items():
        ratio = counters[name] / max(n, 1)
        lengths = _LENGTHS[name]
        yield f"| {lengths} | {counters[name]:,} | {ratio:.1%} | up to {usual:.1%} |"
        if ratio > usual:
            wrong.append(lengths)
    if wrong:
        yield ""
        yield (
            f"**More than usual are {' and '.join(wrong)}.** Look at some: does the table know the "
            "abbreviations of the language, and what ends its sentences? `--abbreviations FILE` "
            "puts another in its place."
        )
    yield ""


def _table(settings: WikiSettings) -> str:
    if table := settings.abbreviations:
        n = sum(len(words) for words in table.values() if isinstance(words, list))
        return (
            f"`abbreviations.toml`: {n:,} abbreviations, given with `--abbreviations` or learned "
            "from the first pages (without a list of the language)"
        )
    if name := table_name(settings.site.lang):
        return f"`{name}`" if name.endswith(".toml") else name
    return "the rules of Unicode alone: there is no table, and nothing could be learned"


def _augmentation(build: Build, counters: Counter[str]) -> Iterator[str]:
    """Report the numbers of table 3.1 of the DaLUKE thesis, with and without matched titles.

    Words stand for the subwords of a tokenizer.
    """
    links, all_ = count_entities(build.shard_paths("documents"))
    matched = counters["mentions.title_match"] + counters["mentions.self_title"]
    n = counters["mentions.link"]
    rows = {
        "words": (counters["words.links"], counters["words.augmented"]),
        "entities": (links, all_),
        "mentions": (n, n + matched),
        "examples": (counters["examples.links"], counters["examples.augmented"]),
    }
    yield from ("## With and without matched titles", "")
    yield from (
        "| | links only | with matched titles | difference |",
        "| --- | ---: | ---: | ---: |",
    )
    for name, (before, after) in rows.items():
        yield f"| {name} | {before:,} | {after:,} | {(after - before) / max(before, 1):+.1%} |"
    yield from (
        "",
        "An example is as many sentences of a document in a row as have 510 words together;",
        "words are what stands between white space, or two characters where there is none.",
        "Examples without a mention are not counted.",
        f"Matches of the page's own title: {counters.get('mentions.self_title', 0):,}.",
        "",
    )


def count_entities(shards: Sequence[Path]) -> tuple[int, int]:
    """Count the distinct entities of the links in shards of documents, and of all mentions.

    Counts 64-bit hashes of names, at up to 34 bytes per entity. Among 10 million names, two have
    the same hash with a probability of 1 : 400,000.
    """
    links, others = Distinct(), Distinct()
    for of_links, of_others in map_in_order(_entities, shards):
        links.add(of_links)
        others.add(of_others)
    n_links = len(links.hashes())
    links.add(others.hashes())
    return n_links, len(links.hashes())


def _entities(path: Path) -> tuple[Hashes, Hashes]:
    """Hash the distinct entities of a shard: those of links, and those of other mentions."""
    links, others = [], []
    for batch in read_batches(path, SCHEMAS["documents"], columns=("mentions",)):
        structs = batch.column("mentions").flatten()
        is_link = pc.equal(structs.field("origin"), "link")
        entities = structs.field("entity")
        links.append(entities.filter(is_link))
        others.append(entities.filter(pc.invert(is_link)))
    of_links, of_others = (
        long_hashes(pc.unique(pa.chunked_array(column, pa.string())).drop_null())
        for column in (links, others)
    )
    return of_links, of_others


class Distinct:
    """A set of distinct hashes; new ones are merged in once they outnumber the known ones."""

    def __init__(self) -> None:
        self._known = np.empty(0, np.uint64)
        self._new: list[Hashes] = []
        self._n_new = 0

    def add(self, hashes: Hashes) -> None:
        """Add hashes to the set."""
        self._new.append(hashes)
        self._n_new += len(hashes)
        if self._n_new > max(len(self._known), _LEAST_NEW):
            self.hashes()

    def hashes(self) -> Hashes:
        """Return all distinct hashes, sorted."""
        every = np.concatenate([self._known, *self._new])
        self._known, self._new, self._n_new = every[:0], [], 0
        every.sort()
        self._known = every[run_begins(every)]
        return self._known


def _templates(counters: Counter[str]) -> Iterable[str]:
    """Report the templates and tags that dropped out: by words, then by holes, most first."""
    words, holes, dropped = (_by_name(counters, kind) for kind in ("words/", "hole/", "dropped/"))
    names = sorted(
        words.keys() | holes.keys(),
        key=lambda name: (-words.get(name, 0), -holes.get(name, 0), name),
    )
    yield from ("## Templates and tags that dropped out", "")
    yield (
        f"{len(names):,} kinds with {sum(words.values()):,} words dropped out, "
        f"{sum(holes.values()):,} times of a line with other text: there the offsets are in each "
        "document's metadata (`holes`), and the names (`hole_names`). A table given with "
        "`--templates` makes them show."
    )
    yield from ("", "| name | words | in all | out of a line |", "| --- | ---: | ---: | ---: |")
    for name in names[:N_NAMES]:
        of = words.get(name, 0), dropped.get(name, 0), holes.get(name, 0)
        yield f"| {_cell(name)} | " + " | ".join(f"{n:,}" for n in of) + " |"
    if len(names) > N_NAMES:
        yield f"| … {len(names) - N_NAMES:,} more, in `counters.json` | | | |"
    yield ""
