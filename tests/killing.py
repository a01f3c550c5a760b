"""Kill a pipeline at its file operations, one after the other: the data must end up the same.

    python -m tests.killing wikipedia --sample 12
    python -m tests.killing tei --workers 2
    python -m tests.killing tei=4 news=2

A process loads the libraries once. For each number it puts the output as it was before the run,
forks a copy that runs the pipeline and is killed with SIGKILL instead of its operation of that
number on the output, looks at what is left, and lets another copy run the same command to the end.
Where a sample of the numbers is tried, each copy that resumes is killed at the next number, and the
last one runs to the end.
Prints a line of JSON for each scenario: how many operations a run makes, how many kills there were,
and every violation:

- data in force that do not verify, or are neither those of before nor those of the run;
- other bytes than an undisturbed run makes, other or temporary files in the working folder;
- a process that outlives the one that was killed.
"""

import argparse
import atexit
import ctypes
import gc
import gzip
import hashlib
import json
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.file_operations import killed_at
from tests.pipelines.graph_runs import run_plainly
from tests.processes import PATIENCE_S

DATA = Path(__file__).resolve().parent / "data"
_PR_SET_CHILD_SUBREAPER = 36
"""Of ``prctl(2)``."""
_EVER = 1 << 60
_PLAINLY: Mapping[tuple[str, str], Any] = {("pipelines.in_memory", "run_graph"): run_plainly}
"""For scenarios of one worker that need no runner of Beam, which takes most of the time; what it
does with files is the same in all pipelines."""


@dataclass(frozen=True)
class Run:
    """A run of a pipeline into the output of a scenario."""

    pipeline: str
    options: Sequence[str]
    settings: Mapping[tuple[str, str], Any] = field(default_factory=dict)
    """Values of modules, by module and name: small units, so that there are several."""

    def __call__(self, output: Path) -> int:
        for (module, name), value in self.settings.items():
            assert hasattr(import_module(module), name), f"{module} has no {name}"
            setattr(import_module(module), name, value)
        status: int = import_module(self.pipeline).main([*self.options, "--output", str(output)])
        return status


@dataclass(frozen=True)
class Scenario:
    """What is killed, and what was in the output before."""

    run: Run
    before: Run | None = None


def tei(_: Path) -> Scenario:
    """Return a scenario of a few letters, in several units."""
    letters = DATA / "letters"
    options = ["--input", f"{letters}/*.xml", "--edition", str(letters / "edition.toml")]
    return Scenario(Run("pipelines.tei_to_ner", options, {("corpora.runs.plan", "UNIT_FILES"): 3}))


def wikipedia(folder: Path) -> Scenario:
    """Return a scenario of a dump in gzip, cut into pieces, over the output of another dump."""
    from tests.corpora.wikipedia.small_wiki import SmallWiki

    wiki = SmallWiki()
    cut = {
        **_PLAINLY,
        ("pipelines.wikipedia_to_documents", "RANGE_BYTES"): (9000, 9000),
        ("pipelines.transforms.wikipedia", "CHARACTERS_PER_BATCH"): 3000,
    }
    runs = []
    for name, dump in (("old", wiki), ("new", wiki.edit("Mehl", text="Korn von [[Bockmühle]]n."))):
        path = folder / name / "kleinwiki-20261101-pages-articles.xml.gz"
        path.parent.mkdir()
        path.write_bytes(gzip.compress(dump.dump().encode()))
        runs.append(Run("pipelines.wikipedia_to_documents", ["--input", str(path)], cut))
    return Scenario(runs[1], before=runs[0])


def news(_: Path) -> Scenario:
    """Return a scenario of saved pages, which are read in a process of their own."""
    import_module("corpora.news.filters").identify("Er kam.", None)  # else each copy loads a model
    pages = DATA / "news"
    options = ["--html", f"{pages}/*.html*", "--urls", str(pages / "urls.tsv")]
    return Scenario(Run("pipelines.news_to_documents", options, _PLAINLY))


def vocabulary(folder: Path) -> Scenario:
    """Return a scenario of the entities of a small wiki, over those of a smaller one."""
    from tests.datasets import write_dataset
    from tests.pipelines.entity_vocab.made_vocabularies import ARTICLES

    in_a_child(lambda: bool(write_dataset(folder / "all", *ARTICLES)) - 1)
    in_a_child(lambda: bool(write_dataset(folder / "some", *ARTICLES[:1])) - 1)
    name = "pipelines.documents_to_entity_vocab"
    parts = {**_PLAINLY, (name, "PART_BYTES"): 1000}
    runs = [Run(name, ["--input", str(folder / source)], parts) for source in ("some", "all")]
    return Scenario(runs[1], before=runs[0])


def lexicon(folder: Path) -> Scenario:
    """Return a scenario of the words of a story."""
    story = DATA / "text" / "wulingzhen.txt"
    options = ["--input", str(story), "--lang", "zh", "--split-pattern", "^第.{1,3}回"]
    text = Run("pipelines.text_to_documents", options, _PLAINLY)
    assert in_a_child(lambda: text(folder / "story")) == 0
    name = "pipelines.documents_to_lexicon"
    options = ["--input", str(folder / "story"), "--known", "none", "--per", "all"]
    return Scenario(Run(name, options, {**_PLAINLY, (name, "PART_BYTES"): 20_000}))


def augment(folder: Path) -> Scenario:
    """Return a scenario of the articles of a small wiki, and a file of forms."""
    from tests.datasets import write_dataset
    from tests.pipelines.entity_vocab.made_vocabularies import ARTICLES

    in_a_child(lambda: bool(write_dataset(folder / "documents", *ARTICLES)) - 1)
    forms = folder / "forms.tsv"
    forms.write_text("Jena\tx:Jena\t1\t0.5\nStadt\tx:Stadt\t1\t0.01\n", "utf-8")
    options = ["--input", str(folder / "documents"), "--forms", str(forms), "--policy", "gated"]
    return Scenario(Run("pipelines.augment_mentions", options, _PLAINLY))


SCENARIOS = {"tei": tei, "wikipedia": wikipedia, "news": news} | {
    "vocabulary": vocabulary,
    "augment": augment,
    "lexicon": lexicon,
}


@dataclass
class Report:
    """What came of the kills."""

    operations: int
    kills: int = 0
    violations: list[str] = field(default_factory=list)


class Killer:
    """Kills the run of a scenario in a folder of its own."""

    def __init__(self, folder: Path, scenario: Scenario, *, workers: int = 1) -> None:
        self.folder, self.scenario, self.workers = folder, scenario, workers
        self.output, self.pristine = folder / "out", folder / "pristine"
        self.counter = folder / "counter"
        self.log = folder / "log"
        self.old = self._prepare()
        n_operations = self._count()
        self.new, self.left = files_of(self.output), names_in(self.output)
        self.report = Report(n_operations)

    def _prepare(self) -> dict[str, str]:
        """Make what lies in the output before the run."""
        self.pristine.mkdir()
        if before := self.scenario.before:
            status = in_a_child(lambda: before(self.pristine), log=self.log)
            assert status == 0, self.log.read_text()
        return files_of(self.pristine)

    def _count(self) -> int:
        """Run undisturbed; returns how many operations that makes."""
        self._reset()
        status = self._run(_EVER)
        assert status == 0, self.log.read_text()
        return self.counter.stat().st_size

    def _reset(self) -> None:
        shutil.rmtree(self.output, ignore_errors=True)
        shutil.copytree(self.pristine, self.output)
        self.counter.write_bytes(b"")
        self.log.write_text("")

    def _run(self, number: int) -> int:
        """Run in a child, killed at an operation; returns its exit status, negative for a kill."""
        run, output, workers = self.scenario.run, self.output, str(self.workers)
        run = Run(run.pipeline, [*run.options, "--workers", workers], run.settings)

        def do() -> int:
            with killed_at(number, output, counter=self.counter):
                return run(output)

        return in_a_child(do, log=self.log)

    def kill(self, *numbers: int) -> None:
        """Kill a run at an operation, look, run again to the next, compare; adds to the report.

        Operations are counted from the beginning of the first run.
        """
        self._reset()
        found = []
        for number in numbers:
            status = self._run(number)
            found += self._outlived()
            if status == -signal.SIGKILL:
                self.report.kills += 1
                found += self._looked_at()
            elif status != 0 or self.workers == 1:  # several make more operations, or fewer
                found.append(f"exit status {status} instead of a kill: {self._said()}")
        if (status := self._run(_EVER)) != 0:
            found.append(f"exit status {status} of the next run: {self._said()}")
        found += self._outlived()
        if files_of(self.output) != self.new:
            found.append("other bytes than an undisturbed run")
        if names_in(self.output) != self.left:
            others = sorted(names_in(self.output) ^ self.left)
            found.append(f"{len(others)} other files: {', '.join(others[:5])}")
        self.report.violations += [f"operation {numbers}: {what}" for what in found]

    def _said(self) -> str:
        return self.log.read_text()[-500:]

    def _looked_at(self) -> Iterator[str]:
        """Yield what is wrong with the data that are in force after a kill."""
        if in_a_child(lambda: verify_all(self.output), log=self.log) != 0:
            yield f"does not verify: {self._said()}"
        if (self.output / "run.json").exists() and files_of(self.output) not in (
            self.old,
            self.new,
        ):
            yield "in force are data of neither run"

    def _outlived(self) -> Iterator[str]:
        """Yield the processes that outlive their launcher, and kill them."""
        end = time.monotonic() + PATIENCE_S
        while (orphans := _children()) and time.monotonic() < end:
            time.sleep(0.01)
        for pid, command in orphans.items():
            yield f"process {pid} outlives it: {command}"
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def verify_all(output: Path) -> int:
    """Verify what is in force: the run, or where there is none, each dataset."""
    from corpora.store.inspection import verify

    markers = [output / "run.json"]
    if not markers[0].exists():
        markers = [*output.glob("dataset.json"), *output.glob("*/dataset.json")]
    for marker in markers:
        list(verify(marker.parent))
    return 0


def files_of(output: Path) -> dict[str, str]:
    """Return the SHA-256 of each published file, by name."""
    return {
        path.relative_to(output).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(output.rglob("*"))
        if path.is_file() and ".build" not in path.parts and path.name != ".lock"
    }


def names_in(output: Path) -> set[str]:
    """Return the names of all files, also those of the working folder."""
    return {path.relative_to(output).as_posix() for path in output.rglob("*") if path.is_file()}


def spread(n_operations: int, sample: int | None) -> list[int]:
    """Return numbers of operations: all, or ``sample`` of them from the first to the last."""
    if sample is None or sample >= n_operations:
        return list(range(1, n_operations + 1))
    step = (n_operations - 1) / max(1, sample - 1)
    return sorted({1 + round(step * number) for number in range(sample)})


def in_a_child(do: Callable[[], int], *, log: Path | None = None) -> int:
    """Do something in a copy of this process; returns its exit status, negative for a signal."""
    pid = os.fork()
    if not pid:
        status = 70
        try:
            atexit._clear()
            descriptor = os.open(log or os.devnull, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            os.dup2(descriptor, 1)
            os.dup2(descriptor, 2)
            status = do()
            atexit._run_exitfuncs()
        finally:
            if sys.exc_info()[1]:
                sys.excepthook(*sys.exc_info())
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status)


def _children() -> dict[int, str]:
    """Return the commands of processes that killed ones left behind, by id.

    The system hands such processes to this one.
    """
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    found = {}
    for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split():
        with suppress(OSError):
            line = Path(f"/proc/{pid}/cmdline").read_bytes()
            found[int(pid)] = line.replace(b"\0", b" ").decode(errors="replace")
    return found


@contextmanager
def killer(name: str, *, workers: int = 1) -> Iterator[Killer]:
    """Prepare a scenario in a temporary folder; for a process that does nothing else."""
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        (folder / "inputs").mkdir()
        scenario = SCENARIOS[name](folder / "inputs")
        import_module(scenario.run.pipeline)
        for module in (
            "corpora.store.inspection",
            "corpora.runs.build",
            "corpora.datasets.repeated_ids",
            "pipelines.in_memory",  # Beam: each copy would load it for more than a second
        ):
            import_module(module)
        os.fsync = os.fstat  # what was written outlives a process that is killed
        import_module("corpora.runs.code").code_hash(scenario.run.pipeline.rpartition(".")[2])
        gc.freeze()  # or each copy would copy what it only looks through
        yield Killer(folder, scenario, workers=workers)


def main(argv: Sequence[str] | None = None) -> int:
    """Kill at all operations, or at a sample; exit status 1 for a violation."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    about = f"one of {', '.join(SCENARIOS)}; or with a sample of its own: tei=4"
    parser.add_argument("scenario", nargs="+", type=named, help=about)
    parser.add_argument("--sample", type=int, default=None, metavar="N", help="kills at most")
    parser.add_argument("--workers", type=int, default=1)
    arguments = parser.parse_args(argv)
    n_violations = 0
    for name, sample in arguments.scenario:
        with killer(name, workers=arguments.workers) as killing:
            size = sample or arguments.sample
            numbers = spread(killing.report.operations, size)
            for series in [numbers] if size else zip(numbers):
                killing.kill(*series)
        sys.stdout.write(json.dumps(vars(killing.report), ensure_ascii=False) + "\n")
        n_violations += len(killing.report.violations)
    return 1 if n_violations else 0


def named(text: str) -> tuple[str, int | None]:
    """Read ``NAME`` or ``NAME=N``: a scenario, and how many kills at most."""
    name, _, sample = text.partition("=")
    if name not in SCENARIOS:
        raise argparse.ArgumentTypeError(f"{name}: no scenario")
    return name, int(sample) if sample else None


if __name__ == "__main__":
    sys.exit(main())
