"""Keys that a day needs seldom, and two tabs of one program."""

import re
from pathlib import Path

from tests.modeling.workbench.test_day import Editor, lines_of

WORDS = Path(__file__).parents[3] / "modeling" / "workbench" / "page" / "words.js"


def current(editor):
    return editor.page.evaluate("() => document.querySelector('.item.current')?.dataset.id")


def shown_order(editor):
    return editor.page.evaluate("""() => [...new Set([...document.querySelectorAll('.item.open')]
        .map(each => each.dataset.id))]""")


def test_keys_lead_through_a_letter_in_its_order_or_the_least_certain_first(serve, browser):
    editor = Editor(browser)
    editor.open(serve().address)
    first, second, *_ = shown_order(editor)

    editor.press("j", "j")
    assert current(editor) == second
    editor.press("k")
    assert current(editor) == first
    editor.press("n", "p")
    assert current(editor) == first
    editor.press("Escape", "u", "j")
    unsure = editor.page.evaluate("""() => [...document.querySelectorAll('.item.open')]
        .map(each => [Math.abs(Number(each.style.getPropertyValue('--p')) - 0.5), each.dataset.id])
        .sort((a, b) => a[0] - b[0])[0][1]""")
    assert current(editor) == unsure
    editor.press(".")
    title = editor.page.inner_text("#title")
    editor.press(",")
    assert editor.page.inner_text("#title") != title
    assert not editor.faults


def test_what_is_decided_once_is_decided_wherever_the_form_stands(sample, serve, browser):
    editor = Editor(browser)
    editor.open(serve().address)

    editor.press("/")
    editor.page.keyboard.insert_text("Leipzig")
    editor.page.click(".hits button >> nth=0")
    editor.page.wait_for_selector(".item.current")
    editor.press("2", "Shift+ArrowLeft", "z")
    n_before = len(lines_of(sample))
    editor.press("o")
    editor.page.click("#decide-others")
    editor.page.wait_for_function(
        "() => document.querySelector('#say').innerText.includes('place')"
    )

    alike = lines_of(sample)[n_before:]
    assert len(alike) > 2
    assert len({line["action"] for line in alike}) == 1
    assert {(line["verdict"], line["name"]["form"]) for line in alike} == {("accepted", "Leipzig")}
    assert len({line["file"] for line in alike}) > 1
    editor.press("z")
    assert [line["verdict"] for line in lines_of(sample)[-len(alike) :]] == ["withdrawn"] * len(
        alike
    )
    assert not editor.faults


def test_the_overview_leads_to_the_places_of_a_form(serve, browser):
    editor = Editor(browser)
    editor.open(serve().address)

    editor.press("g")
    editor.page.fill("#forms-filter", "Leipzig")
    editor.page.click("table.figures button >> nth=0")
    places = editor.page.locator(".hits button")
    where = places.last.inner_text()
    places.last.click()

    editor.page.wait_for_function("() => !document.querySelector('#dialog').open")
    title = "document.querySelector('#title').innerText"  # once the letter has come
    editor.page.wait_for_function(f"where => {title} && where.includes({title})", arg=where)
    assert not editor.faults


def test_two_tabs_decide_on_one_name_but_once(sample, serve, browser):
    server = serve()
    one, other = Editor(browser), Editor(browser)
    one.open(server.address)
    other.open(server.address)
    one.press("j")
    other.press("j")

    one.press("x")
    other.press("a")

    assert "meanwhile" in other.page.inner_text("#say")
    [line] = lines_of(sample)
    assert line["verdict"] == "rejected"
    assert other.page.locator(".item.rejected").count() == 1  # it is seen there, too
    other.press("j", "a")
    assert [line["verdict"] for line in lines_of(sample)] == ["rejected", "accepted"]


def test_keys_lead_on_from_a_letter_that_cannot_be_read_and_none_is_left_without_an_answer(
    serve, browser
):
    editor = Editor(browser)
    editor.open(f"{serve().address}#0")  # not the first that was read and has suggestions
    title = editor.page.inner_text("#title")
    editor.press("j")
    name = current(editor)
    editor.page.route("**/api/letters/1", lambda route: route.abort())

    editor.press(".")
    editor.hear("does not answer")
    assert (editor.page.inner_text("#title"), current(editor)) == (title, name)

    editor.page.unroute("**/api/letters/1")
    editor.page.route(
        "**/api/letters/1", lambda route: route.fulfill(status=500, json={"detail": "line 7 ends"})
    )
    editor.press(".")
    editor.page.wait_for_selector("#letter:has-text('line 7 ends')")
    for key in "axet":  # nothing to be done here
        editor.page.keyboard.press(key)
    editor.press(".")
    editor.page.wait_for_selector("#letter .item >> nth=1")
    editor.press(",", "j")
    assert current(editor)
    editor.press(",", ",", "j", "a", "z")
    assert (editor.page.inner_text("#title"), current(editor)) == (title, name)
    assert not editor.faults


def test_both_languages_have_the_same_words():
    english, german = WORDS.read_text("utf-8").split("const GERMAN = {")
    keys = [re.findall(r"^  (\w+):", part, re.MULTILINE) for part in (english, german)]

    assert keys[0] == keys[1]
    assert len(keys[0]) > 80
