"""Measure precision and recall of sentence ends on treebanks, by language.

    python -m benchmarks.sentences tests/data/sentences/*.txt
    python -m benchmarks.sentences th_pud-ud-test.conllu --part first

Reads CoNLL-U files of Universal Dependencies (``# text = …``) or text (a sentence on each line, an
empty line between paragraphs). The name of a file begins with the language, up to ``_``, ``-`` or
``.``. The sentences of a paragraph are joined by a space; if the file marks no paragraphs, five
sentences are one. An end counts if another sentence of the same paragraph follows. ``--part`` takes
one half of each file; for treebanks without a development part, the tables of languages were made
with the first half. ``--learn`` uses a table that is learned from the whole file, instead of the
language's own.
"""

import argparse
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.document import Span
from corpora.segmentation.abbreviations import learn
from corpora.segmentation.sentences import Segmenter, segmenter, segmenter_with

PARAGRAPH = 5
_LANGUAGE = re.compile(r"[a-zA-Z]+")


@dataclass(frozen=True, slots=True)
class Score:
    """How many sentence ends were found, are in the treebank, and are in both."""

    found: int
    gold: int
    both: int

    @property
    def precision(self) -> float:
        """The fraction of the found ends that are right."""
        return self.both / max(self.found, 1)

    @property
    def recall(self) -> float:
        """The fraction of the ends in the treebank that were found."""
        return self.both / max(self.gold, 1)


def read_paragraphs(path: Path) -> list[list[str]]:
    """Read the sentences of a file, paragraph by paragraph."""
    text = path.read_text("utf-8")
    if path.suffix != ".conllu":
        return [part.split("\n") for part in text.strip().split("\n\n")]
    has_paragraphs = "\n# newpar" in text
    paragraphs: list[list[str]] = []
    for line in text.split("\n"):
        if line.startswith(("# newpar", "# newdoc")):
            paragraphs.append([])
        elif line.startswith("# text = "):
            if not paragraphs or (not has_paragraphs and len(paragraphs[-1]) == PARAGRAPH):
                paragraphs.append([])
            paragraphs[-1].append(" ".join(line.removeprefix("# text = ").split()))
    return list(filter(None, paragraphs))


def score(cutter: Segmenter, paragraphs: Sequence[Sequence[str]]) -> Score:
    """Cut the paragraphs, and count ends inside them."""
    found, gold, both = 0, 0, 0
    for sentences in paragraphs:
        text = " ".join(sentences)
        ours = {span.end for span in cutter.sentences(text, Span(0, len(text)))} - {len(text)}
        theirs = set(ends(sentences)) - {len(text)}
        found, gold, both = found + len(ours), gold + len(theirs), both + len(ours & theirs)
    return Score(found, gold, both)


def ends(sentences: Sequence[str]) -> Iterator[int]:
    """Yield where each sentence ends in the joined text."""
    end = -1
    for sentence in sentences:
        end += 1 + len(sentence)
        yield end


def main() -> None:
    """Print a line for each file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--part", choices=("all", "first", "second"), default="all")
    parser.add_argument("--learn", action="store_true")
    options = parser.parse_args()
    print(f"{'file':30} {'ends':>6} {'found':>6} {'precision':>9} {'recall':>7}")
    for path in options.files:
        match = _LANGUAGE.match(path.name)
        paragraphs = read_paragraphs(path)
        half = len(paragraphs) // 2
        parts = {"all": paragraphs, "first": paragraphs[:half], "second": paragraphs[half:]}
        lang = match[0] if match else None
        table = learn(" ".join(sentences) for sentences in paragraphs) if options.learn else None
        cutter = segmenter(lang) if table is None else segmenter_with(lang, table)
        result = score(cutter, parts[options.part])
        print(
            f"{path.name:30} {result.gold:6,} {result.found:6,} "
            f"{result.precision:9.1%} {result.recall:7.1%}"
        )


if __name__ == "__main__":
    main()
