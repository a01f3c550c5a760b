"""MySQL dumps are read as streams, whatever stands in their strings, and damage is named."""

import gzip
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.text.opening import CHUNK, TextError
from corpora.wikipedia import sql_dumps
from corpora.wikipedia.sql_dumps import SqlDumpError, items_of_pages, read_columns, read_rows

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

    assert read_columns(path, table="page_props")[:2] == ("pp_page", "pp_propname")
    assert list(items_of_pages(path)) == [(2, 64), (3, 5)]


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 10**9), st.binary(max_size=12)), min_size=1, max_size=9))
def test_values_come_back_whatever_they_are(tmp_path_factory, rows):
    path = tmp_path_factory.mktemp("sql") / "t.sql"
    written = (b"(%d,%b,NULL)" % (number, quoted(value)) for number, value in rows)
    path.write_bytes(HEAD + insert(*written))

    found = list(read_rows(path, table="page_props"))

    assert found == [(b"%d" % number, value, None) for number, value in rows]


def test_rows_and_strings_across_chunks(tmp_path):
    long = b"x'(),;" * (CHUNK // 4)
    path = tmp_path / "t.sql"
    path.write_bytes(insert(b"(1," + quoted(long) + b")", b"(2,'a''b')"))

    assert list(read_rows(path, table="page_props")) == [(b"1", long), (b"2", b"a'b")]


@pytest.mark.parametrize(
    ("statements", "message"),
    [
        (b"", "no rows of the table page_props"),
        (b"INSERT INTO `page_props` VALUES (1,'a", "ends in a statement"),
        (b"INSERT INTO `page_props` VALUES (1,'a'), DROP TABLE x; ", "no row"),
        (b"INSERT INTO `other` VALUES (1,'a');\n", "no rows of the table page_props"),
    ],
)
def test_damage_is_named(tmp_path, statements, message):
    path = dump(tmp_path / "p.sql.gz", statements, tail=b"")

    with pytest.raises(SqlDumpError, match=message):
        list(read_rows(path, table="page_props"))


def test_rows_of_other_columns_and_damaged_archives_are_refused(tmp_path):
    path = dump(tmp_path / "p.sql.gz", insert(b"(1,'wikibase_item')"))
    with pytest.raises(SqlDumpError, match="2 values, not 4"):
        list(items_of_pages(path))
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(TextError, match="ends here"):
        list(items_of_pages(path))
    (tmp_path / "x.sql").write_bytes(b"SELECT 1;")
    with pytest.raises(SqlDumpError, match="no CREATE TABLE"):
        list(items_of_pages(tmp_path / "x.sql"))


def test_a_row_without_end_is_refused_before_it_fills_the_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(sql_dumps, "MAX_ROW", 3 * CHUNK)
    start = time.process_time()
    for begin in (b"(1,'", b"(1,(((", b"(" * 100, b"(1,'a\\'),("):
        path = tmp_path / "p.sql"
        path.write_bytes(b"INSERT INTO `page_props` VALUES " + begin + b"a" * (6 * CHUNK))

        with pytest.raises(SqlDumpError):
            list(read_rows(path, table="page_props"))
    assert time.process_time() - start < 30


def test_a_long_row_is_not_read_again_with_each_chunk(monkeypatch):
    reads = []
    read = sql_dumps._Reader._read
    monkeypatch.setattr(sql_dumps._Reader, "_read", lambda own: reads.append(1) or read(own))
    reader, value = sql_dumps._Reader("t.sql", "page_props", b""), b"x" * 64_000
    data = insert(b"(1," + quoted(value) + b")", b"(2,'a')")

    rows = [row for n in range(0, len(data), 100) for row in reader.feed(data[n : n + 100])]

    assert [*rows, *reader.finish()] == [(b"1", value), (b"2", b"a")]
    assert len(reads) < 20
