"""Attacks by requests to the tagger's service, to the workbench, and to the guard before them."""

import asyncio
import json
import os
import re
import socket
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import httpx
from cassis import Cas, TypeSystem

from benchmarks.attacks.bounded import Try, attack
from benchmarks.attacks.slow import measured
from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.registers.register import open_registers
from corpora.tei.decisions import read_decisions
from corpora.tei.edition import edition_path, load_edition
from corpora.tei.provenance import Model
from corpora.tei.writer import TeiFile
from corpora.tei.xml import parse_xml
from modeling.data.predictions import PredictedSpan, Tagged
from modeling.http.guard import Guard, Rules
from modeling.http.server import Server, listen
from modeling.serve import onoma_api
from modeling.serve.app import guarded
from modeling.serve.entries import Entries, _Registered
from modeling.serve.service import Service, Settings
from modeling.workbench.__main__ import Options
from modeling.workbench.server import application
from modeling.workbench.session import make_desk
from modeling.workbench.view import tei_view
from tests.modeling.workbench.sample import make_sample

STRINGS = (
    *(
        "",
        " ",
        "\0",
        "\ud800",
        "x" * 100_000,
        "../../etc/passwd",
        "/etc/passwd",
        "\u2028",
        "\r\nx: y",
    ),
    *(
        "<script>",
        "]]>",
        "&a;",
        "\ufeff",
        "NaN",
        "1e999",
        "9" * 5000,
        "-1",
        "²",
        "a\nb",
        "de-" * 999,
    ),
)
VALUES: tuple[Any, ...] = (
    *STRINGS,
    *(None, True, -1, 0, 1.5, 10**19, 10**400, float("nan"), float("inf"), [], {}, [[]], [{}]),
    *({"a": None}, ["\ud800"], [None], {"text": None}),
)
_STYLES = (b"</script", b"<script")


class _Tagger:
    """A fake tagger that finds each word with a capital letter."""

    labels = ("person", "place")
    label_map = None
    folder = None
    threshold_of_editions = 0.5

    def tag_by_batch(self, sentences: Sequence[Sentence]) -> Iterator[list[tuple[int, Any]]]:
        """Give the sentences by 32, as a tagger does."""

        for first in range(0, len(sentences), 32):
            found = []
            for number, sentence in enumerate(sentences[first : first + 32], first):
                spans = tuple(
                    PredictedSpan(start=n, end=n + 1, label="person", probability=0.9)
                    for n, token in enumerate(sentence.tokens)
                    if token[:1].isupper()
                )
                found.append((number, Tagged(sentence=sentence, spans=spans)))
            yield found


@contextmanager
def _service() -> Iterator[Any]:
    """Yield the application of a service with a register, behind its guard."""

    tagger: Any = _Tagger()
    model = Model(id="onoma-1", name="x", version="1", sha256="0" * 64)
    vars(onoma_api)["model_of"] = lambda _: model
    register = open_registers([str(Path(__file__).parents[2] / "tests/data/register/*.xml")])
    entries = Entries(_Registered(register), name="register")
    settings = Settings(edition=load_edition(edition_path("tei")))
    with Service.opened("small", tagger, settings) as service:
        yield guarded(service, Rules(allow_loopback_origins=True), entries, space="urn:x:")


def _ask(app: Any, method: str, path: str, **request: Any) -> tuple[int, bytes]:
    """Ask an application; an exception in it is one here, as it would be in the log."""

    async def asked() -> tuple[int, bytes]:
        transport = httpx.ASGITransport(app=app)
        address = "http://127.0.0.1:8001"
        async with httpx.AsyncClient(transport=transport, base_url=address, timeout=100) as client:
            answer = await client.request(method, path, **request)
            return answer.status_code, answer.content

    return asyncio.run(asked())


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()


def _hostile(one: Try, value: Any) -> Any:
    """Copy a request, with an absurd value in place of one that is drawn."""
    if isinstance(value, dict) and value and one.rng.random() < 0.85:
        key = one.rng.choice(list(value))
        return value | {key: _hostile(one, value[key])}
    if isinstance(value, list) and value and one.rng.random() < 0.7:
        n = one.rng.randrange(len(value))
        return [*value[:n], _hostile(one, value[n]), *value[n + 1 :]]
    return one.rng.choice(VALUES)


def _type_system() -> Any:

    types = TypeSystem()
    segment = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
    for name in ("Sentence", "Token"):
        types.create_type(f"{segment}.{name}", "uima.tcas.Annotation")
    layer = types.create_type("custom.Name", "uima.tcas.Annotation")
    types.create_feature(layer, "value", "uima.cas.String")
    types.create_feature(layer, "inception_internal_predicted", "uima.cas.Boolean")
    return types


def _xmi(cas: Any) -> str:
    """Write a document, also one whose annotations stand outside its text."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(cas.to_xmi())


def _predict(annotations: Sequence[tuple[str, int, int]], text: str) -> dict[str, Any]:

    types = _type_system()
    cas = Cas(types)
    cas.sofa_string, cas.sofa_mime = text, "text/plain"
    segment = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
    for name, begin, end in annotations:
        cas.add(types.get_type(f"{segment}.{name}")(begin=begin, end=end))
    return {
        "metadata": {"layer": "custom.Name", "feature": "value", "projectId": 1},
        "document": {"xmi": _xmi(cas), "documentId": 1},
        "typeSystem": types.to_xml(),
        "tagsets": [{"tags": [{"tag": "PER"}], "targets": []}],
    }


def _requests() -> list[tuple[str, str, Any]]:
    """Return a good request for each address that takes JSON: method, path, content."""
    pattern = {"label": "person", "pattern": [{"lower": {"regex": "a+"}, "op": "?"}, {"text": "B"}]}
    whole = [("Sentence", 0, 8), ("Token", 0, 3), ("Token", 4, 8)]
    queries = {"q": {"query": "Marc", "type": "person", "limit": 3, "properties": [
        {"pid": "birth", "v": [1880, {"id": "x"}]}]}}  # fmt: skip
    extend = {"ids": ["P.1", "x"], "properties": [{"id": "name", "settings": {"limit": "1"}}]}
    return [
        ("POST", "/v1/tag", {"texts": ["Ida in Ulm", {"text": "Au", "id": "1", "lang": "de"}]}),
        ("POST", "/v1/tag", {"text": "Ida", "lang": "de", "threshold": 0.5, "candidates": 3}),
        ("POST", "/v1/tag", {"sentences": [["Ida", "in"]], "model": "small"}),
        ("POST", "/v1/tag", {"texts": ["Ida"], "stream": True}),
        ("POST", "/patterns/", {"lang": "de", "text": "A B", "patterns": [pattern]}),
        ("POST", "/predict", _predict(whole, "Ida Berg")),
        ("POST", "/train/", {"name": "x", "samples": [{"text": "Ida", "entities": [[0, 3, "p"]]}]}),
        ("FORM", "/reconcile", {"queries": queries}),
        ("FORM", "/reconcile", {"extend": extend}),
    ]


@attack("service", "requests with absurd values", tries=30)
def absurd_requests(one: Try) -> str:
    """Fail if a request is answered with a status of 500 or more, or by an exception."""
    chosen = [one.rng.choice(_requests()) for _ in range(24)]

    def ask() -> None:
        with _service() as app:
            for method, path, good in chosen:
                hostile = _hostile(one, good)
                if method == "FORM":
                    given = hostile if isinstance(hostile, dict) else {"queries": hostile}
                    fields = {name: json.dumps(value) for name, value in given.items()}
                    body = urlencode(fields).encode()
                    kind = "application/x-www-form-urlencoded"
                else:
                    body, kind = _json(hostile), "application/json"
                sys.stdout.write(f"{path}: {body[:300]!r}\n")
                status, answer = _ask(
                    app, "POST", path, content=body, headers={"Content-Type": kind}
                )
                if status >= 500:
                    sys.stdout.write(f"{status} {path}: {body[:200]!r}: {answer[:200]!r}\n")
                    sys.exit(3)

    return one.call(ask).fault(0)


@attack("service", "addresses and headers that are absurd", tries=20)
def absurd_addresses(one: Try) -> str:
    """Fail if a request is answered with a status of 500 or more, or by an exception."""
    big = "9" * 5000
    paths = (
        *("/model/%s", "/entities/%s", "/train/%s", "/reconcile/preview?id=%s"),
        *("/reconcile/suggest/entity?prefix=M&cursor=%s", "/reconcile/properties?limit=%s"),
        *("/reconcile/suggest/type?prefix=%s", "/reconcile?queries=%s", "/?properties=%s"),
        *("/v1/tag?threshold=%s", "/v1/tag?lang=%s", "/v1/tag?existing=%s"),
    )
    headers = ("origin", "host", "cookie", "authorization", "content-type", "content-length")
    texts = ("http://[", "http://[::1", "null", "[", "", "a" * 9000, "\xff", "=;=", big, "1,2", "²")

    def ask() -> None:
        with _service() as app:
            for _ in range(15):
                value = one.rng.choice([*STRINGS, big, str(10**19)])
                path = one.rng.choice(paths) % quote(value[:6000], errors="replace")
                given = {
                    one.rng.choice(headers): one.rng.choice(texts).encode("latin-1", "replace")
                }
                method = one.rng.choice(["GET", "POST", "OPTIONS"])
                sys.stdout.write(f"{method} {path[:200]} {given}\n")
                status, answer = _ask(app, method, path, headers=given, content=b"Ida")
                if status >= 500:
                    sys.stdout.write(f"{status} {path[:200]} {given}: {answer[:200]!r}\n")
                    sys.exit(3)

    return one.call(ask).fault(0)


def _slow_requests() -> list[tuple[str, str, Callable[[int], bytes]]]:
    """Return requests that once took time with the square of their size, or could.

    Each is a path, a kind of content, and a function from a size to the body.
    """
    a = "a " * 40

    def patterns(n: int, one: dict[str, Any], text: str = a) -> bytes:
        return _json({"text": text, "patterns": [{"label": "person", "pattern": [one] * n}]})

    def cas(n: int, kind: Callable[[int], tuple[str, int, int]]) -> bytes:
        text = "Ida " * n
        return _json(_predict([kind(i) for i in range(n)], text))

    def queries(**properties: Any) -> bytes:
        return urlencode({"queries": json.dumps({"q": properties})}).encode()

    starred, plain = {"lower": "a", "op": "*"}, {"lower": "a"}
    many = [{"pid": "name", "v": ["Marc"]}]
    return [
        ("/patterns/", "json", lambda n: patterns(n // 30, starred)),
        ("/patterns/", "json", lambda n: patterns(n // 20, plain, "a " * (n // 4))),
        ("/patterns/", "json", lambda n: _json({"text": "a " * (n // 4), "patterns": [
            {"label": "person", "pattern": [starred, {"lower": "b"}]}] * (n // 80)})),
        ("/predict", "json", lambda n: cas(n // 150, lambda _: ("Sentence", 0, 4))),
        ("/predict", "json", lambda n: cas(
            n // 150, lambda i: (("Sentence", "Token")[i % 2], i, 9 * i))),
        ("/predict", "json", lambda n: cas(n // 150, lambda i: ("Token", 4 * i, 4 * i + 3))),
        ("/v1/tag", "json", lambda n: _json({"text": "a" * n})),
        ("/v1/tag", "json", lambda n: _json({"text": "A. " * (n // 3)})),
        ("/v1/tag", "json", lambda n: _json({"texts": ["Ida"] * (n // 6), "candidates": 20})),
        ("/v1/tag", "json", lambda n: _json({"sentences": [["a"] * (n // 5)]})),
        ("/entities/small", "text", lambda n: b"Ida\n" * (n // 4)),
        ("/?properties=%7B%7D", "text", lambda n: "\U0001f642 Ida ".encode() * (n // 9)),
        ("/reconcile", "form", lambda n: queries(query="x" * n)),
        ("/reconcile", "form", lambda n: queries(query="Marc", properties=many * (n // 40))),
        ("/reconcile", "form", lambda n: queries(
            properties=[{"pid": "name", "v": ["Marc Franz"] * (n // 14)}])),
        ("/reconcile", "form", lambda n: urlencode({"extend": json.dumps({"ids": ["P.1"] * 1000,
            "properties": [{"id": "name"}] * (n // 16)})}).encode()),
        ("/v1/tag", "tei", lambda n: b"<TEI><text><body>" + b"<p>Ida</p>" * (n // 10)
            + b"</body></text></TEI>"),
    ]  # fmt: skip


_KINDS = {
    "json": "application/json",
    "text": "text/plain",
    "form": "application/x-www-form-urlencoded",
    "tei": "application/tei+xml",
}


@attack("service", "requests that take the square of their size", tries=17)
def slow_requests(one: Try) -> str:
    """Fail if twice the bytes take much more than twice the time, or at a status of 500 or more."""
    requests = _slow_requests()
    path, kind, make = requests[one.number % len(requests)]

    def read(data: bytes) -> None:
        with _service() as app:
            status, answer = _ask(
                app, "POST", path, content=data, headers={"Content-Type": _KINDS[kind]}
            )
            assert status < 500, (status, answer[:200])

    failure = measured(one, read, make)
    return f"{path}: {failure}" if failure else ""


@attack("service", "XML in requests that names files, or multiplies itself", tries=8)
def entities(one: Try) -> str:
    """Fail if a file of this machine comes back, or if the answer is large or 500 or more."""
    secret = one.folder / "secret.txt"
    secret.write_text("SECRET")
    dtds = (
        f'<!DOCTYPE TEI [<!ENTITY a SYSTEM "file://{secret}">]>',
        f'<!DOCTYPE TEI SYSTEM "file://{secret}">',
        f'<!DOCTYPE x [<!ENTITY % a SYSTEM "file://{secret}"> %a;]>',
        "<!DOCTYPE x ["
        '<!ENTITY a0 "SECRE">'
        + "".join(f'<!ENTITY a{n + 1} "{f"&a{n};" * 10}">' for n in range(9))
        + '<!ENTITY a "&a9;">]>',
    )
    dtd = dtds[one.number % len(dtds)]
    if one.number < len(dtds):
        body: bytes = f"{dtd}<TEI><text><body><p>Ida &a;</p></body></text></TEI>".encode()
        path, kind = "/v1/tag", _KINDS["tei"]
    else:
        good = _predict([], "Ida Berg")
        xmi = re.sub(r"\A<\?xml[^>]*\?>", "", good["document"]["xmi"])
        good["document"]["xmi"] = dtd + xmi.replace("Ida Berg", "Ida &a;")
        body, path, kind = _json(good), "/predict", _KINDS["json"]

    def ask() -> None:
        with _service() as app:
            status, answer = _ask(app, "POST", path, content=body, headers={"Content-Type": kind})
            if status >= 500 or b"SECRET" in answer or len(answer) > 100_000:
                sys.stdout.write(f"{status}: {answer[:300]!r}\n")
                sys.exit(3)

    return one.call(ask, megabytes=2_000).fault(0)


def _never_ending(address: tuple[str, int], first: bytes, rest: bytes, *, seconds: float) -> float:
    """Send a byte now and then; returns after how many seconds the server hung up."""
    begin = time.monotonic()
    with socket.create_connection(address, timeout=5) as connection:
        connection.sendall(first)
        connection.settimeout(0.2)
        while time.monotonic() - begin < seconds:
            try:
                with suppress(TimeoutError):
                    if not connection.recv(4096):
                        break
                connection.sendall(rest)
            except OSError:
                break  # the server hung up
    return time.monotonic() - begin


@attack("service", "heads and bodies that never end, two hundred at once", tries=4)
def slow_bodies(one: Try) -> str:
    """Fail if others wait longer than 5 s for an answer, or a connection is kept for 60 s."""
    kinds = (
        (b"POST /v1/tag HTTP/1.1\r\nHost: 127.0.0.1\r\n", b"x"),
        (b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99999\r\n\r\n", b"x"),
        (
            b"POST /v1/tag HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1\r\nx\r\n",
        ),
        (b"", b"\r\n"),
    )
    first, rest = kinds[one.number % len(kinds)]

    def serve() -> None:

        async def echo(_scope: Any, _receive: Any, send: Any) -> None:
            await send({"type": "http.response.start", "status": 200, "headers": []})
            await send({"type": "http.response.body", "body": b"here"})

        ready = threading.Event()
        guard = Guard(echo, Rules(body_seconds=8, open_paths={"/health"}))
        server = Server(guard, listen("127.0.0.1", 0), on_ready=lambda _: ready.set())
        serving = threading.Thread(target=server.answer, daemon=True)
        serving.start()
        ready.wait(30)
        address = server.listener.getsockname()[:2]
        kept: list[float] = []

        def hold() -> None:
            kept.append(_never_ending(address, first, rest, seconds=60))

        threads = [threading.Thread(target=hold, daemon=True) for _ in range(200)]
        for thread in threads:
            thread.start()
        time.sleep(3)
        begin = time.monotonic()
        with socket.create_connection(address, timeout=20) as connection:
            connection.sendall(
                b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"
            )
            answer = b""
            while part := connection.recv(4096):
                answer += part
        waited = time.monotonic() - begin
        for thread in threads:
            thread.join(90)
        server.stop()
        serving.join(20)
        if b"200" not in answer[:20] or waited > 5 or max(kept) > 50:
            sys.stdout.write(f"waited {waited:.1f} s for {answer[:30]!r}, kept {max(kept):.0f} s\n")
            sys.exit(3)

    return one.call(serve, seconds=120).fault(0)


@contextmanager
def _desk(one: Try, name: str = "sample") -> Iterator[tuple[Any, Any, Path]]:
    """Yield the application of a workbench on sample letters, its desk and its folder."""

    folder = make_sample(one.folder / name)
    desk = make_desk(
        Options(
            tei=(str(folder / "letters" / "*.xml"),),
            edition=str(folder / "letters.toml"),
            candidates=folder / "list.tsv",
            register=(str(folder / "register" / "*.xml"),),
            output=folder / "reviewed",
            reviewer="kb",
        )
    )
    for letter in desk.letters.all:
        desk.look(letter)
    yield Guard(application(desk), Rules()), desk, folder


@attack("workbench", "decisions with absurd values, and what is saved of them", tries=25)
def decisions(one: Try) -> str:
    """Fail at an exception, an unreadable line of the journal, or a malformed file."""

    def decide() -> None:

        headers = {"Origin": "http://127.0.0.1:8001"}
        with _desk(one) as (app, desk, folder):
            for _ in range(12):
                letter = one.rng.choice(desk.letters.all)
                items = letter.names[0].items()
                item = (
                    one.rng.choice(items).to_json() if items else {"id": "", "start": 0, "end": 3}
                )
                good = item | {"letter": letter.number, "document": 0, "was": item}
                good |= {"status": one.rng.choice(["accepted", "rejected", "open"])}
                hostile = good | {"entity": one.rng.choice(STRINGS)}
                if one.rng.random() < 0.7:
                    hostile |= {one.rng.choice(list(good)): one.rng.choice(VALUES)}
                body = _json(one.rng.choice([[hostile], [good, hostile], hostile]))
                sys.stdout.write(f"{body[:600]!r}\n")
                paths = ("/api/decide", "/api/decide", "/api/undo", "/api/redo", "/api/save")
                path = one.rng.choice(paths)
                status, answer = _ask(app, "POST", path, content=body, headers=headers)
                if status >= 500:
                    sys.stdout.write(f"{status} {path}: {answer[:300]!r}\n")
                    sys.exit(3)
            status, answer = _ask(app, "POST", "/api/save", headers=headers)
            if status != 200 or json.loads(answer)["refused"]:
                sys.stdout.write(f"not saved: {status} {answer!r}\n"[:500])
                sys.exit(4)
            for file in (folder / "reviewed").glob("*.xml"):
                parse_xml(file.read_bytes(), name=file.name)
            found = read_decisions(desk.journal.path)
            if found.unreadable:
                sys.stdout.write(f"{found.unreadable[0]}\n")
                sys.exit(5)

    return one.call(decide).fault(0)


@attack("workbench", "addresses that are absurd", tries=15)
def workbench_addresses(one: Try) -> str:
    """Fail at a status of 500 or more, an exception, or a file of this machine in an answer."""
    paths = (
        *("/api/letters/%s", "/api/letters/0/0/%s/markup", "/api/letters/%s/0/0/markup", "/%s"),
        *("/api/occurrences?form=%s", "/api/search?words=%s", "/api/entries?words=%s&label=%s"),
    )

    def ask() -> None:
        with _desk(one) as (app, _, _folder):
            for _ in range(20):
                value = quote(one.rng.choice(STRINGS)[:6000], errors="replace")
                path = one.rng.choice(paths)
                path = path % ((value,) * path.count("%s"))
                sys.stdout.write(f"{path[:200]}\n")
                status, answer = _ask(app, "GET", path)
                if status >= 500 or b"root:" in answer:
                    sys.stdout.write(f"{status} {path[:200]}: {answer[:200]!r}\n")
                    sys.exit(3)

    return one.call(ask).fault(0)


def _letter(body: str) -> bytes:
    head = "<teiHeader><fileDesc><titleStmt><title>x</title></titleStmt></fileDesc></teiHeader>"
    return f"<TEI>{head}<text><body>{body}</body></text></TEI>".encode()


_VIEWS: tuple[Callable[[int], str], ...] = (
    lambda n: "<p>" + "<note>x y</note>" * (n // 16) + "</p>",
    lambda n: "<p>x</p><note>" + "<note><p>x</p></note>" * (n // 21) + "</note>",
    lambda n: "<p>x" + "<lb/><note>y</note>" * (n // 19) + "</p>",
    lambda n: "<p>x" + "<lb/>" * (n // 10) + "<note>y</note>" * (n // 28) + "</p>",
    lambda n: "<p>" + "<hi>x</hi>" * (n // 10) + "</p>",
    lambda n: "<p>x</p>" * (n // 8),
    lambda n: "<table>" + "<row><cell>x</cell></row>" * (n // 25) + "</table>",
    lambda n: "<p>" + "<persName ref='#a'>Ida</persName> " * (n // 34) + "</p>",
    lambda n: "<p>x<pb/></p>" * (n // 13),
)


@attack("workbench", "letters that take the square of their size to be shown", tries=len(_VIEWS))
def slow_views(one: Try) -> str:
    """Fail if twice the bytes take much more than twice the time."""
    make = _VIEWS[one.number % len(_VIEWS)]

    def show(data: bytes) -> None:

        edition = load_edition(edition_path("tei"))
        for text, places in TeiFile.read(data, edition, name="x.xml").texts:
            if text.document:
                tei_view(text.document, places, edition)

    return measured(one, show, lambda size: _letter(make(size)))


@attack("workbench", "a page of letters with markup in them (--page)", tries=6)
def page(one: Try) -> str:
    """Fail if the text of a letter becomes markup or script of the page."""
    said = one.rng.choice(
        ["</script><script>alert(1)</script>", "<!--<script>", "<img src=x onerror=alert(1)>",
         "\u2028\u2029", "]]>", '"}]}</script>', "href=\"icon.svg\" <meta charset=\"utf-8\">"]
    )  # fmt: skip
    escaped = said.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    letters = one.folder / "letters"
    letters.mkdir()
    clean, hostile = (_letter(f"<p>Ida {text} Berg</p>") for text in ("x", escaped))
    tags: list[int] = []
    for name, data in (("a", clean), ("b", hostile)):
        (letters / "a.xml").write_bytes(data)
        made = one.folder / f"{name}.html"
        outcome = one.command(
            "modeling.workbench", "--tei", letters / "a.xml", "--edition", "tei", "--page", made
        )
        if fault := outcome.fault(0):
            return fault
        written = made.read_bytes()
        tags.append(sum(written.lower().count(style) for style in _STYLES) + written.count(b"<img"))
    return "" if tags[0] == tags[1] else f"{said!r}: {tags[1] - tags[0]} more tags"


@attack("names", "names of models on a hub that lead elsewhere", tries=12)
def hub_names(one: Try) -> str:
    """Fail if a name is taken, leads out of the cache, or ends with a traceback."""
    names = (
        *("hub:../../etc/passwd", "hub:..", "hub:../x", "hub:/etc", "hub:a/b/c", "hub:a@../../x"),
        *("hub:a\0b", "hub:", "hub:@", "hub:a/..", f"hub:{'a' * 9999}", "hub:http://x/y"),
    )
    name = names[one.number % len(names)]

    def load() -> None:
        os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": str(one.folder / "hub")}
        from modeling.huggingface.hub import local_folder

        try:
            found = local_folder(Path(name))
        except CorpusError:
            return
        sys.stdout.write(f"{name!r}: {found}\n")
        sys.exit(3)

    return one.call(load).fault(0)
