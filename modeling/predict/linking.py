"""Linking of names in TEI files, with references written as the edition writes them."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from corpora.document import Document, Mention
from corpora.registers.references import Habits, Usage, parse_style
from corpora.system.files import sha256_of
from corpora.tei.edition import Edition
from corpora.tei.provenance import Model
from corpora.tei.writer import Standing, WriteOptions, WrittenFile
from modeling.link.datasets import PROBABILITY, link_document
from modeling.link.linker import Linker, files_of
from modeling.training.run_folder import versions


@dataclass(frozen=True, slots=True)
class OpenLinker:
    """A linker, and the way in which an edition refers to the linker's entities."""

    linker: Linker
    model: Model
    """The description of the linker for the TEI header, as the finder of the references."""
    habits: Habits

    def link(self, document: Document, counters: Counter[str]) -> Document:
        """Link mentions without an entity, and give them references as the edition writes them."""
        before = {id(mention) for mention in document.mentions if mention.entity is not None}
        linked = link_document(document, self.linker, counters)
        mentions = (m if id(m) in before else self.habits.refer(m) for m in linked.mentions)
        return replace(linked, mentions=tuple(mentions))

    def missing(self, document: Document, counters: Counter[str]) -> list[Mention]:
        """Link the document's own mentions without an entity; return those that got one.

        The score of a mention is the probability of its link.
        """
        there = {mention for mention in document.mentions if mention.entity is not None}
        linked = self.link(document, counters).mentions
        return [
            replace(m, score=float(m.attributes[PROBABILITY]))
            for m in linked
            if m.entity is not None and m not in there and PROBABILITY in m.attributes
        ]

    def add_to(
        self, written: WrittenFile, *, options: WriteOptions, standing: Standing
    ) -> WrittenFile:
        """Add references to mentions that have none, to a file after others were written into it.

        Mentions that our models added are left alone.
        """
        documents, uncounted = written.file.documents, Counter[str]()
        found = {document.id: self.missing(document, uncounted) for document in documents}
        own = replace(options, references=True, threshold=0.0, reviewer="")
        return written.add(found, model=self.model, options=own, standing=standing)


def open_linker(
    folder: Path,
    documents: Iterable[Document],
    edition: Edition,
    *,
    threshold: float | None = None,
    reference: str = "",
) -> OpenLinker:
    """Read a linker, and learn from the documents of an edition how it refers to entities.

    ``threshold`` is the lowest probability of a link; None: that of the linker.
    """
    linker = Linker.load(folder)
    if threshold is not None:
        linker.threshold = threshold
    known = {*linker.knowledge.register, *linker.knowledge.counts.documents}
    given = parse_style(reference, edition) if reference else None
    styles = linker.settings.get("references")
    elsewhere = [Usage(*one) for one in styles] if isinstance(styles, list) else []
    habits = Habits(edition, known, given=given, elsewhere=elsewhere)
    habits.learn(documents)
    return OpenLinker(linker, _model_of(folder), habits)


def _model_of(folder: Path) -> Model:
    hashes: Sequence[str] = [sha256_of(path) for path in files_of(folder).values()]
    sha256 = hashlib.sha256(" ".join(hashes).encode()).hexdigest()
    return Model(
        id=f"onoma-{sha256[:12]}",
        name="Onoma linker",
        version=versions()["onoma"],
        sha256=sha256,
        kind="linker",
    )
