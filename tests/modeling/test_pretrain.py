import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from modeling.pretrain.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


def test_help_is_there_in_a_second_and_loads_nothing_heavy():
    code = (
        "import sys; from modeling.pretrain.__main__ import main\n"
        "try: main(['--help'])\n"
        "except SystemExit: pass\n"
        "print({'torch', 'transformers', 'numpy'} & set(sys.modules), file=sys.stderr)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert "torchrun" in done.stdout
    assert done.stderr.strip() == "set()"


def test_list_names_each_recipe_with_a_line(capsys):
    assert main(["--list"]) == 0

    out = capsys.readouterr().out
    assert any(line.startswith("neiss_wwa ") and "whole-word" in line for line in out.splitlines())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "a recipe is needed"),
        (["neiss"], "--examples is needed"),
        (["nice", "--examples", "x", "--output", "y"], "neiss_small"),
        (["neiss", "--examples", "x", "--output", "y", "--set", "optimizer.rate=1"], "unlocked_lr"),
        (["neiss", "--examples", "x", "--output", "y", "--sett", "a=1"], "did you mean --set?"),
    ],
)
def test_a_wrong_command_says_what_would_be_right(arguments, message, capsys):
    with pytest.raises(SystemExit) as end:
        main(arguments)

    assert end.value.code == 2
    assert message in capsys.readouterr().err


def test_missing_examples_end_with_one_message(tmp_path, capsys):
    code = main(
        ["neiss_small", "--examples", str(tmp_path / "no"), "--output", str(tmp_path / "o")]
    )

    assert code == 1
    assert "dataset.json is missing" in capsys.readouterr().err


def test_a_base_that_is_not_there_ends_with_one_message(examples, tmp_path, capsys):
    base = ["--init-from", str(tmp_path / "no")]

    code = main(["bert_small", "--examples", str(examples), "--output", str(tmp_path / "o"), *base])

    assert code == 1
    assert f"{tmp_path / 'no'}" in capsys.readouterr().err.splitlines()[-1]


def test_a_command_trains_and_ends_by_saying_what_it_made(examples, tmp_path, capsys):
    settings = ["training.max_steps=2", "encoder.width=16", "data.n_workers=0"]
    output = tmp_path / "run"

    code = main(
        ["neiss_small", "--examples", str(examples), "--output", str(output), "--set", *settings]
    )

    said = capsys.readouterr().err
    assert code == 0
    assert f"made  {output / 'final'}" in said
    assert f"onoma report {output}" in said


def test_an_estimate_says_what_a_run_takes_and_makes_nothing(examples, tmp_path, capsys):
    assert main(["neiss", "--estimate"]) == 0
    of_paper = capsys.readouterr().out
    assert main(["bert_small", "--examples", str(examples), "--estimate", "--json"]) == 0
    here = json.loads(capsys.readouterr().out)

    assert "parameters   49,689,648\n" in of_paper
    assert "NVIDIA H200  10.3 hours in bfloat16 (computed" in of_paper
    assert here["bytes_of_weights_and_optimizer"] == 16 * here["parameters"]
    assert here["hours_here"] > 0
    assert not list(tmp_path.iterdir())


def test_a_base_brings_its_sizes(examples, tmp_path, capsys):
    short = ["--set", "training.max_steps=1", "data.n_workers=0"]
    command = ["bert_small", "--examples", str(examples), "--output"]
    base = ["--init-from", str(tmp_path / "base/final")]
    main([*command, str(tmp_path / "base"), *short, "encoder.width=16", "encoder.n_layers=2"])

    code = main([*command, str(tmp_path / "run"), *base, *short])
    with pytest.raises(SystemExit, match="2"):
        main([*command, str(tmp_path / "other"), *base, *short, "encoder.width=32"])

    encoder = json.loads((tmp_path / "run/final/config.json").read_text("utf-8"))["encoder"]
    assert (code, encoder["width"], encoder["n_layers"]) == (0, 16, 2)
    assert "was made with encoder.width=16 (here 32)" in capsys.readouterr().err


def test_examples_without_entities_train_an_encoder_of_words(examples, tmp_path):
    folder = tmp_path / "examples"
    shutil.copytree(examples, folder)
    (folder / "_entities.ipc").unlink()
    description = json.loads((folder / "dataset.json").read_text())
    description["plan"]["parameters"]["n_entities"] = None
    (folder / "dataset.json").write_text(json.dumps(description))

    command = ["bert_small", "--examples", str(folder), "--output", str(tmp_path / "run")]
    assert main([*command, "--set", "training.max_steps=2", "training.batch_size=4"]) == 0

    assert (tmp_path / "run" / "final" / "model.safetensors").exists()
