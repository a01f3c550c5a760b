"""A day of an editor, in a real browser and by keyboard alone."""

import json
import signal
import sys
from dataclasses import dataclass

import pytest

from corpora.tei.edition import edition_path, load_edition
from corpora.tei.reader import read_tei
from corpora.tei.undo import undo
from tests.modeling.workbench.conftest import options_to_serve
from tests.modeling.workbench.sample import make_sample

HEAR = """addEventListener("DOMContentLoaded", () => {
    const line = document.querySelector("#say");
    window.heard = [];
    new MutationObserver(() => heard.push(line.textContent)).observe(line, { childList: true });
});"""


class Editor:
    """Somebody who only types."""

    def __init__(self, browser):
        context = browser.new_context(locale="en-GB", viewport={"width": 1280, "height": 800})
        self.page, self.faults, self.n_keys = context.new_page(), [], 0
        self.page.add_init_script(HEAR)  # what the page says goes after some seconds
        self.page.on("pageerror", lambda error: self.faults.append(str(error)))

    def open(self, address):
        self.page.goto(address)
        self.page.wait_for_selector("#letter .item")
        self.page.wait_for_function(
            "() => !document.querySelector('#letters').innerText.includes('…')"
        )
        self.n_keys = 0

    def press(self, *keys):
        """Press keys, each when the one before is answered."""
        for key in keys:
            self.page.keyboard.press(key)
            self.n_keys += 1
            self.page.wait_for_function(
                "n => performance.getEntriesByName('key').length >= n", arg=self.n_keys
            )

    def hear(self, text):
        """Wait until the page says something, or has said it."""
        self.page.wait_for_function("text => heard.some((said) => said.includes(text))", arg=text)

    def current(self):
        """Return what the panel says of the current name."""
        return self.page.inner_text("#inspector")


def lines_of(sample):
    text = (sample / "letters.decisions.jsonl").read_text()
    return [json.loads(line) for line in text.splitlines()]


def test_a_day_is_done_by_keyboard_alone_and_nothing_is_lost(sample, serve, browser):
    do_a_day(sample, serve, browser, Person("Ahlensteg", "Konrad", "letters:p"))


@pytest.mark.realdata
def test_a_day_on_letters_of_der_sturm(tmp_path, serve, browser, realdata):
    edition = realdata("sturm-tei")
    letters = sorted((edition / "letters").glob("*.xml"))[:80:8]
    shipped = edition_path("sturm")
    sample = make_sample(
        tmp_path / "sturm", letters=letters, register=edition / "register", edition_file=shipped
    )

    def start():
        return serve(*options_to_serve(sample), python=sys.executable)

    do_a_day(sample, start, browser, Person("Walden", "Herwarth", "sturm:P"))


@dataclass(frozen=True)
class Person:
    """Somebody in the register."""

    typed: str
    shown: str
    entity: str


def do_a_day(sample, serve, browser, person):
    """Decide, correct, add, link, be killed, resume, save, take back."""
    server, editor = serve(), Editor(browser)
    editor.open(server.address)

    editor.press("j")
    for n in range(10):  # accepted, and every fifth rejected; then the server is killed
        editor.press("x" if n % 5 == 4 else "a")
    assert len(lines_of(sample)) == 10
    server.end(signal.SIGKILL)
    editor.press("a")
    assert "does not answer" in editor.page.inner_text("#say")
    assert len(lines_of(sample)) == 10

    server = serve()
    editor.open(server.address)
    editor.press("j")
    for n in range(10):
        editor.press("x" if n % 5 == 4 else "a")
    decided = [line["verdict"] for line in lines_of(sample)]
    assert (decided.count("accepted"), decided.count("rejected")) == (16, 4)

    corrected = correct_three_boundaries(editor, sample)
    added = add_three_names(editor, sample)
    linked = link_four(editor, sample, person)
    n_before = len(lines_of(sample))
    editor.press("z", "y")
    assert [line["action"].split()[0] for line in lines_of(sample)[n_before:]] == ["undo", "redo"]
    editor.press("s")
    editor.page.wait_for_function(
        "() => document.querySelector('#say').innerText.includes('written')"
    )
    assert not editor.faults
    assert server.end() == 0
    check_files(sample, {*corrected, *added}, linked)


def correct_three_boundaries(editor, sample):
    """Take the last character off three names; returns their places."""
    done = []
    editor.press("Escape")
    for _ in range(60):
        if len(done) == 3:
            break
        editor.press("p")
        if "rejected" in editor.current() or "suggested" in editor.current():
            continue
        n_before = len(lines_of(sample))
        editor.press("Control+ArrowLeft")
        new = lines_of(sample)[n_before:]
        if new:
            assert new[0]["verdict"] == "corrected"
            done.append((new[0]["file"], new[0]["name"]["start"], new[0]["name"]["end"]))
    assert len(done) == 3
    return done


def add_three_names(editor, sample):
    """Choose a word by keys, and press a label."""
    done = []
    editor.press("Escape", "i")
    for _ in range(20):
        if len(done) == 3:
            break
        n_before = len(lines_of(sample))
        editor.press("ArrowRight", "ArrowRight", "Shift+ArrowRight", "2")
        for new in lines_of(sample)[n_before:]:  # none where a name stands in the way
            assert new["verdict"] == "added"
            assert "\n" not in new["name"]["form"]
            done.append((new["file"], new["name"]["start"], new["name"]["end"]))
        editor.press("i")
    assert len(set(done)) == 3
    return set(done)


def link_four(editor, sample, person):
    """Give four names an entry of the register."""
    done = {}
    editor.press("Escape")
    for _ in range(60):
        if len(done) == 4:
            break
        editor.press("p")
        if "rejected" in editor.current():
            continue
        editor.press("e")
        editor.page.wait_for_selector("#link-input")
        editor.page.keyboard.insert_text(person.typed)
        editor.page.wait_for_function(
            "shown => document.querySelector('#options')?.innerText.includes(shown)",
            arg=person.shown,
        )
        n_before = len(lines_of(sample))
        editor.page.keyboard.press("Enter")
        editor.page.wait_for_selector("#link-input", state="detached")
        editor.page.wait_for_function(
            "id => document.querySelector('#inspector').innerText.includes(id)", arg=person.entity
        )
        new = lines_of(sample)[n_before:]
        if new:
            place = (new[0]["file"], new[0]["name"]["start"], new[0]["name"]["end"])
            done[place] = new[0]["name"]["entity"]
    assert len(done) == 4
    return done


def check_files(sample, changed, linked):
    """Compare what was saved with what was decided, and what is undone with what was there."""
    edition = load_edition(sample / "letters.toml")
    names = {}
    saved = sorted((sample / "reviewed").glob("*.xml"))
    assert saved
    for path in saved:
        data, original = path.read_bytes(), (sample / "letters" / path.name).read_bytes()
        assert undo(data, name=path.name, reviewer="kb") == original
        [text] = read_tei(data, edition, name=path.name)
        names |= {(path.name, m.start, m.end): m.entity for m in text.document.mentions}
        resp = (mention.attributes.get("@resp") for mention in text.document.mentions)
        assert {*resp} <= {None, "#onoma-3f2a9c1b0d12 #kb", "#onoma-review #kb"}
    assert changed <= set(names)
    assert all(names[place] == entity for place, entity in linked.items())
