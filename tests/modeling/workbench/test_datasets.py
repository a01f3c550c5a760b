"""Datasets in the page: rows by filters, to be read and never changed."""

import asyncio
import json

import httpx
import pytest

from corpora.document import Document, Mention, Sentence
from corpora.errors import UsageError
from modeling.data.predictions import Tagged
from modeling.evaluate.evaluation import evaluate
from modeling.evaluate.report import write_report
from modeling.workbench.__main__ import Options
from modeling.workbench.datasets import open_documents, open_evaluation
from modeling.workbench.names import RefusedError
from modeling.workbench.routes import reading_application
from tests.datasets import write_dataset

TEXTS = ("Anna kam nach Ulm.", "Ulm liegt weit von Bad Berka, wie Anna sagt.", "Nichts.")


@pytest.fixture
def reader(tmp_path):
    found = [
        [Mention(0, 4, label="person"), Mention(14, 17, label="place", entity="dewiki:Ulm")],
        [Mention(19, 28, label="place", origin="prediction", score=0.75)],
        [],
    ]
    documents = [
        Document(id=f"d{n}", group="g", source="s", text=text, mentions=tuple(mentions))
        for n, (text, mentions) in enumerate(zip(TEXTS, found, strict=True))
    ]
    write_dataset(tmp_path / "documents", documents)
    return open_documents(tmp_path / "documents")


@pytest.mark.parametrize(
    ("said", "rows"),
    [
        ("", [0, 1, 2]),
        ("label:place", [0, 1]),
        ("label:place origin:prediction", [1]),
        ("label:person entity:dewiki:Ulm", []),  # one mention must be both
        ("entity:dewiki:*", [0]),
        ('form:"Bad Berka"', [1]),
        ("form:Bad*", [1]),
        ("length:>20", [1]),
        ("length:<20 anna", [0]),
        ("ANNA weit", [1]),
        ('form:"Bad', []),  # not written to its end yet
    ],
)
def test_filters_choose_rows_by_mentions_length_and_words(reader, said, rows):
    assert [row["n"] for row in reader.listing(said)["letters"]] == rows


def test_a_row_is_shown_with_where_its_mentions_come_from(reader):
    shown = reader.letter(1)

    [item] = shown["items"][0]
    assert (item["start"], item["end"], item["label"]) == (19, 28, "place")
    assert (item["origin"], item["probability"]) == ("prediction", 0.75)
    assert shown["documents"][0]["blocks"] == [{"start": 0, "end": len(TEXTS[1]), "kind": "p"}]
    with pytest.raises(RefusedError, match="no row 3"):
        reader.letter(3)


def test_sentences_of_a_ner_set_are_read_as_text_with_names(ner):
    reader = open_documents(ner)
    rows = reader.listing("label:pers")

    assert rows["labels"] == ["pers", "place"]
    shown = reader.letter(rows["letters"][0]["n"])
    text = shown["documents"][0]["text"]
    names = [text[item["start"] : item["end"]] for item in shown["items"][0]]
    assert all(name and name == name.strip() for name in names)


def test_nothing_can_be_decided_on_a_dataset(reader):
    async def ask():
        transport = httpx.ASGITransport(app=reading_application(reader))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            listed = await client.get("/api/letters?said=label:place")
            return listed.json(), (await client.post("/api/decide", json=[])).status_code

    listed, status = asyncio.run(ask())
    assert listed["isReadOnly"]
    assert status == 404
    with pytest.raises(UsageError, match="--edition is for --tei"):
        Options(documents="documents", edition="sturm")


@pytest.mark.parametrize("unused", [{"port": 8000}, {"no_open": True}, {"recipe": "crf"}])
def test_a_page_in_a_file_takes_no_options_of_the_program(unused):
    with pytest.raises(UsageError, match="needs the program, with --output"):
        Options(tei=("a.xml",), edition="tei", page="review.html", **unused)


def test_errors_of_an_evaluation_are_read_in_their_context(tmp_path):
    sentences = [("a.xml", "Alles war gut ."), ("a.xml", "Ich war in Bad Ulm ."), ("b.xml", "Nun")]
    gold = [["O"] * 4, ["O", "O", "O", "B-place", "I-place", "O"], ["O"]]
    spans = [[], [[0, 1, "person", 0.6], [4, 5, "place", 0.9]], []]
    rows = [
        {"run": "seed-1", "id": f"{file}#{n}", "document_id": file, "split": "test"}
        | {"tokens": text.split(), "gold": gold[n], "spans": spans[n]}
        for n, (file, text) in enumerate(sentences)
    ]
    (tmp_path / "predictions.jsonl").write_text("\n".join(map(json.dumps, rows)))

    reader = open_evaluation(tmp_path)

    [row] = reader.listing("")["letters"]
    assert (row["title"], row["open"]) == ("boundary, spurious: Ich war in Bad Ulm .", 2)
    shown = reader.letter(row["n"])
    [document], [items] = shown["documents"], shown["items"]
    assert document["text"] == "Alles war gut .\nIch war in Bad Ulm ."  # b.xml is another text
    found = [(document["text"][i["start"] : i["end"]], i["origin"]) for i in items]
    assert found == [("Ich", "spurious"), ("Bad Ulm", "boundary: Ulm (place)")]
    assert reader.listing("error:boundary label:place run:seed-1")["letters"] == [row]
    assert reader.listing("error:missing")["letters"] == []
    with pytest.raises(UsageError, match="onoma evaluate wrote"):
        open_evaluation(tmp_path / "nowhere")


def test_words_of_an_evaluation_may_have_line_ends_of_unicode(tmp_path):
    words = ("in", "Bad\u2028Ulm", "x\x85y", "z\x0c")
    tags = ("O", "B-place", "O", "O")
    sentence = Sentence(id="a#1", document_id="a", split="test", tokens=words, tags=tags)
    evaluation = evaluate([Tagged(sentence=sentence, spans=())], labels=("place",), replicates=9)
    write_report({"seed-1": evaluation}, tmp_path, title="small", settings={})

    reader = open_evaluation(tmp_path)

    assert reader.letter(0)["documents"][0]["text"] == " ".join(words)


@pytest.mark.parametrize("line", ["[" * 100_000, "9" * 5000, "{}"])
def test_an_evaluation_that_is_none_is_reported(tmp_path, line):
    (tmp_path / "predictions.jsonl").write_text(line)

    with pytest.raises(UsageError, match="onoma evaluate wrote"):
        open_evaluation(tmp_path)


def test_lengths_that_are_no_numbers_are_refused(reader):
    for said in ("length:>²", f"length:>{'9' * 5000}", "length:", "length:5"):
        with pytest.raises(RefusedError, match="length"):
            reader.listing(said)
