"""A person's data, taken out of all versions of a store."""

import json

import pyarrow as pa
import pytest

from corpora.datasets.forgetting import UNREAD, Forgetting, hash_of
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset
from corpora.errors import CorpusError, UsageError
from corpora.runs.plan import fingerprint_of
from corpora.store.__main__ import main
from corpora.store.forgetting import FORGOTTEN, forget
from corpora.store.inspection import verify
from corpora.store.retention import needed_by
from corpora.store.versions import publish
from corpora.system.files import sha256_of
from tests.corpora.diff.two_versions import document, write_rows
from tests.corpora.store.stored_runs import make, text_of
from tests.datasets import document_to_row

TODAY = "2026-11-23"


@pytest.fixture
def store(tmp_path):
    return made_store(tmp_path)


def made_store(tmp_path):
    """Make a store with two versions of a wiki and a vocabulary of it.

    Each version has two documents in two shards.
    """
    documents = [document(n, links=2) for n in (1, 2)]
    for version in ("v1", "v2"):
        rows = [document_to_row(one) for one in documents]
        folder = write_rows(tmp_path / version, "documents", rows)
        _complete(folder)
        publish(folder, tmp_path / "store" / "wiki", version=version)
    shards = [{"sha256": shard.sha256} for shard in open_dataset(folder).shards]
    entity = {"entity": "klwiki:0", "title": "0", "count": 2, "retired": False}
    rows = [{"id": id, **entity, "counts": [], "aliases": []} for id in (0, 1)]
    rows[1]["entity"] = "klwiki:1"
    folder = write_rows(tmp_path / "vocab", "entities", rows)
    _complete(folder, inputs=shards)
    publish(folder, tmp_path / "store" / "vocab", version="1")
    return tmp_path / "store"


def _complete(folder, **plan):
    """Add what ``verify`` asks of a dataset beyond its shards."""
    (folder / "rejected.jsonl").write_text("")
    said = json.loads((folder / "dataset.json").read_text())
    plan = {"parameters": {"name": folder.name}, **plan}
    said["plan"] = {**plan, "fingerprint": fingerprint_of(plan)}
    (folder / "dataset.json").write_text(json.dumps(said))


def ids_in(version):
    return [row["id"] for row in open_dataset(version).rows()]


def test_a_document_is_gone_from_every_version_and_the_rest_stays(store):
    kept = [sha256_of(store / "wiki" / v / "shard-00000.arrow") for v in ("v1", "v2")]

    list(forget(store, documents=["klwiki:2"], why="case 7", today=TODAY))

    for version, sha256 in zip(("v1", "v2"), kept, strict=True):
        assert ids_in(store / "wiki" / version) == ["klwiki:1"]
        assert sha256_of(store / "wiki" / version / "shard-00000.arrow") == sha256
        verify(store / "wiki" / version)
    [noted] = json.loads((store / FORGOTTEN).read_text())["forgotten"]
    assert (noted["why"], noted["asked"], noted["done"]) == ("case 7", TODAY, TODAY)
    assert "klwiki" not in (store / FORGOTTEN).read_text()


@pytest.mark.parametrize("lost", ["current", "history.json"])
def test_a_shelf_that_has_no_current_version_yet_is_looked_through_too(store, lost):
    (store / "wiki" / lost).unlink()

    list(forget(store, documents=["klwiki:2"], today=TODAY))

    assert ids_in(store / "wiki" / "v1") == ids_in(store / "wiki" / "v2") == ["klwiki:1"]


def test_an_entity_has_no_mention_left_and_no_name_in_the_vocabulary(store):
    list(forget(store, entities=["klwiki:0"], today=TODAY))

    for row in open_dataset(store / "wiki" / "v1").rows():
        assert [mention["entity"] for mention in row["mentions"]] == ["klwiki:1"]
        assert row["text"] == "Ein Text."
    first, second = open_dataset(store / "vocab" / "1").rows()
    assert (first["id"], first["entity"], first["retired"]) == (0, "[forgotten 0]", True)
    assert second["entity"] == "klwiki:1"
    verify(store / "vocab" / "1", rows=True)


def test_an_id_that_no_version_holds_is_named_when_it_is_first_asked_for(store):
    asked = {"documents": ["klwiki:1", "klwiki:l"], "entities": ["klwiki:1"], "today": TODAY}

    first, again = list(forget(store, **asked)), list(forget(store, **asked))

    warning = "WARNING klwiki:l: no version holds this document; see how onoma show spells the id"
    assert [line for line in first if "no version" in line] == [warning]
    assert warning not in again


def test_it_says_what_was_made_of_it_and_must_be_made_again(store):
    said = "\n".join(forget(store, documents=["klwiki:1"], today=TODAY))

    assert f"WARNING {store / 'vocab' / '1'}: was made of it" in said
    assert "wiki/v1: documents 1 taken out" in said


def test_what_was_made_of_the_rest_since_need_not_be_made_again(store, tmp_path):
    list(forget(store, documents=["klwiki:2"], today=TODAY))
    shards = [{"sha256": shard.sha256} for shard in open_dataset(store / "wiki" / "v1").shards]
    made = write_rows(tmp_path / "since", "entities", [])
    _complete(made, inputs=shards)
    publish(made, store / "vocab", version="2")

    said = "\n".join(forget(store, documents=["klwiki:2"], today=TODAY))

    assert str(store / "vocab" / "2") not in said


def test_of_a_version_on_another_disk_the_data_that_stays_there_is_named(store, tmp_path):
    (store / "wiki" / "v1").rename(tmp_path / "disk")
    (store / "wiki" / "v1").symlink_to(tmp_path / "disk")
    (store / "wiki" / "stable").symlink_to("v2")

    said = list(forget(store, documents=["klwiki:2"], today=TODAY))

    assert f"WARNING {tmp_path / 'disk'}: the data as it was; remove it" in said
    assert str(said).count("the data as it was") == 1
    assert ids_in(store / "wiki" / "v1") == ["klwiki:1"]


def test_a_version_is_still_found_by_the_hashes_that_it_had(store, tmp_path):
    run = tmp_path / "model"
    run.mkdir()
    sha256 = open_dataset(store / "wiki" / "v1").description["shards"][1]["sha256"]
    (run / "settings.json").write_text(json.dumps({"data": sha256}))

    list(forget(store, documents=["klwiki:2"], today=TODAY))

    assert (store / "wiki" / "v2").resolve() in needed_by([run], store)


def test_what_was_forgotten_is_not_published_again(store, tmp_path):
    list(forget(store, documents=["klwiki:2"], today=TODAY))

    with pytest.raises(CorpusError, match=r"documents 1.*--forgotten"):
        publish(tmp_path / "v1", store / "wiki", version="v3")


@pytest.mark.parametrize(
    "text",
    [
        *("", "[]", "{}", "null", '{"forgotten": null}', '{"forgotten": ["x"]}'),
        '{"forgotten": [{"why": "request 7"}]}',
        '{"forgotten": [{"sha256": "0123abc", "done": null}]}',
    ],
)
def test_a_list_that_was_edited_is_named_and_stays_as_it_is(text, store, tmp_path, capsys):
    (store / FORGOTTEN).write_text(text)

    for arguments in (
        ["forget", str(store), "--documents", "klwiki:2"],
        ["publish", str(tmp_path / "v1"), str(store / "wiki"), "--version", "v3"],
    ):
        assert main(arguments) == 2
        assert f"{FORGOTTEN}: not a list of what is to be forgotten" in capsys.readouterr().err
    assert (store / FORGOTTEN).read_text() == text


def test_a_request_that_somebody_noted_by_hand_is_done(store):
    rows = [{"sha256": hash_of("document", "klwiki:2")}]
    (store / FORGOTTEN).write_text(json.dumps({"forgotten": rows}))

    list(forget(store, today=TODAY))

    assert ids_in(store / "wiki" / "v1") == ["klwiki:1"]
    [noted] = json.loads((store / FORGOTTEN).read_text())["forgotten"]
    assert noted["done"] == TODAY


def test_side_files_of_rows_that_changed_go(tmp_path):
    shelf = tmp_path / "store" / "klwiki"
    publish(make(tmp_path / "run", "Ada Lem."), shelf, version="v1")

    said = list(forget(tmp_path / "store", entities=["klwiki:0"], today=TODAY))

    assert not (shelf / "v1" / "report.md").exists()
    assert any("report.md" in line for line in said)
    assert text_of(shelf / "v1") == "Ada Lem."
    verify(shelf / "v1")


def test_a_folder_that_is_no_store_is_refused(store):
    with pytest.raises(UsageError, match="Name the store"):
        list(forget(store / "wiki", documents=["x"], today=TODAY))
    with pytest.raises(UsageError, match="name what"):
        list(forget(store, today=TODAY))


def batch_of(schema, *rows):
    return pa.RecordBatch.from_pylist(list(rows), schema=SCHEMAS[schema].columns)


def test_pages_whose_mentions_went_are_read_again_and_redirects_to_a_person_go():
    forgetting = Forgetting.of([hash_of("entity", "klwiki:0"), hash_of("document", "klwiki:2")])
    documents = batch_of(
        "documents", *[document_to_row(document(n, links=n - 1)) for n in (1, 2, 3)]
    )
    notes = {"xml": "1" * 32, "characters": 9, "counters": []}
    reuse = batch_of("reuse", *[{"id": f"klwiki:{n}", **notes} for n in (1, 2, 3)])
    redirects = batch_of(
        "redirects",
        {"id": "klwiki:8", "title": "Null", "target": "0", "resolved": "0"},
        {"id": "klwiki:9", "title": "Eins", "target": "1", "resolved": "1"},
    )

    assert forgetting.clean(documents, "documents").column("id").to_pylist() == [
        "klwiki:1",
        "klwiki:3",
    ]
    left = forgetting.clean(reuse, "reuse")
    assert left.column("xml").to_pylist() == ["1" * 32, UNREAD]
    assert forgetting.clean(redirects, "redirects").column("id").to_pylist() == ["klwiki:9"]


def test_a_mention_of_several_persons_goes_with_one_of_them_but_a_title_is_one_name():
    forgetting = Forgetting.of([hash_of("entity", name) for name in ("letters:p2", "dawiki:Ada")])
    entities = ["letters:p1 letters:p2", "letters:p1", "dawiki:Ada Lem"]
    row = document_to_row(document(1, links=3))
    for mention, entity in zip(row["mentions"], entities, strict=True):
        mention["entity"] = entity

    [left] = forgetting.clean(batch_of("documents", row), "documents").to_pylist()

    assert [mention["entity"] for mention in left["mentions"]] == entities[1:]


def test_a_batch_that_holds_nothing_of_it_stays_the_same_object():
    forgetting = Forgetting.of([hash_of("entity", "klwiki:7")])
    documents = batch_of("documents", document_to_row(document(1)))

    assert forgetting.clean(documents, "documents") is documents
