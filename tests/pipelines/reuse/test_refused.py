"""What a refresh must not take over: other options, other code, what is damaged."""

import json
import shutil
from dataclasses import replace

import pytest

import corpora.runs.plan
from corpora.datasets.shards import open_dataset
from tests.pipelines.reuse.small_refreshes import N_DOCUMENTS, WIKI, refresh, run

pytestmark = pytest.mark.usefixtures("without_runner")


def check_nothing_is_taken(wiki, old, folder, *options):
    assert refresh(wiki, old, folder, *options) == {}


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (("--augment", "off"), "parameters (augment)"),
        (("--license", "CC0-1.0"), "parameters (license)"),
        (("--templates", "my.toml"), "auxiliary (templates 0); parameters (n_tables)"),
    ],
)
def test_nothing_is_taken_over_with_other_options(
    options, what, earlier, tmp_path, caplog, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.toml").write_text('[render]\nFehlt = "{1}"\n', encoding="utf-8")

    check_nothing_is_taken(WIKI, earlier, tmp_path, *options)

    assert f"every page is read again. Others than then are: {what}." in caplog.text


def test_nothing_is_taken_over_from_a_wiki_with_another_head(earlier, tmp_path, caplog):
    wiki = replace(WIKI, base="https://anders.wikipedia.org/wiki/Hauptseite")

    check_nothing_is_taken(wiki, earlier, tmp_path)

    assert "Others than then are: parameters (site)." in caplog.text


def test_nothing_is_taken_over_from_other_code(tmp_path, caplog, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(corpora.runs.plan, "code_hash", lambda _: "0" * 64)
        assert run(WIKI, tmp_path / "old", month=10) == 0

    check_nothing_is_taken(WIKI, tmp_path / "old", tmp_path)

    assert "Others than then are: code." in caplog.text


def test_run_without_hashes_is_an_error(earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    shutil.rmtree(tmp_path / "old" / "reuse")

    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / "old") == 2

    assert "Build once without --reuse" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("old", ["nowhere", "new"])
def test_what_is_no_earlier_run_is_an_error(old, tmp_path, capsys):
    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / old) == 2

    assert f"--reuse {tmp_path / old}: " in capsys.readouterr().err


def test_datasets_of_two_runs_are_an_error(earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    assert run(WIKI.without("Moor"), tmp_path / "other") == 0
    shutil.rmtree(tmp_path / "old" / "reuse")
    shutil.copytree(tmp_path / "other" / "reuse", tmp_path / "old" / "reuse")

    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / "old") == 2

    assert "not of one run" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["documents", "reuse"])
@pytest.mark.parametrize(
    "damage", [{"plan": None}, {"plan": "?"}, {"shards": []}, {"shards": [1, 2]}, {"version": None}]
)
def test_earlier_run_with_a_damaged_description_is_an_error(
    name, damage, earlier, tmp_path, capsys
):
    shutil.copytree(earlier, tmp_path / "old")
    file = tmp_path / "old" / name / "dataset.json"
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | damage), "utf-8")

    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / "old") == 2

    assert f"--reuse {file}: is damaged" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    "content", [None, "", "{}", '{"files": []}', '{"pipeline": "news_to_documents", "files": {}}']
)
def test_earlier_run_whose_list_of_files_is_damaged_is_an_error(content, earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    file = tmp_path / "old" / "run.json"
    file.unlink()
    if content is not None:
        file.write_text(content, "utf-8")

    assert run(WIKI, tmp_path / "new", "--reuse", tmp_path / "old") == 2

    assert "no complete run of onoma wikipedia is there" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["documents/shard-00001.arrow", "reuse/shard-00001.arrow"])
@pytest.mark.parametrize("damage", ["flipped", "cut off", "gone"])
def test_damaged_shard_is_not_used(name, damage, earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    file = tmp_path / "old" / name
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(data if damage == "flipped" else data[:999])
    if damage == "gone":
        file.unlink()
    lost = open_dataset(earlier / "documents").shards[1].rows

    counts = refresh(WIKI, tmp_path / "old", tmp_path)

    assert 0 < lost < 10
    assert counts["taken over"] == N_DOCUMENTS - lost
    assert f"WARNING of the earlier run, not used because they are damaged: {name};" in (
        capsys.readouterr().out
    )
