"""``make airflow`` as it is started: what other users of the machine and other sites get."""

import json
import os
import re
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.processes import PATIENCE_S

ROOT = Path(__file__).resolve().parents[2]
START = """
import sys
from pathlib import Path
sys.path.append({samples!r})
import start
start.HOME = Path({home!r})
start.SETTINGS = start.HOME / "settings.toml"
sys.exit(start.main())
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def ask(url, *, data=None, **headers):
    body = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(url, data=body, headers=headers)  # noqa: S310 - loopback
    try:
        with urllib.request.urlopen(request, timeout=60) as answer:  # noqa: S310
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def answers(url):
    try:
        return ask(url)[0] == 200
    except OSError:
        return False


@pytest.fixture(scope="module")
def started(migrated, tmp_path_factory):
    """Start an Airflow by ``start.py`` in a home of its own; end it as Ctrl-C does."""
    home = tmp_path_factory.mktemp("home")
    (home / "airflow.db").write_bytes(migrated.read_bytes())
    mirror, page = free_port(), free_port()
    samples = ROOT / "dags" / "samples"
    text = (samples / "settings.toml").read_text(encoding="utf-8")
    (home / "settings.toml").write_text(text.replace(":8781", f":{mirror}"), encoding="utf-8")
    with (home / "output").open("wb") as output:
        process = subprocess.Popen(
            [
                ROOT / ".airflow" / "venv" / "bin" / "python",
                "-c",
                START.format(samples=str(samples), home=str(home)),
            ],
            env=os.environ | {"AIRFLOW__API__PORT": str(page)},
            stdout=output,
            stderr=output,
        )
    url = f"http://127.0.0.1:{page}"
    deadline = time.monotonic() + PATIENCE_S
    while not answers(f"{url}/api/v2/monitor/health"):
        assert process.poll() is None, (home / "output").read_text()[-3000:]
        assert time.monotonic() < deadline, (home / "output").read_text()[-3000:]
        time.sleep(0.2)
    output = (home / "output").read_text()
    yield SimpleNamespace(
        home=home, url=url, page=page, mirror=mirror, pid=process.pid, output=output
    )
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    assert not (home / "passwords.json").exists()


def passwords(started):
    return re.findall(r"Password for user 'admin': (\S+)", started.output)


def test_nobody_gets_a_token_without_the_password_that_is_shown_once(started):
    [password] = passwords(started)
    token = f"{started.url}/auth/token"
    kind = {"Content-Type": "application/json"}

    without = ask(token)
    wrong = ask(token, data={"username": "admin", "password": "admin"}, **kind)
    right = ask(token, data={"username": "admin", "password": password}, **kind)

    assert (without[0], wrong[0], right[0]) == (403, 401, 201)
    assert len(password) > 12
    assert ask(f"{started.url}/api/v2/dags")[0] == 401
    authorized = {"Authorization": f"Bearer {json.loads(right[1])['access_token']}"}
    assert ask(f"{started.url}/api/v2/dags", **authorized)[0] == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("evil.example", 400),
        ("localhost.evil.example", 400),
        ("127.0.0.1.evil.example:80", 400),
        ("", 400),
        ("localhost", 200),
    ],
)
def test_requests_for_another_host_are_refused(started, host, status):
    assert ask(f"{started.url}/api/v2/monitor/health", Host=host)[0] == status


def test_files_are_for_their_user_alone(started):
    files = (started.home, started.home / "passwords.json")

    modes = [stat.S_IMODE(file.stat().st_mode) for file in files]

    assert modes == [0o700, 0o600]  # what lies in a folder of nobody else is nobody else's


def test_the_pools_of_the_dags_are_there(started):
    with closing(sqlite3.connect(started.home / "airflow.db")) as database:
        found = {name for (name,) in database.execute("SELECT pool FROM slot_pool")}

    assert found > set(json.loads((ROOT / "dags" / "pools.json").read_text("utf-8")))


@pytest.mark.skipif(sys.platform != "linux", reason="looks for sockets in /proc")
def test_no_port_is_open_but_two_on_loopback(started):
    own = set(processes_of(started.pid))
    found = {link for pid in own for link in sockets_of(pid)}

    listening = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in found:
                address, port = fields[1].split(":")
                listening.add((address, int(port, 16)))
    assert listening == {("0100007F", started.page), ("0100007F", started.mirror)}


def processes_of(pid):
    yield pid
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == str(pid):
            yield from processes_of(int(folder.name))


def sockets_of(pid):
    for link in Path(f"/proc/{pid}/fd").glob("*"):
        try:
            yield str(link.readlink())
        except (FileNotFoundError, ProcessLookupError):
            continue
