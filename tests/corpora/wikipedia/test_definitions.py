"""Templates whose definition is in the dump: which are shown, and what they show."""

import pytest

from corpora.wikipedia.definitions import (
    DEFINED,
    Categories,
    count_parameters,
    definition_of,
    has_calls,
    parse,
    show,
)
from corpora.wikipedia.templates import load_templates, split_call
from corpora.wikipedia.titles import read_table, wiki_of

WIKI = wiki_of(name="dewiki", lang="de")


@pytest.mark.parametrize(
    ("source", "definition"),
    [
        ("{{{1}}} km<sup>2</sup><noinclude>\n{{Doku}} [[Kategorie:X]]</noinclude>",
         "{{{1}}} km<sup>2</sup>"),
        ("<!-- so -->\n<includeonly>[[{{{1|Ulm}}}]]</includeonly>\n", "[[{{{1|Ulm}}}]]"),
        ("Hier: <onlyinclude>a</onlyinclude> und <onlyinclude>b</onlyinclude>", "ab"),
        ('<span style="color:{{{1|red}}}">{{{2}}}</span>',
         '<span style="color:{{{1|red}}}">{{{2}}}</span>'),
        ("[[Datei:{{{1}}}.svg|20px]] [[{{{1}}}]]", "[[Datei:{{{1}}}.svg|20px]] [[{{{1}}}]]"),
        ("{{{1|{{{name|unbekannt}}}}}}", "{{{1|{{{name|unbekannt}}}}}}"),
        ("{{Andere|{{{1}}}}}", "{{Andere|{{{1}}}}}"),
        ("{{{1|{{Leer}}}}} {{a|{{b|c}}}}", "{{{1|{{Leer}}}}} {{a|{{b|c}}}}"),
        ("<includeonly>\n{{{1}}}<br>\n''b''\n\n[[c]]\n</includeonly>",
         "{{{1}}}<br>\n''b''\n\n[[c]]"),
        ("a\n <!-- so -->\nb <!--\nund so\n-->\n\nc", "a\nb \n\nc"),
        ("{{a\n| b = {{{b|}}}\n| c =\n* d\n}}\n{{{e|\nf}}}",
         "{{a\n| b = {{{b|}}}\n| c =\n* d\n}}\n{{{e|\nf}}}"),
        ("a{{#if:{{{1|}}}\n | b {{lc:X}}\n | {{c|d}}\n}}",
         "a{{#if:{{{1|}}}\n | b {{lc:X}}\n | {{c|d}}\n}}"),
    ],
)  # fmt: skip
def test_text_with_parameters_is_a_definition(source, definition):
    assert definition_of(source, WIKI) == definition


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("{{<includeonly>safesubst:</includeonly>#invoke:Convert|convert}}<noinclude>x</noinclude>",
         "Convert"),
        ("<span>{{#invoke: lang | lang_xx_inherit |code=bn}}</span>", "Lang-xx"),
        ("{{#invoke:citation/CS1|citation|CitationClass=book}}", "Cite web"),
    ],
)  # fmt: skip
def test_a_template_that_calls_a_known_module_is_one_of_ours(source, name):
    assert definition_of(source, WIKI) == f"{DEFINED}{name}"


def test_templates_of_modules_have_tables():
    table = load_templates("en")
    names = [n for module in read_table("modules").values() for n in module.values()]

    assert [n for n in names if n not in table.render and n not in table.silent] == []


@pytest.mark.parametrize(
    "source",
    [
        "", "{{#invoke:a|b}}", "{{#if:x|{{#time:Y}}}}", "{{{{{1}}}}}", "{{{{{1}}}|x}}",
        "{{a{{b}}|c}}", "a {{#if:x|* b}}", "{{#if:x|[[Kategorie:X]]}}", "{{#if:x|<div>b</div>}}",
        "{{#time:Y|[[Kategorie:{{{1}}}]]}}",
        "{{a", "{{a}", "{{ }}", "{{{1|{{a}}}",
        "{| \n| a\n|}", "a\n{|\n| b\n|}", "a\n{{#if:{{{1|}}}\n| {{{!}}\n| b}}",
        "a\n* b", "{{{1}}}\n: {{{2}}}", "{{{1|\n# b}}}", "a\n== b ==", "a\n b",
        "a\n|-\n| b", "a\n{{!}} b",
        "<div>Baustein</div>", "Text <ref>x</ref>", "<math>x</math>", "* Punkt", ": ''siehe''",
        "a }}} b", "{{{1", "__NOTOC__", "x" * 3000, "a < b",
    ],
)  # fmt: skip
def test_all_else_is_none(source):
    assert definition_of(source, WIKI) == ""


def test_a_template_that_is_no_plain_text_has_the_categories_that_it_always_adds():
    source = (
        "{|\n| {{#time:Y|[[Kategorie:A]]}}\n|}[[category: Stub|{{{2}}}]] [[Kategorie:Im {{{1|}}}]]"
    )

    definition = definition_of(source, WIKI)

    assert definition == f"{2 * DEFINED}Stub\nIm {{{{{{1|}}}}}}"
    categories = Categories(tuple(map(parse, definition[2:].split("\n"))))
    assert [*categories.of(split_call("Tal"))] == ["Stub", "Im Tal"]
    assert [*categories.of(split_call("[[Tal]]"))] == ["Stub"]


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("a|b", "a, b (c)"),
        ("a", "a, - (c)"),
        ("a||x=d", "a,  (d)"),
        ("2= b |1= a |x=", "a, b ()"),
        ("", ", - (c)"),
    ],
)
def test_parameters_are_filled_in_as_mediawiki_does(call, shown):
    definition = parse("{{{1}}}, {{{2|-}}} ({{{x|{{{y|c}}}}}})")

    assert show(definition, split_call(call)) == shown


def test_a_pipe_of_a_link_is_no_default():
    definition = parse("[[{{{1}}}|x]] {{{2|[[A|b]]}}}")

    assert show(definition, split_call("A")) == "[[A|x]] [[A|b]]"


@pytest.mark.parametrize(
    ("call", "shown"),
    [
        ("augi", "{{lang|lv|latvīšu: ''augi''|x=}} {{leer}}"),
        ("1=a=b|x=[[c|d]]", "{{lang|lv|2=latvīšu: ''a=b''|x=[[c|d]]}} {{leer}}"),
    ],
)
def test_calls_of_other_templates_stay_calls_with_their_parameters_filled_in(call, shown):
    definition = parse("{{lang|lv|latvīšu: ''{{{1}}}''|x={{{x|}}}}} {{leer}}")

    assert show(definition, split_call(call)) == shown
    assert has_calls(definition)
    assert count_parameters(definition) == 2


def test_braces_that_meet_belong_to_what_is_open():
    definition = parse("{{a|{{{1|{{b|[[c|d]]|e}}}}}}}")

    assert show(definition, split_call("")) == "{{a|{{b|[[c|d]]|e}}}}"
    assert show(definition, split_call("f")) == "{{a|f}}"


def test_parser_functions_stay_calls_with_their_parameters_filled_in():
    definition = parse("{{ safesubst:#if: {{{1|}}}|[[{{{1}}}|b]]|{{lc:{{{2}}}}}}}")

    assert has_calls(definition)
    assert show(definition, split_call("a|C")) == "{{#if: a|[[a|b]]|{{lc:C}}}}"


def test_a_value_with_an_equals_sign_is_no_case_of_a_switch():
    definition = parse("{{#switch: x | a = 1 | {{{1}}} }}")

    assert show(definition, split_call("1=b=c")) == "{{#switch: x | a = 1 |#default= b=c }}"
