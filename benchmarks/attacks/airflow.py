"""Attacks on the Airflow setup, by users who may start runs, and by other local users.

Only attacks that need no Airflow are here. Passwords, ``Host`` and file permissions of a running
server are tested in ``tests/dags``, which has an Airflow.
"""

import sys
from contextlib import suppress
from pathlib import Path

from benchmarks.attacks.bounded import Try, attack

_DAGS = Path(__file__).resolve().parents[2] / "dags"


@attack("airflow", "names of settings that lead elsewhere", tries=8)
def settings(one: Try) -> str:
    """Fail if one of 200 names of settings gives a file outside the owner's folder."""
    folder = one.folder / "owner"
    rng = one.rng
    parts = [
        "..",
        "/",
        "a",
        ".toml",
        "\n",
        "\0",
        ".",
        "~",
        "weekly",
        "%2f",
        "\\",
        "٣",
        "$HOME",
        " ",
    ]

    def choose() -> int:
        sys.path.insert(0, str(_DAGS))
        from onoma_refresh.settings import SettingsError, beside

        for _ in range(200):
            name = "".join(rng.choices(parts, k=rng.randrange(1, 7)))
            with suppress(SettingsError):
                path = beside(folder / "settings.toml", name + rng.choice(["", ".toml"]))
                if path.parent != folder or "\n" in path.name or not path.name.isascii():
                    sys.stdout.write(repr(path))
                    return 1
        return 0

    outcome = one.call(choose, seconds=20)
    return f"{outcome.fault(0)} {outcome.said}" if outcome.fault(0) else ""


@attack("airflow", "a password file that is somebody's link", tries=2)
def password(one: Try) -> str:
    """Fail if the password is written into a file of somebody else, or if others may read it."""
    victim, link = one.folder / "victim", one.folder / "passwords.json"
    victim.write_text("mine")
    link.symlink_to(victim)

    def start() -> int:
        sys.path.insert(0, str(_DAGS / "samples"))
        import start as server

        server.PASSWORDS = link
        with server.new_password() as word:
            is_hidden = link.stat().st_mode & 0o077 == 0
            return int(not is_hidden or link.is_symlink() or len(word) < 16)

    fault = one.call(start, seconds=20).fault(0)
    return fault or ("" if victim.read_text() == "mine" else "written through the link")
