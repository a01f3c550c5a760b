"""List the installed libraries that Onoma needs, with the licence of each and its kind.

Examples:
  onoma licenses
  onoma licenses --fail-on copyleft
"""

import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, requires
from pathlib import Path
from typing import Literal

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import execute, option, option_table, parse

Kind = Literal["permissive", "weak copyleft", "copyleft", "proprietary", "unknown"]
_REQUIREMENT = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^]]*)\])?")
_EXTRA = re.compile(r"""\bextra\s*==\s*['"]([^'"]*)""")
_KINDS: tuple[tuple[Kind, str], ...] = (
    ("proprietary", r"proprietary|nvidia"),
    ("weak copyleft", r"\bLGPL|lesser general public|\bMPL|mozilla public"),
    ("copyleft", r"\bA?GPL|general public license"),
    ("permissive", r"\bMIT|\bBSD|\bApache|\bISC\b|\bPSF|python software|zlib|HPND|ZPL|0BSD"),
    ("permissive", r"unlicense|CC0|public domain"),
)
"""Pairs of kind and pattern: the first pattern that fits a licence decides; see ``kind_of``."""


@dataclass(frozen=True, slots=True)
class License:
    """An installed distribution, and its licence according to its metadata."""

    name: str
    version: str
    license: str
    kind: Kind


def kind_of(license: str) -> Kind:
    """Classify a licence by what it asks of those who redistribute the library."""
    order: list[Kind] = ["permissive", "weak copyleft", "copyleft", "proprietary", "unknown"]
    return min((_kind(part) for part in re.split(r"\bOR\b", license)), key=order.index)


def _kind(license: str) -> Kind:
    for kind, pattern in _KINDS:
        if re.search(pattern, license, re.IGNORECASE):
            return kind
    return "unknown"


def license_of(distribution: Distribution) -> str:
    """Read a licence: the expression, else the classifiers, else the first line of the text."""
    about = distribution.metadata
    for expression in about.get_all("License-Expression") or ():
        return str(expression)
    classifiers = (line.split(" :: ") for line in about.get_all("Classifier") or ())
    named = [parts[-1] for parts in classifiers if parts[0] == "License" and len(parts) > 2]
    texts = (str(text).strip().partition("\n")[0] for text in about.get_all("License") or ())
    return "; ".join(named) or next(filter(None, texts), "not said")


def needed_by(name: str, extras: Collection[str] | None = None) -> list[License]:
    """List the installed libraries that a distribution needs, directly or not.

    ``extras`` names the extras of the distribution that count (default: all). Of other
    distributions only requested extras count (``cuda-toolkit[cublas]``).
    """
    own = _canonical(name)
    pending = [(own, extra) for extra in ("", *(_extras_of(_installed(own), extras)))]
    seen, found = set[tuple[str, str]](), dict[str, License]()
    while pending:
        one, extra = asked = pending.pop()
        if asked in seen:
            continue
        seen.add(asked)
        distribution = _installed(one)
        if distribution is None:
            continue
        if one not in found:
            license = license_of(distribution)
            found[one] = License(one, distribution.version, license, kind_of(license))
        for line in distribution.requires or ():
            match = _EXTRA.search(line)
            if match is None or _canonical(match[1]) == extra:
                pending += _asked(line)
    found.pop(own, None)
    return [found[one] for one in sorted(found)]


def _installed(name: str) -> Distribution | None:
    """Find a distribution by its name; the metadata of all the others are not read."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def _extras_of(distribution: Distribution | None, wanted: Collection[str] | None) -> Iterable[str]:
    if wanted is None and distribution is not None:
        wanted = distribution.metadata.get_all("Provides-Extra")
    return map(_canonical, wanted or ())


def _asked(line: str) -> Iterator[tuple[str, str]]:
    """Parse a requirement: yield its name, alone and with each of its extras."""
    if match := _REQUIREMENT.match(line):
        for extra in ("", *filter(None, (match[2] or "").split(","))):
            yield _canonical(match[1]), _canonical(extra.strip())


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@option_table
class Options:
    """Options of the command."""

    json: bool = option("print the list as JSON, for programs")
    fail_on: tuple[str, ...] = option(
        "exit with status 1 if a library has such a licence: copyleft, proprietary, unknown",
        metavar="KIND",
        choices=("copyleft", "proprietary", "unknown"),
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
    """List licences; return the exit status."""
    options = parse(Options, argv, name="licenses", about=__doc__)
    return execute(lambda: _lines(options), path=Path())


if __name__ == "__main__":
    sys.exit(main())
