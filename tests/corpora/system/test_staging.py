"""Copies of what lies in a bucket are what was listed, or an error."""

import pytest

from corpora.errors import CorpusError, DamagedDatasetError, InputChangedError, UsageError
from corpora.system.buckets import Bucket
from corpora.system.staging import beside, bring, bring_version, ensure, find, stage

pytestmark = pytest.mark.usefixtures("bucket")
URL = "s3://onoma/a/text"


def test_an_address_where_nothing_is_says_so():
    with pytest.raises(CorpusError, match="no such object, nor a folder"):
        stage("s3://onoma/nothing")


@pytest.mark.parametrize("content", [b"{", b"\xff", b'{"shards": [{}]}', b'{"shards": 3}'])
def test_a_damaged_description_is_named(content):
    Bucket("s3://onoma/a").put("dataset.json", content)

    with pytest.raises(DamagedDatasetError, match=r"a/dataset\.json: damaged"):
        stage("s3://onoma/a")


def test_nothing_is_written_beside_a_copy():
    Bucket("s3://onoma/a").put("text", b"listed")

    with pytest.raises(UsageError, match=f"{URL}: would be written into a bucket"):
        beside(stage(URL))


def test_an_object_that_changes_after_it_was_listed_is_no_input():
    folder = Bucket("s3://onoma/a")
    folder.put("text", b"listed")
    [(_, path)] = find(URL)[0].items()
    listed = folder.find("text")
    folder.put("text", b"longer than listed")

    with pytest.raises(CorpusError, match=f"{URL}: has changed while it was read"):
        ensure(path)
    with pytest.raises(InputChangedError, match=f"{URL}: has changed since the run began"):
        bring_version(URL, version=listed.etag, size=listed.size)
    with pytest.raises(DamagedDatasetError, match=f"{URL}: has other bytes than were planned"):
        bring(URL, sha256="0" * 64)
    assert not path.exists()
