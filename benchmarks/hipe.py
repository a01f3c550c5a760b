"""Count the published responses of HIPE-2022 again, and compare with the published counts.

    python -m benchmarks.hipe --gold HIPE-2022-data --responses HIPE-2022-eval

The folders are clones of the campaign's two repositories (github.com/hipe-eval). Of each response,
links (``NEL-LIT``, fuzzy, with NIL) are counted by the function that ``modeling.link score`` uses,
and names (``NE-COARSE-LIT``, strict) as equal spans of ``from_iob2``: right, wrong, missed. Prints
the responses whose counts differ from those in ``system-rankings``, and how many do not differ.
Responses with another number of tokens than the gold standard are named and left out.
"""

import argparse
import csv
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from benchmarks.inputs import existing
from corpora.document import TokenSpan
from corpora.tagging import from_iob2
from modeling.link.scores import Link, count_right

NAMES = "NE-COARSE-LIT-micro-strict-TIME-ALL-LED-ALL"
LINKS = "NEL-LIT-micro-fuzzy-TIME-ALL-LED-ALL-@1"
_UNLINKED = {"_", "-", ""}
_AS_IOB2 = {"E": "I", "S": "B"}  # for responses in IOBES
Row = Mapping[str, str]
Found = TypeVar("Found", bound=Collection[Any])


class Counted(NamedTuple):
    """How many names or links are right, wrong and missed."""

    right: int
    wrong: int
    missed: int


def read_table(path: Path) -> list[list[Row]]:
    """Read the tokens of each document."""
    documents: list[list[Row]] = [[]]
    columns: list[str] = []
    for line in path.read_text("utf-8").splitlines():
        cells = line.split("\t")
        if cells[0] == "TOKEN":
            columns = cells
        elif len(cells) > 1:
            documents[-1].append(dict(zip(columns, cells, strict=False)))
        else:
            documents.append([])
    return [document for document in documents if document]


def cut_like(gold: Sequence[Sequence[Row]], rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    """Cut the tokens of a response where documents of the gold end."""
    start = 0
    for document in gold:
        yield rows[start : start + len(document)]
        start += len(document)


def names_of(document: Sequence[Row]) -> list[TokenSpan]:
    """Find the names of a document, in tokens."""
    tags = [row["NE-COARSE-LIT"] for row in document]
    tags = ["O" if tag in {"_", ""} else _AS_IOB2.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    return list(from_iob2(tags, strict=False))


def links_of(document: Sequence[Row]) -> list[Link]:
    """Find the links of a document: the first candidate at the first token of each name."""
    found = []
    for name in names_of(document):
        link = document[name.start].get("NEL-LIT", "_").split("|")[0]
        if link not in _UNLINKED:
            found.append(Link(name.start, name.end, link))
    return found


def counted(
    found: Sequence[tuple[Found, Found]], n_right: Callable[[Found, Found], int]
) -> Counted:
    """Count what is right in each document, and the rest of the answer and of the gold."""
    right = sum(n_right(a, b) for a, b in found)
    n_gold, n_answer = (sum(map(len, side)) for side in zip(*found, strict=True))
    return Counted(right, n_answer - right, n_gold - right)


def count_names(gold: Sequence[Sequence[Row]], answer: Sequence[Sequence[Row]]) -> Counted:
    """Count names: boundaries and class."""
    found = [(set(names_of(a)), set(names_of(b))) for a, b in zip(gold, answer, strict=True)]
    return counted(found, lambda a, b: len(a & b))


def count_links(gold: Sequence[Sequence[Row]], answer: Sequence[Sequence[Row]]) -> Counted:
    """Count links that overlap a name with their entity."""
    found = [(links_of(a), links_of(b)) for a, b in zip(gold, answer, strict=True)]
    return counted(found, partial(count_right, fuzzy=True))


def published(folder: Path) -> dict[tuple[str, str], Counted]:
    """Read the rankings: system and evaluation to counts."""
    counts = {}
    for path in folder.rglob("ranking-*-all.tsv"):
        rows = csv.DictReader(path.read_text("utf-8").splitlines(), delimiter="\t")
        for row in rows:
            if row["Evaluation"] in {NAMES, LINKS} and row["Label"] == "ALL" and row["TP"]:
                numbers = (int(float(row[name])) for name in ("TP", "FP", "FN"))
                counts[row["System"], row["Evaluation"]] = Counted(*numbers)
    return counts


def compare(gold: Path, responses: Path) -> Iterator[str]:
    """Say where counts differ, and how many are equal."""
    counts, tally = published(responses), Counter[str]()
    tables = {path.name: path for path in gold.rglob("HIPE-2022-v2.1-*-test-*.tsv")}
    for path in sorted(responses.rglob("submitted/*.tsv")):
        dataset, language = path.stem.split("_")[2:4]
        right = read_table(tables[f"HIPE-2022-v2.1-{dataset}-test-{language}.tsv"])
        rows = [row for document in read_table(path) for row in document]
        if len(rows) != sum(map(len, right)):
            tally["other tokens than the gold"] += 1
            yield f"{path.stem}: {len(rows)} tokens, not {sum(map(len, right))}"
            continue
        answer = list(cut_like(right, rows))
        for kind, key, count in (("names", NAMES, count_names), ("links", LINKS, count_links)):
            if there := counts.get((path.stem, key)):
                ours = count(right, answer)
                tally[f"{kind}: {'equal' if ours == there else 'different'}"] += 1
                if ours != there:
                    yield f"{path.stem}, {kind}: {tuple(ours)}, published {tuple(there)}"
    yield from (f"{what}: {n}" for what, n in sorted(tally.items()))


def main(argv: Sequence[str] | None = None) -> None:
    """Compare, and print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0], allow_abbrev=False)
    parser.add_argument("--gold", type=existing, required=True, metavar="DIR")
    parser.add_argument("--responses", type=existing, required=True, metavar="DIR")
    arguments = parser.parse_args(argv)
    print("\n".join(compare(arguments.gold, arguments.responses)))


if __name__ == "__main__":
    main()
