"""Check the site as a browser shows it: `make docs`. Not in the suite, for it builds all pages."""

import functools
import http.server
import shutil
import threading
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

SITE = Path(__file__).resolve().parent.parent / "build" / "site"
CHROMIUM = shutil.which("chromium")
WIDTHS = (400, 1280)
WIDEST = """Math.max(...[document.documentElement, ...document.querySelectorAll("pre > code")].map(
    one => one.scrollWidth))"""

PALEST = """() => {  // the lowest contrast of code with what is behind it (WCAG 2, 1.4.3)
    const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
    const light = (color) => color.map((part) => part / 255)
        .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, n) => sum + part * [0.2126, 0.7152, 0.0722][n], 0.05);
    const contrasts = [...document.querySelectorAll("pre > code span")].map((span) => {
        const behind = numbers(getComputedStyle(span.closest("code")).backgroundColor).slice(0, 3);
        const [red, green, blue, alpha = 1] = numbers(getComputedStyle(span).color);
        const mixed = [red, green, blue].map((part, n) => alpha * part + (1 - alpha) * behind[n]);
        const [dark, bright] = [light(mixed), light(behind)].sort((a, b) => a - b);
        return bright / dark;
    });
    return Math.min(...contrasts);
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def address():
    handler = functools.partial(Quiet, directory=SITE)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("no Chromium")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.parametrize("width", WIDTHS)
def test_pages_fit_and_ask_nobody_else(address, browser, width):
    pages = sorted(SITE.glob("**/index.html"))
    page = browser.new_page(viewport={"width": width, "height": 900})
    elsewhere, faults = [], []
    page.on("request", lambda r: r.url.startswith((address, "data:")) or elsewhere.append(r.url))
    page.on("pageerror", lambda error: faults.append(str(error)))

    too_wide = []
    for file in pages:
        page.goto(address + file.relative_to(SITE).as_posix())
        if page.evaluate(WIDEST) > width:
            too_wide.append(file.parent.name)
    page.close()

    assert len(pages) > 25
    assert not elsewhere
    assert not faults
    assert not too_wide


def test_a_block_of_code_is_copied_as_it_stands(address, browser):
    context = browser.new_context(viewport={"width": 400, "height": 900})
    context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto(f"{address}editions/")

    page.locator("[data-clipboard-target], .md-code__button").first.click()

    copied = page.evaluate("navigator.clipboard.readText()")
    commands = (SITE.parent.parent / "docs" / "editions.md").read_text("utf-8").split("```\n")[1]
    assert copied.strip() == commands.strip()
    context.close()


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("croissant", "sharing"),
        ("--min-count", "lexicon"),
        ("min-count", "lexicon"),
        ("三国演义", "lexicon"),
        ("记者", "lexicon"),
    ],
)
def test_search_finds_words_and_options(address, browser, words, first):
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address)

    page.locator("input.md-search__input").first.press_sequentially(words)

    page.wait_for_selector(f".md-search-result__item:first-child a[href*='{first}']")
    page.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_code_can_be_read(address, browser, scheme):
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()

    for name in ("commands", "enriching", "library"):
        page.goto(f"{address}{name}/")
        assert page.evaluate(PALEST) >= 4.5, name
    context.close()
