"""Rights and filters: what a page says, and what becomes of its article."""

import errno
import os
import tempfile

import pytest

from corpora.errors import UsageError
from corpora.news import filters
from corpora.news.extraction import ExtractedArticle
from corpora.news.filters import Thresholds, check_langs, identify, non_letter_ratio, why_not
from corpora.news.page_metadata import PageMetadata
from corpora.news.pages import FetchedPage
from corpora.news.rights import decide, license_of
from corpora.news.url_table import read_url_table

TEXT = "Ein ganz gewöhnlicher Text über das Moor, den Fluss und die Brücke. " * 5


def rights_of(*reservations, headers=(), license=None):
    page = FetchedPage("a", "a", "", b"", "https://a.example/", None, tuple(headers))
    return decide(page, PageMetadata(reservations=tuple(reservations), license=license))


def reason(text=TEXT, *, lang="de", linked=0.0, rights=None, thresholds=None, **metadata):
    article = ExtractedArticle(text, (), (), PageMetadata(**metadata), linked)
    return why_not(
        article, lang=lang, rights=rights or rights_of(), thresholds=thresholds or Thresholds()
    )


@pytest.mark.parametrize(
    ("reservations", "headers"),
    [
        ([("tdm-reservation", "1")], []),
        ([("robots", "index, noai, noimageai")], []),
        ([("gptbot", "noai")], []),
        ([], [("tdm-reservation", "1")]),
        ([], [("x-robots-tag", "noarchive"), ("x-robots-tag", "otherbot: noai")]),
        ([("tdm-reservation", "0")], [("tdm-reservation", "1")]),
        ([], [("tdm-reservation", "1"), ("tdm-reservation", "1")]),
        ([], [("tdm-reservation", "0, 1")]),
    ],
)
def test_a_reservation_is_honoured_wherever_it_stands(reservations, headers):
    rights = rights_of(*reservations, headers=headers)

    assert rights.is_reserved
    assert rights.because
    assert reason(rights=rights) == "tdm_reserved"
    assert reason(rights=rights, thresholds=Thresholds(keep_reserved=True)) is None


@pytest.mark.parametrize(
    "directive", ["noimageai", "noindex, nofollow", "noarchive", "max-snippet:-1"]
)
def test_what_does_not_speak_of_mining_is_recorded_and_no_reservation(directive):
    rights = rights_of(("robots", directive))

    assert rights.mining == "unreserved"
    assert directive in rights.robots


def test_a_page_may_allow_mining():
    assert rights_of(("tdm-reservation", "0")).mining == "allowed"
    assert rights_of(headers=[("tdm-reservation", "0")] * 2).mining == "allowed"


@pytest.mark.parametrize(
    ("written", "headers", "mining", "because"),
    [
        ("reserved; robots.txt: GPTBot", (), "reserved", "robots.txt: GPTBot"),
        ("allowed; tdmrep.json: /", (), "allowed", "tdmrep.json: /"),
        ("unreserved", (), "unreserved", ""),
        ("", (), "unreserved", ""),
        (
            "allowed; tdmrep.json: /",
            [("tdm-reservation", "1")],
            "reserved",
            "header tdm-reservation: 1",
        ),
        (
            "reserved; robots.txt: CCBot; header x-robots-tag: noai",
            [("x-robots-tag", "noai")],
            "reserved",
            "header x-robots-tag: noai; robots.txt: CCBot",
        ),
    ],
)
def test_what_a_crawl_wrote_down_counts_too(written, headers, mining, because):
    page = FetchedPage(
        "a", "a", "", b"", "https://a.example/", None, tuple(headers), mining=written
    )

    rights = decide(page, PageMetadata())

    assert (rights.mining, rights.because) == (mining, because)


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("https://creativecommons.org/licenses/by-sa/4.0/deed.de", "CC-BY-SA-4.0"),
        ("http://creativecommons.org/licenses/by-nc-nd/3.0/", "CC-BY-NC-ND-3.0"),
        ("//creativecommons.org/publicdomain/zero/1.0/", "CC0-1.0"),
        ("https://a.example/terms", None),
        (None, None),
    ],
)
def test_licences_of_creative_commons_are_named(url, expected):
    assert license_of(url) == expected


def test_an_article_is_kept():
    assert reason(kind="article") is None


@pytest.mark.parametrize(
    ("expected", "made"),
    [
        ("no_text", {"text": ""}),
        ("short", {"text": "Zu kurz."}),
        ("list_page", {"linked": 0.6}),
        ("list_page", {"kind": "list"}),
        ("list_page", {"url": "https://a.example/"}),
        ("paywall", {"is_free": False}),
        ("non_letters", {"text": "12:30 45.7 | 66 % = 17 + 4 $ 99 " * 20}),
        ("language", {"lang": "en", "thresholds": Thresholds(langs=("de", "da"))}),
    ],
)
def test_what_is_left_out_has_a_reason(expected, made):
    assert reason(**made) == expected


@pytest.mark.parametrize(
    "made",
    [
        {"url": "https://a.example/", "kind": "article"},
        {"text": TEXT * 6, "is_free": False},
        {"lang": "de-AT", "thresholds": Thresholds(langs=("de",))},
        {"text": "图书馆本周六重新开放，读者可以免费进馆。" * 4, "lang": "zh"},
    ],
)
def test_what_only_looks_like_it_is_kept(made):
    assert reason(**made) is None


def test_punctuation_is_not_counted_as_other_than_letters():
    assert non_letter_ratio("„Ja“, sagte er. Nein!") == 0
    assert non_letter_ratio("12 ab") == 0.5
    assert non_letter_ratio("") == 1


@pytest.mark.parametrize(
    "text",
    [
        "सरकार किसानों की समस्याओं को दूर करने के लिए प्रतिबद्ध है।",
        "பல மாவட்டங்களில் பள்ளிகளுக்கு விடுமுறை அறிவிக்கப்பட்டுள்ளது.",
        "รัฐบาลจะเร่งแก้ไขปัญหาน้ำท่วมในพื้นที่ภาคใต้ให้เร็วที่สุด",
        "မြန်မာနိုင်ငံတွင် မိုးသည်းထန်စွာ ရွာသွန်းခဲ့သည်",
        "هل بدأت الحكومة العمل؟ نعم، اليوم۔",
    ],
)
def test_vowel_signs_are_parts_of_letters(text):
    assert non_letter_ratio(text) == 0


@pytest.mark.parametrize(
    ("text", "declared", "expected"),
    [
        ("Das ist ein deutscher Satz über das Wetter im Norden.", "de-AT", "de-AT"),
        ("Das ist ein deutscher Satz über das Wetter im Norden.", "en", "de"),
        ("Færgen sejler igen mellem øen og fastlandet.", None, "da"),
        ("我们的城市在河边，人们都很喜欢这里。", "zh_TW", "zh-TW"),
    ],
)
def test_a_language_is_identified_and_its_region_is_that_of_the_page(text, declared, expected):
    assert identify(text, declared) == expected


def test_a_language_that_is_never_identified_is_an_error():
    check_langs(["de", "zh-TW"])
    with pytest.raises(UsageError, match="--lang xx: not identified"):
        check_langs(["xx"])


def test_a_table_tells_addresses_dates_and_more(tmp_path):
    table = tmp_path / "urls.tsv"
    table.write_text(
        "url\tfile\tdate\tdesk\nhttps://a.example/1\ta.html\t2026-11-01\tLokales\n", "utf-8"
    )

    rows = read_url_table(table, ["a.html"])

    assert rows == {
        "a.html": {"url": "https://a.example/1", "date": "2026-11-01", "desk": "Lokales"}
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file\tdate\n", "no column 'url'"),
        ("file\turl\na.html\tx\na.html\ty\n", ":3: a.html stands there twice"),
        ("file\turl\na.html\n", ":2: has another number of columns"),
        ("file\turl\tdate\na.html\tx\tgestern\n", "not ISO 8601"),
        ("file\turl\nb.html\tx\n", "names none of the pages"),
    ],
)
def test_a_table_that_cannot_be_used_is_an_error(tmp_path, text, message):
    table = tmp_path / "urls.tsv"
    table.write_text(text, "utf-8")

    with pytest.raises(UsageError, match=message):
        read_url_table(table, ["a.html"])


def test_no_room_for_the_model_of_languages_names_the_folder(monkeypatch):
    def fail(*_, **__):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("py3langid.langid.LanguageIdentifier.from_model_file", fail)

    with pytest.raises(OSError, match=r"No space left on device: .*TMPDIR") as raised:
        filters._identifier.__wrapped__()

    assert raised.value.filename.startswith(tempfile.gettempdir())
