"""Pipelines on Beam's portable runner, with workers that share nothing with the launcher but files.

Where it is allowed, launcher and job service stand in one network namespace and each worker pool
in another, and the pools cannot see the folder that the launcher's code lies in.
"""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from corpora.datasets.shards import open_dataset
from pipelines import (
    documents_to_entity_vocab,
    documents_to_examples,
    documents_to_lexicon,
    documents_to_tokenizer,
    tei_to_ner,
    text_to_documents,
    wikipedia_to_documents,
)
from tests.bucket_server import SECRETS
from tests.killing import files_of
from tests.pipelines.test_on_bucket import hashes
from tests.pipelines.test_tei_to_ner import LETTERS
from tests.processes import PATIENCE_S, wait_for

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = ROOT / "tests" / "data" / "wikipedia" / "kleinwiki-20261101-pages-articles.xml"
STORY = ROOT / "tests" / "data" / "text" / "wulingzhen.txt"
COPIES = 10
"""Of the small wiki, so that a run of it lasts long enough to be killed."""
RANGES = (40_000, 40_000)
BLOCKS = ("--blocks", "tables,infoboxes,references,math")
PORT = 50_000
SERVICE = "10.77.0.1"
NAMESPACES = ("nsenter", "--user", "--net", "--uts", "--preserve-credentials")
HOLDER = """import socket, sys
socket.sethostname(sys.argv[1])  # where workers look for the job service
print("ready", flush=True)
sys.stdin.read()
"""
POOL = (sys.executable, "-m", "apache_beam.runners.worker.worker_pool_main")
SERVICE_OF_JOBS = (sys.executable, "-m", "apache_beam.runners.portability.local_job_service_main")
HIDDEN = 'mount -t tmpfs none "$0" && exec "$@"'


@dataclass
class Machine:
    """Where processes run: a prefix for their commands, an address, an environment."""

    folder: Path
    address: str = "localhost"
    prefix: tuple[str, ...] = ()
    processes: list[subprocess.Popen] = field(default_factory=list)
    settings: dict[str, str] = field(default_factory=dict)
    """What its processes find in the environment besides."""

    def start(self, *command, log):
        """Start a command in a group of its own, in an empty home and an empty environment."""
        home = self.folder / "home"
        home.mkdir(parents=True, exist_ok=True)
        environment = {
            "PATH": f"{Path(sys.executable).parent}:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": str(home),
            "PYTHONPATH": str(self.folder / "code"),
            **self.settings,
        }
        with (self.folder / log).open("wb") as file:
            process = subprocess.Popen(
                [*self.prefix, *command],
                cwd=home,
                env=environment,
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self.processes.append(process)
        return process

    def do(self, program, *arguments):
        """Run a program in Python, to its end; what it said."""
        done = self.start(sys.executable, "-c", program, *arguments, log="done.log").wait()
        said = (self.folder / "done.log").read_text()
        assert done == 0, said
        return said

    def kill(self):
        """Switch the machine off."""
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def n_workers(self):
        """Count the workers that were asked of its pool."""
        return (self.folder / "pool.log").read_text().count("Starting worker with command")


@dataclass
class Cluster:
    """A launcher with a job service, and two worker pools."""

    launcher: Machine
    pools: list[Machine]
    ports: list[int]
    job_port: str = ""

    def pool(self, *numbers):
        """Return the address of a pool; of several, that of the first one that can be reached."""
        places = [f"{self.pools[n].address}:{self.ports[n]}" for n in numbers]
        return f"ipv4:{','.join(places)}" if len(places) > 1 else places[0]

    def submit(self, module, output, *options, pool):
        """Submit a pipeline; returns the process of the launcher."""
        program = (
            f"import sys; import pipelines.{module} as p; "
            f"p.RANGE_BYTES = {RANGES}; sys.exit(p.main(sys.argv[1:]))"
        )
        return self.launcher.start(
            *(sys.executable, "-c", program, "--output", str(output), *map(str, options)),
            *("--runner=PortableRunner", f"--job_endpoint=localhost:{self.job_port}"),
            *("--environment_type=EXTERNAL", f"--environment_config={pool}"),
            log=Path(output).name,
        )

    def start_pool(self, number):
        """Start a pool, in an empty home: nothing is there that an earlier one has brought."""
        pool, port = self.pools[number], self.ports[number]
        shutil.rmtree(pool.folder / "home", ignore_errors=True)
        started = pool.start(*POOL, f"--service_port={port}", log="pool.log")
        wait_for(lambda: listens(started, port), started)

    def said(self, name):
        """Return what the launcher of this output said."""
        return (self.launcher.folder / name).read_text()


def install(folder):
    """Put a copy of the code into the folder of a machine, compiled as far as it is here."""
    in_the_making = shutil.ignore_patterns("*.pyc.*")  # by another process of pytest
    for package in ("corpora", "pipelines"):
        shutil.copytree(ROOT / package, folder / "code" / package, ignore=in_the_making)


@contextmanager
def namespace(machine, *command):
    """Make a network namespace while the context lasts; yields the process that holds it."""
    with subprocess.Popen(
        [*machine.prefix, *command, sys.executable, "-c", HOLDER, machine.address],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as holder:
        if holder.stdout.readline() != "ready\n":
            raise PermissionError("no new namespaces here")
        yield holder.pid
        holder.stdin.close()


def connect(launcher, pools, stack):
    """Give each machine a network namespace, with a cable from the launcher to each pool."""
    launcher.address = SERVICE
    unshare = ("unshare", "--user", "--map-root-user", "--net", "--uts")
    service = stack.enter_context(namespace(launcher, *unshare))
    launcher.prefix = (*NAMESPACES, "--target", str(service), "--")
    order(launcher, f"ip link set lo up; ip addr add {SERVICE}/32 dev lo")
    for number, pool in enumerate(pools, 1):
        pool.address, pool.prefix = f"10.77.{number}.2", launcher.prefix
        own = stack.enter_context(namespace(pool, "unshare", "--net", "--uts"))
        pool.prefix = (*NAMESPACES, "--target", str(own), "--")
        order(
            launcher,
            f"ip link add pool{number} type veth peer name eth0 netns {own}; "
            f"ip addr add 10.77.{number}.1/24 dev pool{number}; ip link set pool{number} up",
        )
        order(
            pool,
            f"ip addr add {pool.address}/24 dev eth0; ip link set lo up; ip link set eth0 up; "
            f"ip route add {SERVICE} via 10.77.{number}.1",
        )
        hidden = str(launcher.folder)
        pool.prefix += ("unshare", "--mount", "sh", "-ec", HIDDEN, hidden)
        order(pool, f"test ! -e {hidden}/code")


def order(machine, script):
    subprocess.run([*machine.prefix, "sh", "-ec", script], check=True, stderr=subprocess.DEVNULL)


def listens(process, port):
    """Return whether a process, or another in its network namespace, listens on a port."""
    files = (Path(f"/proc/{process.pid}/net/{name}") for name in ("tcp", "tcp6"))
    lines = (line.split() for file in files for line in file.read_text().splitlines())
    return any(line[1].endswith(f":{port:04X}") and line[3] == "0A" for line in lines)


def receipts_of(output):
    """Return when each receipt of extracted pages was written, in nanoseconds."""
    paths = output.glob(".build/*/receipts/extract/0*.json")
    return {path.name: path.stat().st_mtime_ns for path in paths}


def free_port():
    with socket.create_server(("localhost", 0)) as server:
        return server.getsockname()[1]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Start a job service and two worker pools, once."""
    folder = tmp_path_factory.mktemp("cluster")
    launcher, *pools = (Machine(folder / name) for name in ("launcher", "one", "two"))
    for machine in (launcher, *pools):
        install(machine.folder)
    with ExitStack() as stack:
        try:
            connect(launcher, pools, stack)
            ports = [PORT, PORT]
        except (OSError, subprocess.CalledProcessError):  # no such tool, or not allowed
            for machine in (launcher, *pools):
                machine.prefix, machine.address = (), "localhost"
            ports = [free_port(), free_port()]
        port = free_port()
        for machine in (launcher, *pools):
            stack.callback(machine.kill)
            url = f"http://{launcher.address}:{port}"
            machine.settings = SECRETS | {"AWS_ENDPOINT_URL": url, "ONOMA_BUCKET_SECONDS": "20"}
        made = Cluster(launcher, pools, ports)
        start(made)
        yield made


def start(cluster):
    """Start the services, and wait until they can be reached."""
    for number in range(len(cluster.pools)):
        cluster.start_pool(number)
    launcher = cluster.launcher
    port_file = launcher.folder / "port"
    staging = f"--staging_dir={launcher.folder / 'staging'}"
    service = launcher.start(*SERVICE_OF_JOBS, staging, f"--port_file={port_file}", log="jobs.log")
    wait_for(port_file.exists, service)
    cluster.job_port = port_file.read_text()


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    """Write the small wiki many times over, with other ids and titles."""
    head, *pages = re.split(r"(?=<page>)", SAMPLE.read_text("utf-8"))
    pages[-1], tail = re.split(r"(?=</mediawiki>)", pages[-1])
    file = tmp_path_factory.mktemp("dump") / SAMPLE.name
    with file.open("w", encoding="utf-8") as out:
        out.write(head)
        for copy in range(COPIES):
            for page in pages:
                renamed = page.replace("</title>", f" {copy}</title>", 1)
                out.write(re.sub(r"<id>(\d+)", rf"<id>{copy}0\1", renamed, count=1))
        out.write(tail)
    return file


@pytest.fixture(scope="module")
def documents(dump, tmp_path_factory):
    """Make documents of that dump on this machine; returns their folder."""
    folder = tmp_path_factory.mktemp("documents")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wikipedia_to_documents, "RANGE_BYTES", RANGES)
        command = ("--input", str(dump), "--output", str(folder), *BLOCKS)
        assert wikipedia_to_documents.main(command) == 0
    return folder


@pytest.fixture(scope="module")
def there(cluster, bucket_program):
    """Start a server of buckets beside the launcher, the only thing that all machines see."""
    launcher = cluster.launcher
    folder, address = launcher.folder / "server", launcher.settings["AWS_ENDPOINT_URL"]
    (folder / "onoma").mkdir(parents=True)
    keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
    names = zip(("ROOT_ACCESS_KEY", "ROOT_SECRET_KEY"), keys, strict=True)
    launcher.settings |= {name: launcher.settings[key] for name, key in names}
    address = address.removeprefix("http://")
    options = ("--port", address, "--quiet", "posix", str(folder))
    server = launcher.start(str(bucket_program), *options, log="server.log")
    wait_for(lambda: listens(server, int(address.rpartition(":")[2])), server)
    return folder / "onoma"


def put(cluster, folder, url):
    """Put all files of a folder into the bucket."""
    program = """import sys; from pathlib import Path; from corpora.system.buckets import Bucket
folder = Path(sys.argv[1])
for path in folder.rglob("*"):
    if path.is_file() and ".build" not in path.parts:
        Bucket(sys.argv[2]).put(path.relative_to(folder).as_posix(), path)
"""
    cluster.launcher.do(program, str(folder), url)
    return url


def bring(cluster, url):
    """Download what was published at an address, and check it; returns its folder."""
    program = """import sys; from corpora.store.inspection import verify
from corpora.system.staging import stage
folder = stage(sys.argv[1]); verify(folder); print(folder)
"""
    return Path(cluster.launcher.do(program, url).splitlines()[-1])


@pytest.mark.usefixtures("there")
def test_examples_are_made_from_bucket_to_bucket(cluster, tmp_path):
    inputs = {"input": "documents", "entity-vocab": "vocab", "tokenizer": "tok"}
    made = [tmp_path / name for name in ("documents", "vocab", "tok")]
    assert wikipedia_to_documents.main(["--input", str(SAMPLE), "--output", str(made[0])]) == 0
    of_documents = ("--input", f"{made[0]}/documents", "--output")
    assert documents_to_entity_vocab.main([*of_documents, str(made[1])]) == 0
    assert documents_to_tokenizer.main([*of_documents, str(made[2]), "--size", "500"]) == 0
    options = [word for option, name in inputs.items() for word in (f"--{option}", name)]
    here = [str(tmp_path / word) if word in inputs.values() else word for word in options]
    local = tmp_path / "local"
    assert documents_to_examples.main([*here, "--max-length", "64", "--output", str(local)]) == 0
    for folder in made:
        put(cluster, folder, f"s3://onoma/{folder.name}")
    far = [f"s3://onoma/{word}" if word in inputs.values() else word for word in options]

    job = cluster.submit(
        *("documents_to_examples", "s3://onoma/examples", *far, "--max-length", "64"),
        pool=cluster.pool(0),
    )

    assert job.wait(PATIENCE_S) == 0, cluster.said("examples")
    assert hashes(bring(cluster, "s3://onoma/examples")) == hashes(local)


def test_rows_are_taken_over_from_a_bucket_and_from_this_machine(
    cluster, there, dump, documents, tmp_path, monkeypatch
):
    monkeypatch.setattr(wikipedia_to_documents, "RANGE_BYTES", RANGES)
    local, new = tmp_path / "local", tmp_path / dump.name
    new.write_text(dump.read_text("utf-8").replace("</text>", " Neues.</text>", 1), "utf-8")
    command = ("--input", str(new), "--output", str(local), *BLOCKS)
    assert wikipedia_to_documents.main(command) == 0
    put(cluster, documents, "s3://onoma/old")
    output = "s3://onoma/new"
    command = ("wikipedia_to_documents", output, "--input", new, *BLOCKS, "--reuse")

    job = cluster.submit(*command, "s3://onoma/old", pool=cluster.pool(0))
    wait_for(lambda: list(there.glob("new/.build/*/receipts/0*.json")), job)
    cluster.pools[0].kill()
    os.killpg(job.pid, signal.SIGKILL)  # Beam's service may wait for a worker that is gone
    cluster.start_pool(0)  # as another machine: it has nothing of what the first has kept
    again = cluster.submit(*command, documents, pool=cluster.pool(0))

    assert again.wait(PATIENCE_S) == 0, cluster.said("new")
    made = bring(cluster, output)
    assert hashes(made) == hashes(local)
    taken = json.loads((made / "run.json").read_text())["reused"]["taken over"]
    assert taken == open_dataset(local / "documents").n_rows - 1


def test_two_jobs_at_once_have_a_pool_each(cluster, tmp_path):
    letters = ("--input", f"{LETTERS}/*.xml")  # the edition "tei" lies in the launcher's folder
    text = ("--input", str(STORY), "--lang", "zh", "--group", "story")
    assert text_to_documents.main([*text, "--output", str(tmp_path / "zh")]) == 0
    story = ("--input", str(tmp_path / "zh"), "--known", "none")
    n_before = [pool.n_workers() for pool in cluster.pools]

    jobs = [
        cluster.submit("tei_to_ner", tmp_path / "a", *letters, pool=cluster.pool(0)),
        cluster.submit("documents_to_lexicon", tmp_path / "b", *story, pool=cluster.pool(1)),
    ]
    assert tei_to_ner.main([*letters, "--output", str(tmp_path / "tei")]) == 0
    assert documents_to_lexicon.main([*story, "--output", str(tmp_path / "lexicon")]) == 0

    assert [job.wait() for job in jobs] == [0, 0], cluster.said("a") + cluster.said("b")
    assert files_of(tmp_path / "a") == files_of(tmp_path / "tei")
    assert files_of(tmp_path / "b") == files_of(tmp_path / "lexicon")
    assert [pool.n_workers() for pool in cluster.pools] == [n + 1 for n in n_before]


def test_job_whose_pool_is_killed_goes_on_with_the_other(cluster, dump, documents, tmp_path):
    module, output, *options = ("wikipedia_to_documents", tmp_path / "out", "--input", str(dump))
    options += BLOCKS
    n_units = len(receipts_of(documents))

    job = cluster.submit(module, output, *options, pool=cluster.pool(0, 1))
    wait_for(lambda: len(receipts_of(output)) >= 3, job)
    cluster.pools[0].kill()
    assert job.wait(PATIENCE_S) == 1
    assert "the same command resumes from here" in cluster.said("out")
    done = receipts_of(output)
    assert len(done) < n_units
    again = cluster.submit(module, output, *options, pool=cluster.pool(0, 1))

    assert again.wait(PATIENCE_S) == 0, cluster.said("out")
    assert files_of(output) == files_of(documents)
    assert done.items() <= receipts_of(output).items()  # what was done was not done again
