"""A real S3 server on loopback: versitygw, built from its Go module once, and kept in a cache."""

import fcntl
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

MODULE = "github.com/versity/versitygw/cmd/versitygw"
VERSION = "v1.8.0"
SECRETS = {"AWS_ACCESS_KEY_ID": "onoma", "AWS_SECRET_ACCESS_KEY": "not-a-secret"}


def built(module: str = MODULE, version: str = VERSION) -> Path:
    """Return the program of a server; Go builds it where it is not there yet.

    Raises ``FileNotFoundError`` where Go is missing.
    """
    folder = Path(os.environ.get("ONOMA_TEST_TOOLS") or Path("~/.cache/onoma-tests").expanduser())
    program = folder / version / module.rpartition("/")[2]
    if program.exists():
        return program
    go = shutil.which("go")
    if go is None:
        raise FileNotFoundError("Go, which builds it, is not there")
    program.parent.mkdir(parents=True, exist_ok=True)
    with (program.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # each process of pytest asks for it
        if not program.exists():
            making = program.parent / "making"
            settings = os.environ | {
                "GOBIN": str(making),
                "GOFLAGS": "-mod=mod",
                "CGO_ENABLED": "0",
            }
            command = [go, "install", f"{module}@{version}"]
            subprocess.run(command, cwd=folder, env=settings, check=True)
            (making / program.name).rename(program)
            making.rmdir()
    return program


def free_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def wait_for_port(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until a server listens; raise ``RuntimeError`` where it ends instead."""
    while True:
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            if process.poll() is not None:
                raise RuntimeError(f"{process.args!r}: ended at once") from None
            time.sleep(0.02)
        else:
            return


class BucketServer:
    """A server with one bucket, ``onoma``, whose objects are files below ``folder``."""

    def __init__(self, program: Path, folder: Path) -> None:
        self.program, self.folder = program, folder
        self.port = free_port()
        (folder / "onoma").mkdir(parents=True)
        self.start()

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs in its environment to find it."""
        return SECRETS | {"AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}"}

    def start(self) -> None:
        names = {"ROOT_ACCESS_KEY": "AWS_ACCESS_KEY_ID", "ROOT_SECRET_KEY": "AWS_SECRET_ACCESS_KEY"}
        secrets = {name: SECRETS[of] for name, of in names.items()}
        self.process = subprocess.Popen(
            [self.program, "--port", f"127.0.0.1:{self.port}", "--quiet", "posix", self.folder],
            env=os.environ | secrets,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_port(self.process, self.port)

    def start_again(self) -> None:
        """Start it if it was killed, by another process too."""
        if self.process.poll() is not None:
            self.start()

    def kill(self) -> None:
        """Kill it; a copy of the process that started it may do so, too."""
        with suppress(ProcessLookupError, ChildProcessError):
            os.kill(self.process.pid, signal.SIGKILL)
            self.process.wait()


if __name__ == "__main__":
    sys.stdout.write(f"{built()}\n")
