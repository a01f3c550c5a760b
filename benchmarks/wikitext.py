"""Measure how fast wikitext is read and how much of it is kept, also by two other libraries.

    python -m benchmarks.wikitext jawiki-….xml.bz2 --pages 200

The same articles, one process, one run: onoma's ``extract``; wikiextractor's library call with
links kept, as its command makes it and as ``--extractor wikiextractor`` does (links with colons and
lists kept too); mwparserfromhell's ``parse``, alone and with its links collected. Speed is the
median of the repetitions, in MB of wikitext (UTF-8) a second. wikiextractor's command gets the
escaped text that it expects; escaping is not timed.

What is kept is measured against mwparserfromhell's tree: its text outside of templates, tables,
references, files, categories, other languages' links and tags that hold no prose. Words, numbers
(runs of digits) and links (targets in the wiki's one form) are counted as often as they occur, per
article. What an engine gives beyond that (rendered templates) is shown and not counted as kept.
Captions of files count for none; nor do articles in whose tree mwparserfromhell left markup (tables
and references that it could not read).
"""

import argparse
import random
import re
import statistics
import sys
import tempfile
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from mwparserfromhell import parse
from wikiextractor.extract import Extractor

from benchmarks.inputs import existing
from corpora.wikipedia import wikiextractor
from corpora.wikipedia.blocks import PageText
from corpora.wikipedia.dump import examine, read_pages
from corpora.wikipedia.pages import WikiPage
from corpora.wikipedia.siteinfo import SiteInfo
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import Wiki, wiki_of
from corpora.wikipedia.wikitext import extract

ONOMA, COMMAND, ADAPTED = "onoma", "wikiextractor, its command", "wikiextractor, as an engine"
NO_PROSE = {
    "ref", "references", "math", "chem", "ce", "timeline", "score", "hiero", "graph", "mapframe",
    "maplink", "imagemap", "gallery", "table", "templatestyles", "categorytree", "inputbox",
    "syntaxhighlight", "source", "includeonly",
}  # fmt: skip
SYLLABIC = "\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
WORD = re.compile(rf"[{SYLLABIC}]|[^\W\d_{SYLLABIC}]+")
NUMBER = re.compile(r"\d+")
UNREAD = re.compile(r"\{\||\|\}|^\s*\|-|\{\{|\}\}|</?(?:ref|table|td|tr|div)\b", re.MULTILINE)


@dataclass
class Sample:
    """Articles of a dump, and what is needed to read them: the wiki, and its templates."""

    site: SiteInfo
    pages: list[WikiPage]

    def __post_init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Forget titles and templates that were read."""
        self.wiki = open_wiki(self.site)
        self.templates = load_templates(self.site.lang)

    @property
    def megabytes(self) -> float:
        return sum(len(page.text.encode()) for page in self.pages) / 1e6


@dataclass
class Kept:
    """Counts of what an engine kept, over all pages."""

    wanted: Counter[str] = field(default_factory=Counter)
    kept: Counter[str] = field(default_factory=Counter)
    beyond: Counter[str] = field(default_factory=Counter)


def open_wiki(site: SiteInfo) -> Wiki:
    """Return the settings of the wiki of a dump."""
    return wiki_of(name=site.wiki, lang=site.lang, namespaces=site.namespaces)


def load(path: Path, n_pages: int, seed: int) -> Sample:
    """Choose articles of a dump at random."""
    with tempfile.TemporaryDirectory() as name:
        dump = examine(path, range_bytes=1 << 28, work_directory=Path(name))
        wiki = open_wiki(dump.site)
        found = [
            page
            for range_ in dump.ranges
            for page in read_pages(
                path, range_, source=path.name, max_page_bytes=1 << 27, work_directory=Path(name)
            )
            if isinstance(page, WikiPage) and is_article(page, wiki)
        ]
    chosen = random.Random(seed).sample(found, min(n_pages, len(found)))
    return Sample(dump.site, chosen)


def is_article(page: WikiPage, wiki: Wiki) -> bool:
    """Return whether a page is neither a redirect nor in another namespace."""
    namespace = wiki.namespace(page.title) if page.namespace is None else page.namespace
    is_redirect = page.redirect is not None or page.text.lstrip()[:1] == "#"
    return namespace == 0 and bool(page.text) and not is_redirect


# --- speed


def by_command(escaped: str, title: str) -> list[str]:
    """Call the library as ``wikiextractor --links --no-templates`` does."""
    task = Extractor("", "", "", title, [], keepLinks=True)
    lines: list[str] = task.clean_text(
        escaped, mark_headers=True, expand_templates=False, html_safe=False
    )
    return lines


def engines(sample: Sample) -> dict[str, Callable[[], Any]]:
    """Return what is timed, by name. Each reads all pages, and remembers no earlier time."""
    sample.forget()
    wiki, templates, pages = sample.wiki, sample.templates, sample.pages
    escaped = [(escape(page.text, quote=False), page.title) for page in pages]
    masked = [(wikiextractor.mask(page.text), page.title) for page in pages]
    return {
        ONOMA: lambda: [extract(page.text, wiki, templates, title=page.title) for page in pages],
        COMMAND: lambda: [by_command(*page) for page in escaped],
        ADAPTED: lambda: [wikiextractor.clean_lines(*page) for page in masked],
        "mwparserfromhell, parse": lambda: [parse(page.text) for page in pages],
        "mwparserfromhell, and links": lambda: [
            parse(page.text).filter_wikilinks() for page in pages
        ],
    }


def show_speed(sample: Sample, repeats: int) -> None:
    """Time all, one after the other, several times; print the medians."""
    seconds: dict[str, list[float]] = defaultdict(list)
    for _ in range(repeats):
        for name, read in engines(sample).items():
            begin = time.perf_counter()
            read()
            seconds[name].append(time.perf_counter() - begin)
    ours = statistics.median(seconds[ONOMA])
    print("| engine | MB/s | slowest–fastest | onoma is faster by |\n| --- | ---: | ---: | ---: |")
    for name, times in seconds.items():
        median, size = statistics.median(times), sample.megabytes
        spread = f"{size / max(times):.2f}–{size / min(times):.2f}"
        print(f"| {name} | {size / median:.2f} | {spread} | {median / ours:.2f} × |")


# --- how much is kept


def reference(source: str, wiki: Wiki) -> tuple[str, list[str]]:
    """Return text and targets of links, as mwparserfromhell's tree has them."""
    pieces: list[str] = []
    targets: list[str] = []
    walk(parse(source).nodes, wiki, pieces=pieces, targets=targets)
    return "".join(pieces), targets


def walk(nodes: Sequence[Any], wiki: Wiki, *, pieces: list[str], targets: list[str]) -> None:
    """Collect text and targets of links below the nodes, without tags that hold no prose."""
    for node in nodes:
        kind = type(node).__name__
        if kind == "Wikilink":
            walk_link(node, wiki, pieces=pieces, targets=targets)
        elif kind == "Tag":
            name = str(node.tag).strip().lower()
            if name in ("br", "li", "dd", "dt", "hr"):
                pieces.append("\n")
            if name not in NO_PROSE and node.contents is not None:
                walk(node.contents.nodes, wiki, pieces=pieces, targets=targets)
        elif kind == "Heading" or (kind == "ExternalLink" and node.title is not None):
            walk(node.title.nodes, wiki, pieces=pieces, targets=targets)
        elif kind == "ExternalLink" and not node.brackets:
            pieces.append(str(node))
        elif kind in ("Text", "HTMLEntity"):
            pieces.append(str(node if kind == "Text" else node.normalize()))


def walk_link(node: Any, wiki: Wiki, *, pieces: list[str], targets: list[str]) -> None:
    """Collect the text and target of a link.

    Links to files, categories and other languages are left out.
    """
    target = wiki.target(str(node.title))
    if target.reason in ("file", "category", "interlanguage"):
        return
    if not target.reason:
        targets.append(target.title)
    shown = node.title if node.text is None else node.text
    walk(shown.nodes, wiki, pieces=pieces, targets=targets)


def counted(text: str, targets: Sequence[str]) -> dict[str, Counter[str]]:
    """Count words, numbers and links."""
    text = unicodedata.normalize("NFKC", text.replace("\u00ad", ""))
    words = Counter(WORD.findall(text))
    return {"words": words, "numbers": Counter(NUMBER.findall(text)), "links": Counter(targets)}


def prose(page: PageText) -> str:
    """Return the text of a page without captions."""
    return "\n".join(
        page.text[start:end] for start, end, kind, _ in page.blocks if kind != "caption"
    )


def results(page: WikiPage, sample: Sample) -> dict[str, PageText]:
    """Return what each engine makes of a page, by its name."""
    wiki, title = sample.wiki, page.title
    command = by_command(escape(page.text, quote=False), title)
    adapted = wikiextractor.clean_lines(wikiextractor.mask(page.text), title)
    pages = {
        ONOMA: extract(page.text, wiki, sample.templates, title=title, today=page.timestamp[:10])
    }
    for name, lines in ((COMMAND, command), (ADAPTED, adapted)):
        reader = wikiextractor.ExtractorReader(wiki)
        reader.read("\n".join(lines))
        pages[name] = PageText()
        reader.fill(pages[name])
    return pages


def show_kept(sample: Sample) -> None:
    """Print ratios of what is kept."""
    sums: dict[str, Kept] = defaultdict(Kept)
    n_unread = 0
    for page in sample.pages:
        text, targets = reference(page.text, sample.wiki)
        is_read = not UNREAD.search(text)
        n_unread += not is_read
        wanted = counted(text, targets)
        for name, result in results(page, sample).items():
            if is_read:
                given = counted(prose(result), [link.target for link in result.links])
                add(sums[name], wanted, given)
    n_read = len(sample.pages) - n_unread
    print(f"\nOf {n_read} articles; mwparserfromhell left markup in {n_unread} others.")
    show_ratios(sums)


def show_ratios(sums: Mapping[str, Kept]) -> None:
    """Print the table of what each engine keeps."""
    kinds = ("words", "numbers", "links")
    print("\n| engine |" + "".join(f" {kind} kept | beyond |" for kind in kinds))
    print("| --- |" + " ---: | ---: |" * len(kinds))
    for name, kept in sums.items():
        cells = [
            f" {percentage(part, kept.wanted[kind])} |"
            for kind in kinds
            for part in (kept.kept[kind], kept.beyond[kind])
        ]
        print(f"| {name} |{''.join(cells)}")


def add(kept: Kept, wanted: dict[str, Counter[str]], given: dict[str, Counter[str]]) -> None:
    """Count what is in both, and what only the engine has."""
    for kind, counter in wanted.items():
        kept.wanted[kind] += counter.total()
        kept.kept[kind] += (counter & given[kind]).total()
        kept.beyond[kind] += (given[kind] - counter).total()


def percentage(part: int, whole: int) -> str:
    """Show a part of a whole as a percentage; a dash if the whole is 0."""
    return f"{100 * part / whole:.2f} %" if whole else "–"


def main() -> None:
    """Read the options, and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("dump", type=existing)
    parser.add_argument("--pages", type=int, default=200, metavar="N", help="articles, at random")
    parser.add_argument("--repeats", type=int, default=5, metavar="K")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    sample = load(arguments.dump, arguments.pages, arguments.seed)
    if not sample.pages:
        sys.exit(f"{arguments.dump}: no articles in it.")
    print(
        f"{arguments.dump.name}: {len(sample.pages)} articles, {sample.megabytes:.2f} MB of "
        f"wikitext, median of {arguments.repeats}, Python {sys.version.split()[0]}\n"
    )
    show_speed(sample, arguments.repeats)
    show_kept(sample)


if __name__ == "__main__":
    main()
