"""Sessions: one crawl of the sites of a table into an archive, begun or resumed.

``session.json`` names the last session, and says whether it is finished. If not, it is resumed: the
finders start over, and addresses that the archive has are not fetched again.

Scrapy runs in a process of its own, so that its event loop, logs and signals are separate. All
sites are crawled at once, the finders of a site one after the other. The process sends its progress
through a pipe. If the other end is closed, for whatever reason, the process ends at once: the
archive is whole at any moment.
"""

import asyncio
import logging
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, TypedDict

from corpora.crawl.archive import Repair
from corpora.crawl.sites import Site
from corpora.crawl.tally import CrawlReport, SiteTally, to_markdown
from corpora.errors import CorpusError, UsageError
from corpora.system.files import open_own
from corpora.system.parsing import parse_json

if TYPE_CHECKING:
    from scrapy.http import Response

    from corpora.crawl.download_handler import Downloader

log = logging.getLogger(__name__)
LOG = "crawl.log"
MAX_THREADS = 64
_PROGRESS_SECONDS = 1.0
SESSION = "session.json"
_SAY_SECONDS = 15.0
_END_SECONDS = 5.0
_PATIENCE_SECONDS = 30.0
"""The seconds that Scrapy's process may take to end in order."""
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class CrawlProgress:
    """The counts of all sites until now."""

    tallies: tuple[SiteTally, ...]
    repaired: Repair
    """The repairs that were made when the archive was opened."""
    is_done: bool = False

    def __str__(self) -> str:
        """Format the counts for the log of a command."""
        n_done = sum(1 for tally in self.tallies if tally.ended)
        n_fetched, n_archived, n_refused = (
            sum(getattr(tally, name).total() for tally in self.tallies)
            for name in ("fetched", "archived", "refused")
        )
        return (
            f"sites {n_done:,}/{len(self.tallies):,} · fetched {n_fetched:,} · from the archive "
            f"{n_archived:,} · refused {n_refused:,} · "
            f"{sum(tally.n_bytes for tally in self.tallies) / 1e6:.1f} MB"
        )


def crawl(sites: Sequence[Site], archive: Path, *, say: Say) -> CrawlReport:
    """Crawl sites into an archive; return the report. ``say`` gets a line now and then.

    Raises ``CorpusError`` where another process works in the archive or it cannot be written. An
    interrupted crawl ends in order, writes its report, and raises ``KeyboardInterrupt``; the next
    call resumes.
    """
    check_installed()
    archive.mkdir(parents=True, exist_ok=True)
    session = _choose_session(archive)
    start = time.monotonic()
    is_interrupted = False
    with _supervised(sites, archive, session) as pipe:
        try:
            progress = _follow(pipe, archive, say=say)
        except KeyboardInterrupt:
            is_interrupted = True
            say("interrupted: ending in order …")
            progress = _stop(pipe, archive, say=say)
    seconds = time.monotonic() - start
    report = CrawlReport(
        session, not is_interrupted, progress.tallies, seconds=seconds, repaired=progress.repaired
    )
    _write(archive, report)
    if is_interrupted:
        raise KeyboardInterrupt
    return report


@contextmanager
def _supervised(sites: Sequence[Site], archive: Path, session: str) -> Iterator[Connection]:
    """Start Scrapy's process, and yield the pipe to it; the process ends when the pipe closes."""
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


def _stop(pipe: Connection, archive: Path, *, say: Say) -> CrawlProgress:
    """Ask Scrapy's process to end; raise ``KeyboardInterrupt`` where it does not or has failed."""
    try:
        pipe.send("stop")
        return _follow(pipe, archive, say=say, most=_PATIENCE_SECONDS)
    except (CorpusError, OSError):
        raise KeyboardInterrupt from None


def check_installed() -> None:
    """Raise ``UsageError`` where news-please or Scrapy is not installed."""
    if not find_spec("newsplease") or not find_spec("scrapy"):
        raise UsageError(
            "the crawler finds articles by news-please, which is not installed. "
            "pip install 'onoma[news,news-please]'"
        )


def _choose_session(archive: Path) -> str:
    """Return the session that is not finished, or begin a new one."""
    from corpora.system.writing import remove_leftovers, write_json

    remove_leftovers(archive)
    last = read_session(archive)
    if last and not last["finished"]:
        return str(last["session"])
    while (session := datetime.now(UTC).strftime("%Y%m%dT%H%M%S")) == last.get("session"):
        time.sleep(0.1)
    write_json(archive / SESSION, {"session": session, "finished": False})
    return session


class _Session(TypedDict, total=False):
    """The content of ``session.json``; empty where there is none."""

    session: str
    finished: bool


def read_session(archive: Path) -> _Session:
    """Read ``session.json``; empty where there is none. Raises ``CorpusError``."""
    path = archive / SESSION
    try:
        saved = parse_json(path.read_text("utf-8"))
        return {"session": str(saved["session"]), "finished": bool(saved["finished"])}
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise CorpusError(
            f"{path}: damaged ({error!r}). Take it away; a new session begins, and the articles of "
            "the archive are not fetched again."
        ) from error


def _follow(
    pipe: Connection, archive: Path, *, say: Say, most: float = float("inf")
) -> CrawlProgress:
    """Receive progress until Scrapy's process is done; raise ``CorpusError`` where it fails."""
    start = said = time.monotonic()
    while time.monotonic() < start + most:
        if not pipe.poll(1.0):
            continue
        try:
            message = pipe.recv()
        except (EOFError, OSError):
            break
        if isinstance(message, str):
            raise CorpusError(message)
        progress: CrawlProgress = message
        if progress.is_done:
            return progress
        if time.monotonic() > said + _SAY_SECONDS:
            said = time.monotonic()
            say(str(progress))
    raise CorpusError(
        f"the crawl ended before its time; see {archive / LOG}. The same command resumes."
    )


def _write(archive: Path, report: CrawlReport) -> None:
    """Write the report as JSON and Markdown, and then ``session.json``."""
    from corpora.system.writing import sync_folder, write_json, write_text

    write_json(archive / f"crawl-{report.session}.report.json", report.to_json())
    write_text(archive / f"crawl-{report.session}.report.md", [to_markdown(report)])
    ended = {tally.name: tally.ended for tally in report.tallies}
    about = {"session": report.session, "finished": report.is_finished, "ended": ended}
    write_json(archive / SESSION, about)
    sync_folder(archive)


def run(pipe: Connection, *, sites: tuple[Site, ...], archive: Path, session: str) -> None:
    """Crawl, in Scrapy's process; send ``CrawlProgress`` until done, or a message of the error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it, and sends "stop"
    with open_own(archive / LOG, "ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    form = "%(asctime)s %(name)s %(levelname)s %(message)s"
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format=form)
    for name in ("newsplease", "scrapy.addons", "scrapy.middleware", "scrapy.crawler", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)
    try:
        pipe.send(asyncio.run(_Crawl(pipe, sites).run(archive, session)))
    except CorpusError as error:
        pipe.send(str(error))
    except OSError as error:
        pipe.send(f"{error.filename or archive}: {error.strerror or error}.")


class _Crawl:
    """One run of the crawler; ``_stop`` ends it in order."""

    def __init__(self, pipe: Connection, sites: tuple[Site, ...]) -> None:
        self.pipe, self.sites = pipe, sites
        self.tallies = tuple(SiteTally(site.name) for site in sites)
        self.is_stopping = False

    async def run(self, archive: Path, session: str) -> CrawlProgress:
        """Crawl all sites; return the counts of each, and the repairs of the archive."""
        from scrapy.crawler import AsyncCrawlerRunner

        from corpora.crawl.download_handler import SETTINGS, Downloader
        from corpora.crawl.fetcher import open_fetcher

        n_threads = min(MAX_THREADS, 2 * len(self.sites) + 2)
        with (
            open_fetcher(archive, session=session) as self.fetcher,
            ThreadPoolExecutor(n_threads) as threads,
        ):
            self.runner = AsyncCrawlerRunner(dict(SETTINGS))
            log.info("session %s, archive: %s", session, self.fetcher.repaired)
            downloader = Downloader(self.fetcher, threads)
            loop = asyncio.get_running_loop()
            Thread(target=self._listen, args=(loop,), daemon=True).start()
            progress = asyncio.create_task(self._report_progress())
            try:
                async with asyncio.TaskGroup() as group:
                    for site, tally in zip(self.sites, self.tallies, strict=True):
                        group.create_task(self._crawl_site(site, tally, downloader))
            finally:
                progress.cancel()
            if downloader.broken:
                raise CorpusError(
                    f"{downloader.broken!r}. The archive is whole; repair what is wrong, and the "
                    f"same command resumes. See {archive / LOG}."
                ) from downloader.broken
            return CrawlProgress(self.tallies, self.fetcher.repaired, is_done=True)

    async def _crawl_site(self, site: Site, tally: SiteTally, downloader: "Downloader") -> None:
        start = time.monotonic()
        for name in site.find or ("sitemap", "feed"):
            await self._find(name, site, tally=tally, downloader=downloader)
        if not site.find and not tally.n_named:
            await self._find("recursive", site, tally=tally, downloader=downloader)
        tally.ended = tally.ended or ("interrupted" if self.is_stopping else "done")
        tally.seconds = round(time.monotonic() - start, 1)
        used = self.fetcher.bounds(site.policy).used
        tally.session_pages, tally.session_bytes = used.pages, used.bytes

    async def _find(
        self, name: str, site: Site, *, tally: SiteTally, downloader: "Downloader"
    ) -> None:
        from scrapy import signals

        from corpora.crawl.spiders import FINDERS, n_waiting

        if self.is_stopping or tally.ended or downloader.broken:
            return
        crawler = self.runner.create_crawler(FINDERS[name])  # type: ignore[arg-type]  # a mixin

        def failed(response: "Response", **_: object) -> None:
            tally.pass_over(response.url, "finder_failed")

        crawler.signals.connect(failed, signals.spider_error, weak=False)
        await self.runner.crawl(crawler, site, tally, downloader)
        tally.passed_over["not_reached"] += n_waiting(crawler)
        if downloader.broken:
            self._stop()

    async def _report_progress(self) -> None:
        while True:
            await asyncio.sleep(_PROGRESS_SECONDS)
            self.pipe.send(CrawlProgress(self.tallies, self.fetcher.repaired))

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for the message to stop; exit at once if the other end of the pipe closes."""
        try:
            self.pipe.recv()
        except (EOFError, OSError):
            os._exit(1)
        loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self.is_stopping = True
        self.fetcher.stop()
        self._ending = asyncio.ensure_future(self.runner.stop())
