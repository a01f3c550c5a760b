"""Texts with names beside them, as annotation tools save them: UIMA XMI, GATE, BioC, spaCy.

A CAS is read by cassis, BioC by bioc, a ``DocBin`` by spaCy. Each text is cut into sentences and
words; the tokens of the files are not read. A file that cannot be read is rejected whole.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from corpora.document import Rejected
from corpora.errors import UsageError
from corpora.ner.bad_records import BadRecordError
from corpora.ner.exchange import cas_of_xmi, docs_of, names_of
from corpora.ner.found import Origin, PartSentences, check_characters, label_of
from corpora.ner.layout import FileLayout
from corpora.ner.offsets import CHARACTERS, WrittenName
from corpora.ner.texts import NamedText, cut_texts
from corpora.tei.xml import Element, encoded, parse_xml

if TYPE_CHECKING:
    from bioc import BioCCollection, BioCPassage

_OF_NAMES = re.compile(r".*\.ner\..*|(?:.*[._])?(?:named)?_?(?:entity|ner?)", re.IGNORECASE)
"""The types of a CAS that are names."""
_NOT_NAMES = frozenset({
    "DEFAULT_TOKEN", "Lookup", "Paragraph", "Section", "Sentence", "SpaceToken", "Split", "Token",
    "paragraph",
})  # fmt: skip
"""Types that GATE's own resources make, which are no names."""


def _texts_of_xmi(data: bytes, layout: FileLayout, _: Counter[str]) -> Iterator[NamedText]:
    """Read the text of a CAS, and the names of the type that ``layout.key`` names, if any."""
    cas = cas_of_xmi(data.decode())
    text = cas.sofa_string or ""
    kinds = {kind.name for kind in cas.typesystem.get_types() if kind.supertype is not None}
    spans = [span for span in cas.select_all_fs() if span.type.name in kinds and _is_span(span)]
    named = [span for span in spans if _is_named(span.type.name, layout.key)]
    if spans and not named:
        there = ", ".join(sorted({span.type.name for span in spans}))
        raise UsageError(f"which type of the CAS has the names? Say --tag-column TYPE ({there}).")
    names = []
    for span in named:
        values = (getattr(span, key, None) for key in ("value", "label", "type_", "category"))
        label = next((value for value in values if isinstance(value, str) and value), None)
        names.append(
            WrittenName(
                span.begin, span.end, label_of(label or span.type.name.rpartition(".")[2], span)
            )
        )
    yield NamedText(1, text, names)


def _is_span(span: object) -> bool:
    begin, end = getattr(span, "begin", None), getattr(span, "end", None)
    return isinstance(begin, int) and isinstance(end, int) and begin < end


def _is_named(kind: str, key: str) -> bool:
    return key in {kind, kind.rpartition(".")[2]} if key else bool(_OF_NAMES.fullmatch(kind))


def _texts_of_gate(data: bytes, layout: FileLayout, counters: Counter[str]) -> Iterator[NamedText]:
    """Read a document of GATE: nodes in its text, and sets of annotations between them."""
    name = "the file"
    root = parse_xml(encoded(data.decode(), name=name), name=name)
    content = next(element for element in root.elements() if element.name == "textwithnodes")
    text, nodes = "", dict[str, int]()
    for part in content.children:
        if isinstance(part, str):
            text += part
        else:
            nodes[part.attributes["id"]] = len(text)
    names = []
    for element in _annotations(root, layout.key):
        label = label_of(element.attributes.get("Type"), element.attributes)
        ends = [nodes.get(element.attributes.get(key, "")) for key in ("StartNode", "EndNode")]
        match ends:
            case [int(start), int(end)] if start < end:
                names.append(WrittenName(start, end, label))
            case _:
                counters[f"empty names not in ner: {label}"] += 1
    yield NamedText(1, text, names)


def _annotations(root: Element, key: str) -> list[Element]:
    """Find the names: those of the set ``key``, of ``Key``, of the one without a name, or others.

    Raises ``UsageError`` if several others have some.
    """
    sets = {
        group.attributes.get("Name", ""): [
            element
            for element in group.elements()
            if element.attributes.get("Type") not in _NOT_NAMES
        ]
        for group in root.elements()
        if group.name == "annotationset" and group.attributes.get("Name") != "Original markups"
    }
    full = {name: elements for name, elements in sets.items() if elements}
    if key:
        return sets.get(key, [])
    for name in ("Key", ""):
        if name in full:
            return full[name]
    if len(full) > 1:
        there = ", ".join(full)
        raise UsageError(f"which set of GATE has the names? Say --tag-column SET ({there}).")
    return next(iter(full.values()), [])


def _texts_of_bioc(data: bytes, _: FileLayout, counters: Counter[str]) -> Iterator[NamedText]:
    """Read the passages of BioC, in XML or JSON; each is a text of its document."""
    from bioc import biocjson, biocxml

    load = biocjson.loads if data.lstrip()[:1] == b"{" else biocxml.loads
    collection: BioCCollection = load(data.decode())
    number = 0
    for document in collection.documents:
        for passage in document.passages:
            for part in [passage, *passage.sentences] if not passage.text else [passage]:
                if part.text:
                    number += 1
                    yield NamedText(number, part.text, _names_of(part, counters), document.id)


def _names_of(passage: "BioCPassage", counters: Counter[str]) -> list[WrittenName]:
    """Read the names of a passage, whose offsets begin with that of the passage."""
    annotations = [*passage.annotations, *(a for s in passage.sentences for a in s.annotations)]
    names = []
    for annotation in annotations:
        label = label_of(annotation.infons.get("type"), annotation)
        edges = [(place.offset, place.offset + place.length) for place in annotation.locations]
        if not edges:
            counters[f"empty names not in ner: {label}"] += 1
            continue
        counters[f"discontinuous names: {label}"] += len(edges) > 1
        start, end = min(edges)[0] - passage.offset, max(edge for _, edge in edges) - passage.offset
        names.append(WrittenName(start, end, label, annotation.text if len(edges) == 1 else None))
    return names


def _texts_of_docbin(data: bytes, layout: FileLayout, _: Counter[str]) -> Iterator[NamedText]:
    """Read the documents of a ``DocBin``, with the names that spaCy would train on."""
    for number, doc in enumerate(docs_of(data), 1):
        spans = doc.spans.get(layout.key, ()) if layout.key else names_of(doc)
        names = [
            WrittenName(span.start_char, span.end_char, label_of(span.label_, span))
            for span in spans
        ]
        if doc.text.strip():
            yield NamedText(number, doc.text, names)


_READ = {
    "xmi": _texts_of_xmi,
    "gate": _texts_of_gate,
    "bioc": _texts_of_bioc,
    "docbin": _texts_of_docbin,
}


def read_tool_texts(data: bytes, layout: FileLayout, origin: Origin) -> PartSentences:
    """Read the texts of a file, numbered from 1, as records of it."""
    counters: Counter[str] = Counter()
    texts: list[NamedText] = []
    rejected: list[Rejected] = []
    records = Origin(origin.source, "record")
    try:
        for text in _READ[layout.format](data, layout, counters):
            check_characters(text.text)
            texts.append(text)
    except BadRecordError as error:
        rejected.append(records.leave_out("record", error, len(texts) + 1))
    except (UsageError, ImportError):
        raise
    except Exception as error:  # noqa: BLE001 - libraries may raise anything on a damaged file
        problem = BadRecordError("malformed", f"cannot be read as {layout.format} ({error})")
        rejected.append(records.leave_out("rest of the file", problem, len(texts) + 1))
    return cut_texts(
        texts,
        records,
        what="record",
        lang=layout.lang,
        rejected=rejected,
        counters=counters,
        counting=None if layout.format == "bioc" else CHARACTERS,  # the others have no offsets
    )
