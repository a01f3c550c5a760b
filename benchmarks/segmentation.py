"""How well sentences and words agree with a gold standard, and how fast they are found.

    python -m benchmarks.segmentation path/to/gold-by-letter --lang de

The folder holds ``*/*.json``: for each text a list of sentences of ``[token, tag, glue]``, where
glue 0 means that a space stands before, 1 that none does, 2 that a sentence begins. The paragraphs
of the texts are lost there, so a boundary that no mark shows (after a heading, an address) cannot
be found; "after . ! ?" counts only those that a mark shows.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from corpora.document import Span
from corpora.sentences import Segmenter, segmenter

Gold = list[list[tuple[str, str, int]]]


@dataclass
class Agreement:
    """Counts of what is found, what is in the gold standard, and what is in both."""

    found: int = 0
    gold: int = 0
    both: int = 0

    def add(self, found: set[Span] | set[int], gold: set[Span] | set[int]) -> None:
        self.found += len(found)
        self.gold += len(gold)
        self.both += len(found & gold)

    def __str__(self) -> str:
        precision, recall = self.both / max(1, self.found), self.both / max(1, self.gold)
        f1 = 2 * self.both / max(1, self.found + self.gold)
        return f"{self.gold:8,} {self.found:8,} {precision:8.2%} {recall:8.2%} {f1:8.2%}"


@dataclass
class Report:
    """What is counted over all texts."""

    tokens: Agreement = field(default_factory=Agreement)
    boundaries: Agreement = field(default_factory=Agreement)
    marked: Agreement = field(default_factory=Agreement)
    token_differences: Counter[str] = field(default_factory=Counter)
    boundary_differences: Counter[str] = field(default_factory=Counter)
    bytes: int = 0
    seconds: float = 0.0

    def add(self, gold: Gold, breaker: Segmenter) -> None:
        """Compare one text."""
        text, words, ends = rebuild(gold)
        began = time.perf_counter()
        sentences = breaker.sentences(text, Span(0, len(text)))
        found = {word for sentence in sentences for word in breaker.words(text, sentence)}
        self.seconds += time.perf_counter() - began
        self.bytes += len(text.encode())
        found_ends = {sentence.end for sentence in sentences}
        self.tokens.add(found, words)
        self.boundaries.add(found_ends, ends)
        self.marked.add(marked(text, found_ends), marked(text, ends))
        self.token_differences.update(differing_words(text, found, words))
        for sign, offsets in (("missed", ends - found_ends), ("extra", found_ends - ends)):
            for end in marked(text, offsets):
                before, after = text[:end].split()[-2:], text[end:].split()[:1]
                self.boundary_differences[f"{sign}: {' '.join(before)} | {' '.join(after)}"] += 1


def rebuild(gold: Gold) -> tuple[str, set[Span], set[int]]:
    """Put the text together again: (text, words, ends of sentences)."""
    pieces: list[str] = []
    words: set[Span] = set()
    ends: set[int] = set()
    offset = 0
    for sentence in gold:
        for token, _, glue in sentence:
            if glue != 1 and offset:
                pieces.append(" ")
                offset += 1
            pieces.append(token)
            words.add(Span(offset, offset + len(token)))
            offset += len(token)
        ends.add(offset)
    return "".join(pieces), words, ends


def marked(text: str, ends: set[int]) -> set[int]:
    """Those of the ends that a mark shows."""
    return {end for end in ends if text[:end].rstrip("\"'»«“”)–- ").endswith((".", "!", "?"))}


def differing_words(text: str, found: set[Span], gold: set[Span]) -> Iterator[str]:
    """Show each stretch that is cut differently: ``gold -> found``."""
    same = {w.start for w in found & gold}
    starts = sorted({w.start for w in found} & {w.start for w in gold} - same)
    for start in starts:
        stop = min({w.start for w in found if w.start > start} & {w.start for w in gold}, default=0)
        shown = [
            "|".join(text[w.start : w.end] for w in sorted(words) if start <= w.start < stop)
            for words in (gold, found)
        ]
        yield " -> ".join(shown)


def main() -> None:
    """Compare all texts and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("gold", type=Path, help="folder with */*.json")
    parser.add_argument("--lang", default="de", help="BCP 47 tag")
    parser.add_argument("--top", type=int, default=30, help="how many differences to show")
    options = parser.parse_args()
    report, breaker = Report(), segmenter(options.lang)
    breaker.words("warm", Span(0, 4))
    for path in sorted(options.gold.glob("*/*.json")):
        report.add(json.loads(path.read_text("utf-8")), breaker)
    print(f"{'':12}{'gold':>8} {'found':>8} {'prec.':>8} {'recall':>8} {'F1':>8}")
    print(f"{'tokens':12}{report.tokens}")
    print(f"{'boundaries':12}{report.boundaries}")
    print(f"{'after . ! ?':12}{report.marked}")
    print(f"speed       {report.bytes / 1e6 / report.seconds:8.2f} MB/s")
    for differences in (report.token_differences, report.boundary_differences):
        print(f"\n{differences.total():,} differences, gold -> found; the most frequent:")
        for difference, count in differences.most_common(options.top):
            print(f"{count:5}  {difference}")


if __name__ == "__main__":
    main()
