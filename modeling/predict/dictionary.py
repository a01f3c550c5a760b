"""Names found by the forms of a register, without any model or beside a tagger."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corpora.document import Document, Mention, reading_order, without_crossing
from corpora.registers.dictionary import RegisterDictionary
from corpora.registers.references import Referrer, parse_style
from corpora.registers.register import read_registers
from corpora.runs.plan import find_inputs
from corpora.tei.edition import SUFFIXES, Edition
from corpora.tei.pointers import entity_of
from corpora.tei.provenance import Model
from corpora.tei.reader import TeiText, read_tei
from corpora.tei.writer import Standing, TeiFile, WriteOptions, Written
from corpora.tei.xml import XmlError, parse_xml
from modeling.training.run_folder import versions

_WITHOUT_ID = (
    "of these without an id (no name of the files shows how ids are written; see --reference)"
)


@dataclass(frozen=True, slots=True)
class OpenRegister:
    """A register whose forms are looked for in the files of an edition."""

    dictionary: RegisterDictionary
    model: Model
    """The description of the dictionary for the TEI header, as the finder of the names."""
    referrer: Referrer
    """The writer of references from names to entries."""

    def add_to(self, written: Written, *, options: WriteOptions, standing: Standing) -> Written:
        """Write the mentions that the dictionary finds into a file, after others were written."""
        found = {
            document.id: document.mentions
            for document in self.dictionary.annotate_all(written.file.documents)
        }
        own = replace(options, reviewer="")
        made = written.add(found, model=self.model, options=own, standing=standing)
        made.counters["written by the register"] = made.written - written.written
        left = {(one.document, one.mention) for one in made.skipped}
        made.counters[_WITHOUT_ID] = sum(
            mention.entity is None and (id, mention) not in left
            for id, mentions in found.items()
            for mention in mentions
        )
        return made

    def merged(self, found: Document, file: TeiFile) -> Document:
        """Link predicted mentions to entries, and add what the dictionary finds beside them."""
        found = self.dictionary.identify(found)
        [own] = [document for document in file.documents if document.id == found.id]
        beside, _ = without_crossing((*own.mentions, *found.mentions))
        around = replace(own, mentions=tuple(beside))
        more = self.dictionary.annotate(around).mentions
        return replace(found, mentions=tuple(sorted([*found.mentions, *more], key=reading_order)))


def open_register(
    patterns: Sequence[str],
    documents: Sequence[Document],
    edition: Edition,
    *,
    reference: str,
    offers: bool = False,
    elsewhere: Sequence[Mention] = (),
) -> OpenRegister:
    """Read a register, and learn from the documents of an edition how they refer to it.

    ``elsewhere``: names outside the texts, for labels whose references no text shows. ``offers``:
    mentions in a list get ids even if no file shows how ids are written. Raises ``CorpusError`` if
    the register cannot be read.
    """
    found = find_inputs(patterns, suffix=SUFFIXES, option="register")
    data = {name: path.read_bytes() for name, path in found.items()}
    style = parse_style(reference, edition) if reference else None
    register = read_registers(data.items()).read_by(edition)
    referrer = Referrer(edition, given=style, offers=offers)
    dictionary = RegisterDictionary(register, edition, referrer, documents=documents)
    referrer.learn_elsewhere(elsewhere, register)
    sha256 = hashlib.sha256(b"".join(hashlib.sha256(one).digest() for one in data.values()))
    model = Model(
        id=f"onoma-{sha256.hexdigest()[:12]}",
        name=f"Onoma dictionary of the register {', '.join(list(data)[:3])}",
        version=versions()["onoma"],
        sha256=sha256.hexdigest(),
        kind="dictionary",
    )
    return OpenRegister(dictionary, model, referrer)


def texts_of(files: Mapping[str, Path], edition: Edition) -> Iterator[TeiText]:
    """Read the texts of an edition; skip files that cannot be read."""
    for name, path in files.items():
        try:
            yield from read_tei(path.read_bytes(), edition, name=name)
        except XmlError:
            continue  # the file is rejected later, when names are to be written into it


def names_in_headers(files: Mapping[str, Path], edition: Edition) -> Iterator[Mention]:
    """Yield the names with an id in the headers of files; their characters mean nothing."""
    for name, path in files.items():
        try:
            root = parse_xml(path.read_bytes(), name=name)
        except XmlError:
            continue  # as in ``texts_of``
        headers = (element for element in root.walk() if element.name == "teiheader")
        for element in (each for header in headers for each in header.walk()):
            label, given = edition.meaning(element).label, element.attributes
            if label and (entity := entity_of(given, edition)):
                attributes = {f"@{key}": value for key, value in given.items()}
                yield Mention(0, 1, entity, label, attributes=attributes)
