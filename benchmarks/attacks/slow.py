"""Attacks with slow inputs: twice the input may take no reader much more than twice the time."""

import bz2
import gzip
import random
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from benchmarks.attacks.bounded import Try, attack
from tests.corpora.system.test_slow_inputs import CASES
from tests.corpora.system.test_slow_inputs import READERS as READERS_OF_CASES

SMALLEST, LARGEST = 16 << 10, 2 << 20
"""The bytes of the shortest and of the longest input."""
ENOUGH = 0.6
"""The processor seconds above which two measured times can be compared."""
MOST = 3.2
"""The largest allowed ratio of times for twice the bytes; 2 is linear, 4 quadratic."""
SECONDS = 20
"""The limit of processor seconds for reading all inputs up to ``LARGEST`` bytes one by one."""

Pieces = list[bytes]


def _words(text: str) -> Pieces:
    return [word.encode() for word in text.split(" ")]


PIECES: Mapping[str, Pieces] = {
    "xml": [
        *_words('<!DOCTYPE TEI [ ]> <!-- --> <a &a; & ; <![CDATA[ ]]> <?x ?> <p> </p> <p a0="1" "'),
        *_words("<!ENTITY % > xmlns:a= <persName ref='x'> </persName> &#10; <lb/> - \u00ad \n"),
        b'<a b="',
        b"<p a='1' b='2' ",
        b" x",
    ],
    "warc": [
        b"WARC/1.0\r\n",
        b"WARC/1.0",
        b"Content-Length: 1000000000000\r\n",
        b"Content-Length: 10\r\n\r\n",
        b"WARC-Type: response\r\n",
        b"\r\n\r\n",
        b"\r\n",
        b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 1000000000000\r\n\r\n",
        b"http://a.example/ 192.0.2.1 20261101120000 text/html 100\n",
        b"http://a.example/ 192.0.2.1 20261101120000 text/html 99999999999\n",
        b"\x1f\x8b\x08",
        b"x",
        gzip.compress(b"WARC/1.0\r\n", mtime=0),
        gzip.compress(b"", mtime=0),
    ],
    "bzip2": [
        bytes.fromhex("314159265359"),
        bytes.fromhex("177245385090"),
        b"BZh9",
        b"BZh9" + bytes.fromhex("314159265359"),
        bz2.compress(b""),
        bz2.compress(b"x"),
        bz2.compress(b"<page>"),
        bz2.compress(b"x" * 1000)[:-3],
        b"\0",
        b"1AY&SY",
    ],
    "dump": [
        *_words("<page> </page> <title>x</title> <text> </text> <revision> </revision> <!-- -->"),
        *_words("<id>1</id> <ns>0</ns> <mediawiki> </mediawiki> <siteinfo> </siteinfo> &lt; & ]]>"),
        b'<text bytes="',
        b"<page",
        b"\n",
    ],
    "lists": [
        *_words(
            "<urlset> <url> <loc> https://a.example/ </loc> </url> <lastmod> &a; & &amp; ; <!--"
        ),
        *_words("<sitemap> <item> <link> </item> <entry> <![CDATA[ ]]> <a a0=1 a1=1 <rss> <feed>"),
        *_words("-- --> <title> x . / ? # % : 2026-01-01"),
        b"<url><loc>https://a.example/1</loc></url>",
    ],
    "html": [
        *_words(
            "<p> </p> <a href=x> </a> <div> </div> <table> <tr> <td> <h1> </h1> <script> <!-- -->"
        ),
        *_words(
            "<b> <i> </b> </i> <font> & &a; &amp; <meta name=robots content=nofollow> <base href=x>"
        ),
        *_words("<link rel=alternate type=application/rss+xml href=x> <form> <li> <ul> x < > \" '"),
        b"<p a=1 b=1 ",
    ],
    "robots": [
        *_words(
            "User-agent: * Disallow: / Allow: /a* $ Crawl-delay: 1 Sitemap: # Content-Usage: ai=n"
        ),
        b"User-agent: *\n",
        b"Disallow: /*a*b*c\n",
        b"\n",
        b"*",
    ],
    "columns": [
        *_words("a\tO\n a\tB-PER\n a\tI-PER\n \n # -DOCSTART- \t O B-PER x"),
        b"1\ta\tO\tO\n",
        b"# sent_id = 1\n",
        b"TOKEN\tNE-COARSE-LIT\n",
        b"\n\n",
    ],
    "json": [
        *_words('[ ] { } "text": "x" , : \\ \\u0041 1 -1e9 true [["a","O"]], null'),
        b'{"text": "x"}\n',
        b'{"text": "x", "id": "1"},',
        b"\n",
        b'"',
    ],
    "text": [
        *_words(
            "a \n \r \r\n 。 . ! « » ? \u2028 \x0c <doc id='1' url='x' title='x'> </doc> 第一回 "
            "- \u00ad"
        ),
        b"z. B. ",
        b"\n\n",
        b"\xff",
    ],
    "wikitext": [
        *_words(
            "[[ ]] {{ }} {| |} | ''' '' <ref> </ref> <!-- --> [[a|b]] {{a|b=c}} == * # : ; "
            "~~~~ <nowiki>"
        ),
        *_words(
            "</nowiki> [http://x y] <math> {{{a}}} -{ }- |- ! \n &nbsp; & ; <div> #if: "
            "[[File:a.png|thumb|"
        ),
        b"\n",
        b"\n* ",
    ],
}


def pattern(rng: random.Random, pieces: Pieces) -> Callable[[int], bytes]:
    """Draw a way to make inputs of any length: pieces repeated, between other pieces.

    Returns a function from the number of bytes, which it reaches only roughly, to the input.
    """
    chosen = [b"".join(rng.choices(pieces, k=rng.choice([1, 1, 2, 3]))) for _ in range(4)]
    before, unit, other, after = chosen
    kind = rng.randrange(5)

    def make(size: int) -> bytes:
        if kind == 0:
            return (before if size else b"") + unit * (size // len(unit))
        if kind == 1:  # many of one piece, then many of another: opened, and closed
            return unit * (size // 2 // len(unit)) + other * (size // 2 // len(other))
        if kind == 2:
            return before + unit * (size // len(unit)) + after
        if kind == 3:  # numbered, so that no two are alike
            return before + b"".join(b"%b%d " % (unit, n) for n in range(size // (len(unit) + 5)))
        both = unit + other
        return before + both * (size // len(both)) + after

    return make


def measured(
    one: Try,
    read: Callable[[bytes], object],
    make: Callable[[int], bytes],
    *,
    seconds: int = SECONDS,
) -> str:
    """Read longer and longer inputs; say where time grows faster than they do."""

    def grow() -> None:
        before, size = 0.0, SMALLEST
        while size <= LARGEST:
            data = make(size)
            sys.stdout.write(f"{size:,} bytes of {make(64)[:80]!r}")
            sys.stdout.flush()
            now = taken(data)
            sys.stdout.write(f": {before:.1f} s, then {now:.1f} s\n")
            if now > ENOUGH and before > ENOUGH / 4 and now > MOST * before:
                shorter = make(size // 2)  # again, because of noise
                before, now = taken(shorter), min(now, taken(data))
                sys.stdout.write(f"{size:,} bytes again: {before:.1f} s, then {now:.1f} s\n")
                if now > MOST * before:
                    sys.exit(1)
            if before > ENOUGH:
                return
            before, size = now, size * (2 if now > ENOUGH / 8 else 4)

    def taken(data: bytes) -> float:
        begin = time.process_time()
        read(data)
        return time.process_time() - begin

    outcome = one.call(grow, seconds=seconds)
    fault = outcome.fault(0)
    last = (outcome.said.strip().splitlines() or [""])[-1]
    return f"{last} ({fault})" if fault else ""


def _file(one: Try, data: bytes, name: str) -> Path:
    path = one.folder / name
    path.write_bytes(data)
    return path


def _tei(_: Try, data: bytes) -> None:
    from corpora.errors import CorpusError
    from corpora.tei.edition import edition_path, load_edition
    from corpora.tei.reader import read_tei

    with suppress(CorpusError):
        read_tei(data, load_edition(edition_path("tei")), name="x.xml")


def _warc(one: Try, data: bytes) -> None:
    from corpora.warc.archives import cut, read_archive

    path = _file(one, data, "x.warc")
    for _ in cut(path, range_bytes=1 << 16):
        pass
    for _ in read_archive(path, max_block=1 << 20):
        pass


def _dump(one: Try, data: bytes, name: str = "x.xml") -> None:
    from corpora.errors import CorpusError
    from corpora.wikipedia.dump import examine, read_pages

    path = _file(one, data, name)
    with suppress(CorpusError):
        for range_ in examine(path, range_bytes=1 << 20, work_directory=one.folder).ranges:
            for _ in read_pages(path, range_, source="x", max_page_bytes=1 << 20):
                pass


def _bzip2(one: Try, data: bytes) -> None:
    _dump(one, bz2.compress(b"<mediawiki><siteinfo></siteinfo>") + data, "x.xml.bz2")


def _lists(_: Try, data: bytes) -> None:
    from corpora.crawl.listings import ListingError, read_listing

    with suppress(ListingError):
        read_listing(data, url="https://a.example/")


def _robots(_: Try, data: bytes) -> None:
    from corpora.crawl.robots import parse_robots

    parse_robots(data, source="x")


def _columns(one: Try, data: bytes) -> None:
    from corpora.errors import CorpusError
    from corpora.ner.detection import Overrides
    from corpora.ner.files import describe, parts, read_file

    path = _file(one, data, "x.tsv")
    with suppress(CorpusError):
        layout = describe(path, name="x", said=Overrides())
        for part in parts(path, layout, name="x"):
            from corpora.ner.files import Part

            for _ in read_file(path, layout, name="x", part=Part(**part)):
                pass


def _conll(one: Try, data: bytes) -> None:
    from corpora.errors import CorpusError
    from corpora.ner.conll import read_conll
    from corpora.ner.json import read_json

    for read in (read_conll, read_json):
        with suppress(CorpusError):
            for _ in read(_file(one, data, "x"), split="train"):
                pass


def _text(one: Try, data: bytes) -> None:
    from corpora.errors import CorpusError
    from corpora.text.reader import Settings, read_records

    path = _file(one, data, "x.txt")
    with suppress(CorpusError):
        for _ in read_records(path, Settings(), name="x", part=None, counters=Counter()):
            pass


def _wikitext(_: Try, data: bytes) -> None:
    from tests.corpora.wikipedia.test_wikitext_properties import read

    read(data.decode("utf-8", "replace"), lang="de")


READERS: Mapping[str, tuple[str, Callable[[Try, bytes], None], int]] = {
    "TEI": ("xml", _tei, 25),
    "WARC, ARC": ("warc", _warc, 25),
    "bzip2": ("bzip2", _bzip2, 20),
    "dump": ("dump", _dump, 15),
    "sitemaps, feeds": ("lists", _lists, 20),
    "robots.txt": ("robots", _robots, 8),
    "columns of NER sets": ("columns", _columns, 10),
    "CoNLL, JSON of sentences": ("json", _conll, 10),
    "CoNLL": ("columns", _conll, 6),
    "JSON lines": ("json", _text, 10),
    "text": ("text", _text, 12),
    "wikitext": ("wikitext", _wikitext, 15),
}


def _add(name: str, pieces: str, read: Callable[[Try, bytes], None], *, tries: int) -> None:
    """Make reading the patterns of a reader an attack."""

    @attack("slow", f"{name}, by patterns", tries=tries)
    def by_patterns(one: Try) -> str:
        """Fail if twice the bytes take much more than twice the time, or 2 MB more than 20 s."""
        return measured(one, lambda data: read(one, data), pattern(one.rng, PIECES[pieces]))


for _name, (_pieces, _read, _tries) in READERS.items():
    _add(_name, _pieces, _read, tries=_tries)


def _known() -> Iterator[tuple[str, Callable[[Try, bytes], None], Callable[[int], bytes]]]:
    """Yield inputs that were slow once: the name, the reader, and a function from size to input."""
    yield "TEI", _tei, lambda n: b"<!DOCTYPE TEI [ <!-- <a " + b"&a;" * (n // 3)
    yield "TEI", _tei, lambda n: b"<TEI><p " + b"".join(b"a%d='1' " % i for i in range(n // 9))
    yield "WARC", _warc, lambda n: b"Content-Length: 1000000000000\r\n" * (n // 31)
    record = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 1000000000000\r\n\r\n"
    yield "WARC", _warc, lambda n: record * (n // len(record))
    yield "WARC", _warc, lambda n: b"WARC/1.0" * (n // 8)
    yield "WARC", _warc, lambda n: b"WARC/1.0\r\n" * (n // 10)
    yield "bzip2", _bzip2, lambda n: bytes.fromhex("314159265359") * (n // 6)
    yield "bzip2", _bzip2, lambda n: bz2.compress(b"x") * (n // 37)
    yield "bzip2", _bzip2, lambda n: bz2.compress(b"") * (n // 14)


KNOWN = list(_known())
_TEI_WRITING = ("model undone", "names written", "candidate found")
WRITING = {name: case for name, case in CASES.items() if case[0] in _TEI_WRITING}


@attack(
    "slow", "names written into TEI, taken out again, found by what is around", tries=len(WRITING)
)
def writing(one: Try) -> str:
    """Fail if twice the bytes take much more than twice the time, or 2 MB more than 60 s."""
    name = list(WRITING)[one.number % len(WRITING)]
    reader, make = WRITING[name]
    read, piece = READERS_OF_CASES[reader], len(make(2)) - len(make(1))

    def from_file(data: bytes) -> None:
        read(_file(one, data, "x.xml"))

    failure = measured(one, from_file, lambda size: make(size // piece), seconds=60)
    return f"{name}: {failure}" if failure else ""


@attack("slow", "what was slow once: DOCTYPE, Content-Length, block marks, tiny streams", tries=9)
def known(one: Try) -> str:
    """Fail if twice the bytes take much more than twice the time, or 2 MB more than 20 s."""
    name, read, make = KNOWN[one.number % len(KNOWN)]
    failure = measured(one, lambda data: read(one, data), make)
    return f"{name}: {failure}" if failure else ""
