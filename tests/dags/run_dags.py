"""Run DAGs one after the other in the interpreter of Airflow: ``STEPS`` in, ``RESULTS`` out.

A step is {"dag", "date" or "event", "conf", "settings", "python", "write": {file: text}, "bring":
[[folder, pattern, shelf]], "kill": [module, folder, pattern]}. ``event``: the run is the one that
Airflow's scheduler makes for events of assets, not one of a date. ``python``: the interpreter of
commands, or what stands for it (``warm.py``). ``write``: files that are written before. ``bring``:
versions of another store that are published here, too. ``kill``: the command that gets SIGKILL when
a file of this pattern is in the folder.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta
from pathlib import Path
from unittest import mock

from airflow import settings
from airflow.dag_processing import dagbag
from airflow.jobs.job import Job
from airflow.jobs.scheduler_job_runner import SchedulerJobRunner
from airflow.models.asset import AssetEvent
from airflow.models.dagrun import DagRun
from airflow.utils.session import create_session
from airflow.utils.sqlalchemy import prohibit_commit
from airflow.utils.state import DagRunState
from jsonschema import Draft202012Validator


def main(steps, results):
    sys.path.append(settings.DAGS_FOLDER)  # as every process of Airflow that loads a bundle
    time.sleep = doze  # ``dag.test()`` waits a second before it looks again
    Draft202012Validator.check_schema = once(Draft202012Validator.check_schema)
    bag = dagbag.DagBag()
    assert not bag.import_errors, bag.import_errors
    finished = []
    for step in json.loads(Path(steps).read_text(encoding="utf-8")):
        finished.append(run(bag.dags[step["dag"]], step))
        dagbag.sync_bag_to_db = lambda *_: None  # else each step writes all DAGs once more
        Path(results).write_text(json.dumps(finished), encoding="utf-8")


def doze(seconds, *, sleep=time.sleep):
    """Sleep for a twentieth of a second at most."""
    sleep(min(seconds, 0.05))


def once(check):
    """Check the schema of a parameter once, and not whenever Airflow looks at its value."""
    checked = set()

    def check_new(schema, **options):
        if (text := json.dumps(schema, sort_keys=True)) not in checked:
            check(schema, **options)
            checked.add(text)

    return check_new


def run(dag, step):
    os.environ["ONOMA_SETTINGS"] = step["settings"]
    os.environ["ONOMA_PYTHON"] = step["python"]
    for task in dag.tasks:
        task.retry_delay = timedelta(seconds=0.1)
        task.retry_exponential_backoff = 0
    for path, text in step.get("write", {}).items():
        Path(path).write_text(text, encoding="utf-8")
    for found in step.get("bring", []):
        bring(*found)
    killed = []
    if "kill" in step:
        threading.Thread(target=kill, args=[*step["kill"], killed], daemon=True).start()
    if "event" in step:
        done = run_of_events(dag)
    else:
        done = dag.test(
            logical_date=datetime.fromisoformat(step["date"]), run_conf=step.get("conf", {})
        )
    with create_session() as session:
        done = session.merge(done)
        consumed = [event.extra for event in done.consumed_asset_events]
        tasks = {
            ti.task_id: [ti.state, ti.try_number] for ti in done.get_task_instances(session=session)
        }
        events = [
            {"asset": event.asset.name, **event.extra}
            for event in session.query(AssetEvent).order_by(AssetEvent.id)
            if event.source_run_id == done.run_id
        ]
        return {
            "state": done.state,
            "type": done.run_type,
            "tasks": tasks,
            "events": events,
            "consumed": consumed,
            "killed": killed,
        }


def run_of_events(dag):
    """Let Airflow's scheduler make the run that is due after events of assets; run its tasks."""
    with create_session() as session, prohibit_commit(session) as guard:
        SchedulerJobRunner(job=Job())._create_dagruns_for_dags(guard, session)

    def take(*, session, dag, **_):
        due = session.query(DagRun).filter_by(dag_id=dag.dag_id, state=DagRunState.QUEUED).one()
        due.dag, due.state = dag, DagRunState.RUNNING
        session.commit()
        return due

    with mock.patch("airflow.models.dagrun.get_or_create_dagrun", take):
        return dag.test(logical_date=None)


def bring(folder, pattern, shelf):
    """Publish a version of another store under its name."""
    [version] = Path(folder).glob(pattern)
    command = [os.environ["ONOMA_PYTHON"], "-m", "corpora.store", "publish", version, shelf]
    subprocess.run([*command, "--version", version.name], check=True)


def kill(module, folder, pattern, killed):
    """Kill the first command that runs a module, as soon as a file that it makes is there."""
    while (command := command_of(module, folder)) is None:
        time.sleep(0.02)
    while not any(Path(folder).glob(pattern)):
        time.sleep(0.002)
    os.kill(command, signal.SIGKILL)
    killed.append(command)


def command_of(module, folder):
    """Return the process of a command that runs a module on files in a folder, if there is one."""
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode().split("\0")
        except OSError:
            continue
        is_module = words[3:5] == ["-m", module]  # python -IS SOCKET.python -m MODULE
        if is_module and any(word.startswith(folder) for word in words):
            return int(process.name)
    return None


if __name__ == "__main__":
    main(*sys.argv[1:])
