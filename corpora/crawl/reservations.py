"""Reservations of text and data mining that are made outside of a page.

A reservation is one of:

- a group of robots.txt for an agent of ``ai_agents.toml`` that disallows the path, or a line
  ``Content-Signal`` or ``Content-Usage`` that forbids training;
- a rule of ``/.well-known/tdmrep.json`` (W3C, TDM Reservation Protocol, "TDM File on the Origin
  Server"): the first whose pattern matches the path counts;
- a header ``tdm-reservation: 1``, ``X-Robots-Tag: noai``, or a ``Content-Usage`` or
  ``Content-Signal`` that forbids training.

Reservations in the page itself are found when it is read (``corpora.news.rights``).
"""

import re
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import unquote

from corpora.system.parsing import parse_json

_NO_AI = re.compile(r"(?:^|[\s,:;])noai(?:$|[\s,;])")
_SAYS_NO = ("no", "n", "0", "?0")
_VALUES = {"0": 0, "0.0": 0, "False": 0, "1": 1, "1.0": 1, "True": 1}
MAX_RULES = 10_000
"""The most rules of a tdmrep.json that are read; nobody writes more."""


@dataclass(frozen=True, slots=True)
class MiningDecision:
    """The decision ``reserved``, ``allowed`` or ``unreserved`` on mining, and its reason."""

    mining: str = "unreserved"
    because: str = ""

    @property
    def is_reserved(self) -> bool:
        """Whether mining is reserved."""
        return self.mining == "reserved"

    def __str__(self) -> str:
        """Format the decision as it stands in the archive."""
        return f"{self.mining}; {self.because}" if self.because else self.mining


def strictest(decisions: Iterable[MiningDecision]) -> MiningDecision:
    """Combine decisions: ``reserved`` before ``allowed`` before ``unreserved``, with reasons."""
    found = list(decisions)
    for mining in ("reserved", "allowed"):
        reasons = [decision.because for decision in found if decision.mining == mining]
        if reasons:
            return MiningDecision(mining, "; ".join(dict.fromkeys(reasons)))
    return MiningDecision()


@cache
def ai_agents() -> dict[str, list[str]]:
    """Read the table: ``agents`` that learn from pages; ``lines`` and headers on the use of pages.

    ``names`` are those of training in such lines.
    """
    table = tomllib.loads(Path(__file__).with_name("ai_agents.toml").read_text("utf-8"))
    return {"agents": table["agents"], **table["usage"]}


def forbids_training(value: str) -> bool:
    """Tell whether a list such as ``search=yes, ai-train=no`` forbids training."""
    for part in re.split(r"[,;]", value.lower()):
        name, _, answer = part.partition("=")
        if name.strip() in ai_agents()["names"] and answer.strip() in _SAYS_NO:
            return True
    return False


def matches(pattern: str, path: str) -> bool:
    """Tell whether a pattern (``*``, final ``$``) matches a path's beginning (RFC 9309, 2.2.3)."""
    is_whole = pattern.endswith("$")
    first, *rest = pattern.removesuffix("$").split("*")
    if not path.startswith(first):
        return False
    position = len(first)
    for index, part in enumerate(rest):
        if is_whole and index == len(rest) - 1:
            return path.endswith(part) and len(path) - len(part) >= position
        position = path.find(part, position)
        if position < 0:
            return False
        position += len(part)
    return not is_whole or bool(rest) or position == len(path)


def means(pattern: str, path: str) -> bool:
    """Tell whether a pattern matches a path as written, or with percent-encoded bytes decoded."""
    return matches(pattern, path) or matches(unquote(pattern), unquote(path))


@dataclass(frozen=True, slots=True)
class TdmRules:
    """The rules of a ``tdmrep.json``."""

    rules: tuple[tuple[str, int, str], ...] = ()
    """The pattern, 1 for reserved or 0 for allowed, and the policy of each rule."""

    def decide(self, path: str) -> MiningDecision:
        """Apply the first rule that matches a path."""
        for pattern, is_reserved, policy in self.rules:
            if means(pattern, path):
                because = f"tdmrep.json: {pattern}" + (f" (policy {policy})" if policy else "")
                return MiningDecision("reserved" if is_reserved else "allowed", because)
        return MiningDecision()


def parse_tdmrep(body: bytes) -> TdmRules:
    """Parse a ``tdmrep.json``; an invalid file has no rules, like a missing one."""
    try:
        parsed = parse_json(body.decode("utf-8-sig"))
    except ValueError:
        return TdmRules()
    parsed, rules = [parsed] if isinstance(parsed, dict) else parsed, []
    for rule in parsed[:MAX_RULES] if isinstance(parsed, list) else []:
        if not isinstance(rule, dict):
            continue
        pattern, value = rule.get("location"), str(rule.get("tdm-reservation")).strip()
        if isinstance(pattern, str) and value in _VALUES:
            rules.append((pattern, _VALUES[value], _line(rule.get("tdm-policy"))))
    return TdmRules(tuple(rules))


def _line(value: object) -> str:
    return " ".join(value.split())[:300] if isinstance(value, str) else ""


def decide_by_headers(headers: Sequence[tuple[str, str]]) -> MiningDecision:
    """Decide by the headers of an answer, with names in any case, whether mining is reserved."""
    decisions = []
    for name, value in ((name.lower(), value.strip().lower()) for name, value in headers):
        because = f"header {name}: {value[:200]}"
        values = {part.strip() for part in value.split(",")}
        if name == "tdm-reservation" and ("1" in values or values == {"0"}):
            decisions.append(MiningDecision("reserved" if "1" in values else "allowed", because))
        elif (name == "x-robots-tag" and _NO_AI.search(value)) or (
            name in ai_agents()["lines"] and forbids_training(value)
        ):
            decisions.append(MiningDecision("reserved", because))
    return strictest(decisions)
