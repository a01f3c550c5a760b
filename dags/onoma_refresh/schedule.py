"""The common parts of all DAGs: retries, limits, pools, assets, reports of failures, parameters."""

import logging
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from airflow.sdk import DAG, Asset, Param
from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

from onoma_refresh.environment import without_airflow
from onoma_refresh.job import JOBS, SHORT, DagTask, Params, Task, step
from onoma_refresh.settings import ENVIRONMENT, RefreshSettings, SettingsError, read, settings_file

if TYPE_CHECKING:
    from airflow.sdk import Context

log = logging.getLogger(__name__)
CORPORA: Final = Asset("onoma_corpora", uri="x-onoma://corpora", group="onoma")
"""The asset with an event for each published version of a wiki: documents, vocabulary, examples."""
NEWS: Final = Asset("onoma_news", uri="x-onoma://news", group="onoma")
EDITIONS: Final = Asset("onoma_editions", uri="x-onoma://editions", group="onoma")
ENCODERS: Final = Asset("onoma_encoders", uri="x-onoma://encoders", group="onoma")
TAGGERS: Final = Asset("onoma_taggers", uri="x-onoma://taggers", group="onoma")


def report_failure(context: "Context") -> None:
    """Report to the log, and to the command of the settings, what failed."""
    task = context["task_instance"]
    where = f"{task.dag_id} {context['run_id']} {task.task_id}"
    if task.map_index is not None and task.map_index >= 0:
        where += f"[{task.map_index}]"
    report = f"{where}: failed at try {task.try_number}.\n{context.get('exception')}\n"
    log.error("%s", report)
    try:
        settings = read(settings_file(context["params"]["settings"]))
    except SettingsError:
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


def refresh_dag(
    dag_id: str,
    doc: str,
    expand: Callable[..., object],
    *,
    table: str,
    schedule: str | Sequence[Asset],
    params: Mapping[str, Param] = MappingProxyType({}),
    is_paused_upon_creation: bool | None = None,
) -> None:
    """Make a DAG that runs once at a time, with a task group for each entry of a table.

    ``expand`` is that of the task group; ``table`` is the name of the table's field in the
    settings, and of the parameter that selects entries.
    """
    common = {
        table: Param(
            default=None,
            type=["null", "array"],
            items={"type": "string"},
            description=f"{table} of the settings; none: all",
        ),
        "settings": Param(  # because null is allowed, its field may stay empty
            default=None,
            type=["null", "string"],
            description=f"another file in the folder of {ENVIRONMENT}, as weekly.toml",
        ),
    }
    with DAG(
        dag_id,
        schedule=schedule,
        start_date=datetime(2026, 1, 1, tzinfo=UTC),
        catchup=False,
        max_active_runs=1,
        default_args=DEFAULTS,
        doc_md=doc,
        tags=["onoma"],
        params={**params, **common},
        is_paused_upon_creation=is_paused_upon_creation,
    ):
        expand(name=entries(table)())


def entries(table: str) -> Task:
    """Make the task that lists the entries of a table that a run is for."""

    @step(task_id=table)
    def names(job: DagTask) -> list[str]:
        """List the entries of the settings that this run is for."""
        return chosen(job.settings, table, job.params[table])

    return names


def chosen(settings: RefreshSettings, table: str, names: Sequence[str] | None) -> list[str]:
    """Return the names that a run is for, each once: the given ones, or all of the table."""
    known = getattr(settings, table)
    if unknown := [name for name in names or () if name not in known]:
        there = ", ".join(known) or "none"
        raise AirflowFailException(
            f"{', '.join(unknown)}: not in the settings. There are: {there}."
        )
    if not known:
        header = RefreshSettings.model_fields[table].alias or table
        raise AirflowSkipException(f"the settings have no [[{header}]].")
    return list(dict.fromkeys(names or known))


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
