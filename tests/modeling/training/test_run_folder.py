import subprocess
import sys

import pytest

from corpora.errors import CorpusError, FolderInUseError
from modeling.config import PretrainConfig
from modeling.training.run_folder import OtherRunError, RunFolder, differences

SETTINGS = {
    "config": {"optimizer": {"lr": 1.0, "betas": [0.9, 0.99]}, "training": {"keep": 2}},
    "examples": [{"dataset_sha256": "a"}],
    "init_from": None,
    "world_size": 1,
    "versions": {"torch": "1"},
}


def test_what_differs_is_named_with_both_values():
    other = SETTINGS | {
        "config": {"optimizer": {"lr": 2.0, "betas": [0.9, 0.98]}, "training": {"keep": 2}},
        "examples": [{"dataset_sha256": "a"}, {"dataset_sha256": "b"}],
    }

    assert list(differences(SETTINGS, other)) == [
        "config.optimizer.betas: [0.9, 0.99] there, [0.9, 0.98] here",
        "config.optimizer.lr: 1.0 there, 2.0 here",
        'examples.1.dataset_sha256: null there, "b" here',
    ]


def test_what_changes_no_weight_may_differ():
    config = {"optimizer": SETTINGS["config"]["optimizer"], "training": {"keep": 9}}

    assert not list(differences(SETTINGS, SETTINGS | {"config": config, "versions": {}}))


def test_a_refused_command_leaves_the_settings_as_they_are(tmp_path):
    folder = RunFolder(tmp_path)
    folder.claim(SETTINGS, is_forced=False)
    (folder.checkpoints / "step-000001").mkdir(parents=True)
    before = folder.settings.read_bytes()

    with pytest.raises(OtherRunError):
        folder.claim(SETTINGS | {"world_size": 2}, is_forced=False)

    assert folder.settings.read_bytes() == before


def test_a_setting_that_an_earlier_version_had_not_had_its_default(tmp_path):
    folder, now = RunFolder(tmp_path), PretrainConfig().to_json()
    before = {name: values for name, values in now["training"].items() if name != "center"}
    folder.claim(SETTINGS | {"config": now | {"training": before}}, is_forced=False)
    (folder.checkpoints / "step-000001").mkdir(parents=True)

    folder.claim(SETTINGS | {"config": now}, is_forced=False, kind=PretrainConfig)

    other = now | {"training": now["training"] | {"center": True}}
    with pytest.raises(OtherRunError, match=r"training\.center: false there, true here"):
        folder.claim(SETTINGS | {"config": other}, is_forced=False, kind=PretrainConfig)


def test_before_the_first_checkpoint_settings_may_change(tmp_path):
    folder = RunFolder(tmp_path)
    folder.claim(SETTINGS, is_forced=False)

    folder.claim(SETTINGS | {"world_size": 2}, is_forced=False)

    assert '"world_size": 2' in folder.settings.read_text()


def test_checkpoints_of_nobody_are_not_gone_on_from(tmp_path):
    (tmp_path / "checkpoints" / "step-000001").mkdir(parents=True)

    with pytest.raises(CorpusError, match=r"settings\.json: not readable"):
        RunFolder(tmp_path).claim(SETTINGS, is_forced=False)


def test_two_runs_do_not_share_a_folder(tmp_path):
    hold = (
        "import pathlib, sys\n"
        "from modeling.training.run_folder import RunFolder\n"
        f"with RunFolder(pathlib.Path({str(tmp_path)!r})).hold():\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    other = subprocess.Popen(
        [sys.executable, "-c", hold], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    other.stdout.readline()

    with pytest.raises(FolderInUseError, match=str(other.pid)), RunFolder(tmp_path).hold():
        pass

    other.communicate()
    with RunFolder(tmp_path).hold():
        pass


@pytest.mark.parametrize("name", ["run.json", "dataset.json"])
def test_a_folder_of_datasets_is_left_alone(tmp_path, name):
    (tmp_path / name).write_text("{}", "utf-8")

    with pytest.raises(OtherRunError, match=f"{tmp_path}: holds datasets"):
        RunFolder(tmp_path).claim({"config": {}}, is_forced=True)

    assert [path.name for path in tmp_path.iterdir()] == [name]
