"""Load each DAG file in the interpreter of Airflow, and print what it is and did, as JSON.

Each is loaded twice: the first time for the processor seconds, the second time, when libraries are
loaded, for what it asks of the system.
"""

import json
import sys
import time
from pathlib import Path

from airflow import settings
from airflow.dag_processing.dagbag import DagBag

WATCHED = ("open", "socket.", "subprocess.", "os.", "glob.", "sqlite3.", "shutil.", "tempfile.")
HARMLESS = ("os.listdir", "os.scandir", "os.putenv", "os.unsetenv")  # of imports, and of Airflow
seen, is_watching = [], False


def watch(event, arguments):
    if not is_watching or not event.startswith(WATCHED) or event.startswith(HARMLESS):
        return
    if event == "open" and str(arguments[0]).endswith((".py", ".pyc", ".airflowignore")):
        return
    seen.append(f"{event} {arguments[:1]}")


def load(file):
    return DagBag(str(file))


def describe(dag):
    return {
        "doc_md": bool(dag.doc_md),
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "params": {name: dag.params.get_param(name).schema for name in dag.params},
        "tasks": {task.task_id: describe_task(task) for task in dag.tasks},
    }


def describe_task(task):
    return {
        "pool": task.pool,
        "retries": task.retries,
        "backoff": task.retry_exponential_backoff,
        "timeout": task.execution_timeout.total_seconds() if task.execution_timeout else None,
        "has_callback": bool(task.on_failure_callback),
    }


def main():
    global is_watching  # noqa: PLW0603 - the hook has no other way
    sys.path.append(settings.DAGS_FOLDER)
    sys.addaudithook(watch)
    loaded = {}
    for file in sorted(Path(settings.DAGS_FOLDER).glob("*.py")):
        start = time.process_time()
        first = load(file)
        seconds = time.process_time() - start
        for name in [name for name in sys.modules if name.startswith("onoma_refresh")]:
            del sys.modules[name]
        seen.clear()
        is_watching = True
        load(file)
        is_watching = False
        loaded[file.name] = {
            "errors": list(first.import_errors.values()),
            "seconds": seconds,
            "io": list(seen),
            "dags": {name: describe(dag) for name, dag in first.dags.items()},
        }
    sys.stdout.write("\n" + json.dumps(loaded))


if __name__ == "__main__":
    main()
