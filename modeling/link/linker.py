"""The linker: it finds candidates, chooses among them, and decides which links are written.

A linker is trained on documents whose names are linked. The weights of the choice are learned by
linking each of these documents as if it had not been seen (leave one out). The model of
probabilities and the threshold are learned by cross-validation in ``N_PARTS`` parts: from choices
by weights that were fitted on the other parts.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from corpora.entities.lookup import EntityLookup
from corpora.errors import CorpusError
from corpora.hashing.sampling import ratio
from corpora.system.parsing import parse_json, read_json, typed
from corpora.system.writing import write_json, write_text
from modeling.link.candidates import (
    FEATURES,
    N_PLAIN,
    READ,
    Candidates,
    Features,
    KnownEntities,
    KnownEntity,
)
from modeling.link.choice import (
    Linear,
    LinearRecord,
    Unseen,
    choose_threshold,
    fit_choice,
    fit_logistic,
    linear_from_json,
    sigmoid,
    softmax,
)
from modeling.link.coherence import add_document_features
from modeling.link.contexts import DESCRIPTIONS, VECTORS, ContextVectors, WindowReader
from modeling.link.records import Case, LinkRecord, MentionWindow

Reals = NDArray[np.float64]
N_PARTS: Final = 5
MAX_WRONG: Final = 0.02
"""The highest ratio of wrong links among written links that is accepted."""
_VERSION: Final = 3
PRIOR: Final = (
    *(name for name in FEATURES if name.startswith("found ")),
    *("similarity", "of all names", "of the form", "of the form as written"),
    *("of the form in the vocabulary", "is not in the vocabulary"),
)
"""The columns of the choice by the prior alone: how the form was found, and how often the form, and
any form, means the entity."""
LEAST_LINKED: Final = 0.05
"""The least ratio of mentions with an id for a class to be linked; below it, the ids are taken for
exceptions (somebody once gave one to *the novel*)."""
SURE: Final = 0.9
"""The encoder does not read mentions whose choice has this probability or more without it."""
_AT_ONCE: Final = 1000  # mentions that are linked together
_FILES: Final = ("linker.json", "records.jsonl", "register.jsonl")
_OF_ENCODER: Final = (VECTORS, DESCRIPTIONS)


@dataclass(frozen=True, slots=True)
class RankedCandidates:
    """The candidates of a mention, the likeliest first."""

    entities: tuple[str, ...]
    choice: tuple[float, ...]
    """The probability of each candidate, given that one of them is right."""
    probability: float
    """The probability that the first candidate is right; 0 without candidates."""
    by_name: tuple[str, ...]
    """The candidates in the order in which they were found, before the choice."""
    by_prior: str | None = None
    """The choice by the prior alone, if that was asked for."""


_T = TypeVar("_T")


class _Found(NamedTuple):
    """The mentions of a document that may be linked, and their candidates."""

    record: LinkRecord
    cases: list[Case]
    candidates: list[Candidates]

    def of_cases(self, values: Iterable[_T]) -> list[_T]:
        """Select the values of these cases, from one value for each case of the record."""
        labels = {case.label for case in self.cases}
        both = zip(self.record.cases, values, strict=True)
        return [value for case, value in both if case.label in labels]

    def pairs(self) -> Iterator[tuple[Case, Candidates]]:
        """Yield the mentions that have candidates."""
        return (pair for pair in zip(self.cases, self.candidates, strict=True) if pair[1].entities)


@dataclass(slots=True, eq=False)
class Linker:
    """A linker of the mentions of documents; made by ``LinkerTraining.train`` or ``load``."""

    knowledge: KnownEntities = field(repr=False)  # of all training documents: megabytes
    labels: frozenset[str | None]
    """The classes whose mentions are linked: those of which enough have an id in training."""
    first: Linear = field(repr=False)
    """The model of the choice without the other names of the document."""
    final: Linear = field(repr=False)
    """The model of the choice with all columns."""
    sure: Linear = field(repr=False)
    """The model of the probability that the first candidate is right."""
    threshold: float
    """The least probability of a link that is written."""
    settings: Mapping[str, object] = field(default_factory=dict)
    contexts: ContextVectors | None = field(default=None, repr=False)
    """The vectors of the training data; None without an encoder."""
    plain: Linear | None = field(default=None, repr=False)
    """The model of the choice without the encoder and the other names of the document; None if
    there is no encoder."""

    def is_sure(self, ranked: RankedCandidates) -> bool:
        """Tell whether the first candidate becomes a link; if not, the answer is NIL (abstaining).

        It does if the probability that it is right reaches the threshold.
        """
        return bool(ranked.entities) and ranked.probability >= self.threshold

    def rank(self, record: LinkRecord) -> list[RankedCandidates | None]:
        """Rank the candidates of each mention of a document; None for classes without links."""
        [ranked] = self.rank_all([record])
        return ranked

    def rank_all(
        self, records: Sequence[LinkRecord], *, prior: Linear | None = None
    ) -> list[list[RankedCandidates | None]]:
        """Rank the candidates in several documents, whose mentions an encoder reads together.

        The result of each document is that of ``rank``, with what the model ``prior`` chooses.
        """
        groups = [_find(self.knowledge, record, self.labels) for record in records]
        if self.contexts is not None and self.plain is not None:
            _with_contexts(groups, self.contexts, self.knowledge, plain=self.plain)
        _with_document_features(groups, self.first, self.knowledge)
        every = (self._rank(candidate, prior) for group in groups for candidate in group.candidates)
        return [
            [next(every) if case.label in self.labels else None for case in record.cases]
            for record in records
        ]

    def _rank(self, found: Candidates, prior: Linear | None) -> RankedCandidates:
        if not found.entities:
            return RankedCandidates((), (), 0.0, ())
        choice = softmax(self.final.score(found.features))
        order = np.argsort(-choice, kind="stable")
        row = _facts_of_choice(found.features, choice)
        probability = float(sigmoid(self.sure.score(row[None]))[0])
        entities = tuple(found.entities[i] for i in order.tolist())
        by_prior = None
        if prior is not None:
            scores = softmax(prior.score(found.features[:, :N_PLAIN]))
            by_prior = found.entities[int(scores.argmax())]
        return RankedCandidates(
            entities, tuple(choice[order].tolist()), probability, found.entities, by_prior
        )

    def save(self, folder: Path) -> None:
        """Write the linker into a folder; its ``linker.json`` is an empty object until the end."""
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / "linker.json", {})
        for name, values in (
            ("records.jsonl", [record.as_json() for record in self.knowledge.records]),
            ("register.jsonl", [entry.as_json() for entry in self.knowledge.register.values()]),
        ):
            lines = (json.dumps(value, ensure_ascii=False) + "\n" for value in values)
            write_text(folder / name, lines)
        self._save_contexts(folder)
        weights = {name: getattr(self, name).as_json() for name in ("first", "final", "sure")}
        weights["plain"] = self.plain.as_json() if self.plain else None
        labels = sorted(self.labels, key=str)
        about = {"version": _VERSION, "features": FEATURES, "labels": labels, **weights}
        about |= {"threshold": self.threshold, "settings": dict(self.settings)}
        write_json(folder / "linker.json", about)

    def _save_contexts(self, folder: Path) -> None:
        for name in _OF_ENCODER:
            (folder / name).unlink(missing_ok=True)
        if self.contexts is not None:
            np.save(folder / VECTORS, self.contexts.vectors)
            names = (json.dumps(name, ensure_ascii=False) for name in self.contexts.described)
            write_text(folder / DESCRIPTIONS, (f"{name}\n" for name in names))

    @classmethod
    def load(cls, folder: Path) -> "Linker":
        """Read a linker; raise ``CorpusError`` if it is missing, damaged or of another version."""
        path = folder / "linker.json"
        if not path.is_file():
            raise CorpusError(
                f"{folder}: no linker (linker.json is missing). Train one: onoma link "
                f"train DOCUMENTS --output {folder}"
            )
        values = read_json(path)
        try:
            if values["version"] != _VERSION or tuple(values["features"]) != FEATURES:
                raise CorpusError(f"{path}: made by another version of Onoma. Train it again.")
            first, final, sure = (_linear(n, values[n]) for n in ("first", "final", "sure"))
            plain = None if values["plain"] is None else _linear("plain", values["plain"])
            settings = {**values.get("settings", {})}
            places = [settings.get(name) for name in ("vocabulary", "encoder")]
            vocabulary, encoder = (None if name is None else Path(name) for name in places)
            if (encoder is None) != (plain is None):
                raise ValueError("an encoder and the model without it belong together")
            labels, threshold = _labels(values["labels"]), float(values["threshold"])
            if not threshold >= 0:
                raise ValueError(f"threshold: {threshold}")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise _damaged(path, error) from error
        needed = (*_FILES, *(_OF_ENCODER if encoder else ()))
        if lacking := [name for name in needed if not (folder / name).is_file()]:
            raise CorpusError(
                f"{folder}: {', '.join(lacking)} missing. Copy the whole linker, or train it again."
            )
        lines = _read_lines(folder / "records.jsonl", LinkRecord)
        records = [record.shared() for record in lines]
        register = _read_lines(folder / "register.jsonl", KnownEntity)
        knowledge = KnownEntities(
            records,
            {entry.entity: entry for entry in register},
            EntityLookup(vocabulary) if vocabulary else None,
        )
        contexts = _load_contexts(folder, records, encoder)
        return cls(knowledge, labels, first, final, sure, threshold, settings, contexts, plain)


def _damaged(where: object, error: Exception) -> CorpusError:
    reason = f"{error} is missing" if isinstance(error, KeyError) else f"{error}"
    return CorpusError(f"{where}: damaged ({reason}). Train it again, or copy it again.")


def _linear(name: str, value: LinearRecord) -> Linear:
    n_facts = _N_FACTS if name == "sure" else 0
    is_plain = name in {"first", "plain"}
    return linear_from_json(value, N_PLAIN if is_plain else len(FEATURES) + n_facts)


def _labels(value: object) -> frozenset[str | None]:
    if not isinstance(value, list) or not all(isinstance(label, str | None) for label in value):
        raise TypeError("labels: no list of names")
    return frozenset(value)


def _load_contexts(
    folder: Path, records: Sequence[LinkRecord], encoder: Path | None
) -> ContextVectors | None:
    if encoder is None:
        return None
    described = _read_lines(folder / DESCRIPTIONS, str)
    reader = WindowReader(encoder, keeps=False)
    try:
        vectors = np.load(folder / VECTORS, mmap_mode="r")
    except (EOFError, ValueError) as error:
        raise _damaged(folder / VECTORS, error) from error
    return ContextVectors(records, described, reader=reader, vectors=vectors)


def files_of(folder: Path) -> dict[str, Path]:
    """Map names to the files that a linker consists of."""
    there = [name for name in _OF_ENCODER if (folder / name).exists()]
    return {name: folder / name for name in (*_FILES, *there)}


def _read_lines(path: Path, kind: type[_T]) -> list[_T]:
    """Read a value of each line; raise ``CorpusError`` for a line that is damaged."""
    lines = []
    try:
        with path.open(encoding="utf-8") as file:
            for line in file:
                lines.append(typed(kind, parse_json(line)))  # noqa: PERF401 - the number for the message
    except ValueError as error:
        raise _damaged(f"{path}:{len(lines) + 1}", error) from error
    return lines


class LinkedCount(NamedTuple):
    """The number of mentions of a class (``names``), and of those that have an id (``linked``)."""

    linked: int
    names: int

    @property
    def suffices(self) -> bool:
        """Whether enough mentions have an id for the class to be linked."""
        return self.linked > 0 and self.linked >= LEAST_LINKED * self.names


def count_linked(records: Iterable[LinkRecord]) -> dict[str | None, LinkedCount]:
    """Count the mentions of each class, and those that have an id."""
    cases = [case for record in records for case in record.cases]
    linked = Counter(case.label for case in cases if case.entity)
    names = Counter(case.label for case in cases)
    return {label: LinkedCount(linked[label], n) for label, n in names.items()}


def linked_labels(records: Iterable[LinkRecord]) -> frozenset[str | None]:
    """Find the classes that are linked: at least ``LEAST_LINKED`` of their mentions have an id."""
    counts = count_linked(records)
    return frozenset(label for label, count in counts.items() if count.suffices)


@dataclass
class LinkerTraining:
    """The data and settings that a linker is trained from."""

    records: Sequence[LinkRecord]
    register: Mapping[str, KnownEntity]
    vocabulary: EntityLookup | None = None
    max_wrong: float = MAX_WRONG
    nil: bool = False
    """Whether a mention without an entity means an unknown one (NIL); if not, it is not used."""
    reader: WindowReader | None = None
    """The encoder, if any; the records must then keep their documents."""
    descriptions: Mapping[str, MentionWindow] = field(default_factory=dict)
    """The descriptions of entities, for the encoder; those of unknown entities are not used."""

    def __post_init__(self) -> None:
        """Raise ``CorpusError`` if no class has enough linked mentions."""
        if not self.labels:
            counts = count_linked(self.records).values()
            n, total = sum(count.linked for count in counts), sum(count.names for count in counts)
            raise CorpusError(
                f"{n:,} of {total:,} names of the training documents have an id, too few in each "
                f"class: {LEAST_LINKED:.0%} must. Train on documents whose names are linked (an "
                "edition with @ref or @key, a wiki)."
            )

    @cached_property
    def labels(self) -> frozenset[str | None]:
        """The classes that are linked."""
        return linked_labels(self.records)

    @cached_property
    def knowledge(self) -> KnownEntities:
        """The known entities, from the training data, the register and the vocabulary."""
        return KnownEntities(self.records, self.register, self.vocabulary)

    @cached_property
    def contexts(self) -> ContextVectors | None:
        """The vectors that the encoder makes of the training data; None without an encoder."""
        if self.reader is None:
            return None
        known = {e for e in self.descriptions if self.knowledge.holds(e, without=None)}
        used = {e: text for e, text in self.descriptions.items() if e in known}
        return ContextVectors.of(self.records, used, self.reader)

    @cached_property
    def _found(self) -> list[_Found]:
        if self.contexts is not None and self._plain is not None:
            _with_contexts(self._named, self.contexts, self.knowledge, plain=self._plain)
        return self._named

    @cached_property
    def _named(self) -> list[_Found]:
        return [_find(self.knowledge, record, self.labels) for record in self.records]

    @cached_property
    def _plain(self) -> Linear | None:
        return self._fit(self._named, _WITHOUT_ENCODER, N_PLAIN) if self.reader else None

    def fit_plain(self, uses: Sequence[str]) -> Linear:
        """Fit a choice by some of the columns that do not depend on the other names, ``N_PLAIN``.

        ``PRIOR`` are those of the prior alone.
        """
        return self._fit(self._found, uses, N_PLAIN)

    def train(self, *, settings: Mapping[str, object] | None = None) -> Linker:
        """Fit the weights, the model of probabilities, and the threshold."""
        first = self.fit_plain(FEATURES)
        _with_document_features(self._found, first, self.knowledge)
        start = first.widened(len(FEATURES))
        final = self._fit(self._found, FEATURES, len(FEATURES), start=start)
        unseen = self._unseen(final)
        penalty = unseen.choose_penalty()
        threshold = choose_threshold(
            unseen.probabilities(penalty), unseen.right, unseen.documents, max_wrong=self.max_wrong
        )
        return Linker(
            self.knowledge,
            self.labels,
            first,
            final,
            fit_logistic(unseen.rows, unseen.right, penalty=penalty),
            threshold,
            settings or {},
            self.contexts,
            self._plain,
        )

    def _fit(
        self,
        found: Iterable[_Found],
        uses: Sequence[str],
        n_columns: int,
        *,
        start: Linear | None = None,
    ) -> Linear:
        """Fit the choice on mentions whose entity is among two or more candidates."""
        features, gold = [], []
        used = np.array([name in uses for name in FEATURES[:n_columns]])
        for case, of in (pair for one in found for pair in one.pairs()):
            if case.entity in of.entities and len(of.entities) > 1:
                features.append(of.features[:, :n_columns])
                gold.append(of.entities.index(case.entity))
        return fit_choice(features, gold, used=used, start=start)

    def _unseen(self, whole: Linear) -> Unseen:
        """Describe each choice by weights that were fitted on the other parts.

        ``whole`` was fitted on all parts; the others are found faster from there.
        """
        by_part: dict[int, list[_Found]] = defaultdict(list)
        for one in self._found:
            by_part[int(ratio(one.record.id, seed=1) * N_PARTS)].append(one)
        models = {}
        for part, own in by_part.items():
            rest = [one for other, of in by_part.items() if other != part for one in of]
            models[part] = self._fit(rest or own, FEATURES, len(FEATURES), start=whole)
        every = [
            (part, one.record.id, *pair)
            for part, own in sorted(by_part.items())
            for one in own
            for pair in one.pairs()
            if pair[0].entity is not None or self.nil
        ]
        rows = np.empty((len(every), len(FEATURES) + _N_FACTS))
        right = np.empty(len(every), bool)
        for number, (part, _, case, of) in enumerate(every):
            choice = softmax(models[part].score(of.features))
            rows[number] = _facts_of_choice(of.features, choice)
            right[number] = of.entities[int(choice.argmax())] == case.entity
        numbers = {one.record.id: number for number, one in enumerate(self._found)}
        return Unseen(
            rows,
            right,
            np.array([part for part, *_ in every], np.int64),
            np.array([numbers[id] for _, id, *_ in every], np.int64),
        )


def grouped(items: Iterable[_T], n_names: Callable[[_T], int]) -> Iterator[list[_T]]:
    """Yield lists of items whose mentions are linked together, ``_AT_ONCE`` or more in each list.

    The last list may have fewer. ``n_names`` counts the mentions of an item.
    """
    some: list[_T] = []
    n = 0
    for item in items:
        some.append(item)
        n += n_names(item)
        if n >= _AT_ONCE:
            yield some
            some, n = [], 0
    if some:
        yield some


def _find(knowledge: KnownEntities, record: LinkRecord, labels: frozenset[str | None]) -> _Found:
    cases = [case for case in record.cases if case.label in labels]
    return _Found(record, cases, knowledge.candidates(record, cases))


_WITHOUT_ENCODER: Final = tuple(name for name in FEATURES if name not in READ)
_N_FACTS: Final = 4


def _facts_of_choice(features: Features, choice: Reals) -> Reals:
    """Describe how sure a choice is: log-odds, lead, number of candidates, and its features."""
    best = int(choice.argmax())
    p = min(max(float(choice[best]), 1e-6), 1 - 1e-6)
    second = float(np.partition(choice, -2)[-2]) if len(choice) > 1 else 0.0
    facts = [np.log(p / (1 - p)), p - second, np.log(len(choice)), float(len(choice) == 1)]
    return np.concatenate([facts, features[best]])


def _with_contexts(
    found: Sequence[_Found], contexts: ContextVectors, knowledge: KnownEntities, *, plain: Linear
) -> None:
    """Fill in the columns of the encoder, for mentions that are not sure without it."""
    sure = [[_sure(candidate, plain) for candidate in one.candidates] for one in found]
    asked = [
        (one, of, window)
        for one, indices in zip(found, sure, strict=True)
        for of, window, index in zip(
            one.candidates, one.of_cases(one.record.windows()), indices, strict=True
        )
        if index is None and of.entities
    ]
    vectors = contexts.read([window for *_, window in asked])
    for (one, of, _), vector in zip(asked, vectors, strict=True):
        without = one.record.id if one.record.id in knowledge.counts else None
        contexts.add_features(of, vector, without=without)


def _sure(of: Candidates, plain: Linear) -> int | None:
    """Return the index of the candidate that is sure without the encoder; None if there is none."""
    if not of.entities:
        return None
    chances = softmax(plain.score(of.features[:, :N_PLAIN]))
    best = int(chances.argmax())
    return best if chances[best] >= SURE else None


def _with_document_features(
    found: Iterable[_Found], first: Linear, knowledge: KnownEntities
) -> None:
    for one in found:
        chosen = [
            softmax(first.score(candidate.features[:, :N_PLAIN])) for candidate in one.candidates
        ]
        without = one.record.id if one.record.id in knowledge.counts else None
        forms = [case.form for case in one.cases]
        add_document_features(
            one.candidates, chosen, forms, counts=knowledge.counts, without=without
        )
