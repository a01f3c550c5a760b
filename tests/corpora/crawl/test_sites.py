"""The table of sites: what it gives, and how it says what is wrong."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from corpora.crawl.sites import KEYS, read_sites
from corpora.crawl.types import ANY_ADDRESS
from corpora.errors import UsageError

CONTACT = 'contact = "redaktion@bote.example"\n'
SITE = '[[site]]\nurl = "https://www.bote.example/"\n'


def read(tmp_path, text, **options):
    path = tmp_path / "sites.toml"
    path.write_text(text, "utf-8")
    return read_sites(path, **options)


def test_a_site_has_its_host_with_all_below_it_and_the_contact(tmp_path):
    [site] = read(tmp_path, CONTACT + SITE)

    assert (site.name, site.policy.hosts, site.find) == ("bote.example", ("bote.example",), ())
    assert site.policy.contact == "redaktion@bote.example"
    assert site.policy.allow_private == ()
    assert site.policy.respect_reservations


@pytest.mark.parametrize(
    ("site", "hosts"),
    [
        ('url = "http://127.0.0.1:8080/a"', ["127.0.0.1:8080"]),
        ('url = "https://[::1]:8443/"', ["[::1]:8443"]),
        ('url = "https://müller.example:443/"', ["xn--mller-kva.example"]),
        ('url = "https://www.de/"', ["www.de"]),  # never all of a top-level domain
        (
            'url = "https://WWW.Bote.Example./"\nhosts = ["Müller.example", "a.de.:80", "[::1]:8"]',
            ["bote.example", "xn--mller-kva.example", "a.de:80", "[::1]:8"],
        ),
    ],
)
def test_hosts_have_one_form_and_their_ports(tmp_path, site, hosts):
    [read_site] = read(tmp_path, f"{CONTACT}[[site]]\n{site}\n")

    assert list(read_site.policy.hosts) == hosts


def test_defaults_hold_where_a_site_says_nothing(tmp_path):
    defaults = "[defaults]\ndelay = 3\nmax_pages = 7\nsince = 2026-11-01\n"

    one, other = read(
        tmp_path, CONTACT + defaults + SITE + SITE.replace("www.", "neu.") + "delay=0.5"
    )

    assert (one.policy.delay, other.policy.delay) == (3, 0.5)
    assert one.policy.max_pages == other.policy.max_pages == 7
    assert one.since == datetime(2026, 11, 1, tzinfo=UTC)


def test_private_addresses_are_allowed_by_name_or_for_all(tmp_path):
    table = CONTACT + SITE + 'allow_private = ["10.1.0.0/16"]\n'

    [named] = read(tmp_path, table)
    [all_] = read(tmp_path, CONTACT + SITE + "allow_private = true\n")

    assert named.policy.allow_private == ("10.1.0.0/16",)
    assert all_.policy.allow_private == ANY_ADDRESS


def test_a_finder_that_is_named_twice_runs_once(tmp_path):
    [site] = read(tmp_path, CONTACT + SITE + 'find = ["feed", "sitemap", "feed"]\n')

    assert site.find == ("feed", "sitemap")


def test_patterns_say_what_is_wanted(tmp_path):
    [site] = read(tmp_path, CONTACT + SITE + 'include = ["*/politik/*"]\nexclude = ["*/video*"]\n')

    wanted = ["https://bote.example/politik/1", "https://bote.example/sport/1"]
    wanted.append("https://bote.example/politik/video-1")
    assert [site.wants(url) for url in wanted] == [True, False, False]


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (SITE, "no contact"),
        ("contact = 3\n" + SITE, "contact = 3: must be a string"),
        ('contact = "me"\n' + SITE, "contact 'me'"),
        (CONTACT, "no sites"),
        (CONTACT + "site = 3", "site = 3: must be a list, each item a table"),
        (CONTACT + "sites = 3\n" + SITE, "sites: unknown (did you mean site?)"),
        (CONTACT + "[[site]]\ndelay = 1\n", "site 1: no url"),
        (CONTACT + SITE + '[[site]]\nurl = "bote.example"', "site 2 (bote.example)"),
        (CONTACT + '[[site]]\nurl = "http://a.example:99999/"', "no address of a page"),
        (CONTACT + '[[site]]\nurl = "http://ä..example/"\n', "no address of a page"),
        (CONTACT + '[[site]]\nurl = "http://me:pw@a.example/"\n', "no address of a page"),
        (CONTACT + SITE + 'hosts = ["https://b.example/"]\n', "hosts: 'https://b.example/'"),
        (CONTACT + SITE + "dely = 1\n", "site 1: dely: unknown (did you mean delay?). There are "),
        (CONTACT + "[defaults]\nfeeds = []\n" + SITE, "defaults: feeds: unknown"),
        (CONTACT + SITE + 'delay = "1"\n', "delay = '1': must be a finite number"),
        (CONTACT + SITE + "delay = -1\n", "delay must be at least 0"),
        (CONTACT + SITE + "delay = nan\n", "delay = nan: must be a finite number"),
        (CONTACT + SITE + "max_pages = 1.5\n", "max_pages = 1.5: must be a whole number"),
        (CONTACT + SITE + "max_pages = true\n", "must be a whole number"),
        (CONTACT + SITE + 'find = ["sitemaps"]\n', "each item one of sitemap, feed"),
        (CONTACT + SITE + 'since = "2026-11-01"\n', "must be a date without quotes"),
        (CONTACT + SITE + 'feeds = ["feed.xml"]\n', "'feed.xml' is no address of a page"),
        (CONTACT + SITE + 'allow_private = ["intranet"]\n', "Write addresses or networks"),
        (CONTACT + SITE + SITE, "bote.example is named by two sites"),
        (CONTACT + "[[site]\n", "line 2"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path, table, said):
    with pytest.raises(UsageError) as error:
        read(tmp_path, table)

    assert "sites.toml" in str(error.value)
    assert said in str(error.value)


def test_a_table_that_is_not_there_is_a_usage_error(tmp_path):
    with pytest.raises(UsageError, match="cannot be read"):
        read_sites(tmp_path / "none.toml")


def test_the_sample_can_be_read_and_the_manual_names_every_key():
    docs = Path(__file__).resolve().parents[3] / "docs"

    sites = read_sites(docs / "sites.toml")

    assert [site.name for site in sites] == ["kreisbote.example", "zeitung.example"]
    manual = (docs / "news.md").read_text("utf-8")
    assert not [key for key in KEYS if f"`{key}`" not in manual]
