"""Samples that come with every installation are those of the tests, and the commands read them."""

import csv
import gzip
import io
import re
import shlex
import zipfile
from pathlib import Path

import pytest

import onoma
from corpora import samples
from corpora.samples.__main__ import SAMPLES, main
from tests.corpora.news.archive_samples import by_record, warc_record

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data"
WARC = "kreisbote.warc.gz"


def web_archive():
    """Pack the saved pages as a web archive."""
    rows = csv.DictReader((DATA / "news" / "urls.tsv").read_text().splitlines(), delimiter="\t")
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
    records = []
    for row in rows:
        page = (DATA / "news" / row["file"]).read_bytes()
        page = gzip.decompress(page) if row["file"].endswith(".gz") else page
        records.append(warc_record("response", head + page, url=row["url"], date=row["date"]))
    return by_record(records)


FILES = {
    "tei": [
        *((path.name, path) for path in sorted((DATA / "letters").iterdir())),
        *((f"register/{path.name}", path) for path in sorted((DATA / "register").iterdir())),
        ("enrich/09.xml", DATA / "enrich" / "09.xml"),
    ],
    "wikipedia": [(path.name, path) for path in (DATA / "wikipedia").glob("*pages-articles.xml")],
    "news": [(path.name, path) for path in sorted((DATA / "news").iterdir())],
    "chinese": [("wulingzhen/wulingzhen.txt", DATA / "text" / "wulingzhen.txt")],
}


def packed(kind):
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, path in FILES[kind]:
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
        if kind == "news":
            archive.writestr(zipfile.ZipInfo(WARC), web_archive(), zipfile.ZIP_DEFLATED)
    return made.getvalue()


@pytest.mark.parametrize("kind", SAMPLES)
def test_a_sample_is_written_and_the_next_command_reads_it(
    request, kind, tmp_path, monkeypatch, capsys
):
    archive = Path(samples.__file__).parent / f"{kind}.zip"
    if request.config.getoption("--update-golden"):
        archive.write_bytes(packed(kind))

    assert main([kind, str(tmp_path / "Ada's files")]) == 0

    found = {name: (tmp_path / "Ada's files" / name).read_bytes() for name, _ in FILES[kind]}
    assert found == {name: path.read_bytes() for name, path in FILES[kind]}
    assert zipfile.ZipFile(archive).namelist() == [*found, *([WARC] if kind == "news" else [])]
    line = re.search("^next  onoma (.*)$", capsys.readouterr().out, re.MULTILINE)[1]
    monkeypatch.chdir(tmp_path)
    assert onoma.main(shlex.split(line)) == 0
    assert "rejected 0" in capsys.readouterr().out


def test_web_archive_of_the_sample_holds_the_saved_pages(tmp_path):
    assert main(["news", str(tmp_path)]) == 0

    packed = (tmp_path / WARC).read_bytes()
    assert gzip.decompress(packed) == gzip.decompress(web_archive())


def test_a_new_project_of_news_reads_the_sample(tmp_path, capfd):
    project = tmp_path / "mine"  # the others, which train: tests/check_readme.py

    assert onoma.main(["project", "new", "news", str(project)]) == 0
    assert f"or: onoma sample news {project}/archives\n" in capfd.readouterr().out
    assert "`onoma sample news archives`" in (project / "onoma.toml").read_text("utf-8")
    assert main(["news", str(project / "archives")]) == 0
    assert onoma.main(["project", "run", str(project)]) == 0

    said = capfd.readouterr().out
    assert re.search(r"^read 10 .* = written 5 \+ filtered 5 \+ rejected 0$", said, re.MULTILINE)
    assert said.endswith(f"{project}: all steps are done\n")


def test_files_that_are_there_are_not_overwritten(tmp_path, capsys):
    (tmp_path / "edition.toml").write_text("mine")

    assert onoma.main(["sample", "tei", str(tmp_path)]) == 2

    assert "edition.toml: is there already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["edition.toml"]


@pytest.mark.parametrize("command", [["sample", "tei"], ["project", "new", "tei"]])
def test_command_that_a_full_disk_ended_writes_the_rest_the_next_time(command, tmp_path, capsys):
    assert onoma.main([*command, str(tmp_path)]) == 0
    written = sorted(path for path in tmp_path.rglob("*") if path.is_file())
    written[-1].unlink()

    assert onoma.main([*command, str(tmp_path)]) == 0

    assert sorted(path for path in tmp_path.rglob("*") if path.is_file()) == written
    written[0].write_text("mine")
    assert onoma.main([*command, str(tmp_path)]) == 2
    assert f"{written[0]}: is there already" in capsys.readouterr().err
    assert written[0].read_text() == "mine"
