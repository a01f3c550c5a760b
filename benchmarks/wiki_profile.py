"""Compare dumps of wikis: numbers of pages, lengths, links, words.

    python -m benchmarks.wiki_profile enwiki-2014-first-pages.xml.bz2 synthetic.xml.bz2

Reads the first MB of XML of each dump (``--megabytes``), and prints a table with a column for each.
The constants of ``synthetic_wiki.py`` are chosen by the column of a real dump; the table shows
where a synthetic one differs.
"""

import argparse
import bz2
import codecs
import html
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.inputs import existing

PAGE = re.compile(r"<page>.*?</page>", re.DOTALL)
TITLE = re.compile(r"<title>(.*?)</title>")
NAMESPACE = re.compile(r"<ns>(-?\d+)</ns>")
TEXT = re.compile(r"<text\b[^>]*?(?:/>|>(.*?)</text>)", re.DOTALL)
LINK = re.compile(r"\[\[([^\[\]|<>{}\n]+)(?:\|([^\[\]\n]*))?\]\]([a-z]*)")
TEMPLATE = re.compile(r"\{\{\s*([^{}|\n<]+)")
WORD = re.compile(r"[^\W\d_]+")
MARKUP = {
    "templates": "{{", "references": "<ref", "tables": "{|", "headings": "\n==",
    "external links": "[http", "bold or italics": "''",
}  # fmt: skip
SCRIPTS = {
    "Greek and Coptic": (0x370, 0x400), "Cyrillic": (0x400, 0x530), "Hebrew": (0x590, 0x600),
    "Arabic": (0x600, 0x700), "Devanagari": (0x900, 0x980), "Kana": (0x3040, 0x3100),
    "Han": (0x4E00, 0xA000),
}  # fmt: skip
N_WORDS = 300_000
"""Words counted of each dump: the same number, as more text has more distinct words."""
N_LINKS = 20_000
N_TEMPLATES = 15_000


@dataclass
class Profile:
    """The counts of the first part of a dump."""

    n_bytes: int = 0
    n_compressed: int = 0
    namespaces: Counter[str] = field(default_factory=Counter)
    n_redirects: int = 0
    lengths: list[int] = field(default_factory=list)
    """The number of characters of wikitext of each article that is no redirect."""
    markup: Counter[str] = field(default_factory=Counter)
    scripts: Counter[str] = field(default_factory=Counter)
    titles: list[str] = field(default_factory=list)
    targets: list[str] = field(default_factory=list)
    anchors: list[str] = field(default_factory=list)
    links: Counter[str] = field(default_factory=Counter)
    templates: list[str] = field(default_factory=list)
    words: list[str] = field(default_factory=list)

    @property
    def kilobytes(self) -> float:
        """The length of the wikitext of all articles, in thousands of characters."""
        return sum(self.lengths) / 1e3

    def add(self, page: str) -> None:
        """Count a page."""
        title, text, found = TITLE.search(page), TEXT.search(page), NAMESPACE.search(page)
        if title is None or text is None:
            return
        namespace = found[1] if found else "0"
        self.namespaces[namespace] += 1
        if namespace != "0":
            return
        if "<redirect" in page or (text[1] or "").lower().startswith("#redirect"):
            self.n_redirects += 1
            return
        self.titles.append(html.unescape(title[1]))
        self._add_text(html.unescape(text[1] or ""))

    def _add_text(self, text: str) -> None:
        self.lengths.append(len(text))
        for name, mark in MARKUP.items():
            self.markup[name] += text.count(mark)
        for name, (first, end) in SCRIPTS.items():
            self.scripts[name] += len(re.findall(f"[{chr(first)}-{chr(end - 1)}]", text))
        for link in LINK.finditer(text):
            self._add_link(link)
        if len(self.templates) < N_TEMPLATES:
            self.templates += [name.strip() for name in TEMPLATE.findall(text)]
        if len(self.words) < N_WORDS:
            plain = re.sub(r"\{\{[^{}]*\}\}|<ref.*?(?:/>|</ref>)|\[\[[^\[\]|]*\|", " ", text)
            self.words += WORD.findall(plain)

    def _add_link(self, link: re.Match[str]) -> None:
        target, shown = link[1].strip(), link[2]
        prefix = target.partition(":")[0].lower() if ":" in target else ""
        if prefix in {"file", "image"}:
            self.links["of files"] += 1
        elif prefix == "category":
            self.links["categories"] += 1
        elif prefix:
            self.links["to elsewhere"] += 1
        else:
            self.links["to articles"] += 1
            self.links["with another text"] += shown is not None
            self.links["to a section"] += "#" in target
            self.links["with a tail"] += bool(link[3])
            if len(self.targets) < N_LINKS:
                self.targets.append(target[:1].upper() + target[1:].partition("#")[0])
                self.anchors.append((target if shown is None else shown) + link[3])


def profile(path: Path, n_bytes: int) -> Profile:
    """Count the first pages of a dump."""
    found = Profile()
    for text, n_compressed in pages_of(path, n_bytes):
        found.n_bytes += len(text.encode())
        found.n_compressed = n_compressed
        found.add(text)
    return found


def pages_of(path: Path, n_bytes: int) -> Iterator[tuple[str, int]]:
    """Yield the first pages, and how many compressed bytes were read when each was."""
    with path.open("rb") as raw, bz2.open(raw) as file:
        rest = ""
        decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode
        while n_bytes > 0 and (data := file.read(1 << 20)):
            n_bytes -= len(data)
            rest += decode(data)
            end = 0
            for page in PAGE.finditer(rest):
                yield page[0], raw.tell()
                end = page.end()
            rest = rest[end:]


def rows(found: Profile) -> Iterator[tuple[str, str]]:
    """Yield the rows of the table: name and value."""
    lengths = np.array(found.lengths or [1])
    logs = np.log(lengths[lengths > 0])
    n = len(found.lengths)
    yield "MB of XML read", f"{found.n_bytes / 1e6:.1f}"
    yield "bytes of XML to one of bz2", f"{found.n_bytes / max(found.n_compressed, 1):.2f}"
    yield "articles", f"{n:,}"
    yield "redirects for an article", f"{found.n_redirects / max(n, 1):.2f}"
    others = sum(found.namespaces.values()) - n - found.n_redirects
    yield "other namespaces, for an article", f"{others / max(n, 1):.2f}"
    quantiles = np.quantile(lengths, (0.1, 0.5, 0.9, 0.99)).astype(int).tolist()
    yield "characters of an article: 10, 50, 90, 99 %", " · ".join(f"{q:,}" for q in quantiles)
    yield "… mean; σ of the logarithm", f"{lengths.mean():,.0f}; {logs.std():.2f}"
    for name in MARKUP:
        yield f"{name} a kB", f"{found.markup[name] / found.kilobytes:.2f}"
    links = found.links["to articles"]
    yield "links to articles a kB", f"{links / found.kilobytes:.2f}"
    for name in ("with another text", "with a tail", "to a section"):
        yield f"… {name}", f"{found.links[name] / max(links, 1):.1%}"
    for name in ("of files", "categories", "to elsewhere"):
        yield f"links {name}, a kB", f"{found.links[name] / found.kilobytes:.2f}"
    yield from _rows_of_templates(found)
    yield from _rows_of_links(found)
    yield from _rows_of_words(found)
    total = sum(found.lengths)
    for name in SCRIPTS:
        yield f"characters of {name}, in a million", f"{1e6 * found.scripts[name] / total:,.0f}"


def _rows_of_links(found: Profile) -> Iterator[tuple[str, str]]:
    n = max(len(found.targets), 1)
    ranked = np.array(sorted(Counter(found.targets).values(), reverse=True) or [1])
    yield "links, the first", f"{n:,}"
    yield "… distinct targets", f"{len(ranked):,}"
    yield "… share of the ten that are linked most", f"{ranked[:10].sum() / n:.1%}"
    yield "… slope of count by rank", f"{slope(ranked):.2f}"
    pairs = set(zip(found.targets, found.anchors, strict=True))
    yield (
        "distinct texts · pairs of target and text",
        f"{len(set(found.anchors)):,} · {len(pairs):,}",
    )
    words = np.array([len(title.split()) for title in found.titles] or [1])
    yield "words of a title, mean", f"{words.mean():.2f}"
    bracketed = sum(title.endswith(")") for title in found.titles)
    yield "titles with brackets", f"{bracketed / max(len(found.titles), 1):.1%}"


def _rows_of_templates(found: Profile) -> Iterator[tuple[str, str]]:
    names = found.templates[:N_TEMPLATES]
    ranked = np.array(sorted(Counter(names).values(), reverse=True) or [1])
    yield "templates, the first", f"{len(names):,}"
    yield "… distinct templates", f"{len(ranked):,}"
    yield "… share of the ten most used", f"{ranked[:10].sum() / max(len(names), 1):.1%}"


def _rows_of_words(found: Profile) -> Iterator[tuple[str, str]]:
    words = [word.lower() for word in found.words[:N_WORDS]]
    ranked = np.array(sorted(Counter(words).values(), reverse=True) or [1])
    yield "words, the first", f"{len(words):,}"
    yield "… distinct words", f"{len(ranked):,}"
    half = len(set(words[: len(words) // 2]))
    yield "… growth with the text, exponent", f"{np.log2(max(len(ranked), 1) / max(half, 1)):.2f}"
    yield "… share of the ten most frequent", f"{ranked[:10].sum() / max(len(words), 1):.1%}"
    yield "… slope of count of words by rank", f"{slope(ranked):.2f}"
    yield "… letters a word", f"{np.mean([len(w) for w in words] or [0]):.2f}"


def slope(ranked: np.ndarray) -> float:
    """Return the slope of counts over ranks, both as logarithms, at ranks that are powers of two.

    ``ranked``: counts, the largest first. Too few counts have the slope 0.
    """
    ranks = 2 ** np.arange(np.log2(max(len(ranked), 2)).astype(int) + 1)
    ranks = ranks[(ranks <= len(ranked)) & (ranked[np.minimum(ranks, len(ranked)) - 1] > 1)]
    if len(ranks) < 2:
        return 0.0
    return float(np.polyfit(np.log(ranks), np.log(ranked[ranks - 1]), 1)[0])


def table(dumps: Sequence[Path], n_bytes: int) -> Iterator[str]:
    """Yield the lines of the Markdown table."""
    columns = [dict(rows(profile(path, n_bytes))) for path in dumps]
    names = list(dict.fromkeys(name for column in columns for name in column))
    yield "| | " + " | ".join(path.name.split(".")[0] for path in dumps) + " |"
    yield "| --- |" + " ---: |" * len(dumps)
    for name in names:
        yield f"| {name} | " + " | ".join(column.get(name, "") for column in columns) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("dumps", type=existing, nargs="+", help="in bz2")
    parser.add_argument("--megabytes", type=float, default=20, metavar="MB", help="of XML, of each")
    arguments = parser.parse_args()
    print("\n".join(table(arguments.dumps, int(arguments.megabytes * 1e6))))


if __name__ == "__main__":
    main()
