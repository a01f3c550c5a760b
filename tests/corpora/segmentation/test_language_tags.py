"""Every way to name a language leads to the same tables."""

import tomllib
from importlib.resources import files

import pytest

from corpora.matching.surface_forms import fold
from corpora.segmentation.language_tags import primary_language
from corpora.segmentation.sentences import segmenter
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import codes_of


@pytest.mark.parametrize(
    "tag", ["de", "ger", "deu", "de-AT", "de_DE", "DE", "DEU-at", "de-Latn-1901"]
)
def test_codes_and_regions_of_german_mean_german(tag):
    assert primary_language(tag) == "de"
    assert segmenter(tag).table == segmenter("de").table
    assert load_templates(codes_of("kleinwiki", tag)) == load_templates("de")


@pytest.mark.parametrize(
    ("tag", "code"),
    [
        ("simple", "en"),
        ("arm", "hy"),
        ("hye", "hy"),
        ("cmn-Hant-TW", "zh"),
        ("zh-min-nan", "nan"),
        ("zh-classical", "lzh"),
        ("be-tarask", "be"),
        ("iw", "he"),
        ("ltg", "ltg"),
        ("als", "als"),
        ("x-klingon", "x"),
        ("", ""),
        (None, ""),
    ],
)
def test_a_tag_means_the_shortest_code_of_its_language(tag, code):
    assert primary_language(tag) == code


def test_every_table_is_found_by_every_name_of_its_language():
    text = (files("corpora.segmentation") / "language_codes.toml").read_text("utf-8")
    names = [name for some in tomllib.loads(text).values() for name in some]

    assert len(names) == len(set(names))
    for code, some in tomllib.loads(text).items():
        assert primary_language(code) == code
        assert all(segmenter(name).table == segmenter(code).table for name in some)


def test_related_languages_share_a_table():
    assert segmenter("nob").table == segmenter("nn").table == segmenter("no").table
    assert segmenter("bs").table == segmenter("hr").table
    assert segmenter("yue").table == segmenter("lzh").table == segmenter("zh").table


def test_letters_are_folded_by_language_whatever_its_tag():
    assert fold("IŞIK", lang="tur") == fold("IŞIK", lang="tr-TR") == "ışık"
