"""Compare what is read of rendered pages with the HTML of MediaWiki's own parser tests.

    git clone --depth 1 https://github.com/wikimedia/mediawiki-services-parsoid
    python -m benchmarks.parser_tests mediawiki-services-parsoid/tests/parser/*.txt [--show 20]

A test of these files (GPL, and so no part of this project) holds the HTML that a parser makes:
the old one's, Parsoid's, or one for both. Each is read by ``extract``, and by lxml alone: the words
in their order, single signs too, and the links to articles by target and text. A test is equal if
all of its HTML is. Taken out before are the elements that are no text by design: ``BY_DESIGN``.
"""

import argparse
import re
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from lxml import html

from benchmarks.inputs import existing
from corpora.wikipedia.html.text import extract
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import Wiki, wiki_of

SECTION = re.compile(r"^!! *(\S+).*\n", re.MULTILINE)
HTML = re.compile(r"html\b|result\b")
"""Matches the names of the sections that hold HTML."""
NO_PAGE = re.compile(r"^(?:pst|msg|comment|preload|disabled|nohtml)\b|html2wt|selser", re.MULTILINE)
"""Matches the options of tests whose HTML no parser made as a page."""
VARIANT = 'typeof="mw:LanguageVariant"'
"""Stands in HTML that holds its text as data, for a script to choose from."""
WORD = re.compile(r"\w+|[^\w\s]")
NAMESPACES = {"MemoryAlpha": 100, "MemoryAlpha talk": 101}
"""The namespaces of the wiki of the tests that other wikis lack."""
BY_DESIGN = {
    "tables": "//table",
    "references": '//*[contains(@class, "reference") or contains(@typeof, "mw:Extension/ref")]',
    "hidden, or no prose": "//style | //script | //meta | //link | //comment() | //audio | //video",
    "formulas": '//math | //*[contains(@class, "mwe-math-element")]',
    "edit links, tables of contents": '//*[contains(@class, "mw-editsection") or @id = "toc"]',
    "errors": '//*[contains(concat(" ", @class, " "), " error ")]',
    "numbers of links to other sites": '//a[contains(@class, "autonumber")]',
    "captions that are not shown": '//figure[not(contains(@typeof, "Thumb") or '
    'contains(@typeof, "Frame"))]/figcaption',
    "code": '//*[contains(@class, "mw-highlight")]',
}
BLOCKS = {
    "p", "div", "h1", "h2", "h3", "h4", "h5", "h6", "li", "dd", "dt", "ul", "ol", "dl", "hr", "pre",
    "blockquote", "center", "section", "figure", "figcaption", "br",
}  # fmt: skip

Shown = tuple[list[str], Counter[tuple[str, str]]]
"""The words that a page shows, and its links by target and text."""


def tests_of(path: Path) -> Iterator[tuple[str, str, dict[str, str]]]:
    """Yield name, options and HTML, by its section, of the tests of a file."""
    pieces = SECTION.split(path.read_text(encoding="utf-8", errors="replace"))
    parts: dict[str, str] = {}
    for name, content in zip(pieces[1::2], pieces[2::2], strict=True):
        if name == "test":
            parts = {}
        parts[name] = content
        options = parts.get("options", "")
        if name == "end" and "test" in parts and not NO_PAGE.search(options):
            pages = {
                key: text
                for key, text in parts.items()
                if HTML.match(key) and text.strip() and VARIANT not in text
            }
            if pages:
                yield parts["test"].strip(), options, pages


def expected(source: str, wiki: Wiki, title: str) -> Shown:
    """Return what lxml reads of a page."""
    root = html.fragment_fromstring(source, create_parent="div")
    for path in BY_DESIGN.values():
        for node in root.xpath(path):
            if node.getparent() is not None:
                node.drop_tree()
    links: Counter[tuple[str, str]] = Counter()
    for node in root.iter("a"):
        target, shown = _target(node, wiki, title), " ".join(_text(node).split())
        if target and shown:
            links[target, shown] += 1
    return WORD.findall(_text(root)), links


def _text(node: Any) -> str:
    parts = [node.text or ""]
    for child in node:
        space = "\n" * (child.tag in BLOCKS)
        parts += space, _text(child), space, child.tail or ""
    return "".join(parts).replace("\u00ad", "")


def _target(node: Any, wiki: Wiki, title: str) -> str:
    """Return the article to which a link leads; empty for other links."""
    names, address = node.get("class") or "", node.get("href") or ""
    if "selflink" in names and not address:
        return title
    place = re.match(
        rf"(?:/wiki/|\./|/index\.php\?title=|(?:https?:)?//{wiki.lang}\.wikipedia\.org/wiki/)([^?#]+)",
        address.partition("&action=")[0],
    )
    if not place or "PageProp" in (node.get("rel") or "") or "external" in names:
        return ""
    name = wiki.title(unquote(place[1]))
    is_section = "#" in address and name == title
    return "" if is_section or wiki.target(f":{name}").reason else name


def given(source: str, wiki: Wiki, title: str) -> Shown:
    """Return what Onoma reads of a page; links to other wikis are not counted."""
    page = extract(source, wiki, load_templates(wiki.codes), title=title)
    links = Counter(
        (link.target, " ".join(page.text[link.start : link.end].split()))
        for link in page.links
        if not link.target.startswith(":")
    )
    return WORD.findall(page.text), links


def main() -> None:
    """Read all tests, and print what is equal."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("files", nargs="+", type=existing)
    parser.add_argument("--show", type=int, default=0, metavar="N", help="differing pages")
    arguments = parser.parse_args()
    counts: Counter[str] = Counter()
    for path in arguments.files:
        for name, options, pages in tests_of(path):
            title = re.search(r"title=\[\[(.*?)\]\]", options)
            language = re.search(r"^language=(\S+)", options, re.MULTILINE)
            lang, own = language[1] if language else "en", title[1] if title else "Parser test"
            wiki = wiki_of(name=f"{lang}wiki", lang=lang, namespaces=NAMESPACES)
            equal = Counter({"words": 1, "links": 1})
            for key, source in pages.items():
                (words, links), (own_words, own_links) = (
                    read(source, wiki, own) for read in (expected, given)
                )
                equal["words"] &= words == own_words
                equal["links"] &= links == own_links
                if (words, links) != (own_words, own_links) and arguments.show > 0:
                    arguments.show -= 1
                    print(
                        f"\n## {path.name}: {name} ({key})\n{source}\n--\n  {words}\n  {own_words}"
                    )
                    print(f"  {links - own_links}\n  {own_links - links}")
            counts += Counter(
                tests=1, links=equal["links"], words=equal["words"], both=min(equal.values())
            )
    if not counts:
        sys.exit(f"{arguments.files[0]}: no tests in it. Name files of MediaWiki's parser tests.")
    for key, n in counts.items():
        print(f"{key}: {n:,} ({n / counts['tests']:.2%})")


if __name__ == "__main__":
    main()
