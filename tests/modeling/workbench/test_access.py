"""The page for everybody: axe-core finds nothing, in light and dark, wide and narrow."""

import random
import shutil
import subprocess

import pytest

from corpora.document import Document, Mention
from corpora.system.writing import write_text
from modeling.evaluate.evaluation import evaluate
from modeling.evaluate.report import write_report
from modeling.workbench.still import write_page
from tests.datasets import write_dataset
from tests.modeling.evaluate.samples import LABELS, random_run
from tests.modeling.workbench.conftest import ROOT

AXE = "axe-core@4.10.3"
RUN = """() => axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
    "best-practice"]}).then(found => found.violations.map(each =>
    `${each.id}: ${each.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(" | ")}`))"""
WIDER = """() => [...document.querySelectorAll("html, dialog, main, aside, nav, button")]
    .filter(each => each.scrollWidth > each.clientWidth + 1)
    .map(each => each.id || each.innerText)"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """Return the program of axe-core, fetched once by npm; skip where that cannot be."""
    kept = ROOT / "build" / f"{AXE}.min.js"
    if not kept.is_file():
        fetched = fetch_axe(tmp_path_factory.mktemp("axe"))
        kept.parent.mkdir(exist_ok=True)
        write_text(kept, [fetched.read_text(encoding="utf-8")])
    return kept.read_text(encoding="utf-8")


def fetch_axe(folder):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("no npm: axe-core cannot be fetched")
    command = [npm, "pack", AXE, "--silent", "--pack-destination", folder]
    try:
        done = subprocess.run(
            command, check=False, cwd=folder, capture_output=True, text=True, timeout=60
        )
    except subprocess.TimeoutExpired:
        pytest.skip("npm does not answer: axe-core cannot be fetched")
    if done.returncode:
        pytest.skip(f"axe-core cannot be fetched: {done.stderr[-200:]}")
    shutil.unpack_archive(folder / done.stdout.strip(), folder, filter="data")
    return folder / "package" / "axe.min.js"


LOOKS = (  # keys, and what is there then
    (("j", "a", "t"), "pre.markup"),
    (("e",), "#options li"),
    (("Escape", "Escape", "i"), ".labels button"),
    (("Escape", "?"), ".key-list"),
    (("Escape", "/", "J", "e", "n", "a"), ".hits button"),
    (("Escape", "g"), "table.figures"),
    (("Escape", "r"), "#training p"),
    (("Escape", "j", "o"), "#decide-others, #say:not(:empty)"),
)
PAGES = (
    ({"width": 1280, "height": 800}, "light", "de-DE"),
    ({"width": 400, "height": 800}, "dark", "en-GB"),
)


def look_at_all(page, axe, looks=(), *, only=(0, 1)):
    """Press keys, and let axe-core look at each view, or each second; none is too wide."""
    page.wait_for_selector("#letter article")
    page.evaluate(f"() => {{ {axe} }}")
    for number, (keys, there) in enumerate([((), "#letter"), *looks]):
        for key in keys:
            page.keyboard.press(key)
            page.wait_for_timeout(50)
        page.wait_for_selector(there)
        if number % 2 in only:
            assert page.evaluate(RUN) == [], keys
        assert page.evaluate(WIDER) == [], keys


def pages_of(browser, address):
    """Yield the page, wide and narrow, light and dark, in both languages."""
    for viewport, scheme, locale in PAGES:
        settings = {"viewport": viewport, "color_scheme": scheme, "locale": locale}
        context = browser.new_context(bypass_csp=True, **settings)
        page = context.new_page()
        page.goto(address)
        yield page
        context.close()


def test_axe_core_finds_nothing(axe, serve, browser):
    for number, page in enumerate(pages_of(browser, serve().address)):
        look_at_all(page, axe, LOOKS, only=(number,))


def test_axe_core_finds_nothing_without_a_server(axe, desk, sample, browser):
    write_page(desk, sample / "review.html")

    for number, page in enumerate(pages_of(browser, (sample / "review.html").as_uri())):
        look_at_all(page, axe, LOOKS[: 2 - number], only=(1 - number,))


def test_axe_core_finds_nothing_where_a_dataset_is_read(axe, tmp_path, serve, browser):
    texts = ("Anna kam nach Ulm.", "Nichts.")
    mentions = ((Mention(0, 4, label="person"), Mention(14, 17, label="place", entity="w:Ulm")), ())
    documents = [
        Document(id=f"d{n}", group="g", source="s", text=text, mentions=found)
        for n, (text, found) in enumerate(zip(texts, mentions, strict=True))
    ]
    write_dataset(tmp_path / "documents", documents)
    server = serve("--documents", tmp_path / "documents")

    for page in pages_of(browser, server.address):
        look_at_all(page, axe, ((("n",), ".item.current"),), only=(1,))
        if page.viewport_size["width"] < 1000:
            page.click("#list-button")
        page.fill("#filter", "label:place entity:w:*")
        page.wait_for_function("() => document.querySelectorAll('#letters [data-n]').length === 1")
        assert page.inner_text("#letters .letter-title") == "Anna kam nach Ulm."


def test_axe_core_finds_nothing_in_an_evaluation_whose_tables_are_scrolled_by_keys(
    axe, browser, tmp_path
):
    tagged = random_run(random.Random(1), 9)
    one = evaluate(tagged, labels=LABELS, train=None, dev=None, replicates=5)
    write_report({"1": one}, tmp_path, title="tagger", settings={"a": 1})

    for page in pages_of(browser, (tmp_path / "report.html").as_uri()):
        page.set_viewport_size({"width": page.viewport_size["width"] * 4 // 5, "height": 800})
        page.evaluate(f"() => {{ {axe} }}")
        assert page.evaluate(RUN) == []
        assert page.evaluate(WIDER) == []
        if page.viewport_size["width"] == 320:
            page.keyboard.press("Tab")
            page.keyboard.press("ArrowRight")
            page.wait_for_function("() => document.activeElement.scrollLeft > 0")


def test_what_lies_over_the_page_is_shut_by_one_key(serve, browser):
    context = browser.new_context(viewport={"width": 400, "height": 800})
    page = context.new_page()
    page.goto(serve().address)
    page.wait_for_selector("#letter .item")

    page.click("#list-button")
    page.keyboard.insert_text("Jena")
    page.keyboard.press("Escape")
    assert page.get_attribute("#list-button", "aria-expanded") == "false"
    assert page.evaluate("() => document.activeElement.id") == "list-button"
    page.keyboard.press("/")
    page.keyboard.insert_text("Jena")
    page.keyboard.press("Escape")
    assert page.locator("#dialog").is_hidden()
