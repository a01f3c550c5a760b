"""A refresh that is killed resumes, whatever becomes of the earlier run."""

import shutil

import pytest

import pipelines.engine
from pipelines.transforms import wikipedia as transforms
from tests.pipelines.interrupting import broken_after
from tests.pipelines.reuse.small_refreshes import (
    EDITS,
    N_DOCUMENTS,
    WIKI,
    files_of,
    refresh,
    renamed,
    reused,
    rows_of,
    run,
    texts_of,
)

pytestmark = pytest.mark.usefixtures("without_runner")


def interrupt(stage, n_units, *, wiki, output, options):
    with broken_after(n_units, stage=stage):
        assert run(wiki, output, *options) == 1


@pytest.mark.parametrize("stage", ["extract", ""])
@pytest.mark.parametrize("then", ["the same", "without", "another"])
def test_interrupted_refresh_goes_on(stage, then, earlier, tmp_path):
    wiki = renamed(WIKI)
    assert run(wiki, tmp_path / "full") == 0
    assert run(EDITS["page changed"][0](WIKI), tmp_path / "another") == 0
    options = {"the same": earlier, "another": tmp_path / "another"}
    interrupt(stage, 2, wiki=wiki, output=tmp_path / "new", options=("--reuse", earlier))

    old = options.get(then)
    assert run(wiki, tmp_path / "new", *(("--reuse", old) if old else ())) == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert reused(tmp_path / "new")["taken over"] > 2


def test_earlier_run_may_go_while_the_refresh_is_interrupted(earlier, tmp_path, capsys):
    shutil.copytree(earlier, tmp_path / "old")
    wiki = renamed(WIKI)
    assert run(wiki, tmp_path / "full") == 0
    options = ("--reuse", tmp_path / "old")
    interrupt("extract", 2, wiki=wiki, output=tmp_path / "new", options=options)
    shutil.rmtree(tmp_path / "old")

    assert run(wiki, tmp_path / "new", *options) == 2
    assert "Leave --reuse out" in capsys.readouterr().err
    assert run(wiki, tmp_path / "new") == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert 0 < reused(tmp_path / "new")["taken over"] < N_DOCUMENTS - 1


def test_earlier_run_may_go_between_the_stages(earlier, tmp_path):
    shutil.copytree(earlier, tmp_path / "old")
    wiki = renamed(WIKI)
    assert run(wiki, tmp_path / "full") == 0
    options = ("--reuse", tmp_path / "old")
    interrupt("", 2, wiki=wiki, output=tmp_path / "new", options=options)
    between = [*(tmp_path / "new" / ".build").rglob("shards/pages/*.arrow")]
    n_characters = sum(len(t or "") for file in between for t in texts_of(file))
    shutil.rmtree(tmp_path / "old")

    assert run(wiki, tmp_path / "new") == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert reused(tmp_path / "new")["taken over"] == N_DOCUMENTS - 1
    [read] = [row for row in rows_of(tmp_path / "new") if row["title"] == "Hafenbecken"]
    assert n_characters == len(read["text"])


def test_earlier_run_that_goes_during_the_refresh_is_not_used(earlier, tmp_path, monkeypatch):
    shutil.copytree(earlier, tmp_path / "old")
    wiki = renamed(WIKI)
    assert run(wiki, tmp_path / "full") == 0
    describe = pipelines.engine.describe
    monkeypatch.setattr(
        pipelines.engine,
        "describe",
        lambda *of, **more: [shutil.rmtree(tmp_path / "old"), describe(*of, **more)][1],
    )

    assert run(wiki, tmp_path / "new", "--reuse", tmp_path / "old") == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert reused(tmp_path / "new").keys() == {"damaged: dataset.json", "taken over"}
    assert reused(tmp_path / "new")["taken over"] == 0


def test_damage_to_a_refresh_is_mended_in_any_way(earlier, tmp_path):
    wiki = renamed(WIKI)
    refresh(wiki, earlier, tmp_path)
    for options in ((), ("--reuse", earlier)):
        (tmp_path / "new" / "reuse" / "shard-00002.arrow").write_bytes(b"")

        assert run(wiki, tmp_path / "new", *options) == 0

        assert files_of(tmp_path / "new") == files_of(tmp_path / "full")


def test_refresh_by_two_workers_is_a_full_rebuild_by_one(earlier, tmp_path, monkeypatch):
    monkeypatch.setattr(transforms, "CHARACTERS_PER_BATCH", 1 << 20)  # as in the workers
    wiki = renamed(WIKI)

    assert run(wiki, tmp_path / "full") == 0
    assert run(wiki, tmp_path / "new", "--reuse", earlier, "--workers", 2) == 0

    assert files_of(tmp_path / "new") == files_of(tmp_path / "full")
    assert reused(tmp_path / "new") == {"resolved again": 3, "taken over": N_DOCUMENTS - 1}
