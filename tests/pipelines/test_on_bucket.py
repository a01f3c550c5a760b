"""Pipelines whose inputs and output are in a bucket."""

import hashlib
import json
import os
import subprocess
import threading
from pathlib import Path

import pyarrow as pa
import pytest

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset
from corpora.errors import CorpusError
from corpora.ner import convert
from corpora.runs import on_bucket as on_bucket_run
from corpora.runs.plan import Plan, Unit, describe_files, find_inputs
from corpora.runs.work_directory import WorkDirectory
from corpora.store import __main__ as store
from corpora.store import catalogue, inspection, on_bucket
from corpora.store.inspection import verify
from corpora.system import buckets, staging
from corpora.system.buckets import Bucket
from corpora.system.staging import stage
from pipelines import tei_to_ner, wikipedia_to_documents
from pipelines.graph import Run
from pipelines.outcomes import Rows
from pipelines.transforms.shards import UnitWriter, WriteShards
from tests.bucket_faults import FaultyProxy, in_copy
from tests.bucket_server import BucketServer

pytestmark = pytest.mark.usefixtures("bucket", "without_runner")
ROOT = Path(__file__).resolve().parents[2]
LETTERS = ROOT / "tests" / "data" / "letters"
OUTPUT = "s3://onoma/build/letters"


def put_letters(*, n=8):
    folder = Bucket("s3://onoma/letters")
    for path in sorted(LETTERS.glob("*.xml"))[:n]:
        folder.put(path.name, path)
    folder.put("edition.toml", LETTERS / "edition.toml")


def tei(*options, output=OUTPUT, inputs="s3://onoma/letters/*.xml", edition=None):
    edition = edition or "s3://onoma/letters/edition.toml"
    return ["--input", inputs, "--edition", edition, "--output", str(output), *options]


def test_an_edition_in_a_bucket_is_planned_without_reading_it(tmp_path, monkeypatch):
    put_letters(n=4)
    monkeypatch.delattr(Bucket, "download")

    options = tei_to_ner.Options(input=("s3://onoma/letters/*.xml",), output=tmp_path)
    plan = tei_to_ner.plan(options)

    assert [file.sha256 for file in plan.inputs] == [""] * 4


def local_tei(tmp_path, *options):
    """Make the same run with paths of this machine."""
    folder = tmp_path / "letters"
    folder.mkdir(exist_ok=True)
    for found in Bucket("s3://onoma/letters").list():
        Bucket("s3://onoma/letters").download(found.name, folder / found.name)
    command = tei(
        *options,
        output=tmp_path / "local",
        inputs=str(folder / "*.xml"),
        edition=str(folder / "edition.toml"),
    )
    assert tei_to_ner.main(command) == 0
    return tmp_path / "local"


def hashes(folder):
    """Return the SHA-256 of what a run has published, by the name in a local run."""
    files = json.loads((folder / "run.json").read_text())["files"]
    named = {}
    for name in files:
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        parts = name.removesuffix(".arrow").split("-")
        plain = "-".join(parts[:2]) + ".arrow" if name.endswith(".arrow") else name
        if not name.endswith("dataset.json"):  # which has the names of shards
            named[plain] = digest
    return named


def published(output=OUTPUT):
    """Download what was published, and check every hash."""
    folder = stage(output)
    verify(folder)
    return hashes(folder)


def test_a_run_on_a_bucket_gives_the_bytes_of_a_local_run(tmp_path):
    put_letters()

    assert tei_to_ner.main(tei()) == 0

    assert published() == hashes(local_tei(tmp_path))


def test_two_workers_write_the_same_into_a_bucket(tmp_path, monkeypatch):
    put_letters()
    monkeypatch.setattr("corpora.runs.plan.UNIT_BYTES", 1)

    assert tei_to_ner.main(tei("--workers", "2")) == 0

    assert published() == hashes(local_tei(tmp_path))


def test_nothing_of_a_run_is_left_on_this_machine_but_what_was_read(tmp_path):
    put_letters()
    tei_to_ner.main(tei())

    runs = [path for path in (tmp_path / "cache" / "runs").iterdir() if path.is_dir()]
    assert runs == []


def test_what_is_complete_is_not_made_again(capsys):
    put_letters()
    tei_to_ner.main(tei())
    before = Bucket(OUTPUT).list()

    assert tei_to_ner.main(tei()) == 0

    assert "already complete" in capsys.readouterr().out
    assert Bucket(OUTPUT).list() == before


def test_a_complete_wikipedia_is_not_made_again(capsys):
    dump = ROOT / "tests" / "data" / "wikipedia" / "kleinwiki-20261101-pages-articles.xml"
    command = ["--input", str(dump), "--output", "s3://onoma/build/dawiki"]
    assert wikipedia_to_documents.main(command) == 0

    assert wikipedia_to_documents.main(command) == 0

    assert "s3://onoma/build/dawiki: already complete" in capsys.readouterr().out


def test_another_plan_replaces_what_is_there_and_readers_keep_their_shards():
    put_letters(n=4)
    tei_to_ner.main(tei())
    old = {found.name for found in Bucket(OUTPUT).list("ner/shard-")}
    put_letters()

    assert tei_to_ner.main(tei()) == 0

    new = {found.name for found in Bucket(OUTPUT).list("ner/shard-")}
    assert old < new
    assert len(open_dataset(f"{OUTPUT}/documents").shards) == 1
    assert open_dataset(f"{OUTPUT}/documents").n_rows == 8


def test_a_damaged_shard_is_made_again():
    put_letters()
    tei_to_ner.main(tei())
    before = published()
    [shard] = Bucket(OUTPUT).list("ner/shard-")
    Bucket(OUTPUT).put(shard.name, b"damaged")

    assert tei_to_ner.main(tei()) == 0

    assert published() == before


def test_a_folder_that_no_run_made_stays_as_it_is(capsys):
    put_letters()
    Bucket(OUTPUT).put("card.md", b"mine")

    assert tei_to_ner.main(tei()) == 1

    assert f"{OUTPUT}/card.md: was not made by a run" in capsys.readouterr().err
    assert Bucket(OUTPUT).read("card.md").data == b"mine"


def test_an_output_is_no_input(capsys):
    put_letters()
    tei_to_ner.main(tei())

    assert tei_to_ner.main(tei(inputs=f"{OUTPUT}/*.json")) == 2
    assert "is an output of an earlier run" in capsys.readouterr().err


def test_a_pattern_that_means_nothing_is_named(capsys):
    put_letters()

    assert tei_to_ner.main(tei(inputs="s3://onoma/latters/*.xml")) == 2
    assert "s3://onoma/latters/*.xml: matches no file" in capsys.readouterr().err


def test_of_two_launchers_at_once_one_wins_and_one_says_so(monkeypatch, capsys):
    put_letters()
    seen = []

    def other_first(build, settings):
        if not seen:
            seen.append(build)
            assert tei_to_ner.main(tei("--seed", "2")) == 0
            capsys.readouterr()
        return write_side_files(build, settings)

    write_side_files = tei_to_ner.write_side_files
    monkeypatch.setattr(tei_to_ner, "write_side_files", other_first)

    assert tei_to_ner.main(tei()) == 1

    assert "another run has published here since" in capsys.readouterr().err
    monkeypatch.undo()


def test_two_processes_at_once_leave_one_right_dataset(warm_python, tmp_path):
    put_letters()
    command = [warm_python, "-m", "pipelines.tei_to_ner"]
    runs = [
        subprocess.Popen(
            [*command, *tei("--seed", seed)], cwd=ROOT, stderr=subprocess.PIPE, text=True
        )
        for seed in ("1", "2")
    ]
    errors = [run.communicate()[1] for run in runs]

    assert not all(run.returncode for run in runs), errors
    made = published()

    lost = [error for run, error in zip(runs, errors, strict=True) if run.returncode]
    assert len(lost) <= 1  # none, where one began after the other had ended
    assert all("another run has published here since" in error for error in lost)
    assert made in [hashes(local_tei(tmp_path, "--seed", seed)) for seed in ("1", "2")]


def test_an_object_that_two_processes_copy_at_once_has_not_changed():
    put_letters(n=1)
    [file] = describe_files(find_inputs(["s3://onoma/letters/*.xml"]))

    Path(file.path).unlink()  # as if the other process had copied it again, under the first copy
    [again] = describe_files(find_inputs(["s3://onoma/letters/*.xml"]))

    assert again.changed == file.changed
    file.check()


def test_kills_of_launcher_worker_and_server_leave_right_data(warm_python):
    command = [warm_python, "-m", "tests.bucket_faults", "12"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)

    assert done.returncode in {0, 1}, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["violations"] == []
    assert min(found["hits"].values()) >= 3


def test_answers_that_are_late_cut_or_lost_or_errors_change_no_byte(
    bucket: BucketServer, tmp_path, monkeypatch
):
    put_letters()
    expected = hashes(local_tei(tmp_path))
    proxy = FaultyProxy(bucket.port, seed=1)
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{proxy.port}")
    buckets.open_store.cache_clear()
    n_runs = 0

    while proxy.faults.total() < 20 and n_runs < 10:
        n_runs += 1
        assert tei_to_ner.main(tei(output=f"{OUTPUT}-{n_runs}")) == 0

    proxy.close()
    assert proxy.faults.keys() == {"late", "cut", "lost", "5xx"}
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{bucket.port}")
    buckets.open_store.cache_clear()
    for number in range(1, n_runs + 1):
        assert published(f"{OUTPUT}-{number}") == expected


def test_a_store_in_a_bucket_has_versions_one_of_which_is_current(capsys):
    shelf = "s3://onoma/store/letters"
    put_letters(n=4)
    tei_to_ner.main(tei())
    assert store.main(["publish", OUTPUT, shelf, "--version", "1"]) == 0
    put_letters()
    tei_to_ner.main(tei())

    assert store.main(["publish", OUTPUT, shelf, "--version", "2"]) == 0
    assert store.main(["publish", OUTPUT, shelf, "--version", "1"]) == 1
    assert "holds other data" in capsys.readouterr().err

    store.main(["current", shelf])
    assert capsys.readouterr().out == f"{shelf}/2\n"
    assert open_dataset(f"{shelf}/2/documents").n_rows == 8
    assert store.main(["switch", shelf, "1"]) == 0
    store.main(["list", shelf])
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()[1:]] == ["2", "1"]
    assert open_dataset(f"{shelf}/1/documents").n_rows == 4


def test_of_two_that_publish_into_a_store_at_once_one_is_current(monkeypatch, capsys):
    shelf = "s3://onoma/store/letters"
    put_letters()
    tei_to_ner.main(tei())
    make_current = on_bucket._make_current

    def other_first(bucket, version, *, seen):
        make_current(bucket, "other", seen=seen)
        make_current(bucket, version, seen=seen)

    with monkeypatch.context() as patched:
        patched.setattr(on_bucket, "_make_current", other_first)
        assert store.main(["publish", OUTPUT, shelf, "--version", "1"]) == 1

    assert "another process has made a version current" in capsys.readouterr().err


def test_what_is_trained_is_written_to_this_machine(capsys):
    with pytest.raises(SystemExit) as ended:
        convert.main(["build/ner", "--to", "hf", "--output", "s3://onoma/build/hf"])

    assert ended.value.code == 2
    assert "s3://onoma/build/hf: must be a folder of this machine" in capsys.readouterr().err


def test_what_is_in_a_bucket_is_verified_and_published_into_a_store(tmp_path):
    put_letters()
    tei_to_ner.main(tei())

    assert store.main(["publish", OUTPUT, str(tmp_path / "store"), "--version", "1"]) == 0

    assert verify(tmp_path / "store" / "1")


def test_a_folder_where_nothing_is_published_yet_is_no_dataset():
    Bucket(OUTPUT).put("ner/shard-00000-0123456789abcdef.arrow", b"")

    with pytest.raises(CorpusError, match="nothing is published there yet"):
        open_dataset(f"{OUTPUT}/ner")


@pytest.mark.parametrize("name", ["a b", "ü長", "100%", "%41", "a+b", "was?", "x#y", "a&b=c"])
def test_a_folder_in_a_bucket_may_have_any_name(name):
    put_letters(n=1)
    output = f"s3://onoma/{name}/out"

    assert tei_to_ner.main(tei(output=output)) == 0

    shelf = f"s3://onoma/store/{name}"
    assert on_bucket.publish(stage(output), shelf, version="1") == f"{shelf}/1"
    assert verify(stage(on_bucket.current(shelf)))


def test_a_bucket_itself_is_a_folder():
    for name in ("01.xml", "02.xml"):
        Bucket("s3://onoma").put(name, LETTERS / name)

    assert tei_to_ner.main(tei(inputs="s3://onoma", edition=str(LETTERS / "edition.toml"))) == 0

    assert len(open_dataset(f"{OUTPUT}/documents")) == 2


def test_one_object_is_found_without_a_listing(monkeypatch):
    put_letters(n=1)
    monkeypatch.setattr(Bucket, "list", lambda *_: pytest.fail("lists what may be millions"))

    assert stage("s3://onoma/letters/01.xml").read_bytes() == (LETTERS / "01.xml").read_bytes()


def test_messages_name_addresses_not_copies(capsys):
    put_letters(n=1)
    tei_to_ner.main(tei())
    capsys.readouterr()

    assert inspection.main(["verify", OUTPUT]) == 0
    assert inspection.main(["show", OUTPUT]) == 2
    assert inspection.main(["verify", "--json", OUTPUT]) == 0

    said = "".join(capsys.readouterr())
    assert f"{OUTPUT}: holds datasets, but is none." in said
    assert f"{OUTPUT}/documents: documents version" in said
    assert f'"path": "{OUTPUT}/ner"' in said
    assert "/folders/" not in said


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (catalogue.main, "--parquet"),
        (lambda argv: convert.main([*argv, "--to", "conll"]), "--output"),
    ],
)
def test_nothing_is_written_beside_a_copy(command, option, capsys):
    put_letters(n=1)
    tei_to_ner.main(tei())

    assert command([f"{OUTPUT}/ner"]) == 2

    said = capsys.readouterr().err
    assert "would be written into a bucket" in said
    assert option in said


def test_copies_in_use_are_kept_however_old():
    put_letters(n=1)
    tei_to_ner.main(tei())
    used = stage(f"{OUTPUT}/ner").parent
    unused = used.with_name("unused")
    for folder in (used, unused):
        folder.mkdir(exist_ok=True)
        os.utime(folder, (0, 0))
    with on_bucket_run.open_output("s3://onoma/other") as output:
        os.utime(output.mirror, (0, 0))

        assert in_copy(start_again) == 0

        assert (output.mirror.exists(), used.exists(), unused.exists()) == (True, True, False)


def start_again():
    """Do what another process does when it starts."""
    staging._held.clear()
    staging._cleared.cache_clear()
    return not staging.cache_folder().exists()


def test_inputs_are_fetched_several_at_once(monkeypatch):
    put_letters(n=4)
    arrived = threading.Barrier(4, timeout=60)
    download = Bucket.download

    def together(self, name, path, **more):
        arrived.wait()
        return download(self, name, path, **more)

    monkeypatch.setattr(Bucket, "download", together)

    found = describe_files(find_inputs(["s3://onoma/letters/*.xml"]))

    assert [file.size for file in found] == [
        path.stat().st_size for path in sorted(LETTERS.glob("*.xml"))[:4]
    ]


def test_a_worker_elsewhere_lists_no_shards(tmp_path, monkeypatch):
    address = "s3://onoma/out/.build/0123456789abcdef#here"
    planned = {"found": ["read", 3]}
    Bucket(address.partition("#")[0]).put("shards.json", json.dumps(planned).encode())
    run = Run.of(Plan("news_to_documents", {}, {}, ()), folder=address)
    step = WriteShards(run=run, datasets={"found": "news_boilerplate"}, stage="read")
    for number in range(3):
        writer = UnitWriter(step, Unit(number))
        rows = [{"unit": number, "paragraph": 7}]
        batch = pa.RecordBatch.from_pylist(rows, SCHEMAS["news_boilerplate"].columns)
        writer.add(Rows("found", batch))
        writer.close()
    written = [path.read_bytes() for path in WorkDirectory(address).shards("found")]
    monkeypatch.setenv("ONOMA_CACHE", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(Bucket, "list", lambda *_: pytest.fail("lists what may be thousands"))

    found = WorkDirectory(address).shards("found")

    assert found[0].is_relative_to(tmp_path / "elsewhere")
    assert [path.read_bytes() for path in found] == written
