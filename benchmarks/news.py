"""Measure how well and how fast articles are extracted from pages.

    python -m benchmarks.news quality --pages ../shared/…/news-html
    python -m benchmarks.news speed --pages FOLDER --every 4

``quality``: paragraphs against the expected ones (summary, headlines and paragraphs of fundus; two
paragraphs are the same if their letters and digits are), once as the extractors give them and once
as the pipeline does. ``speed``: processor time of the whole pipeline against that of
``NewsPlease.from_html`` alone, on all ``*.html.gz`` below a folder.
"""

import argparse
import gzip
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import trafilatura

from benchmarks.inputs import existing
from corpora.news.decoding import decode
from corpora.news.extraction import EXTRACTORS, extract

ROOT = Path(__file__).resolve().parent.parent


def read_pages(folder: Path) -> Iterator[tuple[str, bytes, str, dict[str, Any]]]:
    """Yield name, bytes, URL and expectation of each page.

    Versions of a publisher stand in the order of time, as the names of its pages do.
    """
    for meta in sorted(folder.glob("*/meta.json")):
        table = json.loads(meta.read_text("utf-8"))
        by_publisher: dict[str, list[str]] = {}
        for name in sorted(table):
            by_publisher.setdefault(name.partition("_")[0], []).append(name)
        for publisher, names in by_publisher.items():
            versions = json.loads((meta.parent / f"{publisher}.json").read_text("utf-8"))
            for name, expected in zip(names, versions.values(), strict=True):
                data = gzip.decompress((meta.parent / name).read_bytes())
                yield name, data, table[name]["url"], expected


def expected_paragraphs(expected: dict[str, Any]) -> list[str]:
    body = expected["body"]
    sections = (text for s in body["sections"] for text in s["headline"] + s["paragraphs"])
    return [*body["summary"], *sections]


def keys(texts: list[str]) -> Counter[str]:
    found = ("".join(filter(str.isalnum, text.casefold())) for text in texts)
    return Counter(key for key in found if key)


def words(texts: list[str]) -> Counter[str]:
    return Counter(re.findall(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+", " ".join(texts).casefold()))


class Score:
    """How many things are right, found and expected."""

    def __init__(self) -> None:
        self.right = self.found = self.expected = 0

    def add(self, found: Counter[str], expected: Counter[str]) -> "Score":
        self.right += (found & expected).total()
        self.found += found.total()
        self.expected += expected.total()
        return self

    def __str__(self) -> str:
        precision, recall = self.right / max(1, self.found), self.right / max(1, self.expected)
        f1 = 2 * self.right / max(1, self.found + self.expected)
        return f"P {precision:.3f}  R {recall:.3f}  F1 {f1:.3f}"


def raw_paragraphs(html: str, url: str, extractor: str) -> list[str]:
    """Return the paragraphs that an extractor gives with its default settings."""
    if extractor == "news-please":
        from newsplease import NewsPlease  # noqa: PLC0415 - not everywhere installed

        return (NewsPlease.from_html(html, url=url, fetch_images=False).maintext or "").split("\n")
    return (trafilatura.extract(html, url=url, include_comments=False) or "").split("\n")


def quality(arguments: argparse.Namespace) -> None:
    """Print for each extractor how right paragraphs, words and metadata are."""
    pages = list(read_pages(arguments.pages))
    for extractor in EXTRACTORS:
        raw, ours, of_words, equal = Score(), Score(), Score(), Counter[str]()
        for name, data, url, expected in pages:
            html = decode(data, content_type=None, name=name).text
            wanted = expected_paragraphs(expected)
            raw.add(keys(raw_paragraphs(html, url, extractor)), keys(wanted))
            article = extract(html, url=url, extractor=extractor)
            blocks = [article.text[start:end] for start, end, _ in article.blocks]
            one = Score().add(keys(blocks), keys(wanted))
            ours.add(keys(blocks), keys(wanted))
            of_words.add(words(blocks), words(wanted))
            if arguments.show:
                print(f"{name}: {one}")
                show(blocks, wanted)
            metadata = article.metadata
            equal["title"] += keys([*metadata.titles[:1]]) == keys([expected["title"] or ""])
            equal["date"] += (metadata.published or "")[:10] == expected["publishing_date"][:10]
            equal["authors"] += sorted(metadata.authors) == sorted(expected["authors"])
        print(f"{extractor}, {len(pages)} pages")
        print(f"  paragraphs, as it gives them: {raw}")
        print(f"  paragraphs, tidied:           {ours}")
        print(f"  words, tidied:                {of_words}")
        print(f"  the same as expected: {dict(equal)}")


def show(found: list[str], wanted: list[str]) -> None:
    """Print the paragraphs that a page has too much (+), and those that it lacks (-)."""
    by_key = {key: text for text in found + wanted for key in keys([text])}
    for sign, differing in (("+", keys(found) - keys(wanted)), ("-", keys(wanted) - keys(found))):
        for key in differing:
            print(f"   {sign} {by_key[key][:100]}")


def with_news_please(page: tuple[str, str]) -> int:
    """Extract a page with news-please alone; returns the number of characters."""
    from newsplease import NewsPlease  # noqa: PLC0415 - likewise

    warnings.simplefilter("ignore")
    html, url = page
    return len(NewsPlease.from_html(html, url=url, fetch_images=False).maintext or "")


def is_read_by_news_please(page: tuple[str, str]) -> bool:
    """Say whether it has what cuts the words of a page's language."""
    try:
        with_news_please(page)
    except ImportError:
        return False
    return True


def speed(arguments: argparse.Namespace) -> None:
    """Print the processor time of the whole pipeline, and of news-please's extraction alone."""
    paths = sorted(arguments.pages.rglob("*.html.gz"))[:: arguments.every]
    raw = [gzip.decompress(path.read_bytes()) for path in paths]
    pages = [
        (data.decode("utf-8", "replace"), f"https://x.example/{p.name}")
        for data, p in zip(raw, paths, strict=True)
    ]
    with_news_please(pages[0])  # loads the libraries
    pages = [page for page in pages if is_read_by_news_please(page)]
    begin = time.process_time()
    for page in pages:
        with_news_please(page)
    theirs = (time.process_time() - begin) / len(pages)
    print(f"{len(pages)} pages; NewsPlease.from_html alone: {1e3 * theirs:.0f} ms each")
    for extractor in ("trafilatura", "news-please"):
        few, many = (run_pipeline(some, extractor=extractor) for some in (pages[:1], pages))
        ours = (many - few) / (len(pages) - 1)
        print(
            f"{extractor}: {1e3 * ours:.0f} ms each after {few:.1f} s for one page: "
            f"{theirs / ours:.1f} times as fast"
        )


def run_pipeline(pages: list[tuple[str, str]], *, extractor: str) -> float:
    """Run the whole pipeline; returns the processor seconds of all its processes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "pages"
        folder.mkdir()
        for number, (html, _) in enumerate(pages):
            (folder / f"{number:04}.html").write_text(html, "utf-8")
        command = [sys.executable, "-m", "pipelines.news_to_documents", "--html", str(folder)]
        command += ["--output", f"{name}/out", "--extractor", extractor, "--reserved", "keep"]
        begin = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
        end = resource.getrusage(resource.RUSAGE_CHILDREN)
        return end.ru_utime + end.ru_stime - begin.ru_utime - begin.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    commands = parser.add_subparsers(required=True)
    for command in (quality, speed):
        one = commands.add_parser(command.__name__)
        one.add_argument("--pages", type=existing, required=True)
        one.add_argument("--every", type=int, default=1, help="of so many pages one (speed)")
        one.add_argument("--show", action="store_true", help="where each page differs (quality)")
        one.set_defaults(run=command)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    arguments.run(arguments)


if __name__ == "__main__":
    main()
