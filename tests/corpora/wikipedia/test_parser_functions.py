"""Parser functions against what MediaWiki shows."""

import pytest

from corpora.wikipedia.parser_functions import calculate, choose


@pytest.mark.parametrize(
    ("expression", "result"),
    [
        ("1 + 2 * 3", "7"),
        ("(1 + 2) * 3", "9"),
        ("7 - 2 - 1", "4"),
        ("2 ^ 3 ^ 2", "64"),
        ("-2 ^ 2", "4"),
        ("1310 / 156.9 round 1", "8.3"),
        ("2.5 round 0", "3"),
        ("-1234 round -2", "-1200"),
        ("1 / 3", "0.33333333333333"),
        ("819 / 117.02 round 1", "7"),
        ("-7 mod 3", "-1"),
        ("7 div 2", "3.5"),
        ("1.5e3", "1500"),
        ("trunc -2.7 + floor(-2.5) + ceil 2.1 + abs -1", "-1"),
        ("5 &minus; 3", "2"),
        ("2 > 1 and not 0", "1"),
        ("1 = 2 or 1 <> 1", "0"),
        ("0 * -1", "0"),
        ("sqrt 16 + pi * 0", "4"),
        (" ", ""),
    ],
)
def test_an_expression_is_computed(expression, result):
    assert calculate(expression) == result


@pytest.mark.parametrize(
    "expression",
    [
        "1 / 0", "1 mod 0", "1 +", "1 2", "(1", "1)", "1,000", "a", "* 2", "()", "10 ^ 400",
        "(-8) ^ .5", "10 ^ 20", "1 round 400", "sqrt -1", "(" * 200 + "1" + ")" * 200,
    ],
)  # fmt: skip
def test_a_wrong_expression_has_no_result(expression):
    assert calculate(expression) is None


@pytest.mark.parametrize(
    ("function", "parts", "chosen"),
    [
        ("#if", ["x", " a ", "b"], "a"),
        ("#if", [" ", "a", " b "], "b"),
        ("#if", ["", "a"], ""),
        ("#if", ["x"], ""),
        ("#ifeq", ["a", " a ", "yes", "no"], "yes"),
        ("#ifeq", ["1.0", "01", "yes", "no"], "yes"),
        ("#ifeq", ["a", "A", "yes", "no"], "no"),
        ("#ifeq", ["", "", "yes"], "yes"),
        ("#ifexpr", ["2 > 1", "yes", "no"], "yes"),
        ("#ifexpr", ["", "yes", "no"], "no"),
        ("#switch", ["b", "a = 1", "b = 2", "3"], "2"),
        ("#switch", ["b", "a", "b", "c = 1", "d = 2"], "1"),
        ("#switch", ["x", "a = 1", "#default = 2", "b = 3"], "2"),
        ("#switch", ["x", "#default", "a = 1", "b = 2"], "1"),
        ("#switch", ["x", "a = 1", " [[c|d=e]] "], "[[c|d=e]]"),
        ("#switch", ["x", "a = 1"], ""),
        ("#switch", ["2", "2.0 = x=y"], "x=y"),
        ("#expr", ["1 + 1"], "2"),
    ],
)
def test_a_function_chooses(function, parts, chosen):
    assert choose(function, parts, str.strip) == chosen


@pytest.mark.parametrize(
    ("function", "parts"),
    [
        ("#if", ["?", "a", "b"]),
        ("#ifeq", ["a", "?", "b", "c"]),
        ("#ifexpr", ["1 +", "a", "b"]),
        ("#switch", ["a", "? = b", "a = c"]),
        ("#expr", ["?"]),
    ],
)
def test_what_depends_on_an_unknown_value_is_unknown(function, parts):
    assert choose(function, parts, lambda text: None if text[0] == "?" else text.strip()) is None
