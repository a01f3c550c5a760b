"""What lies in an output folder after runs that failed, were killed, or were other runs."""

import os
import re
import shutil
from dataclasses import replace

import pytest

import corpora.runs.build
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import ShardWriter
from corpora.document import Document, Mention
from corpora.errors import CorpusError
from corpora.runs.build import hold
from corpora.runs.plan import fingerprint_of
from corpora.runs.receipts import Accounting, Receipt, write_receipt
from corpora.store.inspection import main as shards
from corpora.system.files import sha256_of
from pipelines.tei_to_ner import Options, plan
from tests.datasets import document_to_row, write_dataset
from tests.killing import files_of
from tests.pipelines.test_tei_to_ner import LETTERS, OPTIONS, run

pytestmark = pytest.mark.usefixtures("without_runner")


def options(tmp_path, **settings):
    values = {"input": (str(LETTERS),), "output": tmp_path / "out", "edition": OPTIONS[1]}
    return Options(**(values | settings))


def test_fingerprint_knows_no_path(tmp_path):
    shutil.copytree(LETTERS, tmp_path / "elsewhere")

    here, there = (
        plan(options(tmp_path, input=(str(f),))) for f in (LETTERS, tmp_path / "elsewhere")
    )

    assert here.fingerprint == there.fingerprint


@pytest.mark.parametrize(
    "settings",
    [{"limit": 3}, {"seed": 2}, {"nested": "all"}, {"edition": "tei"}, {"ratios": "6/2/2"}],
)
def test_fingerprint_knows_all_that_changes_a_byte(tmp_path, settings):
    assert plan(options(tmp_path)).fingerprint != plan(options(tmp_path, **settings)).fingerprint


def test_fingerprint_knows_which_text_an_earlier_file_includes_too(tmp_path):
    body = '<TEI xmlns:xi="http://www.w3.org/2001/XInclude"><text><p>Ulm</p>{}</text></TEI>'
    include = '<xi:include href="part.xml" xpointer="x"/>'
    (tmp_path / "part.xml").write_text('<TEI><text><p xml:id="x">Jena</p></text></TEI>')
    for name in ("a.xml", "b.xml"):
        (tmp_path / name).write_text(body.format(include))
    files = options(tmp_path, input=(f"{tmp_path}/*.xml",), edition="tei")
    before = plan(files)

    (tmp_path / "a.xml").write_text(body.format(" " * len(include)))

    assert plan(files).fingerprint != before.fingerprint


@pytest.mark.parametrize("settings", [{"workers": 2}, {"beam": ("--runner=FnApiRunner",)}])
def test_fingerprint_does_not_know_how_the_work_is_done(tmp_path, settings):
    assert plan(options(tmp_path)).fingerprint == plan(options(tmp_path, **settings)).fingerprint


def test_editions_with_line_numbers_are_planned_without_reading_them(tmp_path):
    shutil.copytree(LETTERS, tmp_path / "letters")
    copies = options(tmp_path, input=(f"{tmp_path}/letters/*.xml",), lines=True)
    before = plan(copies)
    for path in (tmp_path / "letters").glob("*.xml"):
        status = path.stat()
        path.write_bytes(b"x" * status.st_size)
        os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert plan(copies).inputs == before.inputs


def test_complete_data_are_left_alone_without_receipts_too(output, capsys):
    times = {path: path.stat().st_mtime_ns for path in output.rglob("*.arrow")}

    for _ in range(2):
        assert run(output) == 0
        assert "already complete" in capsys.readouterr().out
        shutil.rmtree(output / ".build", ignore_errors=True)

    assert times == {path: path.stat().st_mtime_ns for path in times}


def test_failed_other_run_leaves_data_and_receipts_so_that_one_shard_is_mended_alone(
    tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr("corpora.runs.plan.UNIT_FILES", 2)
    assert run(tmp_path / "out") == 0
    before = files_of(tmp_path / "out")
    for number in range(11):
        (tmp_path / f"bad{number}.xml").write_text("<TEI>")
    assert run(tmp_path / "out", inputs=f"{tmp_path}/bad*.xml") == 1
    assert "nothing was published" in capsys.readouterr().err
    assert files_of(tmp_path / "out") == before
    shard = tmp_path / "out" / "ner" / "shard-00002.arrow"
    shard.write_bytes(shard.read_bytes()[:-1] + b"x")
    assert shards(["verify", str(tmp_path / "out")]) == 1
    assert "ner/shard-00002.arrow: damaged" in capsys.readouterr().err

    assert run(tmp_path / "out") == 0

    assert "3 of 4 units were done already and are kept" in capsys.readouterr().out
    assert files_of(tmp_path / "out") == before


class Killed(BaseException):
    """Like SIGKILL: nothing catches it."""


@pytest.mark.parametrize("name", ["dataset.json", "run.json"])
def test_run_that_died_while_publishing_leaves_nothing_to_another(tmp_path, monkeypatch, name):
    write = corpora.runs.build.write_json

    def die(path, value):
        if path.name == name and ".build" not in path.parts:
            raise Killed
        write(path, value)

    with monkeypatch.context() as patch:
        patch.setattr(corpora.runs.build, "write_json", die)
        with pytest.raises(Killed):
            run(tmp_path / "out")
    assert not (tmp_path / "out" / "run.json").exists()

    assert run(tmp_path / "out", "--split", "sentence") == 0
    assert run(tmp_path / "fresh", "--split", "sentence") == 0
    assert files_of(tmp_path / "out") == files_of(tmp_path / "fresh")
    assert sum(path.is_dir() for path in (tmp_path / "out" / ".build").iterdir()) == 1


def test_fewer_shards_leave_no_stale_ones(tmp_path, monkeypatch):
    monkeypatch.setattr("corpora.runs.plan.UNIT_FILES", 2)
    assert run(tmp_path / "out") == 0

    assert run(tmp_path / "out", "--limit", "2") == 0

    assert [f.name for f in (tmp_path / "out" / "ner").glob("*.arrow")] == ["shard-00000.arrow"]
    assert shards(["verify", str(tmp_path / "out")]) == 0


def test_outputs_of_an_earlier_run_are_not_read(tmp_path, capsys):
    letters = tmp_path / "letters"
    shutil.copytree(LETTERS, letters)
    (letters / "edition.toml").unlink()
    assert run(letters, inputs=f"{letters}/*.*") == 0

    assert run(letters, inputs=f"{letters}/*.*") == 2
    assert "is an output of an earlier run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("old", "new"),
    [('"read": 8', '"read": 9'), ("mentions: person", "mentions: nobody"), ("{", "[")],
)
def test_damaged_receipt_is_not_believed(output, old, new):
    before = files_of(output)
    (output / "run.json").unlink()
    [receipt] = (output / ".build").glob("*/receipts/00000.json")
    receipt.write_text(receipt.read_text().replace(old, new, 1))

    assert run(output) == 0

    assert files_of(output) == before


def test_one_id_in_two_shards_ends_the_run(tmp_path):
    made = plan(options(tmp_path))
    with hold(tmp_path / "out", made) as build:
        paths = []
        for number in range(2):
            path = build.staging("documents") / f"shard-{number:05}.arrow"
            with ShardWriter(path, SCHEMAS["documents"]) as writer:
                writer.write(document_to_row(letter()))
            paths.append(path)
        build.shard_paths = lambda dataset: paths if dataset == "documents" else []

        with pytest.raises(CorpusError, match=r"the id 'a\.xml' is met twice"):
            build.check_ids()


@pytest.mark.parametrize("is_lasting", [True, False])
def test_only_shards_that_last_wait_for_the_disk(is_lasting, tmp_path, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)

    path = tmp_path / "shard-00000.arrow"
    with ShardWriter(path, SCHEMAS["documents"], is_lasting=is_lasting) as writer:
        writer.write(document_to_row(Document(id="1", group="g", source="s", text="Tee")))

    assert len(synced) == is_lasting
    assert sha256_of(path) == writer.shard.sha256


def letter(**columns):
    return Document(**({"id": "a.xml", "group": "g", "source": "a.xml", "text": "Ulm"} | columns))


def test_dataset_that_is_the_output_itself_keeps_its_shards_when_published_again(tmp_path):
    made = replace(plan(options(tmp_path)).hashed(), datasets={"": "documents"})
    output, shard = tmp_path / "out", "shard-00000.arrow"
    with hold(output, made) as build:
        with ShardWriter(build.staging("") / shard, SCHEMAS["documents"]) as writer:
            writer.write(document_to_row(letter()))
        receipt = Receipt(
            fingerprint=made.fingerprint,
            unit=0,
            shards={"": writer.shard},
            accounting=Accounting(read=1, written=1),
            counters={},
            rejected=[],
        )
        write_receipt(build.receipt_path(made.units[0]), receipt)
        build.publish()
    before = files_of(output)
    (output / "rejected.jsonl").write_text("damaged")

    with hold(output, made) as build:
        assert not build.is_published()
        assert build.pending() == []
        build.publish()

    assert files_of(output) == before
    assert shard in before
    assert shards(["verify", str(output)]) == 0


def test_stricter_reject_rate_publishes_nothing(tmp_path, capsys):
    for number in range(1100):
        (tmp_path / f"{number:04}.xml").write_text(
            "<TEI><text><p>Ulm</p></text></TEI>" if number >= 11 else "<TEI>"
        )

    assert run(tmp_path / "a", "--max-reject-rate", "0.001", inputs=f"{tmp_path}/*.xml") == 1
    assert "11 of 1,100 records were rejected" in capsys.readouterr().err
    assert run(tmp_path / "a", "--max-reject-rate", "0.01", inputs=f"{tmp_path}/*.xml") == 0


def change(file, pattern, replacement):
    text = file.read_text()
    assert re.search(pattern, text)
    file.write_text(re.sub(pattern, replacement, text, count=1))


@pytest.mark.parametrize(
    ("pattern", "replacement", "message"),
    [
        (r'"read": 8', '"read": 9', "does not add up"),
        (r'"rejected": \{\}', '"rejected": {"x": 1}', "does not add up|0 lines, but 1"),
        (r'"seed": 1', '"seed": 2', "damaged plan"),
        (r'"rows": \d+', '"rows": 7', "rows, but dataset.json says 7"),
        (r'"accounting": \{', '"accounting": {"x": 1,', "damaged accounting"),
        (r'"shards": \[', '"shards": [3,', "damaged shards"),
        (r'"schema": "ner"', '"schema": []', "no such schema"),
        (r"^\{", "[", "damaged"),
    ],
)
def test_verify_finds_what_is_wrong_in_a_description(output, capsys, pattern, replacement, message):
    change(output / "ner" / "dataset.json", pattern, replacement)

    assert shards(["verify", str(output / "ner")]) == 1
    assert re.search(message, capsys.readouterr().err)


def dataset_with(folder, rows):
    """Write a dataset by hand, that no run would write."""
    about = {"plan": {"fingerprint": fingerprint_of({})}, "accounting": {"read": 1, "written": 1}}
    write_dataset(folder, rows, **about)
    (folder / "rejected.jsonl").touch()
    return folder


def test_verify_finds_repeated_ids(tmp_path, capsys):
    folder = dataset_with(tmp_path / "d", [document_to_row(letter())] * 2)

    assert shards(["verify", str(folder)]) == 1
    assert "the id 'a.xml' is met twice" in capsys.readouterr().err


def test_verify_checks_rows_when_asked(tmp_path, capsys):
    row = document_to_row(letter(mentions=(Mention(0, 3),)))
    row["mentions"][0]["end"] = 4
    folder = dataset_with(tmp_path / "d", [row])

    assert shards(["verify", str(folder)]) == 0
    assert shards(["verify", str(folder), "--rows"]) == 1
    assert "leaves the text" in capsys.readouterr().err


def test_show_names_the_datasets_of_a_run(output, capsys):
    assert shards(["show", str(output)]) == 2
    assert "Name one: documents, ner" in capsys.readouterr().err
