"""CoNLL-2012: names in brackets, and sentences with different columns."""

import pytest

from tests.corpora.ner.reading import read, show


def rows_of(*pairs, n_more=0):
    more = "  *" * n_more
    return "".join(
        f"bn/x  0  {n}  {token}  NN  (S*  -  -  -  Ada  {name}{more}  -\n"
        for n, (token, name) in enumerate(pairs)
    )


HEAD = "#begin document (bn/x); part 001\n"
FIRST = rows_of(("Die", "(ORG(DATE*"), ("Zeit", "*)"), ("AG", "*)"), ("kam", "*"))
SECOND = rows_of(("Jena", "(GPE)"), (".", "*"), n_more=3)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_names_in_brackets_are_two_levels(tmp_path, end):
    path = tmp_path / "a.gold_conll"
    text = f"{HEAD}{FIRST}\n{SECOND}\n#end document\n"
    path.write_text(text.replace("\n", end), newline="")

    layout, rows, made = read(path)

    assert layout.format == "conll2012"
    assert [show(row["tokens"], row["tags"]) for row in rows] == [
        "Die/B-ORG Zeit/I-ORG AG/I-ORG kam",
        "Jena/B-GPE .",
    ]
    assert show(rows[0]["tokens"], rows[0]["inner_tags"]) == "Die/B-DATE Zeit/I-DATE AG kam"
    assert [(row["id"], row["document_id"]) for row in rows] == [
        ("a.gold_conll:2", "bn/x#001"),
        ("a.gold_conll:7", "bn/x#001"),
    ]
    assert not made.rejected


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("bn/x 0 0 Ulm NN (GPE) -\n", "columns"),
        (rows_of(("Ulm", "GPE")), "bad_tag"),
        (rows_of(("Ulm", "*)")), "bad_tag"),
        (rows_of(("Ulm", "(GPE*")), "bad_tag"),
    ],
)
def test_a_bad_row_rejects_its_sentence(tmp_path, row, reason):
    path = tmp_path / "a.gold_conll"
    path.write_text(f"{HEAD}{SECOND}\n{row}\n{SECOND}")

    _, rows, made = read(path)

    assert [(r.reason, r.position) for r in made.rejected] == [(reason, "line 5")]
    assert len(rows) == 2
