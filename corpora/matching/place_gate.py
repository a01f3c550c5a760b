"""Addition of mentions where they are probable, and removal of title matches that are not.

The longest known form decides: a form that is refused blocks what lies inside it. Without truth to
learn from, a rule decides: forms of several words, and words with a capital inside sentences that
stand in few documents, unless they have several meanings or a word beside them has a capital, too.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import MentionColumn, mention_array, with_field, with_mentions
from corpora.evidence.evidence import Evidence
from corpora.matching.arrays import Numbers
from corpora.matching.form_facts import LETTER, Floats
from corpora.matching.form_table import FormTable
from corpora.matching.place_features import (
    AFTER,
    BEFORE,
    LINKED,
    PRIOR,
    TITLE,
    JudgedPlaces,
    PlaceKnowledge,
)
from corpora.matching.survey import FormPlaces, Texts

Flags = npt.NDArray[np.bool_]

FREQUENT = 0.05
FEWEST = 10
"""A frequent word stands in this fraction of the documents, and in as many at least."""
DOUBTFUL = 0.05
"""The probability below which a title match is removed. It is far lower than that of an added
mention, since the page links the entity, which links that are taken as hidden can hardly show: of
40 matches below 0.25, three quarters were right; of 40 below 0.05, a tenth."""
_UNSPACED_CHARACTERS = 3
_SELDOM = -3.0  # log-odds of the documents that link a form, below which it is seldom a name


@dataclass(frozen=True)
class PlaceGate:
    """The judge of places: a table of known forms, the facts about them, and the model, if any."""

    table: FormTable
    known: PlaceKnowledge
    evidence: Evidence | None
    lang: str | None

    def apply(
        self, batch: pa.RecordBatch, *, only_remove: bool
    ) -> tuple[pa.RecordBatch, Counter[str]]:
        """Remove doubtful title matches from documents, and add probable mentions.

        Returns the documents, and the numbers of places by what became of them.
        """
        texts = Texts(batch, self.lang)
        origins = texts.mentions.structs.field("origin")
        is_match = np.asarray(pc.equal(origins, "title_match").to_numpy(zero_copy_only=False))
        judged = JudgedPlaces(texts, texts.find(self.table, ~is_match), self.known)
        features = judged.features()
        chances, is_sure = self._decide(judged, features)
        is_likely = np.ones(len(is_sure), np.bool_) if chances is None else chances >= DOUBTFUL
        matches = np.flatnonzero(is_match)
        is_kept = np.ones(len(is_match), np.bool_)
        is_kept[matches] = self._stay(matches, judged, is_likely=is_likely)
        is_sure &= judged.spelling[:, LETTER] > 0  # years and other numbers are no names
        is_free = ~judged.found.overlap(texts.starts[matches], texts.ends[matches])
        added = np.flatnonzero(is_sure & is_free & (not only_remove))
        counts = Counter({"title_matches_removed": int((~is_kept).sum()), "added": len(added)})
        refused = ~is_sure & is_free
        are_parts = judged.are_parts(features)[refused]
        are_titles = self.known.facts.has_titles
        counts.update(_reasons(features[refused], are_parts=are_parts, are_titles=are_titles))
        if is_kept.all() and not len(added):
            return batch, counts
        scores = None if chances is None else chances[added]
        more = self._mentions(texts, judged.found.part(added), scores=scores)
        documents = judged.found.documents[added].astype(np.int32)
        merged = _without(texts.mentions, is_kept).merged(documents, more)
        return with_mentions(batch, merged), counts

    def _decide(self, judged: JudgedPlaces, features: Floats) -> tuple[Floats | None, Flags]:
        """Return the probabilities of places, if they are known, and which places are sure."""
        if self.evidence is not None:
            chances = self.evidence.probabilities(features)
            # Other forms have further meanings too often, even where the model is sure of them.
            is_title = (features[:, TITLE] > 0) | (not self.known.facts.has_titles)
            return chances, self.evidence.accepts(chances) & is_title
        found, most = judged.found, max(FREQUENT * float(self.known.sizes[0, 0]), FEWEST)
        is_rare = self.known.forms[found.forms, 0] < most
        return None, _are_likely(judged, is_rare=is_rare) & (features[:, PRIOR] > 0)

    def _stay(self, matches: Numbers, judged: JudgedPlaces, *, is_likely: Flags) -> Flags:
        """Tell which title matches stay: those that nothing speaks against.

        The model decides on those that are places of a form with their entity; a longer form of
        another entity removes others. The rest stay: their page links the entity.
        """
        texts, found = judged.texts, judged.found
        starts, ends = texts.starts[matches], texts.ends[matches]
        entities = texts.mentions.structs.field("entity").take(pa.array(matches)).to_pylist()
        is_right = np.ones(len(matches), np.bool_)
        at = np.searchsorted(found.ends, starts, side="right")  # the first place that may overlap
        overlapping = np.flatnonzero(np.append(found.starts, np.iinfo(np.int64).max)[at] < ends)
        meant = self.known.facts.names_of(found.forms[at[overlapping]])
        for match, entity in zip(overlapping.tolist(), meant, strict=True):
            place = at[match]
            first, last = found.starts[place], found.ends[place]
            is_inside = first <= starts[match] and ends[match] <= last
            if is_inside and last - first > ends[match] - starts[match]:
                is_right[match] = entity == entities[match]
            elif is_inside and entity == entities[match]:
                is_right[match] = is_likely[place]
        return is_right

    def _mentions(
        self, texts: Texts, found: FormPlaces, *, scores: Floats | None
    ) -> pa.StructArray:
        """Build the mentions of places."""
        begins = texts.begins[found.documents]
        mentions = mention_array(
            (found.starts - begins).astype(np.int32),
            (found.ends - begins).astype(np.int32),
            pa.array(self.known.facts.names_of(found.forms), pa.string()),
            origins=["lexicon"] * len(found.forms),
        )
        if scores is None:
            return mentions
        return with_field(mentions, "score", pa.array(scores, pa.float32()))


def _are_likely(judged: JudgedPlaces, *, is_rare: Flags) -> Flags:
    """Apply the rule that needs no truth; ``is_rare``: forms that stand in few documents."""
    contexts, found = judged.texts.contexts, judged.found
    words, characters, capital, _, uncased = judged.spelling.T[:5]
    is_long = np.where(uncased > 0, characters >= _UNSPACED_CHARACTERS, words > 1)
    is_name = (capital > 0) & ~contexts.starts_sentence(found.starts) & is_rare
    is_upper_after = contexts.words_after(found.ends)[1]
    is_part = is_upper_after | contexts.words_before(found.starts)[1]
    return np.asarray((is_long | is_name) & ~is_part)


def _reasons(features: Floats, *, are_parts: Flags, are_titles: bool) -> dict[str, int]:
    """Count refused places by the first reason that holds.

    ``are_parts``: places that are parts of longer names; ``are_titles``: entities are titles, which
    alone are added.
    """
    kinds = {
        "several_entities": features[:, PRIOR] <= 0,
        "inside_a_longer_name": are_parts | (features[:, [AFTER, BEFORE]] > 0).any(1),
        "seldom_a_name": features[:, LINKED] < _SELDOM,
        "no_title": (features[:, TITLE] <= 0) & are_titles,
        "not_sure": np.ones(len(features), np.bool_),
    }
    rest, counts = np.ones(len(features), np.bool_), {}
    for name, holds in kinds.items():
        counts[f"held_back.{name}"] = int((rest & holds).sum())
        rest &= ~holds
    return counts


def _without(mentions: MentionColumn, is_kept: Flags) -> MentionColumn:
    left = np.concatenate([[0], np.cumsum(is_kept)])[mentions.ends].astype(np.int32)
    return MentionColumn(mentions.structs.filter(pa.array(is_kept)), left)
