"""No page of the documentation leads to a file or a heading that is not there, or names one."""

import ast
import re
from functools import cache
from pathlib import Path

from pymdownx.slugs import slugify

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "dags").glob("*.md")])
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)#\s]*)(?:#([^)\s]*))?\)")
CODE = re.compile(r"```.*?```|`[^`\n]*`", re.DOTALL)
FOLDERS = "benchmarks|corpora|dags|docs|modeling|onoma|pipelines|tests"
FILE = re.compile(rf"`((?:{FOLDERS})/[\w./-]+)`")
INDEXED = re.compile(rf"`(?:((?:{FOLDERS})/[\w./]+):)?([A-Za-z_][\w.]*)`(?!:)")
slug = slugify(case="lower")


@cache
def headings(page):
    text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
    return {slug(one, "-") for one in re.findall(r"^#+ +(.*)$", text, re.MULTILINE)}


def test_links_lead_to_what_is_there():
    broken = []
    for page in PAGES:
        for name, heading in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
            target = page.parent / name if name else page
            if not target.exists() or (
                heading and target.suffix == ".md" and heading not in headings(target)
            ):
                broken.append(f"{page}: {name}#{heading}")

    assert not broken


def test_files_that_pages_name_are_there():
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    named = [(page, name) for page in pages for name in FILE.findall(page.read_text("utf-8"))]

    assert not [(page, name) for page, name in named if not (ROOT / name).exists()]


@cache
def names_in(file):
    """Return what a module defines: functions, classes, constants, and what is in its classes."""
    names, pending = set(), [("", ast.parse(file.read_text("utf-8")))]
    while pending:
        prefix, scope = pending.pop()
        for statement in scope.body:
            for target in getattr(statement, "targets", [getattr(statement, "target", statement)]):
                names.add(prefix + getattr(target, "name", getattr(target, "id", "")))
            if isinstance(statement, ast.ClassDef):
                pending.append((f"{prefix}{statement.name}.", statement))
    return names


def test_the_index_of_the_code_names_what_is_there():
    index = (ROOT / "docs" / "rooms.md").read_text("utf-8").partition("## Where is")[2]

    indexed = []
    for entry in re.findall("^- .*", index, re.MULTILINE):
        file = ""
        for path, name in INDEXED.findall(entry):
            file = path or file
            indexed += [(file, name)] if file else []

    files = {file for file, _ in indexed if not (ROOT / file).is_file()}
    assert len(indexed) > 400
    assert not files
    assert not [(file, name) for file, name in indexed if name not in names_in(ROOT / file)]


def test_a_page_has_at_most_one_title():
    for page in PAGES:
        text = re.sub(r"```.*?```", "", page.read_text("utf-8"), flags=re.DOTALL)
        assert len(re.findall(r"^# ", text, re.MULTILINE)) <= 1, page


def test_published_systems_can_be_found_in_the_citation():
    cited = (ROOT / "CITATION.cff").read_text("utf-8")

    for system in ("NEISS", "LUKE", "DaLUKE", "EntityBERT"):
        assert f"abbreviation: {system}\n" in cited


def test_every_page_of_docs_can_be_reached_from_the_front_page():
    reached, pending = set(), [ROOT / "README.md"]
    while pending:
        page = pending.pop()
        if page not in reached and page.suffix == ".md" and page.is_file():
            reached.add(page)
            found = LINK.findall(page.read_text("utf-8"))
            pending += [(page.parent / name).resolve() for name, _ in found if name]

    assert {*(ROOT / "docs").rglob("*.md")} <= reached
