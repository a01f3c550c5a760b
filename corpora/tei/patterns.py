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
from typing import Protocol

from corpora.errors import UsageError

_STEP = re.compile(r"(?P<name>\*|[^\W\d][\w.-]*)(?P<predicates>(?:\[[^\]]*\])*)")
_PREDICATE = re.compile(r"\[([^\]]*)\]")
_EXISTS = re.compile(r"@([\w.:-]+)|not\(@([\w.:-]+)\)")
_COMPARISON = re.compile(
    r"@([\w.:-]+)\s*(!=|~=|\^=|=)\s*((?:'[^']*'|\"[^\"]*\")(?:\s*\|\s*(?:'[^']*'|\"[^\"]*\"))*)"
)
_VALUE = re.compile(r"'([^']*)'|\"([^\"]*)\"")


class Node(Protocol):
    """What a pattern looks at."""

    @property
    def name(self) -> str:
        """Local name in lower case."""

    @property
    def attributes(self) -> dict[str, str]:
        """Attributes by name."""


@dataclass(frozen=True, slots=True)
class Predicate:
    """A condition on one attribute."""

    attribute: str
    operator: str
    """``exists``, ``missing``, ``=``, ``!=``, ``~=`` or ``^=``."""
    values: frozenset[str] = frozenset()

    def holds(self, node: Node) -> bool:
        """Tell whether the node fulfils it; ``!=`` holds where the attribute is missing."""
        value = node.attributes.get(self.attribute)
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
                return value is not None and value.startswith(tuple(self.values))
            case _:
                return value is not None and not self.values.isdisjoint(value.split())


@dataclass(frozen=True, slots=True)
class Step:
    """One element of a path."""

    name: str
    predicates: tuple[Predicate, ...] = ()
    is_parent: bool = True
    """Whether it must be the parent of the next step, or any ancestor."""

    def fits(self, node: Node) -> bool:
        """Tell whether the node has the name and fulfils the predicates."""
        if self.name not in (node.name, "*"):
            return False
        return not self.predicates or all(p.holds(node) for p in self.predicates)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A compiled pattern; ``text`` is what was written."""

    text: str = field(compare=False)
    last: Step
    before: tuple[Step, ...] = ()
    """The steps to the left, nearest first."""

    @property
    def is_plain(self) -> bool:
        """Whether the name of the element alone decides."""
        return not self.last.predicates and not self.before

    def matches(self, node: Node, ancestors: Sequence[Node]) -> bool:
        """Tell whether the pattern fits a node; ``ancestors`` begin with the root."""
        return self.last.fits(node) and (not self.before or _fits_above(self.before, ancestors))


def _fits_above(steps: Sequence[Step], ancestors: Sequence[Node]) -> bool:
    """Tell whether the steps, nearest first, lead up through the ancestors, in whatever way."""
    below = {len(ancestors)}  # where the step before may stand
    for step in steps:
        above = {at - 1 for at in below if at} if step.is_parent else range(max(below))
        below = {at for at in above if step.fits(ancestors[at])}
        if not below:
            return False
    return True


def parse_pattern(text: str) -> Pattern:
    """Compile a pattern; raises ``UsageError`` that shows the faulty place."""
    steps: list[Step] = []
    position, is_parent = 0, True
    while True:
        found = _STEP.match(text, position)
        if found is None:
            raise UsageError(f"pattern {text!r}: expected an element's name at {text[position:]!r}")
        predicates = tuple(
            _parse_predicate(part, text) for part in _PREDICATE.findall(found["predicates"])
        )
        steps.append(Step(found["name"].lower(), predicates))
        position = found.end()
        if position == len(text):
            break
        if not text.startswith("/", position):
            raise UsageError(f"pattern {text!r}: cannot read {text[position:]!r}")
        is_parent = not text.startswith("//", position)
        steps[-1] = Step(steps[-1].name, predicates, is_parent)
        position += 1 if is_parent else 2
    return Pattern(text, steps[-1], tuple(reversed(steps[:-1])))


def _parse_predicate(text: str, pattern: str) -> Predicate:
    if found := _EXISTS.fullmatch(text.strip()):
        return Predicate(found[1] or found[2], "exists" if found[1] else "missing")
    if found := _COMPARISON.fullmatch(text.strip()):
        values = frozenset(single or double for single, double in _VALUE.findall(found[3]))
        return Predicate(found[1], found[2], values)
    raise UsageError(
        f"pattern {pattern!r}: cannot read [{text}]; "
        "write [@type='a'|'b'], [@type!='a'], [@rend~='a'], [@key^='a'], [@type] or [not(@type)]"
    )


@dataclass(frozen=True, slots=True)
class Template:
    """An element as it is written: its name in the case of the file, and attributes."""

    name: str
    attributes: tuple[tuple[str, str], ...] = ()


def template_of(text: str) -> Template | None:
    """Return the element that a pattern describes; None where it does not say exactly which.

    ``rs[@type='person'|'deity']`` is written with the first value; ``=`` and ``~=`` say what to
    write, the other conditions and the ones on ancestors do not.
    """
    pattern = parse_pattern(text)
    found = _STEP.fullmatch(text)
    if found is None or pattern.last.name == "*":
        return None
    attributes = []
    for part in _PREDICATE.findall(found["predicates"]):
        comparison = _COMPARISON.fullmatch(part.strip())
        if comparison is None or comparison[2] in {"!=", "^="}:
            return None
        single, double = _VALUE.findall(comparison[3])[0]
        attributes.append((comparison[1], single or double))
    return Template(found["name"], tuple(attributes))
