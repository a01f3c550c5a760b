"""``make airflow``: ``airflow standalone`` on the samples. Nothing leaves this machine.

Its home is ``.airflow/``: database, logs, and a mirror with the sample dump, which this process
serves on loopback. Runs in Airflow's own environment.

Other users of the machine get nothing: each start has a password of its own, files are for this
user alone, and the only port beside the mirror's is that of the API server, on loopback, which
refuses requests for other hosts. Airflow's servers of logs, which listen on all addresses, are not
started: the API server reads the files.
"""

import contextlib
import functools
import hashlib
import json
import os
import secrets
import shutil
import signal
import socket
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
STANDALONE = """
import sys
from airflow.__main__ import main
from airflow.cli.commands import standalone_command

class Component(standalone_command.SubCommand):
    def __init__(self, parent, name, command, env):
        has_logs = name in {"scheduler", "triggerer"}
        super().__init__(parent, name, [*command, *["--skip-serve-logs"] * has_logs], env)

standalone_command.SubCommand = Component
for arguments in (["db", "migrate"], ["pools", "import", sys.argv[1]], ["standalone"]):
    sys.argv[1:] = arguments
    main()
"""
"""Makes the database and the pools, and runs Airflow, without its servers of logs."""
JOB = "articlesmultistreamdump"
GRACE_S = 30.0


def main() -> int:
    """Serve the dump, and run Airflow until it ends, or until Ctrl-C or SIGTERM."""
    os.umask(0o077)  # files are readable by this user alone
    page = int(os.environ.get("AIRFLOW__API__PORT", "8080"))
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    mirror = urlsplit(settings["wiki"][0]["mirror"]).port or 80
    for port, where in ((page, "AIRFLOW__API__PORT"), (mirror, f"{SETTINGS} (mirror)")):
        if is_taken(port):
            raise SystemExit(f"port {port}: something runs there. Set another in {where}.")
    HOME.mkdir(exist_ok=True)
    HOME.chmod(0o700)
    with served(HOME / "mirror", mirror):
        write_mirror(HOME / "mirror")  # only now, as another process could be serving this folder
        sys.stdout.write(f"http://localhost:{page} in half a minute. Ctrl-C ends it.\n")
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # even in the background
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return run_airflow(environment_of(page))


def environment_of(page: int) -> dict[str, str]:
    """Build the environment of this Airflow, without settings of another Airflow."""
    inherited = {name: value for name, value in os.environ.items() if "AIRFLOW_" not in name}
    return inherited | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "PYTHONUNBUFFERED": "1",
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(Path(__file__).with_name("plugins")),  # host_check.py
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(HOME / "passwords.json"),
        "AIRFLOW__API_AUTH__JWT_SECRET": secrets.token_hex(32),  # ends sessions of earlier starts
        "AIRFLOW__API__SECRET_KEY": secrets.token_hex(32),
        "AIRFLOW__API__HOST": "127.0.0.1",
        "AIRFLOW__API__PORT": str(page),
        "AIRFLOW__API__BASE_URL": f"http://localhost:{page}",
        "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{page}/execution/",
        "AIRFLOW__CORE__PARALLELISM": "2",
        "AIRFLOW__LOGGING__FILE_TASK_HANDLER_NEW_FOLDER_PERMISSIONS": "0o700",
        "AIRFLOW__LOGGING__FILE_TASK_HANDLER_NEW_FILE_PERMISSIONS": "0o600",
        "ONOMA_SETTINGS": os.environ.get("ONOMA_SETTINGS", str(SETTINGS)),
    }


def run_airflow(environment: dict[str, str]) -> int:
    """Run ``airflow standalone``, which shows a new password, and end all of its processes.

    It has a session of its own, so that Ctrl-C reaches each process only once: after a second
    signal, Airflow's scheduler waits for its workers for ever.
    """
    (HOME / "passwords.json").unlink(missing_ok=True)
    airflow = subprocess.Popen(
        [sys.executable, "-c", STANDALONE, str(DAGS / "pools.json")],
        env=environment,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        return airflow.wait()
    except KeyboardInterrupt:
        return 0
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        airflow.send_signal(signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            airflow.wait(GRACE_S)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(airflow.pid, signal.SIGKILL)
        airflow.wait()
        (HOME / "passwords.json").unlink(missing_ok=True)


def is_taken(port: int) -> bool:
    """Tell whether something listens on a port of this machine."""
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
    """Serve a folder on loopback; port 0 takes any free port."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", port), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""


if __name__ == "__main__":
    sys.exit(main())
