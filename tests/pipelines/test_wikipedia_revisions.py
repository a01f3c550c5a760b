"""Several revisions of a page: the newest is the page, wherever the others stand in the dump."""

from dataclasses import replace

import pytest

from corpora.datasets.shards import open_dataset
from tests.corpora.wikipedia.small_wiki import Page, SmallWiki, article
from tests.pipelines.reuse.small_refreshes import account, cut_small, files_of, reused, run

pytestmark = pytest.mark.usefixtures("without_runner")
WIKI = SmallWiki()
OLD = [Page(7, "Anna", f"Anna ist {n}. [[Korn]]", revision=n) for n in (8, 9, 10)]


def in_one_page(pages):
    """Write pages as revisions of one ``<page>`` element."""
    first, *others = (page.xml() for page in pages)
    revisions = "".join(xml[xml.index("<revision>") : xml.index("  </page>")] for xml in others)
    return first.replace("  </page>", f"{revisions}  </page>")


def dump(*parts):
    """Write a dump; its parts are pages, or the XML of such."""
    [before, after] = SmallWiki(()).dump().split("</mediawiki>")
    written = "".join(part if isinstance(part, str) else part.xml() for part in parts)
    return f"{before}{written}</mediawiki>{after}"


def documents_of(output):
    return {d.title: d for d in open_dataset(output / "documents", "documents").records()}


@pytest.fixture(scope="module")
def newest(tmp_path_factory):
    """Read the dump that has the newest revision alone."""
    output = tmp_path_factory.mktemp("newest") / "out"
    with pytest.MonkeyPatch.context() as patch:
        cut_small(patch)
        assert run(dump(OLD[-1], *WIKI.pages), output) == 0
    return output


FORMS = {
    "in one page": lambda pages: [in_one_page(pages), *WIKI.pages],
    "in a row": lambda pages: [*pages, *WIKI.pages],
    "apart": lambda pages: [pages[0], *WIKI.pages[:20], pages[1], *WIKI.pages[20:], pages[2]],
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
@pytest.mark.parametrize("order", [(2, 1, 0), (1, 2, 0), (0, 1, 2)])
def test_the_newest_revision_is_read_whatever_the_order(order, form, newest, tmp_path, monkeypatch):
    cut_small(monkeypatch)

    assert run(dump(*form([OLD[n] for n in order])), tmp_path / "out") == 0

    assert documents_of(tmp_path / "out") == documents_of(newest)
    once, several = account(newest), account(tmp_path / "out")
    assert several["filtered"] == {**once["filtered"], "older_revision": 2}
    assert several["read"] == once["read"] + 2
    assert several["rejected"] == {}


KINDS = {
    "article": Page(7, "Anna", article(1, ("Korn", "Kahn"))),
    "redirect": Page(7, "Anna", "Korn", is_redirect=True),
    "page of meanings": Page(7, "Anna", "* [[Korn]]\n{{Begriffsklärung}}"),
    "empty": Page(7, "Anna", ""),
    "template": Page(7, "Vorlage:Anna", "Anna [[Anna]]", namespace=10),
    "template that lists": Page(7, "Vorlage:Anna", "* Anna\n* Bo", namespace=10),
}


@pytest.mark.parametrize(
    ("newest", "olders"),
    [
        ("redirect", ["article"]),
        ("article", ["redirect", "page of meanings", "empty"]),
        ("empty", ["article"]),
        ("template that lists", ["template"]),
    ],
)
def test_nothing_of_an_older_revision_stays(newest, olders, tmp_path, monkeypatch):
    cut_small(monkeypatch)
    new = replace(KINDS[newest], revision=9)
    linking = Page(8, "Bo", "Bo kennt [[Anna]]. Anna kennt Bo. {{Anna}}")
    options = ("--expand-templates", "--disambiguation", "drop")
    run(dump(new, *WIKI.pages, linking), tmp_path / "newest", *options)
    once = account(tmp_path / "newest")

    for older in olders:
        old, output = replace(KINDS[older], revision=8), tmp_path / older
        assert run(dump(new, *WIKI.pages, linking, old), output, *options) == 0

        assert documents_of(output) == documents_of(tmp_path / "newest"), older
        rows = (open_dataset(path / "redirects").rows() for path in (tmp_path / "newest", output))
        assert [*next(rows)] == [*next(rows)]
        assert account(output)["filtered"] == {**once["filtered"], "older_revision": 1}


def test_a_refresh_reads_the_newest_of_pages_that_it_could_take_over(tmp_path, monkeypatch):
    cut_small(monkeypatch)
    months = [
        dump(OLD[0], *WIKI.pages),
        dump(OLD[0], OLD[1], *WIKI.pages, OLD[2], in_one_page([Page(9, "Bo", "Bo."), OLD[0]])),
        dump(OLD[2], *WIKI.pages, OLD[1], in_one_page([Page(9, "Bo", "Bo."), OLD[0]]), OLD[0]),
    ]
    run(months[0], tmp_path / "0")
    for number, wiki in enumerate(months[1:], start=1):
        run(wiki, tmp_path / f"{number}")
        run(wiki, tmp_path / f"new{number}", "--reuse", tmp_path / f"{number - 1}")

        assert files_of(tmp_path / f"new{number}") == files_of(tmp_path / f"{number}")
        assert reused(tmp_path / f"new{number}")["taken over"] >= len(WIKI.pages) // 2
