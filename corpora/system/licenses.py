"""List the licences of Onoma's libraries that are installed, and which fit Apache-2.0.

Examples:
  onoma licenses
  onoma licenses --fail-on copyleft
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distributions, requires
from pathlib import Path
from typing import Literal

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import execute, option, parse

Kind = Literal["permissive", "weak copyleft", "copyleft", "proprietary", "unknown"]
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("proprietary", r"proprietary|nvidia"),
    ("weak copyleft", r"\bLGPL|lesser general public|\bMPL|mozilla public"),
    ("copyleft", r"\bA?GPL|general public license"),
    (
        "permissive",
        r"\bMIT|\bBSD|\bApache|\bISC\b|\bPSF|python software|unlicense|zlib|HPND|CC0|ZPL|0BSD",
    ),
)
"""The first that fits names the kind; of a choice (``OR``), the freest counts."""


@dataclass(frozen=True, slots=True)
class License:
    """A distribution, and what it says of its licence."""

    name: str
    version: str
    license: str
    kind: Kind


def kind_of(license: str) -> Kind:
    """Say what a licence asks of those who pass the library on."""
    order: list[Kind] = ["permissive", "weak copyleft", "copyleft", "proprietary", "unknown"]
    return min((_kind(part) for part in re.split(r"\bOR\b", license)), key=order.index)


def _kind(license: str) -> Kind:
    for kind, pattern in _KINDS:
        if re.search(pattern, license, re.IGNORECASE):
            return kind
    return "unknown"


def license_of(distribution: Distribution) -> str:
    """What its metadata say: the expression, else the classifiers, else the text's first line."""
    about = distribution.metadata
    for expression in about.get_all("License-Expression") or ():
        return str(expression)
    classifiers = (line.split(" :: ") for line in about.get_all("Classifier") or ())
    named = [parts[-1] for parts in classifiers if parts[0] == "License" and len(parts) > 2]
    texts = (str(text).strip().partition("\n")[0] for text in about.get_all("License") or ())
    return "; ".join(named) or next(filter(None, texts), "not said")


def needed_by(name: str) -> list[License]:
    """The libraries that a distribution needs, directly or not, as far as they are installed."""
    installed = {_canonical(found.name): found for found in distributions() if found.name}
    pending, found = [_canonical(name)], dict[str, License]()
    while pending:
        one = pending.pop()
        if one in found or one not in installed:
            continue
        distribution = installed[one]
        license = license_of(distribution)
        found[one] = License(one, distribution.version, license, kind_of(license))
        lines = distribution.requires or ()
        if found.keys() != {one}:  # of Onoma all extras count, of the others none
            lines = [line for line in lines if "extra ==" not in line]
        pending += [_canonical(match[0]) for line in lines if (match := _NAME.match(line))]
    found.pop(_canonical(name), None)
    return [found[one] for one in sorted(found)]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of the command."""

    json: bool = option(default=False, help="print JSON, for programs")
    fail_on: tuple[str, ...] = option(
        (), metavar="KIND", choices=("copyleft", "proprietary", "unknown"), help="exit status 1"
    )


def _lines(options: Options) -> Iterator[str]:
    try:
        requires("onoma")
    except PackageNotFoundError:
        raise UsageError("Onoma is not installed here: nothing says what it needs.") from None
    found = needed_by("onoma")
    if options.json:
        yield json.dumps([asdict(one) for one in found], ensure_ascii=False, indent=1)
    else:
        width = max(len(one.name) for one in found)
        for one in found:
            yield f"{one.name:<{width}}  {one.version:<12} {one.kind:<14} {one.license}"
    if wrong := [one.name for one in found if one.kind in options.fail_on]:
        raise CorpusError(f"licences that were not to be here: {', '.join(wrong)}.")


def main(argv: Sequence[str] | None = None) -> int:
    """List licences; returns the exit status."""
    options = parse(Options, argv, name="corpora.system.licenses", about=__doc__)
    return execute(lambda: _lines(options), path=Path())
