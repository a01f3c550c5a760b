"""The HTTP routes of the workbench, which serve the files of the page and the JSON of a ``Desk``.

``modeling.http`` decides who may send requests. No answer has text that a browser reads as markup,
and no URL has the name of a file of the edition.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from corpora.errors import CorpusError
from corpora.system.parsing import parse_json
from modeling.workbench import finding, saving
from modeling.workbench.datasets import DatasetReader
from modeling.workbench.desk import ConflictError, Desk
from modeling.workbench.facsimiles import KINDS
from modeling.workbench.names import RefusedError
from modeling.workbench.overview import overview, unlinked

if TYPE_CHECKING:
    from modeling.workbench.learning import Learner

_KINDS: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
_HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
        "require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
_Answer = Callable[[Request], Awaitable[Response]]


@cache
def page_files() -> dict[str, bytes]:
    """Read all files of the page, by name."""
    folder = files("modeling.workbench") / "page"
    return {file.name: file.read_bytes() for file in folder.iterdir() if _kind(file.name)}


def _kind(name: str) -> str:
    return _KINDS.get(name[name.rfind(".") :], "")


def reading_application(reader: DatasetReader) -> Starlette:
    """Make the application that only shows the rows of a dataset."""
    return Starlette(
        routes=[
            *_page_routes(),
            _read("/api/letters", lambda r: reader.listing(**_asked(r, "said"))),
            _read("/api/letters/{number:int}", lambda r: reader.letter(**r.path_params)),
        ]
    )


def _page_routes(origins: Sequence[str] = ()) -> list[Route]:
    """Return the routes of the page's files; ``origins`` are the servers it loads images from."""
    policy = _HEADERS["Content-Security-Policy"]
    policy = policy.replace("img-src 'self'", " ".join(["img-src 'self'", *origins]))
    return [
        Route("/", _file("index.html", {"Content-Security-Policy": policy})),
        *(Route(f"/{name}", _file(name)) for name in page_files() if name != "index.html"),
    ]


def _read(path: str, answer: Callable[[Request], object]) -> Route:
    return Route(path, _answering(answer), methods=["GET"])


def _write(path: str, answer: Callable[[object], object]) -> Route:
    return Route(path, _writing(answer), methods=["POST"])


def application(desk: Desk, learner: "Learner | None" = None) -> Starlette:
    """Make the application; the caller must put a ``Guard`` before it."""
    return Starlette(
        routes=[
            *_page_routes(desk.facsimiles.origins),
            Route("/api/letters/{number:int}/images/{image:int}", _image(desk)),
            _read("/api/letters", lambda _: desk.listing() | {"canTrain": learner is not None}),
            _read("/api/letters/{number:int}", lambda r: desk.letter(**r.path_params)),
            _read(
                "/api/letters/{number:int}/{document:int}/{block:int}/markup",
                lambda r: saving.markup(desk, **r.path_params),
            ),
            _read("/api/occurrences", lambda r: finding.occurrences(desk, **_asked(r, "form"))),
            _read("/api/search", lambda r: finding.search(desk, **_asked(r, "words"))),
            _read(
                "/api/entries",
                lambda r: finding.entries(desk, **_asked(r, "words", "form", "label", "source")),
            ),
            _read("/api/overview", lambda _: overview(desk)),
            _read("/api/unlinked", lambda _: unlinked(desk)),
            _write("/api/decide", lambda body: desk.decide(_list(body))),
            _write("/api/entry", lambda body: desk.make_entry(_list([body])[0])),
            _write("/api/undo", lambda _: desk.undo()),
            _write("/api/redo", lambda _: desk.redo()),
            _write("/api/save", lambda _: saving.save(desk)),
            *([] if learner is None else _training_routes(learner)),
        ]
    )


def _training_routes(learner: "Learner") -> list[Route]:
    return [
        _read("/api/training", lambda _: learner.state()),
        _write("/api/training/start", lambda _: learner.start()),
        _write("/api/training/stop", lambda _: learner.stop()),
        _write("/api/training/use", lambda _: learner.use()),
    ]


def _asked(request: Request, *names: str) -> dict[str, str]:
    return {name: request.query_params.get(name, "") for name in names}


def _list(body: object) -> list[Mapping[str, object]]:
    if not isinstance(body, list) or not body or not all(isinstance(item, dict) for item in body):
        raise RefusedError("A list of decisions was expected, as the page sends it.")
    return body


def _image(desk: Desk) -> _Answer:
    async def answer(request: Request) -> Response:
        try:
            path = await run_in_threadpool(lambda: desk.image(**request.path_params))
            data = await run_in_threadpool(path.read_bytes)
        except (CorpusError, OSError):
            return _json({"detail": "There is no such image."}, status=404)
        kind = KINDS[path.suffix.lower()]
        return Response(data, headers={**_HEADERS, "Content-Type": kind})

    return answer


def _file(name: str, more: Mapping[str, str] | None = None) -> _Answer:
    async def answer(_: Request) -> Response:
        headers = {**_HEADERS, "Content-Type": _kind(name), **(more or {})}
        return Response(page_files()[name], headers=headers)

    return answer


def _answering(work: Callable[[Request], object]) -> _Answer:
    async def answer(request: Request) -> Response:
        return await run_in_threadpool(_result, lambda: work(request))

    return answer


def _writing(work: Callable[[object], object]) -> _Answer:
    async def answer(request: Request) -> Response:
        if request.headers.get("origin") is None:  # browsers send it with each POST
            return _json({"detail": "Only the page may decide: no Origin."}, status=403)
        try:
            body = parse_json(await request.body() or b"null")
            json.dumps(body, ensure_ascii=False).encode()  # raises for lone surrogates
        except ValueError:
            return _json({"detail": "No JSON."}, status=400)
        return await run_in_threadpool(_result, lambda: work(body))

    return answer


def _result(work: Callable[[], object]) -> Response:
    """Return the result of ``work`` as JSON; turn errors into a message and a status."""
    try:
        return _json(work())
    except ConflictError as error:
        return _json({"detail": str(error)}, status=409)
    except RefusedError as error:
        return _json({"detail": str(error)}, status=422)
    except CorpusError as error:
        return _json({"detail": str(error)}, status=507 if "written" in str(error) else 500)
    except OSError as error:
        return _json({"detail": f"{error.filename}: {error.strerror}."}, status=500)


def _json(value: object, *, status: int = 200) -> Response:
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return Response(data, status, {**_HEADERS, "Content-Type": "application/json"})
