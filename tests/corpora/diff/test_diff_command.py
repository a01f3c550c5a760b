"""What a comparison prints and writes, and the drift at which it fails."""

import errno
import json
import os
from html.parser import HTMLParser

import pytest

from corpora.diff.__main__ import main
from corpora.diff.limits import Limit
from corpora.errors import UsageError
from tests.corpora.diff.two_versions import document, pair, write_documents


@pytest.mark.parametrize(
    ("how", "old", "new", "is_exceeded"),
    [
        ("-10%", 100, 90, False),
        ("-10%", 100, 89, True),
        ("-10%", 100, 300, False),
        ("-10%", 0, 0, False),
        ("+50%", 100, 150, False),
        ("+50%", 100, 151, True),
        ("-7%", 100, 93, False),
        ("-7%", 1000, 929, True),
        ("+7%", 100, 107, False),
        ("+50%", 0, 1, True),
        ("+50%", 0, 0, False),
        ("-20%", 0.3, 0.24, False),
        ("x2.3", 440, 1012, False),
        ("x2.3", 440, 1013, True),
        ("x3", 20, 60, False),
        ("x3", 20, 61, True),
        ("x3", 0, 30, False),
        ("x3", 0, 31, True),
        ("x3", 0.1, 0.4, True),
        ("off", 100, 0, False),
    ],
)
def test_a_limit_is_exceeded_only_beyond_it(how, old, new, is_exceeded):
    assert bool(Limit("measure", how).exceeded(old, new)) == is_exceeded


@pytest.mark.parametrize("text", ["documents", "=-10%", "documents=10%", "documents=x", "a=-1"])
def test_what_is_no_limit_is_refused(text):
    with pytest.raises(UsageError, match="is no limit"):
        Limit.parse(text)


@pytest.mark.parametrize(
    ("new", "why"),
    [
        ({"n_new": 89}, "documents fell by 11.0 %"),
        ({"n_new": 100, "links": 0}, "links_per_page fell by 100.0 %"),
        ({"n_new": 100, "rejected": {"no_text": 31}}, "rejected went from 0 to 31"),
    ],
)
def test_drift_beyond_the_usual_limits_ends_with_status_3_and_says_why(new, why, tmp_path, capsys):
    assert main(pair(tmp_path, **new)) == 3

    assert why in capsys.readouterr().err


def test_drift_within_the_limits_is_no_failure(tmp_path):
    assert main(pair(tmp_path, n_new=90, rejected={"no_text": 30})) == 0


def test_limits_can_be_set_and_taken_away(tmp_path):
    folders = pair(tmp_path, n_new=85)

    assert main([*folders, "--fail-if", "documents=-20%"]) == 0
    assert main([*folders, "--fail-if", "documents=off", "characters=-5%"]) == 3
    assert main([*folders, "--fail-if", "documents=off"]) == 0
    assert main([*folders, "--fail-if", "documents=-5%", "documents=+50%"]) == 3


def test_a_limit_on_what_nothing_has_is_refused(tmp_path, capsys):
    assert main([*pair(tmp_path), "--fail-if", "documnets=-5%"]) == 2

    assert "links_per_page" in capsys.readouterr().err


def test_a_limit_on_a_value_that_neither_version_has_holds_and_is_said(tmp_path, capsys):
    limits = ("rejected.no_text=x3", "labels.PER=-10%")

    assert main([*pair(tmp_path, n_new=100), "--fail-if", *limits]) == 0

    assert "--fail-if rejected.no_text: neither version has any." in capsys.readouterr().out


def test_a_limit_on_a_reason_that_is_new_counts_from_nothing(tmp_path):
    folders = pair(tmp_path, n_new=100, rejected={"no_text": 31})

    assert main([*folders, "--fail-if", "rejected.no_text=x3", "rejected=off"]) == 3


def test_what_is_not_listed_is_counted(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("corpora.diff.comparison.N_EXAMPLES", 3)

    main(pair(tmp_path, n_new=90))

    assert "removed: … 7 more" in capsys.readouterr().out


class Page(HTMLParser):
    """Checks that tags are balanced, and collects the text."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.seen = [], "", set()

    def handle_starttag(self, tag, _):
        self.seen.add(tag)
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text += data


def test_the_page_says_the_same_and_cannot_be_broken_by_titles(tmp_path):
    evil = "<script>alert('1')</script> & \u202e\n"
    write_documents(tmp_path / "old", [document(1), document(2, evil)])
    write_documents(tmp_path / "new", [document(1, evil)])
    file = tmp_path / "diff.html"

    status = main([str(tmp_path / "old"), str(tmp_path / "new"), "--html", str(file)])

    page = Page()
    page.feed(file.read_text("utf-8"))
    assert status == 3
    assert page.open == []
    assert "script" not in page.seen
    assert "<script>alert('1')</script>" in page.text
    assert "\u202e" not in page.text
    assert "documents fell by 50.0 %" in page.text


def test_json_and_html_are_the_same_bytes_each_time(tmp_path):
    folders = pair(tmp_path)
    made = []
    for number in "12":
        files = [tmp_path / f"{number}.json", tmp_path / f"{number}.html"]
        main([*folders, "--json", str(files[0]), "--html", str(files[1])])
        made.append([file.read_bytes() for file in files])

    assert made[0] == made[1]
    [of] = json.loads(made[0][0])["datasets"]
    assert of["counts"] == {"added": 0, "removed": 20, "renamed": 0, "changed": 0, "same": 80}
    assert of["drift"]["documents"] == {"old": 100, "new": 80}


def test_a_dataset_that_only_the_new_run_has_is_named(tmp_path, capsys):
    for name in ("old/documents", "new/documents", "new/more"):
        write_documents(tmp_path / name, [document(1)])

    assert main([str(tmp_path / "old"), str(tmp_path / "new")]) == 0

    assert f"more: only in {tmp_path / 'new'}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("plan", None),
        ("shards", []),
        ("accounting", 3),
        ("accounting", {"read": float("nan")}),
        ("accounting", {"rejected": {"no_text": "many"}}),
        ("counters", [1]),
    ],
)
def test_a_damaged_description_is_an_error(part, value, tmp_path):
    old, new = (
        write_documents(tmp_path / name, [document(1), document(2)]) for name in ("old", "new")
    )
    about = json.loads((new / "dataset.json").read_text())
    (new / "dataset.json").write_text(json.dumps(about | {part: value}))

    status = main([str(old), str(new)])

    assert status == {"shards": 3}.get(part, 1)


def test_reports_are_written_into_pipes_and_behind_links(tmp_path):
    arguments = pair(tmp_path, n_new=100)
    file, link, pipe = (tmp_path / name for name in ("file.html", "link.html", "pipe"))
    file.touch()
    link.symlink_to(file)
    os.mkfifo(pipe)

    with os.fdopen(os.open(pipe, os.O_RDONLY | os.O_NONBLOCK), "rb") as reader:
        assert main([*arguments, "--html", str(link), "--json", str(pipe)]) == 0
        said = reader.read()

    assert json.loads(said)["datasets"]
    assert link.is_symlink()
    assert "<h2>" in file.read_text()
    assert pipe.is_fifo()


def test_a_report_for_which_there_is_no_room_leaves_no_file(tmp_path, monkeypatch, capsys):
    def fail(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    arguments = pair(tmp_path, n_new=100)
    monkeypatch.setattr("os.fsync", fail)

    assert main([*arguments, "--json", str(tmp_path / "reports.json")]) == 1

    assert "No space left" in capsys.readouterr().err
    assert not [file for file in tmp_path.iterdir() if "reports" in file.name]


def test_a_report_over_a_file_of_a_run_is_refused_before_anything_is_compared(tmp_path, capsys):
    (tmp_path / "settings.json").write_text('{"recipe": "bert"}')
    html = tmp_path / "diff.html"
    reports = ("--html", str(html), "--json", str(tmp_path / "settings.json"))

    assert main([*pair(tmp_path), *reports]) == 2

    assert "settings.json: belongs to a training run" in capsys.readouterr().err
    assert not html.exists()
