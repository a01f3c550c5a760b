"""Four editions, against gold and against an independent count with lxml and XPath."""

import json
from collections import Counter

import pytest
from lxml import etree

from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei

pytestmark = pytest.mark.realdata

TEI = {"t": "http://www.tei-c.org/ns/1.0"}

# What is in the text, said once more and in another language than the editions: XPath conditions
# on ancestors, for text nodes; `parts` are moved to the end; `names` are elements to be found.
EDITIONS = {
    "schnitzler": {
        "data": "schnitzler-briefe-tei",
        "left_out": "t:del or self::t:fw or self::t:figDesc or self::t:desc or self::t:gap "
        "or self::t:graphic or self::t:surplus or self::t:metamark or self::t:back",
        "names": "self::t:rs[@type='person' or @type='place' or @type='org' or @type='work' "
        "or @type='event'] or self::t:persName or self::t:placeName or self::t:orgName "
        "or self::t:date",
        "files": 350,
    },
    "escher": {
        "data": "escher-briefe-tei",
        "left_out": "t:del or self::t:fw or self::t:figDesc or self::t:desc or self::t:gap "
        "or self::t:graphic or self::t:surplus or self::t:metamark or self::t:expan "
        "or self::t:note[@type='transcript'] or self::t:ref[@type='sum'][parent::t:rs]",
        "names": "self::t:persName or self::t:placeName or self::t:date or self::t:rs",
        "files": 350,
    },
    "sks": {
        "data": "sks-tei",
        "left_out": "t:del or self::t:fw or self::t:figDesc or self::t:desc or self::t:gap "
        "or self::t:graphic or self::t:surplus or self::t:metamark or self::t:rdg "
        "or self::t:rdgGrp or self::t:expan or self::t:witDetail or self::t:orig "
        "or self::t:sic[parent::t:choice] or self::t:seg[@type='refMarker'] "
        "or self::t:app[not(t:lem)] or self::t:figure",
        "names": "self::t:persName or self::t:placeName or self::t:date "
        "or self::t:rs[@type='bible']",
        "files": 80,
    },
}


def without_white_space(text):
    return "".join(text.split())


def documents_of(name, folder):
    edition = load_edition(edition_path(name))
    for file in sorted(folder.glob("*/*.xml")):
        [text] = read_tei(file.read_bytes(), edition, name=file.name)
        yield file, text


def text_by_xpath(tree, left_out):
    """Return the text without white space: running text first, then the notes in order."""
    inside = f"[not(ancestor::*[self::{left_out}])]"
    running = tree.xpath(f"//t:text//text(){inside}[not(ancestor::t:note)]", namespaces=TEI)
    notes = tree.xpath(
        f"//t:text//t:note[not(ancestor-or-self::*[self::{left_out}])]", namespaces=TEI
    )
    parts = [running]
    for note in sorted(notes, key=lambda note: len(note.xpath("ancestor::t:note", namespaces=TEI))):
        depth = len(note.xpath("ancestor-or-self::t:note", namespaces=TEI))
        parts.append(
            note.xpath(f".//text(){inside}[count(ancestor::t:note) = {depth}]", namespaces=TEI)
        )
    return without_white_space("".join("".join(part) for part in parts))


def names_by_xpath(tree, left_out, names):
    """Count by kind the elements that are names and have text in their own part of the document."""
    found = []
    for element in tree.xpath(
        f"//t:text//*[{names}][not(ancestor-or-self::*[self::{left_out}])]", namespaces=TEI
    ):
        depth = len(element.xpath("ancestor::t:note", namespaces=TEI))
        text = element.xpath(
            f".//text()[not(ancestor::*[self::{left_out}])][count(ancestor::t:note) = {depth}]",
            namespaces=TEI,
        )
        if without_white_space("".join(text)):
            found.append(etree.QName(element).localname)
    return Counter(found)


@pytest.mark.parametrize("name", EDITIONS)
def test_every_text_node_and_every_name_is_there(name, realdata):
    rules = EDITIONS[name]
    written = "".join(sign for _, sign in load_edition(edition_path(name)).characters)
    n_files = 0

    for file, text in documents_of(name, realdata(rules["data"])):
        tree = etree.parse(file)
        expected = text_by_xpath(tree, rules["left_out"])
        document = text.document
        found = without_white_space(document.text) if document else ""
        n_removed = text.counters["hyphens removed at line ends"]
        n_written = text.counters["characters written for empty elements"]
        assert letters(found, written) == letters(expected, written), file.name
        assert len(found) == len(expected) - n_removed + n_written, file.name
        names = Counter(m.attributes["element"] for m in document.mentions if document)
        merged = sum("bytes" in m.attributes for m in document.mentions)
        assert merged == 0
        assert names == names_by_xpath(tree, rules["left_out"], rules["names"]), file.name
        n_files += 1

    assert n_files == rules["files"]


def letters(text, written):
    """Remove the characters that may be added or taken away."""
    return text.translate(dict.fromkeys(map(ord, written + "-‐⸗=¬\u00ad")))


@pytest.fixture(scope="module")
def sturm(realdata):
    folder = realdata("sturm-tei")
    edition = load_edition(edition_path("sturm"))
    texts = {}
    for file in sorted((folder / "letters").glob("*.xml")):
        [text] = read_tei(file.read_bytes(), edition, name=file.name)
        texts[file.name] = (file, text.document)
    return folder, texts


def test_sturm_has_all_letters_and_names(sturm):
    _, texts = sturm
    n_elements = Counter()
    for file, _ in texts.values():
        n_elements += Counter(
            etree.QName(e).localname
            for e in etree.parse(file).xpath(
                "//t:text//*[self::t:persName or self::t:placeName or self::t:date]"
                "[not(ancestor::t:note)][normalize-space(.)]",
                namespaces=TEI,
            )
        )

    mentions = Counter(m.label for _, document in texts.values() for m in document.mentions)

    assert len(texts) == 174
    assert mentions == {
        "pers": n_elements["persName"],
        "place": n_elements["placeName"],
        "date": n_elements["date"],
    }


def gold_spans(tokens):
    """Return the character spans of the gold, white space not counted."""
    spans, position = [], 0
    for token, tag, _ in tokens:
        if tag.startswith("B-"):
            spans.append((position, position + len(token), tag[2:]))
        elif tag.startswith("I-"):
            spans[-1] = (spans[-1][0], position + len(token), tag[2:])
        position += len(token)
    return spans


def our_spans(document):
    position = [0]
    for character in document.text:
        position.append(position[-1] + (not character.isspace()))
    return {(position[m.start], position[m.end], m.label) for m in document.mentions}


def merge_pieces(gold, ours):
    """Merge the pieces that the gold makes of one of our elements; the rest stays."""
    merged, left = set(), set(gold)
    for start, end, label in ours:
        pieces = sorted(g for g in left if start <= g[0] and g[1] <= end and g[2] == label)
        if sum(g[1] - g[0] for g in pieces) == end - start:
            merged.add((start, end, label))
            left -= set(pieces)
    return merged | left


def test_sturm_equals_the_gold_letter_by_letter(sturm):
    folder, texts = sturm
    n_letters = n_spans = 0

    for file in sorted((folder / "gold-by-letter").glob("*/*.json")):
        _, document = texts[file.name.removesuffix(".json")]
        tokens = [token for sentence in json.loads(file.read_text()) for token in sentence]
        ours = our_spans(document)
        assert without_white_space(document.text) == "".join(token for token, _, _ in tokens)
        assert merge_pieces(gold_spans(tokens), ours) == ours
        n_letters, n_spans = n_letters + 1, n_spans + len(ours)

    assert (n_letters, n_spans) == (172, 1842)
