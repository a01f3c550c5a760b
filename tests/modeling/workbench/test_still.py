"""The page without a server: decided by keys, exported, and applied."""

import json
import re

import pytest

from corpora.tei.edition import load_edition
from corpora.tei.reader import read_tei
from corpora.tei.review import apply_candidates, model_of_list, read_candidates
from corpora.tei.undo import undo
from modeling.workbench.still import write_page
from tests.modeling.workbench.conftest import open_desk
from tests.modeling.workbench.test_day import Editor
from tests.processes import wait_for


def normal(text):
    """Return markup as the panel shows it: without the indentation of the file."""
    return re.sub(r"\n[ \t]+", "\n", text)


def markup_of_all_blocks(editor):
    """Return the TEI of each paragraph of the letter, as it is and as it will be."""
    editor.press("Escape", "t")
    shown = []
    n_blocks = editor.page.locator("#letter [data-block]").count()
    for number in range(n_blocks):
        editor.page.evaluate(
            """number => {
            const block = document.querySelectorAll("#letter [data-block]")[number];
            const runs = [...block.querySelectorAll(".t")];
            const text = runs.find((each) => /\\S/.test(each.textContent)).firstChild;
            const at = text.data.search(/\\S/);
            return new Promise((noticed) => {
                const later = () => setTimeout(noticed, 61);  // the page itself waits for 60 ms
                document.addEventListener("selectionchange", later, { once: true });
                getSelection().setBaseAndExtent(text, at, text, at + 1);
            });
        }""",
            number,
        )
        editor.press("t", "t")
        shown.append([one.inner_text() for one in editor.page.locator("pre.markup").all()])
    editor.press("Escape")
    return shown


def one_letter(folder, text):
    """Write the page of a letter with one paragraph; returns its address."""
    (folder / "letters").mkdir()
    tei = f"<TEI><teiHeader/><text><body><p>{text}</p></body></text></TEI>"
    (folder / "letters" / "a.xml").write_text(tei, encoding="utf-8")
    given = {"edition": "tei", "decisions": folder / "d.jsonl", "candidates": None}
    write_page(open_desk(folder, register=(), **given), folder / "review.html")
    return (folder / "review.html").as_uri()


def named(editor, text):
    """Return the characters of the only name."""
    start, end = editor.page.get_attribute(".item", "data-id").split("-")
    return text[int(start) : int(end)]


def test_arrow_keys_move_as_the_script_runs(tmp_path, browser):
    text = "כתב דוד בן־גוריון לרמב״ם שלום"
    editor = Editor(browser)
    editor.page.goto(one_letter(tmp_path, text))
    editor.page.wait_for_selector("#letter article")

    editor.press("i", "ArrowLeft", "ArrowLeft", "ArrowRight")  # one word on
    editor.press("Shift+ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowLeft", "Shift+ArrowRight", "1")
    assert named(editor, text) == "דוד בן־גוריון לרמב״ם"
    editor.press("ArrowRight", "Shift+ArrowLeft")
    assert named(editor, text) == "בן־גוריון"
    assert not editor.faults


def test_a_name_does_not_end_between_a_letter_and_its_mark(tmp_path, browser):
    text = "Rene\u0301e\u0301 kam"
    editor = Editor(browser)
    editor.page.goto(one_letter(tmp_path, text))
    editor.page.wait_for_selector("#letter article")

    editor.press("i", "1", "Control+ArrowLeft")

    assert named(editor, text) == "Rene\u0301"


def test_no_text_of_a_letter_ends_the_script_that_holds_it(tmp_path):
    one_letter(tmp_path, "Ulm &lt;/script>&lt;script>alert(1)&lt;/script>&lt;!--")

    page = (tmp_path / "review.html").read_text("utf-8")
    [data] = re.findall('id="data">(.*?)</script>', page, re.DOTALL)
    assert "</script><script>alert(1)</script><!--" in str(json.loads(data))
    assert "<" not in data


def test_the_page_alone_decides_keeps_and_exports_a_list_that_is_applied(desk, sample, browser):
    page = sample / "review.html"
    write_page(desk, page)
    editor = Editor(browser)
    asked = []
    editor.page.on("request", lambda request: asked.append(request.url))

    editor.open(page.as_uri())
    editor.press("j", "a", "x", "a", "a", "z", "y")
    editor.press("p", "Control+ArrowLeft")
    editor.press("Escape", "i", "ArrowRight", "1")
    shown = markup_of_all_blocks(editor)
    editor.page.reload()  # what was decided is kept
    editor.open(page.as_uri())
    with editor.page.expect_download() as waiting:
        editor.press("s")
    exported = sample / waiting.value.suggested_filename
    waiting.value.save_as(exported)

    assert not editor.faults
    assert {url.partition(":")[0] for url in asked} <= {"file", "blob", "data"}
    lines = read_candidates(exported)
    assert [line.is_accepted for line in lines].count(False) == 1
    assert len(lines) == 5
    original = (sample / "letters" / "01.xml").read_bytes()
    edition = load_edition(sample / "letters.toml")
    of = {"name": "01.xml", "model": model_of_list(exported, read_candidates(exported))}
    applied = apply_candidates(original, edition, lines, **of)
    assert applied.unplaced == []
    text = applied.written.data.decode()
    assert len(shown) > 5
    assert [will for _, will in shown if normal(will) not in normal(text)] == []
    assert [was for was, _ in shown if normal(was) not in normal(original.decode())] == []
    assert "".join(will for _, will in shown).count("onoma-") == 4
    verdicts = sorted(decision.verdict for decision in applied.decisions)
    assert verdicts == ["accepted", "accepted", "added", "corrected", "rejected"]
    [before] = read_tei(original, edition, name="01.xml")
    [after] = read_tei(applied.written.data, edition, name="01.xml")
    assert len(after.document.mentions) == len(before.document.mentions) + 4
    assert undo(applied.written.data, name="01.xml") == original


def test_what_a_spreadsheet_would_run_is_text_in_the_exported_list(tmp_path, browser):
    editor = Editor(browser)
    editor.page.goto(one_letter(tmp_path, "'=Ulm"))
    editor.page.wait_for_selector("#letter article")

    editor.press("i", "1")
    exported(editor, tmp_path / "review.tsv")

    assert "\t''=\tUlm" in (tmp_path / "review.tsv").read_text("utf-8-sig")
    assert [line.before for line in read_candidates(tmp_path / "review.tsv")] == ["'="]


def test_the_page_alone_finds_words_in_any_case(tmp_path, browser):
    from playwright.sync_api import expect

    body = "<p>😀 Die Straße nach Ulm ist groß, die nach İstanbul und Izmir, ΟΔΟΣ.</p>"
    (tmp_path / "letters").mkdir()
    letter = f"<TEI><teiHeader/><text><body>{body}</body></text></TEI>"
    (tmp_path / "letters" / "a.xml").write_text(letter)
    given = {"candidates": None, "register": (), "edition": "tei"}
    write_page(open_desk(tmp_path, **given, decisions=tmp_path / "d.jsonl"), tmp_path / "page.html")
    page = Editor(browser).page
    page.goto((tmp_path / "page.html").as_uri())
    page.wait_for_selector("#letter [data-block]")

    page.keyboard.press("/")

    def finds(words, *shown):
        page.fill("#search-input", words)
        expect(page.locator(".hits button mark")).to_have_text([*shown])  # waits for them

    finds("ULM", "Ulm")
    finds("STRASSE", "Straße")
    finds("istanbul")  # as in the workbench: İ is i with a dot above
    finds("İSTANBUL", "İstanbul")
    finds("οδος", "ΟΔΟΣ")


def n_stored(editor):
    """Count the decisions that a window sees in the browser's store."""
    return editor.page.evaluate(
        """() => Object.values(localStorage).filter((value) => value.startsWith("{"))
            .map((entry) => JSON.parse(entry).changes ? 1 : -1)
            .reduce((all, one) => all + one, 0)"""
    )


def wait_for_decisions(editor, count):
    """Wait until a window sees `count` decisions: processes of a browser share them late.

    It is asked from outside: a page in the background may not run its own clocks.
    """
    wait_for(lambda: n_stored(editor) == count)


@pytest.fixture
def windows(desk, sample, browser):
    """Open two windows of a page alone."""
    page = sample / "review.html"
    write_page(desk, page)
    one = Editor(browser)
    one.open(page.as_uri())
    other = Editor(browser)
    other.page = one.page.context.new_page()
    other.open(page.as_uri())
    return one, other


def exported(editor, path):
    """Export the list of a window; returns which of its names are accepted."""
    with editor.page.expect_download() as waiting:
        editor.press("s")
    waiting.value.save_as(path)
    return [line.is_accepted for line in read_candidates(path)]


def test_two_windows_of_the_page_alone_lose_no_decision_of_each_other(windows, sample):
    one, other = windows

    one.press("j", "a")
    wait_for_decisions(other, 1)
    other.press("j", "x")
    said = other.page.inner_text("#say")
    other.press("j", "x")
    one.page.evaluate("localStorage.clear()")  # what the window has, it writes again
    wait_for_decisions(other, 0)
    other.press("a")
    wait_for_decisions(one, 3)

    assert "meanwhile" in said
    assert exported(one, sample / "review.tsv") == [True, False, True]


def test_two_windows_that_decide_at_the_same_time_keep_both_decisions(windows, sample):
    one, other = windows

    other.page.evaluate(
        """() => {  // as if what the first window stores came late
            const keys = Object.keys;
            Object.keys = (of) => of === localStorage ? [] : keys(of);
            window.comes = () => Object.keys = keys;
        }"""
    )
    one.press("j", "a")
    other.press("j", "j", "x")
    other.page.evaluate("() => { window.comes(); }")
    wait_for_decisions(one, 2)

    assert exported(one, sample / "one.tsv") == [True, False]
    assert exported(other, sample / "other.tsv") == [True, False]


def test_what_another_window_takes_back_is_taken_back(windows, sample):
    one, other = windows

    one.press("j", "a", "a")
    wait_for_decisions(other, 2)
    other.press("z")  # it hears of the decisions
    said = other.page.inner_text("#say")
    other.press("z")
    wait_for_decisions(one, 1)

    assert "meanwhile" in said
    assert exported(one, sample / "one.tsv") == [True]


def test_decisions_of_an_earlier_page_are_kept(windows, sample):
    one, _ = windows
    one.press("j", "a", "a")
    one.page.evaluate(
        """() => {  // earlier pages kept one list
            const keys = Object.keys(localStorage).filter((key) => key.includes("/")).sort();
            const list = keys.map((key) => JSON.parse(localStorage.getItem(key)));
            for (const key of keys) localStorage.removeItem(key);
            localStorage.setItem(keys[0].split("/")[0], JSON.stringify(list));
        }"""
    )

    one.page.reload()
    one.open(one.page.url)
    one.press("z", "j", "j", "x")

    assert exported(one, sample / "one.tsv") == [True, False]
