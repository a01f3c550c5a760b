"""Clusters of Flink and of Spark on loopback, for the checks of ``benchmarks.engines``.

All processes end with the process that starts them. Maven makes one jar for each engine, with
Beam's runner, the engine itself, and all dependencies. Beam 2.77 for Python works with these
versions: the newest of which all modules could be had from Maven Central.
"""

import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 240
"""The time limit of a job, and of the start of a service."""
LOOPBACK = "127.0.0.1"
MODULES = {
    "flink": ("org.apache.beam:beam-runners-flink-1.19:2.62.0",),
    "spark": (
        "org.apache.beam:beam-runners-spark-3:2.62.0",
        *(f"org.apache.spark:spark-{name}_2.12:3.5.0" for name in ("core", "sql", "streaming")),
    ),
}
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>onoma</groupId><artifactId>{name}</artifactId><version>1</version>
<properties><project.build.sourceEncoding>UTF-8</project.build.sourceEncoding></properties>
<dependencies>{dependencies}</dependencies>
<build><finalName>{name}</finalName><plugins><plugin>
<groupId>org.apache.maven.plugins</groupId><artifactId>maven-shade-plugin</artifactId>
<version>3.6.0</version><executions><execution><phase>package</phase><goals><goal>shade</goal></goals>
<configuration><transformers><transformer
implementation="org.apache.maven.plugins.shade.resource.ServicesResourceTransformer"/></transformers>
<filters><filter><artifact>*:*</artifact><excludes><exclude>META-INF/*.SF</exclude>
<exclude>META-INF/*.DSA</exclude><exclude>META-INF/*.RSA</exclude></excludes></filter></filters>
</configuration></execution></executions></plugin></plugins></build></project>
"""
DEPENDENCY = (
    "<dependency><groupId>{}</groupId><artifactId>{}</artifactId><version>{}</version></dependency>"
)
LOGGER = "org.slf4j:slf4j-simple:1.7.36"
OPENED = (
    *("java.io", "java.lang", "java.lang.invoke", "java.lang.reflect", "java.net", "java.nio"),
    *("java.text", "java.time", "java.util", "java.util.concurrent", "java.util.concurrent.atomic"),
    *("java.util.concurrent.locks", "sun.nio.ch", "sun.nio.cs", "sun.util.calendar"),
)
"""Packages of ``java.base`` that Flink and Spark access by reflection, which Java 17 must allow."""
JAVA = (
    *("java", "-XX:+UseSerialGC", "-XX:-UsePerfData"),  # else a kill leaves files in /tmp
    *(
        "-Dorg.slf4j.simpleLogger.showDateTime=true",
        "-Dorg.slf4j.simpleLogger.dateTimeFormat=mm:ss",
    ),
    "--add-exports=java.base/sun.net.util=ALL-UNNAMED",
    *(f"--add-opens=java.base/{name}=ALL-UNNAMED" for name in OPENED),
)
FLINK = """
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


def package(name: str, folder: Path) -> Path:
    """Have Maven make the jar of an engine, where it is not there yet; returns its path."""
    jar = folder / name / "target" / f"{name}.jar"
    done = folder / name / "done"
    if not done.exists():
        done.parent.mkdir(parents=True, exist_ok=True)
        modules = (module.split(":") for module in (*MODULES[name], LOGGER))
        dependencies = "".join(DEPENDENCY.format(*module) for module in modules)
        pom = POM.format(name=name, dependencies=dependencies)
        (done.parent / "pom.xml").write_text(pom)
        maven = (str(shutil.which("mvn")), "-B", "-q", "package")
        subprocess.run(maven, cwd=done.parent, check=True)
        done.touch()
    return jar


HIDE = 'mount -t tmpfs none "$0" && exec "$@"'


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.create_server((LOOPBACK, 0)) as server:
        port: int = server.getsockname()[1]
        return port


def wait_for(condition: Callable[[], bool], what: str) -> None:
    """Wait until something holds; raises ``TimeoutError``."""
    end = time.monotonic() + SECONDS
    while not condition():
        if time.monotonic() > end:
            raise TimeoutError(f"{what}: not so after {SECONDS} s")
        time.sleep(0.1)


def listens(port: int) -> bool:
    """Return whether something listens on a port of loopback."""
    with socket.socket() as probe:
        return probe.connect_ex((LOOPBACK, port)) == 0


def ask(port: int, path: str) -> Any:
    """Get JSON of a service; an empty dictionary where it gives nothing."""
    connection = http.client.HTTPConnection(LOOPBACK, port, timeout=30)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read() or "{}")
    finally:
        connection.close()


@dataclass
class Services:
    """The processes of a cluster, each in its own process group."""

    jar: Path
    folder: Path
    """The folder for configuration, logs, and other files of the services."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Environment variables of all services, besides those that are needed anyway."""
    started: list[subprocess.Popen[bytes]] = field(default_factory=list)

    @property
    def hidden(self) -> Path:
        """The folder for files of a launcher that workers must not see: they see an empty one.

        Workers see the same folder where the system gives us no mount namespaces.
        """
        return self.folder / "hidden"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files of all services."""
        return self.folder / "temporary"

    def start(
        self, *command: str, log: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.Popen[bytes]:
        """Start a command that ends when this process does."""
        ours = {"PYTHONPATH": str(ROOT), "TMPDIR": str(self.temporary), **self.environment}
        with (self.folder / f"{log}.log").open("wb") as file:
            process = subprocess.Popen(
                [str(shutil.which("setpriv")), "--pdeathsig", "KILL", "--", *command],
                cwd=self.folder,
                env={**os.environ, **ours, **(environment or {})},
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self.started.append(process)
        return process

    def java(
        self,
        program: str,
        *arguments: str,
        log: str,
        heap: int,
        settings: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        is_worker: bool = False,
    ) -> subprocess.Popen[bytes]:
        """Start a program in Java; ``heap`` in MB."""
        given = (f"-Xmx{heap}m", f"-Djava.io.tmpdir={self.temporary}", *settings)
        command = (*JAVA, *given, "-cp", str(self.jar), f"org.apache.{program}", *arguments)
        if is_worker and can_hide():
            command = ("unshare", "--mount", "sh", "-ec", HIDE, str(self.hidden), *command)
        return self.start(*command, log=log, environment=environment)

    def end(self) -> None:
        """Kill all services, wait until their processes have ended, and remove temporary files."""
        for process in self.started:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        wait_for(lambda: not processes_of(self.temporary), "all processes have ended")
        shutil.rmtree(self.temporary, ignore_errors=True)


@cache
def can_hide() -> bool:
    """Return whether the system lets us hide a folder from a process."""
    try:
        tried = subprocess.run([str(shutil.which("unshare")), "--mount", "true"], check=False)
    except OSError:
        return False
    return tried.returncode == 0


def processes_of(temporary: Path) -> list[int]:
    """List the processes that have a folder for temporary files."""
    ours = f"TMPDIR={temporary}".encode()
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            if ours in (path / "environ").read_bytes().split(b"\0"):
                found.append(int(path.name))
        except OSError:
            continue  # the process has ended, or belongs to another user
    return found


class Engine(Protocol):
    """The interface of an engine on a cluster."""

    def begin(self) -> int:
        """Start all but its workers; returns the port of Beam's job service."""

    def add_worker(self, number: int) -> subprocess.Popen[bytes]:
        """Start a worker."""

    def n_workers(self) -> int:
        """Count the workers that it knows."""

    def seconds(self) -> float:
        """Return how long the last job took."""


@dataclass
class Flink:
    """A Flink cluster: a JobManager, with TaskManagers as workers."""

    services: Services
    rest: int = field(default_factory=free_port)

    def begin(self) -> int:
        """Start the JobManager and Beam's job service."""
        services, jobs = self.services, free_port()
        conf = FLINK.format(temporary=services.temporary, rest=self.rest, rpc=free_port())
        (services.folder / "config.yaml").write_text(conf)
        program = "flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint"
        services.java(program, "--configDir", str(services.folder), log="jobmanager", heap=300)
        services.java(
            "beam.runners.flink.FlinkJobServerDriver",
            f"--flink-master={LOOPBACK}:{self.rest}",
            *job_service(services, jobs),
            log="job_service",
            heap=400,
        )
        wait_for(partial(listens, self.rest), "Flink listens")
        wait_for(lambda: "taskmanagers" in ask(self.rest, "/overview"), "Flink answers")
        return jobs

    def add_worker(self, number: int) -> subprocess.Popen[bytes]:
        """Start a TaskManager."""
        program = "flink.runtime.taskexecutor.TaskManagerRunner"
        conf = ("--configDir", str(self.services.folder))
        log = f"taskmanager-{number}"
        return self.services.java(program, *conf, log=log, heap=464, is_worker=True)

    def n_workers(self) -> int:
        """Count the TaskManagers."""
        count: int = ask(self.rest, "/overview")["taskmanagers"]
        return count

    def seconds(self) -> float:
        """Return how long the last job took, by Flink's account."""
        jobs = ask(self.rest, "/jobs/overview")["jobs"]
        last = max(jobs, key=lambda job: job["start-time"])
        return float(last["duration"]) / 1000


@dataclass
class Spark:
    """A Spark cluster: a master, and workers that start an executor for each job."""

    services: Services
    rest: int = field(default_factory=free_port)
    port: int = field(default_factory=free_port)

    def begin(self) -> int:
        """Start the master and Beam's job service."""
        services, jobs = self.services, free_port()
        jars = services.folder / "home" / "jars"  # executors look for classes there
        jars.mkdir(parents=True)
        (jars / services.jar.name).symlink_to(services.jar)
        port = ("--host", LOOPBACK, "--port", str(self.port), "--webui-port", str(self.rest))
        self._java("spark.deploy.master.Master", *port, log="master", heap=300)
        self._java(
            "beam.runners.spark.SparkJobServerDriver",
            f"--spark-master-url=spark://{LOOPBACK}:{self.port}",
            *job_service(services, jobs),
            log="job_service",
            heap=600,
            settings=(
                *(f"-Dspark.driver.host={LOOPBACK}", "-Dspark.ui.enabled=false"),
                *("-Dspark.executor.memory=600m", "-Dspark.worker.timeout=8"),
            ),
        )
        wait_for(partial(listens, self.rest), "Spark listens")
        return jobs

    def _java(self, program: str, *arguments: str, **others: Any) -> subprocess.Popen[bytes]:
        environment = {
            "SPARK_HOME": str(self.services.folder / "home"),
            "SPARK_LOCAL_DIRS": str(self.services.temporary),
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_SCALA_VERSION": "2.12",
        }
        return self.services.java(program, *arguments, environment=environment, **others)

    def add_worker(self, number: int) -> subprocess.Popen[bytes]:
        """Start a worker."""
        return self._java(
            "spark.deploy.worker.Worker",
            *("--host", LOOPBACK, "--cores", "1", "--memory", "700m", "--webui-port", "0"),
            *("--work-dir", str(self.services.temporary / f"worker-{number}")),
            f"spark://{LOOPBACK}:{self.port}",
            log=f"worker-{number}",
            heap=300,
            is_worker=True,
        )

    def n_workers(self) -> int:
        """Count the workers."""
        count: int = ask(self.rest, "/json/")["aliveworkers"]
        return count

    def seconds(self) -> float:
        """Return how long the last job took, by Spark's account."""
        jobs = ask(self.rest, "/json/")["completedapps"]
        last = max(jobs, key=lambda job: job["starttime"])
        return float(last["duration"]) / 1000


ENGINES: dict[str, Callable[[Services], Engine]] = {"flink": Flink, "spark": Spark}


def job_service(services: Services, port: int) -> tuple[str, ...]:
    """Return the options of Beam's job service, for a port."""
    return (
        *(f"--job-host={LOOPBACK}", f"--job-port={port}"),
        *(f"--artifact-port={free_port()}", "--expansion-port=-1"),
        f"--artifacts-dir={services.temporary}/artifacts",
    )


@dataclass
class Cluster:
    """A running cluster: an engine, its workers, and Beam's job service."""

    services: Services
    engine: Engine
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)
    options: tuple[str, ...] = ()
    """Options for Beam by which a pipeline runs on the cluster."""

    def begin(self) -> None:
        """Start all but the workers of the engine."""
        self.services.temporary.mkdir(parents=True)
        self.services.hidden.mkdir()
        boot = self.services.folder / "boot"
        log = self.services.folder / "python.log"
        boot.write_text(f'#!/bin/sh\nexec {sys.executable} -m benchmarks.boot "$@" 2>>{log}\n')
        boot.chmod(0o755)
        port = self.engine.begin()
        wait_for(partial(listens, port), "Beam's job service listens")
        self.options = (
            *("--runner=PortableRunner", f"--job_endpoint={LOOPBACK}:{port}"),
            *("--environment_type=PROCESS", f'--environment_config={{"command": "{boot}"}}'),
        )

    def add_worker(self) -> None:
        """Start a worker, and wait until the engine knows it."""
        expected = len(self.workers) + 1
        self.workers.append(self.engine.add_worker(len(self.services.started)))
        wait_for(lambda: self.engine.n_workers() == expected, "the worker is known")

    def kill_worker(self) -> None:
        """Kill a worker, and wait until the engine has missed it."""
        lost = self.workers.pop()
        os.killpg(lost.pid, signal.SIGKILL)
        lost.wait()
        wait_for(lambda: self.engine.n_workers() == len(self.workers), "the worker is missed")


@contextmanager
def running(
    name: str, jar: Path, folder: Path, *, environment: Mapping[str, str]
) -> Iterator[Cluster]:
    """Give a cluster without workers; nothing of it is left afterwards but its logs."""
    services = Services(jar, folder, environment)
    try:
        cluster = Cluster(services, ENGINES[name](services))
        cluster.begin()
        yield cluster
    finally:
        services.end()
