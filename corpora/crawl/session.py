"""Crawl the sites of a table into an archive: a session, begun or resumed.

``session.json`` says which session was the last, and whether it is finished. One that is not is
resumed: the finders look again, and what the archive has is not asked for again.
"""

import multiprocessing
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from corpora.crawl.scrapy_process import LOG, Progress, run
from corpora.crawl.sites import Site
from corpora.crawl.tally import CrawlReport, to_markdown
from corpora.errors import CorpusError, UsageError
from corpora.system.parsing import parse_json

SESSION = "session.json"
_SAY_SECONDS = 15.0
_END_SECONDS = 5.0
_PATIENCE_SECONDS = 30.0
"""How long an ordered end may take."""
Say = Callable[[str], object]


def crawl(sites: Sequence[Site], archive: Path, *, say: Say) -> CrawlReport:
    """Crawl; returns what became of it. ``say`` gets a line now and then.

    Raises ``CorpusError``: another process works in the archive, it cannot be written. Interrupted,
    it ends in order, writes its report, and raises ``KeyboardInterrupt``; the next call resumes.
    """
    check_installed()
    archive.mkdir(parents=True, exist_ok=True)
    session = _choose_session(archive)
    start = time.monotonic()
    is_interrupted = False
    with _supervised(sites, archive, session) as pipe:
        try:
            told = _follow(pipe, archive, say=say)
        except KeyboardInterrupt:
            is_interrupted = True
            say("interrupted: ending in order …")
            told = _stop(pipe, archive, say=say)
    seconds = time.monotonic() - start
    report = CrawlReport(
        session, not is_interrupted, told.tallies, seconds=seconds, repaired=told.repaired
    )
    _write(archive, report)
    if is_interrupted:
        raise KeyboardInterrupt
    return report


@contextmanager
def _supervised(sites: Sequence[Site], archive: Path, session: str) -> Iterator[Connection]:
    """Start Scrapy's process; when the pipe to it is closed, it ends at once."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    about = {"sites": tuple(sites), "archive": archive, "session": session}
    process = context.Process(target=run, args=(theirs,), kwargs=about)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join(_END_SECONDS)
        if process.is_alive():
            process.kill()


def _stop(pipe: Connection, archive: Path, *, say: Say) -> Progress:
    """Ask the other process to end; raises ``KeyboardInterrupt`` where it does not, or has."""
    try:
        pipe.send("stop")
        return _follow(pipe, archive, say=say, most=_PATIENCE_SECONDS)
    except (CorpusError, OSError):
        raise KeyboardInterrupt from None


def check_installed() -> None:
    """Raise ``UsageError`` where news-please is not there."""
    if not find_spec("newsplease") or not find_spec("scrapy"):
        raise UsageError(
            "the crawler finds articles by news-please, which is not installed. "
            "pip install 'onoma[news,news-please]'"
        )


def _choose_session(archive: Path) -> str:
    """The session that is not finished, or a new one."""
    from corpora.datasets.shards import write_json

    told = read_session(archive)
    if told and not told["finished"]:
        return str(told["session"])
    while (session := datetime.now(UTC).strftime("%Y%m%dT%H%M%S")) == told.get("session"):
        time.sleep(0.1)
    write_json(archive / SESSION, {"session": session, "finished": False})
    return session


def read_session(archive: Path) -> dict[str, Any]:
    """Read ``session.json``; empty where there is none. Raises ``CorpusError``."""
    path = archive / SESSION
    try:
        told = parse_json(path.read_text("utf-8"))
        return {"session": str(told["session"]), "finished": bool(told["finished"])}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"{path}: damaged ({error!r}). Take it away; a new session begins, and the articles of "
            "the archive are not fetched again."
        ) from error


def _follow(pipe: Connection, archive: Path, *, say: Say, most: float = float("inf")) -> Progress:
    """Listen until the other process is done; raises ``CorpusError`` where it fails."""
    start = said = time.monotonic()
    while time.monotonic() < start + most:
        if not pipe.poll(1.0):
            continue
        try:
            told = pipe.recv()
        except (EOFError, OSError):
            break
        if isinstance(told, str):
            raise CorpusError(told)
        progress: Progress = told
        if progress.is_done:
            return progress
        if time.monotonic() > said + _SAY_SECONDS:
            said = time.monotonic()
            say(str(progress))
    raise CorpusError(
        f"the crawl ended before its time; see {archive / LOG}. The same command resumes."
    )


def _write(archive: Path, report: CrawlReport) -> None:
    """Write the report, and then what ``session.json`` says."""
    from corpora.datasets.shards import write_json, write_text
    from corpora.runs.build import sync_folder

    write_json(archive / f"crawl-{report.session}.report.json", report.to_json())
    write_text(archive / f"crawl-{report.session}.report.md", [to_markdown(report)])
    ended = {tally.name: tally.ended for tally in report.tallies}
    about = {"session": report.session, "finished": report.is_finished, "ended": ended}
    write_json(archive / SESSION, about)
    sync_folder(archive)
