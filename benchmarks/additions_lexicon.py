"""How many matches of a lexicon in segmented news are names or terms, for each way of matching.

    python -m benchmarks additions_lexicon --data DATA
    python -m benchmarks.additions_lexicon DATA/zh-news/peoples-daily-199801.txt.gz

The file has a line for each paragraph, with ``word/tag`` between blanks. A match is right if it is
one word, the name of a person, or several words that are all nouns and the like (a term); it is
wrong if it is other words, or begins or ends inside one.
"""

import argparse
import contextlib
import gzip
import io
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.inputs import existing
from corpora.datasets.shards import open_dataset
from corpora.document import Document
from corpora.runs.plain import write_dataset
from pipelines import augment_mentions, documents_to_lexicon

KINDS = ("word or name", "term", "other words", "cut")
WAYS = {
    "tagger": ("--words", "tagger"),
    "all": (),
}
_TERM = frozenset({"n", "vn", "nr", "ns", "nt", "nz", "an", "b", "j", "Ng", "k", "h", "l", "i"})
_NO_LAST = frozenset({"b", "h"})

Words = list[tuple[str, str]]


def read_news(path: Path) -> list[Words]:
    """Read paragraphs of words with tags; digits and letters become narrow."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = (line.split() for line in file)
        split = ([item.rpartition("/") for item in line] for line in lines if line)
        return [[(unicodedata.normalize("NFKC", w), tag) for w, _, tag in line] for line in split]


def kind_of(words: Words, start: int, end: int) -> str:
    """Judge a match in a paragraph."""
    edges = [*accumulate((len(word) for word, _ in words), initial=0)]
    first, last = bisect_right(edges, start) - 1, bisect_right(edges, end) - 1
    if edges[first] != start or edges[last] != end:
        return "cut"
    tags = [tag for _, tag in words[first:last]]
    if len(tags) == 1 or all(tag[:2] in {"nr", "ns", "nt", "nz"} for tag in tags):
        return "word or name"
    return "term" if {*tags} <= _TERM and tags[-1] not in _NO_LAST else "other words"


def measure(news: Sequence[Words], folder: Path, *options: str) -> Counter[str]:
    """Count the kinds of all matches of the lexicon in ``folder``."""
    output = folder / "_".join(["matched", *options]).replace("-", "")
    given = ["--input", str(folder / "documents"), "--forms", str(folder / "lexicon")]
    run(augment_mentions.main, *given, "--output", str(output), *options)
    [document] = open_dataset(output, "documents").records()
    assert isinstance(document, Document)
    begins = [*accumulate((sum(len(w) for w, _ in words) + 1 for words in news), initial=0)]
    counts: Counter[str] = Counter()
    for mention in document.mentions:
        number = bisect_right(begins, mention.start) - 1
        start = mention.start - begins[number]
        counts[kind_of(news[number], start, start + mention.end - mention.start)] += 1
    return counts


def run(main: Callable[[Sequence[str]], int], *arguments: str) -> None:
    """Run a command, and show nothing."""
    with contextlib.redirect_stdout(io.StringIO()):
        status = main(arguments)
    if status:
        raise SystemExit(status)


def main() -> None:
    """Make a lexicon of the news, and judge its matches."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("news", type=existing)
    news = read_news(parser.parse_args().news)
    text = "\n".join("".join(word for word, _ in words) for words in news)
    document = Document(id="news", group="news", source="news", text=text, lang="zh")
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_dataset([document], folder / "documents")
        inputs = ["--input", str(folder / "documents"), "--output", str(folder / "lexicon")]
        run(documents_to_lexicon.main, *inputs)
        print(f"{'way':24} {'matches':>8} {'right':>6} " + " ".join(f"{k:>13}" for k in KINDS))
        for way, options in WAYS.items():
            counts = measure(news, folder, *options)
            n = counts.total()
            right = (counts[KINDS[0]] + counts[KINDS[1]]) / n
            ratios = " ".join(f"{counts[kind] / n:13.1%}" for kind in KINDS)
            print(f"{way:24} {n:8,} {right:6.1%} {ratios}")


if __name__ == "__main__":
    main()
