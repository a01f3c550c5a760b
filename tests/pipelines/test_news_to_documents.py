"""News to documents: what comes out of archives and saved pages, and what is left out and why."""

import gzip
import json
import random
import shutil
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from corpora.datasets.shards import open_dataset
from corpora.store.inspection import main as shards
from corpora.system.sandbox import Bounds
from pipelines import news_to_documents
from pipelines.news_to_documents import main
from tests.corpora.news.archive_samples import PAGE, READABLE, by_record, plain, warc_record

pytestmark = pytest.mark.usefixtures("without_runner")

SAMPLES = Path(__file__).resolve().parents[1] / "data" / "news"
KEPT = {"bruecke.html", "museum.html", "hochwasser.html", "ticker.html", "dansk.html.gz"}
FILTERED = {
    "exact_duplicate": 1,
    "near_duplicate": 1,
    "list_page": 1,
    "paywall": 1,
    "tdm_reserved": 1,
}


def run(output, *options, html=None, warc=None):
    where = ["--warc", str(warc)] if warc else ["--html", str(html or SAMPLES / "*.html*")]
    if html is None and warc is None:
        where += ["--urls", str(SAMPLES / "urls.tsv")]
    return main([*where, "--output", str(output), *map(str, options)])


def documents_of(folder):
    return list(open_dataset(folder, "documents").records())


def describe(folder):
    return json.loads((folder / "dataset.json").read_text("utf-8"))


def accounting_of(folder):
    return describe(folder)["accounting"]


def duplicates_of(folder):
    lines = (folder / "duplicates.tsv").read_text("utf-8").splitlines()
    return {row[0]: (row[2], row[4]) for row in (line.split("\t") for line in lines[1:])}


def published(folder):
    paths = [p for p in folder.rglob("*") if p.is_file() and ".build" not in p.parts]
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in paths if p.name != ".lock"}


def sample_records():
    """Return the sample pages as responses, with the addresses of the table."""
    rows = (SAMPLES / "urls.tsv").read_text("utf-8").splitlines()[1:]
    records = []
    for name, url, date in (row.split("\t") for row in rows):
        data = (SAMPLES / name).read_bytes()
        body = gzip.decompress(data) if name.endswith(".gz") else data
        head = PAGE.replace(b"; charset=utf-8", b"")
        digest = {"WARC_Payload_Digest": f"sha1:{name}"}
        records.append(warc_record("response", head + body, url=url, date=date, **digest))
    return records


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Make the samples, once."""
    output = tmp_path_factory.mktemp("samples") / "out"
    assert run(output) == 0
    return output


def test_every_page_is_a_document_or_has_a_reason(made):
    account = accounting_of(made)

    assert {document.id for document in documents_of(made)} == KEPT
    assert account["filtered"] == FILTERED
    assert account["read"] == 10 == account["written"] + sum(account["filtered"].values())
    assert shards(["verify", str(made), "--rows"]) == 0


def test_duplicates_are_listed_with_the_one_that_is_kept(made):
    assert duplicates_of(made) == {
        "bruecke-druck.html": ("exact", "bruecke.html"),
        "hochwasser-agentur.html": ("near", "hochwasser.html"),
    }


def test_a_document_has_text_links_and_what_the_page_says(made):
    [document] = [d for d in documents_of(made) if d.id == "bruecke.html"]

    assert (document.title, document.lang) == ("Steinbrücke wieder offen", "de")
    assert document.group == "kreisbote.example"
    assert document.timestamp == "2026-10-05T08:30:00+02:00"
    assert document.metadata["authors"] == "Jörn Falkenhagen"
    assert document.metadata["mining"] == "unreserved"
    assert [(document.text[m.start : m.end], m.entity) for m in document.mentions] == [
        ("Kappenrode", "url:https://www.kappenrode.example/stadt"),
        ("Heimatverein", "url:https://www.kreisbote.example/vereine/heimatverein.html"),
    ]
    assert [m.attributes.get("section") for m in document.mentions] == ["geschichte", None]
    lines = [document.text[p.start : p.end] for p in document.paragraphs]
    assert lines == document.text.split("\n")
    assert document.sentences


def test_what_stands_on_many_pages_of_the_site_is_gone(made):
    assert not any("Abonnement" in document.text for document in documents_of(made))
    assert describe(made)["counters"]["blocks.boilerplate"] == 7


def test_an_article_of_which_boilerplate_leaves_too_little_is_short(tmp_path):
    run(tmp_path / "out", "--boilerplate-pages", 2, "--min-characters", 700)

    account = accounting_of(tmp_path / "out")
    left_out = {"list_page": 1, "paywall": 1, "short": 6, "tdm_reserved": 1}
    assert (account["read"], account["written"], account["filtered"]) == (10, 1, left_out)
    assert len(documents_of(tmp_path / "out")) == 1


def test_a_licence_is_named_and_a_page_without_one_gets_that_of_the_run(tmp_path):
    run(tmp_path / "out", "--license", "LicenseRef-Kreisbote")

    licenses = {document.id: document.license for document in documents_of(tmp_path / "out")}
    assert licenses["museum.html"] == "CC-BY-SA-4.0"
    assert licenses["ticker.html"] == "LicenseRef-Kreisbote"


@pytest.mark.parametrize("form", READABLE)
def test_an_archive_of_the_pages_gives_the_same_articles(made, tmp_path, form):
    archive = tmp_path / "crawl.warc"
    archive.write_bytes(READABLE[form](sample_records()))

    assert run(tmp_path / "out", warc=archive) == 0

    expected, found = documents_of(made), documents_of(tmp_path / "out")
    assert sorted((d.url, d.text) for d in found) == sorted((d.url, d.text) for d in expected)
    assert accounting_of(tmp_path / "out")["filtered"] == FILTERED
    assert all(d.id.startswith("crawl.warc#") for d in found)


def test_a_damaged_record_among_others_that_are_no_articles_is_no_error(tmp_path, capsys):
    records = [warc_record("request", b"GET / HTTP/1.1\r\n\r\n")] * 3
    archive = tmp_path / "crawl.warc"
    archive.write_bytes(by_record(records)[:-20])

    assert run(tmp_path / "out", warc=archive) == 0

    account = accounting_of(tmp_path / "out")
    assert (account["filtered"], account["rejected"]) == (
        {"record.request": 2},
        {"truncated_archive": 1},
    )
    assert "nothing was written: all that was not rejected was filtered" in capsys.readouterr().out


def test_what_is_kept_depends_neither_on_order_nor_on_workers_nor_on_units(
    made, tmp_path, monkeypatch
):
    monkeypatch.setattr(news_to_documents, "RANGE_BYTES", (3_500, 3_500))
    archive = tmp_path / "crawl.warc"
    archive.write_bytes(by_record(random.Random(1).sample(sample_records(), k=10)))

    run(tmp_path / "one", warc=archive)
    run(tmp_path / "two", "--workers", 2, warc=archive)

    assert published(tmp_path / "one") == published(tmp_path / "two")
    assert len(describe(tmp_path / "one")["shards"]) > 2
    texts = sorted(document.text for document in documents_of(tmp_path / "one"))
    assert texts == sorted(document.text for document in documents_of(made))


def test_records_that_are_no_pages_have_reasons(tmp_path):
    ok, other = PAGE, PAGE.replace(b"text/html", b"image/png")
    records = [
        warc_record("warcinfo", b"software: x"),
        warc_record("request", b"GET / HTTP/1.1\r\n\r\n"),
        warc_record("response", ok.replace(b"200 OK", b"404 Not Found") + b"gone"),
        warc_record("response", other + b"\x89PNG"),
        warc_record("response", b"1.2.3.4", url="dns:a.example"),
        *sample_records(),
        warc_record("revisit", ok, WARC_Payload_Digest="sha1:museum.html"),
        warc_record("revisit", ok, WARC_Payload_Digest="sha1:bruecke-druck.html"),
        warc_record("revisit", ok, WARC_Payload_Digest="sha1:elsewhere"),
    ]
    archive = tmp_path / "crawl.warc.gz"
    archive.write_bytes(by_record(records))

    run(tmp_path / "out", warc=archive)

    filtered = accounting_of(tmp_path / "out")["filtered"]
    assert Counter(filtered) - Counter(FILTERED) == Counter(
        {"record.warcinfo": 1, "record.request": 1, "record.not_http": 1}
        | {"status": 1, "content_type": 1, "revisit": 3}
    )
    counters = describe(tmp_path / "out")["counters"]
    named = json.loads((tmp_path / "out" / "counters.json").read_text("utf-8"))
    assert (named["status/404"], named["content_type/image-png"]) == (1, 1)
    assert (counters["revisits.of_an_article"], counters["revisits.others"]) == (2, 1)
    urls = {document.id: document.url for document in documents_of(tmp_path / "out")}
    kept = [
        urls[place] for kind, place in duplicates_of(tmp_path / "out").values() if kind == "revisit"
    ]
    assert [url.rpartition("/")[2] for url in kept] == ["museum.html", "bruecke.html"]


def test_addresses_and_dates_that_are_broken_do_no_harm(tmp_path):
    page = (SAMPLES / "museum.html").read_bytes()
    old = page.replace(b"2026-10-07", b"0001-01-01T00:00:00+05:00").replace(b"Tietjen", b"Jansen")
    archive = tmp_path / "crawl.warc"
    records = [
        warc_record("response", PAGE + page, url="http://[broken", date="gestern"),
        warc_record("response", PAGE + old, url="https://a.example:port/x"),
    ]
    archive.write_bytes(plain(records))

    assert run(tmp_path / "out", "--near-duplicates", 1.1, warc=archive) == 0

    assert {document.group for document in documents_of(tmp_path / "out")} == {"news", "a.example"}


def test_damaged_records_are_rejected_with_their_place(tmp_path):
    records = [by_record([record]) for record in sample_records()]
    damaged = records[1][:80] + b"\xff\xff\xff" + records[1][83:]
    archive = tmp_path / "crawl.warc.gz"
    archive.write_bytes(records[0] + damaged + b"".join(records[2:]))

    assert run(tmp_path / "out", warc=archive) == 0

    [line] = (tmp_path / "out" / "rejected.jsonl").read_text("utf-8").splitlines()
    row = json.loads(line)
    assert (row["source"], row["position"]) == ("crawl.warc.gz", f"byte {len(records[0])}")
    assert row["reason"] == "damaged_archive"
    assert accounting_of(tmp_path / "out")["read"] == 10


def test_hostile_pages_are_rejected_and_the_others_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("pipelines.transforms.news.Bounds", partial(Bounds, seconds=2))
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in ("museum.html", "bruecke.html"):
        shutil.copy(SAMPLES / name, pages)
    (pages / "bomb.html.gz").write_bytes(gzip.compress(b"<p>" + b"\0" * 100_000_000))
    (pages / "deep.html").write_text("<html><body>" + "<div>" * 200_000 + "<p>Tief", "utf-8")
    (pages / "large.html").write_bytes(b"<p>" + b"lang " * 21_000_000)
    (pages / "noise.html").write_bytes(bytes(range(256)) * 20)
    (pages / "slow.html").write_text("<article>" + "<p>Nur ein Absatz.</p>" * 60_000, "utf-8")

    options = ("--max-reject-rate", "1")
    assert run(tmp_path / "out", *options, html=pages) == 0

    lines = (tmp_path / "out" / "rejected.jsonl").read_text("utf-8").splitlines()
    assert {row["source"]: row["reason"] for row in map(json.loads, lines)} == {
        "bomb.html.gz": "too_large",
        "deep.html": "too_deep",
        "large.html": "too_large",
        "noise.html": "not_text",
        "slow.html": "extraction_timeout",
    }
    assert len(documents_of(tmp_path / "out")) == 2


def test_articles_of_earlier_datasets_are_not_taken_again(made, tmp_path):
    pages = tmp_path / "pages"
    pages.mkdir()
    for name in ("museum.html", "hochwasser-agentur.html"):
        shutil.copy(SAMPLES / name, pages)

    run(tmp_path / "out", "--previous", made, html=pages)

    assert not documents_of(tmp_path / "out")
    assert duplicates_of(tmp_path / "out") == {
        "museum.html": ("near", "museum.html"),
        "hochwasser-agentur.html": ("near", "hochwasser.html"),
    }


def test_thresholds_are_options(tmp_path):
    options = ["--near-duplicates", 1.1, "--boilerplate-pages", 0, "--reserved", "keep"]

    run(tmp_path / "out", *options, "--lang", "de")

    assert accounting_of(tmp_path / "out")["filtered"] == {
        "exact_duplicate": 1,
        "language": 1,
        "list_page": 1,
        "paywall": 1,
    }


def test_a_limit_counts_records(tmp_path):
    archive = tmp_path / "crawl.warc"
    archive.write_bytes(plain(sample_records()))

    run(tmp_path / "out", "--limit", 3, warc=archive)

    assert accounting_of(tmp_path / "out")["read"] == 3


def test_a_second_run_does_nothing_and_a_damaged_shard_is_made_again(tmp_path, capsys):
    run(tmp_path / "out")
    first = published(tmp_path / "out")
    (tmp_path / "out" / "shard-00000.arrow").write_bytes(b"damaged")
    run(tmp_path / "out")
    run(tmp_path / "out")

    assert "already complete" in capsys.readouterr().out
    assert published(tmp_path / "out") == first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--warc or --html"),
        (["--warc", "a", "--html", "b"], "--warc or --html"),
        (["--warc", "none/*.gz"], "--warc none/*.gz: matches no file"),
        (["--warc", str(SAMPLES), "--urls", "x.tsv"], "--urls is for --html"),
        (["--html", str(SAMPLES), "--lang", "xx"], "--lang xx: not identified"),
        (["--html", str(SAMPLES), "--previous", "none"], "--previous none: matches nothing"),
        (["--input", str(SAMPLES)], "--input: no such option"),
    ],
)
def test_wrong_options_are_errors_of_usage(tmp_path, capsys, options, message):
    try:
        status = main([*options, "--output", str(tmp_path / "out")])
    except SystemExit as end:
        status = end.code

    assert status == 2
    assert message in capsys.readouterr().err


@pytest.mark.realdata
def test_every_record_of_real_archives_is_accounted_for(realdata, tmp_path):
    run(tmp_path / "out", "--exclude", "aut-*", warc=realdata("warc") / "*.gz")

    account = accounting_of(tmp_path / "out")
    assert account["read"] == 380  # as the description of the set counts them
    assert account["rejected"] == {}
    assert account["filtered"]["revisit"] == 133
