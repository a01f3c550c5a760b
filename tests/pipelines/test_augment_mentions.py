"""Documents and forms to documents with more mentions: what comes out, and what ends the run."""

import json
from pathlib import Path

import pytest

from corpora.datasets.shards import open_dataset
from corpora.document import Document, Mention
from pipelines.augment_mentions import main
from tests.datasets import document_to_row, write_dataset
from tests.pipelines.test_documents_to_examples import published

pytestmark = pytest.mark.usefixtures("without_runner")
TEXTS = (
    "İn Jena 😀 traf Schiller Goethe; Goethes Jena.",
    "",
    "Die Universität Jena, Jenaer Glas, JENA",
    "席勒在耶拿。",
)
FORMS = """\
Jena\tx:Jena\t0.9\t0.5
Universität Jena\tx:Uni\t0.4\t0.5
glas\tx:Glas\t1\t0.01
耶拿\tx:Jena\t1\t1
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("inputs")
    rows = []
    for number, text in enumerate(TEXTS):
        start = text.find("Goethe")
        mentions = (
            [Mention(start, start + 6, entity="x:Goethe", origin="link", attributes={"a": "b"})]
            if start >= 0
            else []
        )
        rows.append(
            document_to_row(
                Document(
                    id=f"x:{number}",
                    group="x",
                    source="s",
                    lang="de",
                    text=text,
                    mentions=tuple(mentions),
                )
            )
        )
    write_dataset(folder / "documents", rows[:2], rows[2:])
    (folder / "forms.tsv").write_text(FORMS, encoding="utf-8")
    return folder


def run(inputs, output, *options, forms="forms.tsv"):
    command = ["--input", str(inputs / "documents"), "--forms", str(inputs / forms)]
    return main([*command, "--output", str(output), *options])


def added(output):
    """Return surface, entity and score of the mentions that were added, by document."""
    return [
        [
            (document.text[m.start : m.end], m.entity, m.score and round(m.score, 3))
            for m in document.mentions
            if m.origin != "link"
        ]
        for document in open_dataset(output, "documents").records()
    ]


def test_all_forms_become_mentions(inputs, tmp_path):
    assert run(inputs, tmp_path / "out") == 0

    assert added(tmp_path / "out") == [
        [("Jena", "x:Jena", 0.45), ("Jena", "x:Jena", 0.45)],
        [],
        [("Universität Jena", "x:Uni", 0.2), ("Glas", "x:Glas", 0.01), ("JENA", "x:Jena", 0.45)],
        [("耶拿", "x:Jena", 1.0)],
    ]


def test_prefix_makes_the_form_a_mention(inputs, tmp_path):
    assert run(inputs, tmp_path / "out", "--right", "prefix") == 0

    [*_, document, _] = open_dataset(tmp_path / "out", "documents").records()
    surfaces = [document.text[m.start : m.end] for m in document.mentions]
    assert surfaces == ["Universität Jena", "Jena", "Glas", "JENA"]
    assert {m.origin for m in document.mentions} == {"lexicon"}


def test_all_else_stays_as_it_was(inputs, tmp_path):
    assert run(inputs, tmp_path / "out") == 0

    before = list(open_dataset(inputs / "documents", "documents").rows())
    after = list(open_dataset(tmp_path / "out", "documents").rows())
    for old, new in zip(before, after, strict=True):
        new["mentions"] = [m for m in new["mentions"] if m["origin"] == "link"]
        assert new == old


def test_two_workers_write_the_same_bytes(inputs, tmp_path):
    assert run(inputs, tmp_path / "one") == 0
    assert run(inputs, tmp_path / "two", "--workers", "2") == 0

    assert published(tmp_path / "one") == published(tmp_path / "two")


def test_a_vocabulary_is_a_dictionary(inputs, tmp_path):
    alias = {"form": "Jena", "count": 9, "prior": 0.9, "link_probability": 0.5}
    row = {
        "id": 3,
        "entity": "x:Jena",
        "title": "Jena",
        "page_id": None,
        "count": 9,
        "counts": [],
        "aliases": [alias],
        "retired": False,
    }
    vocab = write_dataset(tmp_path / "vocab", [row], schema="entities")

    assert run(inputs, tmp_path / "out", forms=vocab) == 0
    assert added(tmp_path / "out")[0] == [("Jena", "x:Jena", 0.45)] * 2


@pytest.mark.parametrize("content", ["", "\n\tx:Jena\n"])
def test_a_file_without_forms_is_an_error(inputs, tmp_path, capsys, content):
    forms = tmp_path / "forms.tsv"
    forms.write_text(content, encoding="utf-8")

    assert run(inputs, tmp_path / "out", forms=forms) == 1
    assert f"{forms}: no forms." in capsys.readouterr().err


def test_what_makes_no_sense_is_an_error(inputs, tmp_path, capsys):
    assert run(inputs, tmp_path / "out", "--min-precision", "2") == 2
    assert run(inputs, tmp_path / "out", "--min-precision", "0.3") == 2
    assert "--min-precision is for --policy gated" in capsys.readouterr().err
    assert run(inputs, tmp_path / "out", "--lang", "german!") == 2
    assert "--lang german!: no tag of a language" in capsys.readouterr().err
    assert run(inputs, tmp_path / "out", forms="absent") == 2
    assert run(inputs, tmp_path / "out", forms=".") == 2

    assert "holds datasets, but is none" in capsys.readouterr().err


def test_forms_decide_the_fingerprint(inputs, tmp_path):
    assert run(inputs, tmp_path / "out") == 0
    forms = tmp_path / "forms.tsv"
    forms.write_text("Schiller\tx:Schiller\n", encoding="utf-8")

    assert run(inputs, tmp_path / "out", forms=forms) == 0

    assert added(tmp_path / "out")[0] == [("Schiller", "x:Schiller", None)]
    run_ = json.loads(Path(tmp_path / "out" / "run.json").read_text("utf-8"))
    assert run_["pipeline"] == "augment_mentions"
