"""The environment of commands: that of the worker, without Airflow's own secrets."""

import os
import sys
from pathlib import Path

from onoma_refresh.settings import RefreshSettings

PYTHON = "ONOMA_PYTHON"
"""The environment variable that names the interpreter of commands; it overrides the settings."""
_OWN = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__")
"""Variables of Airflow's own Python, which would mislead another interpreter."""


def interpreter(settings: RefreshSettings) -> str:
    """Return the Python for the commands: of the environment, of the settings, or this one."""
    name = os.environ.get(PYTHON) or settings.python
    if not name:
        return sys.executable
    name = os.path.expanduser(name)  # noqa: PTH111 - as the settings do with paths
    return os.path.normpath(settings.folder / name) if os.sep in name else name


def without_airflow() -> dict[str, str]:
    """Return the worker's environment without Airflow's connections, keys and passwords."""
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _OWN and not name.lstrip("_").startswith("AIRFLOW")
    }


def environment_of(settings: RefreshSettings) -> dict[str, str]:
    """Build the environment of the commands: interpreter first on PATH, output unbuffered."""
    kept = without_airflow()
    folder = str(Path(interpreter(settings)).parent)
    path = os.pathsep.join([folder, kept.get("PATH", os.defpath)])
    return kept | {"PATH": path, "PYTHONUNBUFFERED": "1"} | dict(settings.environment)
