"""Compare words of tables, infoboxes, references and formulas with what mwparserfromhell finds.

    python -m benchmarks.wiki_blocks build/wiki-dumps/enwiki-2014-first-pages.xml.bz2 --pages 150

Prints for each kind of block how many words mwparserfromhell finds on the first pages, in cells
(outside templates), values of parameters, references and formulas, and the fraction of them that
our blocks have. Words are counted page by page, with repetitions. mwparserfromhell gets a space for
each ``<br>``, where it would join two words. Also prints the processor time of reading the pages
with blocks, as a ratio to that without.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mwparserfromhell as mw

from benchmarks.inputs import existing
from corpora.wikipedia.aside import KINDS, SideBlock
from corpora.wikipedia.dump import examine, read_pages
from corpora.wikipedia.pages import Page
from corpora.wikipedia.templates import load_templates, template_name
from corpora.wikipedia.titles import CATEGORY, FILE, Wiki, wiki_of
from corpora.wikipedia.wikitext import extract

WORD = re.compile(r"\w+")
COMMENT = re.compile(r"<!--.*?-->|<br\b[^<>]*>", re.DOTALL | re.IGNORECASE)
DROPPED = frozenset(
    [
        "ref",
        "references",
        "math",
        "gallery",
        "table",
        "timeline",
        "score",
        "source",
        "syntaxhighlight",
        "includeonly",
    ]
)
MAX_PAGE_BYTES = 50_000_000


def words(text: str) -> Counter[str]:
    """Count the words of a text."""
    return Counter(WORD.findall(text.replace("\u00ad", "")))


def shown(code: object, wiki: Wiki) -> str:
    """Return what mwparserfromhell shows of wikitext, without templates, files and inner blocks."""
    parsed = mw.parse(str(code))
    dropped: list[mw.nodes.Node] = [
        t for t in parsed.filter_tags() if str(t.tag).lower() in DROPPED
    ]
    for link in parsed.filter_wikilinks():
        prefix, colon, _ = str(link.title).partition(":")
        if colon and wiki.namespaces.get(prefix.strip().lower()) in (FILE, CATEGORY):
            dropped.append(link)
    for node in [*dropped, *parsed.filter_templates(recursive=False)]:
        try:
            parsed.replace(node, " ")
        except ValueError:  # the node was inside of a removed one
            continue
    return str(parsed.strip_code()).replace("'''", "").replace("''", "")


def cells(table: Any, wiki: Wiki) -> Iterator[str]:
    """Give the cells of a table, not those of tables in it."""
    for tag in table.filter_tags(recursive=False):
        if str(tag.tag).lower() in ("td", "th"):
            yield shown(tag.contents, wiki) if tag.contents else ""
        elif tag.contents:
            yield from cells(tag.contents, wiki)


def of_parser(source: str, ours: Sequence[SideBlock], wiki: Wiki) -> dict[str, Counter[str]]:
    """Count what mwparserfromhell has, by kind; infoboxes are the templates that ours are."""
    found = {kind: Counter[str]() for kind in KINDS.values()}
    parsed = mw.parse(COMMENT.sub(" ", source))
    for tag in parsed.filter_tags():
        name = str(tag.tag).lower()
        if name == "table" and tag.contents:
            found["table"].update(words(" ".join(cells(tag.contents, wiki))))
        elif name == "math":
            found["math"].update(words(str(tag.contents)))
        elif name == "ref" and tag.contents:
            found["reference"].update(words(shown(tag.contents, wiki)))
            for call in mw.parse(str(tag.contents)).filter_templates(recursive=False):
                values = [shown(parameter.value, wiki) for parameter in call.params]
                found["reference"].update(words(" ".join(values)))
    boxes = Counter(block.template for block in ours if block.kind == "infobox")
    for call in parsed.filter_templates():
        name = template_name(str(call.name))
        if boxes[name] > 0:
            boxes[name] -= 1
            values = [shown(parameter.value, wiki) for parameter in call.params]
            found["infobox"].update(words(" ".join(values)))
    return found


def pages_of(path: Path, work_directory: Path) -> tuple[Wiki, Iterator[Page]]:
    """Read the articles of a dump."""
    dump = examine(path, range_bytes=1 << 40, work_directory=work_directory)
    site = dump.site
    wiki = wiki_of(name=site.wiki, lang=site.lang, namespaces=site.namespaces)
    read = read_pages(
        path,
        dump.ranges[0],
        source=path.name,
        max_page_bytes=MAX_PAGE_BYTES,
        work_directory=work_directory,
    )
    pages = (page for page in read if isinstance(page, Page))
    return wiki, (page for page in pages if not page.namespace and page.redirect is None)


def compare(path: Path, n_pages: int, work_directory: Path) -> None:
    """Print the table of a dump."""
    wiki, pages = pages_of(path, work_directory)
    templates, kinds = load_templates(wiki.codes), frozenset(KINDS.values())
    all_, kept, seconds = Counter[str](), Counter[str](), dict.fromkeys(("without", "with"), 0.0)
    for page in islice(pages, n_pages):
        for name, wanted in (("without", frozenset[str]()), ("with", kinds)):
            start = time.process_time()
            read = extract(page.text, wiki, templates, title=page.title, blocks=wanted)
            seconds[name] += time.process_time() - start
        ours = {kind: Counter[str]() for kind in kinds}
        for block in read.aside:
            ours[block.kind].update(words(block.text))
        for kind, theirs in of_parser(page.text, read.aside, wiki).items():
            all_[kind] += theirs.total()
            kept[kind] += (theirs & ours[kind]).total()
    print(f"{path.name}: reading takes {seconds['with'] / seconds['without']:.2f} x the time")
    for name, kind in KINDS.items():
        print(f"  {name}: {all_[kind]:,} words, {kept[kind] / max(all_[kind], 1):.2%} are ours")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dumps", nargs="+", type=existing)
    parser.add_argument("--pages", type=int, default=150, metavar="N", help="of each dump")
    options = parser.parse_args()
    for dump in options.dumps:
        with TemporaryDirectory() as name:
            compare(dump, options.pages, Path(name))


if __name__ == "__main__":
    main()
