"""Words beside links, learned from the first pages, decide where titles are matched."""

import pytest

from corpora.datasets.shards import open_dataset
from corpora.wikipedia import reuse
from tests.corpora.wikipedia.small_wiki import Page, SmallWiki
from tests.pipelines.test_wikipedia_sentences import build

pytestmark = pytest.mark.usefixtures("without_runner")
TEXT = "Then in Nepal we met. The Nepal gardens shone."


def dump_of(folder, name, *, n_links, more=""):
    linked = "Now in [[Nepal]] we live. " * n_links
    pages = [Page(1, "Links", linked), Page(2, "Text", f"See [[Nepal]] now.\n\n{TEXT}{more}")]
    (folder / name).write_text(SmallWiki(tuple(pages)).dump(), encoding="utf-8")
    return folder / name


def matched(output):
    documents = [*open_dataset(output / "documents").records()]
    [text] = [each for each in documents if each.title == "Text"]
    starts = [m.start for m in text.mentions if m.origin == "title_match"]
    return [text.text[start - 4 : start] for start in starts]


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    dump = dump_of(folder, "kleinwiki-20261101-pages-articles.xml", n_links=2000)
    return build(dump, folder / "out")


def test_a_title_is_matched_between_words_that_stand_beside_links(learned):
    assert matched(learned) == [" in "]


def test_few_links_say_nothing(tmp_path):
    dump = dump_of(tmp_path, "kleinwiki-20261101-pages-articles.xml", n_links=20)

    assert matched(build(dump, tmp_path / "out")) == [" in ", "The "]


def test_a_refresh_keeps_the_words_of_the_earlier_run(learned, tmp_path):
    name = "kleinwiki-20261201-pages-articles.xml"
    dump = dump_of(tmp_path, name, n_links=20, more=" More.")

    assert matched(build(dump, tmp_path / "new", "--reuse", learned)) == [" in "]


def test_a_run_after_one_without_matches_learns_the_words(tmp_path):
    dump = dump_of(tmp_path, "kleinwiki-20261101-pages-articles.xml", n_links=2000)
    build(dump, tmp_path / "old", "--augment", "off")

    assert matched(build(dump, tmp_path / "new", "--reuse", tmp_path / "old")) == [" in "]


def test_a_run_after_one_of_another_version_learns_the_words(monkeypatch, tmp_path):
    dump = dump_of(tmp_path, "kleinwiki-20261101-pages-articles.xml", n_links=2000)
    build(dump, tmp_path / "old")
    before = reuse.find_earlier(tmp_path / "old", output=tmp_path / "new")
    before.plan["code"] = before.plan["parameters"]["name_edges"] = "of another version"
    monkeypatch.setattr(reuse, "find_earlier", lambda *_, **__: before)

    assert matched(build(dump, tmp_path / "new", "--reuse", tmp_path / "old")) == [" in "]
