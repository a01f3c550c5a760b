"""From a file to rows: the text comes back, and what is known of it stands beside it."""

import re
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from corpora.text.documents import DocumentMaker
from corpora.text.reader import TextSettings, read_records
from corpora.text.records import TextRecord


def rows(records, **options):
    maker = DocumentMaker(**options)
    reasons = [maker.add(record, source="f", group="g") for record in records]
    return maker.documents.batch().to_pylist(), reasons, maker.counters


@given(
    text=st.text(st.characters(codec="utf-8")).filter(lambda text: text[:1] != "\ufeff"),
    encoding=st.sampled_from(["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "gb18030"]),
)
def test_any_text_comes_back_but_for_what_is_counted(text, encoding, tmp_path_factory):
    path = tmp_path_factory.getbasetemp() / "any"
    path.write_bytes(text.encode(encoding))
    known = TextSettings(format="plain", encoding=encoding)

    found, reasons, _ = rows(read_records(path, known, name="f", part=None, counters=Counter()))

    expected = re.sub(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", " ", re.sub(r"\r\n?", "\n", text))
    assert [row["text"] for row in found] == ([expected] if expected.strip() else [])
    assert reasons == ([""] if expected.strip() else ["empty"])


def test_values_are_cleaned_and_their_white_space_too():
    record = TextRecord(
        "a\ud800", "1\0\n 2", has_own_id=True, title=" T\r\n\tt ", columns={"url": " "}
    )

    [row], _, counters = rows([record], lang="de", license="CC0-1.0")

    assert (row["id"], row["title"], row["url"]) == ("g:1 2", "T t", None)
    assert (row["text"], row["lang"], row["license"]) == ("a\ufffd", "de", "CC0-1.0")
    assert counters["characters.surrogate"] == 1


def test_what_a_record_says_of_itself_goes_before_what_is_said_of_all():
    columns = {"lang": "da", "license": "MIT", "group": "own"}

    [row], _, _ = rows([TextRecord("a", "1", has_own_id=True, columns=columns)], lang="de")

    assert (row["id"], row["group"], row["lang"], row["license"]) == ("own:1", "own", "da", "MIT")


def test_a_title_is_a_heading_only_where_the_text_begins_with_it():
    both = [
        TextRecord("\n T &lt;\nx", "1", title="T <", written_title="T &lt;"),
        TextRecord("x", "2", title="T"),
    ]

    found, _, _ = rows(both)

    assert [[p["kind"] for p in row["paragraphs"]] for row in found] == [["head", "p"], ["p"]]
    assert found[0]["paragraphs"][0] == {"start": 2, "end": 8, "kind": "head", "level": None}


def test_only_plain_text_is_looked_at_for_hard_wraps():
    text = "\n".join(["zwei Wörter und noch mehr davon"] * 5)

    found, _, _ = rows([TextRecord(text, "1"), TextRecord(text, "2", is_plain=True)])

    assert [len(row["paragraphs"]) for row in found] == [5, 1]
    found, _, _ = rows([TextRecord(text, "2", is_plain=True)], paragraphs="line")
    assert len(found[0]["paragraphs"]) == 5


@given(st.text("天地；！．…\u3000\n ;A１\u00a0ｶﾞ”。", max_size=40))
def test_sentences_are_those_of_the_text_before_it_was_normalized(text):
    """``；`` ends a sentence in Chinese; what NFKC makes of it, ``;``, does not."""
    text = f"天地；玄黄！{text}"

    [[plain], [wide], [nfkc]] = (
        rows([TextRecord(text, "1", is_plain=True)], lang="zh", normalization=how)[0]
        for how in ("none", "width", "nfkc")
    )

    assert nfkc["text"][:6] == "天地;玄黄!"
    assert plain["sentences"][0]["end"] == 3
    for row in (wide, nfkc):
        assert row["sentences"] == plain["sentences"]
        assert row["paragraphs"] == plain["paragraphs"]
