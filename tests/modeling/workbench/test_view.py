"""A letter as its edition reads it: what the page learns of blocks, lines, pages and notes."""

from pathlib import Path

from corpora.tei.edition import edition_path, load_edition
from corpora.tei.writer import TeiFile
from modeling.workbench.view import element_of_block, tei_of_blocks, tei_view

DATA = Path(__file__).parents[2] / "data" / "letters"


def view_of(data, edition):
    file = TeiFile.read(data, edition, name="a.xml")
    [(text, places)] = file.texts
    return tei_view(text.document, places, edition), text.document, places


def sample(name):
    return view_of((DATA / name).read_bytes(), load_edition(DATA / "edition.toml"))


def tei(body):
    head = "<teiHeader><fileDesc><titleStmt><title>A</title></titleStmt></fileDesc></teiHeader>"
    whole = f"<TEI xmlns='http://www.tei-c.org/ns/1.0'>{head}<text><body>{body}</body></text></TEI>"
    return view_of(whole.encode(), load_edition(edition_path("tei")))


def test_cells_of_a_table_know_their_row():
    view, document, _ = sample("02.xml")

    cells = [block for block in view["blocks"] if block["kind"] == "cell"]
    rows = [cell["row"] for cell in cells]
    assert [rows.count(row) for row in sorted(set(rows))] == [3, 3, 3]
    assert document.text[cells[3]["start"] : cells[3]["end"]] == "Berlin"


def test_a_page_may_begin_inside_a_word_of_a_verse():
    view, document, _ = sample("08.xml")

    at = next(m["at"] for m in view["marks"] if m["kind"] == "page" and m.get("n") == "3")
    assert document.text[at - 5 : at + 8] == " vorübergeht;"[:13]


def test_notes_stand_behind_the_word_that_they_are_on():
    view, document, _ = tei(
        "<p>Eins<note n='1'>Zur <hi rend='bold'>Eins</hi>.</note> und <pb n='2'/>zwei"
        "<note place='foot'>Zur Zwei.</note></p><p>Drei.</p>"
    )
    text = document.text

    assert [text[: note["at"]].split()[-1] for note in view["notes"]] == ["Eins", "zwei"]
    assert view["notes"][0]["n"] == "1"
    inside = [b for b in view["blocks"] if b.get("part") == view["notes"][1]["part"]]
    assert [text[b["start"] : b["end"]] for b in inside] == ["Zur Zwei."]
    [page] = [mark for mark in view["marks"] if mark["kind"] == "page"]
    assert text[page["at"] :].startswith("zwei")
    [style] = view["styles"]
    assert (text[style["start"] : style["end"]], style["style"]) == ("Eins", "bold")
    assert style["start"] > text.index("Zur")


def test_only_addresses_of_the_web_become_links():
    view, *_ = tei(
        "<p><pb facs='https://example.org/1.jpg'/>a <pb facs='javascript:alert(1)'/>b "
        "<pb facs='1.jpg'/>c</p>"
    )

    assert [mark.get("facs") for mark in view["marks"]] == ["https://example.org/1.jpg", None, None]


def test_the_element_of_a_block_holds_all_of_it():
    for name in ("01.xml", "03.xml", "05.xml", "08.xml"):
        view, document, places = sample(name)
        for number, block in enumerate(view["blocks"]):
            node = element_of_block(document, places, number)
            words = document.text[block["start"] : block["end"]].split()
            found = places.source.text[node.start : node.end]
            assert node.name not in {"hi", "persname", "placename"}
            assert words[0][:3] in found or "<" in found


def test_each_character_of_a_block_has_its_place_in_the_tei_of_the_block():
    _, document, places = tei("<p>Ein &amp; <hi>zw<lb break='no'/>ei</hi>\n  drei</p><p>vier</p>")

    found = tei_of_blocks(document, places)

    assert [block["element"] for block in found["blocks"]] == [0, 1]
    of = [element["tei"] for element in found["elements"]]
    runs = found["blocks"][0]["runs"]
    written = [of[0][start : end[0] if end else start + n] for _, start, n, *end in runs]
    assert "".join(written) == "Ein&amp;zweidrei"
    assert written[1] == "&amp;"
    assert [document.text[run[0] : run[0] + run[2]] for run in runs] == [
        *("Ein", "&", "zw", "ei", "drei")
    ]
    assert (of[1], found["blocks"][1]["runs"]) == ("<p>vier</p>", [[0, 3, 4]])


def test_notes_one_after_the_other_stand_at_the_same_place():
    view, document, _ = tei(
        "<p>Eins<note>A.</note><note>B.<note>C.</note><note>D.</note></note> zwei</p>"
    )

    at = {note["part"]: note["at"] for note in view["notes"]}
    text = {b["part"]: document.text[b["start"] : b["end"]] for b in view["blocks"] if "part" in b}
    found = {text[part]: document.text[:place].split()[-1] for part, place in at.items()}
    assert (found["A."], found["B."]) == ("Eins", "Eins")
    assert found["C."] == found["D."] == "B."
