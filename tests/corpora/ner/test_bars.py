"""A sentence a line, with bars between a token and its tags."""

from tests.corpora.ner.reading import read, show, write


def test_lines_are_sentences_and_a_token_may_be_a_bar(tmp_path):
    text = "Daniel|NNP|I-PER Guérin|NNP|I-PER ||:|O\r\n\r\nIn|IN|O Jena|NNP|I-LOC .|.|O\r\n"

    layout, rows, made = read(write(tmp_path / "a.txt", text))

    assert (layout.format, layout.scheme) == ("bars", "iob1")
    assert [show(row["tokens"], row["tags"]) for row in rows] == [
        "Daniel/B-PER Guérin/I-PER |",
        "In Jena/B-LOC .",
    ]
    assert [row["id"] for row in rows] == ["a.txt:1", "a.txt:3"]
    assert not made.rejected


def test_a_token_without_its_tags_rejects_its_line(tmp_path):
    good = "In|IN|O Jena|NNP|B-LOC\n"

    _, rows, made = read(
        write(tmp_path / "a.txt", good * 20 + "In|O Ulm|NNP|B-LOC\nUlm|NNP|LOC\n" + good)
    )

    assert [(r.reason, r.position) for r in made.rejected] == [
        ("columns", "line 21"),
        ("bad_tag", "line 22"),
    ]
    assert len(rows) == 21
