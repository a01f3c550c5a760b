"""Steps that need a GPU run here with tiny shapes; a step that is finished is not run again."""

import json

import pytest
import torch

from benchmarks import gpu
from benchmarks.gpu import Step


@pytest.fixture
def args(tmp_path):
    return gpu.parse(["--tiny", "--output", str(tmp_path)])


def parts_of(args):
    return [(line["step"], line["part"]) for line in gpu.read_record(args.record)]


@pytest.mark.parametrize("name", gpu.VOCABULARIES)
def test_a_step_is_a_line_for_each_part_and_resumes_with_what_is_left(args, name):
    step = next(step for step in gpu.STEPS if step.name == f"speed-{name}")

    gpu.measure(step, args)
    theirs, *others = lines = gpu.read_record(args.record)
    args.record.write_text(json.dumps(theirs) + "\n", "utf-8")
    gpu.measure(step, args)

    again = gpu.read_record(args.record)
    assert [line["part"] for line in again] == [line["part"] for line in lines]
    assert again[0] == theirs
    assert again[1] != others[0]
    assert all(line["values"]["subwords/s"] > 0 for line in again[:2])
    assert again[2]["part"] == ""
    assert {"device", "driver", "torch", "transformers", "date"} <= theirs.keys()


def test_batches_are_full_rows_of_the_recipe_with_what_it_predicts(args):
    for name, objective in (("neiss", None), ("daluke", "entities"), ("entity_bert", None)):
        config, batches = gpu.prepared(name, args)

        assert len(batches) == gpu.N_BATCHES
        for batch in batches:
            assert batch.rows.subwords.attend is None
            assert batch.n_targets.keys() == config.heads.weights.keys()
            assert objective is None or batch.n_targets[objective] > 0
        assert (batches[0].subword_entities is not None) == (name == "entity_bert")


def test_a_part_that_fails_is_a_line_and_is_tried_again(args):
    step = Step("s", 1, lambda _: iter([("a", lambda: {"ms": 1 / 0}), ("b", lambda: {"ms": 2.0})]))

    for _ in range(2):
        gpu.measure(step, args)

    assert parts_of(args) == [("s", "a"), ("s", "b"), ("s", "a")]
    assert not gpu.is_whole(step, args)
    assert "ZeroDivisionError" in "\n".join(gpu.render(gpu.read_record(args.record)))


def test_steps_that_do_not_fit_or_lack_an_option_are_named(tmp_path):
    args = gpu.parse(["--minutes", "0.5", "--record", str(tmp_path / "record.jsonl")])

    lines = list(gpu.run_steps(args, []))

    assert lines[0] == "speed-neiss: skipped, its 1.5 minutes do not fit in 0.5"
    assert "finetune-sturm: skipped, it needs --model and --data" in lines
    assert lines[-1] == "pretrain: skipped, it needs --examples"
    assert len(lines) == len(gpu.STEPS)


def test_a_step_is_ended_when_its_time_is_over_and_one_that_is_whole_is_not_run(
    tmp_path, monkeypatch
):
    options = ["--record", str(tmp_path / "record.jsonl"), "--output", str(tmp_path)]
    slow, whole = (Step(name, 0.001, gpu.layers) for name in ("attention", "luke"))
    monkeypatch.setattr(gpu, "STEPS", (slow, whole))
    gpu.keep(tmp_path / "record.jsonl", {}, step="luke", part="")

    lines = list(gpu.run_steps(gpu.parse(options), options))

    assert lines == ["attention: ended after its 0.0 minutes, finished parts are kept"]


def test_the_table_has_the_newest_line_of_each_part_beside_what_it_stands_against(args):
    for ms in (9.0, 2.0):
        values = {"ms": ms, "against": gpu.THEIRS, "subwords/s": 412_345.6, "took s": 3.0}
        gpu.keep(args.record, values, step="speed-neiss", part="ours")
    gpu.keep(args.record, {"ms": 3.0, "GB": 1.25}, step="speed-neiss", part=gpu.THEIRS)
    gpu.keep(args.record, {"printed": "ratio 0.5\n"}, step="luke", part="padding")

    text = "\n".join(gpu.render(gpu.read_record(args.record)))

    assert "| speed-neiss | ms | subwords/s | speed × | GB |" in text
    assert "| ours | 2 | 412,346 | 1.5 |  |" in text
    assert "luke, padding:\n\n```\nratio 0.5\n```" in text


@pytest.mark.gpu
def test_every_step_that_needs_no_data_runs_on_a_gpu(args, tmp_path):
    if not torch.cuda.is_available():
        pytest.skip("no GPU")

    gpu.main(["--tiny", "--output", str(tmp_path)])

    assert all(gpu.is_whole(step, args) for step in gpu.STEPS if not step.needs)
