"""Containers of Azure (``az://``): what is promised of buckets, with the server of its makers."""

import shutil
from pathlib import Path

import pytest

from corpora.store import on_bucket
from corpora.store.removal_on_bucket import prune
from corpora.system import buckets
from corpora.system.buckets import Bucket
from corpora.system.staging import stage
from pipelines import tei_to_ner
from tests import azure_server
from tests.corpora.system.test_buckets import race
from tests.pipelines.test_on_bucket import hashes, published

LETTERS = Path(__file__).resolve().parents[1] / "data" / "letters"


@pytest.fixture(scope="module", autouse=True)
def server(tmp_path_factory):
    """A running server with a container, and the environment that leads there."""
    if why := azure_server.missing():
        pytest.skip(why)
    server = azure_server.AzureServer(shutil.which("node"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        patch.setenv("ONOMA_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ONOMA_BUCKET_SECONDS", "20")
        buckets.open_store.cache_clear()
        yield
    buckets.open_store.cache_clear()
    server.kill()


def run(inputs, output):
    edition = ["--edition", str(LETTERS / "edition.toml")]
    return tei_to_ner.main(["--input", inputs, *edition, "--output", str(output)])


def test_of_those_who_create_or_replace_an_object_at_once_one_wins():
    folder = Bucket("az://onoma/race")

    [_] = race(folder, seen="", n=20)
    [winner] = race(folder, seen=folder.read("one").etag, n=20)

    assert folder.read("one").data == b"of " + winner.encode()
    assert not folder.replace("one", b"late", seen="", writer="late")


def test_a_run_gives_the_bytes_of_a_local_run_and_is_published_and_removed(tmp_path):
    folder = Bucket("az://onoma/letters")
    for path in LETTERS.glob("*.xml"):
        folder.put(path.name, path)
    output, shelf = "az://onoma/build/letters", "az://onoma/store/letters"

    assert run("az://onoma/letters/*.xml", output) == 0
    assert run(str(LETTERS / "*.xml"), tmp_path / "local") == 0

    assert published(output) == hashes(tmp_path / "local")
    for version in ("1", "2"):
        on_bucket.publish(stage(output), shelf, version=version)
    assert [fate.version for fate in prune(shelf, keep=1) if not fate.reason] == ["1"]
    assert {found.name.split("/")[0] for found in Bucket(shelf).list()} == {
        *(".begun-2", "2", "current", "history.json"),
    }
