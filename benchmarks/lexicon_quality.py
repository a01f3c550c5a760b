"""The quality of the first words of a lexicon: tables of ``benchmarks/lexicon.py``."""

import argparse
import csv
import tempfile
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.lexicon_engines import make_documents, pipeline, smoothnlp
from benchmarks.lexicon_texts import peoples_daily
from corpora.datasets.shards import open_dataset
from corpora.lexicon.known import jieba_dictionary, read_known
from corpora.lexicon.words import TAGGER
from corpora.tagging import from_iob2

BANDS = ((1, 4), (5, 9), (10, 19), (20, 49), (50, 99), (100, 10**9))
PAPER = ["--score", "paper", "--drop", "known", "--demote"]
VARIANTS = {
    "frequency": ["--score", "frequency", "--drop", "known", "--demote"],
    "paper, weakest": [*PAPER, "--mi", "weakest"],
    "paper": PAPER,
    "paper, inner dropped": ["--score", "paper", "--demote"],
    "paper, demoted": ["--score", "paper"],
    "product, none demoted": ["--demote"],
    "product, compounds demoted": ["--demote", "compound"],
    "product, functions demoted": ["--demote", "function"],
    "product, functions dropped": ["--drop", "known", "inner", "function"],
    "product, weakest": ["--mi", "weakest"],
    "product (default)": [],
}


NAME_TAGS = ("nr", "ns", "nt", "nz")
DEPTHS = (500, 1000, 2000)
NOVELS = Path(__file__).with_name("lexicon_names.toml")
"""The table of names for novels that are not in the data folder."""


@dataclass(frozen=True)
class Gold:
    """The gold standard of a text."""

    name: str
    text: str
    names: set[str]
    """The listed names."""
    unknown: set[str]
    """Listed names that are frequent and that jieba does not know."""
    tokens: Counter[str]
    """Counts of the words of jieba's segmentation."""


def novels(data: Path, known: set[str]) -> Iterator[Gold]:
    """Yield both novels with their lists of names."""
    for title, table in (("三国演义", "names-sanguo"), ("红楼梦", "words-hongloumeng")):
        text = (data / f"zh-novels/{title}.txt").read_text("utf-8")
        with (data / f"zh-novels/{table}.tsv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        first = {row.get("name") or row["word"] for row in rows}
        other = {name for row in rows for name in (row.get("aliases") or "").split(",")}
        other |= {row.get("courtesy_name") or "" for row in rows}
        unknown = {name for name in first - known if text.count(name) >= 10}
        yield Gold(title, text, (first | other) - {""}, unknown, segmented(text))


def segmented(text: str) -> Counter[str]:
    """Count the words of jieba's segmentation, with its model of unknown words."""
    import jieba  # noqa: PLC0415 - of no use to the measure of speed

    jieba.setLogLevel(60)
    return Counter(jieba.cut(text))


def entities(data: Path) -> Counter[str]:
    """Count the names of People's Daily; a family name and the given name after it are one."""
    found: Counter[str] = Counter()
    for line in peoples_daily(data):
        joined: list[tuple[str, str]] = []
        for word, tag in line:
            if tag == "nr" and joined and joined[-1][1] == "nr":
                joined[-1] = (joined[-1][0] + word, "person")
            else:
                joined.append((word, tag))
        found.update(word for word, tag in joined if tag in {"nr", "person", "ns", "nt", "nz"})
    return found


def ranked(
    documents: Path, output: Path, options: Sequence[str]
) -> tuple[list[str], dict[str, int]]:
    """Make a lexicon; return its ranked new words, the best first, and the counts of all."""
    pipeline("documents_to_lexicon", "--input", str(documents), "--output", str(output), *options)
    words, counts = [], {}
    for row in open_dataset(output).rows():
        counts[row["form"]] = row["count"]
        if row["rank"] is not None and "known" not in row["flags"]:
            words.append(row["form"])
    return words, counts


def novel_line(words: Sequence[str], counts: dict[str, int], gold: Gold, *, ratio: float) -> str:
    """Return a row of a table: what the first words of a lexicon are worth for a novel.

    ``ratio`` is the part of the words that makes the lexicon.
    """
    lexicon = words[: int(len(words) * ratio)]
    among = [len(gold.unknown.intersection(words[:n])) for n in (500, 1000, 2000)]
    among.append(len(gold.unknown.intersection(lexicon)))
    right = [
        word in gold.names or 2 * gold.tokens[word] >= counts.get(word, gold.text.count(word))
        for word in words[:1000]
    ]
    cells = [f"{n}" for n in among]
    cells += [f"{100 * sum(right[:n]) / max(1, len(right[:n])):.1f} %" for n in (200, 1000)]
    return " | ".join([*cells, f"{len(lexicon):,}"])


def quality(args: argparse.Namespace) -> None:
    """Print a table for each novel, and two for People's Daily."""
    known = set(read_known(jieba_dictionary()).column("word").to_pylist())
    with tempfile.TemporaryDirectory(dir=args.scratch) as temporary:
        folder = Path(temporary)
        for gold in novels(args.data, known):
            documents = make_documents([gold.text], folder, group=gold.name)
            print(f"\n{gold.name}: {len(gold.unknown)} names\n")
            print("| ranking | 500 | 1,000 | 2,000 | lexicon | right of 200 | of 1,000 | words |")
            print("| --- |" + " ---: |" * 7)
            for variant, options in VARIANTS.items():
                words, counts = ranked(documents, folder / "lexicon", options)
                print(f"| {variant} | {novel_line(words, counts, gold, ratio=0.5)} |", flush=True)
            if args.smoothnlp:
                _, _, found = smoothnlp(args.smoothnlp, gold.text, folder, top=10**9)
                words = [word for word in found if word not in known]
                print(f"| SmoothNLP | {novel_line(words, {}, gold, ratio=0.5)} |", flush=True)
        news_quality(args, known, folder)


def depths(args: argparse.Namespace) -> None:
    """Print how many names come first, known words and nicknames among them, beside the plain way.

    Names that occur ten times; the plain way is the sum of mutual information and both entropies
    of all candidates.
    """
    print("| novel | names | known | ranking |" + "".join(f" {n:,} |" for n in DEPTHS) + " kept |")
    print("| --- | ---: | ---: | --- |" + " ---: |" * (len(DEPTHS) + 1))
    with tempfile.TemporaryDirectory(dir=args.scratch) as temporary:
        folder = Path(temporary)
        for title, path, listed in listed_names(args.data, args.novels):
            text = path.read_text("utf-8")
            names = {name for name in listed if text.count(name) >= 10}
            documents, output = make_documents([text], folder, group=title), folder / "lexicon"
            pipeline("documents_to_lexicon", "--input", str(documents), "--output", str(output))
            rows = list(open_dataset(output).rows())
            n_known = sum("known" in row["flags"] for row in rows if row["form"] in names)
            ours = [row for row in rows if row["rank"]]
            plain = sorted(rows, key=_plain_score, reverse=True)
            tagger = [row for row in ours[:2000] if _is_for_taggers(row)]
            for ranking, ranked_rows in (("plain", plain), ("ours", ours), ("tagger", tagger)):
                words = [row["form"] for row in ranked_rows]
                cells = [f"{len(names.intersection(words[:n]))}" for n in DEPTHS]
                n_flagged = sum("name" in row["flags"] for row in ranked_rows[:2000])
                cells = [title, f"{len(names)}", f"{n_known}", ranking, *cells, f"{n_flagged}"]
                print(f"| {' | '.join(cells)} |", flush=True)


def _plain_score(row: Mapping[str, Any]) -> float:
    return float(row["mi"] + row["left_entropy"] + row["right_entropy"])


def _is_for_taggers(row: Mapping[str, Any]) -> bool:
    return {"low", *TAGGER.without}.isdisjoint(row["flags"])


def listed_names(data: Path, others: Path | None) -> Iterator[tuple[str, Path, set[str]]]:
    """Yield the title of each novel, the path of its text, and its names.

    ``others`` is a folder of further novels, ``TITLE.txt``.
    """
    for title, table in (("三国演义", "names-sanguo"), ("红楼梦", "words-hongloumeng")):
        with (data / f"zh-novels/{table}.tsv").open(encoding="utf-8") as file:
            rows = list(csv.DictReader(file, delimiter="\t"))
        rows = [row for row in rows if row.get("tag", "nr")[:2] in NAME_TAGS]
        names = {row.get("name") or row["word"] for row in rows}
        names |= {name for row in rows for name in (row.get("aliases") or "").split(",")}
        names |= {row.get("courtesy_name") or "" for row in rows}
        yield title, data / f"zh-novels/{title}.txt", {name for name in names if len(name) > 1}
    if others:
        for title, line in tomllib.loads(NOVELS.read_text("utf-8")).items():
            if (path := others / f"{title}.txt").is_file():
                yield title, path, set(line.split())


def news_quality(args: argparse.Namespace, known: set[str], folder: Path) -> None:
    """Print recall and precision on People's Daily, by band."""
    text = "\n".join("".join(word for word, _ in line) for line in peoples_daily(args.data))
    documents = make_documents([text], folder, group="news")
    words_of_corpus = {word for line in peoples_daily(args.data) for word, _ in line}
    names = {name: n for name, n in entities(args.data).items() if name not in known}
    others = {}
    if args.smoothnlp:
        _, _, found = smoothnlp(args.smoothnlp, text, folder, top=10**9)
        others["SmoothNLP"] = [word for word in found if word not in known]
    print_bands(
        "People's Daily", documents, folder, names=names, right=words_of_corpus, others=others
    )


def print_bands(
    title: str,
    documents: Path,
    folder: Path,
    *,
    names: dict[str, int],
    right: set[str],
    others: dict[str, list[str]] | None = None,
) -> None:
    """Print recall and precision of each ranking by band."""
    lexicons: dict[str, list[str]] = {}
    for variant, options in VARIANTS.items():
        lexicons[variant], _ = ranked(documents, folder / "lexicon", options)
    lexicons |= others or {}
    n_of = [sum(low <= n <= high for n in names.values()) for low, high in BANDS]
    print(f"\n{title}: {len(names):,} names that jieba does not know, by band {n_of}\n")
    heads = "".join(f" {low}–{high if high < 10**9 else ''} |" for low, high in BANDS)
    print(
        f"| ranking | recall: all |{heads} names of 200 | of 1,000 | of lexicon | words of 1,000 |"
    )
    print("| --- |" + " ---: |" * (len(BANDS) + 5))
    for variant, words in lexicons.items():
        print(f"| {variant} | {news_line(words, names, right)} |", flush=True)


def news_line(words: Sequence[str], names: dict[str, int], right: set[str]) -> str:
    """Return a row of a table: what a lexicon is worth for news.

    It has the recall in the lexicon, of all names and by band; the fraction of names among the
    first 200 and 1,000 words and in the lexicon; and the fraction of right words among the first
    1,000.
    """
    lexicon = words[: len(words) // 2]
    found = set(lexicon) & names.keys()
    cells = [f"{100 * len(found) / len(names):.1f} %"]
    for low, high in BANDS:
        band = {name for name, n in names.items() if low <= n <= high}
        cells.append(f"{100 * len(found & band) / len(band):.1f} %" if band else "–")
    cells += [
        f"{100 * sum(word in names for word in first) / max(1, len(first)):.1f} %"
        for first in (words[:200], words[:1000], lexicon)
    ]
    is_right = [word in right or word in names for word in words[:1000]]
    return " | ".join([*cells, f"{100 * sum(is_right) / max(1, len(is_right)):.1f} %"])


def held_out(args: argparse.Namespace) -> None:
    """Print recall and precision on sets whose names are tagged."""
    known = set(read_known(jieba_dictionary()).column("word").to_pylist())
    for title, pattern in (("CLUENER", "cluener-*"), ("Resume", "resume-*")):
        with tempfile.TemporaryDirectory(dir=args.scratch) as temporary:
            folder = Path(temporary)
            files = [str(path) for path in sorted((args.data / "ner-zh").glob(pattern))]
            pipeline(
                "benchmark_to_ner", "--input", *files, "--output", str(folder / "ner"),
                "--split", "sentence", "--card", "off",
            )  # fmt: skip
            rows = list(open_dataset(folder / "ner").rows())
            counted: Counter[str] = Counter()
            for row in rows:
                for span in from_iob2(row["tags"]):
                    counted["".join(row["tokens"][span.start : span.end])] += 1
            names = {name: n for name, n in counted.items() if name not in known}
            text = "\n".join("".join(row["tokens"]) for row in rows)
            documents = make_documents([text], folder, group=title)
            print_bands(title, documents, folder, names=names, right=set(counted))
