"""A store with five versions on a shelf."""

import shutil

import pytest

from corpora.store.versions import publish
from tests.corpora.store.stored_runs import make


@pytest.fixture
def shelf(tmp_path):
    return tmp_path / "store" / "klwiki"


@pytest.fixture(scope="module")
def five(tmp_path_factory):
    """Make five runs, and a store with a shelf of their versions v1 to v5."""
    folder = tmp_path_factory.mktemp("five")
    for n in range(1, 6):
        source = make(folder / f"run{n}", f"Text {n}.")
        publish(source, folder / "store" / "klwiki", version=f"v{n}")
    return folder


@pytest.fixture
def published(five, tmp_path, shelf):
    """Copy ``five`` for one test; returns the shelf."""
    shutil.copytree(five, tmp_path, dirs_exist_ok=True)
    return shelf
