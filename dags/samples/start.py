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
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
DAGS = ROOT / "dags"
SETTINGS = Path(__file__).with_name("settings.toml")
DUMP = ROOT / "tests/data/wikipedia/kleinwiki-20261101-pages-articles.xml"
HOME = ROOT / ".airflow"
JOB = "articlesmultistreamdump"


def main() -> int:
    """Serve the dump, make the database and the pools, and start Airflow."""
    mirror = HOME / "mirror"
    write_mirror(mirror)
    environment = os.environ | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "True",  # on loopback, without a password
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "ONOMA_SETTINGS": os.environ.get("ONOMA_SETTINGS", str(SETTINGS)),
    }
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    port = urlsplit(settings["wiki"][0]["mirror"]).port or 80
    airflow = str(Path(sys.executable).with_name("airflow"))
    with served(mirror, port):
        for command in (["db", "migrate"], ["pools", "import", str(DAGS / "pools.json")]):
            subprocess.run([airflow, *command], env=environment, check=True)
        sys.stdout.write("http://localhost:8080 when it says that it is ready; Ctrl-C ends it.\n")
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # also in the background
        return wait_for(subprocess.Popen([airflow, "standalone"], env=environment))


def wait_for(process: subprocess.Popen[bytes]) -> int:
    """Wait until Airflow has ended: it gets Ctrl-C by itself, and SIGTERM as if it were that."""
    signal.signal(signal.SIGINT, lambda *_: None)
    signal.signal(signal.SIGTERM, lambda *_: process.send_signal(signal.SIGINT))
    return process.wait()


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
