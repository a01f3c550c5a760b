"""The parser functions that choose between texts, and the arithmetic of ``#expr``.

They are read as MediaWiki reads them. A value that is not known (a template that was dropped) is
None, and so is the result of a function that depends on it.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal

from corpora.wikipedia.titles import decode

FUNCTIONS = frozenset({"#expr", "#if", "#ifeq", "#ifexpr", "#switch"})
_MAX_STACK = 100  # numbers, or operators, that wait for others; the limit of MediaWiki
_MAX_DECIMALS = 15  # decimal places of a rounded number
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")
_TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?|\.\d+)|([A-Za-z]+|<=|>=|<>|!=|[-+*/^()=<>−]))\s*")
_SIGNS = re.compile(r"\{\{|\}\}|\[\[|\]\]|=")
_CONSTANTS = {"pi": math.pi, "e": math.e}

Value = Callable[[str], str | None]
"""A function that renders wikitext; None if something in it is not known."""


def choose(function: str, parts: Sequence[str], value: Value) -> str | None:
    """Return the wikitext that a function chooses among its parts, or what it computes.

    ``parts`` are what stands between the pipes, not rendered; only what the choice needs is
    rendered by ``value``. None if the choice is not known, or an expression is wrong.
    """
    first = value(parts[0])
    if first is None:
        return None
    if function == "#switch":
        return _switch(first, parts[1:], value)
    if function == "#expr":
        return calculate(first)
    if function == "#ifeq":
        second = value(parts[1]) if len(parts) > 1 else ""
        if second is None:
            return None
        holds, branches = _is_equal(first, second), parts[2:]
    elif function == "#ifexpr":
        result = calculate(first)
        if result is None:
            return None
        holds, branches = result not in ("", "0"), parts[1:]
    else:
        holds, branches = first != "", parts[1:]
    return "".join(branches[:1] if holds else branches[1:2]).strip()


def _switch(sought: str, cases: Sequence[str], value: Value) -> str | None:
    """Return the result of the case that is sought: a case without one has that of the next."""
    default, is_found, is_default = "", False, False
    for i, case in enumerate(cases, 1):
        equals = _equals(case)
        if equals < 0 and i == len(cases):
            return case.strip()
        key = value(case[:equals] if equals >= 0 else case)
        if key is None:
            return None
        is_found = is_found or _is_equal(key, sought)
        is_default = is_default or key == "#default"
        if equals < 0:
            continue
        if is_found:
            return case[equals + 1 :].strip()
        if is_default:
            default, is_default = case[equals + 1 :].strip(), False
    return default


def _equals(case: str) -> int:
    """Return the offset of the first ``=`` outside of links and templates; -1 without one."""
    depth = 0
    for sign in _SIGNS.finditer(case):
        if sign[0] != "=":
            depth = max(0, depth + (1 if sign[0] in ("{{", "[[") else -1))
        elif depth == 0:
            return sign.start()
    return -1


def _is_equal(one: str, other: str) -> bool:
    """Compare two values, as numbers where both are numbers."""
    if _NUMBER.fullmatch(one) and _NUMBER.fullmatch(other):
        return float(one) == float(other)
    return one == other


def calculate(expression: str) -> str | None:
    """Compute an expression of ``#expr``; None where it is wrong or divides by zero.

    >>> calculate("(1 + 2) * 3 / 2 round 1")
    '4.5'
    """
    if not expression.strip():
        return ""
    try:
        number = _Calculator().run(decode(expression).strip())
        shown = f"{number:.14g}"
        if not re.fullmatch(r"-?\d+(\.\d+)?", shown):
            raise ValueError(f"{shown} is no plain number")
        return "0" if shown == "-0" else shown
    except (ArithmeticError, IndexError, ValueError):
        return None


def _rounded(number: float, decimals: float) -> float:
    n = int(decimals)
    if abs(n) > _MAX_DECIMALS:
        raise ValueError(f"{n} decimal places")
    return float(Decimal(repr(number)).quantize(Decimal(1).scaleb(-n), ROUND_HALF_UP))


def _power(base: float, exponent: float) -> float:
    return math.pow(base, exponent)


_Binary = Callable[[float, float], float]
_BINARY: Mapping[str, tuple[int, _Binary]] = {
    "e": (10, lambda a, b: a * 10.0**b),
    "^": (8, _power),
    "*": (7, lambda a, b: a * b),
    "/": (7, lambda a, b: a / b),
    "div": (7, lambda a, b: a / b),
    "mod": (7, lambda a, b: math.fmod(int(a), int(b))),
    "+": (6, lambda a, b: a + b),
    "-": (6, lambda a, b: a - b),
    "round": (5, _rounded),
    "<": (4, lambda a, b: a < b),
    ">": (4, lambda a, b: a > b),
    "<=": (4, lambda a, b: a <= b),
    ">=": (4, lambda a, b: a >= b),
    "=": (4, lambda a, b: a == b),
    "<>": (4, lambda a, b: a != b),
    "!=": (4, lambda a, b: a != b),
    "and": (3, lambda a, b: bool(a and b)),
    "or": (2, lambda a, b: bool(a or b)),
}
"""Operators between two numbers: how strongly each binds, and what it computes."""
_UNARY: Mapping[str, Callable[[float], float]] = {
    "+": float,
    "-": lambda a: -a,
    "not": lambda a: not a,
    "abs": abs,
    "ceil": math.ceil,
    "floor": math.floor,
    "sqrt": math.sqrt,
    "trunc": math.trunc,
}
_UNARY_BINDS = {"+": 10, "-": 10}  # others: 9


class _Calculator:
    """A reader of an expression, with a stack of numbers and one of operators.

    Raises ``ValueError``, ``IndexError`` or ``ArithmeticError`` for a wrong expression.
    """

    def __init__(self) -> None:
        self.numbers: list[float] = []
        self.waiting: list[tuple[int, str]] = []
        """(how strongly it binds, operator); ``(`` binds with 0; a sign or function has a blank
        after it."""

    def run(self, expression: str) -> float:
        position, is_operand = 0, True
        while position < len(expression):
            token = _TOKEN.match(expression, position)
            if token is None:
                raise ValueError(f"{expression[position]!r} is no part of an expression")
            position = token.end()
            if token[1]:
                if not is_operand:
                    raise ValueError("a number follows a number")
                self.numbers.append(float(token[1]))
                is_operand = False
            else:
                is_operand = self.word(token[2].lower().replace("−", "-"), is_operand=is_operand)
            if max(len(self.numbers), len(self.waiting)) > _MAX_STACK:
                raise ValueError("the expression is nested too deeply")
        if is_operand:
            raise ValueError("the expression ends with an operator")
        self.apply(0)
        if self.waiting:
            raise ValueError("a bracket is not closed")
        return self.numbers[0]

    def word(self, word: str, *, is_operand: bool) -> bool:
        """Read an operator, bracket or constant where an operand, or an operator, is expected.

        Returns whether an operand is expected next.
        """
        if is_operand:
            if word == "(":
                self.waiting.append((0, word))
            elif word in _UNARY:
                self.waiting.append((_UNARY_BINDS.get(word, 9), f"{word} "))
            else:
                if word not in _CONSTANTS:
                    raise ValueError(f"{word!r} is no number")
                self.numbers.append(_CONSTANTS[word])
                return False
            return True
        if word == ")":
            self.apply(0)
            if not self.waiting:
                raise ValueError("a bracket is closed that is not open")
            self.waiting.pop()
            return False
        if word not in _BINARY:
            raise ValueError(f"{word!r} is no operator")
        binds = _BINARY[word][0]
        self.apply(binds - 1)
        self.waiting.append((binds, word))
        return True

    def apply(self, floor: int) -> None:
        """Compute what waits, down to the operators that bind with ``floor`` at most."""
        while self.waiting and self.waiting[-1][0] > floor:
            _, operator = self.waiting.pop()
            last = self.numbers.pop()
            if operator.endswith(" "):
                self.numbers.append(float(_UNARY[operator[:-1]](last)))
            else:
                self.numbers.append(float(_BINARY[operator][1](self.numbers.pop(), last)))
