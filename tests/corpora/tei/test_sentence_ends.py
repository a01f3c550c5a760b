"""Where sentences end in four editions, beside ends that were checked by hand.

``sentences/editions.tsv`` has 200 places an edition, chosen by chance among all marks that may end
a sentence inside a paragraph of 40 files: so it tells both precision and recall.
"""

from bisect import bisect_right
from collections import Counter, defaultdict
from pathlib import Path

import pytest

from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei

PLACES = Path(__file__).resolve().parents[2] / "data" / "sentences" / "editions.tsv"
FOLDERS = {
    "sturm": ("sturm-tei", "letters"),
    "schnitzler": ("schnitzler-briefe-tei", "letters"),
    "escher": ("escher-briefe-tei", "letters"),
    "sks": ("sks-tei", "texts"),
}


def places_of(edition):
    places = defaultdict(list)
    for line in PLACES.read_text("utf-8").splitlines()[1:]:
        name, file, offset, ends = line.split("\t")
        if name == edition:
            places[file].append((int(offset), ends == "yes"))
    return places


def ends_at(document, offset):
    """Return whether another sentence begins before the next letter or digit."""
    text = document.text
    following = next(n for n in range(offset, len(text)) if text[n].isalnum())
    starts = [sentence.start for sentence in document.sentences]
    return bisect_right(starts, offset - 1) < bisect_right(starts, following)


@pytest.mark.realdata
@pytest.mark.parametrize(
    ("edition", "precision", "recall"),
    [
        ("sturm", 0.92, 0.93),
        ("schnitzler", 0.98, 0.99),
        ("escher", 0.98, 0.99),
        ("sks", 0.99, 0.98),
    ],
)
def test_sentences_end_where_a_reader_says(edition, precision, recall, realdata):
    name, folder = FOLDERS[edition]
    rules, counts = load_edition(edition_path(edition)), Counter()

    for file, places in places_of(edition).items():
        data = (realdata(name) / folder / file).read_bytes()
        [read] = read_tei(data, rules, name=file)
        for offset, expected in places:
            assert read.document.text[offset - 1] in ".!?…\"'»«“”’)]", (file, offset)
            counts[expected, ends_at(read.document, offset)] += 1

    assert counts.total() == 200
    both = counts[True, True]
    found = {
        "precision": round(both / (both + counts[False, True]), 3),
        "recall": round(both / (both + counts[True, False]), 3),
    }
    assert found["precision"] >= precision
    assert found["recall"] >= recall
