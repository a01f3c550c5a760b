"""MySQL dumps are read as streams, whatever stands in their strings, and damage is named."""

import gzip
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.text.opening import TextError
from corpora.wikipedia import sql_dumps
from corpora.wikipedia.sql_dumps import SqlDumpError, items_of_pages, language_links, wiki_of_dump

HEAD = b"""-- MySQL dump 10.19
/*!40101 SET NAMES utf8mb4 */;
DROP TABLE IF EXISTS `page_props`;
CREATE TABLE `page_props` (
  `pp_page` int(10) unsigned NOT NULL,
  `pp_propname` varbinary(60) NOT NULL DEFAULT '',
  `pp_value` mediumblob NOT NULL,
  `pp_sortkey` float DEFAULT NULL,
  PRIMARY KEY (`pp_page`,`pp_propname`)
) ENGINE=InnoDB DEFAULT CHARSET=binary;

/*!40000 ALTER TABLE `page_props` DISABLE KEYS */;
"""


def dump(path, *statements, head=HEAD, tail=b"/*!40000 ALTER TABLE */;\n"):
    path.write_bytes(gzip.compress(head + b"".join(statements) + tail))
    return path


def insert(*rows):
    return b"INSERT INTO `page_props` VALUES " + b",".join(rows) + b";\n"


def quoted(value):
    for plain, escaped in ((b"\\", b"\\\\"), (b"'", b"\\'"), (b"\n", b"\\n"), (b"\0", b"\\0")):
        value = value.replace(plain, escaped)
    return b"'" + value + b"'"


def test_items_of_pages(tmp_path):
    path = dump(
        tmp_path / "page_props.sql.gz",
        insert(b"(1,'defaultsort','A),(9,\\'wikibase_item\\',\\'Q9\\'',NULL)"),
        insert(b"(2,'wikibase_item','Q64',NULL)", b"(3,'wikibase_item','Q5',-1.5e-7)"),
        insert(b"(4,'wikibase_item','x',NULL)", b"(5,'wikibase_item','Q6;(',NULL)"),
    )

    assert list(items_of_pages(path)) == [(2, 64), (3, 5)]


LANGLINKS = b"""-- Host: db1    Database: dawiki
CREATE TABLE `langlinks` (
  `ll_from` int(10) unsigned NOT NULL,
  `ll_lang` varbinary(35) NOT NULL DEFAULT '',
  `ll_title` varbinary(255) NOT NULL DEFAULT '',
  PRIMARY KEY (`ll_from`,`ll_lang`)
);
INSERT INTO `langlinks` VALUES """


def test_links_to_some_languages(tmp_path):
    rows = "(1,'de','K\\'ln (7,\\'en\\''),(1,'en','Köln'),(2,'be-tarask','A')"
    path = tmp_path / "dawiki-langlinks.sql.gz"
    path.write_bytes(gzip.compress(LANGLINKS + f"{rows};\n".encode()))

    links = list(language_links(path, ["be-tarask", "de"]))

    assert links == [(1, "de", "K'ln (7,'en'"), (2, "be-tarask", "A")]
    assert wiki_of_dump(path) == "dawiki"


WORDS = [
    b"(12",
    b",",
    b"'",
    b"\\",
    b"wikibase_item",
    b"Q5",
    b"),",
    b"\n",
    b"\0",
    b"x",
    b"1",
    b"(",
    b";",
]
VALUES = st.lists(st.sampled_from(WORDS), max_size=12).map(b"".join)
ROWS = st.lists(
    st.tuples(st.integers(0, 10**9), st.just(b"wikibase_item") | VALUES, st.just(b"Q64") | VALUES),
    max_size=12,
)


@settings(max_examples=100)
@given(ROWS, st.integers(1, 90))
def test_items_are_found_whatever_other_values_are_and_wherever_chunks_end(
    tmp_path_factory, rows, size
):
    path = tmp_path_factory.mktemp("sql") / "t.sql"
    written = [b"(%d,%b,%b,NULL)" % (page, quoted(a), quoted(b)) for page, a, b in rows]
    path.write_bytes(HEAD + (insert(*written) if rows else b""))
    data = path.read_bytes()

    with pytest.MonkeyPatch.context() as patch:
        chunks = [data[start : start + size] for start in range(0, len(data), size)]
        patch.setattr(sql_dumps, "read_chunks", lambda *_, **__: iter(chunks))
        found = list(items_of_pages(path))

    is_item = re.compile(rb"Q(\d{1,12})").fullmatch
    assert found == [
        (page, int(item[1]))
        for page, a, b in rows
        if a == b"wikibase_item" and (item := is_item(b))
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + b"INSERT INTO `page_props` VALUES (1,'a", "ends in a statement"),
        (HEAD + b"INSERT INTO `page_props` VALUES (1,'wikibase_item','Q1'", "ends in a statement"),
        (HEAD.replace(b"pp_page", b"pp_other"), "no CREATE TABLE"),
        (b"SELECT 1;", "no CREATE TABLE"),
        (b"", "no CREATE TABLE"),
    ],
)
def test_damage_is_named(tmp_path, text, message):
    path = tmp_path / "p.sql"
    path.write_bytes(text)

    with pytest.raises(SqlDumpError, match=message):
        list(items_of_pages(path))


def test_a_damaged_archive_is_refused(tmp_path):
    path = dump(tmp_path / "p.sql.gz", insert(b"(1,'wikibase_item','Q1',NULL)"))
    path.write_bytes(path.read_bytes()[:-30])

    with pytest.raises(TextError, match="ends here"):
        list(items_of_pages(path))


def test_a_file_without_the_table_is_not_read_to_its_end(tmp_path, monkeypatch):
    read = []

    def chunks(*_, **__):
        for number in range(100):
            read.append(number)
            yield b"x" * (1 << 18)

    monkeypatch.setattr(sql_dumps, "read_chunks", chunks)

    with pytest.raises(SqlDumpError):
        list(items_of_pages(tmp_path / "t.sql"))
    assert len(read) < 9
