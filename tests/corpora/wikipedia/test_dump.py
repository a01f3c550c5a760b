"""Reading dumps: each page once, whatever the container and the ranges."""

import bz2
import gzip
import json
import lzma
import random
from pathlib import Path
from xml.sax.saxutils import escape

import pyarrow as pa
import pytest

from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.wikipedia.articles import ArticleReader, WikiArticle
from corpora.wikipedia.chunks import DumpError
from corpora.wikipedia.dump import DumpRange, examine, read_pages
from corpora.wikipedia.pages import WikiPage
from corpora.wikipedia.siteinfo import SiteInfo
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import wiki_of

WORDS = ["Mühle", "Wind", "&lt;ref&gt;", "der", "[[Ulm]]", "風車", "1684", "und", "&amp;nbsp;", "Ł"]
HEAD = """<mediawiki version="0.11" xml:lang="de">
  <siteinfo>
    <dbname>kleinwiki</dbname>
    <base>https://klein.wikipedia.org/wiki/Hauptseite</base>
    <case>first-letter</case>
    <namespaces>
      <namespace key="0" case="first-letter" />
      <namespace key="14" case="first-letter">Kategorie</namespace>
    </namespaces>
  </siteinfo>
"""
FOOT = "</mediawiki>\n"
PAGE_COUNTS = {  # file: pages, in namespace 0, redirects, rejected, complete
    "enwiki-2014-first-pages.xml.bz2": (361, 360, 146, [], False),
    "jawiki-2022-first-pages.xml.bz2": (262, 223, 31, [], False),
    "ltgwiki-latest-pages-articles.xml.bz2": (2004, 1050, 195, [], True),
    "aawiki-20260101-pages-meta-current.xml.bz2": (507, 2, 19, [], True),
    "ukwiki-20230501-first-100k-lines.xml.xz": (532, 525, 16, ["truncated"], False),
    "enwiki-wikipedia2vec-sample.xml.bz2": (3, 3, 1, [], True),
    "enwiki-20150112-bliki.xml.bz2": (3, 3, 2, [], True),
    "zh/zhwiki-test-pages.xml": (33, 23, 0, [], True),
    "zh/zhwiki-broken-1.xml": (2, 0, 0, ["no_title"], True),
    "zh/zhwiki-broken-2.xml": (3, 0, 0, [], True),
    "zh/zhwiki-broken-3.xml": (2, 0, 0, ["no_text"], True),
    "zh/zhwiki-broken-4.xml": (3, 1, 0, [], True),
} | {
    f"de-single-pages/dewiki-20130602-id{id}.xml": (1, 1, 0, [], True)
    for id in (1, 5, 81, 89, 111)
}  # fmt: skip
MINIDUMPS = {
    "als": 1, "da": 1, "de": 2, "en": 27, "fo": 1, "fr": 3, "it": 1, "ja": 1, "nds": 1, "nl": 2,
    "nn": 1, "no": 1, "simple": 1, "sv": 1, "zh": 1,
}  # fmt: skip


def page(number, text="", *, title=None, more=""):
    title = f"Mühle {number}" if title is None else title
    return f"""  <page>
    <title>{title}</title>
    <ns>0</ns>
    <id>{number}</id>{more}
    <revision>
      <id>{number}9</id>
      <timestamp>2026-01-01T00:00:00Z</timestamp>
      <contributor><username>A</username><id>3</id></contributor>
      <model>wikitext</model>
      <text bytes="{len(text.encode())}" xml:space="preserve">{text}</text>
    </revision>
  </page>
"""


def some_pages(n_pages):
    rng = random.Random(7)
    sizes = [rng.choice([0, 3, 50, 400, 3000]) for _ in range(n_pages)]
    return [page(n, " ".join(rng.choices(WORDS, k=size))) for n, size in enumerate(sizes)]


def multistream(xml):
    """Pack a dump as it is published: the head and each twenty pages in streams of their own."""
    head, *pages = xml.split(b"  <page>")
    groups = [pages[n : n + 20] for n in range(0, len(pages), 20)]
    streams = [head] + [b"".join(b"  <page>" + one for one in group) for group in groups]
    return b"".join(map(bz2.compress, streams))


PACKERS = {
    "xml": bytes,
    "bz2": lambda xml: bz2.compress(xml, compresslevel=1),
    "bz2 multistream": multistream,
    "gz": gzip.compress,
    "gz of two members": lambda xml: gzip.compress(xml[:5000]) + gzip.compress(xml[5000:]),
    "xz": lzma.compress,
    "lzma": lambda xml: lzma.compress(xml, format=lzma.FORMAT_ALONE),
    "zst": lambda xml: pa.compress(xml, "zstd", asbytes=True),
}


def read(path, *, range_bytes=1 << 20, max_page_bytes=1 << 20, only=None):
    work_directory = path.parent / "work_directory"
    dump = examine(path, range_bytes=range_bytes, work_directory=work_directory)
    records = [
        record
        for range in dump.ranges
        for record in read_pages(
            path,
            range,
            source=path.name,
            max_page_bytes=max_page_bytes,
            work_directory=work_directory,
        )
    ]
    return [record for record in records if only is None or isinstance(record, only)]


def write(folder, text, *, name="kleinwiki-20260101-pages-articles.xml"):
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def reasons(records):
    return [record.reason for record in records if isinstance(record, Rejected)]


def identity(pages):
    return [(page.title, page.id, page.text) for page in pages]


@pytest.mark.parametrize("range_bytes", [10_000, 100_000, 10_000_000])
@pytest.mark.parametrize("container", PACKERS)
def test_ranges_of_any_size_give_each_page_once(container, range_bytes, tmp_path):
    written = some_pages(100)
    path = write(tmp_path, PACKERS[container]((HEAD + "".join(written) + FOOT).encode()))

    pages = read(path, range_bytes=range_bytes)

    assert [page.title for page in pages] == [f"Mühle {n}" for n in range(100)]
    assert [page.text for page in pages] == [
        xml.partition("preserve\">")[2].partition("</text>")[0]
        .replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        for xml in written
    ]  # fmt: skip


@pytest.mark.parametrize("range_bytes", [1, 2, 7, 100])
def test_damage_is_reported_once_and_alike_in_ranges_of_any_size(range_bytes, tmp_path):
    unclosed = page(2).replace("</page>", "")
    orphan = page(4).replace("<page>", "")
    parts = [HEAD, page(1), unclosed, page(3), orphan, orphan, page(5, "a < b"), "stray", page(6)]
    path = write(tmp_path, "".join(parts))
    whole = read(path)

    records = read(path, range_bytes=range_bytes)

    assert records == whole
    assert reasons(records) == ["malformed_xml"] * 5
    assert [record.title for record in records if isinstance(record, WikiPage)] == [
        "Mühle 1", "Mühle 3", "Mühle 6",
    ]  # fmt: skip


def test_a_page_has_what_the_dump_says_of_it(tmp_path):
    redirect = page(1, "#WEITERLEITUNG", more='<redirect title="A &amp; B" />')
    path = write(tmp_path, f"{HEAD}{redirect}{FOOT}")

    [read_page] = read(path)

    assert read_page == WikiPage(
        title="Mühle 1",
        namespace=0,
        id="1",
        redirect="A & B",
        revision="19",
        timestamp="2026-01-01T00:00:00Z",
        model="wikitext",
        text="#WEITERLEITUNG",
        position=f"byte {len(HEAD) + 2}",
    )


@pytest.mark.parametrize(
    ("written", "text"),
    [
        (
            "<noinclude>— 5 —</noinclude>Es <noinclude>war</noinclude>\n<noinclude>x</noinclude>\n",
            "Es <noinclude>war</noinclude>\n",
        ),
        ("<noinclude>— 5 —</noinclude>Es war", "<noinclude>— 5 —</noinclude>Es war"),
        ("Es war <noinclude>x</noinclude>einmal", "Es war <noinclude>x</noinclude>einmal"),
    ],
)
def test_a_scanned_page_is_read_without_its_running_head_and_footnotes(written, text, tmp_path):
    scan = page(1, escape(written)).replace("wikitext</model>", "proofread-page</model>")

    [read_page] = read(write(tmp_path, f"{HEAD}{scan}{FOOT}"))

    reader = ArticleReader(wiki_of(name="dewikisource", lang="de"), load_templates("de"), None)
    assert read_page.text == text
    assert isinstance(reader.read(read_page), WikiArticle)


def test_titles_stand_on_one_line(tmp_path):
    odd = "\n A&#10;B\tC&#13;D\u2028E\x85F\x9fG H "
    redirect = page(1, title=odd, more=f'<redirect title="{odd}" />')

    [read_page] = read(write(tmp_path, f"{HEAD}{redirect}{FOOT}"))

    assert (read_page.title, read_page.redirect) == ("A B C D E F G H",) * 2


def test_a_page_of_the_oldest_exports_has_no_namespace_and_an_empty_redirect(tmp_path):
    old = (
        page(1, more="<redirect />")
        .replace("<ns>0</ns>", "")
        .replace("<model>wikitext</model>", "")
    )
    path = write(tmp_path, f"<mediawiki version='0.3'>{old}</mediawiki>")

    [read_page] = read(path)

    assert (read_page.namespace, read_page.redirect, read_page.model) == (None, "", "")


def test_of_several_revisions_the_last_counts(tmp_path):
    first = "<revision><id>1</id><text>old</text></revision>"
    path = write(tmp_path, HEAD + page(1, "new", more=first) + FOOT)

    [read_page] = read(path)

    assert (read_page.revision, read_page.text) == ("19", "new")


def test_ids_and_times_of_contributors_and_uploads_are_not_those_of_the_page(tmp_path):
    upload = "<upload><timestamp>1</timestamp><id>8</id></upload>"
    path = write(tmp_path, HEAD + page(1).replace("  </page>", f"{upload}</page>") + FOOT)

    [read_page] = read(path)

    assert (read_page.id, read_page.revision, read_page.timestamp[:4]) == ("1", "19", "2026")


@pytest.mark.parametrize(
    "text",
    [
        "<text/>",
        '<text bytes="0" />',
        '<text xml:space="preserve"></text>',
        '<text bytes="120" deleted="deleted" />',
    ],
)
def test_a_page_may_be_empty(text, tmp_path):
    path = write(
        tmp_path, HEAD + page(1).replace('<text bytes="0" xml:space="preserve"></text>', text)
    )

    [read_page] = read(path)

    assert not read_page.text


@pytest.mark.parametrize("container", ["xml", "bz2"])
def test_bare_pages_are_a_complete_dump(container, tmp_path):
    path = write(tmp_path, PACKERS[container]("\ufeff".encode() + page(1, "a").encode()))

    dump = examine(path, range_bytes=1000, work_directory=tmp_path)

    assert dump.complete
    assert dump.site == SiteInfo(wiki="kleinwiki")
    assert identity(read(path)) == [("Mühle 1", "1", "a")]


@pytest.mark.parametrize("container", PACKERS)
def test_a_whole_dump_is_complete_and_one_without_its_end_is_not(container, tmp_path):
    xml = HEAD + "".join(some_pages(50))
    whole = write(tmp_path, PACKERS[container]((xml + FOOT).encode()), name="a")
    cut = write(tmp_path, PACKERS[container](xml.encode()), name="b")

    whole_dump, cut_dump = (
        examine(p, range_bytes=10_000, work_directory=tmp_path) for p in (whole, cut)
    )

    assert whole_dump.complete
    assert not whole_dump.why
    assert not cut_dump.complete
    assert "</page>' and not with </mediawiki>: it is cut off" in cut_dump.why


@pytest.mark.parametrize("container", PACKERS)
def test_the_site_is_read_from_the_head(container, tmp_path):
    path = write(tmp_path, PACKERS[container]((HEAD + page(1) + FOOT).encode()))

    dump = examine(path, range_bytes=1000, work_directory=tmp_path)

    assert dump.site == SiteInfo(
        wiki="kleinwiki",
        lang="de",
        base="https://klein.wikipedia.org/wiki/",
        case_sensitive=False,
        namespaces={"": 0, "Kategorie": 14},
    )


def test_ranges_survive_json(tmp_path):
    dump = examine(write(tmp_path, HEAD + page(1)), range_bytes=100, work_directory=tmp_path)

    ranges = [DumpRange.from_json(json.loads(json.dumps(one.to_json()))) for one in dump.ranges]

    assert tuple(ranges) == dump.ranges


def test_a_dump_without_pages_is_none_the_less_one(tmp_path):
    path = write(tmp_path, HEAD + FOOT)

    assert not read(path)
    assert examine(path, range_bytes=100, work_directory=tmp_path).complete


NO_DUMPS = [
    (b"", "is empty"),
    (b"<html>404 Not Found</html>", "is no MediaWiki dump.*leave this one out with --exclude"),
    (bz2.compress(b"<html></html>"), "is no MediaWiki dump"),
    (bz2.compress(b""), "is no MediaWiki dump"),
    (b"7z\xbc\xaf\x27\x1c and so on", "7z archive.*Unpack it"),
    (b"PK\x03\x04 and so on", "zip archive.*Unpack it"),
]
BAD_HEADS = [
    ((HEAD + FOOT).encode("utf-16"), "is in UTF-16.*iconv -f UTF-16"),
    ((HEAD + FOOT).encode("utf-16-le"), "is in UTF-16"),
    (b'<?xml version="1.0" encoding="ISO-8859-1"?>' + HEAD.encode("latin-1"), "ISO-8859-1"),
    (HEAD.replace("<dbname>", "<db>").encode(), "head .* is not well-formed"),
    (b'<!DOCTYPE mediawiki [<!ENTITY a "b">]>' + HEAD.encode(), "DOCTYPE"),
    (HEAD.replace('key="14"', "").encode(), "head .* is not well-formed"),
    (bz2.compress(HEAD.encode())[:100], "head cannot be read"),
]


@pytest.mark.parametrize(
    ("error", "data", "message"),
    [*((UsageError, *row) for row in NO_DUMPS), *((DumpError, *row) for row in BAD_HEADS)],
)
def test_what_is_no_dump_or_has_a_head_that_cannot_be_read_is_refused(
    error, data, message, tmp_path
):
    path = write(tmp_path, data)

    with pytest.raises(error, match=message):
        examine(path, range_bytes=1000, work_directory=tmp_path)


@pytest.mark.realdata
@pytest.mark.parametrize("name", PAGE_COUNTS)
def test_real_dump_has_the_pages_that_its_description_says(name, realdata, tmp_path):
    path = realdata("wiki-dumps") / name

    dump = examine(path, range_bytes=4 << 20, work_directory=tmp_path)
    records = [
        record
        for range in dump.ranges
        for record in read_pages(
            path, range, source=name, max_page_bytes=64 << 20, work_directory=tmp_path
        )
    ]

    pages = [record for record in records if isinstance(record, WikiPage)]
    assert (
        len(pages),
        sum(page.namespace == 0 for page in pages),
        sum(page.redirect is not None for page in pages),
        reasons(records),
        dump.complete,
    ) == PAGE_COUNTS[name]
    assert dump.site.wiki == Path(name).name.partition("-")[0]


@pytest.mark.realdata
@pytest.mark.parametrize("lang", MINIDUMPS)
def test_real_minidump_has_the_pages_that_its_description_says(lang, realdata):
    path = realdata("wiki-dumps") / "dbpedia-minidumps" / f"{lang}wiki.xml.bz2"

    records = read(path)

    assert len(records) == MINIDUMPS[lang]
    assert not reasons(records)


@pytest.mark.realdata
def test_ranges_of_a_real_dump_give_each_page_once(realdata):
    path = realdata("wiki-dumps") / "ltgwiki-latest-pages-articles.xml.bz2"

    whole, *pages = (read(path, range_bytes=n) for n in (1 << 30, 100_000, 1_000_000))

    assert pages == [whole, whole]


@pytest.mark.realdata
@pytest.mark.parametrize(
    "name", ["ltgwiki-latest-pages-articles.xml.bz2", "aawiki-20260101-pages-meta-current.xml.bz2"]
)
def test_pages_are_those_that_another_parser_reads_in_the_whole_file(name, realdata):
    from lxml import etree

    path = realdata("wiki-dumps") / name
    with bz2.open(path) as file:
        expected = []
        for _, element in etree.iterparse(file, tag="{*}page"):
            texts = [element.findtext(f"{{*}}{tag}") for tag in ("title", "id")]
            expected.append((*texts, element.findtext("{*}revision/{*}text") or ""))
            element.clear()

    pages = read(path, range_bytes=1 << 20)

    assert identity(pages) == expected
