"""Extraction in a process of its own, under bounds of time and memory.

A hostile page can keep a parser busy for hours, or fill the memory, and a library of C cannot be
stopped from inside: so a page that goes beyond ``Bounds`` costs its process, and nothing else. Time
is that of the processor, which hardly depends on what else the machine does.
"""

import atexit
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import IO, Any

from corpora.errors import UsageError
from corpora.news.blocks import Link
from corpora.news.extraction import Article, ExtractionError, extract
from corpora.news.page_metadata import PageMetadata

_WALL = 20
"""How many times the time of the processor may pass on the clock, before a process is killed."""
_START_SECONDS = 60.0
_INSTALL = {
    "trafilatura": "pip install 'onoma[news]'",
    "news-please": "pip install 'onoma[news-please]'",
}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a page may take."""

    seconds: float = 10.0
    """Of the processor."""
    megabytes: int = 1_000


def check_installed(extractor: str) -> str:
    """The extractor with its version; raises ``UsageError`` where it is not installed."""
    try:
        return f"{extractor} {version(extractor)}"
    except PackageNotFoundError:
        raise UsageError(
            f"--extractor {extractor}: it is not installed. Install it: {_INSTALL[extractor]}"
        ) from None


def extract_bounded(html: str, *, url: str | None, extractor: str, bounds: Bounds) -> Article:
    """``extract`` in another process; raises ``ExtractionError``."""
    return _engine(os.getpid(), extractor, bounds).ask(html, url=url)


class _Engine:
    """The process, one for all threads of this one; a page that ends it ends it alone."""

    def __init__(self, extractor: str, bounds: Bounds) -> None:
        self.extractor, self.bounds = extractor, bounds
        self.lock = threading.Lock()
        self.process: subprocess.Popen[str] | None = None

    def ask(self, html: str, *, url: str | None) -> Article:
        """Give what is found in a page."""
        request = json.dumps({"html": html, "url": url})
        with self.lock:
            answer = self._answer(request)
        if error := answer.get("error"):
            raise ExtractionError(answer["reason"], error)
        return _article(answer)

    def _answer(self, request: str) -> dict[str, Any]:
        process = self.process = self.process or _start(self.extractor, self.bounds)
        assert process.stdin  # noqa: S101 - pipes were asked for
        assert process.stdout  # noqa: S101
        seconds = max(_START_SECONDS, self.bounds.seconds * _WALL)
        timer = threading.Timer(seconds, process.kill)
        timer.start()
        try:
            process.stdin.write(request + "\n")
            process.stdin.flush()
            answer = process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        finally:
            timer.cancel()
        if not answer.endswith("\n"):
            self.process = None
            raise self._explain(process)
        values: dict[str, Any] = json.loads(answer)
        return values

    def _explain(self, process: "subprocess.Popen[str]") -> ExtractionError:
        """Say why a process gave no answer, once it has ended."""
        _end(process)
        if process.returncode in (-signal.SIGPROF, -signal.SIGKILL):
            what = f"not read within {self.bounds.seconds:g} s of the processor (--max-seconds)."
            return ExtractionError("extraction_timeout", what)
        if process.returncode == _NO_MEMORY:
            what = f"takes more than {self.bounds.megabytes} MB of memory to read."
            return ExtractionError("extraction_memory", what)
        what = f"the extractor ended with exit status {process.returncode}. Leave the page out."
        return ExtractionError("extractor_failed", what)

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            _end(self.process)
            self.process = None


def _end(process: "subprocess.Popen[str]") -> None:
    """Close the pipes, and wait."""
    try:
        process.communicate()
    except (BrokenPipeError, ValueError):
        process.wait()


def _article(answer: Mapping[str, Any]) -> Article:
    """An article as ``asdict`` and JSON left it."""
    told: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in answer["metadata"].items()
    }
    told["reservations"] = tuple((name, content) for name, content in told["reservations"])
    return Article(
        answer["text"],
        tuple((start, end, kind) for start, end, kind in answer["blocks"]),
        tuple(Link(**link) for link in answer["links"]),
        PageMetadata(**told),
        answer["linked"],
        answer["counters"],
    )


@cache
def _engine(_: int, extractor: str, bounds: Bounds) -> _Engine:
    """One for each process, by its id: a copy of a process does not share the pipes."""
    engine = _Engine(extractor, bounds)
    atexit.register(engine.close)
    return engine


def _start(extractor: str, bounds: Bounds) -> "subprocess.Popen[str]":
    limits = [extractor, str(bounds.seconds), str(bounds.megabytes)]
    known = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PYTHONHASHSEED": "0"}
    return subprocess.Popen(
        [sys.executable, "-P", "-W", "ignore", "-m", __name__, *limits],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=os.environ | known,
        encoding="utf-8",
    )


_FIRST = "<html><body><p>A page to load the libraries with.</p></body></html>"
_NO_MEMORY = 97
"""Exit status of a process that has no memory left."""


def serve(requests: IO[str], answers: IO[str], *, extractor: str, seconds: float) -> int:
    """Answer pages with articles, as JSON, until there are no more; returns the exit status."""
    for request in requests:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # ends this process when it is over
        try:
            answer = asdict(extract(**json.loads(request), extractor=extractor))
        except MemoryError:
            return _NO_MEMORY
        except ExtractionError as error:
            answer = {"reason": error.reason, "error": str(error)}
        except Exception as error:  # noqa: BLE001 - of a library, on a page that it did not expect
            what = f"the extractor failed ({type(error).__name__}: {error})"[:200]
            answer = {"reason": "extractor_failed", "error": f"{what}. Leave the page out."}
        signal.setitimer(signal.ITIMER_PROF, 0)
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
    return 0


def main(argv: list[str]) -> int:
    """Bound this process, load the libraries, and serve."""
    import resource

    extractor, seconds, megabytes = argv[0], float(argv[1]), int(argv[2])
    resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is no answer
    extract(_FIRST, url=None, extractor=extractor)
    return serve(sys.stdin, answers, extractor=extractor, seconds=seconds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
