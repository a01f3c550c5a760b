"""Airflow in its own environment and its own processes: warnings are errors here, not there."""

import fcntl
import json
import os
import shutil
import subprocess
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.corpora.wikipedia.dump_server import serve
from tests.dags.steps import (
    CORPUS,
    DATA,
    RENDERED,
    corpus_steps,
    dumps,
    edition_steps,
    model_steps,
    part_of,
    rendered_dumps,
    rendered_steps,
    write_encoder,
)

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW = ROOT / ".airflow" / "venv" / "bin" / "python"


class Airflow:
    """An Airflow with a home of its own."""

    def __init__(self, home, settings):
        self.home = home
        self.environment = os.environ | {
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__DAGS_FOLDER": str(ROOT / "dags"),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home}/airflow.db",
            "ONOMA_SETTINGS": str(settings),
            "OMP_NUM_THREADS": "1",
        }

    def start(self, *arguments):
        """Start Airflow's Python; its output goes into a file of the home."""
        with (self.home / "output.log").open("w", encoding="utf-8") as output:
            return subprocess.Popen(
                [AIRFLOW, *arguments], env=self.environment, stdout=output, stderr=output
            )

    def run(self, steps):
        """Run DAGs, see ``run_dags.py``; returns what became of them, and the log.

        A run that failed says so, Airflow must not fail.
        """
        files = [self.home / name for name in ("steps.json", "results.json")]
        files[0].write_text(json.dumps(list(steps)), encoding="utf-8")
        process = self.start(Path(__file__).with_name("run_dags.py"), *files)
        try:
            status = process.wait()
        finally:
            process.kill()
        log = (self.home / "output.log").read_text(encoding="utf-8")
        assert status == 0, log[-5000:]
        return json.loads(files[1].read_text(encoding="utf-8")), log


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """Make a database with ``airflow db migrate``, once for all processes of pytest.

    Each home copies it.
    """
    if not AIRFLOW.exists():
        pytest.fail("no Airflow: run make test, or make .airflow/venv/installed")
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    made = shared / "migrated.db"
    with (shared / "migrated.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not made.exists():
            airflow = Airflow(tmp_path_factory.mktemp("migrated"), "none")
            process = airflow.start("-m", "airflow", "db", "migrate")
            assert process.wait() == 0, (airflow.home / "output.log").read_text()[-3000:]
            (airflow.home / "airflow.db").rename(made)
    return made


@pytest.fixture(scope="session")
def make_airflow(migrated, tmp_path_factory):
    def make(settings):
        home = tmp_path_factory.mktemp("airflow")
        shutil.copy(migrated, home / "airflow.db")
        return Airflow(home, settings)

    return make


@pytest.fixture(scope="session")
def runs(make_airflow, warm_python, tmp_path_factory):
    """Run all steps of four folders, once for all tests.

    Returns what became of each step, the folders, and the log.
    """
    names = ("corpus", "edition", "model", "rendered")
    folders = [tmp_path_factory.mktemp(name) for name in names]
    corpus, edition, model, rendered = folders
    shutil.copytree(DATA / "letters", edition / "letters")
    write_encoder(edition / "encoder")
    airflow = make_airflow("none")
    with serve() as mirror:
        for date, xml in dumps().items():
            mirror.add_run("kleinwiki", date, {part_of(date): xml.encode()})
        for date, data in rendered_dumps().items():
            mirror.add_html_run("bachwiki", date, data)
        (rendered / "settings.toml").write_text(RENDERED.replace("MIRROR", mirror.url))
        settings = CORPUS.replace("MIRROR", mirror.url).replace("NEWS", str(DATA / "news"))
        (corpus / "settings.toml").write_text(settings)
        steps = [
            corpus_steps(corpus),
            edition_steps(edition),
            model_steps(model, corpus=corpus, edition=edition),
            rendered_steps(),
        ]
        results, log = airflow.run(
            {"python": warm_python} | step | {"settings": str(folder / "settings.toml")}
            for folder, own in zip(folders, steps, strict=True)
            for step in own
        )
    done = iter(results)
    return SimpleNamespace(
        **{
            name: SimpleNamespace(folder=folder, steps=list(islice(done, len(own))), log=log)
            for name, folder, own in zip(names, folders, steps, strict=True)
        }
    )
