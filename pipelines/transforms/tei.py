"""Transforms from TEI files to documents, and from these to sentences for name taggers."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING

from corpora.document import Rejected, Sentence
from corpora.hashing.sampling import choose
from corpora.hashing.splits import parse_ratios
from corpora.ner.alignment import count_untagged, to_sentences
from corpora.registers.lines import read_with_lines
from corpora.registers.linking import identify_text
from corpora.registers.register import Register, read_registers
from corpora.runs.plan import InputFile
from corpora.tei.edition import Edition, load_edition
from corpora.tei.reader import TeiText, read_tei
from corpora.tei.xml import XmlError
from pipelines.outcomes import Counts, Filtered, Written
from pipelines.transforms.elements import InUnit
from pipelines.transforms.files import SourceFile

if TYPE_CHECKING:
    from pipelines.tei_to_ner import TeiSettings


@dataclass(frozen=True, slots=True)
class ParsedFile:
    """The documents of a file."""

    source: str
    texts: Sequence[TeiText]
    position: str = ""


def parse_tei(
    record: SourceFile,
    *,
    settings: "TeiSettings",
    edition: InputFile,
    registers: tuple[InputFile, ...],
    included: Mapping[str, InputFile],
) -> Iterator[ParsedFile | Counts | Filtered | Rejected]:
    """Parse a TEI file to documents with mentions.

    ``edition``: the file that says what elements mean; ``registers``: files whose entries become
    the entities of mentions; ``included``: included files, by name.
    """
    name, means = record.source, _edition(edition, json.dumps(settings.learned))
    try:
        if settings.has_lines:
            texts = read_with_lines(record.data, means, name=name)
        else:
            texts = read_tei(
                record.data,
                means,
                name=name,
                included=included,
                repeated=settings.repeated.get(name, ()),
                max_bytes=settings.max_bytes,
            )
    except XmlError as error:
        yield Rejected(
            source=name,
            position=error.position,
            reason=error.reason,
            message=str(error),
            excerpt=error.excerpt,
        )
        return
    if registers:
        register = _register(registers).read_by(means)
        texts = [identify_text(text, register) for text in texts]
    if any(text.document for text in texts):
        yield ParsedFile(name, texts)
    else:
        yield Counts(sum((text.counters for text in texts), Counter[str]()))
        yield Filtered("no_text")


@cache
def _register(files: tuple[InputFile, ...]) -> Register:
    return read_registers((file.name, file.read()) for file in files)


@cache
def _edition(file: InputFile, learned: str) -> Edition:
    file.read()  # raises if the file has changed since the plan was made
    return load_edition(file.check()).with_learned(json.loads(learned))


def cut_sentences(file: InUnit[ParsedFile], *, settings: "TeiSettings") -> Iterator[Written]:
    """Cut the documents of a file into sentences of tagged tokens; yields both.

    The settings of the unit give the split of each file; other files are split by sentence or by
    document.
    """
    nested, seed = settings.nested, settings.seed
    ratios = parse_ratios(settings.ratios)
    counters = Counter[str]()
    sentences: list[Sentence] = []
    documents = []
    of_file = file.unit.settings.get(file.value.source)

    def split(document: str, id: str) -> str:
        by = document if settings.split == "document" else id
        return of_file or choose(by, ratios, seed=seed)

    for text in file.value.texts:
        counters += text.counters
        if document := text.document:
            documents.append(document)
            counters += count_untagged(document, nested)
            sentences += to_sentences(
                document,
                partial(split, text.split_with),
                nested=nested,
                segmenter_at=text.segmenters.at,
            )
    yield Written([*documents, *sentences], counters)
