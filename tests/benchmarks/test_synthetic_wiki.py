"""The synthetic wiki of the benchmarks: always the same, and as its constants say."""

import bz2
import re

import pytest

from benchmarks.synthetic_wiki import Wiki, write_dump
from corpora.wikipedia.dump import examine, read_pages
from corpora.wikipedia.pages import WikiPage

N_ARTICLES = 450


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dumps")
    wiki = Wiki(N_ARTICLES)
    return {
        (month, workers): write_dump(wiki, folder / f"{workers}", month=month, workers=workers)[0]
        for month, workers in ((1, 1), (1, 2), (2, 2))
    }


def pages_of(dump):
    found = examine(dump, range_bytes=1 << 20, work_directory=dump.parent)
    assert found.complete
    return [
        page
        for range_ in found.ranges
        for page in read_pages(dump, range_, source="dump", max_page_bytes=1 << 24)
    ]


def test_bytes_do_not_depend_on_the_workers(dumps):
    one, two = dumps[1, 1], dumps[1, 2]

    assert one.read_bytes() == two.read_bytes()


def test_every_page_is_well_formed_and_has_an_id_and_a_title_of_its_own(dumps):
    pages = pages_of(dumps[1, 1])

    assert all(isinstance(page, WikiPage) for page in pages)
    assert len({page.id for page in pages}) == len(pages) > 2 * N_ARTICLES
    assert len({page.title for page in pages}) == len(pages)
    articles = [page.text for page in pages if page.namespace == 0 and page.redirect is None]
    assert len(set(articles)) == len(articles) == N_ARTICLES


def test_the_index_names_the_stream_of_each_page(dumps):
    dump = dumps[1, 1]
    data = dump.read_bytes()
    packed = dump.with_name(dump.name.replace(".xml.bz2", "-index.txt.bz2")).read_bytes()
    index = bz2.decompress(packed).decode().splitlines()

    for line in index[:: len(index) // 5]:
        at, id, title = line.split(":", 2)
        xml = bz2.BZ2Decompressor().decompress(data[int(at) :]).decode()

        assert re.search(f"<title>{re.escape(title)}</title>\\s*<ns>.*</ns>\\s*<id>{id}</id>", xml)


def test_the_next_month_changes_the_ratio_that_it_says(dumps):
    before, after = (
        {page.id: page for page in pages_of(dumps[month, 2]) if page.namespace == 0}
        for month in (1, 2)
    )
    edited = [id for id in before.keys() & after.keys() if before[id].text != after[id].text]
    changed = len(edited) + len(before.keys() - after.keys()) + len(after.keys() - before.keys())

    assert edited
    assert after.keys() - before.keys()
    assert 0.01 < changed / N_ARTICLES < 0.04


def test_a_shorter_median_makes_shorter_articles_of_the_same_titles(tmp_path):
    articles = []
    for median in (340, 3_400):
        wiki = Wiki(100, median=median)
        dump, _ = write_dump(wiki, tmp_path / f"{median}", month=1, workers=1)
        pages = [p for p in pages_of(dump) if p.namespace == 0 and p.redirect is None]
        articles.append({page.title: len(page.text) for page in pages})
    short, long = articles

    assert short.keys() == long.keys()
    assert len(short) == 100
    assert 3 * sum(short.values()) < sum(long.values())
