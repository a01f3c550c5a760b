"""Download the schema of the TEI, with which ``onoma predict --tei`` validates what it writes.

    onoma schema
    onoma schema --version 4.9.0 --output tei_all.rng

Validation needs lxml: pip install 'onoma[tei]'.
"""

import hashlib
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import lru_cache, partial
from http.client import HTTPException
from importlib.util import find_spec
from pathlib import Path
from posixpath import normpath
from typing import TYPE_CHECKING
from urllib.parse import unquote

from corpora.errors import CorpusError, UsageError
from corpora.system.arguments import SUMMARY, Summary, execute, option, option_table, parse
from corpora.system.files import home
from corpora.system.web import check_address, opener
from corpora.system.writing import appearing, remove_leftovers
from corpora.tei.xml import PARTS, XmlError

if TYPE_CHECKING:
    from lxml.etree import RelaxNG, XMLParser, _Element, _ElementTree

VERSION = "4.12.0"
"""The version of the Guidelines, as in the TEI's archive (The Vault)."""
_ADDRESS = "https://www.tei-c.org/Vault/P5/{}/xml/tei/custom/schema/relaxng/tei_all.rng"
_MAX_BYTES = 20_000_000
_TIMEOUT = 60.0  # seconds
_UNEXPECTED = re.compile(
    r"Did not expect (?:element \S+ there|text in element \S+ content)|(?<=extra content): \S+"
)
_RNG = "{http://relaxng.org/ns/structure/1.0}"
_START_TAG = re.compile(rb"<(?:[\w.-]+:)?([A-Za-z][\w.-]*)")
_HEADER = (
    "<teiHeader><fileDesc><titleStmt><title/></titleStmt><publicationStmt><p/></publicationStmt>"
    "<sourceDesc><p/></sourceDesc></fileDesc></teiHeader>"
)
_WRITTEN = frozenset(
    {"appInfo", "application", "change", "desc", "encodingDesc", "label", "name", "note"}
    | {"orgName", "persName", "placeName", "ptr", "resp", "respStmt", "revisionDesc", "rs"}
)
"""Elements of most names, and of headers, where they are written beside names."""
_SAID = re.compile(rb"TEI Edition:\s+(?:P5 )?Version(?:\xc2\xa0|\s)+(\d+\.\d+\.\d+)")
"""The version that a schema names, after a no-break space (UTF-8)."""


@option_table
class Options:
    """Options of the command."""

    version: str = option(
        f"version of the TEI Guidelines (default: {VERSION})", VERSION, metavar="N.N.N"
    )
    url: str = option(
        "address of the schema (default: the one in the TEI's archive)", "", metavar="URL"
    )
    sha256: str = option(
        "SHA-256 that the file must have (default: not checked)", "", metavar="HEX"
    )
    output: Path | None = option(
        "file to write (default: where predict --tei looks for it)", metavar="FILE"
    )
    json: bool = option(SUMMARY)


def default_schema() -> Path:
    """Return the default path of the TEI's schema: ``onoma/tei_all.rng`` in the user's data."""
    data = os.environ.get("XDG_DATA_HOME") or home() / ".local" / "share"
    return Path(data) / "onoma" / "tei_all.rng"


def fetched_schema() -> Path | None:
    """Return the TEI's schema if it was fetched and lxml is there to use it."""
    path = default_schema()
    return path if path.is_file() and find_spec("lxml") is not None else None


def fetch(options: Options) -> Iterator[str | Summary]:
    """Download the schema and verify it; yields the messages to print.

    Raises ``CorpusError`` if it cannot be fetched, or is not the file that was asked for.
    """
    url, path = options.url or _ADDRESS.format(options.version), options.output or default_schema()
    check_address(url, option="url")
    try:
        with opener().open(url, timeout=_TIMEOUT) as response:
            data = response.read(_MAX_BYTES + 1)
    except (OSError, ValueError, HTTPException) as error:  # also an address that is none
        raise CorpusError(
            f"{url}: cannot be fetched ({error}). Download it by other means, and name it with "
            f"--schema, or put it at {default_schema()}."
        ) from error
    digest = _verified(data, options, url)
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path.parent, path.name)
    with appearing(path) as temporary:
        temporary.write_bytes(data)
        _compile(temporary, _parser(temporary))
    yield f"{path}: TEI P5 {options.version}, {len(data):,} bytes, SHA-256 {digest}"
    summary = {"output": str(path), "version": options.version, "bytes": len(data)}
    yield Summary(summary | {"sha256": digest})


def _verified(data: bytes, options: Options, url: str) -> str:
    """Check size, version and hash; returns the hash."""
    match, digest = _SAID.search(data[:10_000]), hashlib.sha256(data).hexdigest()
    wrong = ""
    if len(data) > _MAX_BYTES:
        wrong = f"has more than {_MAX_BYTES:,} bytes"
    elif match is None or match[1].decode() != options.version:
        version = match[1].decode() if match else "none"
        wrong = f"is no schema of TEI P5 {options.version} (the version that it names is {version})"
    elif options.sha256 not in {"", digest}:
        wrong = f"has the SHA-256 {digest}, not {options.sha256}"
    if wrong:
        raise CorpusError(f"{url}: {wrong}. Nothing was written.")
    return digest


def new_errors(before: bytes, after: bytes, schema: Path) -> list[str]:
    """List the errors of a file that were not there before, ``line 12: …``; lines do not count.

    An error for text where none is allowed does not count either if now a name encloses that text.

    Raises ``UsageError`` for an unusable schema, ``XmlError`` for a malformed file.
    """
    known = Counter(_known(before, schema))
    errors = []
    for line, message in _errors(after, schema):
        kind = _UNEXPECTED.sub("", message)
        known[kind] -= 1
        if known[kind] < 0:
            errors.append(f"line {line}: {message}")
    return errors


def new_errors_together(
    name: str, before: Mapping[str, Path], after: Mapping[str, Path], *, schema: Path
) -> list[str]:
    """List the new errors of a file with the whole files that it includes in their places.

    Ids that occur twice count, too. Raises as ``new_errors``.
    """
    errors = []
    for files in (before, after):
        tree = _parsed(files[name].read_bytes(), schema)
        _include(tree.getroot(), [name], files=files, schema=schema)
        errors.append(Counter(_messages_together(tree, schema)))
    return sorted((errors[1] - errors[0]).elements())


def _include(
    root: "_Element", names: Sequence[str], *, files: Mapping[str, Path], schema: Path
) -> None:
    """Put the whole files that an element includes into their places; ``names`` are around it."""
    for element in list(root.iter("{http://www.w3.org/2001/XInclude}include")):
        target = normpath(f"{names[-1]}/../{unquote(element.get('href', ''))}")
        around = element.getparent()
        is_part = element.get("parse", "xml") != "xml" or element.get("xpointer")
        if around is None or is_part or target not in files or target in names:
            continue
        part = _parsed(files[target].read_bytes(), schema).getroot()
        _include(part, [*names, target], files=files, schema=schema)
        part.tail = element.tail
        around.replace(element, part)


def _messages_together(tree: "_ElementTree", schema: Path) -> Iterator[str]:
    yield from (_UNEXPECTED.sub("", message) for _, message in _errors_of(tree, schema))
    name = "{http://www.w3.org/XML/1998/namespace}id"
    ids = Counter(node.attrib[name] for node in tree.iter() if name in node.attrib)
    yield from (f"the id {id} occurs {n} times" for id, n in ids.items() if n > 1)


@lru_cache(maxsize=2)
def _known(before: bytes, schema: Path) -> tuple[str, ...]:
    return tuple(_UNEXPECTED.sub("", message) for _, message in _errors(before, schema))


def _errors(data: bytes, schema: Path) -> list[tuple[int, str]]:
    return _errors_of(_parsed(data, schema), schema)


def _parsed(data: bytes, schema: Path) -> "_ElementTree":
    parser = _schema(schema).parser
    from lxml import etree

    try:
        return etree.fromstring(data, parser).getroottree()
    except etree.XMLSyntaxError as error:
        raise XmlError("malformed_xml", f"not well-formed XML ({error}).") from error


def _errors_of(tree: "_ElementTree", schema: Path) -> list[tuple[int, str]]:
    compiled, tree = _schema(schema), _whole(tree)
    elements = (element.tag for element in tree.iter() if isinstance(element.tag, str))
    relax = compiled.for_elements({tag.rpartition("}")[2] for tag in elements})
    relax.validate(tree)
    return [(entry.line, entry.message) for entry in relax.error_log]


def _whole(tree: "_ElementTree") -> "_ElementTree":
    """Put a part, such as a ``div``, into a text; everything else stays as it is."""
    from lxml import etree

    root = tree.getroot()
    namespace, _, name = str(root.tag).rpartition("}")
    if name not in PARTS:
        return tree
    inside = {"text": "{}", "group": "<text>{}</text>"}.get(name, "<text><body>{}</body></text>")
    if name in {"front", "body", "back"}:
        inside = "<text>{}</text>"
    whole = etree.fromstring(
        f'<TEI xmlns="{namespace[1:]}">{_HEADER}{inside.format("<part/>")}</TEI>'
    )
    hole = next(node for node in whole.iter() if str(node.tag).rpartition("}")[2] == "part")
    around = hole.getparent()
    assert around is not None  # noqa: S101 - it is in a text
    around.replace(hole, root)
    return whole.getroottree()


def expect(schema: Path, files: Iterable[Path]) -> None:
    """Compile a schema for all elements of some files, once; without files it is only read."""
    compiled = _schema(schema)
    for file in files:
        names = {name.decode("ascii") for name in _START_TAG.findall(file.read_bytes())}
        compiled.expected |= names
    if compiled.expected > _WRITTEN:
        compiled.for_elements(compiled.expected)


class _Schema:
    """A schema of which only the content of elements that are in files is compiled.

    libxml2 compiles all of the TEI's schema for 12 s, those of some projects minutes. An element
    that is in no file stays where others may contain it, and only its content is left out, with
    which nothing is compared. So all errors are those of the whole schema.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.parser = path, _parser(path)
        self.names = frozenset(map(_name_of, _elements_of(_read(path, self.parser))))
        """The local names of its elements."""
        self.expected: set[str] = set(_WRITTEN)
        """The local names of elements whose content is compiled next."""
        self._relax: RelaxNG | None = None
        self._compiled = frozenset[str]()
        """The elements whose content is compiled."""

    def for_elements(self, names: Set[str]) -> "RelaxNG":
        """Return the schema, with the content of these elements."""
        known = names & self.names
        if self._relax is None or not known <= self._compiled:
            self.expected |= known
            self._compiled = frozenset(self.expected)
            self._relax = _compile(self.path, self.parser, self._compiled)
        return self._relax


_schema = lru_cache(maxsize=8)(_Schema)


def _parser(schema: Path) -> "XMLParser":
    """Return a parser that reads nothing except the file."""
    try:
        from lxml import etree
    except ImportError as error:
        raise UsageError("--schema needs lxml: pip install 'onoma[tei]'.") from error
    if schema.suffix == ".rnc":
        raise UsageError(
            f"{schema}: is in the compact syntax. Convert it once: trang {schema.name} "
            f"{schema.stem}.rng."
        )
    return etree.XMLParser(  # a duplicate xml:id is left to validation
        no_network=True, load_dtd=False, resolve_entities="internal", collect_ids=False
    )


def _compile(schema: Path, parser: "XMLParser", names: Set[str] | None = None) -> "RelaxNG":
    """Compile a schema, with the content of all elements, or of those with these local names."""
    from lxml import etree

    tree = _read(schema, parser)
    for element in _elements_of(tree):
        if names is not None and _name_of(element) not in names:
            element[:] = [etree.Element(f"{_RNG}empty")]
    try:
        return etree.RelaxNG(tree)
    except etree.LxmlError as error:
        raise _unreadable(schema, error) from error


def _read(schema: Path, parser: "XMLParser") -> "_ElementTree":
    from lxml import etree

    try:
        return etree.parse(schema, parser)
    except (OSError, etree.LxmlError) as error:
        raise _unreadable(schema, error) from error


def _unreadable(schema: Path, error: Exception) -> UsageError:
    return UsageError(f"{schema}: is no RelaxNG schema that can be read ({error}).")


def _elements_of(schema: "_ElementTree") -> "list[_Element]":
    """Return the patterns of elements that have one name."""
    return [element for element in schema.iter(f"{_RNG}element") if element.get("name")]


def _name_of(element: "_Element") -> str:
    """Return the local name that the pattern of an element stands for."""
    return (element.get("name") or "").strip().rpartition(":")[2]


def main(argv: Sequence[str] | None = None) -> int:
    """Fetch the schema; returns the exit status."""
    options = parse(Options, argv, name="schema", about=__doc__)
    path = options.output or default_schema()
    return execute(partial(fetch, options), path=path, as_json=options.json)


if __name__ == "__main__":
    sys.exit(main())
