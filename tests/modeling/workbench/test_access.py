"""The page for everybody: axe-core finds nothing, in light and dark, wide and narrow."""

import shutil
import subprocess

import pytest

AXE = "axe-core@4.10.3"
RUN = """() => axe.run(document, {runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa",
    "best-practice"]}).then(found => found.violations.map(each =>
    `${each.id}: ${each.nodes.slice(0, 3).map(node => node.html.slice(0, 160)).join(" | ")}`))"""


@pytest.fixture(scope="session")
def axe(tmp_path_factory):
    """The program of axe-core, as npm has it."""
    npm, folder = shutil.which("npm"), tmp_path_factory.mktemp("axe")
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
    return (folder / "package" / "axe.min.js").read_text(encoding="utf-8")


def test_axe_core_finds_nothing(axe, serve, browser):
    address = serve().address
    wide, narrow = {"width": 1280, "height": 800}, {"width": 400, "height": 800}
    for viewport, scheme, looks in (
        (wide, "light", (("j", "a", "t"), ("e",))),
        (narrow, "dark", (("j", "a"), ("?",), ("Escape", "g"), ("Escape", "r"))),
    ):
        context = browser.new_context(bypass_csp=True, viewport=viewport, color_scheme=scheme)
        page = context.new_page()
        page.goto(address)
        page.wait_for_selector("#letter .item")
        page.evaluate(f"() => {{ {axe} }}")
        for keys in looks:
            for key in keys:
                page.keyboard.press(key)
                page.wait_for_timeout(80)
            assert page.evaluate(RUN) == []
        context.close()
