"""The common parts of all DAGs: retries, limits, pools, assets, reports of failures, parameters."""

import logging
import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from airflow.sdk import Asset, Param, dag
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from onoma_refresh.environment import without_airflow
from onoma_refresh.settings import RefreshSettings, SettingsError, beside, check_store, read

if TYPE_CHECKING:
    from airflow.sdk import DAG, Context
    from airflow.sdk.types import DagRunProtocol

log = logging.getLogger(__name__)
Params = Mapping[str, Any]
"""The parameters of a run. Any: the ``Param`` of each name defines its JSON type."""

ENVIRONMENT: Final = "ONOMA_SETTINGS"
"""The environment variable with the path of the settings; a run may name others beside them."""

CRAWLS: Final = "onoma_crawls"
"""The pool of crawls (see pools.json): one at a time, so that no host is crawled twice at once."""
TRAINING: Final = "onoma_training"
JOBS: Final = "onoma_jobs"

CORPORA: Final = Asset("onoma_corpora", uri="x-onoma://corpora", group="onoma")
"""The asset with an event for each published version of a wiki: documents, vocabulary, examples."""
NEWS: Final = Asset("onoma_news", uri="x-onoma://news", group="onoma")
EDITIONS: Final = Asset("onoma_editions", uri="x-onoma://editions", group="onoma")
ENCODERS: Final = Asset("onoma_encoders", uri="x-onoma://encoders", group="onoma")
TAGGERS: Final = Asset("onoma_taggers", uri="x-onoma://taggers", group="onoma")

SHORT: Final = timedelta(hours=1)
"""The time limit of short tasks; ``JOB`` is for pipelines, ``TRAIN`` for training."""
JOB: Final = timedelta(hours=24)
TRAIN: Final = timedelta(days=7)


def report_failure(context: "Context") -> None:
    """Report to the log, and to the command of the settings, what failed."""
    task = context["task_instance"]
    where = f"{task.dag_id} {context['run_id']} {task.task_id}"
    if task.map_index is not None and task.map_index >= 0:
        where += f"[{task.map_index}]"
    report = f"{where}: failed at try {task.try_number}.\n{context.get('exception')}\n"
    log.error("%s", report)
    try:
        settings = _read(context["params"])
    except (AirflowFailException, SettingsError):
        return  # the settings themselves are wrong
    if settings.on_failure:
        _pass_on(report, settings)


def _pass_on(report: str, settings: RefreshSettings) -> None:
    """Give a report to the command of the settings; if that fails, only the log says so."""
    name = settings.on_failure[0]
    try:
        done = subprocess.run(
            settings.on_failure,
            input=report,
            text=True,
            cwd=settings.folder,
            env=without_airflow(),
            timeout=60,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        log.error("%s: cannot be run (%s). Check on_failure in the settings.", name, error)
    else:
        log.info("%s: exit status %d", name, done.returncode)


DEFAULTS: Final[dict[str, object]] = {
    "owner": "onoma",
    "pool": JOBS,
    "retries": 4,
    "retry_delay": timedelta(minutes=2),
    "retry_exponential_backoff": 2,
    "max_retry_delay": timedelta(hours=2),
    "execution_timeout": SHORT,
    "on_failure_callback": report_failure,
}
"""The default arguments of every task."""


SETTINGS: Final = Param(
    default=None,
    type=["null", "string"],
    description="another file in the folder of ONOMA_SETTINGS, as weekly.toml",
)
"""The parameter for another settings file; because null is allowed, its field may stay empty."""


def load_settings(params: Params) -> RefreshSettings:
    """Read the settings that the environment names, or the file that a parameter names.

    Raises ``AirflowFailException`` where there are none, ``SettingsError`` where they are wrong, or
    the store is missing.
    """
    settings = _read(params)
    check_store(settings)
    return settings


def _read(params: Params) -> RefreshSettings:
    owners = os.environ.get(ENVIRONMENT)
    if not owners:
        raise AirflowFailException(
            f"no settings: name a TOML file in {ENVIRONMENT}, in the environment of the workers. "
            "dags/samples/settings.toml is one; docs/airflow.md says more."
        )
    return read(beside(Path(owners), params["settings"]))


def refresh_dag(
    doc: str,
    *,
    schedule: str | Sequence[Asset],
    params: Mapping[str, Param],
    is_paused_upon_creation: bool | None = None,
) -> Callable[[Callable[..., None]], Callable[..., "DAG"]]:
    """Make a DAG that runs once at a time, with the defaults of all DAGs here."""
    return dag(
        schedule=schedule,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        default_args=DEFAULTS,
        doc_md=doc,
        tags=["onoma"],
        params={**params, "settings": SETTINGS},
        is_paused_upon_creation=is_paused_upon_creation,
    )


def whole(pattern: str) -> str:
    """Return a pattern that a whole value must match; ``$`` alone also allows a final line break.

    A look-ahead in the pattern forbids that line break.
    """
    return rf"^(?:{pattern})(?!\n)$"


def checked(params: Params, name: str, pattern: str) -> str | None:
    """Return the value of a parameter, after checking it again."""
    value: str | None = params[name]
    if value is not None and not re.fullmatch(pattern, value):
        raise AirflowFailException(f"{name} = {value!r}: does not match {pattern}.")
    return value


def names_of(what: str) -> Param:
    """Make a parameter that selects entries of the settings for a run."""
    return Param(
        default=None,
        type=["null", "array"],
        items={"type": "string"},
        description=f"{what} of the settings; none: all",
    )


def chosen(known: Mapping[str, object], names: Sequence[str] | None, *, table: str) -> list[str]:
    """Return the names that a run is for, each once: the given ones, or all."""
    if unknown := [name for name in names or () if name not in known]:
        there = ", ".join(known) or "none"
        raise AirflowFailException(
            f"{', '.join(unknown)}: not in the settings. There are: {there}."
        )
    if not known:
        raise AirflowSkipException(f"the settings have no [[{table}]].")
    return list(dict.fromkeys(names or known))


def check_version(settings: RefreshSettings, shelves: Sequence[str], version: str) -> None:
    """Stop a run whose version is published already, and no longer current.

    If it were published again, it would become current again, perhaps on one shelf but not on
    others.
    """
    for shelf in shelves:
        if settings.is_past(shelf, version):
            raise AirflowFailException(
                f"{settings.shelf(shelf)}: {version} was published, and another is current since. "
                f"To go back to it: onoma store switch {settings.shelf(shelf)} "
                f"{version}. For new data trigger a new run."
            )


def check_unchanged(
    settings: RefreshSettings, shelf: str, *, version: str, previous: str | None
) -> None:
    """Stop a run if another has published since it began: its version would replace a newer one."""
    current = settings.current(shelf)
    if current and current.name != version and str(current) != previous:
        raise AirflowFailException(
            f"{current}: became current after this run was planned, so {version} is not published. "
            "Mark this run as failed, and trigger a new one (with `date`, if it is to have this "
            "dump)."
        )


def version_of(dag_run: "DagRunProtocol", form: str = "%Y%m%d") -> str:
    """Return the name of what a run publishes: its date, the same for each run of that date.

    A run that assets started has no logical date; its name is made from the time when it was due.
    """
    date: datetime = dag_run.logical_date or dag_run.run_after
    return date.strftime(form)
