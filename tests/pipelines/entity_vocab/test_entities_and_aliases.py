"""Documents to an entity vocabulary: what is kept, and by which names it is known."""

import pytest

from corpora.datasets.shards import open_dataset
from pipelines.documents_to_entity_vocab import main
from tests.datasets import write_dataset
from tests.pipelines.entity_vocab.made_vocabularies import (
    ARTICLES,
    aliases_of,
    build,
    document,
    entities_of,
    rows_of,
)

pytestmark = pytest.mark.usefixtures("without_runner")

# --- what is kept ---


def test_red_links_are_left_out_and_counted(vocab):
    counters = open_dataset(vocab).description["counters"]

    assert entities_of(vocab) == {"dawiki:Tyskland": 3, "dawiki:Berlin": 4, "dawiki:Ulm": 5}
    assert (counters["mentions.counted"], counters["mentions.of_no_page"]) == (5, 1)


def test_entities_without_pages_are_kept_where_any_may_be(articles, tmp_path):
    assert "dawiki:Rom" in entities_of(build(tmp_path / "out", articles, existing="any"))


def test_a_part_of_a_wiki_is_warned_that_its_mentions_fall_out_and_what_to_do(tmp_path, capsys):
    links = [(name, f"dawiki:{name}") for name in ("Rom", "Bonn", "Ulm")]
    inputs = write_dataset(tmp_path / "documents", [document(1, "Ulm", "Rom, Bonn, Ulm", *links)])

    assert main(["--input", str(inputs), "--output", str(tmp_path / "out")]) == 0
    output = capsys.readouterr().out
    arguments = ["--input", str(inputs), "--existing", "any", "--output", str(tmp_path / "any")]
    assert main(arguments) == 0

    assert "WARNING 2 mentions (67% of the counted) lead to pages" in output
    assert "--existing any" in output
    assert "**2 mentions (67%" in (tmp_path / "out" / "report.md").read_text("utf-8")
    assert "WARNING" not in capsys.readouterr().out


def test_entities_of_a_space_without_pages_are_kept_unless_pages_are_asked_for(tmp_path):
    letters = document(1, "Brief 1", "Marc an Klee", ("Klee", "gnd:118770950"), wiki="sturm")
    inputs = write_dataset(tmp_path / "documents", [letters, *ARTICLES[0]])

    kept = entities_of(build(tmp_path / "out", inputs))
    pages = entities_of(build(tmp_path / "pages", inputs, existing="pages"))

    assert "gnd:118770950" in kept
    assert pages == {"dawiki:Berlin": 3, "dawiki:Tyskland": 4}


def test_other_origins_are_shown_but_do_not_count(tmp_path):
    named = document(9, "By", "Ulm, Berlin", ("Ulm", "dawiki:Ulm"), origin="title_match")
    inputs = write_dataset(tmp_path / "documents", *ARTICLES, [named])

    [ulm] = [r for r in rows_of(build(tmp_path / "out", inputs)) if r["title"] == "Ulm"]

    assert ulm["count"] == 1
    assert ulm["counts"] == [{"key": "link", "value": 1}, {"key": "title_match", "value": 1}]


def test_several_origins_count_together(tmp_path):
    named = document(9, "By", "Ulm, Berlin", ("Ulm", "dawiki:Ulm"), origin="title_match")
    inputs = write_dataset(tmp_path / "documents", *ARTICLES, [named])

    [ulm] = [
        row
        for row in rows_of(build(tmp_path / "out", inputs, origins=("link,title_match",)))
        if row["title"] == "Ulm"
    ]

    assert ulm["count"] == 2


def test_minimum_count_and_size_cut_the_tail(articles, tmp_path):
    rare = build(tmp_path / "rare", articles, min_count=2)
    small = build(tmp_path / "small", articles, max_size=2)

    assert list(entities_of(rare)) == ["dawiki:Tyskland"]
    assert list(entities_of(small)) == ["dawiki:Tyskland", "dawiki:Berlin"]


def test_entity_named_like_a_special_row_is_left_out_and_counted(tmp_path):
    odd = document(9, "[MASK]", "En maske", ("maske", "dawiki:[MASK]"))
    inputs = write_dataset(tmp_path / "documents", [*ARTICLES[0], odd])

    out = build(tmp_path / "out", inputs)

    assert "dawiki:[MASK]" not in entities_of(out)
    assert open_dataset(out).description["counters"]["mentions.of_reserved_names"] == 1


# --- aliases ---


def test_link_probability_counts_unlinked_places(vocab):
    aliases = aliases_of(vocab, "dawiki:Berlin")

    assert aliases["Berlin"]["link_probability"] == 0.5  # "Berlin er …" is no link


def test_prior_counts_entities_outside_the_vocabulary(tmp_path):
    red = document(9, "By", "Se Berlin", ("Berlin", "dawiki:Berlin (film)"))
    inputs = write_dataset(tmp_path / "documents", *ARTICLES, [red])

    aliases = aliases_of(build(tmp_path / "out", inputs), "dawiki:Berlin")

    assert aliases["Berlin"]["prior"] == 0.5


def test_link_probability_is_null_where_it_is_off(articles, tmp_path):
    out = build(tmp_path / "out", articles, link_probability="off")

    assert aliases_of(out, "dawiki:Berlin")["Berlin"]["link_probability"] is None


def test_white_space_in_a_form_becomes_one_space(tmp_path):
    broken = document(9, "By", "I Ny\n York", ("Ny\n York", "dawiki:Ulm"))
    inputs = write_dataset(tmp_path / "documents", *ARTICLES, [broken])

    assert "Ny York" in aliases_of(build(tmp_path / "out", inputs), "dawiki:Ulm")


def test_places_of_a_form_may_have_other_white_space(tmp_path):
    text = "I Ny York, Ny\u00a0York, Ny\u2003York og Ny\n York"
    inputs = write_dataset(
        tmp_path / "documents", *ARTICLES, [document(9, "By", text, ("Ny York", "dawiki:Ulm"))]
    )

    alias = aliases_of(build(tmp_path / "out", inputs), "dawiki:Ulm")["Ny York"]

    assert alias["link_probability"] == pytest.approx(1 / 3)  # no form spans two lines
