"""Run pipelines on a cluster of Flink or Spark, and compare every byte with local runs.

    python -m benchmarks.engines flink build/engines --copies 60
    python -m benchmarks.engines spark build/engines --smoke

Master, workers with their Python processes, and Beam's job service are processes on loopback
(``benchmarks/clusters.py``). TEI, the small wiki COPIES times over, its vocabulary, a lexicon and
news must give the same bytes as local runs, and the pipeline of docs/pipelines.md the same
documents. Wikipedia is then done again from a bucket into a bucket, and Wikipedia and news again
while a worker of the engine is killed. ``--smoke`` runs TEI, Wikipedia, news with its duplicates,
again with a worker killed, and the pipeline of the docs on two workers; ``--model`` compares
``cluster_model`` with one, two and four workers. Only the jar of the engine is left afterwards.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from benchmarks import cluster_model
from benchmarks.clusters import (
    LOOPBACK,
    MODULES,
    ROOT,
    SECONDS,
    Cluster,
    can_hide,
    free_port,
    listens,
    package,
    running,
    wait_for,
)
from corpora.datasets.shards import open_dataset
from corpora.store.inspection import verify
from corpora.system.buckets import Bucket
from corpora.system.staging import stage
from tests.bucket_server import SECRETS, built

DATA = ROOT / "tests" / "data"
SAMPLE = DATA / "wikipedia" / "kleinwiki-20261101-pages-articles.xml"
SMALL_UNITS = {
    "wikipedia_to_documents": "p.RANGE_BYTES = (100_000, 100_000); ",
    "news_to_documents": "import corpora.runs.plan as q; q.UNIT_FILES = 1; ",
}
READERS = {"wikipedia": "extract", "news": "read"}
"""The stage in which a worker is killed."""


def launch(command: Sequence[str], *, temporary: Path) -> subprocess.Popen[str]:
    """Start the launcher of a pipeline; units are small, so that there are many."""
    module, *options = command
    small = SMALL_UNITS.get(module, "")
    program = f"import sys; import pipelines.{module} as p; {small}sys.exit(p.main(sys.argv[1:]))"
    return python("-c", program, *options, temporary=temporary)


def python(*arguments: str, temporary: Path, cwd: Path = ROOT) -> subprocess.Popen[str]:
    """Start Python with these arguments; its output and errors go to one pipe."""
    return subprocess.Popen(
        [sys.executable, *arguments],
        cwd=cwd,
        env=os.environ | {"PYTHONPATH": str(ROOT), "TMPDIR": str(temporary)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a launcher, and return its status and output."""
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, said


def files_of(output: Path) -> dict[str, bytes]:
    """Return the bytes of each published file, by name."""
    paths = (path for path in sorted(output.rglob("*")) if path.is_file())
    return {
        str(path.relative_to(output)): path.read_bytes()
        for path in paths
        if ".build" not in path.parts and path.name != ".lock"
    }


def repeat(copies: int, file: Path) -> None:
    """Write the small wiki many times over, with other ids and titles."""
    head, *pages = re.split(r"(?=<page>)", SAMPLE.read_text("utf-8"))
    pages[-1], tail = re.split(r"(?=</mediawiki>)", pages[-1])
    with file.open("w", encoding="utf-8") as out:
        out.write(head)
        for copy in range(copies):
            for page in pages:
                renamed = page.replace("</title>", f" {copy}</title>", 1)
                out.write(re.sub(r"<id>(\d+)", rf"<id>{copy}0\1", renamed, count=1))
        out.write(tail)


def repeat_news(copies: int, folder: Path) -> None:
    """Write the pages of news many times over, at other addresses: a unit each.

    One unit takes some milliseconds, so that a worker can be killed only among many.
    """
    folder.mkdir()
    head, *rows = (DATA / "news" / "urls.tsv").read_text("utf-8").splitlines()
    urls = [head]
    for copy in range(copies):
        urls += [f"{copy}-{row.replace('.example/', f'.example/{copy}/')}" for row in rows]
        for page in (DATA / "news").glob("*.html*"):
            shutil.copyfile(page, folder / f"{copy}-{page.name}")
    (folder / "urls.tsv").write_text("\n".join(urls) + "\n", "utf-8")


def commands(dump: Path, news: Path, local: Path) -> dict[str, list[str]]:
    """Return the pipelines to run, by name, in an order in which each has its input."""
    return {
        "tei": ["tei_to_ner", "--input", f"{DATA}/letters/*.xml"],
        "wikipedia": ["wikipedia_to_documents", "--input", str(dump)],
        "vocabulary": ["documents_to_entity_vocab", "--input", f"{local}/wikipedia/documents"],
        "lexicon": ["documents_to_lexicon", "--input", f"{local}/text", "--known", "none"],
        "news": [
            *("news_to_documents", "--html", f"{news}/*.html*"),
            *("--urls", f"{news}/urls.tsv"),
        ],
    }


def memory_below(pid: int) -> Iterator[tuple[str, int]]:
    """Give the name of a process and of all below it, and the most that each took, in MB."""
    process = Path(f"/proc/{pid}")
    try:
        status = (process / "status").read_text()
        children = [path.read_text().split() for path in process.glob("task/*/children")]
    except OSError:
        return  # the process has ended
    found = re.search(r"Name:\s+(\w+).*VmHWM:\s+(\d+)", status, re.DOTALL)
    if found:
        yield found[1], int(found[2]) // 1024
    for child in chain.from_iterable(children):
        yield from memory_below(int(child))


@dataclass
class Runs:
    """The runs on a cluster, and their comparison with runs on this machine."""

    cluster: Cluster
    work: Path
    """The folder for inputs and outputs; those of runs without a cluster are in ``local/NAME``."""

    def run_here(self, name: str, command: Sequence[str]) -> float:
        """Run a pipeline without the cluster; return the seconds that it took."""
        begin = time.monotonic()
        output = ("--output", str(self.work / "local" / name))
        status, said = ended(launch((*command, *output), temporary=self._temporary))
        if status:
            raise SystemExit(f"{name}, without a cluster: {said}")
        return time.monotonic() - begin

    @property
    def _temporary(self) -> Path:
        return self.cluster.services.temporary

    def _submit(self, command: Sequence[str], output: Path) -> subprocess.Popen[str]:
        command = (*command, "--output", str(output), *self._options())
        return launch(command, temporary=self._temporary)

    def _options(self) -> tuple[str, ...]:
        return (*self.cluster.options, f"--parallelism={len(self.cluster.workers)}")

    def run(self, name: str, command: Sequence[str]) -> float:
        """Run a pipeline, compare, and print a row of the table; return the seconds in all."""
        n_workers = len(self.cluster.workers)
        output = self.work / f"{name}-{n_workers}"
        begin = time.monotonic()
        process = self._submit(command, output)
        most: Counter[str] = Counter()
        while process.poll() is None and time.monotonic() < begin + SECONDS:
            for worker in self.cluster.workers:
                for kind, megabytes in memory_below(worker.pid):
                    most[kind] = max(most[kind], megabytes)
            time.sleep(0.2)
        result = ended(process)
        seconds = time.monotonic() - begin
        self._compare(name, output, result)
        inside = self.cluster.engine.seconds()
        row = (name, n_workers, f"{inside:.1f}", f"{seconds:.1f}", most["java"], most["python"])
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
        return seconds

    def run_warm(self, name: str, command: Sequence[str]) -> float:
        """Run a pipeline twice; the first run loads classes, and starts the Python of workers."""
        self.run(name, command)
        shutil.rmtree(self.work / f"{name}-{len(self.cluster.workers)}")
        return self.run(name, command)

    def _compare(self, name: str, output: Path, result: tuple[int, str]) -> None:
        status, said = result
        expected = files_of(self.work / "local" / name.partition(",")[0])
        if status or files_of(output) != expected:
            raise SystemExit(f"{name}: not the same as without a cluster\n{said}")

    def run_as_a_stranger(self) -> None:
        """Run the pipeline of docs/pipelines.md as it stands there, here and on the cluster."""
        program = (ROOT / "docs" / "pipelines.md").read_text("utf-8")
        program = program.partition("```python\n")[2].partition("```")[0]
        documents = []
        for name, options in (("here", ()), ("there", self._options())):
            folder = self.work / "stranger" / name
            (folder / "build").mkdir(parents=True)
            (folder / "mine.py").write_text(program, "utf-8")
            (folder / SAMPLE.name).symlink_to(self.work / SAMPLE.name)
            (folder / "build" / "vocab").symlink_to(self.work / "local" / "vocabulary")
            started = python("mine.py", *options, temporary=self._temporary, cwd=folder)
            status, said = ended(started)
            if status:
                raise SystemExit(f"the pipeline of the docs, {name}: {said}")
            made = open_dataset(folder / "build" / "mine").records()
            documents.append(sorted(made, key=lambda document: document.id))
        if not documents[0] or documents[0] != documents[1]:
            raise SystemExit("the pipeline of the docs: not the same as without a cluster")
        print(f"the pipeline of docs/pipelines.md: the same {len(documents[0])} documents")

    def run_on_bucket(self) -> None:
        """Run Wikipedia from a bucket into a bucket; no worker sees a folder of the launcher.

        All of them see the installation, and the configuration of the cluster.
        """
        program = built()
        if program is None or not can_hide():
            print("s3://: skipped. It needs Go, and mount namespaces.")
            return
        services = self.cluster.services
        folder = services.folder / "server"
        (folder / "onoma").mkdir(parents=True)
        port = os.environ["AWS_ENDPOINT_URL"].rpartition("/")[2]
        names = {"ROOT_ACCESS_KEY": "AWS_ACCESS_KEY_ID", "ROOT_SECRET_KEY": "AWS_SECRET_ACCESS_KEY"}
        secrets = {name: SECRETS[of] for name, of in names.items()}
        serve = (str(program), "--port", port, "--quiet", "posix", str(folder))
        services.start(*serve, log="server", environment=secrets)
        wait_for(partial(listens, int(port.rpartition(":")[2])), "the server of buckets listens")
        (services.hidden / "launcher").touch()
        for worker in self.cluster.workers:
            if Path(f"/proc/{worker.pid}/root{services.hidden}/launcher").exists():
                raise SystemExit("s3://: a worker sees the launcher's folder")
        Bucket("s3://onoma/dumps").put(SAMPLE.name, self.work / SAMPLE.name)
        command = ["wikipedia_to_documents", "--input", f"s3://onoma/dumps/{SAMPLE.name}"]
        output = ("--output", "s3://onoma/build/wikipedia")
        begin = time.monotonic()
        launcher = launch((*command, *output, *self._options()), temporary=services.hidden)
        status, said = ended(launcher)
        seconds = time.monotonic() - begin
        if status:
            raise SystemExit(f"s3://: {said}")
        made = stage(output[1])
        verify(made)
        if plain_files_of(made) != plain_files_of(self.work / "local" / "wikipedia"):
            raise SystemExit(f"s3://: not the same as without a cluster\n{said}")
        inside = self.cluster.engine.seconds()
        print(f"s3://, no file system in common: the same bytes; {inside:.1f} s, {seconds:.1f} s")

    def kill(self, name: str, command: Sequence[str]) -> None:
        """Kill a worker in the middle; where the job fails, run the same again with another."""
        output = self.work / f"{name}-killed"
        done = partial(receipts, output, READERS[name])
        process = self._submit(command, output)
        wait_for(lambda: len(done()) >= 3 or process.poll() is not None, "units are done")
        n_done, n_units = len(done()), len(receipts(self.work / "local" / name, READERS[name]))
        if process.poll() is not None or n_done >= n_units:
            raise SystemExit(f"too late for a kill, after {n_done} units\n{ended(process)[1]}")
        self.cluster.kill_worker()
        status, said = ended(process)
        if not status:
            self._compare(f"{name}, killed", output, (status, said))
            print(f"{name}, killed after {n_done} of {n_units} units: the others did its units")
            self.cluster.add_worker()
            return
        before = done()
        print(
            f"{name}, killed after {len(before)} of {n_units} units: {said.splitlines()[-1][:200]}"
        )
        self.cluster.add_worker()
        self._compare(f"{name}, run again", output, ended(self._submit(command, output)))
        kept = sum(done().get(unit) == time_ for unit, time_ in before.items())
        print(f"run again: the same bytes; {kept} of {len(before)} units were kept")


def plain_files_of(output: Path) -> dict[str, bytes]:
    """Return the bytes of the published files by the names that they have in a local run.

    ``dataset.json`` and ``run.json`` are left out, since they have names of shards in them.
    """
    named = {}
    for name, content in files_of(output).items():
        path = Path(name)
        if path.name not in {"dataset.json", "run.json"}:
            short = "-".join(path.stem.split("-")[:2]) + path.suffix
            named[str(path.with_name(short if path.suffix == ".arrow" else path.name))] = content
    return named


def receipts(output: Path, stage: str) -> dict[str, int]:
    """Return when each receipt of a unit of a stage was written, in nanoseconds."""
    paths = output.glob(f".build/*/receipts/{stage}/0*.json")
    return {path.name: path.stat().st_mtime_ns for path in paths}


def check(name: str, folder: Path, *, copies: int, checks: str) -> None:
    """Run checks on a cluster of an engine: all, ``smoke``, or those of the ``model``."""
    jar = package(name, folder)
    work = folder / name / "work"
    shutil.rmtree(work, ignore_errors=True)
    (work / "local").mkdir(parents=True)
    dump = work / SAMPLE.name
    repeat(copies, dump)
    news = work / "pages"
    repeat_news(copies, news)
    todo = commands(dump, news, work / "local")
    environment = SECRETS | {
        "AWS_ENDPOINT_URL": f"http://{LOOPBACK}:{free_port()}",
        "ONOMA_CACHE": str(work / "cluster" / "hidden" / "cache"),
    }
    os.environ.update(environment)
    with running(name, jar, work / "cluster", environment=environment) as cluster:
        runs = Runs(cluster, work)
        if checks == "model":
            compare_with_model(runs, dump)
        elif checks == "smoke":
            smoke(runs, todo)
        else:
            measure(runs, todo)
    shutil.rmtree(work)


def compare_with_model(runs: Runs, dump: Path) -> None:
    """Compare ``cluster_model`` with runs on one, two and four workers, as far as cores reach.

    What a run costs before it reads, here and on so many workers, is taken from the smallest dump.
    """
    dumps = {"small": SAMPLE, "large": dump}
    commands = {
        name: ["wikipedia_to_documents", "--input", str(file)] for name, file in dumps.items()
    }
    here = {name: runs.run_here(name, command) for name, command in commands.items()}
    read = dump.stat().st_size - SAMPLE.stat().st_size
    costs = replace(
        cluster_model.measured(cluster_model.Costs()), xml=(here["large"] - here["small"]) / read
    )
    n_rows = open_dataset(runs.work / "local" / "large" / "documents").n_rows
    steps = cluster_model.wikipedia(costs, xml=read, articles=n_rows, redirects=n_rows)
    begin_table(runs, n_workers=1)
    lines = []
    for n_workers in (1, 2, 4):
        while len(runs.cluster.workers) < n_workers:
            runs.cluster.add_worker()
        n_cores = min(n_workers, len(os.sched_getaffinity(0)))
        start = runs.run_warm("small", commands["small"])
        model = start + 3600 * sum(step.hours(n_cores) for step in steps)
        seconds = runs.run("large", commands["large"])
        lines.append(
            f"{n_workers} workers: {seconds:.1f} s, model {model:.1f} ({seconds / model - 1:+.0%})"
        )
    print("\n".join(lines))


def smoke(runs: Runs, todo: dict[str, list[str]]) -> None:
    """Run what tells soonest whether all of it fits together."""
    for name in ("tei", "wikipedia", "vocabulary", "news"):
        runs.run_here(name, todo[name])
    begin_table(runs, n_workers=2)
    for name in ("tei", "wikipedia", "news"):
        runs.run(name, todo[name])
    runs.kill("news", todo["news"])
    runs.run_as_a_stranger()


def measure(runs: Runs, todo: dict[str, list[str]]) -> None:
    """Run all, with one worker and two, and kill one."""
    story = ("--input", str(DATA / "text" / "wulingzhen.txt"), "--lang", "zh", "--group", "story")
    for name, command in ({"text": ["text_to_documents", *story]} | todo).items():
        runs.run_here(name, command)
    begin_table(runs, n_workers=1)
    for name in ("tei", "wikipedia"):  # the first run also loads the classes of Beam
        runs.run(name, todo[name])
    runs.cluster.add_worker()
    for name, command in todo.items():
        runs.run(name, command)
    runs.run_as_a_stranger()
    runs.run_on_bucket()
    for name in READERS:
        runs.kill(name, todo[name])


def begin_table(runs: Runs, *, n_workers: int) -> None:
    """Start workers, and print the head of the table."""
    for _ in range(n_workers):
        runs.cluster.add_worker()
    print("| run | workers | s in the engine | s in all | Java, MB | Python, MB |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |", flush=True)


def main() -> None:
    """Run the checks of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("engine", choices=MODULES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--copies", type=int, default=60, help="of the small wiki")
    parser.add_argument(
        "--smoke",
        dest="checks",
        action="store_const",
        const="smoke",
        default="all",
        help="only what tells soonest",
    )
    parser.add_argument(
        "--model",
        dest="checks",
        action="store_const",
        const="model",
        help="compare cluster_model with one, two and four workers, on a quiet machine",
    )
    arguments = parser.parse_args()
    missing = [tool for tool in ("java", "mvn", "setpriv") if shutil.which(tool) is None]
    if missing:
        raise SystemExit(f"{', '.join(missing)}: not found. Install a JDK 17, Maven, util-linux.")
    folder = arguments.folder.resolve()
    check(arguments.engine, folder, copies=arguments.copies, checks=arguments.checks)


if __name__ == "__main__":
    main()
