"""Azure (``az://``) and Google (``gs://``): what is promised of buckets, with servers of theirs."""

import shutil
import subprocess
from pathlib import Path

import pytest

from corpora.store import on_bucket
from corpora.store.removal_on_bucket import prune
from corpora.system import buckets
from corpora.system.buckets import Bucket
from corpora.system.staging import stage
from pipelines import tei_to_ner
from tests import azure_server, google_server
from tests.bucket_server import built
from tests.corpora.system.test_buckets import race
from tests.pipelines.test_on_bucket import hashes, published

LETTERS = Path(__file__).resolve().parents[1] / "data" / "letters"


def azure(_):
    if why := azure_server.missing():
        pytest.skip(why)
    return azure_server.AzureServer(shutil.which("node"))


def google(folder):
    try:
        program = built(google_server.MODULE, google_server.VERSION)
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no server of Google's interface: {error}")
    return google_server.GoogleServer(program, folder)


@pytest.fixture(scope="module", params=[("az", azure), ("gs", google)], ids=["az", "gs"])
def place(request, tmp_path_factory):
    """Start a server and set the environment for it; yields the address of its bucket."""
    kind, start = request.param
    server = start(tmp_path_factory.mktemp("server"))
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment.items():
            patch.setenv(name, value)
        patch.setenv("ONOMA_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("ONOMA_BUCKET_SECONDS", "20")
        buckets.open_store.cache_clear()
        yield f"{kind}://onoma"
    buckets.open_store.cache_clear()
    server.kill()


def run(inputs, output, *options):
    edition = ["--edition", str(LETTERS / "edition.toml")]
    return tei_to_ner.main(["--input", inputs, *edition, "--output", str(output), *options])


def test_of_fifty_who_create_or_replace_an_object_at_once_one_wins(place):
    folder = Bucket(f"{place}/race")

    [_] = race(folder, seen="")
    [winner] = race(folder, seen=folder.read("one").etag)

    assert folder.read("one").data == b"of " + winner.encode()
    assert not folder.replace("one", b"late", seen="", writer="late")


def test_an_object_is_replaced_as_a_listing_saw_it(place):
    folder = Bucket(f"{place}/listed")
    folder.put("one", b"before")
    [seen] = folder.list()

    assert folder.replace("one", b"after", seen=seen.etag, writer="first")
    assert not folder.replace("one", b"again", seen=seen.etag, writer="second")
    folder.delete(["one"])
    assert not folder.replace("one", b"again", seen=seen.etag, writer="second")


def test_a_run_gives_the_bytes_of_a_local_run_and_is_published_and_removed(place, tmp_path):
    folder = Bucket(f"{place}/letters")
    for path in LETTERS.glob("*.xml"):
        folder.put(path.name, path)
    output, shelf = f"{place}/build/letters", f"{place}/store/letters"

    assert run(f"{place}/letters/*.xml", output) == 0
    assert run(str(LETTERS / "*.xml"), tmp_path / "local") == 0

    assert published(output) == hashes(tmp_path / "local")
    for version in ("1", "2"):
        on_bucket.publish(stage(output), shelf, version=version)
    assert [fate.version for fate in prune(shelf, keep=1) if not fate.reason] == ["1"]
    assert {found.name.split("/")[0] for found in Bucket(shelf).list()} == {
        *(".begun-2", "2", "current", "history.json")
    }


def test_another_run_replaces_what_is_there(place, tmp_path):
    output = f"{place}/build/again"
    assert run(str(LETTERS / "*.xml"), output) == 0

    assert run(str(LETTERS / "*.xml"), output, "--seed", "2") == 0

    assert run(str(LETTERS / "*.xml"), tmp_path / "local", "--seed", "2") == 0
    assert published(output) == hashes(tmp_path / "local")
