"""Versions of a store in a bucket: removed, and freed of a person's data."""

import json
import shutil
from contextlib import contextmanager

import pytest

from corpora.errors import CorpusError, UsageError
from corpora.store.__main__ import main
from corpora.store.inspection import verify
from corpora.store.on_bucket import current, publish, remove, switch, version_names
from corpora.store.removal_on_bucket import forget, prune
from corpora.system import buckets
from corpora.system.buckets import Bucket
from corpora.system.files import sha256_of
from corpora.system.staging import stage
from tests.bucket_server import BucketServer
from tests.conftest import use_server
from tests.corpora.store.stored_runs import make, names_that_stay
from tests.corpora.store.test_forgetting import TODAY, ids_in, made_store

STORE = "s3://onoma/store"
SHELF = f"{STORE}/klwiki"


class Killed(BaseException):
    """As a kill: what a process has in its memory is gone, and what is in the bucket stays."""


@contextmanager
def killed_at(number):
    """Be killed at the request of that number."""
    again, n = Bucket._again, 0

    def counted(self, name, do):
        nonlocal n
        n += 1
        if n == number:
            raise Killed
        return again(self, name, do)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bucket, "_again", counted)
        yield


@contextmanager
def before_write_of(name, do):
    """Let another process do something just before an object is written."""
    replace, is_done = Bucket.replace, []

    def later(self, of, data, **settings):
        if of == name and not is_done:
            is_done.append(True)
            do()
        return replace(self, of, data, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Bucket, "replace", later)
        yield


@pytest.fixture(scope="module")
def server(bucket_program, tmp_path_factory):
    server = BucketServer(bucket_program, tmp_path_factory.mktemp("server"))
    yield server
    server.kill()


@pytest.fixture
def bucket(server, tmp_path, monkeypatch):
    """Give each test the same server, with an empty bucket: none of them kills it."""
    use_server(server, tmp_path / "cache", monkeypatch)
    yield server
    for folder in (server.folder / "onoma").iterdir():
        shutil.rmtree(folder)
    buckets.open_store.cache_clear()


@pytest.fixture
def shelf(bucket, five):
    """Publish versions v1 to v3 on a shelf."""
    for n in (1, 2, 3):
        publish(five / f"run{n}", SHELF, version=f"v{n}")
    return bucket


def names_in(version):
    return {found.name for found in Bucket(SHELF).list(f"{version}/")}


@pytest.mark.usefixtures("shelf")
def test_the_last_versions_and_the_current_one_stay():
    switch(SHELF, "v1")

    assert names_that_stay(prune(SHELF, keep=1, is_dry_run=True)) == {"v1"}
    assert version_names(SHELF) == ["v2", "v3", "v1"]
    fates = prune(SHELF, keep=2)

    assert [(fate.version, fate.reason) for fate in fates] == [
        ("v2", ""),
        ("v3", "one of the last"),
        ("v1", "current"),
    ]
    assert version_names(SHELF) == ["v3", "v1"]
    assert not names_in("v2")
    verify(stage(current(SHELF)))


@pytest.mark.usefixtures("shelf")
def test_what_a_model_names_stays_wherever_it_lies(tmp_path, capsys):
    made = make(tmp_path / "e", "Beispiele.", inputs=[{"sha256": hash_of_dataset(f"{SHELF}/v1")}])
    examples = publish(made, f"{STORE}/examples", version="e1")
    Bucket("s3://onoma/runs/tagger").put(
        "settings.json", json.dumps({"data": hash_of_dataset(examples)}).encode()
    )

    assert main(["prune", SHELF, "--keep", "1", "--keep-for", "s3://onoma/runs"]) == 0

    assert version_names(SHELF) == ["v1", "v3"]
    assert f"v1  kept: needed by {examples}" in capsys.readouterr().out
    with pytest.raises(CorpusError, match=f"{STORE}/examples/e2: is not there"):
        prune(SHELF, keep=1, keep_for=[f"{STORE}/examples/e2"])
    assert names_that_stay(prune(SHELF, keep=1, keep_for=[examples])) == {"v1", "v3"}


def hash_of_dataset(version):
    return sha256_of(stage(f"{version}/documents/dataset.json"))


@pytest.mark.usefixtures("shelf")
def test_a_name_that_was_removed_is_not_used_again(five):
    prune(SHELF, keep=1)

    with pytest.raises(CorpusError, match="a name is not used twice"):
        publish(five / "run4", SHELF, version="v1")
    with pytest.raises(UsageError, match="has no version v1"):
        switch(SHELF, "v1")
    publish(five / "run4", SHELF, version="v4")
    assert version_names(SHELF) == ["v3", "v4"]


@pytest.mark.usefixtures("shelf")
def test_a_version_never_changes(five):
    with pytest.raises(CorpusError, match=r"v3: holds other data .* a version never changes"):
        publish(five / "run4", SHELF, version="v3")


@pytest.mark.usefixtures("bucket")
def test_a_shelf_on_which_nothing_is_published_has_no_current_version():
    with pytest.raises(CorpusError, match="nothing is published there"):
        current(SHELF)


@pytest.mark.usefixtures("shelf")
def test_of_two_who_make_a_version_current_at_once_the_second_is_told():
    with (
        before_write_of("history.json", lambda: switch(SHELF, "v1")),
        pytest.raises(CorpusError, match="another process has made a version current"),
    ):
        switch(SHELF, "v2")

    assert current(SHELF) == f"{SHELF}/v1"


@pytest.mark.usefixtures("shelf")
def test_what_stops_a_prune_is_named_as_it_lies_in_the_bucket():
    Bucket(f"{SHELF}/v2").put("run.json", b"{}")

    with pytest.raises(CorpusError, match=rf"^{SHELF}/v2/run\.json: damaged"):
        prune(SHELF, keep=1)


@pytest.mark.usefixtures("shelf")
def test_who_is_about_to_make_a_version_current_that_was_removed_is_warned():
    with (
        before_write_of("history.json", lambda: prune(SHELF, keep=1)),
        pytest.raises(CorpusError, match="v1: was removed"),
    ):
        switch(SHELF, "v1")

    assert current(SHELF) == f"{SHELF}/v3"
    verify(stage(current(SHELF)))


@pytest.mark.usefixtures("shelf")
def test_what_others_made_current_meanwhile_is_not_removed():
    with (
        before_write_of("current", lambda: switch(SHELF, "v1")),
        pytest.raises(CorpusError, match=r"v1: another process .* Nothing was removed"),
    ):
        prune(SHELF, keep=1)

    assert version_names(SHELF) == ["v2", "v3", "v1"]


@pytest.mark.usefixtures("shelf")
def test_a_prune_does_not_disturb_who_publishes(five):
    with before_write_of("current", lambda: prune(SHELF, keep=1)):
        publish(five / "run4", SHELF, version="v4")

    assert current(SHELF) == f"{SHELF}/v4"


@pytest.fixture
def people(bucket, tmp_path):
    """Publish the store of the tests of forgetting in a bucket; wiki/v2 is current."""
    here = made_store(tmp_path)
    for version in ("v1", "v2"):
        publish(here / "wiki" / version, f"{STORE}/wiki", version=version)
    publish(here / "vocab" / "1", f"{STORE}/vocab", version="1")
    return bucket.folder / "onoma"


def test_a_document_is_gone_from_every_version_and_from_all_bytes(people):
    assert any(b"klwiki:2" in file.read_bytes() for file in files_in(people / "store"))

    said = list(
        forget(STORE, documents=["klwiki:2"], entities=["klwiki:x"], why="case 7", today=TODAY)
    )

    assert version_names(f"{STORE}/wiki") == ["v1.1", "v2.1"]
    assert current(f"{STORE}/wiki") == f"{STORE}/wiki/v2.1"
    for version in ("v1.1", "v2.1"):
        assert ids_in(verified(f"{STORE}/wiki/{version}")) == ["klwiki:1"]
    assert said == [
        f"{STORE}/wiki/v1: documents 1 taken out",
        f"{STORE}/wiki/v1: is {STORE}/wiki/v1.1 now",
        f"{STORE}/wiki/v2: documents 1 taken out",
        f"{STORE}/wiki/v2: is {STORE}/wiki/v2.1 now",
        "WARNING klwiki:x: no version holds this entity; see how onoma show spells the id",
        f"WARNING {STORE}/vocab/1: was made of it; make it again, publish it, and prune",
        f"next  give --forgotten {STORE}/forgotten.json to the pipelines that make new versions",
    ]
    noted, _ = json.loads(Bucket(STORE).read("forgotten.json").data)["forgotten"]
    assert (noted["why"], noted["asked"], noted["done"]) == ("case 7", TODAY, TODAY)
    assert not any(b"klwiki:2" in file.read_bytes() for file in files_in(people / "store"))

    again = list(forget(STORE, documents=["klwiki:1", "klwiki:2"], today=TODAY))

    assert again[1].endswith("wiki/v1.2 now")
    assert not [line for line in again if "no version holds this" in line]


def test_what_a_killed_forget_has_left_goes_when_more_is_to_be_forgotten(people):
    with before_write_of("current", die), pytest.raises(Killed):
        list(forget(STORE, documents=["klwiki:2"], today=TODAY))
    assert version_names(f"{STORE}/wiki") == ["v1.1", "v1", "v2"]

    list(forget(STORE, documents=["klwiki:1"], today=TODAY))

    assert version_names(f"{STORE}/wiki") == ["v1.2", "v2.1"]
    assert not any(b"klwiki:1" in file.read_bytes() for file in files_in(people / "store/wiki"))


@pytest.mark.usefixtures("people")
def test_a_version_that_somebody_removes_while_it_is_made_does_not_become_current():
    with (
        before_write_of("history.json", lambda: remove(Bucket(f"{STORE}/wiki"), ["v1.1"])),
        pytest.raises(CorpusError, match=r"v1\.1: another process has removed it"),
    ):
        list(forget(STORE, documents=["klwiki:2"], today=TODAY))


def die():
    raise Killed


def files_in(folder):
    return [path for path in folder.rglob("*") if path.is_file()]


def verified(version):
    folder = stage(version)
    verify(folder)
    return folder


@pytest.mark.usefixtures("people")
def test_what_was_forgotten_is_not_published_again(tmp_path):
    list(forget(STORE, documents=["klwiki:2"], today=TODAY))

    with pytest.raises(CorpusError, match=rf"documents 1.*--forgotten {STORE}/forgotten.json"):
        publish(tmp_path / "v1", f"{STORE}/wiki", version="v3")


@pytest.mark.parametrize(
    ("name", "match", "made"),
    [(".begun-v3", "is to be forgotten", set()), ("current", "was removed", {"v3.1"})],
)
def test_what_is_published_while_somebody_forgets_is_seen_by_one_of_both(
    people, tmp_path, *, name, match, made
):
    def forgetting():
        list(forget(STORE, documents=["klwiki:2"], today=TODAY))

    with before_write_of(name, forgetting), pytest.raises(CorpusError, match=match):
        publish(tmp_path / "v1", f"{STORE}/wiki", version="v3")

    assert set(version_names(f"{STORE}/wiki")) == {"v1.1", "v2.1"} | made
    assert current(f"{STORE}/wiki") == f"{STORE}/wiki/v2.1"
    assert not any(b"klwiki:2" in file.read_bytes() for file in files_in(people / "store"))


@pytest.mark.usefixtures("people")
def test_a_folder_that_is_no_store_is_refused():
    with pytest.raises(UsageError, match=f"Name the store: {STORE}"):
        list(forget(f"{STORE}/wiki", documents=["x"], today=TODAY))
    with pytest.raises(UsageError, match="name what"):
        list(forget(STORE, today=TODAY))
    assert main(["prune", "s3://onoma"]) == 2


@pytest.mark.parametrize(("kind", "step"), [("prune", 9), ("forget", 40)])
def test_killed_at_any_request_the_store_is_right_and_the_same_command_ends_it(people, kind, step):
    commands = {
        "prune": lambda store: prune(f"{store}/wiki", keep=1),
        "forget": lambda store: list(forget(store, documents=["klwiki:2"], today=TODAY)),
    }
    number, is_killed = 0, True
    while is_killed:
        number += step
        name = f"store-{kind}-{number}"
        shutil.copytree(people / "store", people / name)  # with the attributes of the server
        store = f"s3://onoma/{name}"
        try:
            with killed_at(number):
                commands[kind](store)
            is_killed = False
        except Killed:
            names = version_names(f"{store}/wiki")
            assert current(f"{store}/wiki").rpartition("/")[2] in names
            for version in names:
                verify(stage(f"{store}/wiki/{version}"))
        commands[kind](store)

        left = {path.name for path in (people / name / "wiki").iterdir() if path.is_dir()}
        assert left == set(version_names(f"{store}/wiki"))
        if kind == "prune":
            assert left == {"v2"}
        else:
            assert len(left) == 2
            assert {"done": TODAY}.items() <= noted_in(store).items()
            assert not any(b"klwiki:2" in path.read_bytes() for path in files_in(people / name))

    assert number > 15


def noted_in(store):
    [row] = json.loads(Bucket(store).read("forgotten.json").data)["forgotten"]
    return row
