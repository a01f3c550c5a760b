"""The settings of the DAGs, and what the DAGs read of results; all without Airflow."""

import json
import sys
from pathlib import Path

import pytest

DAGS = Path(__file__).resolve().parents[2] / "dags"
sys.path.append(str(DAGS))

from onoma_refresh import changes  # noqa: E402
from onoma_refresh.environment import environment_of, interpreter  # noqa: E402
from onoma_refresh.results import date_of_dump, describe_version, write_json  # noqa: E402
from onoma_refresh.settings import SettingsError, check_store, read  # noqa: E402
from tests.file_operations import watched  # noqa: E402

GOOD = """
work = "work"
store = "../store"

[[wiki]]
name = "dawiki"
contact = "me@example.org"

[[edition]]
name = "letters"
input = ["letters/*.xml"]
edition = "letters/edition.toml"

[[model]]
name = "small"
wiki = "dawiki"
recipe = "neiss_small"
edition = "letters"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "letters").mkdir()
    for name in ("a.xml", "b.xml", "edition.toml"):
        (tmp_path / "letters" / name).write_text(name)
    (tmp_path / "settings.toml").write_text(GOOD)
    return tmp_path


def test_paths_are_relative_to_the_file(folder):
    settings = read(folder / "settings.toml")

    assert settings.work == folder / "work"
    assert settings.shelf("dawiki") == folder.parent / "store" / "dawiki"


def test_tilde_is_the_home_of_the_user(folder, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    (folder / "settings.toml").write_text(GOOD.replace("../store", "~/store"))

    assert read(folder / "settings.toml").store == Path("/home/ada/store")


def test_the_sample_settings_are_right():
    settings = read(DAGS / "samples" / "settings.toml")

    patterns = [p for edition in settings.editions.values() for p in edition.input]
    assert all(list(settings.folder.glob(pattern)) for pattern in patterns)


def test_steps_of_a_project_may_stand_in_the_same_file(folder):
    file = folder / "settings.toml"
    before = read(file)

    file.write_text(file.read_text("utf-8") + '\n[[step]]\nonoma = "tei"\n', "utf-8")

    assert read(file) == before


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('name = "dawiki"', 'nam = "dawiki"', "[[wiki]] : nam: no setting here. There are: name,"),
        ('contact = "me@example.org"', "", "[[wiki]] dawiki: contact: Field required"),
        (
            'contact = "me@example.org"',
            "contact = 3",
            "contact = 3: Input should be a valid string",
        ),
        (
            'input = ["letters/*.xml"]',
            'input = "letters"',
            "input = 'letters': Input should be a valid tuple",
        ),
        ('work = "work"', 'work = "work"\nkeep = 0', "keep = 0: Input should be greater than 0"),
        ('wiki = "dawiki"', 'wiki = "svwiki"', "'svwiki': there is none. There are: dawiki."),
        ('edition = "letters"', 'edition = "x"', "'x': there is none. There are: letters."),
        ('name = "dawiki"', 'name = "../x"', "[[wiki]] ../x: name = '../x': String should match"),
        ("[[wiki]]", "[wiki]", "write it in two brackets"),
        ('work = "work"', "work", "cannot be read"),
        ('work = "work"', 'work = "../store"', "work and store must be two folders"),
        ('store = "../store"', 'store = "work/store"', "work and store must be two folders"),
        ("[[wiki]]", "[[wikis]]", "wikis: no setting here. There are:"),
        ('name = "dawiki"', 'name = "dawiki"\nkeep = 3', "Settings of the whole file stand above"),
        ('name = "dawiki"', 'name = "dawiki"\nkeep = 3', "[[wiki]] dawiki: keep: no setting"),
        ('store = "../store"', "store = 3", "store = 3: must be a path"),
        ('store = "../store"', 'store = ""', "store = '': must be a path"),
        ('store = "../store"', 'store = "s3://corpora/store"', "is in a bucket, and these DAGs"),
        ('input = ["letters/*.xml"]', 'input = ["gs://b/*.xml"]', "is in a bucket"),
        (
            'input = ["letters/*.xml"]',
            "input = []",
            "input = []: Tuple should have at least 1 item",
        ),
        (
            'work = "work"',
            'work = "work"\nenvironment = ["A=1"]',
            "environment = ['A=1']: Input should be a valid dictionary",
        ),
        (
            'work = "work"',
            'work = "work"\nenvironment = { A = true }',
            "A = True: Input should be a valid string",
        ),
        ('work = "work"', 'work = "work"\nenvironment = { "A=B" = "1" }', "String should match"),
    ],
)
def test_what_is_wrong_is_named(folder, before, after, message):
    (folder / "settings.toml").write_text(GOOD.replace(before, after))

    with pytest.raises(SettingsError) as error:
        read(folder / "settings.toml")

    assert message in str(error.value)
    assert str(folder / "settings.toml") in str(error.value)


def test_a_file_with_a_byte_order_mark_is_read(folder):
    (folder / "settings.toml").write_text(GOOD, encoding="utf-8-sig")

    assert read(folder / "settings.toml").store == folder.parent / "store"


def test_numbers_are_values_of_variables_too(folder):
    (folder / "settings.toml").write_text(f"environment = {{ A = 1 }}\n{GOOD}")

    assert read(folder / "settings.toml").environment == {"A": "1"}


def test_tilde_of_the_interpreter_is_the_home_of_the_user(folder, monkeypatch):
    monkeypatch.setenv("HOME", "/home/ada")
    (folder / "settings.toml").write_text(f'python = "~/onoma/bin/python"\n{GOOD}')

    assert interpreter(read(folder / "settings.toml")) == "/home/ada/onoma/bin/python"


def test_commands_get_nothing_of_airflow_and_write_at_once(folder, monkeypatch):
    for name in ("AIRFLOW_CONN_DB", "_AIRFLOW_WWW_USER_PASSWORD", "__AIRFLOW_X", "PYTHONPATH"):
        monkeypatch.setenv(name, "secret")
    monkeypatch.setenv("HTTPS_PROXY", "proxy")
    (folder / "settings.toml").write_text(f"{GOOD}")

    environment = environment_of(read(folder / "settings.toml"))

    assert "secret" not in environment.values()
    assert environment["HTTPS_PROXY"] == "proxy"
    assert environment["PYTHONUNBUFFERED"] == "1"


def test_a_store_that_has_gone_is_not_begun_anew(folder):
    settings = read(folder / "settings.toml")
    check_store(settings)  # nothing is published yet
    shelf = settings.shelf("dawiki")
    shelf.mkdir(parents=True)
    (shelf / "current").write_text("20261101\n")
    check_store(settings)

    settings.store.rename(folder / "not mounted")

    with pytest.raises(SettingsError, match="mounted"):
        check_store(settings)


def test_a_version_is_past_when_another_is_current(folder):
    settings = read(folder / "settings.toml")
    for version in ("20261101", "20261201"):
        (settings.shelf("dawiki") / version).mkdir(parents=True)
    (settings.shelf("dawiki") / "current").write_text("20261201\n")

    assert settings.is_past("dawiki", "20261101")
    assert not settings.is_past("dawiki", "20261201")
    assert not settings.is_past("dawiki", "20270101")
    assert not settings.is_past("svwiki", "20261101")


def test_two_things_do_not_share_a_shelf(folder):
    more = '[[edition]]\nname = "dawiki-vocab"\ninput = ["x"]\n'
    more += (
        '[[news]]\nname = "dawiki"\n[[wiki]]\nname = "dawiki-news"\ncontact = "me@example.org"\n'
    )
    (folder / "settings.toml").write_text(GOOD + more)

    with pytest.raises(SettingsError, match="two would publish dawiki-news"):
        read(folder / "settings.toml")


@pytest.mark.parametrize("name", ["a.xml", "edition.toml"])
def test_an_edition_has_changed_when_a_file_of_it_has(folder, name):
    settings = read(folder / "settings.toml")
    edition = settings.editions["letters"]
    before = changes.state_of(settings, edition)
    changes.mark_seen(settings, "letters", before, outcome="published")

    (folder / "letters" / name).write_text("other")

    assert changes.was_seen(settings, "letters", before)
    assert not changes.was_seen(settings, "letters", changes.state_of(settings, edition))


def test_an_edition_is_the_same_wherever_a_file_was_touched(folder):
    settings = read(folder / "settings.toml")
    before = changes.state_of(settings, settings.editions["letters"])

    (folder / "letters" / "a.xml").touch()
    (folder / "letters" / "notes.txt").write_text("no part of it")

    assert changes.state_of(settings, settings.editions["letters"]) == before


@pytest.mark.parametrize("pattern", ["letters", "letters/**/*.xml", "letters/linked/b[1].xml"])
def test_an_edition_has_changed_when_a_file_has_to_which_a_link_leads(folder, pattern):
    (folder / "elsewhere").mkdir()
    file = folder / "elsewhere" / "b[1].xml"
    file.write_text("<TEI/>")
    (folder / "letters" / "linked").symlink_to("../elsewhere")
    (folder / "elsewhere" / "loop").symlink_to(".")
    (folder / "settings.toml").write_text(GOOD.replace("letters/*.xml", pattern))
    settings = read(folder / "settings.toml")
    before = changes.state_of(settings, settings.editions["letters"])

    file.write_text("other")

    assert changes.state_of(settings, settings.editions["letters"]) != before


def test_what_git_notes_in_a_checkout_is_no_part_of_an_edition(folder):
    (folder / "letters" / ".git").mkdir()
    (folder / "settings.toml").write_text(GOOD.replace("letters/*.xml", "letters"))
    settings = read(folder / "settings.toml")
    before = changes.state_of(settings, settings.editions["letters"])

    (folder / "letters" / ".git" / "FETCH_HEAD").write_text("0123abc")

    assert changes.state_of(settings, settings.editions["letters"]) == before


def test_an_edition_without_files_is_an_error(folder):
    for file in folder.glob("letters/*.xml"):
        file.unlink()
    settings = read(folder / "settings.toml")

    with pytest.raises(changes.EditionError, match=r"no file is letters/\*\.xml"):
        changes.state_of(settings, settings.editions["letters"])


def test_what_a_task_writes_down_is_there_as_a_whole_or_as_it_was(tmp_path):
    pin, steps = tmp_path / "pins" / "dawiki-20261108.json", []
    write_json(pin, {"date": "20261001"})

    with watched(tmp_path, steps.append):
        write_json(pin, {"date": "20261101"})

    assert json.loads(pin.read_text("utf-8")) == {"date": "20261101"}
    assert [(step.name, step.path == pin) for step in steps if step.name != "mkdir"] == [
        ("open", False),
        ("fsync", False),
        ("rename", True),
    ]


@pytest.mark.parametrize(
    "data", [b"", b"[]", b'{"fingerprint": "f", "fi', b'{"fingerprint": "\xff"}']
)
def test_a_damaged_record_is_an_error_with_its_name(tmp_path, data):
    (tmp_path / "documents").mkdir()
    for name in ("run.json", "documents/dataset.json"):
        (tmp_path / name).write_bytes(data)

    with pytest.raises(SettingsError, match=r"/run\.json: damaged \(.+\)\. Take it away, or copy"):
        describe_version(tmp_path)
    with pytest.raises(SettingsError, match=r"/documents/dataset\.json: damaged"):
        date_of_dump(tmp_path, "dawiki")


@pytest.mark.parametrize("file", ["corpus_refresh.py", "onoma_refresh/changes.py"])
def test_no_task_writes_a_file_in_another_way(file):
    assert "write_text" not in (DAGS / file).read_text("utf-8")
