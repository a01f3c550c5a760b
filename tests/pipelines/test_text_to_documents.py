"""Plain text to documents: what comes out of files of all forms, real ones among them."""

import bz2
import gzip
import json
import lzma
import re

import pytest

from corpora.datasets.shards import open_dataset
from corpora.store.inspection import main as shards
from tests.pipelines.text_runs import (
    DOC,
    SAMPLES,
    counters_of,
    describe,
    documents_of,
    rejected_of,
    run,
    surfaces,
)

pytestmark = pytest.mark.usefixtures("without_runner")


def test_a_file_becomes_a_document_with_all_its_characters(tmp_path):
    assert run(tmp_path / "out", "--lang", "de", input=SAMPLES / "brief.txt") == 0

    [document] = documents_of(tmp_path / "out")
    assert document.text == (SAMPLES / "brief.txt").read_text("utf-8")
    assert (document.id, document.group, document.source) == ("brief.txt", "text", "brief.txt")
    assert (document.lang, document.title, document.license) == ("de", None, None)
    assert shards(["verify", str(tmp_path / "out"), "--rows"]) == 0


def test_paragraphs_of_a_text_that_is_hard_wrapped_are_between_blank_lines(tmp_path):
    run(tmp_path / "out", "--lang", "de", input=SAMPLES / "brief.txt")

    [document] = documents_of(tmp_path / "out")
    assert [p[:5] for p in surfaces(document, "paragraphs")] == ["Lübec", "Liebe", "Unser", "Grüße"]
    assert "in\nder Stadt angekommen." in surfaces(document, "sentences")[1]
    assert counters_of(tmp_path / "out")["documents.blank"] == 1


def test_one_text_in_several_encodings_is_one_text(tmp_path):
    run(tmp_path / "out", input=SAMPLES / "brief*.txt")

    first, *others = documents_of(tmp_path / "out")
    assert len(others) == 2
    assert all(document.text == first.text for document in others)
    counters = counters_of(tmp_path / "out")
    assert counters["byte_order_marks"] == 1
    assert counters["line_ends.crlf"] == first.text.count("\n")
    assert [counters[f"encoding.{name}"] for name in ("cp1252", "utf-16-le", "utf-8")] == [1, 1, 1]


def test_a_pattern_splits_a_file_into_chapters(tmp_path):
    run(tmp_path / "out", "--split-pattern", "^第.章", "--lang", "zh", input=SAMPLES / "xiao*.txt")

    documents = documents_of(tmp_path / "out")
    assert [d.id for d in documents] == [
        f"xiaozhen-{name}.txt#{n}" for name in ("big5", "gb18030") for n in (1, 2)
    ]
    assert documents[3].title == "第二章　大水".replace("\u3000", " ")
    assert [p.kind for p in documents[3].paragraphs] == ["head", "p"]
    assert surfaces(documents[3], "sentences")[0] == "第二章　大水"
    assert len(documents[3].sentences) == 6


def test_articles_of_wikiextractor_carry_what_it_says_of_them(tmp_path):
    run(tmp_path / "out", "--group", "kleinwiki", "--lang", "de", input=SAMPLES / "wiki_00")

    documents = documents_of(tmp_path / "out")
    assert [(d.id, d.title) for d in documents] == [
        ("kleinwiki:11", "Mehl & Söhne"),
        ("kleinwiki:12", 'Der "große" Damm'),
    ]
    assert documents[0].url == "https://klein.example/wiki?curid=11"
    assert [p.kind for p in documents[0].paragraphs] == ["head", "p", "p"]
    assert surfaces(documents[0], "sentences")[2].endswith("am 3. Mai 1871 von A. Mehl gegründet.")
    assert describe(tmp_path / "out")["accounting"]["filtered"] == {"empty": 1}


def test_fields_of_json_lines_are_named(tmp_path):
    fields = ["text=body", "id=key", "title=head", "timestamp=when"]
    options = ["--field", *fields, "--metadata", "tags", "--lang", "de", "--license", "CC0-1.0"]

    run(tmp_path / "out", *options, input=SAMPLES / "news.jsonl")

    first, second = documents_of(tmp_path / "out")
    assert (first.id, second.id) == ("text:a-1", "text:2")
    assert (first.lang, second.lang) == ("de", "da")
    assert (first.timestamp, first.license) == ("2024-02-29", "CC0-1.0")
    assert dict(first.metadata) == {"tags": '["Tiere", "Brücken"]'}
    assert surfaces(first, "paragraphs") == [
        "Ein Hund lief über die Brücke. Er bellte.",
        "Die Leute lachten.",
    ]
    account = describe(tmp_path / "out")["accounting"]
    assert (account["read"], account["written"]) == (3, 2)


@pytest.mark.parametrize("pack", [gzip.compress, bz2.compress, lzma.compress])
def test_archives_are_read_whatever_they_are_called(pack, tmp_path):
    (tmp_path / "a.txt").write_bytes(pack((SAMPLES / "brief.txt").read_bytes()))

    run(tmp_path / "out", input=tmp_path / "a.txt")

    assert documents_of(tmp_path / "out")[0].text == (SAMPLES / "brief.txt").read_text("utf-8")


def test_files_that_cannot_be_read_are_rejected_and_the_others_are_not(tmp_path):
    source = tmp_path / "in"
    source.mkdir()
    (source / "a.txt").write_text("Gut.")
    (source / "b.txt").write_bytes(gzip.compress(b"Gut." * 9)[:-9])
    (source / "c.txt").write_bytes("Grüße".encode() * 20 + b"\xff" * 3)
    (source / "d.txt").write_bytes(b"")
    (source / "f.txt").write_text("Auch gut.")

    assert run(tmp_path / "out", input=source) == 0

    assert [d.id for d in documents_of(tmp_path / "out")] == ["a.txt", "f.txt"]
    [truncated, *others] = rejected_of(tmp_path / "out")
    assert truncated[0::2] == ("b.txt", "truncated_archive")
    assert others == [("c.txt", "byte 140", "invalid_bytes")]
    assert describe(tmp_path / "out")["accounting"]["filtered"] == {"empty": 1}


def test_broken_records_are_rejected_and_their_neighbours_are_not(tmp_path):
    (tmp_path / "wiki").write_text(
        DOC.format(1, 1, "A", "a") + DOC.format(2, 2, "B", "b")[:-7] + DOC.format(3, 3, "C", "c")
    )
    (tmp_path / "lines").write_text('{"text": "a"}\n{"text": \n{"texts": "b"}\n{"text": "c"}\n')

    assert run(tmp_path / "out", "--group", "g", input=[tmp_path / "wiki", tmp_path / "lines"]) == 0

    found = [d.id for d in documents_of(tmp_path / "out")]
    assert found == ["lines#1", "lines#4", "g:1", "g:3"]
    assert rejected_of(tmp_path / "out") == [
        ("lines", "line 2", "broken_json"),
        ("lines", "line 3", "missing_field"),
        ("wiki", "line 4", "unclosed_doc"),
    ]


def test_a_second_document_with_an_id_is_rejected_in_whichever_file_it_is(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_text(DOC.format(1, 1, "A", name) + DOC.format(name, 2, "B", name))

    assert run(tmp_path / "out", "--group", "g", input=[tmp_path / "a", tmp_path / "b"]) == 0

    assert [(d.id, d.text) for d in documents_of(tmp_path / "out")] == [
        ("g:1", "a"),
        ("g:a", "a"),
        ("g:b", "b"),
    ]
    assert rejected_of(tmp_path / "out") == [("b", "g:1", "duplicate_id")]


def test_what_is_no_text_is_counted(tmp_path):
    (tmp_path / "a").write_bytes("\ufeffa\0b\r\nc\fd\re\ufffd".encode() + b"\n" * 200 + b"\xff")

    run(tmp_path / "out", input=tmp_path / "a")

    assert documents_of(tmp_path / "out")[0].text == "a b\nc d\ne\ufffd" + "\n" * 200 + "\ufffd"
    counters = counters_of(tmp_path / "out")
    names = ("byte_order_marks", "bytes.invalid", "line_ends.crlf", "line_ends.cr")
    assert [counters[name] for name in names] == [1, 1, 1, 1]
    assert counters["characters.control/U+0000"] == counters["characters.control/U+000C"] == 1
    assert counters["characters.control"] == 2
    assert counters["characters.replacement"] == 1


@pytest.mark.realdata
def test_every_article_of_real_german_output_is_read_whole(realdata, tmp_path):
    source = realdata("wiki-text-de")
    text = "".join(path.read_text("utf-8") for path in sorted(source.glob("wiki_*")))
    bodies = re.findall(r"^<doc [^\n]*>\n(.*?)\n</doc>$", text, re.DOTALL | re.MULTILINE)

    assert run(tmp_path / "out", "--lang", "de", input=source / "wiki_*") == 0

    counters = counters_of(tmp_path / "out")
    assert describe(tmp_path / "out")["accounting"]["written"] == len(bodies) == 10_373
    assert counters["characters"] == sum(map(len, bodies))
    kept = (row["text"] for row in open_dataset(tmp_path / "out").rows())
    assert all(one == other for one, other in zip(kept, bodies, strict=True))
    assert set(counters) & {"characters.control", "bytes.invalid"} == set()


@pytest.mark.realdata
def test_every_article_of_real_chinese_output_is_read_whole(realdata, tmp_path):
    source = realdata("wiki-text-zh") / "wiki_00.jsonl"
    articles = [json.loads(line) for line in source.read_text("utf-8").splitlines()]

    assert run(tmp_path / "out", "--lang", "zh", input=source) == 0

    documents = documents_of(tmp_path / "out")
    assert [d.text for d in documents] == [article["text"] for article in articles]
    assert len(documents) == 64
    assert sum(len(d.text) for d in documents) == 369_617
    assert all(d.paragraphs[0].kind == "head" for d in documents)


@pytest.mark.realdata
def test_the_chapters_of_a_real_novel_are_found_in_another_encoding(realdata, tmp_path):
    text = (realdata("zh-novels") / "三国演义.txt").read_bytes().decode("utf-8")
    (tmp_path / "sanguo.txt").write_bytes(text.encode("gb18030"))

    run(tmp_path / "out", "--split-pattern", "^第.{1,9}回", input=tmp_path / "sanguo.txt")

    documents = documents_of(tmp_path / "out")
    assert documents[-1].id == "sanguo.txt#120"
    assert "\n".join(d.text for d in documents) + "\n" == text.replace("\r\n", "\n")
    assert counters_of(tmp_path / "out")["encoding.gb18030"] == 1
