"""Measure how fast the workbench answers in a browser, or take the pictures of its documentation.

    python -m benchmarks.workbench                              # 2,000 letters, and one of 200 kB
    python -m benchmarks.workbench --pictures docs/workbench    # of the sample letters

Times are medians over what the page itself measures (``performance.measure``): a key from its
event to the changed page, a letter from the request to the page that shows it. Beside a key's time
stands the processor time of the page's main thread, drawing included, as the browser counts it:
it does not depend on what else the machine does.
"""

import argparse
import io
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright

from tests.modeling.workbench.sample import make_sample

ROOT = Path(__file__).parent.parent
CHROMIUM = "/usr/bin/chromium"
N_LETTERS = 2_000
LARGE = 200_000  # bytes
N_KEYS = 60
PAUSE_MS = 200
"""Milliseconds between two keys: five keys a second, like a person who reads."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pictures", type=Path, metavar="DIR")
    options = parser.parse_args()
    with sync_playwright() as program, tempfile.TemporaryDirectory() as folder:
        browser = program.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        sample = make_sample(Path(folder) / "sample")
        if options.pictures:
            take_pictures(browser, sample, options.pictures)
        else:
            measure(browser, sample)
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
    assert process.stdout is not None
    found = re.match(r"open\s+(\S+)", process.stdout.readline())
    assert found is not None
    try:
        yield found[1]
    finally:
        process.terminate()
        process.wait()


def open_page(browser: Browser, address: str, **settings: Any) -> Page:
    viewport: Any = {"width": settings.pop("width", 1280), "height": settings.pop("height", 800)}
    context = browser.new_context(viewport=viewport, **{"locale": "en-GB", **settings})
    page = context.new_page()
    page.goto(address)
    page.wait_for_selector("#letter .item")
    return page


def read_all(page: Page) -> None:
    page.wait_for_function("() => !document.querySelector('#letters').innerText.includes('…')")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        n = page.evaluate("() => performance.getEntriesByName('key').length")
        page.keyboard.press(key)
        page.wait_for_timeout(PAUSE_MS)
        page.wait_for_function(
            "n => performance.getEntriesByName('key').length > n", arg=n, polling=20
        )


def median(page: Page, name: str) -> float:
    times = page.evaluate("n => performance.getEntriesByName(n).map(each => each.duration)", name)
    return statistics.median(times)


def measure(browser: Browser, sample: Path) -> None:
    many(sample)
    with served(sample) as address:
        page = open_page(browser, address)
        began = time.perf_counter()
        page.evaluate("() => fetch('api/letters').then(answer => answer.json())")
        said = f"{N_LETTERS:,} letters, the list while they are read"
        print(f"{said}: {time.perf_counter() - began:.2f} s")
        page.set_default_timeout(300_000)
        read_all(page)
        began = time.perf_counter()
        page.reload()
        page.wait_for_selector(f"#letters [data-n='{N_LETTERS - 1}']", state="attached")
        print(f"{N_LETTERS:,} letters, the page with the list: {time.perf_counter() - began:.2f} s")
        keys(page, f"a key in one of {N_LETTERS:,} letters")
    large(sample)
    with served(sample) as address:
        page = open_page(browser, address)
        read_all(page)
        for _ in range(5):
            page.evaluate("() => performance.clearMeasures()")
            page.reload()
            page.wait_for_selector("#letter .item")
        print(f"a letter of {LARGE:,} bytes: {median(page, 'letter'):.0f} ms")
        keys(page, "a key in it")


def keys(page: Page, what: str) -> None:
    page.wait_for_selector("#letter .item")
    page.evaluate("() => performance.clearMeasures()")
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before = computed(session)
    press(page, "j", *["a", "x"] * (N_KEYS // 2))
    own = 1000 * (computed(session) - before) / (N_KEYS + 1)
    print(f"{what}: {median(page, 'key'):.0f} ms (the page computes {own:.0f} ms)")


def computed(session: CDPSession) -> float:
    """Return the processor seconds of the page's main thread."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return float(next(each["value"] for each in metrics if each["name"] == "TaskDuration"))


def many(sample: Path) -> None:
    """Make copies of the letters, with the suggestions of the first ones."""
    paths = sorted((sample / "letters").glob("*.xml"))
    head, *lines = (sample / "list.tsv").read_text().splitlines()
    copies = [head]
    for n in range(N_LETTERS):
        path = paths[n % len(paths)]
        name = f"{n:05d}.xml"
        shutil.copy(path, sample / "letters" / name)
        copies += [each.replace(path.name, name) for each in lines if path.name in each]
    for path in paths:
        path.unlink()
    (sample / "list.tsv").write_text("\n".join(copies) + "\n")


def large(sample: Path) -> None:
    """Make one letter of another's paragraphs, again and again."""
    path = sample / "letters" / "00000.xml"
    text = path.read_text(encoding="utf-8")
    start, end = text.index("<opener"), text.rindex("</div>")
    times = LARGE // (end - start)
    for other in (sample / "letters").glob("*.xml"):
        other.unlink()
    path.write_text(text[:start] + text[start:end] * times + text[end:], encoding="utf-8")
    (sample / "letters.decisions.jsonl").unlink()


def take_pictures(browser: Browser, sample: Path, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
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
    page.evaluate("() => document.getElementById('say').replaceChildren()")
    with Image.open(io.BytesIO(page.screenshot())) as picture:
        picture.convert("RGB").quantize(160).save(path, optimize=True)
    print(f"{path}: {path.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
