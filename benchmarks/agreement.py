"""Compare sentences and words of a `ner` dataset with a gold standard of the same texts.

    python -m benchmarks.agreement --ner build/sturm/ner --gold GOLD --published sturm.conll

The folder GOLD holds ``*/ID.json``: for each document a list of sentences of ``[token, tag, …]``.
Words and ends of sentences are compared by their place in the text, without white space. The kinds
of difference are printed with their most frequent examples. The documents of published CoNLL
samples are not known; these samples are compared as a multiset of sentences.
"""

import argparse
import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path

from benchmarks.inputs import existing
from corpora.datasets.shards import open_dataset
from corpora.document import Sentence
from corpora.ner.conll import read_conll

Cuts = dict[int, int]  # start of a word to its end, white space not counted


@dataclass
class Agreement:
    """Counts of words or sentence ends: those found, those in the gold standard, those in both."""

    found: int = 0
    gold: int = 0
    both: int = 0

    def add(self, found: set[object], gold: set[object]) -> None:
        """Count one document."""
        self.found += len(found)
        self.gold += len(gold)
        self.both += len(found & gold)

    def __str__(self) -> str:
        precision, recall = self.both / max(1, self.found), self.both / max(1, self.gold)
        f1 = 2 * self.both / max(1, self.found + self.gold)
        return f"{self.gold:8,} {self.found:8,} {precision:8.1%} {recall:8.1%} {f1:8.1%}"


@dataclass
class Report:
    """The counts over all documents, and how often each kind of difference occurs."""

    words: Agreement = field(default_factory=Agreement)
    ends: Agreement = field(default_factory=Agreement)
    words_apart: Counter[str] = field(default_factory=Counter)
    ends_apart: Counter[str] = field(default_factory=Counter)

    def add(self, ours: list[list[str]], gold: list[list[str]]) -> None:
        """Compare one document."""
        ours_words, gold_words = words_of(ours), words_of(gold)
        text = "".join(token for sentence in gold for token in sentence)
        self.words.add(set(ours_words.items()), set(gold_words.items()))
        found, expected = ends_of(ours), ends_of(gold)
        self.ends.add(set(found), set(expected))
        self.words_apart.update(differences(text, ours_words, gold_words))
        for sign, ends in (("only gold", expected - found), ("only ours", found - expected)):
            for end in ends:
                self.ends_apart[f"{sign}: {kind_of_end(text, end)}"] += 1


def words_of(sentences: list[list[str]]) -> Cuts:
    """Return the words of a document: start to end of each, white space not counted."""
    lengths = [len(token) for sentence in sentences for token in sentence]
    ends = list(accumulate(lengths))
    return {end - length: end for end, length in zip(ends, lengths, strict=True)}


def ends_of(sentences: list[list[str]]) -> set[int]:
    """Return the places where sentences end, white space not counted."""
    return set(accumulate(sum(map(len, sentence)) for sentence in sentences))


def kind_of_end(text: str, end: int) -> str:
    """Return the kind of a sentence's end: what the character before it is."""
    last = text[end - 1]
    if last in ".!?":
        return f"after {last}"
    return "after a letter, digit or comma" if last.isalnum() or last in ",;" else f"after {last}"


def differences(text: str, ours: Cuts, gold: Cuts) -> Iterator[str]:
    """Show each stretch that is cut differently: ``gold -> ours``."""
    both = sorted(ours.keys() & gold.keys())
    for start, stop in zip(both, [*both[1:], len(text)], strict=True):
        if ours[start] != gold[start]:
            yield " -> ".join(
                "|".join(subwords(text[start:stop], cuts, at=start)) for cuts in (gold, ours)
            )


def subwords(stretch: str, cuts: Cuts, *, at: int) -> Iterator[str]:
    """Yield the words of a stretch that begins at index ``at`` of the text."""
    start = at
    while start < at + len(stretch):
        yield stretch[start - at : cuts[start] - at]
        start = cuts[start]


def compare_published(ours: Iterable[Sentence], files: list[Path]) -> str:
    """Count the published samples that we have with the same tokens, and with the same tags, too.

    Returns two lines of text. A sample that is published twice counts twice only where ours has it
    twice.
    """
    published = [sentence for file in files for sentence in read_conll(file, split="all")]
    mine = list(ours)
    lines = []
    for what, key in (
        ("tokens", lambda s: s.tokens),
        ("tokens and tags", lambda s: (s.tokens, s.tags)),
    ):
        left = Counter(map(key, mine))
        n_same = sum((left & Counter(map(key, published))).values())
        lines.append(
            f"{n_same:,} of {len(published):,} published samples are ours with the same {what} "
            f"({n_same / len(published):.1%}; we have {len(mine):,})"
        )
    return "\n".join(lines)


def sentences_of(folder: Path) -> Iterator[Sentence]:
    """Read the sentences of a dataset."""
    records = open_dataset(folder, "ner").records()
    return (record for record in records if isinstance(record, Sentence))


def main() -> None:
    """Compare, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ner", type=existing, required=True, help="a dataset")
    parser.add_argument("--gold", type=existing, required=True, help="folder with */ID.json")
    parser.add_argument("--published", type=existing, nargs="*", default=[], help="CoNLL files")
    parser.add_argument("--top", type=int, default=12, help="how many differences to show")
    options = parser.parse_args()
    ours: dict[str, list[list[str]]] = defaultdict(list)
    for sentence in sentences_of(options.ner):
        ours[sentence.document_id].append(list(sentence.tokens))
    report = Report()
    for path in sorted(options.gold.glob("*/*.json")):
        gold = [[token for token, _, _ in s] for s in json.loads(path.read_text("utf-8"))]
        report.add(ours[path.name.removesuffix(".json")], gold)
    print(f"{'':16}{'gold':>8} {'ours':>8} {'prec.':>8} {'recall':>8} {'F1':>8}")
    print(f"{'words':16}{report.words}")
    print(f"{'sentence ends':16}{report.ends}")
    for name, apart in (("words", report.words_apart), ("ends", report.ends_apart)):
        print(f"\n{apart.total():,} differences of {name}; the most frequent:")
        for difference, count in apart.most_common(options.top):
            print(f"{count:5}  {difference}")
    if options.published:
        print(compare_published(sentences_of(options.ner), options.published))


if __name__ == "__main__":
    main()
