"""The comparison with MediaWiki's parser tests, on tests of our own in their form."""

from benchmarks.parser_tests import Reader, show_table

FILE = """
!! Version 2
!! article
Template:Mill
!! text
x
!! endarticle

!! test
equal
!! wikitext
A ''[[wind mill|mill]]s''<ref>b</ref>, [[File:a.jpg|thumb|b]] c
* d
!! html/php
<p>A <i><a href="/wiki/Wind_mill" title="Wind mill">mills</a></i><sup class="reference"><a
href="#a">[1]</a></sup>, <figure>b</figure> c
</p><ul><li>d</li></ul>
!! html/parsoid
<p>other</p>
!! end

!! test
differs
!! options
title=[[Mill]]
!! wikitext
a [[Mill]]
!! html
<p>a b <a class="mw-selflink">Mill</a> <a href="/wiki/C">C</a></p>
!! end

!! test
of something else
!! options
pst
!! wikitext
a
!! html
b
!! end
"""


def test_words_links_and_blocks_are_compared(tmp_path, capsys):
    path = tmp_path / "mine.txt"
    path.write_text(FILE, encoding="utf-8")
    reader = Reader()

    equal, differs = reader.read(path)
    show_table([equal, differs], reader.left_out)

    assert equal.is_equal
    assert equal.wanted.blocks == equal.given.blocks
    assert (differs.missing, differs.beyond) == (["b", "C"], [])
    assert differs.given.links == {("Mill", "Mill"): 1}
    printed = capsys.readouterr().out
    assert "| all | 2 | 1 | 1 | 9 | 2 | 0 | 3 | 1 | 0 |" in printed
    assert "Left out: 1 test of something else." in printed
