"""Runs without a runner, and a story that several tests of lexicons read."""

import shutil
from pathlib import Path

import pytest

from pipelines import in_memory, tei_to_ner, text_to_documents
from tests.pipelines.graph_runs import run_plainly
from tests.pipelines.made_lexicons import STORY

LETTERS = Path(__file__).resolve().parents[1] / "data" / "letters"


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Make documents of the sample story, by its chapters."""
    folder = tmp_path_factory.mktemp("story")
    arguments = ["--input", str(STORY), "--lang", "zh", "--split-pattern", "^第.{1,3}回"]
    assert text_to_documents.main([*arguments, "--output", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def without_runner():
    """Call the steps of runs in this process one after the other, without a runner of Beam.

    Runs start in no time then. ``test_chain_on_bucket`` compares the bytes of each pipeline.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_memory, "run_graph", run_plainly)
        yield


@pytest.fixture(scope="module")
def letters_run(tmp_path_factory):
    """Read the sample letters once; look only."""
    output = tmp_path_factory.mktemp("letters") / "out"
    letters = str(LETTERS / "edition.toml")
    command = ["--input", f"{LETTERS}/*.xml", "--edition", letters, "--output", str(output)]
    assert tei_to_ner.main(command) == 0
    return output


@pytest.fixture
def output(letters_run, tmp_path):
    """Return a folder with what a run of the sample letters left, to be changed."""
    return shutil.copytree(letters_run, tmp_path / "out")
