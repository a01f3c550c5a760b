"""The Python that the documentation shows imports what there is."""

import ast
import re
import textwrap

import pytest

from tests.test_documented_commands import PAGES

BLOCK = re.compile(r"^ *```py(?:thon)?\n(.*?)^ *```", re.MULTILINE | re.DOTALL)
OURS = {"corpora", "pipelines", "modeling", "onoma"}


def imports_in(page):
    """Yield each name of ours that a page imports: its module, and its name there."""
    for block in BLOCK.findall(page.read_text("utf-8")):
        for node in ast.walk(ast.parse(textwrap.dedent(block))):
            if isinstance(node, ast.Import):
                found = [(name.name, "") for name in node.names]
            elif isinstance(node, ast.ImportFrom):
                found = [(node.module or "", name.name) for name in node.names]
            else:
                continue
            yield from (one for one in found if one[0].partition(".")[0] in OURS)


@pytest.mark.parametrize(
    "page", [page for page in PAGES if "```py" in page.read_text("utf-8")], ids=lambda p: p.name
)
def test_imports_are_there(page):
    for module, name in imports_in(page):
        assert not name or hasattr(__import__(module, fromlist=[name]), name), f"{module}.{name}"
