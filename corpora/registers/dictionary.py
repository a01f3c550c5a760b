"""The forms of an edition, found in its texts: those of its register, and its tagged names.

Of forms that overlap, the longest known one decides: where it is refused, no part of it is taken.
How sure a place must be is learned from the edition's own tagged names, held back file by file; an
edition with too few of them has a conservative rule instead.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from corpora.document import Document, Mention
from corpora.errors import UsageError
from corpora.evidence.evidence import Evidence, learn
from corpora.evidence.places import Floats, TruthPlaces
from corpora.registers.entry import kind_of_label
from corpora.registers.occurrences import WORD
from corpora.registers.places import Features, FoldedView, KnownOccurrence
from corpora.registers.register import Register
from corpora.registers.tagged_names import N_FOLDS, TaggedNames, fold_of
from corpora.tei.edition import Edition
from corpora.tei.style import template

MIN_NAMES = 50
"""The fewest tagged names at places of known forms from which anything is learned."""
N_PARTS = (1, 8)
"""The tries for the steps of features: letters of one edition are alike, so that steps that are
found in some also hold in others, if there are enough of them."""
_KnownPlace = tuple[Features, bool, str]
"""The features of a place, whether it is what they describe, and its file."""
ERRORS_OF_IDS = 0.4
"""The part of the errors that are allowed for names that is allowed for their ids: of names that
are right at 95 %, ids are right at 98 %."""


@dataclass(frozen=True)
class Learned:
    """How probable it is that a place is a name, and that this name means an entity."""

    names: Evidence
    meanings: Evidence | None
    """None: too few names have ids."""

    def probabilities(self, places: Sequence[KnownOccurrence]) -> list[float]:
        """Return the probability that each place is a name."""
        if not places:
            return []
        table = _table([place.features for place in places])
        chances: list[float] = self.names.probabilities(table).tolist()
        return chances

    def meaning(self, place: KnownOccurrence) -> tuple[str, float] | None:
        """Return the most probable entity of a name, with its probability; None: nothing tells."""
        if self.meanings is None:
            return (place.facts.meaning, 1.0) if place.facts.meaning else None
        if not place.of_meanings:
            return None
        table = _table(list(place.of_meanings.values()))
        chances = self.meanings.probabilities(table)
        best = int(np.argmax(chances))
        return list(place.of_meanings)[best], float(chances[best])


def learn_places(names: TaggedNames, *, min_precision: float) -> Learned | None:
    """Learn from the places of tagged documents; None if there are too few tagged names there."""
    samples, of_meanings = list[_KnownPlace](), list[_KnownPlace]()
    n_missed = 0
    for held in range(N_FOLDS):
        documents = [document for document in names.tagged if fold_of(document) == held]
        if not documents:
            continue
        view = FoldedView(names, held)
        for document in documents:
            tagged, places = names.names_of(document), view.places(document)
            kinds = names.tagged_kinds(document, [place.occurrence for place in places])
            n_missed += len(tagged)
            for place in places:
                one, kind = place.occurrence, place.facts.kind
                name = tagged.get((one.start, one.end))
                is_name = name is not None and name.kind == kind
                if kind not in kinds or place.is_in_run:
                    continue
                n_missed -= is_name
                samples.append((place.features, is_name, document.source))
                if is_name and name and len(name.entities) == 1:
                    for entity, features in place.of_meanings.items():
                        is_meant = entity == name.entities[0]
                        of_meanings.append((features, is_meant, document.source))
    if sum(is_name for _, is_name, _ in samples) < MIN_NAMES:
        return None
    evidence = learn(
        _truth_of(samples), min_precision=min_precision, n_missed=n_missed, n_parts=N_PARTS
    )
    least = 1 - ERRORS_OF_IDS * (1 - min_precision)
    if sum(is_meant for _, is_meant, _ in of_meanings) < MIN_NAMES:
        return Learned(evidence, None)
    return Learned(evidence, learn(_truth_of(of_meanings), min_precision=least, n_parts=N_PARTS))


def _truth_of(places: Sequence[_KnownPlace]) -> TruthPlaces:
    features, truth, sources = zip(*places, strict=True)
    return TruthPlaces.of(_table(features), np.array(truth), sources, names=list(features[0]))


def _table(rows: Sequence[Mapping[str, float]]) -> Floats:
    return np.array([list(row.values()) for row in rows], np.float64)


MIN_PRECISION = 0.95
NOT_SURE = "not a name often enough"
INSIDE = "inside a longer name"
SEVERAL = "several entries"
UNKNOWN = "unknown id"
N_EXAMPLES = 20
_CONTEXT = 25
_RATHER = 0.5
"""The least probability of what is written, or of what a person is asked to decide."""
_SEEN = 9
"""The most places in tagged documents at which a form without a tagged name stands, by the rule."""
_OF_ONE_WORD = {"person", "place", "organization"}
"""The kinds whose forms of one word are names by the rule; a work may be called *Autumn*."""

Refer = Callable[[Mention, str], Mention]
"""A function that gives a mention the reference to an entity."""


@dataclass(frozen=True, slots=True)
class DecidedPlace:
    """A place of a form, and what was decided on it."""

    place: KnownOccurrence
    label: str
    is_name: bool
    entity: str | None
    reason: str
    """Why it is no name, or why it has no entity; empty if it is a name with an entity."""
    probability: float | None
    """That it is a name, of this entity if there is one; None by the rule."""

    @property
    def span(self) -> tuple[int, int]:
        """The start and end."""
        return self.place.occurrence.start, self.place.occurrence.end


class Dictionary:
    """A finder of an edition's known names in its documents."""

    def __init__(
        self,
        documents: Sequence[Document],
        register: Register | None,
        edition: Edition,
        *,
        refer: Refer,
        min_precision: float | None = MIN_PRECISION,
    ) -> None:
        """Learn from the edition's documents.

        ``min_precision``: how many of the names that are found must be right; None: all that are
        rather names than not are found, for a person to decide. Raises ``UsageError`` for an
        edition without labels for entries, or without a name to learn from.
        """
        self.labels = labels_of(edition)
        if not self.labels:
            raise UsageError(
                f"edition {edition.name}: none of its labels is one of persons, places, "
                "organizations, works or events. Name them so in [labels]."
            )
        self._names = TaggedNames(documents, register, edition)
        if register is None and not self._names.tagged:
            raise UsageError(
                "--dictionary: no name is tagged in the files of --tei. Name the files that are "
                "tagged, too, or --register, files with a register."
            )
        self._refer, self._min_precision = refer, min_precision
        self.learned = learn_places(self._names, min_precision=min_precision or MIN_PRECISION)
        self._view = FoldedView(self._names)
        self.held_back: Counter[str] = Counter()
        """The places that were held back, and the names without an id, by reason."""
        self._added: Counter[tuple[str, str]] = Counter()
        self._examples: dict[tuple[str, str], str] = {}

    @property
    def least_alone(self) -> float:
        """The least probability of a tagger's name that the dictionary does not know."""
        return self._min_precision if self.learned and self._min_precision else 0.0

    def judge(self, document: Document) -> list[DecidedPlace]:
        """Judge the places of known forms outside the document's mentions."""
        occupied = [(mention.start, mention.end) for mention in document.mentions]
        places = self._view.places(document, occupied)
        if self.learned is None:
            return [self._by_rule(place) for place in places]
        chances = self._passed_over(document, places, self.learned.probabilities(places))
        return [self._by_chance(*each) for each in zip(places, chances, strict=True)]

    def mention(self, judged: DecidedPlace) -> Mention:
        """Make the mention of a name."""
        score, entity = judged.probability, judged.entity
        mention = Mention(*judged.span, None, judged.label, "lexicon", score)
        return self._refer(mention, entity) if entity else mention

    def annotate(self, document: Document) -> Document:
        """Return a document with the names that are found outside its mentions, and only these."""
        judged = self.judge(document)
        self.count(document, judged)
        mentions = tuple(self.mention(one) for one in judged if one.is_name)
        return replace(document, mentions=mentions)

    def count(self, document: Document, judged: Sequence[DecidedPlace]) -> None:
        """Count the names that are added and the places that are held back, for the report."""
        for one in judged:
            if not one.is_name:
                self.held_back[f"places held back: {one.reason}"] += 1
                continue
            if one.reason:
                self.held_back[f"names without an id: {one.reason}"] += 1
            (start, end), text = one.span, document.text
            key = text[start:end], one.label
            self._added[key] += 1
            sides = text[max(0, start - _CONTEXT) : start], text[end : end + _CONTEXT]
            around = f"{sides[0]}[{text[start:end]}]{sides[1]}"
            self._examples.setdefault(key, " ".join(around.split()))

    def report(self) -> Iterator[str]:
        """Yield what is known of the precision, and the most frequent of the added forms."""
        if self.learned is None:
            yield (
                "the precision is unknown: too few names are tagged to measure it. Taken were only "
                "tagged forms, forms of several words, and capitalised words"
            )
        else:
            yield from _measured("names", self.learned.names)
            if self.learned.meanings:
                yield from _measured("ids of names", self.learned.meanings)
        for (form, label), n in self._added.most_common(N_EXAMPLES):
            yield f"{n:,} × {' '.join(form.split())} ({label}): {self._examples[form, label]}"

    def _by_chance(self, place: KnownOccurrence, chance: float) -> DecidedPlace:
        """Decide by what was learned."""
        assert self.learned is not None  # noqa: S101 - or nobody asks
        label = self.labels.get(place.facts.kind, "")
        is_sure = _is_sure(self.learned.names, chance, self._min_precision)
        reason = "" if is_sure else self._refusal(place)
        if place.is_in_run:
            reason = INSIDE
        entity, is_meant = self.learned.meaning(place) or (None, 1.0)
        evidence = self.learned.meanings
        if evidence and not _is_sure(evidence, is_meant, self._min_precision):
            entity = None
        if entity:
            chance *= is_meant
        why = reason or ("" if entity else self._why_no_entity(place))
        return DecidedPlace(place, label, not reason and bool(label), entity, why, chance)

    def _by_rule(self, place: KnownOccurrence) -> DecidedPlace:
        """Decide by the rule for editions with too few tagged names."""
        facts, label = place.facts, self.labels.get(place.facts.kind, "")
        is_long = len(WORD.findall(place.occurrence.form)) > 1
        reason = ""
        if place.is_in_run:
            reason = INSIDE
        elif facts.n_untagged > (facts.n_tagged or _SEEN) or not (
            facts.n_tagged or self._looks_like_name(place, is_long=is_long)
        ):
            reason = self._refusal(place)
        elif facts.meaning is None and not (facts.n_tagged or is_long):
            reason = SEVERAL
        why = reason or ("" if facts.meaning else self._why_no_entity(place))
        return DecidedPlace(place, label, not reason and bool(label), facts.meaning, why, None)

    def _looks_like_name(self, place: KnownOccurrence, *, is_long: bool) -> bool:
        one, known = place.occurrence, self._names.known.get(place.occurrence.form)
        if known is None or not (known.is_whole or known.is_surname) or one.form[0].islower():
            return False
        is_capital = one.form[0].isupper() and not one.form.endswith(".")
        is_word = one.begins_sentence and one.form.casefold() in self._names.words
        return is_long or (is_capital and not is_word and place.facts.kind in _OF_ONE_WORD)

    def _refusal(self, place: KnownOccurrence) -> str:
        """Return why a place is held back: a longer form with known ones inside, or its own."""
        words = [match.span() for match in WORD.finditer(place.occurrence.form)]
        parts = {
            place.occurrence.form[start:end]
            for n, (start, _) in enumerate(words)
            for _, end in words[n:]
        }
        is_longer = any(part in self._names.kinds for part in parts - {place.occurrence.form})
        return INSIDE if is_longer else NOT_SURE

    def _why_no_entity(self, place: KnownOccurrence) -> str:
        if place.facts.meanings:
            return SEVERAL
        is_unknown = place.occurrence.form in self._names.with_unknown_id
        return UNKNOWN if is_unknown else "tagged without an id"

    def _passed_over(
        self, document: Document, places: Sequence[KnownOccurrence], chances: Sequence[float]
    ) -> list[float]:
        """Lower the probability of places that people passed over when they tagged a document.

        If they tagged a share of the names of a kind there, this share of the names is not among
        the places that are left.
        """
        tagged = Counter(name.kind for name in self._names.names_of(document).values())
        expected: Counter[str] = Counter()
        for place, chance in zip(places, chances, strict=True):
            expected[place.facts.kind] += chance  # type: ignore[assignment]  # a sum of fractions
        lowered: list[float] = []
        for place, chance in zip(places, chances, strict=True):
            kind = place.facts.kind
            left = 1 - tagged[kind] / ((tagged[kind] + expected[kind]) or 1)
            lowered.append(chance * left / ((chance * left + 1 - chance) or 1))
        return lowered


def _is_sure(evidence: Evidence, chance: float, min_precision: float | None) -> bool:
    if chance < _RATHER or min_precision is None:
        return chance >= _RATHER
    return evidence.measured is not None and chance >= evidence.measured.threshold


def _measured(what: str, evidence: Evidence) -> Iterator[str]:
    if evidence.measured is None:
        yield (
            f"{what}: no threshold makes {evidence.min_precision:.1%} of those that are held back "
            "right. Nothing can be written so surely; --min-precision P takes less"
        )
    else:
        yield (
            f"{what}: expected precision {evidence.measured.precision}, recall "
            f"{evidence.measured.recall.value:.1%}, by the edition's own names, held back"
        )


def labels_of(edition: Edition) -> dict[str, str]:
    """Return for each kind of entry the label that an edition can write; the first by name."""
    labels: dict[str, str] = {}
    for label in edition.labels:
        kind = kind_of_label(label)
        if kind is None or kind in labels:
            continue
        try:
            template(edition, label)
        except UsageError:
            continue
        labels[kind] = label
    return labels
