"""The settings of the DAGs, and what the DAGs read of results; all without Airflow."""

import json
import sys
from pathlib import Path

import pytest

DAGS = Path(__file__).resolve().parents[2] / "dags"
sys.path.append(str(DAGS))

from onoma_refresh import changes  # noqa: E402
from onoma_refresh.results import describe_rejects  # noqa: E402
from onoma_refresh.settings import SettingsError, read  # noqa: E402

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


def test_the_sample_settings_are_right():
    settings = read(DAGS / "samples" / "settings.toml")

    patterns = [p for edition in settings.editions.values() for p in edition.input]
    assert all(list(settings.folder.glob(pattern)) for pattern in patterns)


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('name = "dawiki"', 'nam = "dawiki"', "[[wiki]]: nam is no setting. There are: name,"),
        ('contact = "me@example.org"', "", "contact is missing"),
        ('contact = "me@example.org"', "contact = 3", "contact = 3: must be a string"),
        ('input = ["letters/*.xml"]', 'input = "letters"', "must be a list of strings"),
        ('work = "work"', 'work = "work"\nkeep = 0', "keep = 0: must be a number above 0"),
        ('wiki = "dawiki"', 'wiki = "svwiki"', "'svwiki': there is none. There are: dawiki."),
        ('edition = "letters"', 'edition = "x"', "'x': there is none. There are: letters."),
        ('name = "dawiki"', 'name = "../x"', "letters, digits"),
        ("[[wiki]]", "[wiki]", "write [[wiki]]"),
        ('work = "work"', "work", "cannot be read"),
    ],
)
def test_what_is_wrong_is_named(folder, before, after, message):
    (folder / "settings.toml").write_text(GOOD.replace(before, after))

    with pytest.raises(SettingsError) as error:
        read(folder / "settings.toml")

    assert message in str(error.value)
    assert str(folder / "settings.toml") in str(error.value)


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


def test_an_edition_without_files_is_an_error(folder):
    for file in folder.glob("letters/*.xml"):
        file.unlink()
    settings = read(folder / "settings.toml")

    with pytest.raises(changes.EditionError, match=r"no file is letters/\*\.xml"):
        changes.state_of(settings, settings.editions["letters"])


def test_rejects_of_a_run_that_published_nothing_are_told(tmp_path):
    receipts = tmp_path / ".build" / "abc" / "receipts"
    receipts.mkdir(parents=True)
    for unit, n in enumerate([2, 1]):
        account = {"read": 10, "written": 10 - n, "filtered": {}, "rejected": {"too_large": n}}
        rows = [{"reason": "too_large", "message": f"unit {unit} is large"}]
        receipt = {"accounting": account, "rejected": rows}
        (receipts / f"{unit:05}.json").write_text(json.dumps(receipt))

    assert describe_rejects(tmp_path) == [
        f"{tmp_path}: rejected 3 of 20.",
        "  too_large 3; the first: unit 0 is large",
    ]
