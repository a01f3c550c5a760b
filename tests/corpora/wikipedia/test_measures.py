"""Calls of {{convert}}: their values never change."""

import bz2
import html
import lzma
import re

import pytest

from corpora.wikipedia.measures import NotShownError, show_quantity
from corpora.wikipedia.templates import load_templates, split_call


def show(call, *, has_names=True):
    parameters = split_call(call)
    return show_quantity(parameters.positional, parameters.named, has_names=has_names)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("6|ft|4|in|cm|0", "6 feet 4 inches"),
        ("12|st|4|lb", "12 stone 4 pounds"),
        ("5|ft|11|in|cm|abbr=on", "5 ft 11 in"),
        ("72|km|mi|0|abbr=on", "72 km"),
        ("22|e6acre|km2", "22 million acres"),
        ("3|e6km2|abbr=on", "3×10<sup>6</sup> km²"),
        ("1.2e6|to|1.6e-6|m3", "1.2×10<sup>6</sup> to 1.6×10<sup>−6</sup> cubic metres"),
        ("8|×|4|×|12|in|cm", "8 by 4 by 12 inches"),
        ("80|x|120|m|abbr=on", "80 × 120 m"),
        ("0.9|by|0.8|mi|km|adj=on", "0.9-by-0.8-mile"),
        ("4+1/2|mi", "4 1⁄2 miles"),
        ("1/2|mi", "1⁄2 mile"),
        ("60|and(-)|80|kg", "60 and 80 kilograms"),
        ("100–300|m|ft", "100–300 metres"),
        ("5|±|1|m", "5 ± 1 metres"),
        ("5|to about|6|km", "5 to about 6 kilometres"),
        ("-40|F", "−40 °F"),
        ("&minus;40&nbsp;|°C|F", "−40 °C"),
        ("204|m|ft|adj=mid|sp=us|-high", "204-meter-high"),
        ("1|USgal", "1 US gallon"),
        ("5.8|PD/sqmi", "5.8 inhabitants per square mile"),
        ("5.8|/sqmi|abbr=on", "5.8/sq mi"),
        ("1.4|Moilbbl/d", "1.4 million barrels per day"),
        ("30|kg/m3", "30 kilograms per cubic metre"),
        ("93|m|ft|order=flip", "93 m"),
        ("93|m|ft|disp=unit", "metres"),
        ("172|oilbbl|0|disp=table", "172"),
        ("30|км|ми", "30 км"),
    ],
)
def test_values_and_unit_are_those_that_a_reader_sees(call, text):
    assert show(call) == text


def test_units_have_symbols_where_the_wiki_is_not_english():
    assert show("5|to|6|sqmi|km2", has_names=False) == "5 to 6 sq mi"


@pytest.mark.parametrize(
    "call",
    ["", "5", "five|km", "5|foo", "5|6|km", "5|km|to|6|km", "93|m|ft|disp=output only", "5|e6foo"],
)
def test_what_is_not_known_is_not_shown(call):
    with pytest.raises(NotShownError):
        show(call)


@pytest.mark.realdata
def test_no_call_of_real_dumps_changes_a_value(realdata):
    folder = realdata("wiki-dumps")
    calls = []
    for file in [*folder.glob("*.bz2"), *folder.glob("*.xz"), *folder.glob("dbpedia*/*.bz2")]:
        opened = (bz2 if file.suffix == ".bz2" else lzma).open(file, "rt", errors="replace")
        text = html.unescape(opened.read())
        calls += re.findall(r"\{\{\s*(?:convert|cvt)\s*\|([^{}]*)\}\}", text, re.IGNORECASE)
    table = load_templates("en")

    shown = [table.show(table.action("convert"), call, title="", today="") for call in calls]

    assert len(calls) > 700
    assert [call for call, text in zip(calls, shown, strict=True) if text is None] == [
        "15700|ft3|disp=output number only"
    ]
    for call, text in zip(calls, shown, strict=True):
        assert text is None or numbers_of(text) == numbers_before_unit(call), call


def numbers_of(text):
    text = text.replace("×10<sup>", "e").replace("</sup>", "").replace("−", "-")
    return re.findall(r"(?<!\w)-?[\d.,]+(?:e\d+)?(?!\w)", text)


def numbers_before_unit(call):
    """Read the leading numbers, and inches that follow feet."""
    parts = [part.strip() for part in call.split("|") if "=" not in part]
    numbers = []
    for i, part in enumerate(parts):
        is_number = re.fullmatch(r"[-−]?[\d.,]+(e\d+)?", part)
        if (
            i % 2 == 0
            and is_number
            and (i == 0 or parts[i - 1] in RANGES or parts[i + 1 : i + 2] == ["in"])
        ):
            numbers.append(part.replace("−", "-"))
        elif i % 2 == 0:
            break
        if i % 2 and part not in RANGES and part != "ft":
            break
    return numbers


RANGES = {"-", "–", "to", "and", "and(-)", "by"}
