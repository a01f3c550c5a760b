"""Ids of pages: from their wikitext, and from ``page_props``, whatever is taken over."""

import gzip
import json

from corpora.datasets.shards import open_dataset
from pipelines.wikipedia_to_documents import main
from tests.corpora.wikipedia.small_wiki import Page, SmallWiki

NORMDATEN = "\n{{Normdaten|TYP=p|GND=118529692|VIAF=x1}}\n"
CREATE = """CREATE TABLE `page_props` (
  `pp_page` int(10) unsigned NOT NULL,
  `pp_propname` varbinary(60) NOT NULL DEFAULT '',
  `pp_value` mediumblob NOT NULL
);
"""


def page_props(path, items):
    rows = ",".join(f"({page},'wikibase_item','{item}')" for page, item in items.items())
    insert = f"INSERT INTO `page_props` VALUES {rows};\n"  # noqa: S608 - a file
    path.write_bytes(gzip.compress(f"{CREATE}{insert}".encode()))
    return path


def metadata_of(output):
    documents = open_dataset(output / "documents", "documents").records()
    return {each.title: dict(each.metadata) for each in documents}


def test_pages_have_their_ids_and_items_also_where_they_are_taken_over(tmp_path):
    wiki = SmallWiki(
        (
            Page(7, "Anna Ahl", f"Anna Ahl war da. [[Bo]] auch.{NORMDATEN}"),
            Page(8, "Bo", "Bo war auch da.\n[[Kategorie:Mann]]"),
            Page(9, "Ce", "Ce war nicht da."),
            Page(10, "Anna", "Anna Ahl", is_redirect=True),
        )
    )
    dump = tmp_path / "dewiki-20260101-pages-articles.xml"
    dump.write_text(wiki.dump(), "utf-8")
    first = page_props(tmp_path / "first.sql.gz", {7: "Q1", 8: "Q2", 10: "Q4"})
    second = page_props(tmp_path / "second.sql.gz", {7: "Q1", 9: "Q3"})
    options = ["--input", str(dump), "--wiki", "dewiki", "--lang", "de", "--output"]

    assert main([*options, str(tmp_path / "one"), "--page-props", str(first)]) == 0
    more = ["--page-props", str(second), "--reuse", str(tmp_path / "one")]
    assert main([*options, str(tmp_path / "two"), *more]) == 0

    own = {"ids": "gnd:118529692", "type": "person"}
    assert metadata_of(tmp_path / "one") == {
        "Anna Ahl": {**own, "wikidata": "Q1"},
        "Bo": {"type": "person", "wikidata": "Q2"},
        "Ce": {},
    }
    two = metadata_of(tmp_path / "two")
    assert [each.get("wikidata") for each in two.values()] == ["Q1", None, "Q3"]
    assert json.loads((tmp_path / "two/run.json").read_text())["reused"]["taken over"] == 3
    report = (tmp_path / "two/report.md").read_text("utf-8")
    assert "| a Wikidata item, of `page_props` | 2 | 66.7% |" in report
    assert "| `gnd` | 1 | 33.3% |" in report
    assert "| the type person | 2 | 66.7% |" in report
    assert "| *malformed ids* | 1 | 33.3% |" in report
