"""Predictions written into the bytes of a TEI file, in the style of its edition.

Tags are inserted into the text of the file at their places; nothing is serialised again. Every
result is proven before it is returned (``corpora.tei.proof``); a name that cannot be proven is
skipped with a reason.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

from corpora.document import (
    Document,
    Mention,
    Span,
    SpanIndex,
    index_of,
    reading_order,
    without_crossing,
)
from corpora.errors import CorpusError, UsageError
from corpora.tei.decisions import Answers, Settled
from corpora.tei.edition import Edition
from corpora.tei.fragments import Fragment, Fragmenter, Unplaceable
from corpora.tei.name_tags import Added, Failure, compose
from corpora.tei.places import CharacterPlaces, read_source
from corpora.tei.prefixes import union
from corpora.tei.proof import prove
from corpora.tei.provenance import Model, Responsibility
from corpora.tei.reader import TeiText
from corpora.tei.records import NO_RECORD
from corpora.tei.schema import new_errors
from corpora.tei.source import Node, Source
from corpora.tei.standoff import StandoffTarget, may_hold, pointer_to
from corpora.tei.style import REMARK, Remark, check_labels, reference, remark_on, template
from corpora.tei.undo import CHANGED, Kept, take_out_of
from corpora.tei.xml import PARTS, XmlError

Existing = Literal["keep", "only-new", "replace-predicted"]
Crossing = Literal["split", "standOff"]
Standing = Mapping[str, Sequence[Settled]]
"""The decisions of people in force, by the id of the document."""


class UnprovenError(CorpusError):
    """A file cannot be written so that the additions can be removed again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The treatment of existing names, of names that cross elements, and of doubtful names."""

    existing: Existing = "keep"
    """``keep``: a prediction is skipped if it equals or crosses an existing name, or is in or
    around one of the same label (unless both have entities, and these differ). ``only-new``: a
    prediction that touches an existing name is skipped. ``replace-predicted``: what any of our
    models added is taken out first, if it is as it was written; all other names are treated as by
    ``keep``."""
    crossing: Crossing = "split"
    """Whether a name that no single element can hold is split into fragments, or goes to
    ``standOff``."""
    threshold: float = 0.0
    """Predictions with a lower score are skipped; those without a score never are."""
    reviewer: str = ""
    """The person responsible for the names beside the model: an id or a pointer
    (``Responsibility``)."""
    date: str = ""
    """The date of writing, for the header; empty: it is not recorded."""
    keep_cert: bool = False
    """Whether a suggestion that a person accepted keeps the model's probability as ``@cert``."""
    references: bool = False
    """Whether an existing name without an entity gets the reference of a prediction with the same
    characters and label; otherwise that prediction is skipped."""
    is_part: bool = False
    """Whether other files include the file: ids that are written are then unique to it."""
    schema: Path | None = None
    """A RelaxNG schema; names that cause errors which the file did not have before are skipped.
    None: no validation."""

    def __post_init__(self) -> None:
        """Raise for an unknown choice."""
        for name, kind in (("existing", Existing), ("crossing", Crossing)):
            if (value := getattr(self, name)) not in get_args(kind):
                raise UsageError(f"{name} must be one of {', '.join(get_args(kind))}, not {value}.")
        if not 0.0 <= self.threshold <= 1.0:
            raise UsageError(f"threshold must be from 0 to 1, not {self.threshold}.")


@dataclass(frozen=True, slots=True)
class Correction:
    """A change of a name that a document has."""

    old: Mention
    """The name, as the document has it."""
    new: Mention | None
    """The name as it should be: another label, entity or place; None: no name."""


Corrections = Mapping[str, Sequence[Correction]]
"""Corrections by the id of the document."""
INVALID = "would not be valid"
_NO_CORRECTIONS: Corrections = {}
NOT_THERE = "the edition has no such name there"
ACROSS = "one of its boundaries is inside another element"
_NEAR = 48
"""The most characters that a boundary moves to a place that can be written."""
_NOTHING_DECIDED: Standing = {}
DEFAULT_OPTIONS = WriteOptions()


@dataclass(frozen=True, slots=True)
class Skipped:
    """A prediction that was not written."""

    document: str
    mention: Mention
    reason: str
    """The short name of the reason, which is counted."""
    text: str
    """The characters of the name in the document."""

    @classmethod
    def of(cls, document: str, mention: Mention, text: str, *, reason: str) -> "Skipped":
        """Build one from the id and the text of the document."""
        return cls(document, mention, reason, text[mention.start : mention.end])


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A file with names in it; each prediction is written, or skipped with a reason."""

    file: "TeiFile"
    """The written file, as it was read to prove it."""
    written: int = 0
    counters: Counter[str] = field(default_factory=Counter)
    skipped: list[Skipped] = field(default_factory=list)
    kept: tuple[Kept, ...] = ()
    """The models' names that should have been taken out, but that somebody had changed."""

    @property
    def data(self) -> bytes:
        """The bytes of the written file."""
        return self.file.source.data

    def add(
        self,
        mentions_by_document: Mapping[str, Sequence[Mention]],
        *,
        model: Model,
        options: WriteOptions,
        standing: Standing = _NOTHING_DECIDED,
        corrections: Corrections = _NO_CORRECTIONS,
    ) -> "WrittenFile":
        """Write further names into the file, of another model or a person; all others are kept."""
        more = self.file.write(
            mentions_by_document,
            model=model,
            options=replace(options, existing="keep"),
            standing=standing,
            corrections=corrections,
        )
        return replace(
            more,
            written=self.written + more.written,
            counters=self.counters + more.counters,
            skipped=[*self.skipped, *more.skipped],
            kept=self.kept,
        )


_Proven = tuple["TeiFile", list[Added]]
"""A proven file, and the names that were added to it."""


@dataclass(frozen=True, slots=True)
class TeiFile:
    """A parsed file: its documents, and the places of their characters in it."""

    source: Source
    edition: Edition
    texts: list[tuple[TeiText, CharacterPlaces]]

    @classmethod
    def read(cls, data: bytes, edition: Edition, *, name: str) -> "TeiFile":
        """Read a file; raises ``XmlError`` if it is malformed or no TEI."""
        source = Source(data, name=name)
        texts = read_source(source, edition)
        prefixes = union(text.prefixes for text, _ in texts)
        return cls(source, edition.with_prefixes(prefixes), texts)

    @property
    def documents(self) -> list[Document]:
        """The documents with text, as ``read_tei`` returns them."""
        return [text.document for text, _ in self.texts if text.document]

    def write(
        self,
        mentions_by_document: Mapping[str, Sequence[Mention]],
        *,
        model: Model,
        options: WriteOptions = DEFAULT_OPTIONS,
        standing: Standing = _NOTHING_DECIDED,
        corrections: Corrections = _NO_CORRECTIONS,
    ) -> WrittenFile:
        """Write mentions, with offsets in the documents, into the file, and correct names in it.

        A mention on which a person has decided is skipped, and a name that a person accepted is not
        replaced. Raises ``UsageError`` for a label without an element, and ``UnprovenError`` if
        nothing can be added to the file that could be removed again.
        """
        corrected = [
            [change.new for change in changes if change.new] for changes in corrections.values()
        ]
        for mentions in (*mentions_by_document.values(), *corrected):
            check_labels(mentions, self.edition)
        file, kept = self, tuple[Kept, ...]()
        if options.existing == "replace-predicted":
            keep = self._confirmed(standing)
            undone = take_out_of(self.source, keep=keep)
            kept = tuple(one for one in undone.kept if one.reason == CHANGED)
            if undone.data != self.source.data:
                file = self.read(undone.data, self.edition, name=self.source.name)
        by = Responsibility(model, options.reviewer, options.date)
        if options.is_part or self.source.nodes[0].name in PARTS:
            by = by.in_part(self.source)
        writer = _Writer(file, by, options, standing, kept)
        return writer.write(mentions_by_document, corrections)

    def _confirmed(self, standing: Standing) -> set[int]:
        """Find the elements of names that a person accepted, corrected or added."""
        names = {
            (id, one.span.start, one.span.end)
            for id, settled in standing.items()
            for one in settled
            if one.is_name
        }
        return {
            node.number
            for document in self.documents
            for mention in document.mentions
            if (document.id, mention.start, mention.end) in names
            for node in self.nodes_of(mention)
        }

    def possible(self, document: Document, correction: Correction) -> list[Span]:
        """Find places near that of a correction that one element can hold: a longer, a shorter."""
        new = correction.new
        if new is None:
            return []
        [places] = [
            at for text, at in self.texts if text.document and text.document.id == document.id
        ]
        nodes = self.nodes_of(correction.old)
        fragmenter = Fragmenter(self.source, places, self.edition, without=nodes)
        words = [Span(*match.span()) for match in re.finditer(r"\w+", document.text)]
        starts = [word.start for word in words if abs(word.start - new.start) < _NEAR]
        ends = [word.end for word in words if abs(word.end - new.end) < _NEAR]
        spans = [Span(start, end) for start in starts for end in ends if start < end]
        spans.sort(key=lambda span: abs(span.start - new.start) + abs(span.end - new.end))
        longer = (s for s in spans if s.start <= new.start and new.end <= s.end)
        shorter = (s for s in spans if new.start <= s.start and s.end <= new.end)
        nearest = (
            next((span for span in spans if fragmenter.is_one(span, document.text)), None)
            for spans in (longer, shorter)
        )
        return [span for span in nearest if span is not None]

    def nodes_of(self, mention: Mention) -> list[Node]:
        """Return the elements of an existing name."""
        bytes_ = mention.attributes.get("bytes", mention.attributes["byte"]).split()
        return [self.source.by_byte[int(byte)] for byte in bytes_]


def write_predictions(
    data: bytes,
    edition: Edition,
    mentions_by_document: Mapping[str, Sequence[Mention]],
    *,
    name: str,
    model: Model,
    options: WriteOptions = DEFAULT_OPTIONS,
) -> WrittenFile:
    """Read a file, and write mentions into it; raises what ``TeiFile`` raises."""
    file = TeiFile.read(data, edition, name=name)
    return file.write(mentions_by_document, model=model, options=options)


@dataclass
class _Writer:
    """A writer of one file; used once."""

    file: TeiFile
    by: Responsibility
    options: WriteOptions
    standing: Standing
    kept: tuple[Kept, ...] = ()
    is_whole: bool = True
    """Whether the header gets an application and a change; not every schema allows them."""
    skipped: list[Skipped] = field(default_factory=list)
    n_remarks: int = 0
    """The number of remarks that cannot be written."""

    def write(
        self, mentions_by_document: Mapping[str, Sequence[Mention]], corrections: Corrections
    ) -> WrittenFile:
        """Place, compose and prove the mentions and corrections; those that fail are skipped."""
        file, given = self.file, mentions_by_document.keys() | corrections.keys()
        if unknown := given - {document.id for document in file.documents}:
            known = ", ".join(document.id for document in file.documents) or "none with text"
            raise UsageError(
                f"{file.source.name}: has no document {', '.join(sorted(unknown))}, but {known}. "
                "Predict on the documents that read_tei gives for this file."
            )
        placed: list[Added] = []
        for text, places in file.texts:
            if text.document is not None:
                fragmenter = Fragmenter(file.source, places, file.edition)
                mentions = mentions_by_document.get(text.document.id, ())
                there = self._without_reference(text.document)
                new = [m for m in mentions if m.entity is None or _place_of(m) not in there]
                placed += self._placed(text.document, fragmenter, new)
                linked = [m for m in mentions if m.entity is not None and _place_of(m) in there]
                for mention in linked:
                    if name := there.get(_place_of(mention)):
                        placed += self._referring(text.document, mention, name)
                        del there[_place_of(mention)]
                    else:
                        self._skip(text.document, mention, "given twice")
                for correction in corrections.get(text.document.id, ()):
                    placed += self._correcting(text.document, places, correction)
        self._choose_header(placed)
        proven, written = self._settle((file, []), placed)
        counters = self._counters(written)
        return WrittenFile(proven, len(written), counters, self.skipped, self.kept)

    @cached_property
    def _known_targets(self) -> set[str | None]:
        nodes = self.file.source.nodes
        return {node.attributes.get("target") for node in nodes if node.name == "span"}

    @cached_property
    def _answered(self) -> dict[str, Answers]:
        return {id: Answers(settled) for id, settled in self.standing.items()}

    def _answers(self, document: Document) -> Answers:
        return self._answered.get(document.id) or Answers(())

    def _choose_header(self, placed: Sequence[Added]) -> None:
        """Omit the application and the change if the edition's schema has no place for them."""
        if self._can_be_validated and placed:
            tried = self._try([])
            self.is_whole = isinstance(tried, TeiFile) or tried.reason != INVALID

    @cached_property
    def _can_be_validated(self) -> bool:
        """Whether there is a schema, and lxml can read the file."""
        if self.options.schema is None:
            return False
        data = self.file.source.data
        try:
            return not new_errors(data, data, self.options.schema)
        except XmlError:
            return False

    def _without_reference(self, document: Document) -> dict["_Place", Mention]:
        """Map the places of existing names that may get a reference to their mentions.

        Where two names have the same characters and label, the inner one gets the reference; if
        either has one already, neither does.
        """
        if not self.options.references:
            return {}
        linked = {_place_of(m) for m in document.mentions if m.entity is not None}
        bare = (m for m in document.mentions if m.label and m.entity is None)
        return {place: m for m in bare if (place := _place_of(m)) not in linked}

    def _referring(self, document: Document, mention: Mention, name: Mention) -> Iterator[Added]:
        """Yield the reference for an existing name, or skip it with a reason."""
        pair = reference(mention, self.file.edition)
        node, *others = self.file.nodes_of(name)
        has = [a for a in ("resp", "cert", pair[0] if pair else "") if a in node.attributes]
        reason = ""
        if mention.score is not None and mention.score < self.options.threshold:
            reason = "below the threshold"
        elif pair is None:
            reason = "the edition has no attribute for the entity"
        elif others or node.is_expanded:
            reason = "the name stands in several elements, or in an entity"
        elif has:
            reason = f"the name has @{has[0]}"
        elif any(_objects(one, mention) for one in self._answers(document).on(mention)):
            reason = "decided by a person"
        if reason:
            self._skip(document, mention, reason)
        else:
            yield Added(document, mention, (), pair, node=node)

    def _correcting(
        self, document: Document, places: CharacterPlaces, correction: Correction
    ) -> Iterator[Added]:
        """Yield the replacement of an existing name, or skip it with a reason."""
        new, key = correction.new, correction.old.key
        old = next((mention for mention in document.mentions if mention.key == key), None)
        if old is None:
            self._skip(document, new or correction.old, NOT_THERE)
            return
        nodes = self.file.nodes_of(old)
        reason, fragments = self._obstacle(nodes, old, new), list[Fragment]()
        if reason or new is None:
            pass
        elif (old.start, old.end) == (new.start, new.end):
            fragments = [Fragment(n.start, n.end, n.parent) for n in nodes if n.parent]
        else:
            reason = self._why_not(document, old, new)
            fragmenter = Fragmenter(self.file.source, places, self.file.edition, without=nodes)
            try:
                fragments = fragmenter.fragments(new, document.text)
            except Unplaceable as problem:
                reason = reason or str(problem)
            if len(fragments) > 1:
                reason = reason or ACROSS
        if reason and new and new.key == key:
            self.n_remarks += REMARK in new.attributes
        elif reason:
            self._skip(document, new or old, reason)
        else:
            link, remark = (
                (reference(new, self.file.edition), self._remark(new)) if new else (None,) * 2
            )
            parts, taken = tuple(fragments), tuple(nodes)
            whole = Added(document, new or old, parts, link, old=old, taken=taken, remark=remark)
            if not (new and new.key == key and remark is None):
                yield _least(whole)

    def _remark(self, mention: Mention) -> Remark | None:
        """Return the remark on a name as it is written; one that cannot be written is counted."""
        remark = remark_on(mention, self.file.edition)
        is_said = bool(mention.attributes.get(REMARK)) and self.file.edition.remarks is not None
        self.n_remarks += is_said and remark is None
        return remark

    def _obstacle(self, nodes: Sequence[Node], old: Mention, new: Mention | None) -> str:
        """Return the reason why the elements of a name cannot be replaced, or an empty string."""
        text = self.file.source.text
        is_moved = new is not None and (old.start, old.end) != (new.start, new.end)
        if any(node.is_expanded or node.is_empty_tag for node in nodes):
            return "the name stands in an entity"
        if any(NO_RECORD in text[node.start : node.content_start] for node in nodes):
            return "the tag of the name has a question mark"
        if any(around.name == "standoff" for node in nodes for around in node.chain()):
            return "the name stands in standOff"
        if is_moved and len(nodes) > 1:
            return "the name stands in several elements"
        if new and new.entity not in {None, old.entity} and not reference(new, self.file.edition):
            return "the edition has no attribute for the entity"
        return ""

    @staticmethod
    def _why_not(document: Document, old: Mention, new: Mention) -> str:
        """Return the reason why a name cannot get other boundaries, or an empty string."""
        others = index_of([mention for mention in document.mentions if mention is not old])
        touched = others.touching(new.start, new.end)
        if any(_cross(name, new) for name in touched):
            return "crosses a name that is there"
        if any(name.label and (name.start, name.end) == (new.start, new.end) for name in touched):
            return "a name is there already"
        return ""

    def _placed(
        self, document: Document, fragmenter: Fragmenter, mentions: Iterable[Mention]
    ) -> Iterator[Added]:
        """Yield the mentions that are wanted and have a place; skip the others."""
        for mention in self._wanted(document, mentions):
            pair = reference(mention, self.file.edition)
            fragments: list[Fragment] = []
            target: StandoffTarget | None = None
            try:
                fragments = fragmenter.fragments(mention, document.text)
                reason = ""
            except Unplaceable as problem:
                reason = str(problem)
            if len(fragments) != 1 and self.options.crossing == "standOff":
                element = template(self.file.edition, mention.label or "")
                target = pointer_to(mention, document.text, fragmenter.places)
                if target is not None and not may_hold(target, element.name):
                    target, reason = None, reason and "cannot stand in standOff"
                if target is not None:
                    is_known = target.pointer in self._known_targets
                    reason = "a name is there already" if is_known else ""
            if reason:
                self._skip(document, mention, reason)
            else:
                parts, remark = tuple(fragments), None if target else self._remark(mention)
                yield Added(document, mention, parts, pair, target, remark=remark)

    def _wanted(self, document: Document, mentions: Iterable[Mention]) -> list[Mention]:
        """Select the mentions that the options, existing names, and other mentions allow."""
        names = index_of(document.mentions)
        seen: set[tuple[int, int, str | None, str | None]] = set()
        wanted: list[Mention] = []
        for mention in sorted(mentions, key=reading_order):
            reason = (
                "given twice" if mention.key in seen else self._objection(document, mention, names)
            )
            if reason:
                self._skip(document, mention, reason)
            else:
                wanted.append(mention)
                seen.add(mention.key)
        nested, dropped = without_crossing(wanted)
        for mention in dropped:
            self._skip(document, mention, "crosses another prediction")
        return nested

    def _objection(self, document: Document, mention: Mention, names: SpanIndex[Mention]) -> str:
        """Return the reason why a prediction is not wanted, or an empty string."""
        if mention.score is not None and mention.score < self.options.threshold:
            return "below the threshold"
        if mention.label is None:
            return "no label"
        if mention.end > len(document.text):
            return "leaves the text"
        if document.text[mention.start].isspace() or document.text[mention.end - 1].isspace():
            return "begins or ends with white space"
        touched = names.touching(mention.start, mention.end)
        if touched and self.options.existing == "only-new":
            return "touches a name that is there"
        if any(n.label and (n.start, n.end) == (mention.start, mention.end) for n in touched):
            return "a name is there already"
        if any(_cross(name, mention) for name in touched):
            return "crosses a name that is there"
        if any(_may_be_same(name, mention) for name in touched):
            return "in or around a name of the same label"
        if self._answers(document).on(mention):
            return "decided by a person"
        return ""

    def _skip(self, document: Document, mention: Mention, reason: str) -> None:
        self.skipped.append(Skipped.of(document.id, mention, document.text, reason=reason))

    def _settle(self, base: _Proven, more: list[Added]) -> _Proven:
        """Add as many names as the proof allows.

        Halve the list until only single failures are left.
        """
        if not more:
            return base
        failure = self._try(base[1] + more)
        if isinstance(failure, TeiFile):
            return failure, base[1] + more
        culprits = {id(added) for added in failure.culprits}
        innocent = [added for added in more if id(added) not in culprits]
        if len(innocent) < len(more):
            for added in more:
                if id(added) in culprits:
                    self._skip(added.document, added.mention, failure.reason)
            return self._settle(base, innocent)
        if not base[1]:
            self._check_statement()
        if len(more) == 1 and more[0].remark:  # the name may have a place where a note has none
            self.n_remarks += 1
            return self._settle(base, [replace(more[0], remark=None)])
        if len(more) == 1:
            self._skip(more[0].document, more[0].mention, failure.reason)
            return base
        half = len(more) // 2
        return self._settle(self._settle(base, more[:half]), more[half:])

    def _try(self, added: Sequence[Added]) -> TeiFile | Failure:
        """Compose, read and prove; returns the file with the names, or the failure."""
        file = self.file
        edits = compose(
            file.source, added, edition=file.edition, by=self.by, is_whole=self.is_whole
        )
        if isinstance(edits, Failure):
            return edits
        result = file.source.splice(edits)
        try:
            written = TeiFile.read(result, file.edition, name=file.source.name)
        except XmlError as error:
            return Failure("the result is not well-formed", str(error))
        failure = prove(
            file.source,
            written.source,
            edits,
            before=file.documents,
            after=written.documents,
            added=added,
            edition=file.edition,
            reviewer=self.by.reviewer,
        )
        schema = self.options.schema
        if failure is None and schema is not None and self._can_be_validated:
            wrong = new_errors(file.source.data, result, schema)
            failure = Failure(INVALID, wrong[0]) if wrong else None
        return failure or written

    def _check_statement(self) -> None:
        """Raise ``UnprovenError`` if even the statement in the header fails the proof."""
        failure = self._try([])
        if isinstance(failure, Failure):
            raise UnprovenError(
                f"{self.file.source.name}: nothing can be added to this file: {failure.reason} "
                f"({failure.where}). The file is left as it is; please report it."
            )

    def _counters(self, written: Sequence[Added]) -> Counter[str]:
        counters = Counter(f"skipped: {skipped.reason}" for skipped in self.skipped)
        counters["written"] = len(written)
        if not self.is_whole:
            counters["headers without application and change, for the schema has none"] = 1
        if self.options.schema is not None and not self._can_be_validated:
            counters["files that were not validated, for lxml cannot read them"] = 1
        counters["remarks that the file cannot hold: kept with the decision"] = self.n_remarks
        counters["predicted names that stay, for somebody changed them"] = len(self.kept)
        for added in written:
            counters["references of names that were there"] += bool(added.node and added.reference)
            counters["names taken out"] += added.is_gone
            counters["names corrected"] += added.old is not None and not added.is_gone
            counters["remarks written"] += added.remark is not None
            counters["written to standOff"] += added.target is not None
            is_new = added.target is None and added.old is None
            counters["written in fragments"] += is_new and len(added.fragments) > 1
            counters["entities without an attribute"] += bool(
                added.mention.entity and added.reference is None
            )
        return +counters


_Place = tuple[int, int, str | None]


def _place_of(mention: Mention) -> _Place:
    return mention.start, mention.end, mention.label


def _least(added: Added) -> Added:
    """Return what says the same about an existing name by insertions alone, if that is possible."""
    old, new, remark, node = added.old, added.mention, added.remark, added.taken[-1]
    link = added.reference
    if old is None or added.is_gone or (remark and remark.attribute):
        return added
    inserted = replace(added, fragments=(), old=None, taken=(), node=node)
    if new.key == old.key:
        return replace(inserted, reference=None)
    has = {"resp", "cert", link[0]} & node.attributes.keys() if link else {""}
    only_links = old.entity is None and new.key[:3] == old.key[:3] and len(added.taken) == 1
    return inserted if only_links and not has else added


def _objects(settled: Settled, mention: Mention) -> bool:
    """Tell whether a decision on a name excludes that it refers to this entity."""
    meant = settled.decision.name.entity
    return not settled.is_name or meant not in {None, mention.entity}


def _may_be_same(first: Mention, second: Mention) -> bool:
    """Tell whether two names, one inside the other, may refer to the same entity."""
    if first.label is None or first.label != second.label:
        return False
    return first.entity is None or second.entity is None or first.entity == second.entity


def _cross(first: Span, second: Span) -> bool:
    """Tell whether two overlapping spans cross: neither contains the other."""
    nested = first.start <= second.start and second.end <= first.end
    return not nested and not (second.start <= first.start and first.end <= second.end)
