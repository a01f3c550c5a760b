"""``make airflow``: Airflow on the samples, by itself, until Ctrl-C. Nothing leaves this machine.

Its home is ``.airflow/``: database, logs, and a mirror with the sample dump, which this process
serves on loopback. Runs in Airflow's own environment, on the standard library.

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
import time
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
PLUGINS = Path(__file__).with_name("plugins")
PASSWORDS = HOME / "passwords.json"
USER = "admin"
COMPONENTS = {
    "scheduler": ("scheduler", "--skip-serve-logs"),
    "dag-processor": ("dag-processor",),
    "api-server": ("api-server",),
    "triggerer": ("triggerer", "--skip-serve-logs"),
}
PREPARE = """
import sys
from airflow.__main__ import main
for arguments in (["db", "migrate"], ["pools", "import", sys.argv[1]]):
    sys.argv[1:] = arguments
    main()
"""
"""Makes the database and the pools in one process, as loading Airflow takes two seconds."""
JOB = "articlesmultistreamdump"
GRACE_S = 30.0
_POLL_S = 0.2


def main() -> int:
    """Serve the dump, make the database and the pools, and start Airflow."""
    os.umask(0o077)  # files are readable by this user alone
    mirror = HOME / "mirror"
    page = int(os.environ.get("AIRFLOW__API__PORT", "8080"))
    if is_taken(page):
        raise SystemExit(f"port {page}: something runs there. Set AIRFLOW__API__PORT to another.")
    HOME.mkdir(exist_ok=True)
    HOME.chmod(0o700)
    environment = environment_of(page)
    settings = tomllib.loads(SETTINGS.read_text(encoding="utf-8"))
    port = urlsplit(settings["wiki"][0]["mirror"]).port or 80
    airflow = str(Path(sys.executable).with_name("airflow"))
    with served(mirror, port), new_password() as password:
        write_mirror(mirror)  # only now, because another process could be serving this folder
        prepare = [sys.executable, "-c", PREPARE, str(DAGS / "pools.json")]
        subprocess.run(prepare, env=environment, check=True)
        close_to_others(HOME)
        sys.stdout.write(
            f"http://localhost:{page} in half a minute: user {USER}, password {password}\n"
            f"(of this start alone). Ctrl-C ends it. The logs: {HOME}/*.log\n"
        )
        sys.stdout.flush()
        signal.signal(signal.SIGINT, signal.default_int_handler)  # even in the background
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        return wait_for(
            {name: [airflow, *command] for name, command in COMPONENTS.items()},
            environment=environment,
            logs=HOME,
        )


def environment_of(page: int) -> dict[str, str]:
    """Build the environment of this Airflow, without settings of another Airflow."""
    inherited = {name: value for name, value in os.environ.items() if "AIRFLOW_" not in name}
    return inherited | {
        "PATH": os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]]),
        "AIRFLOW_HOME": str(HOME),
        "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(PLUGINS),  # host_check.py
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{USER}:admin",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(PASSWORDS),
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


@contextlib.contextmanager
def new_password() -> Iterator[str]:
    """Choose a password, and store it for Airflow inside the ``with`` block."""
    password = secrets.token_urlsafe(16)
    PASSWORDS.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    with os.fdopen(os.open(PASSWORDS, flags, 0o600), "w", encoding="utf-8") as file:
        json.dump({USER: password}, file)
    try:
        yield password
    finally:
        PASSWORDS.unlink(missing_ok=True)


def close_to_others(folder: Path) -> None:
    """Remove the file permissions of other users below a folder, except in the environment."""
    for root, folders, files in os.walk(folder):
        if Path(root) == folder:
            folders[:] = [name for name in folders if name != Path(sys.prefix).name]
        for name in files:
            file = Path(root, name)
            if not file.is_symlink():
                file.chmod(file.stat().st_mode & 0o700)


def wait_for(
    commands: Mapping[str, Sequence[str]],
    *,
    environment: Mapping[str, str],
    logs: Path,
    grace_s: float = GRACE_S,
) -> int:
    """Run commands until one ends, or until Ctrl-C or SIGTERM; then end all their processes.

    Each command has a session of its own, so that a signal reaches only it, and only once: after a
    second one, Airflow's scheduler waits for its workers for ever. Output goes to
    ``logs/NAME.log``.
    """
    processes: dict[str, subprocess.Popen[bytes]] = {}
    try:
        for name, command in commands.items():
            with (logs / f"{name}.log").open("wb") as log:
                processes[name] = subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        return _first_end(processes, logs)
    except KeyboardInterrupt:
        return 0
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        _end(list(processes.values()), grace_s)


def _first_end(processes: Mapping[str, "subprocess.Popen[bytes]"], logs: Path) -> int:
    """Wait until a process ends, print the end of its log, and return the exit status."""
    while True:
        for name, process in processes.items():
            status = process.poll()
            if status is not None:
                log = logs / f"{name}.log"
                last = log.read_text(encoding="utf-8", errors="replace").splitlines()[-10:]
                message = "\n".join([*last, f"{name} ended (status {status}). All of it: {log}"])
                sys.stderr.write(f"{message}\n")
                return status or 1
        time.sleep(_POLL_S)


def _end(processes: Sequence["subprocess.Popen[bytes]"], grace_s: float) -> None:
    """Send SIGTERM; after a time, kill what still runs or was left behind."""
    for process in processes:
        process.terminate()
    end = time.monotonic() + grace_s
    for process in processes:
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(max(0.0, end - time.monotonic()))
    for process in processes:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


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
