"""No input keeps a reader busy for the square of its size: four times as much, four times as long.

A case is what a hostile file repeats: ``n`` times between its beginning and its end, or as a
function makes it. ``READERS`` says what reads it.
"""

import bz2
import gzip
import json
import lzma
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest

from corpora.crawl.listings import read_links, read_listing
from corpora.crawl.reservations import parse_tdmrep
from corpora.crawl.robots import parse_robots
from corpora.crawl.sites import read_sites
from corpora.document import Mention
from corpora.errors import CorpusError
from corpora.ner.detection import Overrides
from corpora.ner.files import FilePart, describe, read_file
from corpora.news.blocks import read_page, with_places
from corpora.news.boxes import keys_in_boxes, leads_in_boxes
from corpora.news.decoding import decode
from corpora.news.extraction import parse
from corpora.news.page_metadata import read_metadata
from corpora.news.tidying import tidy
from corpora.news.url_table import read_url_table
from corpora.tei.edition import Edition, edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.reader import read_tei
from corpora.tei.review import ReviewedLine, located
from corpora.tei.undo import undo
from corpora.tei.writer import TeiFile, WriteOptions
from corpora.text.documents import DocumentMaker
from corpora.text.reader import TextSettings, read_records
from corpora.text.records import TextRecord
from corpora.warc.archives import ranges_of, read_archive
from corpora.warc.http import Answer, parse_answer, unpack_body
from corpora.wikipedia.bzip2 import Bzip2File
from tests.processes import seconds_of

MEASURED_S = 0.004
"""Seconds that the smaller of two inputs takes at least: shorter ones cannot be measured."""
MAX_BYTES = 1 << 18
URL = "https://a.example/"


def consume(items: Iterable[object]) -> None:
    for _ in items:
        pass


@cache
def edition() -> Edition:
    return load_edition(edition_path("tei"))


def tei(path: Path) -> None:
    read_tei(path.read_bytes(), edition(), name="a.xml")


def model_undone(path: Path) -> None:
    undo(path.read_bytes(), name="a.xml")


def names_written(path: Path) -> None:
    """Write a name wherever ``Ulm`` is, also beside the text."""
    file = TeiFile.read(path.read_bytes(), edition(), name="a.xml")
    mentions = {
        document.id: [
            Mention(found.start(), found.end(), label="place")
            for found in re.finditer(r"U\s*lm", document.text)
        ]
        for document in file.documents
    }
    model = Model(id="onoma-a", name="a", version="1", sha256="aa")
    file.write(mentions, model=model, options=WriteOptions(crossing="standOff"))


def candidate_found(path: Path) -> None:
    """Find a name that a list gives without a place, by what stands around it."""
    candidate = ReviewedLine(
        file="a.xml",
        document="",
        name="a",
        before="b a b",
        after="b c",
        label="person",
        entity=None,
        score=None,
        is_accepted=True,
        place=None,
        suggested=None,
        where="line 2",
    )
    located(candidate, {"a": path.read_text("utf-8")})


def archive(path: Path) -> None:
    consume(ranges_of(path, range_bytes=1 << 20))
    consume(read_archive(path, max_block=10 << 20))


def bzip2(path: Path) -> None:
    file = Bzip2File(path)
    consume(file.chunks(0, file.size))
    consume(file.ending())


def listing(path: Path) -> None:
    read_listing(path.read_bytes(), url=URL)


def links(path: Path) -> None:
    read_links(path.read_bytes(), url=URL, content_type=None)


def robots(path: Path) -> None:
    rules = parse_robots(path.read_bytes(), source="200")
    page = "/" + "a" * 1000
    rules.allows(URL + page)
    rules.decide(URL + page, page)
    _ = rules.delay, rules.sitemaps


def tdmrep(path: Path) -> None:
    parse_tdmrep(path.read_bytes()).decide("/" + "a" * 1000)


def answer(path: Path) -> None:
    found = parse_answer(b"HTTP/1.1 200 OK\r\n" + path.read_bytes())
    assert found
    _ = found.is_page
    unpack_body(found, max_bytes=10 << 20)


def begun_page(path: Path) -> None:
    """Ask for each 2,048 bytes of a file whether a page begins with them."""
    data = path.read_bytes()
    for start in range(0, len(data), 2048):
        _ = Answer(200, (), data[start : start + 2048]).is_page


def page(path: Path) -> None:
    """Read a page as the news do, without the extractor."""
    tree = parse(decode(path.read_bytes(), content_type=None, name="a").text)
    metadata = read_metadata(tree, URL)
    blocks, boxes = read_page(tree)
    tidy(blocks, titles=metadata.titles, authors=metadata.authors, counters=Counter())
    keys_in_boxes(blocks, boxes, found=blocks)
    leads_in_boxes(blocks, boxes, found=blocks[-1:], metadata=metadata)
    with_places(blocks, blocks)


def urls(path: Path) -> None:
    read_url_table(path, ["a"])


def ner(path: Path) -> None:
    layout = describe(path, name="a", overrides=Overrides())
    consume(read_file(path, layout, name="a", part=FilePart()))


def documents(path: Path, settings: TextSettings) -> None:
    maker = DocumentMaker(lang="de", normalization="nfkc")
    for record in read_records(path, settings, name="a", part=None, counters=Counter()):
        if isinstance(record, TextRecord):
            maker.add(record, source="a", group="g")


def text(path: Path) -> None:
    documents(path, TextSettings())


def paragraphs(path: Path) -> None:
    documents(path, TextSettings(split_blank=2))


def chapters(path: Path) -> None:
    documents(path, TextSettings(split_pattern=r"^(Chapter|\s*\d+)\s+\w+\s*$"))


READERS: dict[str, Callable[[Path], object]] = {
    "tei": tei,
    "model undone": model_undone,
    "names written": names_written,
    "candidate found": candidate_found,
    "edition": load_edition,
    "sites": read_sites,
    "archive": archive,
    "bzip2": bzip2,
    "listing": listing,
    "links": links,
    "robots": robots,
    "tdmrep": tdmrep,
    "answer": answer,
    "begun page": begun_page,
    "page": page,
    "urls": urls,
    "ner": ner,
    "text": text,
    "paragraphs": paragraphs,
    "chapters": chapters,
}

WARC = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: %d\r\n\r\n"
ARC = b"http://a 1.1.1.1 20261101120000 text/html %d\n"
MARK, END = bytes.fromhex("314159265359"), bytes.fromhex("177245385090")  # of blocks of bzip2
TINY = bz2.compress(b"a")
DTD = b"<!DOCTYPE TEI SYSTEM 'tei.dtd' [<!-- "
P = (b"<TEI><text><body><p>", b"</p></body></text></TEI>")
OURS = b" resp='#onoma-a'"
STAND_OFF = (b"<standOff%b><spanGrp%b>" % (OURS, OURS), b"</spanGrp></standOff>")
HTML = (b"<html><head><title>A</title></head><body>", b"")
RSS = (b"<rss><channel>", b"</channel></rss>")
LABELS = (b"[labels]\na = ['", b"b']")
LD = b"<script type='application/ld+json'>"
CONLL = b"Anna B-PER\nliest O\n\n" * 3
XML = b"<doc>a <NE>a</NE> b "
WEBANNO = (
    b"#FORMAT=WebAnno TSV 3.3\n#T_SP=webanno.custom.NamedEntity|identifier|value\n\n\n"
    b"#Text=a b\n1-1\t0-1\ta\t_\tPER\t\n"
)
CONLL2012 = b"#begin document (a); part 000\na 0 0 a NN * - - - - (PERSON) -\na 0 1 a NN * - - - - "
JSON = (b'[[["a", "O"]],[["', b'", "O"]]]')
STRING = (b'{"text": "a"}\n{"text": "', b'"}\n')
# For each reader: what a file begins with, what is repeated, what it ends with.
REPEATED: dict[str, dict[str, tuple[bytes, bytes, bytes]]] = {
    "tei": {
        "entities in a comment": (DTD + b"<a ", b"&a;", b"<--> ]><TEI/>"),
        "tags in a comment": (DTD, b"<a &", b"--> ]><TEI/>"),
        "name of a tag in a comment": (DTD + b"<", b"a", b"--> ]><TEI/>"),
        "entities": (b"<!DOCTYPE TEI [<!ENTITY a 'b'>]>" + P[0], b"&a;", P[1]),
        "names": (P[0], b"<persName>Ulm</persName> ", P[1]),
        "names in a name": (P[0] + b"<rs>", b"<rs>a</rs> ", b"</rs>" + P[1]),
        "deep names": (P[0], b"<rs>" * 100 + b"a" + b"</rs>" * 100, P[1]),
        "notes": (P[0], b"<note>n</note>", P[1]),
        "notes in notes": (P[0], b"<note>a<note>b</note></note>", P[1]),
        "names in notes in names": (P[0], b"<rs>a<note><rs>b</rs></note></rs>", P[1]),
        "choices": (P[0], b"<choice><sic>a</sic><corr>b</corr></choice>", P[1]),
        "one choice": (P[0] + b"<choice>", b"<sic>a</sic>", b"</choice>" + P[1]),
        "line breaks": (P[0], b"a-<lb/>", P[1]),
        "white space": (P[0], b" \n", P[1]),
        "abbreviations": (P[0], b"z.B. ", P[1]),
        "marked abbreviations": (P[0], b"<abbr>z.</abbr> B ", P[1]),
        "deletions": (P[0], b"a<delSpan spanTo='#z'/>", b"<anchor xml:id='z'/>" + P[1]),
        "full stops": (P[0], b".", P[1]),
        "comments": (P[0], b"<!-- a -->", P[1]),
        "quotes in default values": (
            b"<!DOCTYPE TEI [<!ATTLIST a b CDATA '",
            b"'<!ATTLIST \"",
            b"]><TEI/>",
        ),
        "texts": (b"<teiCorpus>", P[0] + b"a" + P[1], b"</teiCorpus>"),
    },
    "model undone": {
        "names": (P[0], b'<persName resp="#onoma-a">a</persName>', P[1]),
        "names beside the text": (
            b"<TEI><text><p>a</p></text>" + STAND_OFF[0],
            b"<span%b><persName>a</persName></span> " % OURS,
            STAND_OFF[1] + b"</TEI>",
        ),
        "listed names beside the text": (
            b"<TEI><teiHeader><respStmt xml:id='onoma-a'><?onoma 123456?></respStmt></teiHeader>"
            b"<text><p>a</p></text>" + STAND_OFF[0],
            b"<span%b><persName>a</persName></span> " % OURS,
            STAND_OFF[1] + b"</TEI>",
        ),
        "groups in which something stays": (
            b"<TEI><text><p>a</p></text>",
            STAND_OFF[0] + b"<span resp='#me'/>" + STAND_OFF[1],
            b"</TEI>",
        ),
        "changes": (b"<TEI><teiHeader>", b"<change%b/> " % OURS, b"</teiHeader></TEI>"),
        "blanks": (b"<TEI><teiHeader>", b"<title%b>a</title> " % OURS, b"</teiHeader></TEI>"),
        "lists": (
            b"<TEI><teiHeader>",
            b"<respStmt xml:id='onoma-a'><?onoma 123456?></respStmt>",
            b"</teiHeader>" + P[0] + b"<p resp='#onoma-a'/>" + P[1] + b"</TEI>",
        ),
    },
    "names written": {
        "names": (P[0], b"Ulm ", P[1]),
        "names beside the text": (P[0], b"<hi>U</hi>lm ", P[1]),
        "names beside the text, in paragraphs": (P[0], b"<p><hi>U</hi>lm</p> ", P[1]),
        "texts": (b"<teiCorpus>", P[0] + b"<hi>U</hi>lm" + P[1], b"</teiCorpus>"),
    },
    "candidate found": {
        "in words": (b"b", b"a b ", b""),
        "in white space": (b"b", b"a" + b" " * 50, b""),
    },
    "edition": {
        "dots in a key": (b"", b"a.", b"a = 1"),
        "dots in a header": (b"[", b"a.", b"a]"),
        "arrays": (b"a = ", b"[", b""),
        "tables": (b"a = ", b"{a=", b""),
        "digits": (b"a = ", b"1", b""),
        "quotes": (b"a = ", b"'", b""),
        "ancestors": (LABELS[0], b"a//", LABELS[1]),
        "conditions": (LABELS[0] + b"a", b"[@a]", b"']"),
        "values": (b"[labels]\na = [\"a[@a='1'", b" | '1'", b'|]"]'),
    },
    "sites": {
        "dots in a key": (b"", b"a.", b"a = 1"),
        "digits": (b"a = ", b"1", b""),
        "arrays": (b"a = ", b"[", b""),
    },
    "archive": {
        "huge lengths": (b"", WARC % 10**12, b""),
        "lengths of some bytes": (b"", WARC % 30_000, b""),
        "short lengths": (b"", WARC % 1, b""),
        "no end of the header": (b"", b"WARC/1.0\r\n", b""),
        "headers": (b"", b"WARC/1.0\r\na: b\r\n", b""),
        "huge lengths of ARC": (b"", ARC % 10**12, b""),
        "lengths of some bytes of ARC": (b"", ARC % 30_000, b""),
        "ARC in headers": (b"", b"WARC/1.0\r\n" + ARC % 1, b""),
        "begun ARC": (b"WARC/1.0\r\n", b"\nhttp://a 1.1.1.1 ", b""),
        "dates of ARC": (b"http://a ", b"11111111 ", b"\n"),
        "gzip": (b"", b"\x1f\x8b\x08", b""),
        "empty members": (b"", gzip.compress(b""), b""),
        "cut members": (b"", gzip.compress(WARC % 0)[:-9], b""),
        "huge lengths in members": (b"", gzip.compress(WARC % 10**12), b""),
        "members without a record": (b"", gzip.compress(b"a"), b""),
    },
    "bzip2": {
        "false marks": (b"", MARK, b""),
        "false marks in a stream": (TINY[:-10], MARK, TINY),
        "false marks with room": (b"", MARK + bytes(60), b""),
        "false ends": (b"", END, b""),
        "marks and ends": (b"", MARK + END, b""),
        "tiny streams": (b"", TINY, b""),
        "tiny blocks": (b"", TINY[4:27], b""),
        "cut streams": (b"", TINY[:30], b""),
        "wrong sums": (b"", TINY[:12] + b"x" + TINY[13:], b""),
        "empty streams": (b"", bz2.compress(b""), b""),
    },
    "listing": {
        "items": (RSS[0], b"<item><link>/1</link></item>", RSS[1]),
        "open items": (RSS[0], b"<item>", b""),
        "elements": (RSS[0], b"<a/>", RSS[1]),
        "links of an item": (RSS[0] + b"<item>", b"<link>/1</link>", b"</item>"),
        "ampersands": (RSS[0], b"&", RSS[1]),
        "open texts": (RSS[0], b"<![CDATA[", b""),
        "brackets in a date": (RSS[0] + b"<item><link>/1</link><pubDate>", b"(", b""),
        "steps up": (RSS[0] + b"<item><link>", b"../", b"</link></item>"),
        "lines": (b"", b"https://a.example/1\n", b""),
    },
    "links": {
        "links": (HTML[0], b"<a href=/1>", b""),
        "headings": (HTML[0], b"<h1>", b""),
        "links in headings": (HTML[0], b"<h1><a href=1>", b""),
        "metas": (b"", b"<meta name=robots content=a>", b""),
        "open metas": (b"", b"<meta charset", b""),
        "tables": (HTML[0], b"<table>", b""),
    },
    "robots": {
        "groups": (b"", b"User-agent: a\nDisallow: /\n", b""),
        "agents": (b"", b"User-agent: GPTBot\n", b"Disallow: /"),
        "rules": (b"User-agent: *\n", b"Disallow: /a\n", b""),
        "stars": (b"User-agent: *\nDisallow: /", b"a*", b"b$"),
        "stars of a usage": (b"User-agent: *\nContent-Usage: /", b"a*", b"b$ train-ai=n"),
        "name of an agent": (b"User-agent:", b"a", b""),
        "colons": (b"", b":", b""),
        "spaces": (b"", b" ", b""),
    },
    "tdmrep": {"arrays": (b"", b"[", b""), "stars": (b'[{"location": "/', b"a*", b'b"}]')},
    "answer": {
        "headers": (b"", b"a: b\r\n", b"\r\n"),
        "chunks": (b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\na\r\n", b"0\r\n"),
        "codings": (b"Content-Encoding: ", b",", b"\r\n\r\n"),
    },
    "begun page": {
        "line ends": (b"", b"\n", b""),
        "spaces": (b"", b" ", b""),
        "comments": (b"", b"<!--", b""),
        "spaces in comments": (b"<!--", b"--> ", b""),
    },
    "page": {
        "paragraphs": (HTML[0], b"<p>A paragraph that has as many letters as a quote.", b""),
        "links": (HTML[0] + b"<p>", b"<a href=1>a</a> b ", b""),
        "open links": (HTML[0] + b"<i><a href=1>" * 100, b"<p>a", b""),
        "headings": (HTML[0], b"<h1>a</h1>", b""),
        "boxes": (HTML[0], b"<div>", b""),
        "lists": (LD, b"[", b""),
        "list of lists": (LD + b'{"@type": "Article", "headline": ' + b"[" * 900, b"[],", b""),
        "numbers": (LD, b"1", b""),
        "controls": (HTML[0], b"&#0;", b""),
        "not UTF-8": (HTML[0], b"\xe4\xe0", b""),
    },
    "urls": {
        "columns": (b"file\turl", b"\ta", b"\na\tb\n"),
        "lines": (b"file\turl\na\tb\n", b"\n", b""),
        "digits of a date": (b"file\turl\tdate\na\tb\t", b"1", b"\n"),
    },
    "ner": {
        "tokens": (CONLL, b"a O\n", b""),
        "sentences": (CONLL, b"a O\n\n", b""),
        "bad lines": (CONLL, b"a\n", b""),
        "bad bytes": (CONLL, b"\xff O\n", b""),
        "blank lines": (CONLL, b" \n", b""),
        "blanks": (CONLL + b"a", b" ", b"O\n"),
        "comments": (CONLL, b"# a\n", b""),
        "name of a document": (b"# a\n1\ta\tO\tO\n# newdoc id = ", b" a", b"\n"),
        "documents": (CONLL, b"-DOCSTART- O\n\n", b""),
        "language": (b"de:a O\nde", b"-a", b" O\n"),
        "sentences of JSON": (b"[", b'[["a", "O"]],', b'[["a", "O"]]]'),
        "arrays of JSON": (b'[[["a", "O"]],', b"[", b""),
        "one token of JSON": (JSON[0], b"a", JSON[1]),
        "text without blanks": (b'{"text": "', b"<!--", b'", "entities": [[0, 4, "X"]]}'),
        "marks of JSON": (b'{"text": "', b". ", b'", "entities": [[0, 1, "X"]]}'),
        "names of XML": (XML, b"<NE>a</NE> b ", b"</doc>"),
        "open names of XML": (XML * 100, b"b <NE>", b"</doc>"),
        "comments of XML": (XML, b"<!--", b"</doc>"),
        "text of XML": (XML, b"<", b"</doc>"),
        "blanks of XML": (XML + b"<NE", b" ", b"</doc>"),
        "attributes of XML": (XML + b"<NE", b" a='b'", b"</doc>"),
        "quotes of XML": (XML, b"<NE a='\"", b"</doc>"),
        "ENAMEX": (b"", b"a <ENAMEX TYPE='P'>b</ENAMEX> c\n", b""),
        "rows of CSV": (b"word,tag\na,B-P\n", b"a,O\n", b""),
        "quotes of CSV": (b"word,tag\na,B-P\n", b'"a', b""),
        "cells of CSV": (b"word,tag\na,B-P\n", b",", b""),
        "list of CSV": (b"text,tags\na b,B-P O\n[", b"[", b",O\n"),
        "rows of WebAnno": (WEBANNO, b"1-2\t2-3\tb\t_\t_\t\n", b""),
        "text of WebAnno": (WEBANNO + b"#Text=", b"a ", b"\n"),
        "PubTator": (b"1|t|a\n1|a|b\n", b"1\t0\t1\ta\tX\tY\n", b"\n"),
        "brackets of CoNLL-2012": (CONLL2012, b"(X", b"\n"),
        "bars": (b"a|N|I-PER ", b"b|N|O ", b"\n"),
    },
    "text": {
        "lines of JSON": (b"", b'{"text": "a"}\n', b""),
        "arrays of JSON": (b'{"text": "a"}\n{"a": ', b"[", b"\n"),
        "fields of one name": (b'{"text": "a"}\n{"text": "a"', b', "a": 1', b"}\n"),
        "digits": (b'{"text": "a"}\n{"text": ', b"1", b"}\n"),
        "escapes": (STRING[0], b"\\ufffd", STRING[1]),
        "sentences": (b"", b"a. ", b""),
        "full stops": (b"", b".", b""),
        "dates": (b"", b"12. Mai ", b""),
        "hyphens": (b"", b"a-\n", b""),
        "quotes": (b"", b"'", b""),
        "addresses": (b"", b"a@b.c", b""),
        "Chinese": (b"", "中。」".encode(), b""),
        "white space": (b"a", b" \n", b"a"),
        "articles": (b"", b'<doc id="1" title="a">\na\n</doc>\n', b""),
        "open articles": (b"", b'<doc id="1" title="a">\n', b""),
        "attributes": (b'<doc id="1" title="a">\na\n</doc>\n<doc id="1"', b' a="b', b'">\n'),
        "empty streams of gzip": (b"", gzip.compress(b""), b""),
        "empty streams of bzip2": (b"", bz2.compress(b""), b""),
        "empty streams of xz": (b"", lzma.compress(b""), b""),
    },
    "paragraphs": {"blank lines": (b"a", b"\n", b"a"), "lines": (b"", b"a\n \n\n", b"")},
    "chapters": {
        "chapters": (b"", b"Chapter a\nb\n", b""),
        "digits of a title": (b"Chapter a\n", b"1", b""),
        "spaces of a title": (b"Chapter a", b" ", b"."),
        "letters of a title": (b"Chapter ", b"a", b"."),
    },
}


def numbered(n: int, piece: bytes, *, start: bytes = b"", end: bytes = b"") -> bytes:
    return start + b"".join(piece % number for number in range(n)) + end


def nested_members(n: int) -> bytes:
    """Return gzip members each of which holds, as they are, the bytes of all after it."""
    head = zlib.compress(b"", 0, 31)[:10] + b"\0\xff\xff\0\0" + WARC % 10**12
    data = bytearray(head * n) + bytes(65_540)
    for start in range(0, len(head) * n, len(head)):
        for block in range(start + 15 + 65_535, len(data) - 5, 65_540):
            data[block : block + 5] = b"\0\xff\xff\0\0"
    return bytes(data)


def described(n: int) -> bytes:
    meta = b"<meta name=description content='%d is a description, as long as it has to be'>"
    return numbered(n, meta) + numbered(n, b"<p>%d is a paragraph, as long as it has to be")


MADE: dict[str, dict[str, Callable[[int], bytes]]] = {
    "tei": {
        "default attributes": lambda n: (
            numbered(n, b" a%d CDATA ''", start=b"<!DOCTYPE TEI [<!ATTLIST lb", end=b">]>" + P[0])
            + b"<lb/>" * n
            + P[1]
        ),
        "languages": lambda n: numbered(
            n, b"<hi xml:lang='q%d'>A a.</hi> <hi xml:lang='de'>A.</hi> ", start=P[0], end=P[1]
        ),
        "declarations": lambda n: numbered(
            n,
            b"<!ENTITY a%d '&b;<a>'><!ENTITY b '<!ENTITY b \"'>",
            start=b"<!DOCTYPE TEI [",
            end=b"]><TEI/>",
        ),
        "one entity declared again": lambda n: numbered(
            n,
            b"&b%d;",
            start=b"<!DOCTYPE TEI [<!ENTITY a '",
            end=b"'>" + b"<!ENTITY a ''>" * n + b"]><TEI/>",
        ),
        "namespace": lambda n: b"<TEI><text xmlns='" + b"a" * (9 * n) + b"'>" + b"<b/>" * n,
        "namespace of attributes": lambda n: (
            b"<TEI><text xmlns:p='" + b"a" * (9 * n) + b"'>" + b"<b p:c=''/>" * n
        ),
        "chain of names": lambda n: (
            P[0]
            + b"".join(b"<rs xml:id='a%d' next='#a%d'>a</rs> " % (i, i + 1) for i in range(n))
            + P[1]
        ),
        "ids of texts": lambda n: numbered(
            n, b"<TEI xml:id='a%d'><text>a</text></TEI>", start=b"<teiCorpus>", end=b"</teiCorpus>"
        ),
    },
    "model undone": {
        "chain of names of which the last is not there": lambda n: (
            P[0]
            + b"".join(
                b'<persName resp="#onoma-a" xml:id="onoma-a.%d" next="#onoma-a.%d">a</persName>'
                % (i, i + 1)
                for i in range(n)
            )
            + P[1]
        ),
        "chain of names of which the first is not there": lambda n: (
            P[0]
            + b"".join(
                b'<persName resp="#onoma-a" xml:id="onoma-a.%d" prev="#onoma-a.%d">a</persName>'
                % (i, i - 1)
                for i in range(n)
            )
            + P[1]
        ),
        "models": lambda n: numbered(
            n,
            b"<respStmt xml:id='onoma-a%d'><?onoma 123456?></respStmt>",
            start=b"<TEI><teiHeader>",
            end=b"</teiHeader></TEI>",
        ),
    },
    "edition": {"keys": lambda n: numbered(n, b"a%d = ['b']\n", start=b"[labels]\n")},
    "archive": {
        "members in members": nested_members,
        "bytes packed one by one": lambda n: b"".join(
            gzip.compress(bytes([byte]), 0) for byte in b"WARC/1.0\r\n" * n
        ),
        "huge lengths, packed as they are": lambda n: gzip.compress(WARC % 10**12 * n, 0),
    },
    "listing": {"namespace": lambda n: b"<rss xmlns='" + b"a" * (9 * n) + b"'>" + b"<item/>" * n},
    "tdmrep": {
        "rules": lambda n: json.dumps([{"location": "/a*b", "tdm-reservation": 1}] * n).encode()
    },
    "page": {
        "descriptions": described,
        "authors": lambda n: (
            numbered(n, b"<meta name=author content='author %d'>") + b"<p>" + b"author " * n
        ),
        "JSON-LD": lambda n: LD + b"[" + b",".join([b'{"@type": "A"}'] * n) + b"]</script>",
    },
    "ner": {
        "spans of CLUENER": lambda n: json.dumps(
            {"text": "ab" * n, "label": {"x": {"a": [[2 * i, 2 * i] for i in range(n)]}}}
        ).encode(),
        "names of a text": lambda n: json.dumps(
            {"text": "ab " * n, "entities": [[3 * i, 3 * i + 2, "X"] for i in range(n)]}
        ).encode(),
        "names in names": lambda n: json.dumps(
            {"text": "a " * n, "entities": [[i, 2 * n - i, "X"] for i in range(n)]}
        ).encode(),
    },
    "urls": {"rows": lambda n: numbered(n, b"a%d\tb\n", start=b"file\turl\na\tb\n")},
}


def repeated(start: bytes, piece: bytes, end: bytes) -> Callable[[int], bytes]:
    return lambda n: start + piece * n + end


CASES: dict[str, tuple[str, Callable[[int], bytes]]] = {
    **{
        f"{reader}: {name}": (reader, repeated(*parts))
        for reader, cases in REPEATED.items()
        for name, parts in cases.items()
    },
    **{
        f"{reader}: {name}": (reader, make)
        for reader, cases in MADE.items()
        for name, make in cases.items()
    },
}

LARGE = {
    "archive: huge lengths": 4_000,
    "bzip2: false marks": 1_000,
    "tei: default attributes": 800,  # below, what they expand to is within its bound
    "tei: entities in a comment": 8_000,
    "model undone: names beside the text": 1_000,
    "model undone: listed names beside the text": 1_000,
    "model undone: groups in which something stays": 500,
    "model undone: changes": 2_000,
    "names written: names beside the text": 300,
    "names written: names beside the text, in paragraphs": 300,
    "text: empty streams of bzip2": 10_000,
    "text: empty streams of gzip": 8_000,
}
"""How often a piece is repeated at least, where only much of it is slow."""


def seconds(read: Callable[[Path], object], path: Path, data: bytes, *, times: int) -> float:
    path.write_bytes(data)

    def read_it() -> None:
        with suppress(CorpusError):
            read(path)

    return seconds_of(read_it, times=times)


@pytest.mark.parametrize("case", CASES)
def test_four_times_the_input_takes_about_four_times_as_long(case, tmp_path):
    reader, make = CASES[case]
    read, path = READERS[reader], tmp_path / "input"
    n = LARGE.get(case, 50)
    while seconds(read, path, make(n), times=1) < MEASURED_S and len(make(8 * n)) <= MAX_BYTES:
        n *= 2

    ratios = (
        seconds(read, path, make(4 * n), times=1)
        / max(seconds(read, path, make(n), times=2), MEASURED_S / 4)
        for _ in range(12)  # a busy machine is slow for a while
    )

    assert any(ratio < 8 for ratio in ratios)  # it would be 16 if each part met each other one
