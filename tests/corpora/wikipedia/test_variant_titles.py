"""Titles in another script, as redirects."""

import pyarrow as pa
import pytest

from corpora.datasets.redirect_table import RedirectTable, build_table
from corpora.wikipedia.titles import codes_of
from corpora.wikipedia.variant_titles import SERBIAN, table_for, to_cyrillic, with_variants


def resolved(tmp_path, links, titles, redirects=(), *, table):
    names = [pa.record_batch([pa.array([*titles, None])], ["name"])]
    pairs = [*zip(*redirects, strict=True)] or [(), ()]
    rows = [
        pa.record_batch([pa.array(column, pa.string()) for column in pairs], ["title", "target"])
    ]
    build_table(tmp_path / "all", with_variants(tmp_path / "names", names, rows, table=table))
    return RedirectTable(tmp_path / "all").resolve(links).to_pylist()


def test_serbian_titles_are_found_in_both_scripts(tmp_path):
    titles = ["Београд", "Љиг", "Linux", "Novi Sad"]
    links = ["Beograd", "Ljig", "Нови Сад", "Београд", "Linux", "Niš", "Прстен"]

    found = resolved(tmp_path, links, titles, [("Престоница", "Београд")], table=SERBIAN)
    by_redirect = resolved(
        tmp_path, ["Prestonica"], titles, [("Престоница", "Београд")], table=SERBIAN
    )

    assert found == ["Београд", "Љиг", "Novi Sad", "Београд", "Linux", "Niš", "Прстен"]
    assert by_redirect == ["Београд"]


def test_a_page_of_its_own_is_no_other_spelling(tmp_path):
    titles = ["Нада", "Nada"]

    assert resolved(tmp_path, ["Nada", "Нада"], titles, table=SERBIAN) == ["Nada", "Нада"]


def test_chinese_titles_are_found_in_both_scripts(tmp_path):
    pytest.importorskip("opencc")
    titles = ["臺灣", "头发", "火星"]
    links = ["台湾", "頭髮", "火星", "木星", "台灣"]

    found = resolved(tmp_path, links, titles, table=table_for(("zh",)))

    assert found == ["臺灣", "头发", "火星", "木星", "臺灣"]


def test_letters_that_are_two_in_latin_script_are_one_in_cyrillic():
    assert to_cyrillic("Džep, Njegoš, LJUBAV, Ћирилица, Wikipedia") == (
        "Džep, Njegoš, LJUBAV, Ћирилица, Wikipedia"
    )
    assert to_cyrillic("Džep, Njegoš, LJUBAV") == "Џеп, Његош, ЉУБАВ"


def test_other_wikis_have_one_script():
    assert table_for(codes_of("dawiki", "da")) == table_for(codes_of("zh_yuewiki", "yue")) == ""
    assert table_for(codes_of("srwiktionary", "sr")) == SERBIAN
