"""Names of the edition, corrected in the page by keyboard alone, saved, and undone."""

import base64
import json

from corpora.tei.undo import undo
from tests.modeling.workbench.conftest import options_to_serve
from tests.modeling.workbench.test_day import Editor, lines_of

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
TEXT = """<p><placeName>Jena</placeName> und <placeName>Jena</placeName>,
<placeName>Jena</placeName>, <placeName ref="#o2">Leipzig</placeName></p>"""


def open_letter(sample, serve, browser):
    """Open a letter that has names, and no suggestions."""
    data = f'<TEI xmlns="http://www.tei-c.org/ns/1.0"><text><body>{TEXT}</body></text></TEI>'
    (sample / "letters" / "00.xml").write_text(data)
    editor = Editor(browser)
    editor.open(f"{serve().address}#0")
    return editor


def go_to_own(editor):
    """Click on a name of the edition that has a link; return its id in the page."""
    name = editor.page.locator(".item.there.linked").first
    id = name.get_attribute("data-id")
    name.click()
    editor.page.wait_for_selector(f".item.current[data-id='{id}']")
    return id


def save(editor):
    editor.press("s")
    editor.hear("written")


def test_a_click_shows_the_element_of_a_name_and_keys_correct_it(sample, serve, browser):
    editor = open_letter(sample, serve, browser)

    id = go_to_own(editor)
    said = editor.current()
    assert "<placeName ref=" in said
    editor.press("3")
    editor.press("m")
    editor.page.fill("#remark-input", "a ship")
    editor.page.keyboard.press("Enter")
    editor.page.wait_for_selector("#inspector:has-text('a ship')")
    editor.press("e")
    editor.page.keyboard.insert_text("#p1")
    editor.page.wait_for_selector("#options li:has-text('#p1')")
    editor.page.keyboard.press("Enter")
    editor.page.wait_for_selector("#inspector:has-text('letters:p1')")
    editor.press("x")
    assert editor.page.locator(f".item.rejected[data-id='{id}']").count()
    assert [line["verdict"] for line in lines_of(sample)] == [*["corrected"] * 3, "rejected"]
    editor.press("z", "z", "z")
    save(editor)

    [path] = (sample / "reviewed").glob("*.xml")
    original = (sample / "letters" / path.name).read_bytes()
    assert undo(path.read_bytes(), name=path.name, reviewer="kb") == original
    editor.press("z")
    save(editor)
    assert path.read_bytes() == original
    assert not editor.faults


def test_the_facsimile_of_the_page_is_beside_the_text(sample, serve, browser):
    (sample / "images").mkdir()
    (sample / "images" / "one.png").write_bytes(PIXEL)
    pages = '<p><pb n="1" facs="#f1"/>Jena <placeName>Ulm</placeName></p>'
    surface = '<facsimile><surface xml:id="f1"><graphic url="x/one.png"/></surface></facsimile>'
    (sample / "letters" / "00.xml").write_text(
        f'<TEI xmlns="http://www.tei-c.org/ns/1.0">{surface}<text><body>{pages}</body></text></TEI>'
    )
    editor = Editor(browser)
    options = (*options_to_serve(sample), "--facsimiles", sample / "images")
    editor.open(f"{serve(*options).address}#0")

    editor.press("f")

    editor.page.wait_for_function("() => document.querySelector('#facsimile img').naturalWidth")
    editor.press("f")
    assert not editor.page.is_visible("#facsimile")
    assert not editor.faults


def test_a_form_without_a_link_is_linked_wherever_it_stands(sample, serve, browser):
    editor = open_letter(sample, serve, browser)

    editor.press("w")
    editor.page.click(".hits button:has(mark:text-is('Jena'))")
    editor.page.wait_for_selector("#options li[aria-selected='true']:has-text('Jena')")
    editor.page.keyboard.press("Enter")
    editor.page.click("#decide-others")
    editor.page.wait_for_selector("#dialog h2:has-text('without a link')")

    names = {line["name"]["form"] for line in lines_of(sample)}
    assert names == {"Jena"}
    assert len(lines_of(sample)) == 3
    assert not editor.page.locator(".hits button:has(mark:text-is('Jena'))").count()
    assert not editor.faults


def test_enter_in_a_search_without_a_hit_keeps_the_link(sample, serve, browser):
    editor = open_letter(sample, serve, browser)
    go_to_own(editor)

    editor.press("e")
    editor.page.keyboard.insert_text("zzzz")
    editor.page.wait_for_selector("#options:has-text('No entry')")
    editor.page.keyboard.press("Enter")
    editor.page.keyboard.press("Escape")

    assert not (sample / "letters.decisions.jsonl").exists()
    assert not editor.faults


def test_a_boundary_that_cannot_move_is_said(sample, serve, browser):
    editor = open_letter(sample, serve, browser)
    go_to_own(editor)

    editor.press("ArrowRight")

    editor.page.wait_for_selector("#say:has-text('does not move further')")
    assert not (sample / "letters.decisions.jsonl").exists()
    assert not editor.faults


def test_after_the_last_suggestion_nothing_is_marked_and_the_panel_says_so(sample, serve, browser):
    rows = (sample / "list.tsv").read_text("utf-8-sig").splitlines(keepends=True)
    (sample / "list.tsv").write_text("".join(rows[:2]))
    editor = Editor(browser)
    editor.open(serve().address)

    editor.press("j", "a", "x")

    assert "suggested" not in editor.current()
    assert [line["verdict"] for line in lines_of(sample)] == ["accepted"]
    assert json.dumps(lines_of(sample)).count('"there"') == 0
    assert not editor.faults
