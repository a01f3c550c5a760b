"""Documents with names, written and read in the formats of annotation tools.

The formats are UIMA CAS (XMI and JSON, for INCEpTION and its kin; needs dkpro-cassis), WebAnno
TSV 3, brat, W3C Web Annotations (Recogito) and spaCy's ``DocBin`` (needs spaCy). Offsets in
documents count Unicode code points; formats have their own units (UIMA: UTF-16 units). A name
without a label is left out.
"""

import json
import re
import tempfile
import warnings
import zlib
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from corpora.document import Document, Mention, Span
from corpora.errors import CorpusError, UsageError
from corpora.ner.brat import parse_standoff
from corpora.ner.offsets import utf16_units
from corpora.system.files import check_new
from corpora.system.parsing import parse_json
from corpora.system.writing import write_whole

if TYPE_CHECKING:
    from cassis import Cas, TypeSystem
    from spacy.tokens import Doc
    from spacy.tokens import Span as SpacySpan

_ANNOTATION = "uima.tcas.Annotation"
_SEGMENT = "de.tudarmstadt.ukp.dkpro.core.api.segmentation.type"
_NAME = "de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity"
_PACKAGE = re.compile(r'xmlns:([\w.-]+)="http:///([\w./-]+)\.ecore"')
_XMI_ELEMENT = re.compile(r'<([\w.-]+):([\w.-]+)((?:\s+[\w:.-]+\s*=\s*"[^"]*")*)\s*/?>')
_XMI_KEY = re.compile(r"(?<=\s)[\w.-]+(?=\s*=)")
_META = "de.tudarmstadt.ukp.dkpro.core.api.metadata.type.DocumentMetaData"
_TOKENS = re.compile(r"\w+|[^\w\s]")
_CONTEXT = 32
_MAX_BYTES = 200_000_000
"""The most bytes of a tool's file, unpacked."""
TYPES = "TypeSystem.xml"
"""The file beside XMI that has its types."""
SPANS = "names"
"""The span group of a spaCy ``Doc`` that holds all names, nested ones included."""


@dataclass(frozen=True, slots=True)
class Annotated:
    """The content of a tool's file: a text, and the names in it."""

    name: str
    """The name of the document in the file, or else the file's name without its suffix."""
    text: str | None
    """None if the format does not hold the whole text."""
    mentions: tuple[Mention, ...]
    quotes: tuple[tuple[int, str], ...] = ()
    """The pieces of the text that the format has in place of the whole, each with its offset."""

    def fits(self, text: str) -> bool:
        """Tell whether its text, or all that it has of it, is this text."""
        if self.text is not None:
            return self.text == text
        return all(text.startswith(quote, start) for start, quote in self.quotes)


def named(document: Document) -> list[Mention]:
    """Return the mentions with a label, in reading order."""
    return [mention for mention in document.mentions if mention.label]


def tokens_of(document: Document) -> list[Span]:
    """Split a text into tokens; the bounds of names and sentences also are bounds of tokens."""
    spans = [*named(document), *document.sentences]
    cuts = sorted({place for span in spans for place in (span.start, span.end)})
    tokens: list[Span] = []
    for match in _TOKENS.finditer(document.text):
        inside = cuts[bisect_right(cuts, match.start()) : bisect_left(cuts, match.end())]
        tokens += [Span(a, b) for a, b in pairwise([match.start(), *inside, match.end()])]
    return tokens


def _types() -> "TypeSystem":
    """Build the types of DKPro Core that are written; INCEpTION has them, too."""
    import cassis

    types = cassis.TypeSystem()
    meta = types.create_type(_META, supertypeName=_ANNOTATION)
    name = types.create_type(_NAME, supertypeName=_ANNOTATION)
    for kind, features in (
        (meta, ("documentId", "documentTitle")),
        (name, ("value", "identifier")),
    ):
        for feature in features:
            types.create_feature(kind, name=feature, rangeType="uima.cas.String")
    for segment in ("Sentence", "Token"):
        types.create_type(f"{_SEGMENT}.{segment}", supertypeName=_ANNOTATION)
    return types


def _cas_of(document: Document) -> "Cas":
    import cassis

    types = _types()
    cas = cassis.Cas(typesystem=types)
    cas.sofa_string, cas.sofa_mime = document.text, "text/plain"
    meta = types.get_type(_META)
    details = {"documentId": document.id, "documentTitle": document.id}
    cas.add(meta(begin=0, end=len(document.text), **details))
    kinds = {name: types.get_type(f"{_SEGMENT}.{name}") for name in ("Sentence", "Token")}
    for sentence in document.sentences:
        cas.add(kinds["Sentence"](begin=sentence.start, end=sentence.end))
    for token in tokens_of(document):
        cas.add(kinds["Token"](begin=token.start, end=token.end))
    kind = types.get_type(_NAME)
    for mention in named(document):
        cas.add(
            kind(
                begin=mention.start, end=mention.end, value=mention.label, identifier=mention.entity
            )
        )
    return cas


def _write_xmi(document: Document, path: Path) -> None:
    cas = _cas_of(document)
    cas.to_xmi(path, pretty_print=True)
    types = path.with_name(TYPES)
    if not types.exists():
        cas.typesystem.to_xml(types)


def _write_cas_json(document: Document, path: Path) -> None:
    _cas_of(document).to_json(path, pretty_print=True)


def refuse_wild_places() -> None:
    """Make cassis raise for an offset outside the text.

    By default it warns, and lists the text in each warning.
    """
    warnings.filterwarnings("error", "Not mapping (external|internal) offset", UserWarning)


def _read_xmi(path: Path) -> Annotated:
    import cassis

    beside = path.with_name(TYPES)
    types = cassis.load_typesystem(_xml(_read_text(beside))) if beside.is_file() else None
    return _of_cas(cas_of_xmi(_read_text(path), types), path)


def cas_of_xmi(xml: str, types: "TypeSystem | None" = None) -> "Cas":
    """Read a CAS; without its types, what it has at places of the text are its types."""
    import cassis

    refuse_wild_places()
    xml = _xml(xml)
    types = types or _types_in(xml)
    return cassis.load_cas_from_xmi(xml, typesystem=types, lenient=True)


def _types_in(xml: str) -> "TypeSystem":
    """Build types for all annotations in XMI, with their attributes as features."""
    types = _types()
    packages = {prefix: path.replace("/", ".") for prefix, path in _PACKAGE.findall(xml)}
    features: dict[str, set[str]] = {}
    for prefix, name, attributes in _XMI_ELEMENT.findall(xml):
        keys = {*_XMI_KEY.findall(attributes)}
        if {"begin", "end"} <= keys and not packages.get(prefix, "uima").startswith("uima"):
            features.setdefault(f"{packages[prefix]}.{name}", set()).update(keys)
    for name, keys in features.items():
        is_known = types.contains_type(name)
        kind = types.get_type(name) if is_known else types.create_type(name, _ANNOTATION)
        known = {feature.name for feature in kind.all_features}
        for key in sorted(keys - known - {"sofa", "begin", "end"}):
            types.create_feature(kind, name=key, rangeType="uima.cas.String")
    return types


def _xml(text: str) -> str:
    """Return XML of UIMA without its first line; raises for a DOCTYPE, whose entities are loaded.

    That line would name an encoding in decoded text.
    """
    if "<!DOCTYPE" in text:
        raise ValueError("it has a DOCTYPE")
    return re.sub(r"\A\ufeff?<\?xml[^>]*\?>", "", text)


def _read_text(path: Path) -> str:
    return _read_bytes(path).decode("utf-8")


def _read_bytes(path: Path) -> bytes:
    with path.open("rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"has more than {_MAX_BYTES:,} bytes")
    return data


def _read_cas_json(path: Path) -> Annotated:
    import cassis

    refuse_wild_places()
    text = _read_text(path)
    parse_json(text)  # raises for nesting that exceeds the recursion limit
    return _of_cas(cassis.load_cas_from_json(text), path)


def _of_cas(cas: "Cas", path: Path) -> Annotated:
    known = {kind.name for kind in cas.typesystem.get_types()}
    annotations = cas.select(_NAME) if _NAME in known else []
    mentions = [
        _mention((one.begin, one.end), one.value, getattr(one, "identifier", None))
        for one in annotations
        if one.begin < one.end
    ]
    metadata = cas.select(_META) if _META in known else []
    name = next((one.documentId for one in metadata if one.documentId), path.stem)
    return Annotated(name, cas.sofa_string, tuple(mentions))


def _mention(place: tuple[int, int], label: str | None, entity: str | None) -> Mention:
    return Mention(*place, label=label or None, entity=entity or None)


def _write_brat(document: Document, path: Path) -> None:
    """Write the text, and the names beside it: ``T`` lines, and ``N`` lines with the ids."""
    path.with_suffix(".txt").write_bytes(document.text.encode())
    lines = []
    for number, mention in enumerate(named(document), 1):
        surface = document.text[mention.start : mention.end]
        parts = [m.span() for m in re.finditer(r"[^\n]+", surface)]
        places = ";".join(f"{mention.start + a} {mention.start + b}" for a, b in parts)
        shown = surface.replace("\n", " ")
        lines.append(f"T{number}\t{mention.label} {places}\t{shown}\n")
        if mention.entity:
            lines.append(f"N{number}\tReference T{number} {_one_id(mention.entity)}\t{shown}\n")
    path.write_bytes("".join(lines).encode())


def _one_id(entity: str) -> str:
    """Encode an id as one word, for a column that white space would end: ``%E3%80%80``."""
    return re.sub(r"[\s%]", lambda m: "".join(f"%{byte:02X}" for byte in m[0].encode()), entity)


def _read_brat(path: Path) -> Annotated:
    text = _read_text(path.with_suffix(".txt"))
    mentions, _ = parse_standoff(_read_text(path), text)
    return Annotated(path.stem, text, tuple(mentions))


def _write_w3c(document: Document, path: Path) -> None:
    """Write an array of annotations, each with its quote and its position in the text."""
    text = document.text
    path.write_text(
        json.dumps(
            [
                {
                    "@context": "http://www.w3.org/ns/anno.jsonld",
                    "id": f"#name-{number}",
                    "type": "Annotation",
                    "body": [
                        {"type": "TextualBody", "purpose": "tagging", "value": mention.label},
                        *(
                            [{"type": "SpecificResource", "purpose": "identifying",
                              "source": mention.entity}]
                            if mention.entity else []
                        ),
                    ],
                    "target": {
                        "source": document.id,
                        "selector": [
                            {
                                "type": "TextQuoteSelector",
                                "exact": text[mention.start : mention.end],
                                "prefix": text[max(0, mention.start - _CONTEXT) : mention.start],
                                "suffix": text[mention.end : mention.end + _CONTEXT],
                            },
                            {
                                "type": "TextPositionSelector",
                                "start": mention.start,
                                "end": mention.end,
                            },
                        ],
                    },
                }
                for number, mention in enumerate(named(document), 1)
            ],
            ensure_ascii=False,
            indent=1,
        )
        + "\n",
        encoding="utf-8",
    )  # fmt: skip
    path.with_suffix(".txt").write_bytes(text.encode())


def _read_w3c(path: Path) -> Annotated:
    """Read an array of annotations, or an ``AnnotationPage`` that is the only one."""
    beside = path.with_suffix(".txt")
    text = _read_text(beside) if beside.is_file() else None
    units = utf16_units(text or "")
    name, mentions, quotes = path.stem, list[Mention](), list[tuple[int, str]]()
    annotations = parse_json(_read_text(path))
    if isinstance(annotations, dict):
        if annotations.get("next"):
            raise ValueError("it is one AnnotationPage of several; export all names in one")
        annotations = annotations.get("items")
    if not isinstance(annotations, list):
        raise ValueError("it is no array of annotations, and no AnnotationPage with items")
    for annotation in annotations:
        bodies = annotation.get("body") or []
        bodies = bodies if isinstance(bodies, list) else [bodies]
        labels = [b.get("value") for b in bodies if b.get("purpose") == "tagging"]
        ids = [b.get("source") or b.get("value") for b in bodies
               if b.get("purpose") in {"identifying", "linking"}]  # fmt: skip
        target = annotation["target"]
        name = target.get("source") or name if isinstance(target, dict) else name
        selectors = target["selector"]
        selectors = selectors if isinstance(selectors, list) else [selectors]
        kinds = {selector["type"]: selector for selector in selectors}
        position, quote = kinds["TextPositionSelector"], kinds.get("TextQuoteSelector", {})
        span = position["start"], position["end"]
        exact = quote.get("exact")
        if exact is not None and text is None:
            quotes.append((span[0], exact))
        elif exact is not None and text is not None and text[span[0] : span[1]] != exact:
            first = bisect_left(units, span[0])  # tools in a browser count UTF-16 units
            span = first, first + len(exact)
            if text[first : span[1]] != exact:
                raise ValueError(f"{exact!r} is not at {position['start']} in {beside.name}")
        mentions.append(_mention(span, *(labels[:1] or [None]), *(ids[:1] or [None])))
    return Annotated(name, text, tuple(mentions), tuple(quotes))


def _write_spacy(document: Document, path: Path) -> None:
    import spacy
    from spacy.tokens import Doc, DocBin, Span
    from spacy.util import get_words_and_spaces

    words = [document.text[t.start : t.end] for t in tokens_of(document)]
    words, spaces = get_words_and_spaces(words, document.text)
    doc = Doc(spacy.blank("xx").vocab, words=words, spaces=spaces)
    doc.user_data["id"] = document.id
    starts = {token.idx: token.i for token in doc}
    ends = {token.idx + len(token): token.i + 1 for token in doc}
    spans = [
        Span(doc, starts[m.start], ends[m.end], label=m.label or "", kb_id=m.entity or "")
        for m in named(document)
    ]
    doc.spans[SPANS] = spans
    doc.ents = tuple(spacy.util.filter_spans(spans))
    DocBin(docs=[doc], store_user_data=True).to_disk(path)


def _read_spacy(path: Path) -> Annotated:
    [doc] = docs_of(_read_bytes(path))
    places = ((span, (span.start_char, span.end_char)) for span in names_of(doc))
    mentions = tuple(_mention(place, span.label_, span.kb_id_) for span, place in places)
    return Annotated(doc.user_data.get("id") or path.stem, doc.text, mentions)


def docs_of(data: bytes) -> "Iterator[Doc]":
    """Unpack the documents of a ``DocBin``."""
    import spacy
    from spacy.tokens import DocBin

    unpacker = zlib.decompressobj()
    if len(unpacker.decompress(data, _MAX_BYTES)) == _MAX_BYTES:
        raise ValueError(f"has more than {_MAX_BYTES:,} bytes, unpacked")
    yield from DocBin().from_bytes(data).get_docs(spacy.blank("xx").vocab)


def names_of(doc: "Doc") -> "Sequence[SpacySpan]":
    """Return the names: all that Onoma has written, else the entities, else ``spans["sc"]``."""
    return list(doc.spans.get(SPANS) or doc.ents or doc.spans.get("sc") or ())


_RESERVED = re.compile(r"[\\\[\]|_;*\t\n\r]|->")
_BLANKS = {"\t": "\\t", "\n": "\\n", "\r": "\\r"}
_COLUMNS = f"#T_SP={_NAME}|identifier|value"


def escape(value: str) -> str:
    """Write what is reserved in a text or a value with a backslash."""
    return _RESERVED.sub(lambda match: _BLANKS.get(match[0], f"\\{match[0]}"), value)


def unescape(value: str) -> str:
    """Read a text or a value."""
    plain = {written: blank for blank, written in _BLANKS.items()}
    return re.sub(r"\\(->|.)", lambda match: plain.get(match[0], match[1]), value)


def _write_webanno(document: Document, path: Path) -> None:
    """Write WebAnno TSV 3.3: a line per token, with numbered names in two columns."""
    text = document.text
    units = utf16_units(text)
    tokens, names = tokens_of(document), named(document)
    starts = [token.start for token in tokens]
    owners = _owners(names, starts)
    sentences = document.sentences or ((Span(0, len(text)),) if text else ())
    lines = ["#FORMAT=WebAnno TSV 3.3\n", f"{_COLUMNS}\n", "\n"]
    for number, sentence in enumerate(sentences, 1):
        shown = escape(text[sentence.start : sentence.end])
        lines.append(f"\n#Text={shown}\n")
        first, last = bisect_left(starts, sentence.start), bisect_left(starts, sentence.end)
        for place, index in enumerate(range(first, last), 1):
            token = tokens[index]
            owned = [(i + 1, names[i]) for i in owners[index]]
            cells = [
                "|".join(f"{escape(value) or '*'}[{i}]" for i, value in values) or "_"
                for values in (
                    [(i, m.entity or "") for i, m in owned],
                    [(i, m.label or "") for i, m in owned],
                )
            ]
            at = f"{units[token.start]}-{units[token.end]}"
            form = escape(text[token.start : token.end])
            lines.append(f"{number}-{place}\t{at}\t{form}\t{cells[0]}\t{cells[1]}\t\n")
    path.write_bytes("".join(lines).encode())


def _owners(names: Sequence[Mention], starts: Sequence[int]) -> list[list[int]]:
    """Find for each token, by its start, the indices of the names that contain it."""
    owners: list[list[int]] = [[] for _ in starts]
    for index, name in enumerate(names):
        for token in range(bisect_left(starts, name.start), bisect_left(starts, name.end)):
            owners[token].append(index)
    return owners


def _read_webanno(path: Path) -> Annotated:
    """Read names from WebAnno TSV, and the tokens as quotes.

    Characters beyond U+FFFF count as two in offsets. Parts of tokens have lines of their own.
    """
    names: dict[str, tuple[int, int, str, str]] = {}
    layers: list[str] = []
    quotes: list[tuple[int, str]] = []
    lines = [line.rstrip("\r") for line in _read_text(path).removeprefix("\ufeff").split("\n")]
    split = (line.split("\t") for line in lines if not line.startswith("#"))
    rows = [cells for cells in split if len(cells) >= 3]
    wide = sorted({place for cells in rows for place in _wide_in(cells)})
    for line in lines:
        if line.startswith("#T_SP="):
            layers += [f"{line[6:].split('|')[0]}|{f}" for f in line.split("|")[1:]]
    for cells in rows:
        start, end = (int(unit) - bisect_left(wide, int(unit)) for unit in cells[1].split("-"))
        quotes.append((start, unescape(cells[2])))
        values = dict(zip(layers, cells[3:], strict=False))
        ids = _numbered(values.get(f"{_NAME}|identifier", "_"), cells[0])
        for key, label in _numbered(values.get(f"{_NAME}|value", "_"), cells[0]).items():
            old = names.get(key, (start, end, label, ids.get(key, "")))
            names[key] = (min(old[0], start), max(old[1], end), old[2], old[3])
    mentions = [_mention(name[:2], name[2], name[3]) for name in names.values()]
    return Annotated(path.stem, None, tuple(mentions), tuple(quotes))


def _wide_in(cells: Sequence[str]) -> Iterator[int]:
    """Yield the places, in UTF-16 units, of the characters beyond U+FFFF in a token."""
    first, form = int(cells[1].partition("-")[0]), unescape(cells[2])
    for character, unit in zip(form, utf16_units(form), strict=False):
        if ord(character) > 0xFFFF:
            yield first + unit


def _numbered(cell: str, token: str) -> dict[str, str]:
    """Map the values of a cell by their numbers; a value without one belongs to the token."""
    numbered: dict[str, str] = {}
    if cell == "_":
        return numbered
    for part in re.split(r"(?<!\\)\|", cell):
        match = re.fullmatch(r"(.*?)(?:(?<!\\)\[(\d+)\])?", part, re.DOTALL)
        if match and match[1] not in {"_", ""}:
            numbered[match[2] or token] = "" if match[1] == "*" else unescape(match[1])
    return numbered


@dataclass(frozen=True, slots=True)
class ToolFormat:
    """The format of a tool."""

    about: str
    suffix: str
    write: Callable[[Document, Path], None]
    read: Callable[[Path], Annotated]


FORMS = {
    "xmi": ToolFormat(
        "UIMA CAS in XMI, with TypeSystem.xml (INCEpTION)", ".xmi", _write_xmi, _read_xmi
    ),
    "cas-json": ToolFormat("UIMA CAS in JSON", ".cas.json", _write_cas_json, _read_cas_json),
    "webanno": ToolFormat("WebAnno TSV 3.3", ".tsv", _write_webanno, _read_webanno),
    "brat": ToolFormat("brat .ann, with .txt beside it", ".ann", _write_brat, _read_brat),
    "w3c": ToolFormat("W3C Web Annotations (Recogito)", ".json", _write_w3c, _read_w3c),
    "spacy": ToolFormat("spaCy's DocBin", ".spacy", _write_spacy, _read_spacy),
}


def write_documents(documents: Iterable[Document], form: str, output: Path) -> Iterator[Path]:
    """Write a file for each document, named after it; yields the paths.

    Raises ``UsageError`` as ``write_new`` does.
    """
    for document in documents:
        path = output / f"{document.id}{FORMS[form].suffix}"
        if not path.resolve().is_relative_to(output.resolve()):
            raise CorpusError(f"{document.id}: is no name of a file in {output}.")
        write_new(document, form, path)
        yield path


def write_new(document: Document, form: str, path: Path) -> None:
    """Write the files for an annotation tool, in which people work.

    Raises ``UsageError`` if one of them exists with other bytes; a ``TypeSystem.xml`` stays.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        FORMS[form].write(document, Path(folder) / path.name)
        contents = {path.with_name(file.name): file.read_bytes() for file in Path(folder).iterdir()}
    contents = {
        file: data for file, data in contents.items() if file.name != TYPES or not file.exists()
    }
    for file, data in contents.items():
        check_new(file, data)
    for file, data in contents.items():
        write_whole(file, data)


def read_annotated(path: Path) -> Annotated:
    """Read a file in any of the formats, known by its suffix; raises ``UsageError``."""
    names = sorted(FORMS.values(), key=lambda form: -len(form.suffix))
    form = next((form for form in names if path.name.endswith(form.suffix)), None)
    if form is None:
        known = ", ".join(form.suffix for form in FORMS.values())
        raise UsageError(f"{path}: of what form is it? Known are files that end in {known}.")
    try:
        annotated = form.read(path)
    except UsageError:
        raise
    except Exception as error:  # the libraries may raise anything on another program's file
        raise CorpusError(f"{path}: cannot be read as {form.about} ({error}).") from error
    for mention in annotated.mentions:
        _check(mention, path, length=None if annotated.text is None else len(annotated.text))
    stem = path.name.removesuffix(form.suffix)
    return replace(annotated, name=stem if annotated.name == path.stem else annotated.name)


def _check(mention: Mention, path: Path, *, length: int | None) -> None:
    """Raise ``CorpusError`` for a mention that is no name in a text of this length."""
    places, texts = (mention.start, mention.end), (mention.label, mention.entity)
    is_place = all(type(offset) is int for offset in places)
    if (
        not is_place
        or not all(text is None or isinstance(text, str) for text in texts)
        or (length is not None and mention.end > length)
    ):
        raise CorpusError(
            f"{path}: {mention.label!r} from {places[0]!r} to {places[1]!r} is no name in its "
            "text. Export the file again."
        )


def files_of(paths: Sequence[Path]) -> list[Path]:
    """List the files of tools among files and folders; ``UsageError`` for a path without one."""
    suffixes = tuple(form.suffix for form in FORMS.values())
    files: list[Path] = []
    for path in paths:
        if not path.exists():
            raise UsageError(f"{path}: no such file or folder. Check the path.")
        inside = [path]
        if path.is_dir():
            inside = [file for file in sorted(path.rglob("*")) if file.name.endswith(suffixes)]
        if not inside:
            known = ", ".join(suffixes)
            raise UsageError(f"{path}: holds no file that ends in {known}. Name another folder.")
        files += inside
    return files
