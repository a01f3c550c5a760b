import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from corpora.errors import CorpusError, UsageError
from corpora.system.buckets import Bucket, is_url, open_store
from tests.bucket_server import BucketServer

pytestmark = pytest.mark.usefixtures("bucket")


def race(bucket, *, seen, n=50):
    """Let n writers write one object at once; returns those who won."""

    def write(writer):
        return bucket.replace("one", b"of " + writer.encode(), seen=seen, writer=writer)

    writers = [str(number) for number in range(n)]
    with ThreadPoolExecutor(n) as pool:
        won = pool.map(write, writers)
    return [writer for writer, has_won in zip(writers, won, strict=True) if has_won]


def test_of_fifty_who_create_an_object_at_once_one_wins():
    folder = Bucket("s3://onoma/race")

    [winner] = race(folder, seen="")

    assert folder.read("one").data == b"of " + winner.encode()


def test_of_fifty_who_replace_an_object_at_once_one_wins():
    folder = Bucket("s3://onoma/race")
    folder.put("one", b"before")

    [winner] = race(folder, seen=folder.read("one").etag)

    assert folder.read("one").data == b"of " + winner.encode()


def test_an_object_that_is_gone_is_not_replaced():
    folder = Bucket("s3://onoma/race")
    folder.put("one", b"before")
    seen = folder.read("one").etag
    folder.delete(["one"])

    assert not folder.replace("one", b"after", seen=seen, writer="me")


def test_a_writer_whose_answer_was_lost_has_won():
    folder = Bucket("s3://onoma/race")
    folder.replace("one", b"mine", seen="", writer="me")

    assert folder.replace("one", b"mine", seen="", writer="me")
    assert not folder.replace("one", b"mine", seen="", writer="you")


def test_names_are_relative_to_the_folder():
    Bucket("s3://onoma/a/b").put("c/d.txt", b"1")
    Bucket("s3://onoma/a").put("bc.txt", b"2")

    assert [found.name for found in Bucket("s3://onoma/a/").list()] == ["b/c/d.txt", "bc.txt"]
    assert [found.name for found in Bucket("s3://onoma/a").list("b/c/")] == ["b/c/d.txt"]
    assert Bucket("s3://onoma").read("a/bc.txt").data == b"2"
    assert Bucket("s3://onoma").read("nothing") is None


def test_a_server_that_is_gone_is_named_when_patience_is_over(bucket: BucketServer, monkeypatch):
    folder = Bucket("s3://onoma/a")
    monkeypatch.setenv("ONOMA_BUCKET_SECONDS", "0.5")
    bucket.kill()

    with pytest.raises(CorpusError, match=r"^s3://onoma/a/one: .*same command resumes"):
        folder.put("one", b"1")


def test_wrong_credentials_are_named_at_once(monkeypatch):
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "wrong")

    with pytest.raises(CorpusError, match="credentials in the environment"):
        Bucket("s3://onoma/a").list()


def test_an_expired_token_is_named_at_once(monkeypatch):
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-yesterday")
    folder = Bucket("s3://onoma/a")

    for ask in (folder.list, lambda: folder.read("b"), lambda: folder.put("b", b"1")):
        with pytest.raises(CorpusError, match=r"InvalidToken \(The provided token .*invalid\)\."):
            ask()
    with pytest.raises(CorpusError, match="400 Bad Request"):
        folder.find("b")


def test_a_missing_bucket_is_named_at_once():
    folder = Bucket("s3://nowhere/a")

    for ask in (folder.list, lambda: folder.read("b"), lambda: folder.put("b", b"1")):
        with pytest.raises(CorpusError, match=r"nowhere/a/b?: .*(NoSuchBucket|no such bucket)"):
            ask()


def test_an_endpoint_without_a_scheme_is_an_error(monkeypatch):
    monkeypatch.setenv("AWS_ENDPOINT_URL", "127.0.0.1:9000")
    open_store.cache_clear()

    with pytest.raises(UsageError, match="AWS_ENDPOINT_URL: must begin"):
        Bucket("s3://onoma/a")


@pytest.mark.parametrize("kind", ["s3", "gs", "az"])
def test_without_credentials_no_cloud_is_asked_for_those_of_its_machine(
    kind, monkeypatch, tmp_path
):
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_NAME", "onoma")
    open_store.cache_clear()

    with pytest.raises(UsageError, match="no credentials in the environment"):
        Bucket(f"{kind}://onoma/a")

    monkeypatch.setenv("ONOMA_MACHINE_CREDENTIALS", "1")
    Bucket(f"{kind}://onoma/a")


@pytest.mark.parametrize(
    ("urls", "message"),
    [
        (["/data/a", "s3://", "s3:///a", "https://onoma/a"], "is no address of a bucket"),
        (["s3://onoma/a//b", "gs://onoma/../b", "az://onoma/."], "dots as a part"),
        (["s3://onoma/a\tb", "s3://onoma/a\x7f"], "control character"),
    ],
)
def test_what_is_no_address_of_a_bucket_is_refused(urls, message):
    for url in urls:
        with pytest.raises(UsageError, match=message):
            Bucket(url)


def test_an_object_that_is_not_there_has_no_hash():
    with pytest.raises(FileNotFoundError, match="No such object: 's3://onoma/a/nothing'"):
        Bucket("s3://onoma/a").sha256("nothing")


def test_patience_is_a_number_of_seconds(monkeypatch):
    monkeypatch.setenv("ONOMA_BUCKET_SECONDS", "long")

    with pytest.raises(UsageError, match="ONOMA_BUCKET_SECONDS=long: is no number"):
        Bucket("s3://onoma/a").list()


def test_without_the_package_for_buckets_its_name_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "obstore.store", None)
    open_store.cache_clear()

    with pytest.raises(UsageError, match=r"pip install 'onoma\[buckets\]'"):
        Bucket("s3://onoma/a")


def test_other_addresses_are_refused():
    assert is_url("s3://onoma/a")
    assert not is_url("/data/a")
    with pytest.raises(UsageError, match="ftp://onoma/a: is no path"):
        is_url("ftp://onoma/a")
