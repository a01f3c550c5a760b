"""Titles and abstracts with names, as biomedical sets have them."""

import pytest

from tests.corpora.ner.reading import read, show, write

ARTICLES = (
    "7|t|Lead in Jena.\n7|a|Ada has a rash. No more.\n"
    "7\t0\t4\tLead\tChemical\tD007854\n7\t24\t28\trash\tDisease Class\t-1\n"
    "7\tCID\tD007854\tD005076\n\n"
    "8|t|Nothing.\n8|a|\n"
)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_title_and_abstract_are_a_document(tmp_path, end):
    layout, rows, made = read(write(tmp_path / "a.txt", ARTICLES.replace("\n", end)))

    assert layout.format == "pubtator"
    assert [show(row["tokens"], row["tags"]) for row in rows] == [
        "Lead/B-Chemical in Jena .",
        "Ada has a rash/B-Disease_Class .",
        "No more .",
        "Nothing .",
    ]
    assert [row["document_id"] for row in rows] == ["7", "7", "7", "8"]
    assert [row["id"] for row in rows][::3] == ["a.txt:1#1", "a.txt:7#1"]
    assert made.counters["lines.relation"] == 1
    assert not made.rejected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("7\t0\t3\tLead\tChemical\tD1\n", "bad_span"),
        ("7\t0\t99\tLead\tChemical\tD1\n", "bad_span"),
        ("7\t0\t4\tLead\t \tD1\n", "bad_label"),
        ("Lead\n", "columns"),
    ],
)
def test_a_bad_line_rejects_its_article(tmp_path, line, reason):
    text = ARTICLES.replace("7\tCID", f"{line}7\tCID")

    _, rows, made = read(write(tmp_path / "a.txt", text))

    assert [(r.reason, r.position) for r in made.rejected] == [(reason, "line 5")]
    assert [row["document_id"] for row in rows] == ["8"]
