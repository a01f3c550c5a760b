"""Mentions get the entries of a register, and what does not fit is named."""

from pathlib import Path

import pytest

from corpora.document import Document, Mention
from corpora.errors import CorpusError
from corpora.registers.coverage import measure, side_files, to_markdown
from corpora.registers.entry import kind_of_label
from corpora.registers.lines import TextLines, write_lines
from corpora.registers.linking import identify
from corpora.registers.register import load_register, open_registers, write_register
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.places import read_source
from corpora.tei.source import Source

REGISTER = Path(__file__).resolve().parents[2] / "data/register"


def document(*entities):
    """Make a document with a name for each of these entities."""
    mentions = tuple(
        Mention(2 * i, 2 * i + 1, entity, "place") for i, entity in enumerate(entities)
    )
    return Document(id="d", group="letters", source="d", text="A " * 9, mentions=mentions)


def test_mentions_get_canonical_ids_and_names_also_if_they_have_ids_of_several_schemes():
    register = open_registers([f"{REGISTER}/*.xml"])
    expected = {
        "letters:o1": ("letters:o1", "Jena"),
        "geonames:2879139": ("letters:o2", "Leipzig"),
        "letters:x": ("letters:x", None),
        None: (None, None),
        "letters:p3 letters:p5": ("letters:p3 letters:p5", "Ahlensteg, Konrad; Sollnow, Emmerich"),
        "gazetteer:15 geonames:2879139": ("letters:o2", "Leipzig"),
        "letters:o2 geonames:2879139": ("letters:o2", "Leipzig"),
        "letters:x geonames:2879139": ("letters:x letters:o2", "Leipzig"),
        "geonames:2879139 letters:o1 wiki:Q1": ("letters:o2 letters:o1 wiki:Q1", "Leipzig; Jena"),
    }

    found, counters = identify(document(*expected), register)

    named = [(m.entity, m.attributes.get("name")) for m in found.mentions]
    assert named == list(expected.values())
    assert counters == {
        "register: mentions with an id that it has": 7,
        "register: mentions with an id that leads nowhere": 3,
    }


def test_the_card_names_what_leads_nowhere_and_what_is_never_mentioned():
    register = open_registers([f"{REGISTER}/*.xml"])

    coverage = measure([document("letters:o1", "letters:x", "letters:x", "letters:p3")], register)

    card = to_markdown(coverage)
    assert "Ids that lead nowhere: 1." in card
    assert "| `letters:x` | 2 | place | A | d |" in card
    assert "Entries that are never mentioned: 20; all in `register-never-mentioned.tsv`." in card
    assert "| `p3` | person | Ahlensteg, Konrad | 1 | place |" in card
    files = {name: list(lines) for name, lines in side_files(coverage)}
    assert files["register-nowhere.tsv"][1:] == ["letters:x\t2\tplace\tA\td\n"]
    assert len(files["register-never-mentioned.tsv"]) == 21


def test_a_register_is_written_and_read(tmp_path):
    register = open_registers([str(REGISTER)])

    (tmp_path / "r.jsonl").write_text("".join(write_register(register)), encoding="utf-8")

    assert load_register(tmp_path / "r.jsonl").entries == register.entries


def test_lines_of_the_text_are_those_of_the_file():
    xml = (
        b"<TEI>\n<text><body><p>One two<!--\n\n--> three\n  four <hi\n rend='x'>five</hi></p>\r\n"
        b"<p>six</p></body></text></TEI>"
    )
    [(text, places)] = read_source(Source(xml, name="a"), load_edition(edition_path("tei")))

    lines = TextLines({"lines": write_lines(places)})

    found = text.document.text
    words = {word: lines.at(found.index(word)) for word in found.split()}
    assert words == {"One": 2, "two": 2, "three": 4, "four": 5, "five": 6, "six": 7}
    assert TextLines({}).at(3) is None


def test_labels_name_kinds():
    labels = ("pers", "B-PER"[2:], "placeName", "org", "work", "date", None)

    assert [kind_of_label(label) for label in labels] == [
        *("person", "person", "place", "organization", "work", None, None)
    ]


@pytest.mark.parametrize("line", [b'{"id": "P.\xff"}', b'"P.1"', b"[[1, 2, 3]]", b"{", b""])
def test_a_damaged_line_of_a_written_register_is_named(tmp_path, line):
    (tmp_path / "r.jsonl").write_bytes(
        b'{"id": "P.1", "kind": "person", "name": "A"}\n' + line + b"\n"
    )

    with pytest.raises(CorpusError, match=r"r\.jsonl:2: .* Run onoma tei again\."):
        load_register(tmp_path / "r.jsonl")
