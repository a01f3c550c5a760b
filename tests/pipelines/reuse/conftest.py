"""The output of the month before, made of a small wiki that is cut into several units."""

import pytest

from tests.pipelines.reuse.small_refreshes import WIKI, cut_small, run


@pytest.fixture(autouse=True)
def _small(monkeypatch):
    cut_small(monkeypatch)


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """Make the output of the month before."""
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch)
        output = tmp_path_factory.mktemp("earlier") / "out"
        assert run(WIKI, output, month=10) == 0
    return output
