"""New words: speed and memory beside SmoothNLP, and what the first words are worth.

    python benchmarks/lexicon.py speed ../data --size 10 100 300 --smoothnlp smooth/bin/python
    python benchmarks/lexicon.py quality ../data --smoothnlp smooth/bin/python
    python benchmarks/lexicon.py held-out ../data
    python benchmarks/lexicon.py matching ../data --size 20

DATA is a folder with the unpacked sets ``zh-novels`` and ``zh-news``; SMOOTHNLP the Python of a
virtual environment in which smoothnlp is installed (left out: without it). Needs jieba.

``speed`` repeats the texts to SIZE MB, in each copy with other Han characters (code points shifted
within their block), so that strings of copies differ, as they do in more text. MB are UTF-8. Ours
is the whole command, from documents to the lexicon, its table and its page, with two workers;
SmoothNLP's the time in ``extract_phrase`` alone, up to ``--smoothnlp-size`` MB. Memory is that of
all processes together at its highest.

``quality`` makes lexicons of 三国演义, 红楼梦 and People's Daily of January 1998, ranks the same
candidates in several ways, and counts

    names    listed names that occur ten times and that jieba does not know, among the first
             500, 1,000 and 2,000 words, and in the lexicon (the best half)
    right    of the first 200 and 1,000 words, those that are listed, or that jieba's segmentation
             (with its model of unknown words) has in at least half of the places where they stand
    band     People's Daily: its nr, ns, nt, nz words that jieba does not know, by how often they
             occur: how many of them are in the lexicon, and how much of it they are (figure 3)

``held-out`` is ``band`` for CLUENER and Resume (of the set ``ner-zh``), which had no part in
choosing the defaults: all sentences are the text, and what is tagged in them the names.

``matching`` looks the words of jieba's dictionary and strings of the texts, together half a
million, up in SIZE MB of the texts themselves, in batches of documents, as ``augment_mentions``
does. Seconds are processor time of this one process.
"""

import argparse
import csv
import gzip
import json
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path

import pyarrow as pa
from wikipedia import Run, measure

from corpora.form_dictionary import CHOSEN, FormDictionary
from corpora.lexicon.known import jieba_dictionary, read_known
from corpora.schemas import SCHEMAS
from corpora.shards import open_dataset, read_batches
from corpora.tagging import from_iob2

HAN = range(0x4E00, 0x9FA6)
SHIFT = 997
N_FORMS = 500_000
BATCH_LINES = 200
SMOOTH = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
from smoothnlp.algorithm.phrase import extract_phrase
text = open(sys.argv[1], encoding="utf-8").read()
begin = time.perf_counter()
words = extract_phrase(text.split("\\n"), top_k=int(sys.argv[3]), min_n=2, max_n=4, min_freq=5)
json.dump([time.perf_counter() - begin, words], open(sys.argv[2], "w"))
"""
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


# --- texts


def plain(data: Path) -> Iterator[str]:
    """The texts of both sets."""
    for name in ("三国演义.txt", "红楼梦.txt"):
        yield (data / "zh-novels" / name).read_text("utf-8")
    yield "\n".join("".join(word for word, _ in line) for line in peoples_daily(data))
    titles = (data / "zh-news/thucnews-titles.txt").read_text("utf-8")
    yield "\n".join(line.partition("\t")[0] for line in titles.split("\n"))
    yield (data / "zh-news/clue-corpus-small-sampled.txt").read_text("utf-8")


def peoples_daily(data: Path) -> Iterator[list[tuple[str, str]]]:
    """Lines of words and tags."""
    path = data / "zh-news/peoples-daily-199801.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            pairs = [word.rpartition("/") for word in line.split()]
            yield [(word, tag) for word, _, tag in pairs if word]


def shifted(text: str, copy: int) -> str:
    """The text with other Han characters."""
    size = len(HAN)
    table = {code: HAN[(code - HAN[0] + copy * SHIFT) % size] for code in HAN}
    return text.translate(table) if copy else text


def make_documents(texts: Iterable[str], folder: Path, *, group: str) -> Path:
    """Write texts, some lines a document, and make documents of them."""
    source = folder / f"{group}.jsonl"
    with source.open("w", encoding="utf-8") as file:
        number = 0
        for text in texts:
            lines = text.split("\n")
            for start in range(0, len(lines), BATCH_LINES):
                document = {
                    "id": str(number),
                    "text": "\n".join(lines[start : start + BATCH_LINES]),
                }
                file.write(json.dumps(document, ensure_ascii=False) + "\n")
                number += 1
    output = folder / group
    arguments = ["--input", str(source), "--lang", "zh", "--group", group, "--output", str(output)]
    pipeline("text_to_documents", *arguments, "--workers", "2")
    return output


def repeated(texts: Sequence[str], megabytes: float) -> Iterator[str]:
    """Copy after copy, until there are so many MB."""
    left = megabytes * 1e6
    copy = 0
    while left > 0:
        for text in texts:
            varied = shifted(text, copy)
            encoded = varied.encode()
            yield varied if len(encoded) <= left else encoded[: int(left)].decode(errors="ignore")
            left -= len(encoded)
            if left <= 0:
                return
        copy += 1


# --- commands


def pipeline(name: str, *arguments: str) -> Run:
    """Run a pipeline of ours."""
    return measure([sys.executable, "-m", f"pipelines.{name}", *arguments])


def smoothnlp(python: str, text: str, folder: Path, *, top: int) -> tuple[Run, float, list[str]]:
    """Run SmoothNLP: the process, the seconds of the work itself, and the words."""
    source, target = folder / "smooth.txt", folder / "smooth.json"
    source.write_text(text, "utf-8")
    run = measure([python, "-c", SMOOTH, str(source), str(target), str(top)])
    seconds, words = json.loads(target.read_text("utf-8"))
    return run, seconds, words


# --- speed


def speed(args: argparse.Namespace) -> None:
    """Print a line for each size, and for SmoothNLP."""
    texts = list(plain(args.data))
    print("| engine | MB | seconds | MB/s | peak PSS, MB | candidates |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        folder = Path(scratch)
        if args.smoothnlp:
            text = "\n".join(repeated(texts, args.smoothnlp_size))
            run, seconds, _ = smoothnlp(args.smoothnlp, text, folder, top=100)
            rate = args.smoothnlp_size / seconds
            show = f"{args.smoothnlp_size:g} | {seconds:.1f} | {rate:.2f} | {run.pss:.0f} | |"
            print(f"| SmoothNLP | {show}", flush=True)
        for size in args.size:
            documents = make_documents(repeated(texts, size), folder, group=f"size-{size:g}")
            output = folder / f"lexicon-{size:g}"
            arguments = ["--input", str(documents), "--output", str(output), "--workers", "2"]
            run = pipeline("documents_to_lexicon", *arguments, "--known", "none")
            n = open_dataset(output).description["counters"]["candidates"]
            show = (
                f"{size:g} | {run.seconds:.1f} | {size / run.seconds:.2f} | {run.pss:.0f} | {n:,} |"
            )
            print(f"| onoma | {show}", flush=True)


# --- quality


@dataclass(frozen=True)
class Gold:
    """What is right in a text."""

    name: str
    text: str
    names: set[str]
    """That are listed."""
    unknown: set[str]
    """Of these, the frequent ones that jieba does not know."""
    tokens: Counter[str]
    """Words of jieba's segmentation."""


def novels(data: Path, known: set[str]) -> Iterator[Gold]:
    """Both novels, with their lists."""
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
    """Words of jieba's segmentation, with its model of unknown words."""
    import jieba  # noqa: PLC0415 - of no use to the measure of speed

    jieba.setLogLevel(60)
    return Counter(jieba.cut(text))


def entities(data: Path) -> Counter[str]:
    """Names of People's Daily, and how often they stand there; family and given name are one."""
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
    """The ranked words of a lexicon, the best first, and how often each is there."""
    pipeline("documents_to_lexicon", "--input", str(documents), "--output", str(output), *options)
    words, counts = [], {}
    for row in open_dataset(output).rows():
        counts[row["form"]] = row["count"]
        if row["rank"] is not None:
            words.append(row["form"])
    return words, counts


def novel_line(words: Sequence[str], counts: dict[str, int], gold: Gold, *, share: float) -> str:
    """What the first words are worth."""
    lexicon = words[: int(len(words) * share)]
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
    known = set(read_known(jieba_dictionary()).to_pylist())
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        folder = Path(scratch)
        for gold in novels(args.data, known):
            documents = make_documents([gold.text], folder, group=gold.name)
            print(f"\n{gold.name}: {len(gold.unknown)} names\n")
            print("| ranking | 500 | 1,000 | 2,000 | lexicon | right of 200 | of 1,000 | words |")
            print("| --- |" + " ---: |" * 7)
            for variant, options in VARIANTS.items():
                words, counts = ranked(documents, folder / "lexicon", options)
                print(f"| {variant} | {novel_line(words, counts, gold, share=0.5)} |", flush=True)
            if args.smoothnlp:
                _, _, found = smoothnlp(args.smoothnlp, gold.text, folder, top=10**9)
                words = [word for word in found if word not in known]
                print(f"| SmoothNLP | {novel_line(words, {}, gold, share=0.5)} |", flush=True)
        news_quality(args, known, folder)


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
    """Recall in the lexicon by band; names among the first and among all words of it."""
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
    known = set(read_known(jieba_dictionary()).to_pylist())
    for title, pattern in (("CLUENER", "cluener-*"), ("Resume", "resume-*")):
        with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
            folder = Path(scratch)
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


def matching(args: argparse.Namespace) -> None:
    """Print how fast half a million forms are matched."""
    texts = list(plain(args.data))
    words = (word for word in read_known(jieba_dictionary()).to_pylist() if len(word) > 1)
    strings = {word for word in words if all(ord(character) in HAN for character in word)}
    generator, joined = random.Random(1), "\n".join(texts)
    while len(strings) < N_FORMS:
        start = generator.randrange(len(joined) - 4)
        string = joined[start : start + generator.randint(2, 4)]
        if all(ord(character) in HAN for character in string):
            strings.add(string)
    forms = sorted(strings)
    columns = [forms, [f"lexicon:{form}" for form in forms], pa.nulls(len(forms), pa.float32())]
    with tempfile.TemporaryDirectory(dir=args.scratch) as scratch:
        size = args.size[0]
        copies = islice(cycle(texts), 1 + int(size * len(texts) * 1e6 / len(joined.encode())))
        dataset = open_dataset(make_documents(copies, Path(scratch), group="texts"))
        shards = [dataset.path / shard.name for shard in dataset.shards]
        batches = [batch for p in shards for batch in read_batches(p, SCHEMAS["documents"])]
    megabytes = sum(len(text.encode()) for b in batches for text in b.column("text").to_pylist())
    print(f"{len(forms):,} forms, {megabytes / 1e6:.0f} MB\n")
    print("| overlap | making, s | matching, MB/s | characters for a match |")
    print("| --- | ---: | ---: | ---: |")
    n_characters = sum(len(text) for b in batches for text in b.column("text").to_pylist())
    for overlap in ("leftmost_longest", "longest_cover"):
        begin = time.process_time()
        dictionary = FormDictionary(
            pa.table(columns, schema=CHOSEN), lang="zh", ignore_case=True, right="word",
            overlap=overlap,
        )  # fmt: skip
        made = time.process_time()
        n = sum(dictionary.add_to(batch, origin="lexicon")[1] for batch in batches)
        rate = megabytes / 1e6 / (time.process_time() - made)
        print(f"| {overlap} | {made - begin:.1f} | {rate:.1f} | {n_characters / n:.1f} |")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("what", choices=tuple(WHAT))
    parser.add_argument("data", type=Path, help="folder with zh-novels, zh-news and ner-zh")
    parser.add_argument("--size", type=float, nargs="+", default=[10, 100], help="MB")
    parser.add_argument("--smoothnlp", metavar="PYTHON", help="of an environment that has it")
    parser.add_argument("--smoothnlp-size", type=float, default=10, help="MB (default: 10)")
    parser.add_argument("--scratch", type=Path, help="folder for what is made meanwhile")
    args = parser.parse_args()
    WHAT[args.what](args)


WHAT = {"speed": speed, "quality": quality, "held-out": held_out, "matching": matching}


if __name__ == "__main__":
    main()
