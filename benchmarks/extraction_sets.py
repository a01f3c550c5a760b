"""Score the extraction of articles on five published evaluation sets.

    python -m benchmarks.extraction_sets --data SETS                     # development parts
    python -m benchmarks.extraction_sets --data SETS --part test         # for the last figure alone
    python -m benchmarks.extraction_sets --data SETS --sets fundus --show

SETS is a folder with clones of scrapinghub/article-extraction-benchmark, adbar/trafilatura,
flairNLP/fundus, Murrough-Foley/web-content-extraction-benchmark and
immortal-autumn/Chinese-Web-Content-Extraction-Dataset; a set that is not there is skipped. WCXB has
a development and a test part of its own; of the others, half of the addresses are development, by a
hash of each. Every set is scored as it scores itself, but for the Chinese one, which does not say:

- ``fundus``: paragraphs (letters and digits), of all pages together.
- ``trafilatura``: pieces of text that must or must not be there, of all pages together.
- ``scrapinghub``: four words in a row, each page as one.
- ``wcxb``: words, each page as one; ``wcxb articles``: of articles alone.
- ``chinese``: three characters in a row (or words of other scripts), each page as one.

The scores of Onoma and those of trafilatura with its defaults are printed side by side.
"""

import argparse
import gzip
import json
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.inputs import existing
from benchmarks.news import expected_paragraphs, keys, raw_paragraphs
from corpora.hashing.sampling import ratio
from corpora.news.decoding import decode
from corpora.news.extraction import ExtractionError, extract


@dataclass(frozen=True, slots=True)
class Sample:
    """A page, its address, and the expected result."""

    name: str
    path: Path
    url: str | None
    expected: Any
    part: str
    kind: str = ""

    def html(self) -> str:
        """Return the page, decoded as the pipeline does."""
        data = self.path.read_bytes()
        data = gzip.decompress(data) if self.path.suffix == ".gz" else data
        return decode(data, content_type=None, name=self.name).text


def half_of(name: str) -> str:
    """Return the part of a page of a set that has no parts, by a hash of its name."""
    return "dev" if ratio(name, seed=1) < 0.5 else "test"


def read_fundus(folder: Path) -> Iterator[Sample]:
    """Read the pages of fundus' tests.

    As a rule, a publisher has one version of its parser for each page. Where the numbers differ,
    only the last page is read, with the last version.
    """
    for meta in sorted(folder.glob("tests/resources/parser/test_data/*/meta.info")):
        known = json.loads(meta.read_text("utf-8"))
        publishers: dict[str, list[str]] = {}
        for name in sorted(known):
            publishers.setdefault(name.partition("_")[0], []).append(name)
        for publisher, names in publishers.items():
            versions = list(json.loads((meta.parent / f"{publisher}.json").read_text()).values())
            n_known = len(names) if len(versions) == len(names) else 1  # else: only the last
            for name, expected in zip(names[-n_known:], versions[-n_known:], strict=True):
                url = known[name]["url"]
                where = meta.parent / name
                yield Sample(name, where, url, expected_paragraphs(expected), half_of(url))


def read_trafilatura(folder: Path) -> Iterator[Sample]:
    """Read the pages of trafilatura's evaluation."""
    tests = folder / "tests"
    for url, item in json.loads((tests / "evaldata.json").read_text("utf-8")).items():
        paths = (tests / place / item["file"] for place in ("cache", "eval"))
        path = next(path for path in paths if path.exists())
        yield Sample(item["file"], path, url, item, half_of(url))


def read_scrapinghub(folder: Path) -> Iterator[Sample]:
    """Read the pages of Scrapinghub's benchmark."""
    for name, item in json.loads((folder / "ground-truth.json").read_text("utf-8")).items():
        path = folder / "html" / f"{name}.html.gz"
        yield Sample(name, path, item.get("url"), item.get("articleBody", ""), half_of(name))


def read_chinese(folder: Path) -> Iterator[Sample]:
    """Read the pages of the Chinese set."""
    for path in sorted((folder / "cleaned").glob("*.txt")):
        text = decode(path.read_bytes(), content_type=None, name=path.name).text
        html = folder / "original" / f"{path.stem}.html"
        yield Sample(path.stem, html, None, text, half_of(path.stem))


def read_wcxb(folder: Path) -> Iterator[Sample]:
    """Read the pages of WCXB, with their kinds."""
    for part in ("dev", "test"):
        for path in sorted((folder / part / "ground-truth").glob("*.json")):
            known = json.loads(path.read_text("utf-8"))
            kind = known["_internal"]["page_type"]
            kind = kind["primary"] if isinstance(kind, dict) else kind
            html = folder / part / "html" / f"{path.stem}.html.gz"
            text = known["ground_truth"].get("main_content") or ""
            yield Sample(path.stem, html, known.get("url"), text, part, kind)


Counts = tuple[float, float, float]
"""How many units are right, found and expected."""


def of_paragraphs(texts: list[str], expected: list[str]) -> Counts:
    found, wanted = keys(texts), keys(expected)
    return (found & wanted).total(), found.total(), wanted.total()


def of_pieces(texts: list[str], item: Mapping[str, list[str]]) -> Counts:
    text = " ".join(" ".join(texts).split())
    right, wrong = (
        sum(" ".join(piece.split()) in text for piece in item[name]) for name in ("with", "without")
    )
    return right, right + wrong, len(item["with"])


def of_words(texts: list[str], expected: str, *, size: int) -> Counts:
    found, wanted = (
        shingles(text.lower() if size == 1 else text, size) for text in ("\n".join(texts), expected)
    )
    return (found & wanted).total(), found.total(), wanted.total()


def of_characters(texts: list[str], expected: str) -> Counts:
    *spaced, wanted = (
        re.sub(r"([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3])", r" \1 ", text)
        for text in (*texts, expected)
    )
    return of_words(spaced, wanted, size=3)


def shingles(text: str, size: int) -> Counter[tuple[str, ...]]:
    words = re.findall(r"\w+", text)
    grams = (tuple(words[start : start + size]) for start in range(max(1, len(words) - size + 1)))
    return Counter(filter(None, grams))


def together(scores: list[Counts]) -> tuple[float, float, float]:
    """Return precision, recall and F1 of all pages as one."""
    right, found, expected = map(sum, zip(*scores, strict=True))
    return right / max(1, found), right / max(1, expected), 2 * right / max(1, found + expected)


def each_page(scores: list[Counts]) -> list[tuple[float, float]]:
    """Return precision and recall of each page; both are 1 where nothing is expected and found."""
    return [
        (1.0, 1.0) if not found + expected else (right / max(1, found), right / max(1, expected))
        for right, found, expected in scores
    ]


def f1(precision: float, recall: float) -> float:
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def means(scores: list[Counts]) -> tuple[float, float, float]:
    """Return the mean precision and recall over pages, and F1 of these means, as Scrapinghub's."""
    precision, recall = (sum(x) / len(scores) for x in zip(*each_page(scores), strict=True))
    return precision, recall, f1(precision, recall)


def mean_f1(scores: list[Counts]) -> tuple[float, float, float]:
    """Return the means of precision, recall and F1 over pages, as WCXB's."""
    pairs = each_page(scores)
    precision, recall = (sum(x) / len(scores) for x in zip(*pairs, strict=True))
    return precision, recall, sum(f1(*pair) for pair in pairs) / len(pairs)


@dataclass(frozen=True, slots=True)
class Set:
    """An evaluation set: the folder of its clone, and functions to read and score its pages."""

    folder: str
    read: Callable[[Path], Iterator[Sample]]
    score: Callable[[list[str], Any], Counts]
    sum_up: Callable[[list[Counts]], tuple[float, float, float]]


SETS = {
    "fundus": Set("fundus", read_fundus, of_paragraphs, together),
    "trafilatura": Set("trafilatura", read_trafilatura, of_pieces, together),
    "scrapinghub": Set(
        "article-extraction-benchmark", read_scrapinghub, partial(of_words, size=4), means
    ),
    "wcxb": Set("web-content-extraction-benchmark", read_wcxb, partial(of_words, size=1), mean_f1),
    "chinese": Set("Chinese-Web-Content-Extraction-Dataset", read_chinese, of_characters, mean_f1),
}


def measure(name: str, sample: Sample) -> tuple[Counts, Counts, list[str]]:
    """Score a page: as trafilatura gives it, and as the pipeline does; with its text."""
    warnings.simplefilter("ignore")
    html, score = sample.html(), SETS[name].score
    try:
        article = extract(html, url=sample.url, extractor="trafilatura")
        texts = [article.text[start:end] for start, end, _ in article.blocks]
    except ExtractionError:
        texts = []
    raw = raw_paragraphs(html, sample.url or "", "trafilatura")
    return score(raw, sample.expected), score(texts, sample.expected), texts


def show(sample: Sample, counts: Counts, texts: list[str]) -> None:
    """Say what a page is worth, and where its paragraphs differ."""
    right, found, expected = counts
    print(f"{sample.name} {sample.url}: {2 * right / max(1, found + expected):.3f}")
    wanted = sample.expected
    if isinstance(wanted, dict):
        text = " ".join(" ".join(texts).split())
        lines = [("+", p) for p in wanted["without"] if " ".join(p.split()) in text]
        lines += [("-", p) for p in wanted["with"] if " ".join(p.split()) not in text]
    else:
        there = wanted if isinstance(wanted, list) else wanted.split("\n")
        lines = [("+", text) for text in texts if not keys([text]) & keys(there)]
        lines += [("-", text) for text in there if text.strip() and not keys([text]) & keys(texts)]
    for sign, line in lines:
        print(f"   {sign} {line[:150]}")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument(
        "--data", type=existing, required=True, help="folder with clones of the sets"
    )
    parser.add_argument("--part", choices=("dev", "test"), default="dev")
    parser.add_argument("--sets", nargs="+", choices=tuple(SETS), default=tuple(SETS))
    parser.add_argument(
        "--without", type=existing, help="pages of news-html, which fundus has, too"
    )
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--show", action="store_true", help="where each page differs")
    arguments = parser.parse_args()
    known = (
        {path.name for path in arguments.without.rglob("*.html.gz")} if arguments.without else ()
    )
    for name in arguments.sets:
        folder = next(arguments.data.glob(f"*{SETS[name].folder}"), None)
        if folder is None:
            print(f"{name}: not in {arguments.data}")
            continue
        samples = [s for s in SETS[name].read(folder) if s.part == arguments.part]
        samples = [s for s in samples if s.name not in known]
        begin = time.perf_counter()
        with ProcessPoolExecutor(arguments.workers) as pool:
            results = list(pool.map(partial(measure, name), samples, chunksize=4))
        if arguments.show:
            for sample, (_, counts, texts) in zip(samples, results, strict=True):
                show(sample, counts, texts)
        groups = {name: results}
        if any(sample.kind for sample in samples):
            groups[f"{name} articles"] = [
                r for s, r in zip(samples, results, strict=True) if s.kind == "article"
            ]
        for group, found in groups.items():
            for what, which in (("as trafilatura gives them", 0), ("as Onoma does", 1)):
                p, r, f = SETS[name].sum_up([(raw, ours)[which] for raw, ours, _ in found])
                print(
                    f"{group}, {arguments.part}, {len(found)} pages, {what}: "
                    f"P {p:.3f}  R {r:.3f}  F1 {f:.4f}"
                )
        print(f"{time.perf_counter() - begin:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
