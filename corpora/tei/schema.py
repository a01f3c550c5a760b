"""Validate a file against a RelaxNG schema; needs lxml, an extra of its own."""

from collections import Counter
from functools import lru_cache
from pathlib import Path
from typing import Any

from corpora.errors import UsageError
from corpora.tei.xml import XmlError


def new_errors(before: bytes, after: bytes, schema: Path) -> list[str]:
    """List what is wrong with a file that was not wrong before, ``line 12: …``; lines do not count.

    Raises ``UsageError`` for a schema that cannot be used, ``XmlError`` for a malformed file.
    """
    known = Counter(message for _, message in _errors(before, schema))
    found = []
    for line, message in _errors(after, schema):
        known[message] -= 1
        if known[message] < 0:
            found.append(f"line {line}: {message}")
    return found


def _errors(data: bytes, schema: Path) -> list[tuple[int, str]]:
    relax, parser = _load(schema)
    from lxml import etree

    try:
        relax.validate(etree.fromstring(data, parser).getroottree())
    except etree.XMLSyntaxError as error:
        raise XmlError("malformed_xml", f"not well-formed XML ({error}).") from error
    return [(entry.line, entry.message) for entry in relax.error_log]


@lru_cache(maxsize=8)
def _load(schema: Path) -> tuple[Any, Any]:
    """Return the schema, and a parser that reads nothing but the file."""
    try:
        from lxml import etree
    except ImportError as error:
        raise UsageError("--schema needs lxml: pip install 'onoma[tei]'.") from error
    if schema.suffix == ".rnc":
        raise UsageError(
            f"{schema}: is in the compact syntax. Convert it once: trang {schema.name} "
            f"{schema.stem}.rng."
        )
    parser = etree.XMLParser(no_network=True, load_dtd=False, resolve_entities="internal")
    try:
        relax = etree.RelaxNG(etree.parse(schema, parser))
    except (OSError, etree.LxmlError) as error:
        raise UsageError(f"{schema}: is no RelaxNG schema that can be read ({error}).") from error
    return relax, parser
