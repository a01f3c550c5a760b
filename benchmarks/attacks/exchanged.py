"""Attacks with files of other programs: annotations, MySQL dumps, registers, lists, recipes."""

import gzip
import json
import os
import sys
import zlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import cassis
import pyarrow as pa
import spacy

from benchmarks.attacks.bounded import Try, attack
from benchmarks.attacks.slow import PIECES, measured, pattern
from benchmarks.attacks.values import absurd
from corpora.document import Document, Mention, Paragraph, Span
from corpora.errors import CorpusError
from corpora.ner.exchange import read_annotated, write_documents
from corpora.registers.register import read_registers
from corpora.tei.corrected import write_corrected
from corpora.tei.decisions import read_decisions
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.review import read_candidates
from corpora.tei.writer import TeiFile
from corpora.tei.xml import parse_xml
from corpora.wikipedia.sql_dumps import items_of_pages
from modeling.workbench.__main__ import Options
from modeling.workbench.overview import overview
from modeling.workbench.saving import save
from modeling.workbench.session import make_desk

_LOADED = (cassis, spacy)
"""Libraries that are loaded here, so that not each try has to load them."""
FORMS = ("xmi", "cas-json", "webanno", "brat", "w3c", "spacy")
_WORDS = (
    b"<!DOCTYPE",
    b"]]>",
    b"\0",
    b"-1",
    b"9" * 30,
    b"null",
    b"{}",
    b"[[",
    b"\t",
    b"\n",
    b"NaN",
)


def _document(n: int = 40, *, text: str = "Ida Berg sah \U0001f642 Ulm. ") -> Document:
    """Make a document of ``n`` sentences with two names in each."""
    whole, size = text * n, len(text)
    mentions = [
        mention
        for start in range(0, len(whole), size)
        for mention in (
            Mention(start, start + 8, label="person", entity="gnd:1"),
            Mention(start + 15, start + 18, label="place"),
        )
    ]
    return Document(
        id="a",
        group="g",
        source="a",
        text=whole,
        paragraphs=(Paragraph(0, len(whole)),),
        sentences=tuple(Span(at, at + size - 1) for at in range(0, len(whole), size)),
        mentions=tuple(mentions),
    )


def _written(one: Try, form: str) -> Path:

    [path] = write_documents([_document()], form, one.folder / "tool")
    return path


def _damaged(one: Try, data: bytes) -> bytes:
    """Cut out some places of the bytes, double them, or put something else there."""
    for _ in range(one.rng.randint(1, 4)):
        a, b = sorted(one.rng.randrange(len(data) + 1) for _ in range(2))
        b = min(b, a + one.rng.choice([0, 1, 8, 300]))
        kinds = (b"", data[a:b] * 2, one.rng.choice(_WORDS), one.rng.randbytes(3))
        data = data[:a] + one.rng.choice(kinds) + data[b:]
    return data


@attack("exchanged", "files of annotation tools, damaged, or absurd", tries=60)
def damaged(one: Try) -> str:
    """Fail if reading such a file, or writing what it says into TEI, ends with a traceback."""
    form = FORMS[one.number % len(FORMS)]
    path = _written(one, form)
    files = [file for file in sorted(path.parent.iterdir()) if file.is_file()]
    target = one.rng.choice(files)
    data = target.read_bytes()
    if form == "spacy" and one.rng.random() < 0.7:
        data = zlib.compress(_damaged(one, zlib.decompress(data)))
    elif one.rng.random() < 0.2:
        data = absurd(one).encode("utf-8", "surrogatepass")
    else:
        data = _damaged(one, data)
    target.write_bytes(data)
    text = _document().text.strip()
    tei = one.folder / "letters" / "a.xml"
    tei.parent.mkdir()
    tei.write_text(f"<TEI><text><body><p>{text}</p></body></text></TEI>", "utf-8")

    def read() -> None:

        with suppress(CorpusError):
            found = read_annotated(path)
            file = TeiFile.read(tei.read_bytes(), load_edition(edition_path("tei")), name="a.xml")
            ids = {document.id: found.mentions for document in file.documents}
            parse_xml(write_corrected(file, ids).data, name="a.xml")

    outcome = one.call(read, megabytes=2_000, seconds=40)
    fault = outcome.fault(0)
    return f"{form}, {target.name}: {fault}" if fault else ""


@attack(
    "exchanged", "CAS that names files, or multiplies itself; packed files that are bombs", tries=6
)
def bombs(one: Try) -> str:
    """Fail if a file of this machine is read, or if reading takes more than 1 GB."""
    secret = one.folder / "secret.txt"
    secret.write_text("SECRET")
    ten = "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
    dtds = (
        f'<!DOCTYPE x [<!ENTITY a SYSTEM "file://{secret}">]>',
        f'<!DOCTYPE x [<!ENTITY a0 "x">{ten}<!ENTITY a "&a9;">]>',
    )
    form = "xmi" if one.number % 3 < 2 else "spacy"
    path = _written(one, form)
    if form == "spacy":
        path.write_bytes(zlib.compress(bytes(3 << 30), 1))
    else:
        target = path if one.number < 3 else path.with_name("TypeSystem.xml")
        head, _, rest = target.read_text("utf-8").partition("?>")
        old = "Ida Berg" if target == path else "DocumentMetaData"
        rest = rest.replace(old, "&a;", 1)
        encoding = "utf-16" if one.rng.random() < 0.3 else "utf-8"
        head = head.replace("UTF-8", encoding.upper())
        target.write_text(f"{head}?>{dtds[one.number % 2]}{rest}", encoding)

    def read() -> None:

        with suppress(CorpusError):
            found = read_annotated(path)
            if "SECRET" in (found.text or "") or len(found.text or "") > 1_000_000:
                sys.stdout.write("read\n")
                sys.exit(3)

    return one.call(read, megabytes=1_000).fault(0)


def _reading(form: str) -> Callable[[Try, bytes], None]:
    def read(one: Try, data: bytes) -> None:

        document = _document(max(1, len(data) // 22))
        for path in write_documents([document], form, one.folder / f"{len(data)}"):
            read_annotated(path)

    return read


@attack("slow", "long documents in the forms of annotation tools", tries=len(FORMS))
def long_documents(one: Try) -> str:
    """Fail if twice the text takes much more than twice the time, or 2 MB more than 20 s."""
    form = FORMS[one.number % len(FORMS)]
    failure = measured(
        one,
        lambda data: _reading(form)(one, data),
        lambda n: b"x" * (n // (16 if form in {"xmi", "cas-json", "spacy"} else 1)),
    )
    return f"{form}: {failure}" if failure else ""


_SQL = [
    *(b"INSERT INTO `page_props` VALUES ", b"INSERT INTO `page_props` (", b"(1,'a',NULL,1)", b","),
    *(
        b";\n",
        b"'",
        b"''",
        b"\\'",
        b"(",
        b")",
        b"CREATE TABLE `page_props` (",
        b"\n  `pp_page`",
        b" ",
    ),
    *(b"x", b"\\", b"wikibase_item", b"(1,'wikibase_item','Q64',NULL),"),
]


def _sql(one: Try, data: bytes) -> None:

    head = b"CREATE TABLE `page_props` (\n  `pp_page` int,\n  `pp_propname` b,\n  `pp_value` b,\n"
    for begin in (b"", head + b"  `pp_sortkey` f\n);\nINSERT INTO `page_props` VALUES (1,'"):
        path = one.folder / "p.sql.gz"
        path.write_bytes(gzip.compress(begin + data, 1))
        with suppress(CorpusError):
            for _ in items_of_pages(path):
                pass


@attack("slow", "MySQL dumps, by patterns", tries=15)
def sql(one: Try) -> str:
    """Fail if twice the bytes take much more than twice the time, or 2 MB more than 20 s."""
    return measured(one, lambda data: _sql(one, data), pattern(one.rng, _SQL))


@attack("slow", "MySQL dumps with one row of 30 MB", tries=2)
def sql_row(one: Try) -> str:
    """Fail if reading the row takes more than 10 s of the processor."""
    value = b"a" if one.number else b"\\'"
    return one.call(lambda: _sql(one, value * ((30 << 20) // len(value))), seconds=10).fault(0)


_LISTS = [
    *(b"<listPerson>", b"</listPerson>", b"<person xml:id='a'>", b"</person>", b"<persName>"),
    *(b"</persName>", b"<item n='person'>", b"</item>", b"<idno type='gnd'>118770950</idno>"),
    *(
        b"<surname>Berg</surname>",
        b"<forename>Ida</forename>",
        b"<birth when='1880-01-01'/>",
        b"Berg, ",
    ),
    *(b"von ", b"(", b"I. ", b"<place xml:id='b'><placeName>Ulm</placeName></place>", b"ref='#a' "),
]


@attack("slow", "registers, by patterns", tries=15)
def registers(one: Try) -> str:
    """Fail if twice the bytes take much more than twice the time, or 2 MB more than 20 s."""
    make = pattern(one.rng, [*_LISTS, *PIECES["xml"][:6]])
    closing = one.rng.choice([b"", b"</person></listPerson></TEI>", b"</TEI>"])

    def read(data: bytes) -> None:

        for whole in (data, b"<TEI><listPerson>" + data + closing):
            with suppress(CorpusError):
                read_registers([("x.xml", whole)])

    return measured(one, read, make)


@attack("records", "files that include each other, or what is outside (xi:include)", tries=12)
def included(one: Try) -> str:
    """Fail if a file outside the folder gets into a text, or at more than 3 GB or 60 s."""
    (one.folder / "secret.xml").write_text("<p>SECRET</p>")
    tei = one.folder / "tei"
    tei.mkdir()
    ns = "xmlns:xi='http://www.w3.org/2001/XInclude'"
    folder = one.folder
    outside = (
        *("../secret.xml", f"{folder}/secret.xml", f"file://{folder}/secret.xml", "link.xml"),
        *("x/../../secret.xml", "%2e%2e/secret.xml", "..%2fsecret.xml"),
    )

    def include(href: str, more: str = "") -> str:
        return f"<xi:include href='{href}' {more}/>"

    def write(name: str, body: str) -> None:
        text = f"<text><body><p>Ida</p>{body}</body></text>"
        (tei / name).write_text(f"<TEI {ns}>{text}</TEI>", "utf-8")

    kind = one.number % 4
    if kind == 0:
        (tei / "link.xml").symlink_to(one.folder / "secret.xml")
        write("a.xml", "".join(include(href) + include(href, "parse='text'") for href in outside))
    elif kind == 1:  # each file includes the next one twice
        for n in range(24):
            write(f"a{n}.xml", include(f"a{n + 1}.xml") * 2)
    elif kind == 2:
        write("a.xml", include("a.xml") + include("b.xml"))
        write("b.xml", include("a.xml") * 50_000)
    else:
        write("a.xml", include("b.xml") * 200)
        (tei / "b.xml").write_bytes(b"<p>" + b"<x/>" * 100_000 + b"</p>")
    output = one.folder / "out"
    outcome = one.command(
        "pipelines.tei_to_ner", "--input", tei / "*.xml", "--edition", "tei", "--output", output
    )
    if fault := outcome.fault(0, 1):
        return f"{kind}: {fault}"
    for shard in output.glob("documents/*.arrow"):
        texts = pa.ipc.open_file(shard).read_all().column("text").to_pylist()
        if kind == 0 and any("SECRET" in text for text in texts):
            return "SECRET was read"
    return ""


@attack("values", "lines of decisions and of lists of names that are absurd", tries=25)
def lines(one: Try) -> str:
    """Fail if reading the lines, or working with them, ends with a traceback."""
    letters = one.folder / "letters"
    letters.mkdir()
    (letters / "a.xml").write_bytes(_tei())
    name = {"start": 0, "end": 3, "form": "Ida", "before": "", "after": " Ber", "label": "person"}
    good = {"time": "2026-03-01T09:30:00+00:00", "reviewer": "kb", "verdict": "accepted",
            "file": "a.xml", "document": "a.xml", "name": name, "was": name, "probability": 0.5,
            "action": "x"}  # fmt: skip
    values: tuple[Any, ...] = (
        None,
        [],
        {},
        -1,
        1.0,
        True,
        "\ud800",
        "x\u2028y",
        "9" * 40,
        [[1]],
        "",
    )
    rows = []
    for _ in range(30):
        row: dict[str, Any] = dict(good, name=dict(name), was=dict(name))
        inner = one.rng.choice([row, row["name"], row["was"]])
        inner[one.rng.choice(list(inner))] = one.rng.choice(values)
        rows.append(json.dumps(row, ensure_ascii=one.rng.random() < 0.5))
    rows.append(absurd(one))
    one.rng.shuffle(rows)
    journal = one.folder / "letters.decisions.jsonl"
    journal.write_bytes("\n".join(rows).encode("utf-8", "surrogatepass"))
    table = one.folder / "kept.tsv"
    cells = "file document before name after label entity probability accept start end suggested"
    lines = [cells.replace(" ", "\t")] + [
        "a.xml\ta.xml\t\tIda\t Ber\tperson\t\t0.5\t\t0\t3\tperson"
    ] * 5
    words = ("1e999", "-1", "nan", "9" * 5000, "", '"', "\0", "\t", "x", "²", "inf", "50%")
    for n in range(1, len(lines)):
        row_ = lines[n].split("\t")
        row_[one.rng.randrange(len(row_))] = one.rng.choice(words)
        lines[n] = "\t".join(row_[: one.rng.choice([len(row_), len(row_), 4, 6, 8])])
    table.write_text("\n".join(lines), "utf-8")

    def read() -> None:

        with suppress(CorpusError):
            read_candidates(table)
        found = read_decisions(journal)
        for decision in found.entries:
            found.of_document("a.xml", decision.document, "Ida Berg und Ida")
        desk = make_desk(
            Options(
                tei=(str(letters / "*.xml"),),
                edition="tei",
                output=one.folder / "out",
                decisions=journal,
                reviewer="kb",
            )
        )
        for letter in desk.letters.all:
            desk.look(letter)
            if not letter.error:
                json.dumps(desk.letter(letter.number))
        overview(desk)
        save(desk)

    return one.call(read).fault(0)


def _tei() -> bytes:
    return b"<TEI><text><body><p>Ida Berg und Ida</p></body></text></TEI>"


_RECIPES: Mapping[str, str] = {
    "name": "[[step]]\nname = [1]\nonoma = 'tei'\n",
    "number": "[[step]]\nonoma = 3\n",
    "deep": "[[step]]\nonoma = 'tei'\nx = " + "[" * 5000 + "]" * 5000,
    "digits": "[[step]]\nonoma = 'tei'\nworkers = " + "9" * 100_000,
    "table": "step = 1\n",
    "words": "[[step]]\nonoma = 'tei --help; rm -rf x'\n",
    "module": "[[step]]\nonoma = '../../evil'\n",
    "nul": "[[step]]\nonoma = 'tei'\ninput = ['\\u0000']\noutput = 'a\\u0000b'\n",
    "project": "[[step]]\nonoma = 'project run'\n",
    "dates": "[[step]]\nonoma = 'tei'\ninput = [2026-01-01]\noutput = {a = 1}\n",
    "dots": "a" + ".a" * 30_000 + " = 1\n",
    "output": "[[step]]\nonoma = 'tei'\noutput = ['a', 'b']\n",
}


@attack("values", "recipes of projects, and what was done of them", tries=2 * len(_RECIPES))
def recipes(one: Try) -> str:
    """Fail if a command ends with a traceback, or runs something else."""
    project = one.folder / "project"
    project.mkdir()
    name = list(_RECIPES)[one.number % len(_RECIPES)]
    recipe = _RECIPES[name]
    if one.number >= len(_RECIPES):
        recipe = "[[step]]\nonoma = 'tei'\ninput = ['x.xml']\noutput = 'out'\n"
        (project / "x.xml").write_bytes(_tei())
        state = absurd(one)
        (project / ".onoma-project.json").write_text(state, "utf-8", "surrogatepass")
    (project / "onoma.toml").write_text(recipe, "utf-8")
    os.chdir(one.folder)
    for command in ("show", "run"):
        if command == "run" and one.number < len(_RECIPES):
            break
        if fault := one.command("corpora.project", command, project).fault():
            return f"{name}, {command}: {fault}"
    return ""
