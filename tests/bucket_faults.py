"""Disturb runs whose output is in a bucket: the data must end up right, whatever happens.

    python -m tests.bucket_faults 20 --seed 1

One process loads the libraries once. For each disturbance it forks a copy that runs the pipeline.
This copy is killed at a request that is drawn, or its worker is killed, or the server is killed and
started again. Other copies then look at what is in force, and run the same command to the end: on
this machine, or with an empty cache, as on another one. Prints JSON: how many disturbances of each
kind hit, and every violation.
"""

import argparse
import json
import os
import random
import shutil
import signal
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import corpora.runs.plan
from corpora.store.inspection import verify
from corpora.system import buckets, staging
from corpora.system.buckets import Bucket
from pipelines import in_memory, tei_to_ner
from tests.bucket_server import BucketServer, built
from tests.pipelines.graph_runs import run_plainly

LETTERS = Path(__file__).resolve().parent / "data" / "letters"
KINDS = ("launcher", "worker", "server")


def in_copy(do: Callable[[], int]) -> int:
    """Do something in a copy of this process; returns its exit status, or minus the signal."""
    if not (child := os.fork()):
        os.setsid()
        status = 99
        try:
            status = do()
        finally:
            os._exit(status)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def run(output: str, workers: int) -> int:
    """Run the pipeline, a single worker without a runner of Beam; what it says goes nowhere."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    corpora.runs.plan.UNIT_FILES = 2
    in_memory.run_graph = run_plainly
    edition = str(LETTERS / "edition.toml")
    options = ["--input", str(LETTERS), "--edition", edition, "--output", output]
    return tei_to_ner.main([*options, "--workers", str(workers)])


def kill_at(number: int, do: Callable[[], None]) -> None:
    """Let a request of this process, or what follows it, be the moment of a disturbance."""
    count = 0
    original = Bucket._again

    def counted(self, name, what):  # type: ignore[no-untyped-def]
        nonlocal count
        count += 1
        if count == number:
            do()
        return original(self, name, what)

    Bucket._again = counted  # type: ignore[method-assign]


def kill_worker(rng: random.Random) -> None:
    """Kill a worker of this process, when some units are done."""

    def wait() -> None:
        workers: list[int] = []
        while len(workers) < 2:  # they are children of the server that starts them
            time.sleep(0.02)
            workers = [pid for child in children(os.getpid()) for pid in children(child)]
        n_done = rng.randint(0, 2)
        runs = Path(os.environ["ONOMA_CACHE"]) / "runs"
        while sum(1 for _ in runs.glob("*/.build/*/receipts/**/*.json")) < n_done:
            time.sleep(0.002)
        with suppress(ProcessLookupError):
            os.kill(rng.choice(workers), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True).start()


def children(parent: int) -> list[int]:
    with suppress(OSError):
        return [
            int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
        ]
    return []


def state(output: str) -> dict[str, str]:
    """Download what is in force in a bucket, and check it.

    Returns file to hash; empty where no run is published there.
    """
    if Bucket(output).read("run.json") is None:
        return {}
    staging._cleared.cache_clear()
    folder = staging.stage(output)
    verify(folder)
    files = json.loads((folder / "run.json").read_text())["files"]
    return {name: files[name] for name in files}


class Trial:
    def __init__(self, server: BucketServer, folder: Path) -> None:
        self.server, self.folder = server, folder
        self.hits: Counter[str] = Counter()
        self.violations: list[str] = []
        self.expected = folder / "expected.json"
        if in_copy(lambda: run("s3://onoma/expected", 1)) or self.look("s3://onoma/expected"):
            raise RuntimeError("an undisturbed run fails")
        shutil.copyfile(folder / "state.json", self.expected)

    def look(self, output: str) -> int:
        """Write down what is in force; with another cache, so that nothing here can help."""

        def see() -> int:
            with tempfile.TemporaryDirectory(dir=self.folder) as cache:
                os.environ["ONOMA_CACHE"] = cache
                (self.folder / "state.json").write_text(json.dumps(state(output)))
            return 0

        return in_copy(see)

    def disturb(self, number: int, rng: random.Random) -> None:
        kind = KINDS[number % len(KINDS)]
        output, at = f"s3://onoma/out-{number}", rng.randint(1, 45)

        def disturbed() -> int:
            if kind == "worker":
                kill_worker(rng)
                return run(output, 2)
            if kind == "launcher":
                kill_at(at, lambda: os.kill(os.getpid(), signal.SIGKILL))
            else:
                kill_at(at, self.server.kill)
            return run(output, 1)

        stop = threading.Event()
        watcher = threading.Thread(target=self._revive, args=(stop,))
        watcher.start()
        status = in_copy(disturbed)
        stop.set()
        watcher.join()
        self.hits[kind] += bool(status) or kind == "server"
        self._check(output, f"{kind} {number} at {at}", is_end=False)
        if rng.random() < 0.5:  # as on another machine
            shutil.rmtree(os.environ["ONOMA_CACHE"], ignore_errors=True)
        if status := in_copy(lambda: run(output, 1)):
            self.violations.append(f"{kind} {number} at {at}: the second run ends with {status}")
        self._check(output, f"{kind} {number} at {at}", is_end=True)

    def _revive(self, stop: threading.Event) -> None:
        """Start the server again when it was killed."""
        while not stop.wait(0.1):
            self.server.start_again()
        self.server.start_again()

    def _check(self, output: str, what: str, *, is_end: bool) -> None:
        if self.look(output):
            self.violations.append(f"{what}: what is in force does not verify")
            return
        found = json.loads((self.folder / "state.json").read_text())
        if found != json.loads(self.expected.read_text()) and (found or is_end):
            self.violations.append(f"{what}: other data are in force")


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("n", type=int, help="disturbances")
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args(argv)
    program = built()
    if program is None:
        sys.exit("no S3 server: Go, which builds it, is not there")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        server = BucketServer(program, folder / "server")
        try:
            settings = {"ONOMA_CACHE": str(folder / "cache"), buckets.PATIENCE: "30"}
            os.environ.update(server.environment | settings)
            trial = Trial(server, folder)
            for number in range(arguments.n):
                trial.disturb(number, random.Random(f"{arguments.seed} {number}"))
        finally:
            server.kill()
    sys.stdout.write(json.dumps({"hits": trial.hits, "violations": trial.violations}) + "\n")
    return bool(trial.violations)


class FaultyProxy:
    """Stands before a server: some answers are late, cut off, or say that it is not available."""

    def __init__(self, port: int, *, seed: int, often: float = 0.15) -> None:
        self.server_port, self.often = port, often
        self.faults: Counter[str] = Counter()
        self._rng = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with (
            client,
            suppress(OSError),
            socket.create_connection(("127.0.0.1", self.server_port)) as server,
        ):
            fault = [""]
            back = threading.Thread(target=self._answer, args=(server, client, fault), daemon=True)
            back.start()
            while data := client.recv(1 << 16):
                if data.split(b" ", 1)[0] in {b"GET", b"PUT", b"DELETE", b"HEAD", b"POST"}:
                    fault[0] = self._draw()
                    if fault[0] == "5xx":
                        head = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\n"
                        client.sendall(head + b"Connection: close\r\n\r\n")
                        break
                server.sendall(data)
            server.shutdown(socket.SHUT_RDWR)

    def _draw(self) -> str:
        if self._rng.random() > self.often:
            return ""
        fault = self._rng.choice(("late", "cut", "lost", "5xx"))
        self.faults[fault] += 1
        return fault

    def _answer(self, server: socket.socket, client: socket.socket, fault: list[str]) -> None:
        with suppress(OSError):
            while data := server.recv(1 << 16):
                if fault[0] == "late":
                    time.sleep(0.5)
                if fault[0] in {"cut", "lost"}:
                    if fault[0] == "cut":
                        client.sendall(data[: len(data) // 2])
                    client.shutdown(socket.SHUT_RDWR)
                    return
                fault[0] = ""
                client.sendall(data)


if __name__ == "__main__":
    sys.exit(main())
