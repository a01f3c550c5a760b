"""Properties of the extractor that hold for any text: it never raises, its offsets are right, every
link is accounted for, and time grows with the length.

"""

import itertools
import unicodedata
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from corpora.wikipedia.blocks import PageText
from corpora.wikipedia.ledger import count_page, links_add_up
from corpora.wikipedia.markup import by_rules, without_quotes
from corpora.wikipedia.structure import CONTROL, has_control
from corpora.wikipedia.templates import load_templates
from corpora.wikipedia.titles import wiki_of
from corpora.wikipedia.wikitext import extract
from tests.processes import seconds_of

LANGUAGES = ("en", "de", "zh", "fr")
WIKIS = {lang: wiki_of(name=f"{lang}wiki", lang=lang) for lang in LANGUAGES}
TEMPLATES = {lang: load_templates(lang) for lang in LANGUAGES}


def words(text: str) -> list[str]:
    return text.split()


LINKS = words("[[ ]] [[A]] [[A|b]] [[:A]] [[#s]] [[/s]] [[A|]] [[de:X]] [ ]")
FILES = words("[[File:a.png|thumb| [[File:b|c]] [[Category:X]] [[Datei:a.png|mini| |200px|")
CHARACTERS = list(
    "\x00\x01\x02\x03\x04\x05\x06\x07\x85\u2028\u3000\u2003\u00a0\u00ad\u200e\r\t#/%_"
)
CONTROLS = [*map(chr, range(0xA1)), "\u2027", "\u2028", "\u2029", "\u202a", "\ud800", "\U00012028"]
PLAIN = words("a b word Word 1 😀 中 文字 é ( ) （ ） , ; . ! ' < >")
LINES = [*words("= == * # : ; ---- {| |- |} | || !"), "\n", "\n\n", "\n{|\n"]
ENTITIES = words(
    "& &amp; &nbsp; &lt; &#32; &#91;&#91; &shy; &NewLine; &ensp; &zwj; %00 %0A %5B %20"
)
QUOTES = words("'' ''' '''''")
EXTERNAL = ["[http://a ", "[//x y]", *words("http://x mailto: __NOTOC__ __")]
TAGS = words(
    """
    <ref> </ref> <ref/> <nowiki> </nowiki> <nowiki/> <!-- --> <br> <br/> <div> </div> <p>
    <poem> </poem> <gallery> </gallery> <math> </math> <table> </table> <pre> </pre>
    <sub>2</sub> <includeonly> </includeonly> <x <b <s
    """
)
TAGS += ["\n<gallery>\na.png|", '<span title="b">']
CALLS = words(
    """
    {{ }} {{{ }}} { } {{x}} {{nowrap| {{lang|fr| {{citation_needed}} {{PAGENAME}} {{!}}
    {{#if: {{#tag:ref| {{lc: {{age|1|2|3}} {{convert|5|km}} {{hlist| {{quote|
    -{ }- -{zh-hans:a;zh-hant:b}- -{T|
    """
)
PIECES = LINKS + FILES + CHARACTERS + PLAIN + LINES + ENTITIES + QUOTES + EXTERNAL + TAGS + CALLS
MARKUP = st.lists(st.sampled_from([*PIECES, *[" "] * 15]) | st.text(max_size=3), max_size=40)
NEVER_JOINED = st.lists(
    st.sampled_from([*LINKS, *FILES, *PLAIN, *LINES, *ENTITIES, *EXTERNAL, " "]), max_size=40
)


def read(source: str, *, lang: str = "en") -> PageText:
    return extract(source, WIKIS[lang], TEMPLATES[lang], title="Some title", today="2026-11-01")


def problems(source: str, page: PageText) -> list[str]:
    """List what is wrong with a page, whatever its wikitext was."""
    found = [] if links_add_up(count_page(source, page)) else ["the ledger does not add up"]
    if min(page.dropped.values(), default=0) < 0:
        found.append("less than no link was dropped")
    return [*found, *_problems_of_text(page), *_problems_of_links(page)]


def _problems_of_text(page: PageText) -> Iterator[str]:
    text, end = page.text, -1
    for block in page.blocks:
        if block.start != end + 1 or block.end <= block.start:
            yield f"{block} is empty, or not one character after the block before it"
        if end >= 0 and text[end : end + 1] != "\n":
            yield f"{block} stands on no line of its own"
        if text[block.start : block.end] != text[block.start : block.end].strip():
            yield f"{block} begins or ends with white space"
        end = block.end
    if len(text) != max(end, 0):
        yield "there is text after the last block"
    for run in ("  ", " \n", "\n ", "\n\n"):
        if run in text:
            yield f"the text has {run!r}"
    if controls := {c for c in text if c != "\n" and unicodedata.category(c) == "Cc"}:
        yield f"the text has control characters: {controls}"
    if page.holes != sorted(set(page.holes)):
        yield "holes are not in order"
    for hole in page.holes:
        if not any(block.start <= hole <= block.end for block in page.blocks):
            yield f"hole {hole} is in no block"


def _problems_of_links(page: PageText) -> Iterator[str]:
    if page.links != sorted(page.links):
        yield "links are not in order"
    for link in page.links:
        anchor = page.text[link.start : link.end]
        if not anchor or anchor != anchor.strip():
            yield f"{link} is empty or has white space around it: {anchor!r}"
        if not any(b.start <= link.start and link.end <= b.end for b in page.blocks):
            yield f"{link} is not inside one block"
        if not link.target or any(unicodedata.category(c) == "Cc" for c in link.target):
            yield f"{link} has a bad target"
        if any(unicodedata.category(c) == "Cc" for c in link.section):
            yield f"{link} has a bad section"
    for one, other in itertools.pairwise(page.links):
        if one.end > other.start:
            yield f"{one} and {other} overlap"


@pytest.mark.parametrize("lang", LANGUAGES)
def test_any_markup_gives_text_with_right_offsets_and_a_ledger_that_adds_up(lang):
    @settings(max_examples=200)
    @given(MARKUP)
    def check(pieces):
        source = "".join(pieces)

        page = read(source, lang=lang)

        assert problems(source, page) == []

    check()


@settings(max_examples=150)
@given(NEVER_JOINED)
def test_no_link_is_created_where_nothing_is_rendered_or_dropped(pieces):
    source = "".join(pieces)

    page = read(source)

    assert page.dropped["created"] == 0
    assert problems(source, page) == []


@settings(max_examples=100)
@given(MARKUP)
def test_the_same_wikitext_gives_the_same_page(pieces):
    source = "".join(pieces)

    pages = [read(source), read(source)]

    assert pages[0] == pages[1]


FAULTS = {
    "percent_escaped_mark": "[[%000%00&amp;]] [[A#%00]] [[%0A]] [[a%0Ab]] [[a%5B%5Bb]]",
    "number_of_many_digits": f"{{{{birth date|1|{'1' * 5000}|{'2' * 5000}}}}}",
    "age_of_many_digits": f"{{{{age|-{'9' * 4300}}}}} {{{{age|{'9' * 5000}}}}}",
    "brackets_end_before_link": "x ([[A|{{y}})bcd]] e",
    "space_ends_before_link": "a [[B|{{y}}, c]]",
    "space_begins_link": "x[[A|&nbsp;b]] y[[A|<br>b]] z[[A|{{y}} b]] ([[A|b ( ]]{{x}})",
    "sign_that_ends_link": "[[A|b; ]]{{x}}) c ([[A|(]] {{x}})",
    "link_of_signs_in_emptied_block": "{{x}} [[-]]",
    "entity_decoded_once": "[[A &amp;lt; b]] [[&#91;&#91;]] [[&#91;&#91;|]]",
    "brackets_that_meet": "[<ref>x</ref>[A]] [{{nowrap|[}}B]] [<!-- -->[C]] [''[D]]",
    "link_in_function": "{{lc:[[A]]}} {{lc:[[A|b]]}} {{lc:[[A]]|[[B]]}} {{lc:{{x|[[C]]}}}}",
    "link_in_default": "{{{1|[[A|b]]|[[B]]}}} {{{[[C]]|{{{x|[[D]]}}}}}} {{{[[E]]}}}",
    "file_in_gallery": "<gallery>\nA.jpg|see [[File:B.png|x]] end\nB.jpg|[[File:c|d\n</gallery>",
    "half_a_caption": "{{x|<gallery>\na|b}}\nc|d{{y|\n</gallery>}} e",
    "verse_in_parameter": "x {{quote|<poem>a\nb</poem>}} y [[A|<poem>]]</poem> <n<poem>]></poem>",
    "literal_white_space": "<nowiki>a  b\t c &nbsp; &shy; d</nowiki><pre>  \n\n </pre>",
    "carriage_return": "a\r\nb\rc\x85d\x7f",
    "ideographic_space": "\u3000a[[A|\u3000b\u2003]]\u3000<br>\u3000c\u3000",
    "mark_in_unknown_tag": "<x {{y}} > <x<nowiki/>> <x[[File:a]]>",
}


@pytest.mark.parametrize("source", FAULTS.values(), ids=FAULTS)
def test_wikitext_that_was_read_wrongly_once(source):
    page = read(source)

    assert problems(source, page) == []


# Time --------------------------------------------------------------------------------------------

REPEATED = words(
    """
    {{ {{a| {{{ [[ ]] [[a| }} |} {| = & ''' <!-- <ref> <nowiki> <poem> <table> <sub> <div> <br> [ ]
    [[File:a| [[File:a|b]] [[]] [[a]b [[a|b]] [[a&amp;b|c]] &nbsp; __a _ ; : * <ref/> {{{1|b}}} ''
    {{a}} {{nowrap|a}} {{nowrap|[[ {{x}} ({{x}}) {{{{a}} {{a{{b}} {|}} {{!}} [http://a] -- a<p> ]''b
    {{age|1|1|1}} <nowiki>a</nowiki> {{lc:a}} {{citation_needed}} [[a|''c''s]] [[de:x]] <b
    """
)
REPEATED += [
    *(
        "{{ ",
        "{{{ ",
        "{{a ",
        "{|\n",
        "\n|-",
        "\n{|\n|}}",
        "{{a\n{|\n|}}",
        "{|\n{{a\n|}}\n",
        "{{{{{a}}} ",
    ),
    *(
        "[[a ",
        "[[a|\n",
        "[[a|b\nc",
        "[[File:a|\n",
        "[[File:a|b]]\n",
        "[[File:a|b\n\n",
        "=\n",
        "*\n",
    ),
    *("[http://a ", "[http://a b] ", "<div ", "<br ", "</ref ", "<ref></ref ", "<b\n", "<x {{y}}>"),
    *("<poem>a</poem>\n", "<gallery>\na|b\n</gallery>", "a<!-- -->\n", " {{x}} ,", "a <br> "),
]
AROUND = {
    "template": ("{{a|", "}}"), "rendered": ("{{nowrap|", "}}"), "parameter": ("{{{ ", " }}}"),
    "default": ("{{{a|", "}}}"), "file": ("[[File:a|", "]]"), "table": ("\n{|\n|", "\n|}"),
    "html_table": ("<table>", "</table>"), "div": ("<div>", "</div>"), "variant": ("-{", "}-"),
    "gallery": ("<gallery>\na|", "</gallery>"), "poem": ("<poem><gallery>", "</gallery></poem>"),
    "brackets": ("( ", " )"),
}  # fmt: skip
LONG: dict[str, Callable[[int], str]] = {
    **{f"repeated {piece!r}": lambda n, piece=piece: piece * n for piece in REPEATED},
    **{
        f"nested {name}": lambda n, a=a, b=b: f"{a * n}{{{{x}}}}{b * n}"
        for name, (a, b) in AROUND.items()
    },
    "never closed, then closed": lambda n: "{{x " * n + "{{a}}" * n,
    "never closed, then tables": lambda n: "{{x " * n + "\n{|\n|}" * n,
    "tables, then templates": lambda n: "\n{|" * n + "{{a{b}}" * n,
    "tables, then parameters": lambda n: "\n{|" * n + "{{a}}}}" * n,
    "closed too often": lambda n: "{{a " * n + "}} " * n,
    "spaces in a parameter": lambda n: "{{nowrap|a" + " " * n + "}}",
    "lines in a parameter": lambda n: "{{nowrap|a" + "\n" * n + "}}",
    "words in a parameter": lambda n: "{{nowrap|a" + " b" * n + "}}",
    "parameters": lambda n: "{{hlist" + "|a" * n + "}}",
    "values": lambda n: "{{convert|1" + "|to|2" * n + "}}",
    "digits of a size": lambda n: "[[File:a|" + "1" * n + "x]]",
    "spaces of a size": lambda n: "[[File:a|1" + " " * n + "x]]",
    "name of an option": lambda n: "[[File:a|" + "a" * n + "]]",
    "parts of a file": lambda n: "[[File:a" + "|thumb" * n + "]]",
    "files in a caption": lambda n: "[[File:a|" + "[[File:b|c]]" * n + "]]",
    "files in a long line": lambda n: "[[File:a|b]] word word word " * n,
    "holes in a caption": lambda n: "[[File:a|thumb|" + "<p>a {{x}}" * n + "]]",
    "long line with a caption": lambda n: "word " * n + "<gallery>\na|b [[File:c|d]]\n</gallery>",
    "brackets closed one by one": lambda n: "( " * n + "{{x}} )" * n,
    "signs in brackets": lambda n: "( " * n + "{{x}}" + "," * n + ")",
    "brackets of a title": lambda n: "[[a" + " (" * n + "|]]",
    "colons at a line's start": lambda n: "\n" + ":" * n,
    "link over lines": lambda n: "[[a|" + "b\n" * n,
    "tag over lines": lambda n: "<b " + "b\n" * n,
    "trail": lambda n: "[[a]]" + "b" * n,
    "entity": lambda n: "&" + "a" * n,
    "white space": lambda n: " " * n + "a\t" * n + "\u3000" * n,
    "attributes": lambda n: "<ref " + "a " * n,
    "spaces before a tag ends": lambda n: "<sub>" + " " * n + "2</sub" + " " * n,
    "choices": lambda n: "-{" + "zh-hans:a;" * n + "}-",
}


@pytest.mark.parametrize("make", LONG.values(), ids=LONG)
def test_four_times_the_text_takes_about_four_times_as_long(make):
    lang = "zh" if "-{" in make(1) else "en"
    n = 500
    while seconds_of(read, make(n), lang=lang, times=1) < 0.004 and n < 500_000:
        n *= 2

    ratios = (
        seconds_of(read, make(4 * n), lang=lang, times=2)
        / seconds_of(read, make(n), lang=lang, times=3)
        for _ in range(4)
    )

    assert any(ratio < 8 for ratio in ratios)  # it would be 16 if each part met each other one


@pytest.mark.parametrize("name", AROUND)
def test_ten_thousand_levels_are_read(name):
    source = LONG[f"nested {name}"](10_000)

    page = read(source, lang="zh")

    assert problems(source, page) == []


@given(st.text(alphabet="ab'’ ", max_size=24))
def test_the_short_way_through_quotes_leads_to_the_same(line):
    assert without_quotes(line) == by_rules(line)


@given(
    st.text(alphabet=st.characters(exclude_categories=()), max_size=8), st.sampled_from(CONTROLS)
)
def test_control_characters_are_seen_wherever_they_stand(text, control):
    for candidate in (text, f"{text}{control}{text}"):
        assert has_control(candidate) == bool(CONTROL.search(candidate))
