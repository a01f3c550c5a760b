"""Attacks with hostile records among good ones: none may end a run or fill the memory."""

import encodings.aliases
import json
from contextlib import suppress
from pathlib import Path
from xml.sax.saxutils import escape

from benchmarks.attacks.bounded import Try, attack
from tests.corpora.news.archive_samples import warc_record
from tests.corpora.wikipedia.small_wiki import BASE, SmallWiki

_NEWS = Path(__file__).resolve().parents[2] / "tests" / "data" / "news"
_GOOD = (_NEWS / "bruecke.html").read_bytes()
_CODECS = sorted({*encodings.aliases.aliases.values(), "idna", "punycode", "undefined", "mbcs"})
_NO_TEXT = (
    "idna",
    "punycode",
    "undefined",
    "unicode_escape",
    "raw_unicode_escape",
    "rot_13",
    *("hex_codec", "base64_codec", "zlib_codec", "bz2_codec", "uu_codec", "quopri_codec"),
)


def _charset(one: Try) -> str:
    """Draw the name of a charset: a codec of Python, random characters, or a codec for no text."""
    kind = one.rng.randrange(4)
    if kind == 0:
        return one.rng.choice(_CODECS)
    if kind == 1:
        return "".join(chr(one.rng.randrange(1, 0x250)) for _ in range(one.rng.randrange(1, 40)))
    return one.rng.choice(_NO_TEXT)


def _page(one: Try, charset: str, *, in_meta: bool) -> bytes:
    """Make a page that is no UTF-8, and that names the charset if ``in_meta``."""
    meta = f'<meta charset="{charset}">'.encode("utf-8", "replace") if in_meta else b""
    noise = one.rng.randbytes(one.rng.randrange(1, 50)) + b"\xff"
    return b"<html><head>" + meta + b"<title>x</title></head><body><p>" + noise + b"</p></html>"


@attack("records", "page in a charset that is for no text: decoding", tries=80)
def charset_of_page(one: Try) -> str:
    """Fail at anything but a text or a ``CorpusError``."""
    from corpora.errors import CorpusError
    from corpora.news.decoding import decode

    charset, in_meta = _charset(one), one.rng.random() < 0.5
    data = _page(one, charset, in_meta=in_meta)
    content_type = None if in_meta else f"text/html; charset={charset}"

    def read() -> None:
        with suppress(CorpusError):
            decode(data, content_type=content_type, name="x")

    fault = one.call(read, seconds=5).fault(0)
    return f"{charset!r}: {fault}" if fault else ""


@attack("records", "page in a charset that is for no text: links of a crawl", tries=40)
def charset_of_links(one: Try) -> str:
    """Fail at anything but links or a ``ListingError``."""
    from corpora.crawl.listings import ListingError, read_links

    charset, in_meta = _charset(one), one.rng.random() < 0.5
    data = _page(one, charset, in_meta=in_meta)
    content_type = None if in_meta else f"text/html; charset={charset}"

    def read() -> None:
        with suppress(ListingError):
            read_links(data, url="https://a.example/", content_type=content_type)

    fault = one.call(read, seconds=5).fault(0)
    return f"{charset!r}: {fault}" if fault else ""


@attack("records", "web archive with hostile pages and one good one", tries=2)
def archive_of_news(one: Try) -> str:
    """Fail if the run does not end with status 0, or if the good page is missing."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset={}\r\n\r\n"
    records = []
    for number in range(25):
        charset = _charset(one).replace("\n", " ").replace("\r", " ")
        block = head.format(charset).encode("utf-8", "replace") + _page(
            one, charset, in_meta=one.rng.random() < 0.5
        )
        records.append(warc_record("response", block, url=f"https://a.example/{number}"))
    good = head.format("utf-8").encode() + _GOOD
    records.insert(one.rng.randrange(25), warc_record("response", good, url="https://a.example/g"))
    path = one.folder / "x.warc"
    path.write_bytes(b"".join(records))
    options = ("--warc", path, "--output", one.folder / "out", "--max-reject-rate", "1")
    return _made(one, "pipelines.news_to_documents", options, n_read=26)


@attack("records", "dump with hostile titles and texts", tries=25)
def dump(one: Try) -> str:
    """Fail if the run does not end with status 0, or if good pages are missing."""
    wiki = SmallWiki()
    text = wiki.dump()
    bad = [
        "a\nb",
        "\n",
        "",
        " ",
        "a\tb",
        "&#10;",
        "&#13;x",
        "&#133;",
        "&#8232;x",
        "&#xD800;",
        "&#0;",
        "x" * one.rng.randrange(1, 300_000),
        "[[" * one.rng.randrange(1, 20_000),
        "]]\n[[",
        "#WEITERLEITUNG [[",
        "<x>",
        "../../x",
        "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"),
    ]
    pages = []
    for number in range(one.rng.randrange(1, 8)):
        title, body, id_ = one.rng.choice(bad), one.rng.choice(bad), 900 + number
        redirect = '<redirect title="a&#10;b" />' if one.rng.random() < 0.3 else ""
        pages.append(
            f"<page><title>{title}</title><ns>{one.rng.choice([0, 0, 0, -1, 'x', 10**30])}</ns>"
            f"<id>{one.rng.choice([id_, id_, id_, 10**40, 'x'])}</id>{redirect}<revision><id>1</id>"
            f"<timestamp>{one.rng.choice(['2026-10-01T00:00:00Z', 'x', ''])}</timestamp>"
            f"<text>{body}</text></revision></page>\n"
        )
    place = text.index("  <page>")
    path = one.folder / "x.xml"
    data = (text[:place] + "".join(pages) + text[place:]).encode("utf-8", "replace")
    path.write_bytes(data)
    options = ("--input", path, "--output", one.folder / "out", "--max-reject-rate", "1")
    outcome = one.command("pipelines.wikipedia_to_documents", *options)
    if fault := outcome.fault(0):
        return fault
    account = _description(one.folder / "out" / "documents")["accounting"]
    return "" if account["written"] >= 21 else f"only {account['written']} pages were written"


@attack("records", "page whose links are all one word, again and again", tries=4)
def overlapping_titles(one: Try) -> str:
    """Fail at more than 500 MB or 60 s, or if the end is not clean."""
    word = one.rng.choice(["Aaa", "Ab", "三", "Ää"])
    between = "" if word == "三" else " "
    n_titles, size = one.rng.randrange(100, 400), one.rng.randrange(400_000, 900_000)
    titles = [between.join([word] * n) for n in range(1, n_titles)]
    links = " ".join(f"[[{title}]]" for title in titles)
    body = links + "\n\n" + between.join([word] * (size // len(word + between)))
    path = one.folder / "x.xml"
    page = (
        f"<page><title>X</title><ns>0</ns><id>1</id><revision><id>1</id>"
        f"<timestamp>2026-10-01T00:00:00Z</timestamp><text>{escape(body)}</text></revision></page>"
    )
    head = (
        '<mediawiki version="0.11" xml:lang="de"><siteinfo><dbname>kleinwiki</dbname>'
        f"<base>{BASE}</base><case>first-letter</case><namespaces><namespace key='0' />"
        "</namespaces></siteinfo>"
    )
    path.write_text(f"{head}{page}</mediawiki>", "utf-8")
    outcome = one.command(
        "pipelines.wikipedia_to_documents", "--input", path, "--output", one.folder / "out"
    )
    if fault := outcome.fault(0):
        return f"{len(body):,} characters: {fault}"
    if outcome.megabytes > 500:
        return f"{len(body):,} characters took {outcome.megabytes:.0f} MB"
    return ""


@attack("records", "page with so many attributes that libxml2 takes their square: a crawl", tries=2)
def attributes(one: Try) -> str:
    """Fail if the crawl's own process takes more than 2 s, or if the end is not clean."""
    import time

    from corpora.crawl.listings import read_links_bounded
    from corpora.errors import CorpusError

    n = one.rng.randrange(60_000, 100_000)
    name = one.rng.choice("abxy")
    many = " ".join(f"{name}{k}=1" for k in range(n))
    page = f"<html><body><p {many}><a href='/b'>b</a>".encode()

    def read() -> int:
        begin = time.process_time()
        with suppress(CorpusError):
            read_links_bounded(page, url="https://a.example/", content_type="text/html")
        return int(time.process_time() - begin > 2)

    fault = one.call(read, seconds=60).fault(0)
    return f"{len(page):,} bytes: {fault}" if fault else ""


@attack("records", "TEI files that are hostile among good ones", tries=10)
def letters(one: Try) -> str:
    """Fail if the run does not end with status 0, or if good files are missing."""
    hostile = [
        b"",
        b"\0" * 100,
        b"<TEI>",
        b"<TEI><text>" + b"<p>" * one.rng.randrange(1, 100_000),
        b"<!DOCTYPE TEI [<!ENTITY a 'x'><!ENTITY b '&a;&a;'>]><TEI><text><p>&b;</p></text></TEI>",
        b"<!DOCTYPE TEI SYSTEM 'file:///etc/passwd'><TEI><text><p>x</p></text></TEI>",
        b"<?xml version='1.0' encoding='"
        + one.rng.choice(_NO_TEXT).encode()
        + b"'?><TEI>\xff</TEI>",
        b"<?xml version='1.0' encoding='utf-16'?><TEI><text><p>x</p></text></TEI>",
        b"<TEI><text><p>" + one.rng.randbytes(200) + b"</p></text></TEI>",
        b"<TEI><text><p><persName ref='" + b"x" * 1_000_000 + b"'>x</persName></p></text></TEI>",
        b"<TEI xml:id='" + b"&#10;" * 10 + b"'><text><p>x</p></text></TEI>",
    ]
    folder = one.folder / "in"
    folder.mkdir()
    for number in range(4):
        (folder / f"good{number}.xml").write_text(
            f"<TEI><text><p>Brief {number} an <persName>Ulla</persName> in Ulm.</p></text></TEI>"
        )
    for number, data in enumerate(one.rng.sample(hostile, 6)):
        (folder / f"bad{number}.xml").write_bytes(data)
    options = ("--input", folder, "--output", one.folder / "out", "--max-reject-rate", "1")
    return _made(one, "pipelines.tei_to_ner", options, n_read=10, dataset="documents", least=4)


@attack("records", "lines of JSON that are hostile among good ones", tries=15)
def json_lines(one: Try) -> str:
    """Fail if the run does not end with status 0, or if good lines are missing."""
    depth = one.rng.choice([500, 5_000, 100_000])
    hostile = [
        "[" * depth + "]" * depth,
        '{"text": ' + '{"a":' * depth + "1" + "}" * depth + "}",
        '{"text": ' + "9" * one.rng.choice([4_000, 5_000, 100_000]) + "}",
        '{"text": "\\ud800"}',
        '{"text": NaN}',
        '{"text": "x", "id": ' + "[" * 900 + "]" * 900 + "}",
        '{"text": "x", "text": "y"}',
        "\0",
        '{"text": "' + "x" * 1_000_000,
        '{"text": "x", "date": "' + "9" * 10_000 + '"}',
    ]
    lines = [json.dumps({"id": f"g{n}", "text": f"Ein guter Text {n}."}) for n in range(4)]
    lines += one.rng.sample(hostile, 5)
    lines[1:] = one.rng.sample(lines[1:], len(lines) - 1)
    path = one.folder / "x.jsonl"
    path.write_text("\n".join(lines) + "\n", "utf-8", "surrogatepass")
    options = ["--input", path, "--lang", "de", "--output", one.folder / "out"]
    options += ["--format", "jsonl", "--max-reject-rate", "1"]
    return _made(one, "pipelines.text_to_documents", options, least=4)


def _made(
    one: Try,
    pipeline: str,
    options: "list[object] | tuple[object, ...]",
    *,
    n_read: int | None = None,
    least: int = 1,
    dataset: str = "",
) -> str:
    """Run a pipeline; say what is wrong with its end, or with its accounts."""
    if fault := one.command(pipeline, *options).fault(0):
        return fault
    account = _description(one.folder / "out" / dataset)["accounting"]
    if n_read is not None and account["read"] != n_read:
        return f"{account['read']} records were read, not {n_read}"
    return "" if account["written"] >= least else f"only {account['written']} were written"


def _description(folder: Path) -> dict[str, dict[str, int]]:
    description: dict[str, dict[str, int]] = json.loads((folder / "dataset.json").read_text())
    return description
