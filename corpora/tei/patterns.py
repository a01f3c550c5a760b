"""Patterns over elements and attributes, a small part of XPath, as editions use them.

``persName`` · ``name[@type='person'|'deity']`` · ``rs[not(@type)]`` · ``hi[@rendition~='#hyphen']``
· ``choice/abbr`` (parent) · ``back//persName`` (ancestor) · ``*[@corresp]``. Predicates compare
with ``=``, ``!=``, ``~=`` (one of the words of the value), ``^=`` (its beginning); ``[@n]`` and
``[not(@n)]`` ask whether the attribute is there. Names of elements are compared without regard to
case.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from corpora.errors import UsageError
from corpora.tei.xml import Element

_STEP = re.compile(r"(?P<name>\*|[^\W\d][\w.-]*)(?P<predicates>(?:\[[^\]]*\])*)")
_PREDICATE = re.compile(r"\[([^\]]*)\]")
_EXISTS = re.compile(r"@([\w.:-]+)|not\(@([\w.:-]+)\)")
_COMPARISON = re.compile(
    r"@([\w.:-]+)\s*(!=|~=|\^=|=)\s*((?:'[^']*'|\"[^\"]*\")(?:\s*\|\s*(?:'[^']*'|\"[^\"]*\"))*)"
)
_VALUE = re.compile(r"'([^']*)'|\"([^\"]*)\"")


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on one attribute."""

    attribute: str
    operator: str
    """``exists``, ``missing``, ``=``, ``!=``, ``~=`` or ``^=``."""
    values: tuple[str, ...] = ()

    def holds(self, element: Element) -> bool:
        """Tell whether an element meets the condition.

        ``!=`` holds where the attribute is missing.
        """
        value = element.attributes.get(self.attribute)
        match self.operator:
            case "exists":
                return value is not None
            case "missing":
                return value is None
            case "=":
                return value in self.values
            case "!=":
                return value not in self.values
            case "^=":
                return value is not None and value.startswith(self.values)
            case _:
                return value is not None and not set(self.values).isdisjoint(value.split())


@dataclass(frozen=True, slots=True)
class PathStep:
    """One element of a path."""

    name: str
    predicates: tuple[Predicate, ...] = ()
    is_parent: bool = True
    """Whether the element must be the parent of the next step's; else it may be any ancestor."""

    def fits(self, element: Element) -> bool:
        """Tell whether an element has the name and meets the predicates."""
        if self.name not in (element.name, "*"):
            return False
        return not self.predicates or all(p.holds(element) for p in self.predicates)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; ``text`` is what was written."""

    text: str = field(compare=False)
    last: PathStep
    before: tuple[PathStep, ...] = ()
    """The steps to the left, nearest first."""

    def matches(self, element: Element) -> bool:
        """Tell whether the pattern fits an element."""
        return self.last.fits(element) and (not self.before or _fits_above(self.before, element))


def _fits_above(steps: Sequence[PathStep], element: Element) -> bool:
    """Tell whether some chain of ancestors of an element fits the steps, nearest first."""
    below = [element]  # elements that fit the step before, the deepest first
    for step in steps:
        nearest = (one.parent for one in below)
        above = filter(None, nearest) if step.is_parent else islice(below[0].chain(), 1, None)
        below = [one for one in above if step.fits(one)]
        if not below:
            return False
    return True


def parse_pattern(text: str) -> Pattern:
    """Compile a pattern; raises ``UsageError`` that shows the faulty place."""
    steps: list[PathStep] = []
    position, is_parent = 0, True
    while True:
        match = _STEP.match(text, position)
        if match is None:
            raise UsageError(f"pattern {text!r}: expected an element's name at {text[position:]!r}")
        predicates = tuple(
            _parse_predicate(part, text) for part in _PREDICATE.findall(match["predicates"])
        )
        steps.append(PathStep(match["name"].lower(), predicates))
        position = match.end()
        if position == len(text):
            break
        if not text.startswith("/", position):
            raise UsageError(f"pattern {text!r}: cannot read {text[position:]!r}")
        is_parent = not text.startswith("//", position)
        steps[-1] = PathStep(steps[-1].name, predicates, is_parent)
        position += 1 if is_parent else 2
    return Pattern(text, steps[-1], tuple(reversed(steps[:-1])))


def _parse_predicate(text: str, pattern: str) -> Predicate:
    if match := _EXISTS.fullmatch(text.strip()):
        return Predicate(match[1] or match[2], "exists" if match[1] else "missing")
    if match := _COMPARISON.fullmatch(text.strip()):
        values = tuple(single or double for single, double in _VALUE.findall(match[3]))
        return Predicate(match[1], match[2], values)
    raise UsageError(
        f"pattern {pattern!r}: cannot read [{text}]; "
        "write [@type='a'|'b'], [@type!='a'], [@rend~='a'], [@key^='a'], [@type] or [not(@type)]"
    )


def template_of(pattern: Pattern) -> Element | None:
    """Build the element that a pattern describes; None if the pattern is ambiguous.

    ``rs[@type='person'|'deity']`` is written with the first value; ``=`` and ``~=`` determine what
    to write, other conditions and those on ancestors do not.
    """
    predicates = pattern.last.predicates
    is_vague = any(predicate.operator not in {"=", "~="} for predicate in predicates)
    if pattern.before or pattern.last.name == "*" or is_vague:
        return None
    name = pattern.text.partition("[")[0]  # in the case of the file
    return Element(name, {predicate.attribute: predicate.values[0] for predicate in predicates})
