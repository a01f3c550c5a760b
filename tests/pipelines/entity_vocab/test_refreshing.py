"""Documents to an entity vocabulary: ids stay from one vocabulary to the next."""

import json

import pytest

from corpora.datasets.shards import open_dataset
from tests.datasets import write_dataset
from tests.pipelines.entity_vocab.made_vocabularies import (
    ARTICLES,
    build,
    document,
    entities_of,
    luke_of,
    rows_of,
)

pytestmark = pytest.mark.usefixtures("without_runner")


def refreshed(tmp_path, *changed, before=ARTICLES, **options):
    """Build the vocabulary of changed articles after that of others; returns both folders."""
    first = build(tmp_path / "first", write_dataset(tmp_path / "before" / "documents", *before))
    inputs = write_dataset(tmp_path / "after" / "documents", *changed)
    return first, build(tmp_path / "second", inputs, previous=first, **options)


def changes_of(vocab):
    return [
        tuple(line.split("\t")) for line in (vocab / "changes.tsv").read_text().split("\n")[1:-1]
    ]


# Tyskland (page 2) is now called Forbundsrepublikken; nobody links to Berlin; Jena is new.
CHANGED = [
    document(1, "Berlin", "I Forbundsrepublikken", ("Forbunds", "dawiki:Forbundsrepublikken")),
    document(2, "Forbundsrepublikken", "Se Ulm", ("Ulm", "dawiki:Ulm")),
    document(3, "Ulm", "Se Jena, Jena", ("Jena", "dawiki:Jena")),
    document(4, "Jena", "Jena", ("Jena", "dawiki:Jena")),
]


def test_previous_ids_are_kept_and_new_ones_come_after(tmp_path):
    first, second = refreshed(tmp_path, CHANGED)

    assert entities_of(first) == {"dawiki:Tyskland": 3, "dawiki:Berlin": 4, "dawiki:Ulm": 5}
    assert entities_of(second) == {
        "dawiki:Forbundsrepublikken": 3,
        "dawiki:Ulm": 5,
        "dawiki:Jena": 6,
    }


def test_entity_that_fell_out_stays_as_a_retired_row(tmp_path):
    _, second = refreshed(tmp_path, CHANGED)

    [row] = [row for row in rows_of(second) if row["retired"]]

    assert (row["id"], row["entity"], row["count"]) == (4, "dawiki:Berlin", 0)
    assert row["aliases"] == []


def test_changes_are_listed_and_counted(tmp_path):
    _, second = refreshed(tmp_path, CHANGED)
    counters = open_dataset(second).description["counters"]

    assert sorted(changes_of(second)) == [
        ("added", "6", "", "dawiki:Jena", ""),
        ("removed", "4", "4", "", "dawiki:Berlin"),
        ("renamed", "3", "3", "dawiki:Forbundsrepublikken", "dawiki:Tyskland"),
    ]
    assert [counters[f"changes.{kind}"] for kind in ("added", "removed", "renamed")] == [1, 1, 1]


def test_retired_entity_that_comes_back_has_its_id_again(articles, tmp_path):
    _, second = refreshed(tmp_path, CHANGED)

    third = build(tmp_path / "third", articles, previous=second)

    assert entities_of(third) == {"dawiki:Tyskland": 3, "dawiki:Berlin": 4, "dawiki:Ulm": 5}
    assert ("returned", "4", "4", "dawiki:Berlin", "dawiki:Berlin") in changes_of(third)


def test_title_taken_over_by_another_page_goes_with_the_page(tmp_path):
    moved = [document(3, "Berlin", "Se Berlin", ("Berlin", "dawiki:Berlin"))]

    _, second = refreshed(tmp_path, moved)

    assert entities_of(second) == {"dawiki:Berlin": 5}  # the id that Ulm had, page 3
    assert [row["id"] for row in rows_of(second) if row["retired"]] == [3, 4]


def test_page_made_anew_under_its_old_title_keeps_the_id(tmp_path):
    again = [document(77, "Berlin", "Se Berlin", ("Berlin", "dawiki:Berlin"))]

    _, second = refreshed(tmp_path, again)

    assert entities_of(second) == {"dawiki:Berlin": 4}


def test_retired_rows_hold_their_place_in_exports_but_have_no_name(tmp_path):
    _, second = refreshed(tmp_path, CHANGED)
    keys = json.loads((second / "entity_vocab.json").read_text())
    lines = luke_of(second)

    assert "Berlin" not in keys
    assert keys["[MASK2]"] == 7
    assert lines[4] == {"id": 4, "entities": [["[RETIRED 4]", "da"]], "count": 0}
    assert (second / "entity_vocab.tsv").read_text().split("\n")[4] == "[RETIRED 4]\t0"


def test_a_name_with_a_tab_or_a_newline_stays_on_its_line(tmp_path):
    odd = document(9, "A\tB\nC", "Se Ulm", ("Ulm", "dawiki:A\tB\nC"))

    _, second = refreshed(tmp_path, [*CHANGED, odd])

    listed = {change[3] for change in changes_of(second) if len(change) == 5}
    assert len(listed) == len({change[3] for change in changes_of(second)})
    assert "dawiki:A B C" in listed
