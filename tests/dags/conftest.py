"""Airflow in its own environment and its own processes: warnings are errors here, not there."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.corpora.wikipedia.dump_server import serve
from tests.dags.steps import (
    CORPUS,
    DATA,
    corpus_steps,
    dumps,
    edition_steps,
    model_steps,
    part_of,
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
            "ONOMA_PYTHON": sys.executable,
            "OMP_NUM_THREADS": "1",
        }

    def start(self, *arguments):
        """Start Airflow's Python; its output goes into a file of the home."""
        with (self.home / "output.log").open("w", encoding="utf-8") as output:
            return subprocess.Popen(
                [AIRFLOW, *arguments], env=self.environment, stdout=output, stderr=output
            )

    def begin(self, steps):
        """Run DAGs, see ``run_dags.py``; ``results`` waits for them."""
        (self.home / "steps.json").write_text(json.dumps(steps), encoding="utf-8")
        script = Path(__file__).with_name("run_dags.py")
        return self.start(script, self.home / "steps.json", self.home / "results.json")

    def results(self, process):
        """What became of the runs; a run that failed says so, Airflow must not fail."""
        status = process.wait()
        output = (self.home / "output.log").read_text(encoding="utf-8")
        assert status == 0, output[-5000:]
        return json.loads((self.home / "results.json").read_text(encoding="utf-8")), output


@pytest.fixture(scope="session")
def migrated(tmp_path_factory):
    """A database as ``airflow db migrate`` makes it; copied for each home."""
    if not AIRFLOW.exists():
        pytest.fail("no Airflow: run make test, or make .airflow/venv/installed")
    airflow = Airflow(tmp_path_factory.mktemp("migrated"), "none")
    process = airflow.start("-m", "airflow", "db", "migrate")
    assert process.wait() == 0, (airflow.home / "output.log").read_text()[-3000:]
    return airflow.home / "airflow.db"


@pytest.fixture(scope="session")
def make_airflow(migrated, tmp_path_factory):
    def make(settings):
        home = tmp_path_factory.mktemp("airflow")
        shutil.copy(migrated, home)
        return Airflow(home, settings)

    return make


@pytest.fixture(scope="session")
def runs(make_airflow, tmp_path_factory):
    """What became of all steps of each, and their folders: at the same time, once for all tests."""
    names = ("corpus", "edition", "model")
    folders = [tmp_path_factory.mktemp(name) for name in names]
    corpus, edition, model = folders
    shutil.copytree(DATA / "letters", edition / "letters")
    write_encoder(edition / "encoder")
    airflows = [make_airflow(folder / "settings.toml") for folder in folders]
    with serve() as mirror:
        for date, xml in dumps().items():
            mirror.add_run("kleinwiki", date, {part_of(date): xml.encode()})
        settings = CORPUS.replace("MIRROR", mirror.url).replace("NEWS", str(DATA / "news"))
        (corpus / "settings.toml").write_text(settings)
        steps = [
            corpus_steps(corpus),
            edition_steps(edition),
            model_steps(model, corpus=corpus, edition=edition),
        ]
        begun = [airflow.begin(own) for airflow, own in zip(airflows, steps, strict=True)]
        try:
            done = [airflow.results(one) for airflow, one in zip(airflows, begun, strict=True)]
        finally:
            for process in begun:
                process.kill()
                process.wait()
    return SimpleNamespace(
        **{
            name: SimpleNamespace(folder=folder, steps=told, log=log)
            for name, folder, (told, log) in zip(names, folders, done, strict=True)
        }
    )
