"""Every article of every real dump: offsets, ledger, and no markup left in the text."""

import re
from pathlib import Path

import pytest

from corpora.wikipedia.articles import find_redirect
from corpora.wikipedia.dump import examine, read_pages
from corpora.wikipedia.pages import WikiPage
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import wiki_of
from corpora.wikipedia.wikitext import extract
from tests.corpora.wikipedia.test_wikitext_properties import problems

# The minidumps all carry the head of the English wiki, the single pages none: the file name tells.
LANGUAGE = re.compile(r"(?:.*/)?([a-z]+)wiki")
MARKUP = re.compile(r"\{\{|\[\[|\|thumb\b|<ref\b|<!--|\[\[(?:File|Image):")
FILES = (
    "enwiki-2014-first-pages.xml.bz2",
    "enwiki-20150112-bliki.xml.bz2",
    "enwiki-wikipedia2vec-sample.xml.bz2",
    "jawiki-2022-first-pages.xml.bz2",
    "ltgwiki-latest-pages-articles.xml.bz2",
    "ukwiki-20230501-first-100k-lines.xml.xz",
    "zh/zhwiki-test-pages.xml",
    "zh/zhwiki-broken-2.xml",
    *(
        f"dbpedia-minidumps/{lang}wiki.xml.bz2"
        for lang in (
            *("als", "da", "de", "en", "fo", "fr", "it", "ja"),
            *("nds", "nl", "nn", "no", "simple", "sv", "zh"),
        )
    ),
    *(f"de-single-pages/dewiki-20130602-id{id}.xml" for id in (1, 5, 81, 89, 111)),
)


LINK = re.compile(r"\[\[([^\[\]|{}<>\n]+)(?:\|([^\[\]{}<>&\n]+))?\]\]")


def letters(text):
    return "".join(filter(str.isalnum, text))


def surfaces_that_fit(page, text, wiki):
    """Count the mentions of titles that the source links with plain texts, and those that fit.

    A mention fits if it begins with such a text; letters after the link may follow.
    """
    anchors = {}
    for raw, anchor in LINK.findall(page.text):
        target = wiki.target(raw)
        anchors.setdefault(target.title, set()).add(letters(anchor or target.label))
    known = [link for link in text.links if link.target in anchors]
    fit = [
        link
        for link in known
        if any(map(letters(text.text[link.start : link.end]).startswith, anchors[link.target]))
    ]
    return len(known), len(fit)


def articles(path, work_directory):
    dump = examine(path, range_bytes=1 << 30, work_directory=work_directory)
    for range_ in dump.ranges:
        for page in read_pages(
            path, range_, source=path.name, max_page_bytes=1 << 26, work_directory=work_directory
        ):
            if isinstance(page, WikiPage) and page.namespace in {0, None} and page.model != "json":
                yield page


@pytest.mark.realdata
@pytest.mark.parametrize("name", FILES)
def test_articles_of_a_dump_keep_all_promises(name, realdata, tmp_path):
    path = Path(realdata("wiki-dumps")) / name
    lang = LANGUAGE.match(name)[1]
    head = examine(path, range_bytes=1 << 30, work_directory=tmp_path).site
    namespaces = {} if "minidumps" in name else head.namespaces
    wiki, templates = wiki_of(name=lang, lang=lang, namespaces=namespaces), load_templates(lang)

    n_links = n_known = n_fit = 0
    for page in articles(path, tmp_path):
        if find_redirect(page, wiki):
            continue
        text = extract(page.text, wiki, templates, title=page.title, today=page.timestamp[:10])
        assert problems(page.text, text) == [], page.title
        assert not MARKUP.search(text.text), page.title
        n_links += len(text.links)
        known, fit = surfaces_that_fit(page, text, wiki)
        n_known, n_fit = n_known + known, n_fit + fit

    assert n_known > 0.8 * n_links > 0
    assert n_fit >= 0.995 * n_known
