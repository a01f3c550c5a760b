"""Measure precision and recall of sentence ends on treebanks, by language.

    python -m benchmarks.sentences tests/data/sentences/*.txt
    python -m benchmarks.sentences th_pud-ud-test.conllu --part first
    python -m benchmarks.sentences pragmatic_segmenter/spec/pragmatic_segmenter/languages/*_spec.rb

Reads CoNLL-U files of Universal Dependencies (``# text = …``), text (a sentence on each line, an
empty line between paragraphs), or the tests of the Pragmatic Segmenter (``*_spec.rb``), of which
each case is a paragraph. Cases with line breaks, and those that change the text or put no space
between sentences, are left out. The name of a file begins with the language, up to ``_``, ``-`` or
``.``; tests name theirs. The sentences of a paragraph are joined by a space; if the file marks no
paragraphs, five sentences are one. An end counts if another sentence of the same paragraph follows.
A paragraph is ``equal`` if all its ends are found, and no others. ``--part`` takes one half of each
file; for treebanks without a development part, the tables of languages were made with the first
half. ``--learn`` uses a table that is learned from the whole file, instead of the language's own.
"""

import argparse
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.inputs import existing
from corpora.document import Span
from corpora.segmentation.abbreviations import learn
from corpora.segmentation.scripts import is_solid
from corpora.segmentation.sentences import Segmenter, segmenter, segmenter_with

PARAGRAPH = 5
_LANGUAGE = re.compile(r"[a-zA-Z]+")
_STRING = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')"""
_CASE = re.compile(
    rf"""\btext:\s*({_STRING}),\s*language:\s*["']([a-z]+)["'].*?\.to\ eq\(\[(.*?)\]\)\s*end\b""",
    re.DOTALL | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Score:
    """How many sentence ends were found, are in the treebank, and are in both."""

    found: int
    gold: int
    both: int
    equal: int
    """The number of paragraphs in which both have the same ends."""

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
    if path.suffix == ".rb":
        return list(_cases(text))
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


def _cases(ruby: str) -> Iterator[list[str]]:
    """Yield the sentences of each case of a test in Ruby."""
    for text, _, expected in _CASE.findall(ruby):
        sentences = [_unquoted(string).strip() for string in re.findall(_STRING, expected)]
        whole = _unquoted(text)
        if ("" if is_solid(whole[-1]) else " ").join(sentences) == whole and "\n" not in whole:
            yield sentences


def _unquoted(string: str) -> str:
    """Return the value of a string of Ruby."""
    if string[0] == "'":
        return re.sub(r"\\([\\'])", r"\1", string[1:-1])
    plain = re.sub(r"\\(?![\\\"nrtfbu])", "", string)
    return str(json.loads(plain, strict=False))


def language(path: Path) -> str | None:
    """Find the language of a file: in its name, or in that of the cases."""
    if path.suffix == ".rb":
        case = _CASE.search(path.read_text("utf-8"))
        return case[2] if case else None
    name = _LANGUAGE.match(path.name)
    return name[0] if name else None


def score(cutter: Segmenter, paragraphs: Sequence[Sequence[str]]) -> Score:
    """Cut the paragraphs, and count ends inside them."""
    found, gold, both, equal = 0, 0, 0, 0
    for sentences in paragraphs:
        text = " ".join(sentences)
        ours = {span.end for span in cutter.sentences(text, Span(0, len(text)))} - {len(text)}
        theirs = set(ends(sentences)) - {len(text)}
        found, gold, both = found + len(ours), gold + len(theirs), both + len(ours & theirs)
        equal += ours == theirs
    return Score(found, gold, both, equal)


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
    parser.add_argument("files", nargs="+", type=existing)
    parser.add_argument("--part", choices=("all", "first", "second"), default="all")
    parser.add_argument("--learn", action="store_true")
    options = parser.parse_args()
    names = f"{'file':30} {'ends':>6} {'found':>6} {'precision':>9} {'recall':>7}"
    print(f"{names} {'paragraphs':>10} {'equal':>6}")
    for path in options.files:
        paragraphs = read_paragraphs(path)
        half = len(paragraphs) // 2
        parts = {"all": paragraphs, "first": paragraphs[:half], "second": paragraphs[half:]}
        lang = language(path)
        table = learn(" ".join(sentences) for sentences in paragraphs) if options.learn else None
        cutter = segmenter(lang) if table is None else segmenter_with(lang, table)
        part = parts[options.part]
        result = score(cutter, part)
        print(
            f"{path.name:30} {result.gold:6,} {result.found:6,} "
            f"{result.precision:9.1%} {result.recall:7.1%} {len(part):10,} {result.equal:6,}"
        )


if __name__ == "__main__":
    main()
