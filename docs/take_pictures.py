"""Take the pictures of docs/workbench.md in a browser, of the sample letters of the tests.

python docs/take_pictures.py
"""

import io
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parent.parent
CHROMIUM = "/usr/bin/chromium"
PAUSE_MS = 200
"""Milliseconds between two keys."""


def main() -> None:
    """Start the workbench and a browser, and take all pictures."""
    sys.path.insert(0, str(ROOT))
    from tests.modeling.workbench.sample import make_sample  # noqa: PLC0415 - of the tests

    with sync_playwright() as program, tempfile.TemporaryDirectory() as folder:
        browser = program.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        take_pictures(browser, make_sample(Path(folder) / "sample"), ROOT / "docs" / "workbench")
        browser.close()


@contextmanager
def served(sample: Path) -> Iterator[str]:
    """Start the workbench on the sample, and yield the address of its page."""
    command = [sys.executable, "-m", "modeling.workbench", "--no-open", "--reviewer", "kb"]
    command += ["--tei", str(sample / "letters" / "*.xml"), "--edition", f"{sample}/letters.toml"]
    command += ["--candidates", f"{sample}/list.tsv", "--register", f"{sample}/register/*.xml"]
    process = subprocess.Popen(
        [*command, "--output", f"{sample}/reviewed"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    opened = re.match(r"open\s+(\S+)", process.stdout.readline()) if process.stdout else None
    if opened is None:
        raise RuntimeError("The workbench did not start.")
    try:
        yield opened[1]
    finally:
        process.terminate()
        process.wait()


def open_page(browser: Browser, address: str, **settings: Any) -> Page:
    """Open the page, and wait for a letter."""
    viewport: Any = {"width": settings.pop("width", 1280), "height": settings.pop("height", 800)}
    context = browser.new_context(viewport=viewport, **{"locale": "en-GB", **settings})
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#letter .item")
    return page


def read_all(page: Page) -> None:
    """Wait until all letters are read."""
    page.wait_for_function("() => !document.querySelector('#letters').innerText.includes('…')")


def press(page: Page, *keys: str) -> None:
    """Press keys one after the other, each when the page has answered the one before."""
    for key in keys:
        n = page.evaluate("() => performance.getEntriesByName('key').length")
        page.keyboard.press(key)
        page.wait_for_timeout(PAUSE_MS)
        page.wait_for_function(
            "n => performance.getEntriesByName('key').length > n", arg=n, polling=20
        )


def take_pictures(browser: Browser, sample: Path, folder: Path) -> None:
    """Take the four pictures of the page."""
    with served(sample) as address:
        page = open_page(browser, address)
        read_all(page)
        press(page, "j", "a", "a", "x", "a", "Control+ArrowLeft", "j", "t")
        page.wait_for_timeout(400)
        shoot(page, folder / "letter.png")
        page = open_page(browser, address, color_scheme="dark", locale="de-DE")
        read_all(page)
        press(page, "]", "j", "j", "j", "e")
        page.wait_for_timeout(500)
        shoot(page, folder / "link.png")
        page = open_page(browser, address, width=400, height=800)
        read_all(page)
        press(page, "]", "]", "j", "j")
        page.wait_for_timeout(400)
        shoot(page, folder / "narrow.png")
        page = open_page(browser, address)
        read_all(page)
        press(page, "g")
        page.wait_for_timeout(600)
        shoot(page, folder / "overview.png")


def shoot(page: Page, path: Path) -> None:
    """Save a picture of the page, in few colours."""
    page.evaluate("() => document.getElementById('say').replaceChildren()")
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        picture.convert("RGB").quantize(160).save(path, optimize=True)


if __name__ == "__main__":
    main()
