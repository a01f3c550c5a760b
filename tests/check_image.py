"""Build and run the image of the Dockerfile without Docker: `make image-test`, as root.

Its steps are done one by one in clean roots (tests/images.py). Not in the suite, for it downloads
packages.
"""

import os
import re
import shutil
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

from modeling.serve.client import Client
from tests.images import build, missing
from tests.processes import children_of, wait_for

ROOT = Path(__file__).resolve().parent.parent
PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
POOL = "localhost:50000"
LETTERS = ("--input", "/samples/letters/*.xml", "--edition", "/samples/letters/edition.toml")

pytestmark = pytest.mark.skipif(bool(missing()), reason=f"not here: {', '.join(missing())}")


@pytest.fixture(scope="module")
def image_of(tmp_path_factory):
    """Build an image with other arguments; they are removed at the end: they hold gigabytes."""
    folder = tmp_path_factory.mktemp("images")
    yield lambda name, **arguments: build(ROOT, folder / name, {"PYTHON": PYTHON, **arguments})
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def workers(image_of):
    return image_of("workers")


@pytest.fixture(scope="module")
def models(image_of):
    return image_of("models", EXTRAS="pipelines,modeling,serve,linking,cas")


@pytest.fixture
def data(tmp_path):
    """Return the folders to mount: the samples, and an empty one for output."""
    (tmp_path / "made").mkdir()
    (tmp_path / "made").chmod(0o777)  # the image's user is not root
    return {ROOT / "tests" / "data": "/samples", tmp_path / "made": "/data"}


def run(image, *command, binds):
    """Do a command in the image, which ends well; gives what it says."""
    done = subprocess.run(
        image.command(*command, binds=binds), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@contextmanager
def running(image, *command, binds, log):
    """Run a command in the image while the context lasts."""
    with log.open("w") as file:
        process = subprocess.Popen(
            image.command(*command, binds=binds), stdout=file, stderr=subprocess.STDOUT
        )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def stop(process):
    """End it as ``docker stop`` does: SIGTERM for the first process inside; its exit status."""
    [first] = children_of(process.pid)
    os.kill(first, signal.SIGTERM)
    return process.wait(30)


def said(process, log, pattern):
    """Wait until a process writes something."""

    def found():
        assert process.poll() is None, log.read_text()
        return re.search(pattern, log.read_text())

    wait_for(found, seconds=120)
    return found()


def test_it_starts_and_says_its_version(workers):
    assert re.fullmatch(r"onoma \d+\.\d+\.\d+\n", run(workers, "onoma", "--version", binds={}))
    assert workers.entrypoint == ("/opt/apache/beam/boot",)


def test_an_edition_is_read_to_the_bytes_that_are_made_outside(workers, data, tmp_path):
    said = run(
        workers, "onoma", "tei", *LETTERS, "--output", "/data/letters", "--workers", 2, binds=data
    )
    here = [sys.executable, "-m", "onoma", "tei", *LETTERS, "--output", str(tmp_path / "here")]
    outside = [part.replace("/samples", str(ROOT / "tests" / "data")) for part in here]
    subprocess.run(outside, cwd=ROOT, check=True, capture_output=True)

    assert "read 8 " in said
    assert "next  onoma verify /data/letters" in said
    for shard in sorted((tmp_path / "here").glob("*/shard-*.arrow")):
        inside = tmp_path / "made" / "letters" / shard.relative_to(tmp_path / "here")
        assert inside.read_bytes() == shard.read_bytes()


def test_its_workers_do_the_job_of_a_launcher(workers, data, tmp_path):
    pool, jobs, port = tmp_path / "pool.log", tmp_path / "jobs.log", tmp_path / "made" / "port"
    service = ("-m", "apache_beam.runners.portability.local_job_service_main")
    work = (*workers.entrypoint, "--worker_pool")
    serve = ("python", *service, "--port_file", "/data/port")
    portable = ("--runner=PortableRunner", "--environment_type=EXTERNAL")
    with (
        running(workers, *work, binds=data, log=pool) as pools,
        running(workers, *serve, binds=data, log=jobs),
    ):
        said(pools, pool, "Started worker pool servicer")
        wait_for(port.exists, seconds=60)
        where = (f"--job_endpoint=localhost:{port.read_text()}", f"--environment_config={POOL}")
        output = ("--output", "/data/letters")
        printed = run(workers, "onoma", "tei", *LETTERS, *output, *portable, *where, binds=data)

    assert "read 8 " in printed
    assert "Starting worker with command" in pool.read_text()


def test_a_tagger_is_trained_and_served_until_it_is_stopped(models, data, tmp_path):
    letters = ["--input", "/data/letters/documents"]
    few = ["training.max_steps=2", "training.batch_size=4", "training.micro_batch_size=4"]
    examples = ["--examples", "/data/examples", "--output", "/data/encoder"]
    ner = ["--ner", "/data/letters/ner", "--model", "/data/encoder", "--output", "/data/tagger"]
    for command in (
        ["tei", *LETTERS, "--output", "/data/letters"],
        ["tokenizer", *letters, "--size", 1500, "--output", "/data/tok"],
        ["examples", *letters, "--tokenizer", "/data/tok", "--output", "/data/examples"],
        ["pretrain", "bert_small", *examples, "--set", *few],
        ["finetune", "crf_small", *ner, "--set", "training.epochs=1"],
    ):
        run(models, "onoma", *command, binds=data)
    log = tmp_path / "serve.log"
    serve = ("-m", "modeling.serve", "/data/tagger", "--host", "0.0.0.0", "--name", "letters")  # noqa: S104

    with running(models, "python", *serve, "--port", 0, binds=data, log=log) as process:
        port = said(process, log, r"on http://0.0.0.0:(\d+)")[1]
        run(models, "env", f"ONOMA_SERVE_PORT={port}", *models.health, binds=data)
        client = Client(f"http://127.0.0.1:{port}")
        assert client.health()["models"] == ["letters"]
        assert isinstance(client.tag("Ich fuhr nach Weimar."), list)
        assert stop(process) == 0
