"""Refresh the small wiki again and again, with kills, and check that published bytes never differ.

    python -m benchmarks.soak --refreshes 200
    python -m benchmarks.soak --seconds 600 --kill 0.5 --seed 2

Each refresh is what docs/refresh.md says: a mirror on loopback has a new dump with a few pages
changed, and sometimes breaks off; the dump is fetched, made into documents and these into a
vocabulary, compared with the current version, published, and old versions are pruned. Every
command is a process of its own (forked from one that has loaded the libraries, to save its
start), which is killed with SIGKILL at a random time with probability ``--kill``, and run again.

Checked after each refresh: the current version is the new one and has the same bytes as an
undisturbed run into another folder; the last three versions are there; no process and no temporary
file is left; disk space and number of files are not much more than after the first refreshes. Exit
status 1 at the first violation.
"""

import argparse
import gc
import hashlib
import json
import os
import random
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn

from corpora.runs.code import code_hash

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "tests" / "data" / "wikipedia" / "kleinwiki-20261101-pages-articles.xml"
WIKI = "kleinwiki"
KEEP = 3
WARM_UP = 6
"""Refreshes after which disk space and files may only grow by a factor of at most ``ROOM``."""
ROOM = 1.05
MIRROR = "tests.corpora.wikipedia.dump_server"
MODULES = {
    "download": "corpora.wikipedia.download",
    "documents": "pipelines.wikipedia_to_documents",
    "vocabulary": "pipelines.documents_to_entity_vocab",
    "diff": "corpora.diff.__main__",
    "store": "corpora.store",
}
TEMPORARY = ("**/.tmp-*", "**/*.partial", "**/.incoming-*", "**/.removed-*", "temporary/*")


class ViolationError(Exception):
    """A violation of what must always hold."""


def serve_commands() -> int:
    """Load the libraries once; then fork a process for each command that a line asks for."""
    for module in (*MODULES.values(), "apache_beam", "corpora.store.inspection"):
        import_module(module)
    code_hash()  # computed and cached before the soak begins
    gc.freeze()  # otherwise each fork would copy the memory that its garbage collector visits
    print("ready", flush=True)
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            _run_command(**json.loads(line))
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    return 0


def _run_command(module: str, argv: list[str], log: str) -> NoReturn:
    """Be the command, in a forked process."""
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(file, descriptor)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    status = 70
    try:
        status = import_module(module).main(argv)
    finally:
        sys.stdout.flush()
        os._exit(status)  # without finalizing all libraries


@dataclass
class Commands:
    """A runner of commands that kills some of them, counts the kills, and times the commands."""

    folder: Path
    kill_ratio: float
    rng: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def __enter__(self) -> "Commands":
        temporary = self.folder / "temporary"
        temporary.mkdir()
        self.mark = f"ONOMA_SOAK={self.folder}"
        environment = os.environ | {"TMPDIR": str(temporary), "ONOMA_SOAK": str(self.folder)}
        self.server = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.soak", "--serve-commands"],
            cwd=self.folder,
            env=environment | {"PYTHONPATH": str(ROOT), "no_proxy": "127.0.0.1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._line() == "ready"
        return self

    def __exit__(self, *_: object) -> None:
        self.server.communicate(timeout=60)

    def _line(self) -> str:
        return self.server.stdout.readline().strip()

    def run(self, name: str, *argv: object, kill: bool = True) -> None:
        """Run a command until it is done, killed now and then."""
        command = name.partition(" ")[0]
        order = {
            "module": MODULES[command],
            "argv": [*name.split()[1:], *map(str, argv)],
            "log": str(self.folder / "log"),
        }
        while True:
            usual = statistics.median(self.seconds[name][-20:] or [0.0])
            will_kill = kill and usual and self.rng.random() < self.kill_ratio
            delay = self.rng.uniform(0, 1.1 * usual) if will_kill else None
            begin = time.monotonic()
            status = self._attempt(order, delay)
            if status == 0:
                self.seconds[name].append(time.monotonic() - begin)
                return
            if status != -signal.SIGKILL:
                said = (self.folder / "log").read_text("utf-8", "replace")[-2000:]
                raise ViolationError(f"{name}: exit status {status}\n{said}")
            self.kills[name] += 1

    def _attempt(self, order: Mapping[str, object], delay: float | None) -> int:
        self.server.stdin.write(json.dumps(order) + "\n")
        self.server.stdin.flush()
        pid = int(self._line())
        if delay is not None:
            time.sleep(delay)
            with suppress(ProcessLookupError):  # the command was done before
                os.kill(pid, signal.SIGKILL)
        return int(self._line())

    def left_over(self) -> list[str]:
        """List the processes that descend from a command and still live."""
        found = []
        for process in Path("/proc").glob("[0-9]*"):
            try:
                marked = self.mark.encode() in (process / "environ").read_bytes().split(b"\0")
                line = (process / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if marked and int(process.name) != self.server.pid:
                found.append(f"{process.name} {line}")
        return found


class Dumps:
    """A changing wiki: in each dump, a few pages are changed, added or removed."""

    def __init__(self, rng: random.Random) -> None:
        text = SAMPLE.read_text("utf-8")
        self.head, *pages = re.split(r"(?=  <page>)", text)
        pages[-1], self.tail = re.split(r"(?=</mediawiki>)", pages[-1])
        self.pages, self.first, self.rng = pages, list(pages), rng
        self.revision = 10_000_000
        self.added: list[str] = []

    def next(self) -> bytes:
        """Change two pages, add one, and return the dump; of added pages it has the last three."""
        for number in self.rng.sample(range(len(self.pages)), 2):
            self.revision += 1
            page = re.sub(
                r"(<revision>\s*<id>)\d+", rf"\g<1>{self.revision}", self.first[number], count=1
            )
            word = f"\nStand {self.revision} bei [[Windmühle]]n.</text>"
            self.pages[number] = page.replace("</text>", word, 1)
        self.added = [*self.added, self._new_page()][-3:]
        return "".join([self.head, *self.pages, *self.added, self.tail]).encode()

    def _new_page(self) -> str:
        self.revision += 1
        page = re.sub(r"<title>[^<]*", f"<title>Mühle {self.revision}", self.first[0], count=1)
        return re.sub(r"<id>\d+", f"<id>{self.revision}", page, count=1)


def files_of(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each published file, by name."""
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and ".build" not in path.parts and path.name != ".lock"
    }


def disk(folder: Path) -> tuple[int, int]:
    """Return bytes and number of the files in a folder; linked files count once."""
    states = {}
    for path in folder.rglob("*"):
        if path.is_file() and path.name != "log":
            status = path.stat()
            states[status.st_ino] = status.st_size
    return sum(states.values()), len(states)


class Soak:
    """The refreshes in a folder, and what is checked after each."""

    def __init__(self, commands: Commands, mirror: Any) -> None:
        self.folder, self.commands, self.mirror = commands.folder, commands, mirror
        self.rng = commands.rng
        self.dumps = Dumps(self.rng)
        self.sizes: list[tuple[int, int]] = []
        self.versions: list[str] = []

    def refresh(self, number: int) -> None:
        """Put a new dump on the mirror, refresh, and check."""
        date = f"{2100 + number // 336}{number % 336 // 28 + 1:02}{number % 28 + 1:02}"
        self._announce(date)
        folder, run = self.folder, self.commands.run
        mirror = ("--mirror", self.mirror.url, "--contact", "soak@example.org")
        run("download", WIKI, "--output", folder / "dumps", *mirror)
        dump = folder / "dumps" / f"{WIKI}-{date}-*"
        run("documents", "--input", dump, "--output", folder / "build")
        vocabulary = ("--input", folder / "build" / "documents", "--output")
        run("vocabulary", *vocabulary, folder / "vocabulary")
        if self.versions:
            run("diff", folder / "store" / WIKI / self.versions[-1], folder / "build")
        for made, shelf in (("build", WIKI), ("vocabulary", "entities")):
            run("store publish", folder / made, folder / "store" / shelf, "--version", date)
            run("store prune", folder / "store" / shelf, "--keep", KEEP)
        for old in (folder / "dumps").glob(f"{WIKI}-*"):
            if date not in old.name:
                old.unlink()
        self.versions = [*self.versions, date][-KEEP:]
        self._check(dump, vocabulary)

    def _announce(self, date: str) -> None:
        for path in [p for p in self.mirror.files if p.count("/") > 2]:
            if not self.versions or self.versions[-1] not in path:
                del self.mirror.files[path]
        name = f"{WIKI}-{date}-pages-articles-multistream.xml"
        data = self.dumps.next()
        self.mirror.add_run(WIKI, date, {name: data})
        if self.rng.random() < 0.1:
            cut = import_module(MIRROR).Fault(cut_after=self.rng.randrange(len(data)))
            self.mirror.faults[f"/{WIKI}/{date}/{name}"].append(cut)

    def _check(self, dump: Path, vocabulary: tuple[object, ...]) -> None:
        folder, run = self.folder, self.commands.run
        undisturbed = folder / "undisturbed"
        run("documents", "--input", dump, "--output", undisturbed / WIKI, kill=False)
        run("vocabulary", *vocabulary, undisturbed / "entities", kill=False)
        for shelf in (WIKI, "entities"):
            store = folder / "store" / shelf
            current = (store / "current").read_text().strip()
            if current != self.versions[-1]:
                raise ViolationError(f"{store}: {current} is current, not {self.versions[-1]}")
            there = sorted(path.name for path in store.iterdir() if path.is_dir())
            if there != self.versions:
                raise ViolationError(f"{store}: has {there}, should have {self.versions}")
            if files_of(store / current) != files_of(undisturbed / shelf):
                raise ViolationError(f"{store / current}: other bytes than an undisturbed run")
        shutil.rmtree(undisturbed)
        left = [str(path) for pattern in TEMPORARY for path in folder.glob(pattern)]
        if left or self.commands.left_over():
            raise ViolationError(f"left over: {left + self.commands.left_over()}")
        self.sizes.append(disk(folder))
        bound = [ROOM * max(sizes) for sizes in zip(*self.sizes[:WARM_UP], strict=True)]
        if any(now > most for now, most in zip(self.sizes[-1], bound, strict=True)):
            raise ViolationError(f"grown: {self.sizes[:WARM_UP]}, now {self.sizes[-1]}")


def report(soak: Soak, *, seconds: float) -> None:
    """Say what was done and found."""
    commands, sizes = soak.commands, soak.sizes
    n_kills = sum(commands.kills.values())
    print(f"{len(sizes)} refreshes in {seconds:.0f} s, {n_kills} kills; no difference")
    for name, durations in commands.seconds.items():
        print(
            f"  {name:<14} {commands.kills[name]:>4} kills, {len(durations):>4} times done, "
            f"median {statistics.median(durations):.2f} s"
        )
    for what, values in zip(("bytes", "files"), zip(*sizes, strict=True), strict=True):
        first, rest = values[:WARM_UP], values[WARM_UP:] or (0,)
        print(f"  {what}: first {WARM_UP} at most {max(first):,}, then at most {max(rest):,}")


def main() -> int:
    """Refresh and check as often as the options say, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("--refreshes", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so many")
    parser.add_argument("--kill", type=float, default=0.4, metavar="RATIO", help="of commands")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--serve-commands", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve_commands:
        return serve_commands()
    rng = random.Random(arguments.seed)
    begin = time.monotonic()
    with (
        tempfile.TemporaryDirectory() as name,
        import_module(MIRROR).serve() as mirror,
        Commands(Path(name), arguments.kill, rng) as commands,
    ):
        soak = Soak(commands, mirror)
        try:
            for number in range(arguments.refreshes):
                if time.monotonic() - begin > arguments.seconds:
                    break
                soak.refresh(number)
                if number % 10 == 9:
                    print(
                        f"{number + 1} refreshes, {sum(commands.kills.values())} kills …",
                        flush=True,
                    )
        except ViolationError as error:
            print(f"VIOLATION after {len(soak.sizes)} refreshes: {error}")
            return 1
        report(soak, seconds=time.monotonic() - begin)
    return 0


if __name__ == "__main__":
    sys.exit(main())
