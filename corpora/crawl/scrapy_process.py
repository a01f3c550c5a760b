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
from dataclasses import asdict, dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

from corpora.crawl.sites import Site
from corpora.crawl.tally import SiteTally
from corpora.errors import CorpusError
from corpora.system.files import open_own

if TYPE_CHECKING:
    from corpora.crawl.archive import Repair
    from corpora.crawl.fetcher import Fetcher
    from corpora.crawl.scrapy_door import Door

log = logging.getLogger(__name__)
LOG = "crawl.log"
MAX_THREADS = 64
_PROGRESS_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Order:
    """What is to be crawled."""

    sites: tuple[Site, ...]
    archive: Path
    session: str


def run(order: Order, pipe: Connection) -> None:
    """Crawl; sends ``("progress", …)``, and last ``("done", …)`` or ``("failed", message)``."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the other end hears it, and tells
    with open_own(order.archive / LOG, "ab") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    _log_to(sys.stderr)
    try:
        pipe.send(("done", asyncio.run(_Crawl(order, pipe).run())))
    except CorpusError as error:
        pipe.send(("failed", str(error)))
    except OSError as error:
        pipe.send(("failed", f"{error.filename or order.archive}: {error.strerror or error}."))


def _log_to(stream: Any) -> None:
    logging.basicConfig(
        stream=stream, level=logging.INFO, format="%(asctime)s %(name)s %(levelname)s %(message)s"
    )
    for name in ("newsplease", "scrapy.addons", "scrapy.middleware", "scrapy.crawler", "asyncio"):
        logging.getLogger(name).setLevel(logging.WARNING)


class _Crawl:
    """One run; ``stop`` ends it in order."""

    def __init__(self, order: Order, pipe: Connection) -> None:
        self.order, self.pipe = order, pipe
        self.tallies = [SiteTally(site.name) for site in order.sites]
        self.is_stopping = False

    async def run(self) -> dict[str, Any]:
        """Crawl all sites; what became of each, and of the archive when it was opened."""
        from scrapy.crawler import AsyncCrawlerRunner

        from corpora.crawl.fetcher import open_fetcher
        from corpora.crawl.scrapy_door import SETTINGS, Door

        n_threads = min(MAX_THREADS, 2 * len(self.order.sites) + 2)
        with (
            open_fetcher(self.order.archive, session=self.order.session) as fetcher,
            ThreadPoolExecutor(n_threads) as threads,
        ):
            self.runner = AsyncCrawlerRunner(dict(SETTINGS))
            self.fetcher: Fetcher = fetcher
            log.info("session %s, archive: %s", self.order.session, fetcher.repaired)
            door = Door(fetcher, threads)
            loop = asyncio.get_running_loop()
            Thread(target=self._listen, args=(loop,), daemon=True).start()
            progress = asyncio.create_task(self._tell())
            try:
                async with asyncio.TaskGroup() as group:
                    for site, tally in zip(self.order.sites, self.tallies, strict=True):
                        group.create_task(self._crawl_site(site, tally, door))
            finally:
                progress.cancel()
            if door.broken:
                raise CorpusError(
                    f"{door.broken!r}. The archive is whole; mend it, and the same command goes "
                    f"on. See {self.order.archive / LOG}."
                ) from door.broken
            return self._told(fetcher.repaired)

    def _told(self, repaired: "Repair") -> dict[str, Any]:
        sites = [tally.to_json() for tally in self.tallies]
        return {"sites": sites, "repaired": asdict(repaired)}

    async def _crawl_site(self, site: Site, tally: SiteTally, door: "Door") -> None:
        start = time.monotonic()
        for name in site.find or ("sitemap", "feed"):
            await self._find(name, site, tally=tally, door=door)
        if not site.find and not tally.n_named:
            await self._find("recursive", site, tally=tally, door=door)
        tally.ended = tally.ended or ("interrupted" if self.is_stopping else "done")
        tally.seconds = round(time.monotonic() - start, 1)
        used = self.fetcher.bounds(site.policy).used
        tally.session_pages, tally.session_bytes = used.pages, used.bytes

    async def _find(self, name: str, site: Site, *, tally: SiteTally, door: "Door") -> None:
        from scrapy import signals

        from corpora.crawl.spiders import FINDERS, Errand

        if self.is_stopping or tally.ended or door.broken:
            return
        crawler = self.runner.create_crawler(FINDERS[name])  # type: ignore[arg-type]  # a mixin

        def failed(response: Any, **_: Any) -> None:
            tally.pass_over(response.url, "finder_failed")

        crawler.signals.connect(failed, signals.spider_error, weak=False)
        await self.runner.crawl(crawler, Errand(site, tally, door))
        values = crawler.stats.get_stats() if crawler.stats else {}
        n_left = values.get("scheduler/enqueued", 0) - values.get("scheduler/dequeued", 0)
        tally.passed_over["not_reached"] += n_left
        if door.broken:
            self._stop()

    async def _tell(self) -> None:
        while True:
            await asyncio.sleep(_PROGRESS_SECONDS)
            self.pipe.send(("progress", self._told(self.fetcher.repaired)))

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
