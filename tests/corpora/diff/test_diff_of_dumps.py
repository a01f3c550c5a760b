"""A comparison of two dumps of a wiki, the second of them later, from pages to report."""

import re

from corpora.diff.__main__ import compare_all
from tests.pipelines.test_wikipedia_to_documents import SAMPLE, run


def page_of(dump, title):
    """Return the element of a page."""
    return re.search(rf"  <page>\s*<title>{title}</title>.*?</page>\n", dump, re.DOTALL)[0]


def test_pages_that_were_moved_edited_and_deleted_are_distinguished(tmp_path):
    before = SAMPLE.read_text("utf-8")
    edited = page_of(before, "Bockwindmühle")
    after = before.replace("<title>Jette Holm<", "<title>Jette Holm (Malerin)<")
    after = after.replace(edited, edited.replace("<id>57410</id>", "<id>99999</id>"))
    after = after.replace(page_of(before, "Mühlentag"), "")
    later = tmp_path / "kleinwiki-20261201-pages-articles.xml"
    later.write_text(after, "utf-8")
    assert run(tmp_path / "old") == run(tmp_path / "new", input=later) == 0

    documents, redirects = compare_all(tmp_path / "old", tmp_path / "new")

    assert documents.examples["renamed"] == ["Jette Holm → Jette Holm (Malerin) (kleinwiki:84)"]
    assert [line.split(" (")[0] for line in documents.examples["removed"]] == ["Mühlentag"]
    assert documents.examples["added"] == []
    assert documents.changed_columns["text"] == 0
    assert documents.changed_columns["revision"] == 1
    assert redirects.counts["same"] == sum(redirects.counts.values())
