"""Runs without a runner, and a story that several tests of lexicons read."""

import pytest

from pipelines import in_memory, text_to_documents
from tests.pipelines.graph_runs import run_plainly
from tests.pipelines.made_lexicons import STORY


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
