"""Candidates: the entities that a name may mean, and the features of each candidate."""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import date
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from corpora.entities.lookup import EntityLookup
from modeling.link.counts import EntityCounts, Key
from modeling.link.forms import KINDS, Hit, LinkForms, n_common
from modeling.link.records import Case, LinkRecord, normalise

Features = NDArray[np.float32]

MAX_CANDIDATES: Final = 30
READ: Final = (
    *("like one mention", "like three mentions", "no mention elsewhere"),
    *("text like the description", "name like the description", "no description"),
)
"""Columns that ``contexts`` fills in with an encoder; 0 without one, for a single candidate, or for
a mention whose choice is sure without the encoder."""
_PLAIN: Final = (
    *(f"found {kind}" for kind in KINDS),
    *("similarity", "of all names", "of the form", "of the form as written"),
    *("of the form in the vocabulary", "is not in the vocabulary"),
    *("is the name", "begins as the name", "rest of the name is there", "no rest of the name"),
    *("class", "class is unknown"),
    *("sender writes of", "receiver is told of", "place is written from"),
    *("form by the sender", "form to the receiver", "form from the place"),
    *("is the sender", "is the receiver", "is the place"),
    *("words around", "days away", "no date", "not born", "is dead"),
    *("documents of the form", "documents of another", "documents of the entity", "form is new"),
    *READ,
)
_DOCUMENT: Final = ("elsewhere in the document", "with others of the document")
FEATURES: Final = (*_PLAIN, *_DOCUMENT)
"""The names of the columns of ``Candidates.features``."""
N_PLAIN: Final = len(_PLAIN)
"""The number of columns that do not depend on the other names of the document; they come first."""
_COLUMNS_OF_LABEL: Final = [FEATURES.index(name) for name in ("class", "class is unknown")]
_COLUMN_OF_WORDS: Final = FEATURES.index("words around")
_KIND_COLUMNS: Final = np.eye(len(KINDS)).tolist()
_FOUND_IN_VOCABULARY: Final = Hit(-1, 0, 1.0)
_MIN_PRIOR: Final = 1e-4
_ADDED = re.compile(r"\s*[(（].*[)）]\s*$|,.*$")
"""The part of a title that disambiguates it: *Georgia (country)*, *Springfield, Ohio*."""
_N_KEPT: Final = 1 << 16  # most entities whose names are kept
_ROLES: Final = ("sent_by", "received_by", "sent_place")
_NO_LETTER: Final = (0.0,) * 3 * len(_ROLES)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownEntity:
    """An entity of a register or a vocabulary."""

    entity: str
    forms: tuple[str, ...]
    kind: str | None = None
    """The class in the register (``person``)."""
    born: int | None = None
    """The earliest possible year of birth."""
    dead: int | None = None
    """The latest possible year of death."""
    description: str | None = None

    def as_json(self) -> dict[str, object]:
        """Return the arguments that make an equal ``KnownEntity``."""
        return asdict(self)


class _Name(NamedTuple):
    """The name of an entity: the title of its page, or the first form of its register entry."""

    text: str
    normal: str
    """The name normalised, without what disambiguates it; empty if the id does not read as a name
    (``P.0000057``)."""
    words: tuple[str, ...]
    """The normalised words of the whole name, each once; empty as above."""


class _Spread(NamedTuple):
    """The documents that have a form, by the entity that it means there."""

    by_entity: Mapping[str, int]
    total: int
    """The sum of ``by_entity``."""
    novelty: float
    """The ratio of ``total`` that means an entity of one document only; smoothed."""

    @classmethod
    def of(cls, by_entity: Mapping[str, int]) -> "_Spread":
        total = sum(by_entity.values())
        once = sum(n == 1 for n in by_entity.values())
        return cls(by_entity, total, (once + 0.5) / (total + 1))


class Candidates(NamedTuple):
    """The entities that a mention may mean, the likeliest by the mention's form first."""

    entities: tuple[str, ...]
    features: Features
    """(C, F), with the columns ``FEATURES``; those of the encoder and the document are 0 at first.
    They take most of the memory of training, hence in single precision."""


@dataclass(slots=True)
class KnownEntities:
    """The known entities, from training documents, a register and an entity vocabulary."""

    records: Sequence[LinkRecord]
    register: Mapping[str, KnownEntity] = field(default_factory=dict)
    vocabulary: EntityLookup | None = None
    counts: EntityCounts = field(init=False)
    forms: LinkForms = field(init=False)
    _registered: set[int | None] = field(init=False)
    _kinds: dict[str, Counter[str]] = field(init=False)
    _names: dict[str, _Name] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Count the mentions of the documents, and index all known forms."""
        self.counts = EntityCounts(self.records)
        seen = [(c.form, c.entity) for r in self.records for c in r.cases if c.entity]
        titles = [(entity.partition(":")[2], entity) for entity in self.counts.documents]
        known = [(form, entry.entity) for entry in self.register.values() for form in entry.forms]
        self.forms = LinkForms([*seen, *known, *((t, e) for t, e in titles if _is_name(t))])
        self._registered = {self.forms.number_of(*pair) for pair in known}
        self._kinds = defaultdict(Counter)
        for record in self.records:
            for case in record.cases:
                if case.entity and case.entity in self.register and case.label:
                    self._kinds[self.register[case.entity].kind or ""][case.label] += 1

    def holds(self, entity: str, *, without: str | None) -> bool:
        """Tell whether an entity is known, with one training document left out."""
        if entity in self.register or self.counts.n_documents(entity, without=without) > 0:
            return True
        return self.vocabulary is not None and entity in self.vocabulary

    def kind_labels(self, kind: str) -> Counter[str]:
        """Count the labels of training mentions whose entity has this class in the register."""
        return self._kinds.get(kind, Counter())

    def name_of(self, entity: str) -> _Name:
        """Return the name of an entity: the first form of its register entry, or its title."""
        if entity not in self._names:
            if len(self._names) >= _N_KEPT:  # a vocabulary has millions
                self._names.clear()
            known = self.register.get(entity)
            text = known.forms[0] if known and known.forms else entity.partition(":")[2]
            normal = normalise(_ADDED.sub("", text)) if _is_name(text) else ""
            words = tuple(dict.fromkeys(normalise(text).split())) if normal else ()
            self._names[entity] = _Name(text, normal, words)
        return self._names[entity]

    def hits(self, name: str, *, hidden: frozenset[int]) -> dict[str, Hit]:
        """Find the entities that a form may mean, each with the known form that matches best."""
        best: dict[str, Hit] = {}
        for hit in self.forms.look_up(name, hidden=hidden):
            best.setdefault(self.forms.entities[hit.form], hit)
        for entity in self.priors(name):
            best.setdefault(entity, _FOUND_IN_VOCABULARY)
        return best

    def priors(self, name: str) -> Mapping[str, float]:
        """Look up the entities that a form means in the vocabulary, with the prior of each."""
        if self.vocabulary is None:
            return {}
        return dict(self.vocabulary.look_up(name, limit=MAX_CANDIDATES))

    def only_in(self, record: LinkRecord) -> frozenset[int]:
        """Find the indices of the forms that are known from this document alone.

        Forms in the register are not among them.
        """
        kinds: set[int | None] = set()
        for entity in {case.entity for case in record.cases if case.entity}:
            if self.counts.n_documents(entity, without=record.id) == 0:
                kinds.add(self.forms.number_of(entity.partition(":")[2], entity))
        for case in record.cases:
            if case.entity and not self.counts.count(
                ("form", case.form), case.entity, without=record.id
            ):
                kinds.add(self.forms.number_of(case.form, case.entity))
        return frozenset(kinds - self._registered - {None})  # type: ignore[arg-type]

    def candidates(self, record: LinkRecord, cases: Iterable[Case]) -> list[Candidates]:
        """Find the candidates of mentions of a document, by what other sources say of entities.

        If the document is one of the training documents, its own mentions are left out.
        """
        without = record.id if record.id in self.counts else None
        view = _View(self, record, without)
        return [view.candidates(case) for case in cases]


class _View:
    """The knowledge of entities as used for one document, which is itself left out."""

    def __init__(self, knowledge: KnownEntities, record: LinkRecord, without: str | None) -> None:
        self.knowledge, self.counts, self.without = knowledge, knowledge.counts, without
        self.day = record.day
        self.hidden = knowledge.only_in(record) if without is not None else frozenset[int]()
        facts = dict(fact.split("=", 1) for fact in record.facts)
        self.facts = [f"{role}={facts[role]}" if role in facts else None for role in _ROLES]
        self.parties = [
            knowledge.hits(facts[role], hidden=self.hidden) if role in facts else {}
            for role in _ROLES
        ]
        self.words = Counter[str]()
        for case in record.cases:
            self.words.update((*case.around, *normalise(case.form).split()))
        self.n_all = self.counts.sum((), without=without)
        self.n_entities = len(self.counts.documents) + len(knowledge.register) + 1
        self._of_forms: dict[str, Candidates] = {}

    def candidates(self, case: Case) -> Candidates:
        """Find the candidates of a mention, with all columns but those of encoder and document."""
        entities, of_form = self._of_forms.get(case.form) or self._find(case.form)
        features = of_form.copy()
        if entities:
            labels = [self._label(case.label, entity) for entity in entities]
            features[:, _COLUMNS_OF_LABEL] = labels
            features[:, _COLUMN_OF_WORDS] = self._fit_of_words(case, entities)
        return Candidates(entities, features)

    def _find(self, form: str) -> Candidates:
        """Find the candidates of a form, and the columns that all of its mentions share."""
        hits = self.knowledge.hits(form, hidden=self.hidden)
        normal = normalise(form)
        counted = dict(self.counts.among(("normal", normal), hits, without=self.without))
        priors = self.knowledge.priors(form)
        order = sorted(
            hits,
            key=lambda e: (
                -counted.get(e, 0), hits[e].kind, -priors.get(e, 0.0), -hits[e].similarity, e,
            ),
        )  # fmt: skip
        entities = tuple(order[:MAX_CANDIDATES])
        of_all = [
            (n + 0.1) / (self.n_all + 0.1 * self.n_entities) for n in self._count((), entities)
        ]
        ratios = self._ratios(("normal", normal), entities, of_all)
        as_written = self._ratios(("form", form), entities, ratios)
        spread = _Spread.of(self.counts.spread(normal, without=self.without))
        features = np.zeros((len(entities), len(FEATURES)), np.float32)
        for row, entity in enumerate(entities):
            hit = hits[entity]
            features[row, : N_PLAIN - len(READ)] = [
                *_KIND_COLUMNS[hit.kind],
                hit.similarity,
                *map(math.log, (of_all[row], ratios[row], as_written[row])),
                *_of_vocabulary(priors.get(entity)),
                *self._of_name(form, normal, entity),
                *(0.0, 0.0),  # of the label
                *self._of_letter(normal, entity, (of_all[row], ratios[row])),
                0.0,  # of the words around
                *self._days(entity),
                *self._documents(spread, entity),
            ]
        candidates = self._of_forms[form] = Candidates(entities, features)
        return candidates

    def _count(self, key: Key, entities: Collection[str]) -> list[int]:
        return self.counts.of(key, entities, without=self.without)

    def _ratios(self, key: Key, entities: Collection[str], back: Sequence[float]) -> list[float]:
        return self.counts.ratios(key, entities, back, without=self.without)

    def _of_name(self, form: str, normal: str, entity: str) -> tuple[float, float, float, float]:
        """Compute the columns of the entity's name.

        They say whether the form is the name, which ratio of characters both begin with, how often
        the rest of the name is in the document, and whether there is no rest.
        """
        name = self.knowledge.name_of(entity)
        alike = n_common(normal, name.normal) / max(len(normal), len(name.normal), 1)
        parts = normal.split()
        rest = [word for word in name.words if word not in parts]  # a set would add in any order
        there = sum(math.log1p(self.words.get(word, 0)) for word in rest) / max(len(rest), 1)
        return float(form == name.text), alike, there, float(not rest)

    def _of_letter(self, normal: str, entity: str, ratios: tuple[float, float]) -> Sequence[float]:
        """Compute the columns of the sender, the receiver and the place of a letter."""
        known = [fact for fact in self.facts if fact]
        if not known:
            return _NO_LETTER
        of_all, of_normal = ratios
        by_fact = {f: self._gain(("fact", f), entity, of_all) for f in known}
        by_both = {f: self._gain(("form fact", normal, f), entity, of_normal) for f in known}
        gains = [by.get(fact or "", 0.0) for by in (by_fact, by_both) for fact in self.facts]
        party = [party[entity].similarity if entity in party else 0.0 for party in self.parties]
        return [*gains, *party]

    def _gain(self, key: Key, entity: str, back: float) -> float:
        [ratio] = self._ratios(key, [entity], [back])
        return math.log(ratio) - math.log(back)

    def _label(self, label: str | None, entity: str) -> tuple[float, float]:
        """Compute the ratio of an entity's mentions with the label; (0, 1) if it is not known.

        Without training mentions of the entity, the ratio is that of its class in the register.
        """
        if label is None:
            return 0.0, 1.0
        if n := self.counts.count((), entity, without=self.without):
            return self.counts.count(("label", label), entity, without=self.without) / n, 0.0
        known = self.knowledge.register.get(entity)
        labels = self.knowledge.kind_labels(known.kind) if known and known.kind else None
        return (labels[label] / labels.total(), 0.0) if labels else (0.0, 1.0)

    def _fit_of_words(self, case: Case, entities: Sequence[str]) -> list[float]:
        """Compute the log of how much likelier the words around are with each entity than without.

        The values are divided by 5. They are 0 for a single candidate.
        """
        if len(entities) < 2:
            return [0.0] * len(entities)
        rows = {entity: row for row, entity in enumerate(entities)}
        fits, n_words = [0.0] * len(entities), 0
        for word in case.around:
            key = ("around", word)
            if total := self.counts.sum(key, without=self.without):
                n_words += 1
                expected = 2 * total / max(self.n_all, 1)
                for entity, n in self.counts.among(key, rows, without=self.without):
                    fits[rows[entity]] += math.log1p(n / expected)
        sizes = self._count((), entities)
        return [
            (fit - n_words * math.log((n + 2) / 2)) / 5 for fit, n in zip(fits, sizes, strict=True)
        ]

    def _days(self, entity: str) -> tuple[float, ...]:
        if self.day is None:
            return 0.0, 1.0, 0.0, 0.0
        days = self.counts.days_away(entity, self.day, without=self.without)
        known = self.knowledge.register.get(entity)
        year = date.fromordinal(self.day).year
        unborn = known is not None and known.born is not None and year < known.born
        dead = known is not None and known.dead is not None and year > known.dead
        away = (0.0, 1.0) if days is None else (math.log1p(days / 10), 0.0)
        return (*away, float(unborn), float(dead))

    def _documents(self, spread: _Spread, entity: str) -> tuple[float, float, float, float]:
        """Compute the columns of documents, of which many mentions in one letter count once.

        They are the logs of how many documents have the entity by this form, another entity by it,
        and the entity by any form; and how often the form means an entity that it means in no other
        document: by Good and Turing, the probability that it means a new one here.
        """
        count = spread.by_entity.get(entity, 0)
        of_entity = math.log1p(self.counts.n_documents(entity, without=self.without))
        return math.log1p(count), math.log1p(spread.total - count), of_entity, spread.novelty


def _of_vocabulary(prior: float | None) -> tuple[float, float]:
    return math.log(max(prior or 0.0, _MIN_PRIOR)), float(prior is None)


def _is_name(title: str) -> bool:
    """Tell whether the id of an entity reads as a name (``Sulzer Eduard``, not ``P.0000057``)."""
    return any(word.isalpha() and len(word) > 2 for word in normalise(title).split())
