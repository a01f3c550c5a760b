"""Correct the names of letters in a real browser, save, validate, undo, and compare the bytes.

    python -m tests.modeling.workbench.correct_letters FOLDER --edition e.toml --register 'r/*.xml'

In each of ten letters names are shown, linked, retyped, widened, narrowed, taken out, remarked on
and given a new entry by keys; forms without a link are worked through, and facsimiles shown.
"""

import argparse
import re
import shutil
import sys
from collections import Counter, defaultdict
from pathlib import Path
from tempfile import TemporaryDirectory

from playwright.sync_api import Error as BrowserError
from playwright.sync_api import sync_playwright

from corpora.runs.plan import find_inputs
from corpora.tei.schema import expect, new_errors
from corpora.tei.source import Source
from corpora.tei.undo import take_out
from modeling.workbench.facsimiles import images_in
from tests.conftest import CHROMIUM
from tests.modeling.workbench.conftest import Served
from tests.modeling.workbench.test_day import Editor, lines_of
from tests.modeling.workbench.test_own_names_in_browser import PIXEL

MOST_BYTES = 60_000
REMARK = "so in the manuscript"
KEYS = {
    "link": ("e",),
    "retype": ("2",),
    "widen": ("ArrowRight",),
    "narrow": ("Control+ArrowLeft",),
    "remove": ("x",),
    "remark": ("m",),
    "new entry": ("e",),
}


class Correcting(Editor):
    """An editor who corrects each name of a letter in another way."""

    def __init__(self, browser, folder, entity):
        super().__init__(browser)
        self.page.set_default_timeout(120_000)
        self.folder, self.entity = folder, entity
        self.rows = defaultdict(Counter)
        self.refusals = Counter()

    def press(self, *keys):
        """Press keys; whoever presses them waits for what they do."""
        self.page.evaluate("() => { document.querySelector('#say').textContent = ''; }")
        for key in keys:
            self.page.keyboard.press(key)
            self.page.wait_for_timeout(100)

    def wait(self, is_done=lambda: False, seconds=10):
        """Wait until something is done, or the page says or asks something; return that."""
        for _ in range(seconds * 10):
            is_open = self.page.locator("#dialog[open]").count()
            said = self.page.inner_text("#dialog[open]" if is_open else "#say").strip()
            if said or is_done():
                return said
            self.page.wait_for_timeout(100)
        return ""

    def decisions(self):
        path = self.folder / "letters.decisions.jsonl"
        return lines_of(self.folder) if path.exists() else []

    def note(self, row, before, name, *, said=""):
        """Count a row as done if there is a new decision, or else as refused, with the reason."""
        said = said or self.wait(lambda: len(self.decisions()) > before)
        is_done = len(self.decisions()) > before
        self.rows[row]["done" if is_done else "refused"] += 1
        self.rows[row][f"letters with it: {name}"] += is_done
        if not is_done:
            self.refusals[f"{row}: {said}"] += 1

    def correct(self, letter):
        """Do each row on names of a letter until it is done, in their order."""
        names = self.page.locator(".item.there")
        ids = [name.get_attribute("data-id") for name in names.all()]
        waiting = list(KEYS)
        for id in ids:
            if not waiting:
                break
            name = self.page.locator(f".item.there[data-id='{id}']").first
            if not name.count():
                continue  # another correction is around it
            name.click()
            try:
                self.page.wait_for_selector(f".item.current[data-id='{id}']", timeout=10_000)
            except BrowserError:
                continue  # another name is in its middle
            self.rows["show"]["done"] += "<" in self.page.inner_text("#inspector .markup")
            before, row = len(self.decisions()), waiting[0]
            self.press(*KEYS[row])
            said = ""
            if row in {"link", "new entry", "remark"}:
                said = getattr(self, row.replace(" ", "_"))()
            self.note(row, before, letter, said=said)
            if len(self.decisions()) > before:
                waiting.pop(0)
        self.rows["not tried, for want of names"].update(waiting)

    def enter(self, field):
        """Press Enter in a field, which closes unless it is refused; return what the page says."""
        self.page.press(field, "Enter")
        said = self.wait(lambda: not self.page.locator(field).count())
        if self.page.locator(field).count():
            self.page.press(field, "Escape")
        return said

    def link(self):
        self.page.fill("#link-input", self.entity)
        self.page.wait_for_selector(f"#options li:has-text('{self.entity}')")
        return self.enter("#link-input")

    def remark(self):
        self.page.fill("#remark-input", REMARK)
        return self.enter("#remark-input")

    def new_entry(self):
        self.page.wait_for_selector("#options li")
        offer = self.page.locator("#options li:has-text('New entry')")
        if not offer.count():
            self.page.press("#link-input", "Escape")
            return "registers have no entries of this label"
        offer.click()
        self.page.fill("#entry-note", "made while annotating")
        return self.enter("#entry-note")

    def work_through(self):
        """Link a form without a link wherever it stands."""
        before = len(self.decisions())
        self.press("w")
        self.page.locator("#dialog .hits button").first.click()
        self.page.wait_for_selector("#link-input")
        self.link()
        self.page.wait_for_selector("#dialog[open]")
        if self.page.locator("#decide-others").count():
            self.page.click("#decide-others")
            self.page.wait_for_selector("#dialog h2:has-text('without a link')")
        self.page.keyboard.press("Escape")
        self.page.wait_for_selector("#dialog[open]", state="hidden")
        self.note("form without a link", before, "all")

    def save(self):
        """Save all letters, which are validated; return what the page says."""
        self.press("s")
        said = self.wait(seconds=900)
        self.page.keyboard.press("Escape")
        return said

    def facsimile(self, is_there):
        if is_there:
            self.press("f")
            drawn = "() => document.querySelector('#facsimile img').naturalWidth"
            self.page.wait_for_function(drawn)
            self.rows["facsimile"]["done"] += 1
            self.press("f")


def copied(given, folder):
    """Copy the ten small letters with the most names, the register and the edition."""

    def count_names(path):
        body = path.read_bytes().partition(b"<body")[2]
        return len(re.findall(rb"<(?:persName|placeName|orgName|rs)\b", body))

    small = (path for path in given.folder.glob("*.xml") if path.stat().st_size < MOST_BYTES)
    letters = sorted(small, key=count_names, reverse=True)[:10]
    for name in ("letters", "register", "images"):
        (folder / name).mkdir()
    for path in letters:
        shutil.copy(path, folder / "letters")
        for image in images_in(Source(path.read_bytes(), name=path.name)):
            if image.lower().endswith((".jpg", ".jpeg", ".png")):
                (folder / "images" / image.rpartition("/")[2]).write_bytes(PIXEL)
    for path in find_inputs((given.register,), suffix=".xml", option="register").values():
        shutil.copy(path, folder / "register")
    remarks = "remarks = \"note[@type='remark']\"\n"
    edition = given.edition.read_text()
    (folder / "letters.toml").write_text(remarks + edition)
    return sorted((folder / "letters").glob("*.xml"))


def check(folder, letters, schema):
    """Compare the saved files with the originals, after undo; return what was found."""
    result = Counter()
    if schema:
        expect(schema, letters)
    for path in letters:
        saved, original = (folder / "reviewed" / path.name).read_bytes(), path.read_bytes()
        restored = take_out(saved, name=path.name, reviewer="kb")
        result["files changed"] += saved != original
        result["files with the bytes of before after --undo"] += restored.data == original
        result["remarks in files"] += saved.count(REMARK.encode())
        if schema:
            result["new errors by the schema"] += len(new_errors(original, saved, schema))
    return result


def undone(editor, folder, letters):
    """Take everything back, save, and tell whether all bytes are those of before."""
    actions = {line["action"] for line in editor.decisions()}
    for _ in actions:
        editor.press("z")
        editor.wait()
    editor.save()
    pairs = [(folder / "reviewed" / path.name, path) for path in letters]
    registers = (folder / "register").glob("*.xml")
    pairs += [(folder / "reviewed" / "register" / path.name, path) for path in registers]
    same = [saved.read_bytes() == path.read_bytes() for saved, path in pairs]
    return f"{len(actions)} actions undone; files with the bytes of before: {same}"


def report(editor):
    """Yield a line for each row, and for what was refused."""
    for row, counts in editor.rows.items():
        n = sum(n > 0 for key, n in counts.items() if key.startswith("letters with it"))
        yield f"{row:24} done {counts['done']}, refused {counts['refused']}, letters {n}"
    yield f"not tried: {dict(editor.rows['not tried, for want of names'])}"
    yield from (f"refused {n} times: {why}" for why, n in editor.refusals.items())
    yield f"faults in the page: {editor.faults}"


def correct_all(editor, server, folder, letters):
    """Do each row on each letter."""
    for number, path in enumerate(letters):
        editor.open(f"{server.address}#{number}")
        images = images_in(Source(path.read_bytes(), name=path.name))
        names = (image.rpartition("/")[2] for image in images)
        editor.facsimile(any((folder / "images" / name).is_file() for name in names if name))
        editor.correct(path.name)
    editor.work_through()


def main():
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--edition", type=Path, required=True)
    parser.add_argument("--register", required=True)
    parser.add_argument("--entity", required=True, help="an entry of the register, as #p1")
    parser.add_argument("--schema", type=Path)
    given = parser.parse_args()
    with TemporaryDirectory() as name, sync_playwright() as program:
        folder = Path(name)
        letters = copied(given, folder)
        options = ["--tei", folder / "letters" / "*.xml", "--edition", folder / "letters.toml"]
        options += ["--register", folder / "register" / "*.xml", "--output", folder / "reviewed"]
        options += ["--facsimiles", folder / "images", "--reviewer", "kb"]
        options += ["--schema", given.schema] if given.schema else []
        browser = program.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        server, editor = Served(sys.executable, *options), Correcting(browser, folder, given.entity)
        try:
            correct_all(editor, server, folder, letters)
            lines = [editor.save(), str(check(folder, letters, given.schema))]
            lines += [undone(editor, folder, letters), *report(editor)]
        finally:
            server.end()
        sys.stdout.writelines(f"{line}\n" for line in lines)


if __name__ == "__main__":
    main()
