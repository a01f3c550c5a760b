"""Sentences of a wiki in a language without a table: learned, reported, and the same ever after."""

import pytest

from corpora.datasets.shards import open_dataset
from corpora.segmentation.abbreviations import learn
from corpora.wikipedia import report
from pipelines.wikipedia_to_documents import main
from tests.corpora.segmentation.test_abbreviations import TEXT
from tests.corpora.wikipedia.small_wiki import Page, SmallWiki
from tests.pipelines.reuse.small_refreshes import cut_small

pytestmark = pytest.mark.usefixtures("without_runner")
HEAD = '<mediawiki version="0.11" xml:lang="de">'


def dump_of(folder, name="kleinwiki-20261101-pages-articles.xml", *, extra="", lang="qqq"):
    paragraphs = TEXT.split("\n")
    n = len(paragraphs) // 10
    pages = [
        Page(i + 1, f"Lapa {i}", "\n\n".join(paragraphs[i * n : (i + 1) * n]) + extra)
        for i in range(10)
    ]
    (folder / name).write_text(
        SmallWiki(tuple(pages)).dump().replace(HEAD, HEAD.replace("de", lang)), encoding="utf-8"
    )
    return folder / name


def build(dump, output, *options):
    assert main(["--input", str(dump), "--output", str(output), *map(str, options)]) == 0
    return output


def shards_of(output):
    return [path.read_bytes() for path in sorted((output / "documents").glob("*.arrow"))]


def first_sentences(output, n=3):
    row = next(iter(open_dataset(output / "documents").rows()))
    return [row["text"][s["start"] : s["end"]] for s in row["sentences"][:n]]


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    return build(dump_of(folder), folder / "out")


def test_abbreviations_are_learned_where_there_is_no_table(learned):
    assert first_sentences(learned)[0] == "Kari plkst. 5 tarimo plkst. 7 sola, un kordono."
    assert first_sentences(learned)[1] == "Prof. Berzis nos Kalnis redimo prof. Ozolis."
    assert '"plkst.",' in (learned / "abbreviations.toml").read_text("utf-8")
    assert "`abbreviations.toml`: 3 abbreviations" in (learned / "report.md").read_text("utf-8")


def test_the_number_of_workers_and_units_does_not_matter(learned, tmp_path, monkeypatch):
    cut_small(monkeypatch, range_bytes=25_000, batch=7_500)
    other = build(dump_of(tmp_path), tmp_path / "out", "--workers", 2)

    assert len(shards_of(other)) > 1
    table = (other / "abbreviations.toml").read_text("utf-8")
    assert table == (learned / "abbreviations.toml").read_text("utf-8")
    assert first_sentences(other) == first_sentences(learned)


def test_a_table_that_is_handed_back_makes_the_same_shards(learned, tmp_path):
    table = learned / "abbreviations.toml"
    again = build(dump_of(tmp_path), tmp_path / "out", "--abbreviations", table)

    assert shards_of(again) == shards_of(learned)


def test_a_limit_changes_no_table(learned, tmp_path):
    few = build(dump_of(tmp_path), tmp_path / "out", "--limit", 1)

    table = (few / "abbreviations.toml").read_text("utf-8")
    assert table == (learned / "abbreviations.toml").read_text("utf-8")


def test_a_refresh_keeps_the_table_of_the_earlier_run(learned, tmp_path):
    name = "kleinwiki-20261201-pages-articles.xml"
    dump = dump_of(tmp_path, name, extra="\n\n" + "Solo Xyz. 5 balda. " * 400)
    new = build(dump, tmp_path / "new", "--reuse", learned)
    table = learned / "abbreviations.toml"
    full = build(dump, tmp_path / "full", "--abbreviations", table)

    assert "xyz." in str(learn([dump.read_text("utf-8")]))
    assert shards_of(new) == shards_of(full)


def test_a_language_with_a_table_learns_nothing_and_the_report_names_it(tmp_path):
    output = build(dump_of(tmp_path, lang="deu"), tmp_path / "out")

    report = (output / "report.md").read_text("utf-8")
    assert "cut by `corpora/segmentation/languages/de.toml`" in report
    assert not (output / "abbreviations.toml").exists()


def test_the_report_warns_where_lengths_are_not_as_usual(tmp_path):
    broken = "\n\n" + "Kari. Xy. Zt. Solo. " * 300 + "\n\n" + "bal " * 900 + "\n\n"
    output = build(dump_of(tmp_path, extra=broken, lang="de"), tmp_path / "out")

    report = (output / "report.md").read_text("utf-8")
    assert "**More than usual are of one word.**" in report


def test_long_sentences_are_more_than_usual_from_the_usual_ratio_on():
    counters = {"sentences.all": 1000, "sentences.one_word": 100, "sentences.long": 5}

    as_usual = "\n".join(report._sentences(counters, "de.toml"))
    more = "\n".join(report._sentences({**counters, "sentences.long": 6}, "de.toml"))

    assert "More than usual" not in as_usual
    assert "**More than usual are longer than 800 characters.**" in more
