"""``make airflow``: Airflow on the samples, by itself, until Ctrl-C. Nothing leaves this machine.

Its home is ``.airflow/``: database, logs, and a mirror with the sample dump, which this process
serves on loopback. Runs in Airflow's own environment, on the standard library.
"""

import contextlib
import functools
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
DAGS = ROOT / "dags"
SETTINGS = Path(__file__).with_name("settings.toml")
DUMP = ROOT / "tests/data/wikipedia/kleinwiki-20261101-pages-articles.xml"
HOME = ROOT / ".airflow"
JOB = "articlesmultistreamdump"
GRACE_S = 30.0


def main() -> int:
    """Serve the dump, make the database and the pools, and start Airflow."""
    mirror = HOME / "mirror"
    page = os.environ.get("AIRFLOW__API__PORT", "8080")
    if is_taken(int(page)):
        raise SystemExit(f"port {page}: something runs there. Set AIRFLOW__API__PORT to another.")
    inherited = {name: value for name, value in os.environ.items() if "AIRFLOW_" not in name}
    environment = inherited | {  # nothing of another Airflow, above all not its database
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",  # on loopback, without a password
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": page,
        "AIRFLOW__CORE__PARALLELISM": "2",
        "ONOMA_SETTINGS": os.environ.get("ONOMA_SETTINGS", str(SETTINGS)),
    }
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    port = urlsplit(settings["wiki"][0]["mirror"]).port or 80
    airflow = str(Path(sys.executable).with_name("airflow"))
    with served(mirror, port):
        write_mirror(mirror)  # not before: it may be that of another who serves it
        for command in (["db", "migrate"], ["pools", "import", str(DAGS / "pools.json")]):
            subprocess.run([airflow, *command], env=environment, check=True)
        sys.stdout.write(f"http://localhost:{page} when it says it is ready; Ctrl-C ends it.\n")
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return wait_for([airflow, "standalone"], environment=environment)


def wait_for(
    command: Sequence[str], *, environment: Mapping[str, str], grace_s: float = GRACE_S
) -> int:
    """Run a command until it ends, or until Ctrl-C or SIGTERM; then all that it has started ends.

    It is in a session of its own, so that the signal reaches it alone, and once: of one from the
    terminal and one from ``standalone`` Airflow's scheduler waits for its workers for ever.
    """
    process = subprocess.Popen(command, env=environment, start_new_session=True)
    try:
        return process.wait()
    except KeyboardInterrupt:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        process.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(grace_s)
        return 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def is_taken(port: int) -> bool:
    """Whether something listens on a port of this machine."""
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def write_mirror(folder: Path) -> None:
    """Lay out the sample dump as the servers of Wikimedia do."""
    wiki, date = DUMP.name.split("-")[:2]
    run = folder / wiki / date
    shutil.rmtree(folder, ignore_errors=True)
    run.mkdir(parents=True)
    data = DUMP.read_bytes()
    part = f"{wiki}-{date}-pages-articles-multistream.xml"
    (run / part).write_bytes(data)
    sha1 = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    files = {part: {"size": len(data), "url": f"/{wiki}/{date}/{part}", "sha1": sha1}}
    jobs = {JOB: {"status": "done", "updated": date, "files": files}}
    status = json.dumps({"version": "0.8", "jobs": jobs})
    (run / "dumpstatus.json").write_text(status, encoding="utf-8")


@contextlib.contextmanager
def served(folder: Path, port: int) -> Iterator[int]:
    """Serve a folder on loopback; port 0 takes any that is free."""
    handler = functools.partial(_Quiet, directory=str(folder))
    try:
        server = ThreadingHTTPServer(("127.0.0.1", port), handler)
    except OSError as error:
        raise SystemExit(
            f"port {port}: {error.strerror}. Choose another in {SETTINGS} (mirror)."
        ) from error
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        server.server_close()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    sys.exit(main())
