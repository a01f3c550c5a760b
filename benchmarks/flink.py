"""Run pipelines on a Flink cluster of this machine, and compare every byte with runs without it.

    python -m benchmarks.flink build/flink --copies 60

A JobManager, one TaskManager and then two, Beam's job server and a pool of Beam's Python workers
are processes on loopback. Maven brings Beam's modules, pip the distribution of Flink, both into the
folder. TEI, the small wiki COPIES times over, its vocabulary, a lexicon and news must give the
same bytes as here; Wikipedia is then done again while a TaskManager is killed, and ended by
the same command with another in its place. All processes end with this one.
"""

import argparse
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data"
SAMPLE = DATA / "wikipedia" / "kleinwiki-20261101-pages-articles.xml"
FLINK = "1.19.0"
BEAM = "2.62.0"
"""Of the job server, which is older than the Python side; it needs Flink of just that version."""
POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>onoma</groupId><artifactId>flink</artifactId><version>1</version><dependencies><dependency>
<groupId>org.apache.beam</groupId><artifactId>beam-runners-flink-1.19</artifactId>
<version>{BEAM}</version></dependency></dependencies></project>
"""
CONF = """
jobmanager: {{rpc: {{address: 127.0.0.1, port: {rpc}}}, bind-host: 127.0.0.1,
  memory: {{process: {{size: 700m}}}}}}
taskmanager: {{host: 127.0.0.1, bind-host: 127.0.0.1, numberOfTaskSlots: 1, cpu: {{cores: 1.0}},
  memory: {{task: {{heap: {{size: 400m}}, off-heap: {{size: 64m}}}},
    framework: {{heap: {{size: 64m}}, off-heap: {{size: 64m}}}}, managed: {{size: 64m}},
    network: {{min: 64m, max: 64m}}, jvm-metaspace: {{size: 256m}},
    jvm-overhead: {{min: 64m, max: 64m}}}}}}
rest: {{address: 127.0.0.1, bind-address: 127.0.0.1, port: {rest}}}
heartbeat: {{interval: 1000, timeout: 8000}}
classloader: {{resolve-order: parent-first, check-leaked-classloader: false}}
io: {{tmp: {{dirs: {temporary}}}}}
"""
LOG4J = """rootLogger.level = INFO
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss} %-5p %c{1} - %m%n
"""
OPENED = ("lang", "net", "io", "nio", "lang.reflect", "text", "time", "util", "util.concurrent")
MORE_OPENED = ("util.concurrent.atomic", "util.concurrent.locks")
JAVA = (
    "java",
    "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    *(f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in (*OPENED, *MORE_OPENED)),
)
"""Flink needs it with Java 17: its own configuration lists the same."""
SECONDS = 240
"""That a job may take, or a service its start."""


def fetch(folder: Path) -> None:
    """Bring Flink and the job server, where they are not there yet."""
    if (folder / "fetched").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "pom.xml").write_text(POM)
    maven = ("mvn", "-B", "-q", "dependency:copy-dependencies", "-DincludeScope=runtime")
    subprocess.run([*maven, f"-DoutputDirectory={folder}/beam"], cwd=folder, check=True)
    pip = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:")
    package = f"apache-flink-libraries=={FLINK}"
    subprocess.run([*pip, "--no-build-isolation", "--dest", str(folder), package], check=True)
    packed = folder / f"apache-flink-libraries-{FLINK}.tar.gz"
    with tarfile.open(packed) as archive:
        wanted = re.compile(r"[^/]+/deps/lib/(flink-dist|log4j)[^/]*\.jar")
        for member in archive.getmembers():
            if wanted.fullmatch(member.name):
                member.name = f"flink/{Path(member.name).name}"
                archive.extract(member, folder, filter="data")
    packed.unlink()
    (folder / "fetched").touch()


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
        return port


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until something holds."""
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not so after {SECONDS} s")
        time.sleep(0.1)


def listens(port: int) -> bool:
    """Whether somebody listens on a port."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@dataclass
class Cluster:
    """The services, each in a process group of its own."""

    fetched: Path
    folder: Path
    """Configuration, logs, and what Flink and Beam write besides."""
    ports: dict[str, int] = field(default_factory=dict)
    task_managers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    services: list[subprocess.Popen[bytes]] = field(default_factory=list)
    pool: subprocess.Popen[bytes] = field(init=False)

    def start(self, *command: str, log: str) -> subprocess.Popen[bytes]:
        """Start a command that ends when this process does."""
        path = f"{self.folder}/bin:{os.environ['PATH']}"  # the pool calls "python"
        environment = os.environ | {"PATH": path, "PYTHONPATH": str(ROOT), "TMPDIR": self.place}
        with (self.folder / f"{log}.log").open("wb") as file:
            process = subprocess.Popen(
                [str(shutil.which("setpriv")), "--pdeathsig", "KILL", "--", *command],
                cwd=self.folder,
                env=environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self.services.append(process)
        return process

    @property
    def place(self) -> str:
        """For temporary files."""
        return str(self.folder / "temporary")

    def java(self, program: str, *arguments: str, log: str, heap: int, jars: Sequence[Path]) -> Any:
        """Start a program in Java; ``heap`` in MB."""
        settings = (
            f"-Dlog4j.configurationFile={self.folder}/log4j.properties",
            *(f"-Xmx{heap}m", f"-Djava.io.tmpdir={self.place}", "-XX:+UseSerialGC"),
        )
        jars = [*sorted((self.fetched / "flink").glob("log4j*.jar")), *jars]
        classes = ":".join(map(str, jars))
        return self.start(*JAVA, *settings, "-cp", classes, program, *arguments, log=log)

    def flink(self, program: str, *, log: str, heap: int) -> Any:
        """Start a service of Flink, which has Beam's modules on its class path."""
        beam = sorted((self.fetched / "beam").glob("*.jar"))
        jars = [*(self.fetched / "flink").glob("flink-dist*.jar")]
        jars += [jar for jar in beam if not jar.name.startswith("flink-")]
        program = f"org.apache.flink.runtime.{program}"
        return self.java(program, "--configDir", str(self.folder), log=log, heap=heap, jars=jars)

    def begin(self) -> None:
        """Start all but the TaskManagers."""
        Path(self.place).mkdir(parents=True)
        self.ports = {name: free_port() for name in ("rpc", "rest", "jobs", "artifacts", "pool")}
        conf = CONF.format(temporary=self.place, **self.ports)
        (self.folder / "config.yaml").write_text(conf)
        (self.folder / "log4j.properties").write_text(LOG4J)
        python = self.folder / "bin" / "python"
        python.parent.mkdir()
        python.write_text(f'#!/bin/sh\nexec setpriv --pdeathsig KILL -- {sys.executable} "$@"\n')
        python.chmod(0o755)  # a worker outlives its pool otherwise
        self.flink("entrypoint.StandaloneSessionClusterEntrypoint", log="jobmanager", heap=300)
        self.java(
            "org.apache.beam.runners.flink.FlinkJobServerDriver",
            f"--flink-master=127.0.0.1:{self.ports['rest']}",
            *("--job-host=127.0.0.1", f"--job-port={self.ports['jobs']}"),
            *(f"--artifact-port={self.ports['artifacts']}", "--expansion-port=-1"),
            f"--artifacts-dir={self.place}/artifacts",
            log="job_server",
            heap=400,
            jars=sorted((self.fetched / "beam").glob("*.jar")),
        )
        module = "apache_beam.runners.worker.worker_pool_main"
        port = f"--service_port={self.ports['pool']}"
        self.pool = self.start(sys.executable, "-m", module, port, log="pool")
        for name in ("rest", "jobs", "pool"):
            wait_for(partial(listens, self.ports[name]), name)
        wait_for(lambda: "taskmanagers" in self.ask("/overview"), "Flink answers")

    def add_task_manager(self) -> None:
        """Start a TaskManager, and wait until Flink knows it."""
        n_before = self.ask("/overview")["taskmanagers"]
        log = f"taskmanager-{len(self.services)}"
        program = "taskexecutor.TaskManagerRunner"
        self.task_managers.append(self.flink(program, log=log, heap=464))
        wait_for(lambda: self.ask("/overview")["taskmanagers"] == n_before + 1, log)

    def kill_task_manager(self) -> None:
        """Kill one, and wait until Flink has missed it."""
        lost = self.task_managers.pop()
        os.killpg(lost.pid, signal.SIGKILL)
        lost.wait()
        n_left = len(self.task_managers)
        wait_for(lambda: self.ask("/overview")["taskmanagers"] == n_left, "a TaskManager is gone")

    def ask(self, path: str) -> Any:
        """Ask Flink."""
        connection = http.client.HTTPConnection("127.0.0.1", self.ports["rest"], timeout=30)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read() or "{}")
        finally:
            connection.close()

    def submit(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Run a pipeline on it."""
        return launch(
            *command,
            *("--runner=PortableRunner", f"--job_endpoint=127.0.0.1:{self.ports['jobs']}"),
            *(
                "--environment_type=EXTERNAL",
                f"--environment_config=127.0.0.1:{self.ports['pool']}",
            ),
            f"--parallelism={len(self.task_managers)}",
        )

    def end(self) -> None:
        """Kill all of it."""
        for process in self.services:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextmanager
def running(fetched: Path, folder: Path) -> Iterator[Cluster]:
    """Give a cluster without TaskManagers; nothing of it is left afterwards but its logs."""
    cluster = Cluster(fetched, folder)
    try:
        cluster.begin()
        yield cluster
    finally:
        cluster.end()
        shutil.rmtree(cluster.place, ignore_errors=True)


def launch(module: str, *options: str) -> subprocess.Popen[str]:
    """Start the launcher of a pipeline; units of Wikipedia are small, so that there are many."""
    small = "p.RANGE_BYTES = (100_000, 100_000); " if module == "wikipedia_to_documents" else ""
    program = f"import sys; import pipelines.{module} as p; {small}sys.exit(p.main(sys.argv[1:]))"
    return subprocess.Popen(
        [sys.executable, "-c", program, *options],
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a launcher; its status and what it said."""
    try:
        said, _ = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    return process.returncode, said


def files_of(output: Path) -> dict[str, bytes]:
    """Every published file with its bytes."""
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


def commands(dump: Path, local: Path) -> dict[str, list[str]]:
    """What is run, in an order in which each has its input."""
    news = DATA / "news"
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


def memory(pid: int | str) -> int:
    """The most that a process took since its start, in MB; 0 where it has ended."""
    try:
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0
    found = re.search(r"VmHWM:\s+(\d+)", status)
    return int(found[1]) // 1024 if found else 0


def memory_of_children(pid: int) -> int:
    """The same of the largest child of a process."""
    lists = Path(f"/proc/{pid}/task").glob("*/children")
    children = [child for path in lists for child in path.read_text().split()]
    return max(map(memory, children), default=0)


@dataclass
class Runs:
    """What is run on a cluster, and compared."""

    cluster: Cluster
    local: Path
    """Outputs of runs without a cluster, by name."""
    outputs: Path

    def run(self, name: str, command: Sequence[str]) -> None:
        """Run a pipeline, compare, and print a row of the table."""
        n = len(self.cluster.task_managers)
        output = self.outputs / f"{name}-{n}"
        begin = time.monotonic()
        process = self.cluster.submit([*command, "--output", str(output)])
        worker = 0
        while process.poll() is None and time.monotonic() < begin + SECONDS:
            worker = max(worker, memory_of_children(self.cluster.pool.pid))
            time.sleep(0.2)
        status, said = ended(process)
        seconds = time.monotonic() - begin
        if status or files_of(output) != files_of(self.local / name):
            raise SystemExit(f"{name}: not the same as without Flink\n{said}")
        job = max(self.cluster.ask("/jobs/overview")["jobs"], key=lambda job: job["start-time"])
        java = max(memory(process.pid) for process in self.cluster.task_managers)
        row = (name, n, f"{job['duration'] / 1000:.1f}", f"{seconds:.1f}", java, worker)
        print("| " + " | ".join(map(str, row)) + " |", flush=True)

    def kill(self, command: Sequence[str]) -> None:
        """Kill a TaskManager in the middle, put another in its place, and run the same again."""
        output = self.outputs / "killed"
        process = self.cluster.submit([*command, "--output", str(output)])
        wait_for(lambda: len(receipts(output)) >= 3 or process.poll() is not None, "units are done")
        self.cluster.kill_task_manager()
        status, said = ended(process)
        done = receipts(output)
        n_units = len(receipts(self.local / "wikipedia"))
        if status != 1 or len(done) >= n_units:
            raise SystemExit(f"killed: exit status {status}, {len(done)} units\n{said}")
        print(f"killed after {len(done)} of {n_units} units: {said.splitlines()[-1][:200]}")
        self.cluster.add_task_manager()
        again = self.cluster.submit([*command, "--output", str(output)])
        status, said = ended(again)
        if status or files_of(output) != files_of(self.local / "wikipedia"):
            raise SystemExit(f"run again: not the same as without Flink\n{said}")
        kept = sum(receipts(output).get(name) == time_ for name, time_ in done.items())
        print(f"run again: the same bytes; {kept} of {len(done)} units were kept")


def receipts(output: Path) -> dict[str, int]:
    """The receipts of units of Wikipedia, and when each was written."""
    paths = output.glob(".build/*/receipts/extract/0*.json")
    return {path.name: path.stat().st_mtime_ns for path in paths}


def check(folder: Path, copies: int) -> None:
    """Run all of it."""
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    local, dump = work / "local", work / SAMPLE.name
    local.mkdir(parents=True)
    repeat(copies, dump)
    story = ("--input", str(DATA / "text" / "wulingzhen.txt"), "--lang", "zh", "--group", "story")
    todo = commands(dump, local)
    here = {"text": ["text_to_documents", *story]} | todo
    for name, command in here.items():
        status, said = ended(launch(*command, "--output", str(local / name)))
        if status:
            raise SystemExit(f"{name}, without Flink: {said}")
    with running(folder, work / "cluster") as cluster:
        print("| run | TaskManagers | s in Flink | s in all | TaskManager, MB | worker, MB |")
        print("| --- | ---: | ---: | ---: | ---: | ---: |")
        runs = Runs(cluster, local, work)
        cluster.add_task_manager()
        for name in ("tei", "wikipedia"):  # the first loads the classes of Beam
            runs.run(name, todo[name])
        cluster.add_task_manager()
        for name, command in todo.items():
            runs.run(name, command)
        runs.kill(todo["wikipedia"])
    shutil.rmtree(work)


def main() -> None:
    """Fetch, run, compare."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--copies", type=int, default=60, help="of the small wiki")
    arguments = parser.parse_args()
    missing = [tool for tool in ("java", "mvn", "setpriv") if shutil.which(tool) is None]
    if missing:
        raise SystemExit(f"{', '.join(missing)}: not found. Install a JDK 17, Maven, util-linux.")
    folder = arguments.folder.resolve()
    fetch(folder)
    check(folder, arguments.copies)


if __name__ == "__main__":
    main()
