"""WikiExtractor's articles: each is read, or said to be broken."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.document import Rejected
from corpora.text.records import RecordSource
from corpora.text.wikiextractor_output import read_docs

PLACE = RecordSource("wiki_00", line=100)


def read(text, *, place=PLACE, metadata=()):
    counters = Counter()
    return list(read_docs(text.split("\n"), place, metadata=metadata, counters=counters)), counters


def article(id, text, title="T"):
    return f'<doc id="{id}" url="u" title="{title}">\n{text}\n</doc>\n'


def test_attributes_become_columns_and_metadata():
    tag = '<doc id="7" revid="9" url="https://x/?a=1&b=2" title="A &amp; B" ns="0" x="y">'

    [record], _ = read(f"{tag}\ntext\n</doc>", metadata=["ns"])

    assert (record.id, record.title, record.written_title) == ("7", "A & B", "A &amp; B")
    assert record.columns == {"url": "https://x/?a=1&b=2", "revision": "9"}
    assert record.metadata == {"ns": "0"}


@pytest.mark.parametrize("title", ['Der "große" Damm', '"', 'a" b', "a > b", "", 'x=""'])
def test_titles_may_hold_quotes_that_are_not_escaped(title):
    [record], _ = read(article(1, "text", title))

    assert record.title == title


@given(st.lists(st.lists(st.sampled_from(["", " ", "a", "<doc>", "</doc >", " </doc>x"]))))
def test_the_text_of_an_article_is_all_that_is_between_its_tags(articles):
    written = "\n".join(article(n, "\n".join(lines)) for n, lines in enumerate(articles))

    found, counters = read(written)

    assert [r.text for r in found] == ["\n".join(lines) for lines in articles]
    assert counters["lines.blank"] == (len(articles) or 1)


def test_articles_without_an_end_are_rejected_and_their_neighbours_are_not():
    whole = article(1, "a") + '<doc id="2" url="u" title="T">\ncut\n' + article(3, "c")

    found, _ = read(whole)

    assert [r.id for r in found if not isinstance(r, Rejected)] == ["1", "3"]
    [rejected] = [r for r in found if isinstance(r, Rejected)]
    assert (rejected.reason, rejected.position) == ("unclosed_doc", "line 103")
    assert rejected.message.startswith("wiki_00:103: ")


def test_the_last_article_may_lack_its_end_too():
    [rejected], _ = read('<doc id="2" url="u" title="T">\ncut')

    assert rejected.reason == "unclosed_doc"


def test_text_outside_is_rejected_once_for_all_its_lines():
    found, _ = read(article(1, "a") + "lost\n\nlost too\n" + article(2, "b") + "</doc>")

    assert [getattr(r, "reason", "") for r in found] == ["", "outside_doc", "", "outside_doc"]
    assert found[1].position == "line 103"
    assert found[1].excerpt == "lost\nlost too"


def test_an_article_that_is_too_long_is_rejected():
    found, _ = read(
        article(1, "abcdef") + article(2, "abc"), place=RecordSource("f", max_characters=5)
    )

    assert [getattr(r, "reason", "") for r in found] == ["too_large", ""]


def test_an_empty_id_is_rejected():
    [rejected], _ = read(article("", "a"))

    assert rejected.reason == "missing_field"
