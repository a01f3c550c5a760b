"""Places of known forms in a document, with the features by which names are told from words.

Everything is said without one fold of the documents, the one that the document belongs to, or, if
names are to be written, with all folds.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, log, log1p

from corpora.document import Document
from corpora.registers.occurrences import WORD, FormFinder, Occurrence
from corpora.registers.tagged_names import SIDES, TaggedNames

Features = Mapping[str, float]
_SURE = 0.9
"""The least share of a form's tagged names with one meaning for its place to name this entity."""
_CAPITALS = 0.25
"""The share of words with a capital above which common nouns have one, too, as in German."""


@dataclass(frozen=True, slots=True)
class UnfoldedFacts:
    """The facts about a form, counted in all documents but those of a fold."""

    kind: str
    n_tagged: int
    n_untagged: int
    """Places in tagged documents where it is no name of its kind."""
    meanings: Mapping[str, int]
    """The entities that it may mean, with the number of its tagged names that mean each."""
    features: Features

    @property
    def meaning(self) -> str | None:
        """The entity that nearly all of its tagged names mean, or else its only one."""
        if len(self.meanings) == 1:
            return next(iter(self.meanings))
        total = sum(self.meanings.values())
        return next((e for e, n in self.meanings.items() if total and n >= _SURE * total), None)


@dataclass(frozen=True, slots=True)
class KnownOccurrence:
    """An occurrence with what is known of its form, and its features as a name."""

    occurrence: Occurrence
    facts: UnfoldedFacts
    features: Features
    of_meanings: Mapping[str, Features]
    """The features of each entity that it may mean."""
    is_in_run: bool
    """Whether the words beside it seem to be parts of a longer name."""


@dataclass(frozen=True, slots=True)
class DocumentEntities:
    """The facts of a letter that tell which entities it may mention."""

    pair: str
    """Who wrote to whom."""
    correspondents: frozenset[str]
    named: Mapping[str, set[str]]
    """The forms that surely name an entity there, by entity."""


class FoldedView:
    """The places of documents as they look without one fold of the edition (None: with all)."""

    def __init__(self, names: TaggedNames, held: int | None = None) -> None:
        self._names, self._held = names, held
        self._finder: FormFinder = names.finder(held)
        self._facts: dict[str, UnfoldedFacts] = {}
        lower = Counter({word: n for word, n in names.words.items() if word[0].islower()})
        self._lower = lower
        n_words = sum(n for word, n in names.words.items() if word[0].isalpha())
        capitals = sum(n for word, n in names.words.items() if word[0].isupper())
        self._capitalises_nouns = capitals > _CAPITALS * n_words

    def places(
        self, document: Document, occupied: Sequence[tuple[int, int]] = ()
    ) -> list[KnownOccurrence]:
        """List the places of known forms outside of what is occupied."""
        occurrences = self._finder.find(document, occupied)
        letter = self._names.correspondents(document)
        named: defaultdict[str, set[str]] = defaultdict(set)
        tagged = self._names.names_of(document).values() if self._held is None else ()
        for name in tagged:
            for entity in name.entities:
                named[entity].add("")
        for form in {one.form for one in occurrences}:
            facts = self.facts(form)
            if facts.meaning and facts.n_tagged >= facts.n_untagged:
                named[facts.meaning].add(form)
        before: Counter[str] = Counter()
        places: list[KnownOccurrence] = []
        around = self._names.surroundings(document, occurrences, self._held)
        for one, sides in zip(occurrences, around, strict=True):
            facts = self.facts(one.form)
            of_meanings = self._of_meanings(one, DocumentEntities(*letter, named))
            of_letter = _of_letter(of_meanings)
            of_letter["earlier in the text"] = log1p(before[one.form])
            before[one.form] += 1
            features = {**facts.features, **self._around(one, facts, sides), **of_letter}
            places.append(KnownOccurrence(one, facts, features, of_meanings, self._is_in_run(one)))
        return places

    def facts(self, form: str) -> UnfoldedFacts:
        """Return what is known of a form."""
        if form not in self._facts:
            self._facts[form] = self._find_facts(form)
        return self._facts[form]

    def _find_facts(self, form: str) -> UnfoldedFacts:
        names, held = self._names, self._held
        kind, known = names.kind(form, held), names.known.get(form)
        tagged = names.names.get((form, kind), held)
        others = sum(names.names.get((form, one), held) for one in names.kinds[form]) - tagged
        untagged = names.places.get((form, False), held) + others
        meanings = {
            entity: n
            for entity in sorted(names.meanings.get(form, ()))
            if (n := names.entities.get((form, entity), held))
        }
        listed = [id for id, of in known.entries.items() if of == kind] if known else []
        for id in listed:
            meanings.setdefault(id, 0)
        share, words = log((tagged + 0.5) / (untagged + 0.5)), WORD.findall(form) or [form]
        lower = self._lower[words[-1].casefold()] + 0.5
        features = {
            "share tagged": share,
            "share tagged, if more than half": max(0.0, share),
            "share tagged, if nearly all": max(0.0, share - 2),
            "tagged": log1p(tagged),
            "untagged": log1p(untagged),
            "never seen": float(not tagged + untagged),
            "of another kind": log1p(others),
            "whole name of one word": float(bool(known and known.is_whole and len(words) < 2)),
            "whole name of words": float(bool(known and known.is_whole and len(words) > 1)),
            "surname": float(bool(known and known.is_surname)),
            "not in the register": float(not listed),
            **{f"is a {one}": float(kind == one) for one in _KINDS},
            "words": min(len(words), 5.0),
            "length": log(len(form)),
            "begins small": float(form[0].islower()),
            "also in lower case": log(lower / (names.words[words[-1]] + 0.5)),
        }
        return UnfoldedFacts(kind, tagged, untagged, meanings, features)

    def _around(
        self, one: Occurrence, facts: UnfoldedFacts, sides: Sequence[str]
    ) -> dict[str, float]:
        """Describe what stands around a place."""
        features = {"begins a sentence": float(one.begins_sentence), "joined": float(one.is_joined)}
        for side, word in enumerate(sides):
            of_kind = self._change((facts.kind, side, word), self._share(facts.kind))
            of_form = self._change((one.form, side, word), facts.features["share tagged"])
            features |= {f"kind with {SIDES[side]}": of_kind, f"form with {SIDES[side]}": of_form}
        for is_first, word in ((True, one.left), (False, one.right)):
            inside = self._names.share_inside(word, self._held, is_first=is_first)
            features[f"{SIDES[not is_first]} is inside names"] = log(inside + 0.01)
            features[f"{SIDES[not is_first]} has a capital"] = float(word in one.run)
        return features

    def _share(self, kind: str) -> float:
        counts = (self._names.places.get((kind, flag), self._held) for flag in (True, False))
        tagged, untagged = counts
        return log((tagged + 1) / (untagged + 1))

    def _change(self, where: tuple[str, int, str], share: float) -> float:
        """Tell by how much the log-odds of a tagged place change beside a word."""
        around, expected = self._names.around, 1 / (1 + exp(-share))
        tagged = around.get((*where, True), self._held) + expected
        untagged = around.get((*where, False), self._held) + 1 - expected
        return log(tagged / untagged) - share

    def _of_meanings(self, one: Occurrence, letter: DocumentEntities) -> dict[str, Features]:
        """Describe the entities that a form may mean, each beside its strongest rivals."""
        names, held, form, facts = self._names, self._held, one.form, self.facts(one.form)
        known, total = names.known.get(form), sum(facts.meanings.values())
        plain: dict[str, tuple[float, ...]] = {
            entity: (
                log1p(n),
                log1p(names.documents.get((form, entity), held)),
                float(bool(letter.named.get(entity, set()) - {form})),
                float(entity in letter.correspondents),
                log1p(names.mentions.get(entity, held)),
                log1p(names.in_letters.get((letter.pair, form, entity), held)),
            )
            for entity, n in facts.meanings.items()
        }
        beside = {entity: names.beside.get((form, one.left, entity), held) for entity in plain}
        described: dict[str, Features] = {}
        is_short = facts.kind == "person" and len(WORD.findall(form)) < 2
        for entity, values in plain.items():
            is_known = any(values[_OF_MEANING.index(name)] for name in _KNOWN_BY)
            rivals = [other for id, other in plain.items() if id != entity]
            strongest = (
                tuple(map(max, zip(*rivals, strict=True))) if rivals else (0.0,) * len(values)
            )
            n = facts.meanings[entity]
            share = (n + 0.5) / (total + 1)
            share_beside = (beside[entity] + share) / (sum(beside.values()) + 1)
            described[entity] = {
                **dict(zip(_OF_MEANING, values, strict=True)),
                **{f"rival: {k}": v for k, v in zip(_OF_MEANING, strongest, strict=True)},
                "share of the form": log((n + 0.5) / (total - n + 0.5)),
                "meanings": log(len(plain)),
                "in the register": float(bool(known and entity in known.entries)),
                "change of the share beside the word before": log(share_beside / share),
                "share between these two": values[-1] - strongest[-1],
                "a person by one word": float(is_short),
                "a person by one word alone": float(is_short and not is_known),
            }
        return described

    def _is_in_run(self, one: Occurrence) -> bool:
        """Tell whether a word with a capital beside a place belongs to a longer name.

        It does if it is an initial. A word that never stands beside a tagged name does, where
        common nouns have no capital, if it is never seen in lower case.
        """
        return any(self._is_part(word, is_first=word == one.left) for word in one.run)

    def _is_part(self, word: str, *, is_first: bool) -> bool:
        side = 0 if is_first else 1
        around = self._names.around
        is_beside = any(around.get((kind, side, word, True), self._held) for kind in _ALL_KINDS)
        if word.endswith("."):
            return len(word) == len("P.")
        if is_beside:
            return False
        return not (self._capitalises_nouns or self._lower[word.casefold()])


_KINDS = ("place", "organization", "work", "event")
_ALL_KINDS = ("person", *_KINDS)
_OF_MEANING = (
    *("tagged", "documents", "named elsewhere", "corresponds", "mentions"),
    "between these two",
)
_KNOWN_BY = ("named elsewhere", "corresponds", "between these two")
"""What a letter says of an entity besides the form. Without it, a surname may be anyone's."""


def _of_letter(of_meanings: Mapping[str, Features]) -> dict[str, float]:
    """Describe a place by the best that is said of any of its meanings that the form names."""
    named = [each for each in of_meanings.values() if each["tagged"] or each["in the register"]]
    best = {
        name: max((features[name] for features in named), default=0.0) for name in _OF_MEANING[1:]
    }
    return {f"an entity: {name}": value for name, value in best.items()} | {
        "entities": log1p(len(named))
    }
