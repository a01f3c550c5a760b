"""Compare text and links with the HTML that MediaWiki makes, on its own parser tests.

    git clone --depth 1 https://github.com/wikimedia/mediawiki-services-parsoid
    python -m benchmarks.parser_tests mediawiki-services-parsoid/tests/parser/*.txt [--show 20]

A test of these files is wikitext, and the HTML that the reference implementation makes of it. They
are GPL, and so no part of this project. The words of the HTML (also single signs) are compared with
those of ``extract`` in their order, the links by target and text, and the blocks (paragraphs,
headings, items) by their words.

Taken out of the HTML is what the text leaves out: tables, references, files and galleries with
their captions, code, formulas, links to edit, tables of contents. Left out are tests with a
template, parameter or tag that is dropped, and those that test something else: other options of the
parser, raw HTML, HTML to wikitext. docs/wikipedia.md says what differs by design.
"""

import argparse
import difflib
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import html

from benchmarks.inputs import existing
from corpora.wikipedia.blocks import PageText
from corpora.wikipedia.templates import TemplateTable, load_templates
from corpora.wikipedia.titles import Wiki, wiki_of
from corpora.wikipedia.wikitext import extract

SECTION = re.compile(r"^!! *(\S+).*\n", re.MULTILINE)
WORD = re.compile(r"\w+|[^\w\s]")
NAMESPACES = {"MemoryAlpha": 100, "MemoryAlpha talk": 101}
"""The namespaces of the wiki of the tests that other wikis lack."""
HTML = ("html/php", "html", "html/*", "html/parsoid")
"""The sections that hold the HTML, the best first."""
OTHER = re.compile(
    r"^(?:pst|msg|comment|preload|disabled|nohtml|wgRawHtml|annotations|wgAllowExternalImages\w*|"
    r"externalimages|styletag)\b|\b(?:(?:html|wt)Variant\w+|variant|section|replace)=|html2wt|selser",
    re.MULTILINE,
)
"""Matches the options of tests of something else."""
NO_WIKITEXT = re.compile(r"<(?:\w*tag\w*|tåg|i18n\w+|html|translate|tvar)\b", re.IGNORECASE)
"""Matches tags of extensions that only these tests have."""
SHOWN = {"1x": "{1}"}
"""The template that many of these tests call."""
REDIRECT = re.compile(r"\s*#\w+\s*:?\s*\[\[")
DROPPED = """
//table | //figure | //img | //audio | //video | //style | //script | //meta | //link | //math
| //comment() | //*[contains(@typeof, "mw:File") or contains(@typeof, "mw:Error")]
| //*[contains(concat(" ", @class, " "), " gallery ")] | //*[contains(@class, "mw-editsection")]
| //*[contains(@class, "reference")] | //*[@id = "toc"] | //*[contains(@class, "mw-file")]
| //*[contains(@class, "thumb")] | //*[contains(@class, "mw-indicator")]
| //*[contains(@class, "mw-highlight")] | //a[contains(@class, "autonumber")]
| //*[contains(@class, "error")] | //sup[contains(@typeof, "mw:Extension/ref")]
"""
BLOCKS = {
    "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "dd", "dt", "ul", "ol", "dl", "hr", "pre",
    "blockquote", "center", "section", "caption",
}  # fmt: skip


@dataclass
class Shown:
    """What a page shows: the words of its blocks, and links as target and text."""

    blocks: list[list[str]]
    links: Counter[tuple[str, str]]

    @property
    def words(self) -> list[str]:
        """All words, in their order."""
        return [word for block in self.blocks for word in block]


@dataclass
class Test:
    """A test, and both results."""

    file: str
    name: str
    wikitext: str
    wanted: Shown
    given: Shown

    @property
    def missing(self) -> list[str]:
        """The words that only MediaWiki shows."""
        return _only(self.wanted.words, self.given.words)

    @property
    def beyond(self) -> list[str]:
        """The words that only Onoma shows."""
        return _only(self.given.words, self.wanted.words)

    @property
    def is_equal(self) -> bool:
        """Whether words and links are equal."""
        return (self.wanted.words, self.wanted.links) == (self.given.words, self.given.links)


@dataclass
class Reader:
    """A reader of files of tests, which counts those left out by reason."""

    left_out: Counter[str] = field(default_factory=Counter)
    _wikis: dict[str, tuple[Wiki, TemplateTable]] = field(default_factory=dict)

    def read(self, path: Path) -> Iterator[Test]:
        """Yield the tests of a file that can be compared."""
        for parts in sections(path.read_text(encoding="utf-8", errors="replace")):
            options, source = parts.get("options", ""), parts.get("wikitext", "")
            shown = next((parts[key] for key in HTML if key in parts), None)
            if shown is None or not source.strip():
                self.left_out["without wikitext or HTML"] += 1
            elif OTHER.search(options):
                self.left_out["test of something else"] += 1
            elif REDIRECT.match(source):
                self.left_out["redirect"] += 1
            elif NO_WIKITEXT.search(source):
                self.left_out["foreign tag"] += 1
            else:
                title = re.search(r"title=\[\[(.*?)\]\]", options)
                language = re.search(r"^language=(\S+)", options, re.MULTILINE)
                page, wiki = self.extract(
                    source, lang=language[1] if language else "en", title=title and title[1]
                )
                if page.templates:
                    self.left_out["template or tag that is dropped"] += 1
                    continue
                own = title[1] if title else "Parser test"
                wanted = of_html(shown, wiki, own)
                yield Test(path.name, parts["test"].strip(), source, wanted, of_page(page))

    def extract(self, source: str, *, lang: str, title: str | None) -> tuple[PageText, Wiki]:
        """Read wikitext as a page of a Wikipedia in a language."""
        if lang not in self._wikis:
            wiki = wiki_of(name=f"{lang}wiki", lang=lang, namespaces=NAMESPACES)
            templates = load_templates(wiki.codes)
            known = {**templates.render, **SHOWN}
            self._wikis[lang] = wiki, replace(templates, render=known)
        wiki, templates = self._wikis[lang]
        return extract(source, wiki, templates, title=title or "Parser test"), wiki


def sections(text: str) -> Iterator[dict[str, str]]:
    """Yield the sections of each test, by name."""
    pieces = SECTION.split(text)
    parts: dict[str, str] = {}
    for name, content in zip(pieces[1::2], pieces[2::2], strict=True):
        if name == "test":
            parts = {}
        parts[{"input": "wikitext", "result": "html"}.get(name, name)] = content.removesuffix("\n")
        if name == "end" and "test" in parts:
            yield parts
            parts = {}


def of_html(source: str, wiki: Wiki, title: str) -> Shown:
    """Return what a page of HTML shows."""
    root = html.fragment_fromstring(source, create_parent="div")
    for node in root.xpath(DROPPED):
        node.drop_tree()
    links: Counter[tuple[str, str]] = Counter()
    for node in root.iter("a"):
        target, shown = _target(node, wiki, title), " ".join(node.text_content().split())
        if target and shown:
            links[target, shown] += 1
    pieces: list[str] = []
    _write(root, pieces)
    return Shown(_blocks("".join(pieces).split("\n")), links)


def _target(node: Any, wiki: Wiki, title: str) -> str:
    """Return the article to which a link leads; empty for other links."""
    address = node.get("href") or ""
    if "mw-selflink" in (node.get("class") or ""):
        return title
    found = re.match(r"(?:/wiki/|\./|/index\.php\?title=)([^?&#]+)", address)
    if not found or "extiw" in (node.get("class") or "") or "Interwiki" in node.get("rel", ""):
        return ""
    name = wiki.title(unquote(found[1]))
    return "" if wiki.namespace(name) else name


def _write(node: Any, pieces: list[str]) -> None:
    """Write the text below a node; a block begins and ends a line."""
    is_block = node.tag in BLOCKS
    end = "\n" if is_block else " " if node.tag == "br" else ""
    pieces.append(end if is_block else "")
    pieces.append(_flat(node.text))
    for child in node:
        _write(child, pieces)
        pieces.append(_flat(child.tail))
    pieces.append(end)


def _flat(text: str | None) -> str:
    return re.sub(r"\s", " ", (text or "").replace("\u00ad", ""))


def of_page(page: PageText) -> Shown:
    """Return what Onoma reads, without captions."""
    kept = [block for block in page.blocks if block.kind != "caption"]
    links = Counter(
        (link.target, " ".join(page.text[link.start : link.end].split()))
        for link in page.links
        if any(block.start <= link.start < block.end for block in kept)
    )
    return Shown(_blocks([page.text[block.start : block.end] for block in kept]), links)


def _blocks(texts: Sequence[str]) -> list[list[str]]:
    return list(filter(None, (WORD.findall(text) for text in texts)))


def _only(these: list[str], those: list[str]) -> list[str]:
    matcher = difflib.SequenceMatcher(None, those, these, autojunk=False)
    return [
        word
        for what, _, _, start, end in matcher.get_opcodes()
        if what != "equal"
        for word in these[start:end]
    ]


def show_table(tests: Sequence[Test], left_out: Counter[str]) -> None:
    """Print the figures of each file, and of all."""
    print(
        "| file | tests | equal | blocks too | words | missing | too many | links | missing | "
        "too many |\n| --- |" + " ---: |" * 9
    )
    for name in [*dict.fromkeys(test.file for test in tests), "all"]:
        some = [test for test in tests if name in ("all", test.file)]
        equal = [test for test in some if test.is_equal]
        cells = (
            len(some),
            len(equal),
            sum(test.wanted.blocks == test.given.blocks for test in equal),
            sum(len(test.wanted.words) for test in some),
            sum(len(test.missing) for test in some),
            sum(len(test.beyond) for test in some),
            sum(test.wanted.links.total() for test in some),
            sum((test.wanted.links - test.given.links).total() for test in some),
            sum((test.given.links - test.wanted.links).total() for test in some),
        )
        print(f"| {name} | " + " | ".join(f"{cell:,}" for cell in cells) + " |")
    print("\nLeft out: " + ", ".join(f"{n:,} {why}" for why, n in left_out.most_common()) + ".")


def show_test(test: Test) -> None:
    """Print a test whose results differ."""
    print(f"\n## {test.file}: {test.name}\n{test.wikitext}\n--")
    if test.is_equal:
        print("  MediaWiki " + " | ".join(map(" ".join, test.wanted.blocks)))
        print("  Onoma     " + " | ".join(map(" ".join, test.given.blocks)))
    else:
        print("  missing  " + " ".join(test.missing))
        print("  too many " + " ".join(test.beyond))
    for said, links in (
        ("missing ", test.wanted.links - test.given.links),
        ("too many", test.given.links - test.wanted.links),
    ):
        for target, shown in links:
            print(f"  link {said} {target} '{shown}'")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("files", nargs="+", type=existing)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="differing tests")
    parser.add_argument("--blocks", action="store_true", help="show those with other blocks, too")
    arguments = parser.parse_args()
    reader = Reader()
    tests = [test for path in arguments.files for test in reader.read(path)]
    if not tests:
        sys.exit(f"{arguments.files[0]}: no tests in it. Name files of MediaWiki's parser tests.")
    show_table(tests, reader.left_out)
    differing = [
        test
        for test in tests
        if not test.is_equal or (arguments.blocks and test.wanted.blocks != test.given.blocks)
    ]
    for test in differing[: arguments.show]:
        show_test(test)


if __name__ == "__main__":
    main()
