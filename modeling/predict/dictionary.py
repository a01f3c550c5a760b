"""Names found by the known forms of an edition, without any model or beside a tagger."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corpora.document import Document, Mention, reading_order
from corpora.registers.dictionary import MIN_PRECISION, Dictionary
from corpora.registers.joining import Joined, join
from corpora.registers.references import Habits, Referrer, parse_style
from corpora.registers.register import read_registers
from corpora.runs.plan import find_inputs
from corpora.tei.edition import SUFFIXES, Edition
from corpora.tei.pointers import entity_of
from corpora.tei.provenance import Model
from corpora.tei.reader import TeiText, read_tei
from corpora.tei.writer import Standing, WriteOptions, WrittenFile
from corpora.tei.xml import XmlError, parse_xml
from modeling.training.run_folder import versions

_WITHOUT_ID = (
    "of these without an id (no name of the files shows how ids are written; see --reference)"
)


_ALONE = "names of the tagger alone held back: not as sure as --min-precision says"


@dataclass(frozen=True, slots=True)
class OpenDictionary:
    """The known names of an edition, which are looked for in its files."""

    dictionary: Dictionary
    model: Model
    """The description of the dictionary for the TEI header, as the finder of the names."""
    referrer: Referrer | None
    """The writer of references to a register's entries; None without a register."""

    def join(self, predicted: Document, own: Document, *, threshold: float) -> Joined:
        """Join a tagger's names in a document with those of the dictionary."""
        judged = self.dictionary.judge(own)
        joined = join(predicted.mentions, judged, self.dictionary, threshold=threshold)
        self.dictionary.count(own, joined.known)
        self.dictionary.held_back[_ALONE] += joined.n_alone
        return joined

    def add_to(
        self,
        written: WrittenFile,
        joined: Mapping[str, Joined],
        *,
        options: WriteOptions,
        standing: Standing,
    ) -> WrittenFile:
        """Write the dictionary's names into a file, after others were written."""
        names = {
            id: [(each, self.dictionary.mention(each)) for each in of.known if each.is_name]
            for id, of in joined.items()
        }
        mentions = {id: [mention for _, mention in pairs] for id, pairs in names.items()}
        given = replace(options, reviewer="", threshold=0.0)
        made = written.add(mentions, model=self.model, options=given, standing=standing)
        made.counters["written by the dictionary"] = made.written - written.written
        left = {(each.document, each.mention) for each in made.skipped}
        made.counters[_WITHOUT_ID] = sum(
            judged.entity is not None and mention.entity is None and (id, mention) not in left
            for id, pairs in names.items()
            for judged, mention in pairs
        )
        return made

    def merged(self, predicted: Document, own: Document) -> Document:
        """Return the names of a tagger and of the dictionary together, for a list."""
        joined = self.join(predicted, own, threshold=0.0)
        known = [self.dictionary.mention(each) for each in joined.known if each.is_name]
        mentions = sorted([*joined.tagged, *known], key=reading_order)
        return replace(predicted, mentions=tuple(mentions))


def open_dictionary(
    patterns: Sequence[str],
    documents: Sequence[Document],
    habits: Habits,
    *,
    edition: Edition,
    reference: str,
    offers: bool = False,
    elsewhere: Sequence[Mention] = (),
    min_precision: float | None = MIN_PRECISION,
) -> OpenDictionary:
    """Learn the names of an edition from its documents, and from a register, if one is named.

    ``elsewhere``: names outside the texts, for labels whose references no text shows. ``offers``:
    mentions in a list get ids even if no file shows how ids are written. Raises ``CorpusError`` if
    the register cannot be read.
    """
    if not patterns:
        dictionary = Dictionary(
            documents,
            None,
            edition,
            refer=lambda mention, entity: habits.refer_to_same(replace(mention, entity=entity)),
            min_precision=min_precision,
        )
        names = [repr(m.key).encode() for each in documents for m in each.mentions]
        return OpenDictionary(dictionary, _model(f"the names of {edition.name}", names), None)
    files = find_inputs(patterns, suffix=SUFFIXES, option="register")
    data = {name: path.read_bytes() for name, path in files.items()}
    register = read_registers(data.items()).read_by(edition)
    style = parse_style(reference, edition) if reference else None
    referrer = Referrer(edition, given=style, offers=offers)
    referrer.learn(documents, register)
    referrer.learn_elsewhere(elsewhere, register)
    dictionary = Dictionary(
        documents,
        register,
        edition,
        refer=lambda mention, entity: referrer.refer(mention, register.entries[entity]),
        min_precision=min_precision,
    )
    name = f"the register {', '.join(list(data)[:3])}"
    return OpenDictionary(dictionary, _model(name, list(data.values())), referrer)


def _model(name: str, parts: Sequence[bytes]) -> Model:
    sha256 = hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).hexdigest()
    return Model(
        id=f"onoma-{sha256[:12]}",
        name=f"Onoma dictionary of {name}",
        version=versions()["onoma"],
        sha256=sha256,
        kind="dictionary",
    )


def texts_of(files: Mapping[str, Path], edition: Edition) -> Iterator[TeiText]:
    """Read the texts of an edition; skip files that cannot be read."""
    for name, path in files.items():
        try:
            yield from read_tei(path.read_bytes(), edition, name=name, with_lemmas=True)
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
