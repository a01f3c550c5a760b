"""What is published in a bucket replaces nothing of others, whoever else writes there meanwhile."""

import pytest

from corpora.errors import CorpusError, DamagedDatasetError
from corpora.runs import on_bucket
from corpora.runs.build import hold
from corpora.runs.on_bucket import PUBLISHED, BucketOutput
from corpora.runs.work_directory import WorkDirectory
from corpora.system.buckets import Bucket
from corpora.system.writing import write_text
from tests.corpora.runs.test_build import PLAN, STAGE, UNITS, do

pytestmark = pytest.mark.usefixtures("bucket")
URL = "s3://onoma/out"


@pytest.fixture
def publish(tmp_path, monkeypatch):
    """Return what publishes a run with this report, as it finds the bucket when it is called."""
    monkeypatch.setattr(on_bucket, "_LARGE", 0)

    def made(report):
        with hold(tmp_path / report, PLAN) as build:
            for unit in UNITS:
                do(build, unit, STAGE)
                do(build, unit)
            build.publish(lambda build, _: write_text(build.side / "report.md", [report]))
        output = BucketOutput(URL, tmp_path / f"copy of {report}")
        (output.mirror / ".build").mkdir(parents=True)
        output.look()
        return lambda: output.publish(build.output)

    return made


def test_of_two_that_publish_at_once_the_first_wins(publish):
    first, second = publish("first"), publish("second")
    first()

    with pytest.raises(CorpusError, match="another run has published"):
        second()

    assert Bucket(URL).read("report.md").data == b"first"


def test_a_file_of_somebody_else_is_not_replaced(publish):
    Bucket(URL).put("report.md", b"mine")

    with pytest.raises(CorpusError, match=r"report\.md: was not made by a run"):
        publish("first")()

    assert Bucket(URL).read("report.md").data == b"mine"


def test_files_that_another_run_took_away_are_not_missed_in_silence(publish, monkeypatch):
    def replace(self, name, data, **how):
        if name == PUBLISHED:
            self.delete(found.name for found in self.list(".build/") if "/files/" in found.name)
        return write(self, name, data, **how)

    write = Bucket.replace
    monkeypatch.setattr(Bucket, "replace", replace)

    with pytest.raises(CorpusError, match="another run has published"):
        publish("first")()


def test_a_run_that_published_meanwhile_keeps_its_files(publish, monkeypatch):
    def replace(self, name, data, **how):
        if name == "run.json":
            for path in (PUBLISHED, "run.json"):
                self.put(path, b"{}")
        return write(self, name, data, **how)

    write = Bucket.replace
    monkeypatch.setattr(Bucket, "replace", replace)

    with pytest.raises(CorpusError, match="another run has published"):
        publish("first")()
    assert Bucket(URL).read("run.json").data == b"{}"


def test_the_shard_of_a_damaged_receipt_is_not_read():
    folder = Bucket(f"{URL}/.build/run")
    folder.put("shards.json", b'{"pages": ["extract", 12]}')
    folder.put("receipts/extract/00003.json", b"{")

    with pytest.raises(DamagedDatasetError, match=r"00003\.json: damaged"):
        WorkDirectory(f"{folder.url}#copy").shard("pages", 3)
