"""Names written into files of four editions: any spans, and the editions' own names again."""

import random
import re

import pytest
from lxml import etree

from corpora.document import Mention, without_crossing
from corpora.ner.exchange import named, read_annotated, write_documents
from corpora.tei.corrected import write_corrected
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.reader import read_tei
from corpora.tei.undo import undo
from corpora.tei.writer import TeiFile, write_predictions

pytestmark = pytest.mark.realdata

MODEL = Model(id="onoma-1", name="random", version="1", sha256="00")
DATA = {
    "sturm": "sturm-tei/letters",
    "schnitzler": "schnitzler-briefe-tei/letters",
    "escher": "escher-briefe-tei/letters",
    "sks": "sks-tei/texts",
}
REASONS = {
    "a name is there already",
    "crosses a name that is there",
    "cuts what one entity reference or element stands for",
    "given twice",
    "in or around a name of the same label",
    "goes on in a part that stands elsewhere in the file",
    "no name may stand inside c",
}


@pytest.fixture(params=DATA)
def sample(request, realdata):
    """Return an edition and some of its files, as (name, bytes)."""
    data, _, folder = DATA[request.param].partition("/")
    files = sorted((realdata(data) / folder).rglob("*.xml"))
    chosen = files[:: len(files) // 10]
    return load_edition(edition_path(request.param)), [(f.name, f.read_bytes()) for f in chosen]


def documents(data, edition):
    return [text.document for text in read_tei(data, edition, name="x") if text.document]


def spans(document, labels):
    """Draw spans of any length at any place, no two of which cross."""
    rng = random.Random(document.id)
    letters = [found.start() for found in re.finditer(r"\S", document.text)]
    made = []
    for _ in range(30):
        first = rng.randrange(len(letters))
        last = min(len(letters) - 1, first + rng.choice((0, 5, 5, 12, 60, 300)))
        made.append(Mention(letters[first], letters[last] + 1, label=rng.choice(labels)))
    return without_crossing(made)[0]


def test_any_spans_are_written_and_taken_out_again(sample):
    edition, files = sample
    n_given = n_written = 0

    for name, data in files:
        wanted = {d.id: spans(d, list(edition.labels)) for d in documents(data, edition)}
        written = write_predictions(data, edition, wanted, name="x", model=MODEL)
        given = sum(map(len, wanted.values()))
        assert undo(written.data, name="x") == data, name
        assert written.written + len(written.skipped) == given, name
        assert {skipped.reason for skipped in written.skipped} <= REASONS, name
        before, after = (etree.fromstring(some).iter("{*}text") for some in (data, written.data))
        assert ["".join(t.itertext()) for t in after] == ["".join(t.itertext()) for t in before]
        n_given, n_written = n_given + given, n_written + written.written

    assert n_written > 0.7 * n_given


def test_an_edition_without_its_names_gets_every_one_back(sample):
    edition, files = sample
    n_names = 0

    for name, data in files:
        gold = documents(data, edition)
        bare = without_names(data, gold)
        wanted = {d.id: [m for m in d.mentions if m.label] for d in gold}
        assert [d.text for d in documents(bare, edition)] == [d.text for d in gold], name
        written = write_predictions(bare, edition, wanted, name="x", model=MODEL)
        for document in documents(written.data, edition):
            back = {(m.start, m.end, m.label) for m in document.mentions}
            missing = {(m.start, m.end, m.label) for m in wanted[document.id]} - back
            assert not missing, name
        n_names += sum(map(len, wanted.values()))

    assert n_names > 50


def test_a_cas_and_back_loses_no_name_and_changes_no_byte(sample, tmp_path):
    edition, files = sample

    for name, data in files:
        file = TeiFile.read(data, edition, name=name)
        paths = list(write_documents(file.documents, "xmi", tmp_path))
        read = [read_annotated(path) for path in paths]
        for document, one in zip(file.documents, read, strict=True):
            assert one.text == document.text, name
            assert sorted(map(key, one.mentions)) == sorted(map(key, named(document))), name
        corrected = {d.id: one.mentions for d, one in zip(file.documents, read, strict=True)}
        assert write_corrected(file, corrected).data == data, name


def key(mention):
    return mention.start, mention.end, mention.label, mention.entity or ""


def without_names(data, gold):
    """Take the tags at the bytes of the names out, with the eyes of a regular expression."""
    tags = list(
        re.finditer(rb"<!--.*?-->|<\?.*?\?>|<(/?)([^\s<>/!]+)[^<>]*?(/?)>", data, re.DOTALL)
    )
    bytes_ = {
        int(byte)
        for document in gold
        for mention in document.mentions
        if mention.label
        for byte in mention.attributes.get("bytes", mention.attributes["byte"]).split()
    }
    taken, open_ = [], []
    for tag in tags:
        closes, name, is_empty = tag.groups()
        if name is None or is_empty:
            continue
        if not closes:
            open_.append(tag)
            continue
        if open_.pop().start() in bytes_:
            taken.append(tag)
    starts = bytes_ | {tag.start() for tag in taken}
    pieces, position = [], 0
    for tag in tags:
        if tag.start() in starts:
            pieces.append(data[position : tag.start()])
            position = tag.end()
    return b"".join([*pieces, data[position:]])
