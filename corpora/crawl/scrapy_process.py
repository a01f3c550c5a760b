"""The process in which Scrapy runs: all sites at once, the finders of a site one after the other.

It has a process of its own so that its event loop, logs and signals are nobody else's. What it says
goes through a pipe; when the other end is closed, for whatever reason, it ends at once: the archive
is whole at any moment.
"""

import asyncio
import logging
import os
import signal
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from corpora.crawl.archive import Repair
from corpora.crawl.sites import Site
from corpora.crawl.tally import SiteTally
from corpora.errors import CorpusError
from corpora.system.files import open_own

if TYPE_CHECKING:
    from corpora.crawl.download_handler import Downloader

log = logging.getLogger(__name__)
LOG = "crawl.log"
MAX_THREADS = 64
_PROGRESS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of each site until now."""

    tallies: tuple[SiteTally, ...]
    repaired: Repair
    """What was done when the archive was opened."""
    is_done: bool = False

    def __str__(self) -> str:
        """For the log of a command."""
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


def run(pipe: Connection, *, sites: tuple[Site, ...], archive: Path, session: str) -> None:
    """Crawl; sends ``Progress`` until it is done, or a message of what failed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other end hears it, and says so
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
    """One run; ``_stop`` ends it in order."""

    def __init__(self, pipe: Connection, sites: tuple[Site, ...]) -> None:
        self.pipe, self.sites = pipe, sites
        self.tallies = tuple(SiteTally(site.name) for site in sites)
        self.is_stopping = False

    async def run(self, archive: Path, session: str) -> Progress:
        """Crawl all sites; what became of each, and of the archive when it was opened."""
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
            return Progress(self.tallies, self.fetcher.repaired, is_done=True)

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

        def failed(response: Any, **_: Any) -> None:
            tally.pass_over(response.url, "finder_failed")

        crawler.signals.connect(failed, signals.spider_error, weak=False)
        await self.runner.crawl(crawler, site, tally, downloader)
        tally.passed_over["not_reached"] += n_waiting(crawler)
        if downloader.broken:
            self._stop()

    async def _report_progress(self) -> None:
        while True:
            await asyncio.sleep(_PROGRESS_SECONDS)
            self.pipe.send(Progress(self.tallies, self.fetcher.repaired))

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        """Wait for the word to stop, or for the end of whoever would say it."""
        try:
            self.pipe.recv()
        except (EOFError, OSError):
            os._exit(1)
        loop.call_soon_threadsafe(self._stop)

    def _stop(self) -> None:
        self.is_stopping = True
        self.fetcher.stop()
        self._ending = asyncio.ensure_future(self.runner.stop())
