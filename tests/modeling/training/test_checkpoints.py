import json
import resource

import pytest
import torch
from torch import nn

from corpora.system.writing import appearing, temporary_path
from modeling.models.weights import WeightsError
from modeling.training.checkpoints import load_weights, newest, prune, weights_of, write_checkpoint
from tests.file_operations import recorded

CONTENTS = {
    "tensors": {"model.safetensors": {"a": torch.arange(3.0)}},
    "values": {"progress.json": {"step": 1}},
}


@pytest.fixture
def folder(tmp_path):
    for step in (5, 10, 15, 20):
        write_checkpoint(tmp_path, step, **CONTENTS)
    return tmp_path


def test_what_was_written_is_read(tmp_path):
    source = tmp_path / "tokenizer"
    source.mkdir()
    (source / "vocab.txt").write_text("x")
    files = {"words.txt": source / "vocab.txt"}

    written = write_checkpoint(tmp_path / "c", 500, **CONTENTS, files=files)

    found = newest(tmp_path / "c")
    assert found == written
    assert found.path.name == "step-000500"
    assert found.tensors("model.safetensors")["a"].equal(torch.arange(3.0))
    assert found.values("progress.json") == {"step": 1}
    assert (found.path / "words.txt").read_text() == "x"
    assert found.tensors("ema.safetensors") == {}


def damage_bytes(path):
    file = path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\xff")


def cut(path):
    file = path / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-1])


def lose(path):
    (path / "progress.json").unlink()


def lose_manifest(path):
    (path / "checkpoint.json").unlink()


def break_manifest(path):
    (path / "checkpoint.json").write_text("[1")


@pytest.mark.parametrize("damage", [damage_bytes, cut, lose, lose_manifest, break_manifest])
def test_a_damaged_one_is_skipped_with_a_warning(folder, caplog, damage):
    damage(folder / "step-000020")

    found = newest(folder)

    assert found.step == 15
    assert "step-000020" in caplog.text


def test_a_half_written_one_is_not_seen_and_is_removed(folder):
    name = temporary_path(folder / "step-000025").name
    half = folder / f".tmp-7fffffff{name[13:]}"  # no process has this id
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"x")

    found = newest(folder)
    prune(folder, written=20, keep=9)

    assert found.step == 20
    assert not half.exists()


def test_a_full_disk_is_an_error_that_leaves_what_was_there(folder):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    tensors = {"model.safetensors": {"a": torch.zeros(20_000)}}
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"model\.safetensors: not written .*make room"):
            write_checkpoint(folder, 25, tensors=tensors, values={})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert newest(folder).step == 20
    assert not list(folder.glob(".*"))


def test_without_any_there_is_none(tmp_path):
    assert newest(tmp_path / "nothing") is None


def test_the_newest_are_kept_and_some_for_good(folder):
    prune(folder, written=20, keep=1, keep_every=10)

    assert sorted(path.name for path in folder.iterdir()) == ["step-000010", "step-000020"]


def test_the_one_just_written_is_kept_beside_a_later_one_that_is_damaged(folder):
    damage_bytes(folder / "step-000020")
    write_checkpoint(folder, 17, **CONTENTS)

    prune(folder, written=17, keep=1)

    assert newest(folder).step == 17
    assert sorted(path.name for path in folder.iterdir()) == ["step-000017", "step-000020"]


def test_the_same_step_is_replaced(folder):
    write_checkpoint(folder, 20, tensors={}, values={"progress.json": {"step": 2}})

    assert newest(folder).values("progress.json") == {"step": 2}


def test_shared_weights_are_saved_once(toy, tmp_path):
    model = toy()
    model.head.weight = model.embedding.weight
    other = toy(seed=7)
    other.head.weight = other.embedding.weight

    load_weights(other, weights_of(model), where=tmp_path)

    assert "head.weight" not in weights_of(model)
    assert all(a.equal(b) for a, b in zip(model.parameters(), other.parameters(), strict=True))


@pytest.mark.parametrize(("name", "n"), [("other", 2), ("inner.bias", 1)])
def test_weights_of_another_model_or_size_are_refused(toy, tmp_path, name, n):
    weights = weights_of(toy())
    weights[name] = weights.pop("inner.bias")[:1]

    said = rf"{tmp_path}: .*other names or shapes: {n}, inner\.bias is the first"
    with pytest.raises(WeightsError, match=said):
        load_weights(toy(), weights, where=tmp_path)


def test_buffers_are_saved_too():
    model = nn.BatchNorm1d(3)

    assert "running_mean" in weights_of(model)


def test_the_manifest_names_every_file(folder):
    manifest = json.loads((folder / "step-000020" / "checkpoint.json").read_text())

    assert set(manifest["files"]) == {"model.safetensors", "progress.json"}


def test_folders_in_a_folder_are_on_the_disk_before_it_has_its_name(tmp_path):
    final = tmp_path / "final"

    with recorded(tmp_path) as operations, appearing(final) as hidden:
        (hidden / "gazetteer").mkdir(parents=True)
        (hidden / "gazetteer" / "names.arrow").write_text("x")

    steps = [(operation.name, operation.path) for operation in operations]
    synced = {path for name, path in steps[: steps.index(("rename", final))] if name == "fsync"}
    assert {hidden, hidden / "gazetteer", hidden / "gazetteer" / "names.arrow"} <= synced


def test_every_file_is_on_the_disk_before_the_checkpoint_has_its_name(tmp_path):
    with recorded(tmp_path) as operations:
        final = write_checkpoint(tmp_path, 5, **CONTENTS).path

    steps = [(operation.name, operation.path) for operation in operations]
    end = steps.index(("rename", final))
    hidden = operations[end].source
    synced = {path for name, path in steps[:end] if name == "fsync"}
    inside = {hidden / path.name for path in final.iterdir() if path.name != "checkpoint.json"}
    assert inside | {hidden} <= synced
    assert ("rename", hidden / "checkpoint.json") in steps[:end]
    assert steps[end + 1 :] == [("fsync", tmp_path)]
