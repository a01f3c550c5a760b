r"""Download a dump of a wiki: the files of the newest complete run, with checked hashes.

    onoma download dawiki --output dumps --contact you@example.org
    onoma download dewiki --output dumps --contact you@example.org \
        --date 20261101 --mirror https://ftp.acc.umu.se/mirror/wikimedia.org/dumps
    onoma download dawiki --html --output dumps --contact you@example.org

A download that breaks off or is killed is resumed by the same command. A file gets its name when
its size and SHA-1 are those of the run. ``WIKI-DATE.lock.json``, written last, lists the files with
their addresses and hashes.
"""

import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from corpora.errors import CorpusError, UsageError
from corpora.reports import counted
from corpora.system.arguments import SUMMARY, Summary, execute, fail, option, option_table, parse
from corpora.system.files import locked
from corpora.system.web import check_address, check_contact
from corpora.system.writing import is_temporary
from corpora.wikipedia.dump_status import (
    DumpFile,
    DumpRun,
    NotCompleteError,
    find_dates,
    lock_path,
    read_listing,
    read_lock,
    read_status,
    write_lock,
)

if TYPE_CHECKING:
    from corpora.wikipedia.fetching import HttpClient

MIRROR = "https://dumps.wikimedia.org"
JOBS = ("articlesmultistreamdump",)
NAMESPACES = ("NS0",)
HTML_RUNS = "other/enterprise_html/runs"
"""The folder of a mirror with the runs of rendered pages, of all wikis together."""
EXCLUDE = ("*-multistream-index*",)
LATEST = "latest-complete"
MAX_CONNECTIONS = 2
"""The most connections that Wikimedia allows from one address."""
_WIKI = re.compile(r"[a-z][a-z0-9_]*")
_DATE = re.compile(r"\d{8}")


@option_table
class Order:
    """The dump to fetch, and who fetches it; raises ``UsageError`` for invalid values."""

    wiki: str = option(
        "database name of the wiki, such as dawiki, dewiki or zh_yuewiki", positional=True
    )
    output: Path = option("folder to download the files into")
    contact: str = option("your mail address or web page, which the server gets in the User-Agent")
    date: str = option(
        f"date of the run, such as 20261101 (default: {LATEST}, the newest complete one)", LATEST
    )
    not_before: str = option(
        "date of the oldest run that is wanted, such as that of the last download",
        "",
        metavar="DATE",
    )
    mirror: str = option(f"address of the server (default: {MIRROR})", MIRROR, metavar="URL")
    html: bool = option("fetch the rendered pages of Wikimedia Enterprise, not the wikitext")
    jobs: tuple[str, ...] = option(
        f"jobs of the run whose files are fetched; with --html, namespaces (default: "
        f"{' '.join(JOBS)}; with --html {' '.join(NAMESPACES)})",
        nargs="+",
        metavar="JOB",
    )
    exclude: tuple[str, ...] = option(
        f"glob patterns of files of these jobs to leave out (default: {' '.join(EXCLUDE)})",
        EXCLUDE,
        nargs="*",
        metavar="PATTERN",
    )
    json: bool = option(SUMMARY)

    def __post_init__(self) -> None:
        """Check the values."""
        if not _WIKI.fullmatch(self.wiki):
            raise UsageError(
                f"{self.wiki!r}: is no name of a wiki. They are as dawiki, zh_yuewiki."
            )
        if self.date != LATEST and not _DATE.fullmatch(self.date):
            raise UsageError(
                f"--date {self.date}: must be as 20261101, or {LATEST} for the newest run that is "
                "done. (latest/ on the servers is a mixture while a run is under way.)"
            )
        if self.not_before and not _DATE.fullmatch(self.not_before):
            raise UsageError(f"--not-before {self.not_before}: must be a date, as 20261101.")
        if self.date < self.not_before:  # LATEST is greater than any date
            raise UsageError(
                f"--date {self.date}: is older than --not-before {self.not_before}. Leave one out."
            )
        check_address(self.mirror, option="mirror")
        check_contact(self.contact, name="--contact")

    @property
    def chosen(self) -> tuple[str, ...]:
        """The jobs whose files are fetched."""
        return self.jobs or (NAMESPACES if self.html else JOBS)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The patterns of files that are left out; rendered pages have none."""
        return () if self.html else self.exclude

    @property
    def runs(self) -> str:
        """The address of the folder that holds the runs."""
        return f"{self.root}/{HTML_RUNS if self.html else self.wiki}"

    @property
    def root(self) -> str:
        """The mirror, without a slash at the end."""
        return self.mirror.rstrip("/")


def download(order: Order, client: "HttpClient") -> tuple[Path, DumpRun]:
    """Fetch the dump of an order; returns the lock file and the run that it lists.

    Complete files that exist already are kept; if the run of the given date is complete, no server
    is asked. Raises ``CorpusError``: no run is complete, a file cannot be fetched, or another
    process works in the folder.
    """
    order.output.mkdir(parents=True, exist_ok=True)
    with _hold(order.output):
        lock = lock_path(order.output, wiki=order.wiki, date=order.date)
        held = read_lock(lock, jobs=order.chosen, exclude=order.left_out)
        if held and len(_sha256_of_whole(held, order.output)) == len(held.parts):
            return lock, held
        run = choose_run(order, client)
        lock = lock_path(order.output, wiki=order.wiki, date=run.date)
        sha256 = _sha256_of_whole(run, order.output)
        if len(sha256) < len(run.parts):
            lock.unlink(missing_ok=True)  # it no longer describes the folder
            missing = [part for part in run.parts if part.name not in sha256]
            sha256 |= _fetch(run, missing, order=order, client=client)
        write_lock(lock, run, sha256, mirror=order.root)
    return lock, run


def choose_run(order: Order, client: "HttpClient") -> DumpRun:
    """Find the run of the order: the one of its date, or the newest whose jobs are done.

    Raises ``NotCompleteError`` if the run of that date, or every run, is incomplete or too old.
    """
    if order.date != LATEST:
        return _read_run(order, order.date, client)
    from corpora.wikipedia.fetching import MissingError

    url = f"{order.runs}/"
    try:
        dates = find_dates(client.read(url).decode("utf-8", "replace"))
    except MissingError:
        raise CorpusError(
            f"{url}: there is none. Check the name of the wiki; some mirrors show no listing: name "
            "a --date, or choose another --mirror."
        ) from None
    for date in dates:
        if date < order.not_before:
            raise NotCompleteError(
                f"{url}: the newest run that may be complete is {date}, older than --not-before "
                f"{order.not_before}. Is this mirror out of date? Wait, or choose another --mirror."
            )
        try:
            return _read_run(order, date, client)
        except (NotCompleteError, MissingError) as error:
            client.say(f"passed over: {error}")
    found = f"none of {', '.join(dates)}" if dates else "no run at all"
    raise NotCompleteError(
        f"{url}: {found} is complete with {', '.join(order.chosen)}. Wait for one, choose another "
        "--mirror, or other --jobs."
    )


def _read_run(order: Order, date: str, client: "HttpClient") -> DumpRun:
    wiki, folder = order.wiki, f"{order.runs}/{date}"
    if order.html:
        listing = client.read(f"{folder}/").decode("utf-8", "replace")
        return read_listing(
            listing, wiki, date, folder=folder, jobs=order.chosen, size_of=client.size
        )
    data = client.read(f"{folder}/dumpstatus.json")
    return read_status(
        data, wiki, date, mirror=order.root, jobs=order.chosen, exclude=order.left_out
    )


def _sha256_of_whole(run: DumpRun, folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each part that is whole in the folder, as the run describes it."""
    from corpora.wikipedia.fetching import hashes_of, what_is_wrong

    found = {}
    for part in run.parts:
        path = folder / part.name
        if path.is_file() and path.stat().st_size == part.size:
            sha1, sha256 = hashes_of(path)
            if not what_is_wrong(part, path, sha1):
                found[part.name] = sha256
    return found


def _fetch(
    run: DumpRun, parts: Sequence[DumpFile], *, order: Order, client: "HttpClient"
) -> dict[str, str]:
    """Fetch some parts of a run; returns the SHA-256 of each."""
    n_bytes = sum(part.size for part in parts)
    n_come = _come_before(run, parts, order.output)
    _check_room(order.output, n_bytes - n_come)
    client.got = _Progress(n_bytes, client.say, done=n_come).add
    with ThreadPoolExecutor(MAX_CONNECTIONS) as threads:
        futures = {threads.submit(client.fetch, part, order.output): part.name for part in parts}
        try:
            return {futures[done]: done.result() for done in as_completed(futures)}
        except BaseException:  # one failed, or the user interrupts: stop the others too
            client.stop.set()
            raise


def _come_before(run: DumpRun, parts: Sequence[DumpFile], folder: Path) -> int:
    """Count the bytes of parts fetched earlier; deletes partial files of a run that was redone."""
    from corpora.wikipedia.fetching import partial_path

    ours = {partial_path(folder, part) for part in parts}
    for path in folder.glob(f".{run.wiki}-*{run.date}-*.partial"):
        if path not in ours:
            path.unlink()
    return sum(path.stat().st_size for path in ours if path.exists())


def _check_room(folder: Path, n_bytes: int) -> None:
    free = shutil.disk_usage(folder).free
    if n_bytes > free:
        raise CorpusError(
            f"{folder}: {n_bytes / 1e6:,.1f} MB are to come, but only {free / 1e6:,.1f} MB are "
            "free. Make room, or choose another --output."
        )


@contextmanager
def _hold(folder: Path) -> Iterator[None]:
    def busy(_: str) -> str:
        return (
            f"{folder}: another download works here. Wait for it: two would be more connections "
            "than servers allow."
        )

    with locked(folder / ".lock", busy=busy):
        for leftover in filter(is_temporary, folder.glob(".tmp-*")):  # left by killed runs
            leftover.unlink()
        yield


@dataclass
class _Progress:
    """A reporter that prints a line for each tenth of the bytes."""

    total: int
    say: Callable[[str], object]
    done: int = 0
    _lock: Lock = field(default_factory=Lock)

    def add(self, n_bytes: int) -> None:
        with self._lock:
            before = 10 * self.done // self.total
            self.done += n_bytes
            if 10 * self.done // self.total > before:
                ratio = min(1.0, self.done / self.total)
                self.say(f"{self.done / 1e6:,.1f} of {self.total / 1e6:,.1f} MB ({ratio:.0%})")


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _fetch_ordered(order: Order) -> Iterator[str | Summary]:
    from corpora.wikipedia.fetching import HttpClient  # imported after --help was answered

    lock, run = download(order, HttpClient(order.contact, _say))
    megabytes = sum(part.size for part in run.parts) / 1e6
    name = run.parts[0].name if len(run.parts) == 1 else f"{run.wiki}-{run.date}-*"
    n_files = counted(len(run.parts), "file")
    yield f"made  {lock}: {n_files} of {run.wiki} {run.date}, {megabytes:,.1f} MB"
    yield (
        f"next  onoma wikipedia --input '{order.output / name}' "
        f"--output build/{run.wiki}-{run.date}"
    )
    files = {part.name: part.size for part in run.parts}
    yield Summary({"lock": str(lock), "wiki": run.wiki, "date": run.date, "files": files})


def main(argv: Sequence[str] | None = None) -> int:
    """Fetch a dump; returns the exit status."""
    try:
        order = parse(Order, argv, name="download", about=__doc__)
    except UsageError as error:
        return fail(str(error), status=2)
    return execute(
        lambda: _fetch_ordered(order),
        path=order.output,
        resumes="The same command resumes from here.",
        as_json=order.json,
    )


if __name__ == "__main__":
    sys.exit(main())
