"""An earlier run of this machine, for workers that see nothing but a bucket."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from corpora.runs.journal import read_run
from corpora.runs.plan import Plan
from corpora.runs.work_directory import WorkDirectory
from corpora.system.buckets import Bucket
from corpora.wikipedia.reuse_places import open_earlier
from corpora.wikipedia.reuse_shards import place_of
from pipelines.engine import describe
from pipelines.wikipedia_to_documents import carry

pytestmark = pytest.mark.usefixtures("bucket")
CARRIED = "s3://onoma/out/.build/0123456789abcdef/carried"


@dataclass(frozen=True)
class Settings:
    earlier: dict[str, str] | None


def carried(earlier):
    """Return where workers find an earlier run."""
    setting = {"folder": str(earlier), "fingerprint": read_run(earlier)["fingerprint"]}
    return carry(Settings(setting), Bucket(CARRIED)).earlier


def test_workers_elsewhere_find_its_shards_in_the_bucket(earlier):
    setting = carried(earlier)

    there, here = open_earlier(**setting), open_earlier(str(earlier), setting["fingerprint"])
    for name, dataset in here.items():
        for shard in dataset.shards:
            copy = place_of(there[name], shard)
            assert copy.read_bytes() == (dataset.path / shard.name).read_bytes()
            assert not copy.is_relative_to(earlier)


def test_shards_are_sent_once(earlier, monkeypatch):
    carried(earlier)
    sent = []
    monkeypatch.setattr(Bucket, "put", lambda _, name, __: sent.append(name))

    carried(earlier)

    assert sorted(sent) == ["documents/dataset.json", "reuse/dataset.json"]


def test_what_is_in_a_bucket_stays_there(earlier):
    setting = carried(earlier)

    assert carry(Settings(setting), Bucket(CARRIED)) == Settings(setting)


def test_without_an_earlier_run_nothing_is_sent():
    assert carry(Settings(None), Bucket(CARRIED)) == Settings(None)


def test_only_workers_elsewhere_get_other_settings():
    plan = Plan("text_to_documents", datasets={}, parameters={}, units=(), settings="own")
    work = WorkDirectory(f"{CARRIED.removesuffix('/carried')}#here")
    build = SimpleNamespace(plan=plan, work=work, address="")

    here, elsewhere = (
        describe(build, code=code, carry=lambda own, bucket: (own, bucket.url))
        for code in ("", "a version")
    )

    assert here.settings == "own"
    assert elsewhere.settings == ("own", CARRIED)
