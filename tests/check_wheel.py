"""Install the wheel as a stranger would: `make wheel-test`.

Each extra is installed on top of the core, in an environment of its own. Not in the suite, for it
downloads packages.
"""

import json
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.test_onoma import licences_said

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("corpora", "pipelines", "modeling")
OF_USERS = (*PACKAGES, "tests", "dags", "benchmarks")
PYTHON = os.environ.get("WHEEL_PYTHON", sys.executable)
"""Of the environments that it is installed into: another one may be named."""
HEAVY = {"torch", "apache_beam", "transformers", "spacy", "fastapi", "lxml"}


def call(*command, folder, status=0):
    """Run a command where nothing of the checkout can be found; give what it says."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env={**environment, "PIP_CONSTRAINT": str(ROOT / "constraints.txt")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def dist(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    command = (sys.executable, "-m", "build", "--outdir", folder, ROOT)
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(dist):
    [found] = dist.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def core(wheel, tmp_path_factory):
    """Make an environment with Onoma and no extra."""
    folder = tmp_path_factory.mktemp("core") / "venv"
    subprocess.run([PYTHON, "-m", "venv", folder], check=True)
    call(folder / "bin/pip", "install", "--quiet", wheel, folder=folder)
    return folder


@pytest.fixture
def with_extra(wheel, core, tmp_path):
    """Make an environment on top of the core, with an extra; give its Python."""

    def make(extra):
        folder = tmp_path / "venv"
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", folder], check=True)
        [packages], [below] = (at.glob("lib/python*/site-packages") for at in (folder, core))
        (packages / "below.pth").write_text(f"{below}\n")
        pip = (core / "bin/pip", "--python", folder / "bin/python", "install", "--quiet")
        call(*pip, "--no-compile", f"{wheel}[{extra}]", folder=tmp_path)
        return folder / "bin/python"

    yield make
    shutil.rmtree(tmp_path / "venv", ignore_errors=True)  # gigabytes


@pytest.fixture
def place(tmp_path):
    """Return a folder with packages of a user that have the names of ours."""
    for name in OF_USERS:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text(f"raise SystemExit('{name} of the user')")
    return tmp_path


def test_wheel_holds_all_files_of_the_packages_and_nothing_else(wheel):
    command = ("git", "ls-files", *PACKAGES, "onoma")
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}

    assert names == {*listed.stdout.splitlines()}


def test_sdist_holds_what_the_wheel_is_made_of_and_nothing_else(dist):
    [sdist] = dist.glob("*.tar.gz")

    with tarfile.open(sdist) as archive:
        names = {Path(one.name).parts[1] for one in archive if len(Path(one.name).parts) > 1}

    about = {"CHANGELOG.md", "LICENSE", "MANIFEST.in", "PKG-INFO", "README.md", "pyproject.toml"}
    assert names == {*PACKAGES, "onoma", "onoma.egg-info", "setup.cfg", *about}


def test_core_alone_reads_and_brings_nothing_heavy(core, place):
    python, onoma = core / "bin/python", core / "bin/onoma"
    code = (
        "import importlib.util as u, onoma\n"
        f"print([name for name in {sorted(HEAVY)} if u.find_spec(name)])\n"
        "print(onoma.mark(onoma.parse_wikitext('In [[Jena]].', wiki='dewiki')))\n"
        "print(onoma.read_tei('<TEI><text><body><p>An Ada.</p></body></text></TEI>').text)"
    )

    said = call(python, "-c", code, folder=place)

    assert said.splitlines() == ["[]", "In [Jena|dewiki:Jena].", "An Ada."]
    call(core / "bin/pip", "check", folder=place)
    assert call(onoma, "--version", folder=place).startswith("onoma ")
    assert "permissive" in call(onoma, "licenses", "--fail-on", "copyleft", folder=place)


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        (["tei", "--input", "x.xml", "--output", "out"], "pipelines"),
        (["finetune", "crf", "--ner", "x", "--model", "y", "--output", "z"], "modeling"),
        (["predict", "x", "--text", "y"], "modeling"),
        (["show", "s3://bucket/x"], "buckets"),
        (["serve", "x"], "serve"),
    ],
)
def test_command_without_its_extra_says_which(core, place, command, extra):
    said = call(core / "bin/onoma", *command, folder=place, status=2)

    assert f"pip install 'onoma[{extra}]'" in said
    assert "Traceback" not in said


SMOKE = {
    "modeling": "from modeling.taggers.tagger import Tagger; import torch, transformers, seqeval",
    "tei": "import corpora.tei.schema, lxml.etree",
    "plots": "import matplotlib, sklearn",
    "onnx": "import onnx, onnxruntime, onnxscript",
    "chinese": "from corpora.segmentation.chinese_words import *; import jieba, opencc",
    "buckets": "import corpora.system.buckets, obstore.store",
    "bioc": "import bioc.biocxml",
    "cas": "import cassis",
    "linking": "import rapidfuzz",
    "lora": "import peft",
    "serve": "import fastapi, uvicorn",
    "spacy": "import spacy",
    "tensorboard": "import tensorboard",
    "news": "from corpora.news.extraction import *; import trafilatura, rensa, py3langid",
    "news-please": "import corpora.crawl.fetcher, newsplease, scrapy, protego, httpcore2",
    "wikiextractor": "import wikiextractor.extract",
    "zim": "import corpora.wikipedia.html.zim, libzim.reader",
}


def test_every_extra_is_tried():
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    named = {*extras["optional-dependencies"]}

    assert named == {*SMOKE, "pipelines", "dags"}  # Airflow has an environment of its own


@pytest.mark.parametrize("extra", SMOKE)
def test_extra_alone_is_enough_for_its_library(with_extra, place, extra):
    python = with_extra(extra)

    call(python, "-P", "-c", f"import onoma; {SMOKE[extra]}", folder=place)

    found = json.loads(call(python, "-m", "onoma", "licenses", "--json", folder=place))
    named = {one["name"] for one in found if one["kind"] not in {"permissive", "proprietary"}}
    assert named <= licences_said()[extra]


def test_pipelines_run_beside_packages_of_the_user(with_extra, place):
    onoma = (with_extra("pipelines"), "-m", "onoma")
    options = ["--edition", "letters/edition.toml", "--workers", "2", "--output", "out"]

    assert "next  onoma tei " in call(*onoma, "sample", "tei", "letters", folder=place)
    said = call(*onoma, "tei", "--input", "letters/*.xml", *options, folder=place)

    assert "read 8 " in said
    assert "rejected 0" in said
    assert "next  onoma verify out" in said
    assert "Jena" in call(*onoma, "show", "out/documents", "--limit", "1", folder=place)
    call(*onoma, "verify", "out", folder=place)
