"""Documents and a lexicon to documents with the words of the lexicon."""

import re
import shutil

import pytest

from corpora.datasets.shards import open_dataset
from corpora.document import Document
from pipelines import augment_mentions, documents_to_lexicon
from tests.datasets import write_dataset

pytestmark = pytest.mark.usefixtures("without_runner")
TEXTS = {
    "甲传": "玄德入城。云长出城，玄德笑，云长怒。玄德玄德，云长云长。玄德去，云长来，玄德。",
    "乙传": "玄德者，玉名也。玄德生光，玄德有声。子龙见玄德，子龙取玄德。子龙，子龙，子龙去。",
    "丙传": "短。",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make documents of three groups, and lexicons of each kind."""
    folder = tmp_path_factory.mktemp("lexicons")
    documents = [
        Document(id=f"{group}#1", group=group, source="t", text=text, lang="zh")
        for group, text in TEXTS.items()
    ]
    write_dataset(folder / "documents", documents[:2], documents[2:])
    for per in ("group", "document", "all"):
        arguments = ["--input", str(folder / "documents"), "--output", str(folder / per)]
        options = ["--per", per, "--known", "none", "--max-length", "2", "--top", "1"]
        assert documents_to_lexicon.main([*arguments, *options]) == 0
    return folder


@pytest.fixture(scope="module")
def flagged(tmp_path_factory):
    """Make documents, and their lexicon with compounds and words that end in function words."""
    folder = tmp_path_factory.mktemp("flagged")
    text = "玄德，云长。玄德！云长？玄德：云长；玄德曰：云长曰！"
    text += "玄德笑，云长怒。玄德入城，云长出城；城中玄德见云长，云长曰，玄德曰。"
    made = [Document(id="a", group="a", source="t", text=text * 3, lang="zh")]
    write_dataset(folder / "documents", made)
    arguments = ["--input", str(folder / "documents"), "--output", str(folder / "lexicon")]
    options = ["--known", "none", "--drop", "known", "--top", "1", "--max-length", "3"]
    assert documents_to_lexicon.main([*arguments, *options]) == 0
    return folder


def run(made, output, lexicon, *options):
    arguments = ["--input", str(made / "documents"), "--forms", str(made / lexicon)]
    return augment_mentions.main([*arguments, "--output", str(output), *options])


def found(output):
    """Return the entities of each document, each once, by group."""
    records = open_dataset(output, "documents").records()
    return {d.group: {(m.entity, m.origin) for m in d.mentions} for d in records}


def test_each_document_has_the_words_of_its_group(made, tmp_path):
    assert run(made, tmp_path / "out", "group") == 0

    assert found(tmp_path / "out") == {
        "甲传": {("甲传:玄德", "lexicon"), ("甲传:云长", "lexicon")},
        "乙传": {("乙传:玄德", "lexicon"), ("乙传:子龙", "lexicon")},
        "丙传": set(),
    }


def test_the_lexicon_is_not_replaced_by_the_documents(made, tmp_path, capsys):
    lexicon = tmp_path / "group"
    shutil.copytree(made / "group", lexicon)
    before = {file.name: file.read_bytes() for file in lexicon.iterdir() if file.is_file()}

    assert run(made, lexicon, lexicon) == 2

    said = capsys.readouterr().err
    assert f"{lexicon}/shard-00000.arrow: is an output of an earlier run, which this" in said
    assert {file.name: file.read_bytes() for file in lexicon.iterdir() if file.is_file()} == before


def test_names_with_dots_and_letters_are_found_where_they_stand_alone(tmp_path):
    text = "见约翰·史密斯，阿Q来，约翰·史密斯去。阿Q说约翰·史密斯，阿Q与约翰·史密斯；阿Q。" * 2
    made = [Document(id="a", group="a", source="t", text=f"{text}阿QQ。", lang="zh")]
    write_dataset(tmp_path / "documents", made)
    arguments = ["--input", str(tmp_path / "documents"), "--output", str(tmp_path / "lexicon")]
    options = ["--known", "none", "--top", "1", "--max-length", "6"]
    assert documents_to_lexicon.main([*arguments, *options]) == 0

    assert run(tmp_path, tmp_path / "out", "lexicon") == 0

    [document] = open_dataset(tmp_path / "out", "documents").records()
    found_in = [document.text[m.start : m.end] for m in document.mentions]
    assert (found_in.count("约翰·史密斯"), found_in.count("阿Q")) == (8, 8)


def test_lexicons_of_documents_belong_to_documents(made, tmp_path):
    assert run(made, tmp_path / "out", "document") == 0

    assert ("乙传#1:子龙", "lexicon") in found(tmp_path / "out")["乙传"]
    assert ("甲传#1:子龙", "lexicon") not in found(tmp_path / "out")["甲传"]


@pytest.mark.parametrize(("lexicon", "options"), [("group", ["--entities", "global"]), ("all", [])])
def test_words_can_be_the_same_entities_in_all_documents(made, tmp_path, lexicon, options):
    assert run(made, tmp_path / "out", lexicon, *options) == 0

    entities = found(tmp_path / "out")
    assert {("lexicon:玄德", "lexicon")} == entities["甲传"] & entities["乙传"]


def test_mentions_are_where_the_words_stand(made, tmp_path):
    assert run(made, tmp_path / "out", "all") == 0

    for document in open_dataset(tmp_path / "out", "documents").records():
        spans = {(m.start, m.end) for m in document.mentions}
        for form in ("玄德", "云长", "子龙"):
            starts = [i for i in range(len(document.text)) if document.text.startswith(form, i)]
            assert {(start, start + 2) for start in starts} <= spans


def test_two_workers_write_the_same_bytes(made, tmp_path):
    assert run(made, tmp_path / "one", "group") == 0
    assert run(made, tmp_path / "two", "group", "--workers", "2") == 0

    for name in ("shard-00000.arrow", "shard-00001.arrow", "dataset.json"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_lexicon_has_no_gate(made, tmp_path, capsys):
    assert run(made, tmp_path / "out", "all", "--policy", "gated") == 2

    assert "is for entities" in capsys.readouterr().err


def test_documents_are_no_forms(made, tmp_path, capsys):
    assert run(made, tmp_path / "out", "documents") == 2

    assert "holds documents" in capsys.readouterr().err


def lexicon_rows(made, lexicon):
    return [row for row in open_dataset(made / lexicon).rows() if row["rank"]]


def matched(output):
    return {entity.partition(":")[2] for words in found(output).values() for entity, _ in words}


def test_words_for_a_tagger_are_no_compounds_and_have_no_function_word(flagged, tmp_path):
    assert run(flagged, tmp_path / "out", "lexicon", "--words", "tagger") == 0

    flags = {row["form"]: {*row["flags"]} for row in lexicon_rows(flagged, "lexicon")}
    assert any("compound" in marks for marks in flags.values())
    assert matched(tmp_path / "out")
    assert not {
        form for form in matched(tmp_path / "out") if flags[form] & {"compound", "function"}
    }


@pytest.mark.parametrize("option", [["--words", "tagger"], ["--entities", "global"]])
def test_only_words_of_a_lexicon_are_filtered(made, tmp_path, capsys, option):
    table = tmp_path / "forms.tsv"
    table.write_text("玄德\tQ1\n", "utf-8")
    arguments = ["--input", str(made / "documents"), "--forms", str(table), *option]

    assert augment_mentions.main([*arguments, "--output", str(tmp_path / "out")]) == 2

    assert f"{option[0]} is for a lexicon" in capsys.readouterr().err


def test_known_words_block_what_lies_in_them_and_are_no_mentions(tmp_path):
    text = "国人去，国人来！中国人多？中国人少；国人笑：中国人去，国人多，中国人来，国人少。"
    made = [Document(id="a", group="a", source="t", text=text, lang="zh")]
    write_dataset(tmp_path / "documents", made)
    (tmp_path / "known.txt").write_text("中国\n", "utf-8")
    arguments = ["--input", str(tmp_path / "documents"), "--output", str(tmp_path / "lexicon")]
    options = ["--known", str(tmp_path / "known.txt"), "--min-count", "4", "--drop", "known"]
    assert documents_to_lexicon.main([*arguments, *options, "--top", "1"]) == 0

    assert run(tmp_path, tmp_path / "out", "lexicon") == 0

    [document] = open_dataset(tmp_path / "out", "documents").records()
    matched = [m.start for m in document.mentions if text[m.start : m.end] == "国人"]
    assert matched == [m.start() for m in re.finditer("(?<!中)国人", text)]
    assert "中国" not in {text[m.start : m.end] for m in document.mentions}


def test_words_for_a_tagger_are_found_in_all_spellings(flagged, tmp_path):
    pytest.importorskip("opencc")
    made = [Document(id="b", group="a", source="t", text="雲長見玄德。", lang="zh")]
    write_dataset(tmp_path / "documents", made)
    shutil.copytree(flagged / "lexicon", tmp_path / "lexicon")

    assert run(tmp_path, tmp_path / "same", "lexicon", "--variants", "same") == 0
    assert run(tmp_path, tmp_path / "distinct", "lexicon") == 0

    assert found(tmp_path / "same")["a"] >= {("a:云长", "lexicon"), ("a:玄德", "lexicon")}
    assert ("a:云长", "lexicon") not in found(tmp_path / "distinct")["a"]
