"""An earlier run of this machine, for workers that see nothing but a bucket."""

from dataclasses import replace

import pytest

from corpora.runs.journal import read_run
from corpora.runs.plan import Unit
from corpora.runs.work_directory import WorkDirectory
from corpora.system.buckets import Bucket
from corpora.wikipedia.reuse_places import open_earlier
from corpora.wikipedia.reuse_shards import place_of
from pipelines.carried import Carrier

pytestmark = pytest.mark.usefixtures("bucket")
WORK = "s3://onoma/out/.build/0123456789abcdef#here"


def carried(earlier, *, is_elsewhere=True):
    """Return the setting of a unit that travels to a worker."""
    setting = {"folder": str(earlier), "fingerprint": read_run(earlier)["fingerprint"]}
    units = [Unit(n, settings={"earlier": setting, "other": 1}) for n in range(2)]
    carry = Carrier(WorkDirectory(WORK), is_elsewhere=is_elsewhere)

    [of_first, of_second] = [carry(unit) for unit in units]

    assert of_first == replace(of_second, number=0)
    assert of_first.settings["other"] == 1
    return of_first.settings["earlier"]


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


def test_workers_on_this_machine_read_it_where_it_is(earlier):
    assert carried(earlier, is_elsewhere=False)["folder"] == str(earlier)
