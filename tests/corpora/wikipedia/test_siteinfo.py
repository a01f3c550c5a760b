"""What a dump says of its wiki, and where else its name is looked for."""

import pytest

from corpora.wikipedia.articles import license_of
from corpora.wikipedia.siteinfo import read_site


def head(*, dbname="", base="", case="first-letter", namespaces="", lang="sr"):
    dbname = f"<dbname>{dbname}</dbname>" if dbname else ""
    return (
        f'<?xml version="1.0" encoding="utf-8"?><mediawiki xml:lang="{lang}"><siteinfo>{dbname}'
        f"<base>{base}</base><case>{case}</case><namespaces>{namespaces}</namespaces></siteinfo>"
    ).encode()


@pytest.mark.parametrize(
    ("dbname", "name", "base", "wiki"),
    [
        ("dawiki", "sample.xml", "https://sv.wikipedia.org/wiki/Start", "dawiki"),
        ("", "dawiki-20080101-pages-articles.xml.bz2", "", "dawiki"),
        ("", "zh_classicalwiki.xml", "", "zh_classicalwiki"),
        ("", "frwiktionary-latest-pages-articles.xml", "", "frwiktionary"),
        ("", "dump.xml", "http://zh-min-nan.wikipedia.org/wiki/X", "zh_min_nanwiki"),
        ("", "wiki.xml", "https://de.wiktionary.org/wiki/X", "dewiktionary"),
        ("", "dump.xml", "https://www.wiki.example.org/title/Main_page", "wiki.example.org"),
        ("", "mywikipages.xml", "", ""),
    ],
)
def test_the_name_of_a_wiki_is_looked_for_in_dump_file_and_address(dbname, name, base, wiki):
    site = read_site(head(dbname=dbname, base=base), name=name)

    assert site.wiki == wiki


@pytest.mark.parametrize(
    ("main_page", "base"),
    [
        ("https://da.wikipedia.org/wiki/Forside", "https://da.wikipedia.org/wiki/"),
        ("https://x.org/wiki/Help:A/b", "https://x.org/wiki/"),
        ("http://x.org/w/index.php/Main_Page", "http://x.org/w/index.php/"),
        ("http://x.org/index.php?title=Main/Page", "http://x.org/index.php?title="),
        ("http://x.org", ""),
        ("", ""),
    ],
)
def test_the_base_is_what_a_title_is_appended_to(main_page, base):
    site = read_site(head(base=main_page), name="")

    assert site.base == base


def test_namespaces_are_named_as_in_the_dump():
    namespaces = (
        '<namespace key="-2">Медиј</namespace><namespace key="0" />'
        '<namespace key="6" case="first-letter">A &amp; B</namespace>'
    )

    site = read_site(head(namespaces=namespaces), name="")

    assert site.namespaces == {"Медиј": -2, "": 0, "A & B": 6}
    assert site.lang == "sr"


@pytest.mark.parametrize(
    ("case", "namespaces", "expected"),
    [
        ("first-letter", "", False),
        ("case-sensitive", "", True),
        ("first-letter", '<namespace key="0" case="case-sensitive" />', True),
        ("case-sensitive", '<namespace key="0" case="first-letter" />', False),
        ("first-letter", '<namespace key="2302" case="case-sensitive">G</namespace>', False),
    ],
)
def test_case_is_that_of_the_articles(case, namespaces, expected):
    site = read_site(head(case=case, namespaces=namespaces), name="")

    assert site.case_sensitive is expected


@pytest.mark.parametrize(
    ("name", "dbname", "lang"),
    [
        ("dawiki-20261101-pages-articles.xml.bz2", "dawiki", "da"),
        ("simplewiki-20261101.xml", "simplewiki", "en"),
        ("nowiki-20261101.xml", "nowiki", "nb"),
        ("be_x_oldwiki-20261101.xml", "be_x_oldwiki", "be-tarask"),
        ("kleinwiki-20261101.xml", "kleinwiki", "de"),
        ("sample.xml", "dawiki", "da"),
        ("dawiki.xml.bz2", "", ""),
    ],
)
def test_a_name_and_a_head_that_agree_raise_no_doubt(name, dbname, lang):
    assert read_site(head(dbname=dbname, lang=lang), name=name).doubt == ""


def test_the_name_of_a_file_says_nothing_of_a_wiki_that_is_not_of_wikimedia():
    of = {"base": "https://crossing.example.org/wiki/Home", "lang": "en"}

    named = read_site(head(dbname="crossing", **of), name="dawiki-20260101-current.xml")
    unnamed = read_site(head(**of), name="dawiki-20260101-current.xml")

    assert (named.wiki, named.doubt) == ("crossing", "")
    assert (unnamed.wiki, unnamed.doubt) == ("crossing.example.org", "")


@pytest.mark.parametrize(
    ("dbname", "base", "lang"),
    [
        ("enwiki", "", "en"),
        ("dawiki", "", "en"),
        ("", "https://en.wikipedia.org/wiki/Main_Page", "da"),
    ],
)
def test_a_name_that_the_head_denies_is_reported(dbname, base, lang):
    site = read_site(head(dbname=dbname, base=base, lang=lang), name="dawiki.xml.bz2")

    assert site.doubt.startswith("its name says dawiki, but its <siteinfo> ")


@pytest.mark.parametrize(
    ("file", "generator", "license"),
    [
        ("dawiki-20261101-pages-articles.xml.bz2", "", "CC-BY-SA-4.0"),
        ("dawiki-20230601-pages-articles.xml.bz2", "MediaWiki 1.46.0-wmf.7", "CC-BY-SA-3.0"),
        ("dawiki-20080101-pages-articles.xml.bz2", "", "GFDL-1.2-or-later"),
        ("dawiki-latest.xml", "MediaWiki 1.46.0-wmf.7", "CC-BY-SA-4.0"),
        ("dawiki-latest.xml", "MediaWiki 1.41.0-wmf.11", "CC-BY-SA-3.0"),
        ("dawiki-latest.xml", "MediaWiki 1.25wmf6", "CC-BY-SA-3.0"),
        ("dawiki-latest.xml", "MediaWiki 1.15alpha", "GFDL-1.2-or-later"),
        ("dawiki.xml", "", "CC-BY-SA-4.0"),
    ],
)
def test_the_licence_is_that_of_the_day_of_the_dump(file, generator, license):
    base = "https://da.wikipedia.org/wiki/"

    assert license_of(base, file=file, generator=generator) == license
    assert license_of("https://da.wikinews.org/wiki/", file=file, generator=generator) is None


@pytest.mark.parametrize(
    ("base", "license"),
    [
        ("https://wikisource.org/wiki/", "CC-BY-SA-4.0"),
        ("https://commons.wikimedia.org/wiki/", "CC-BY-SA-4.0"),
        ("https://www.mediawiki.org/wiki/", "CC-BY-SA-4.0"),
        ("https://de.wikimannia.org/", None),
        ("https://en.wikitravel.org/en/", None),
    ],
)
def test_only_wikis_of_wikimedia_have_its_licence(base, license):
    assert license_of(base) == license
