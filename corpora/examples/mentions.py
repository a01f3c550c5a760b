"""Entities of subwords from mentions of characters; lost mentions are counted by reason."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import MentionColumn
from corpora.entities.vocabulary import SPECIAL, UNK, EntityVocab, limited_ids
from corpora.examples.subwords import Bools, Ints, SubwordRow

MAX_SUBWORDS: Final = 30
"""The most subwords of a mention."""
LOSSES: Final = {
    "of_other_origins": "of an origin that was not asked for",
    "unsure": "they were added with a lower probability than was asked for",
    "without_vocabulary": "no entity vocabulary was given",
    "without_entity": "nobody knows what they mean",
    "out_of_vocabulary": "their entity is not in the vocabulary",
    "below_min_count": "their entity is mentioned too rarely",
    "without_subwords": "in no sentence, or all of characters that the tokenizer drops",
    "crossing_sentences": "they reach over the end of a sentence",
    "too_long": "they have too many subwords",
    "in_short_sentences": "their sentence has too few subwords",
    "cut_by_split": "a sentence that is too long was split inside them",
    "double": "another one has the same subwords and the same entity",
    "over_limit": "their sentence has too many; the first were kept",
}
"""The reasons why a mention becomes no entity of an example, in the order of the tests."""

NAMED: Final = ("too_long", "cut_by_split", "over_limit")
"""The reasons that are due to the limits of examples; ``losses`` lists mentions lost by these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionRules:
    """The rules by which mentions become entities."""

    origins: tuple[str, ...]
    min_score: float = 0.0
    """The least score of a mention, its probability; mentions without a score are kept."""
    keep_unknown: bool = False
    """Whether mentions without an entity of the vocabulary are kept as ``[UNK]``, as in LUKE."""
    min_entity_count: int = 1
    """The least count of an entity in the vocabulary; ids are those of ``limited_ids``."""
    max_entities: int = 128
    """The most entities of an example."""


@dataclass(slots=True, eq=False)
class Entities:
    """The E entities of a batch, as arrays, while they are selected and aligned."""

    mentions: Ints  # (E,) the index of the mention of each
    ids: npt.NDArray[np.int32]  # (E,)
    starts: Ints  # (E,) half-open; in characters of the batch, after `align` in subwords
    ends: Ints  # (E,)
    is_widened: Bools  # (E,) whether the subwords reach beyond the mention
    counters: Counter[str] = field(default_factory=Counter)
    named: dict[str, tuple[Ints, Ints]] = field(default_factory=dict)
    """For each reason in ``NAMED`` that occurs, the indices of the mentions and their numbers of
    subwords."""

    def lose(self, reason: str, where: Bools) -> None:
        """Remove the entities with True in ``where``, and count them under a reason."""
        self.counters[f"mentions.{reason}"] += int(where.sum())
        if where.any() and reason in NAMED:
            self.named[reason] = self.mentions[where], (self.ends - self.starts)[where]
        self._take(np.flatnonzero(~where))

    def _take(self, which: Ints) -> None:
        for name in ("mentions", "ids", "starts", "ends", "is_widened"):
            setattr(self, name, getattr(self, name)[which])

    def align(self, row: SubwordRow) -> None:
        """Replace offsets of characters by those of the subwords that overlap.

        Removes entities in no sentence or across two, and those with too many subwords.
        """
        starts, ends = self.starts, self.ends
        self.starts = np.searchsorted(row.ends, starts, side="right")
        self.ends = np.searchsorted(row.starts, ends, side="left")
        found = np.flatnonzero(self.starts < self.ends)
        first, last = self.starts[found], self.ends[found] - 1
        is_widened = (row.starts[first] < starts[found]) | (row.ends[last] > ends[found])
        self.is_widened[found] = is_widened
        self.lose("without_subwords", self.starts >= self.ends)
        sentences = row.spans_of(self.starts)
        self.lose("crossing_sentences", sentences != row.spans_of(self.ends - 1))
        self.lose("too_long", self.ends - self.starts > MAX_SUBWORDS)

    def leave_out(self, row: SubwordRow, is_left_out: Bools) -> None:
        """Remove the entities of left-out sentences, and index subwords without these."""
        self.lose("in_short_sentences", is_left_out[row.spans_of(self.starts)])
        n_left_out = np.cumsum(np.where(is_left_out, row.sizes, 0))
        before = n_left_out[row.spans_of(self.starts)]  # sentences of kept entities are kept
        self.starts, self.ends = self.starts - before, self.ends - before

    def place(self, parts: SubwordRow, *, max_entities: int) -> Ints:
        """Sort by start, the longer first, and keep as many entities as each part can hold.

        Removes entities that a split cuts, and duplicates. Returns the part of each entity, (E,).
        """
        self.lose("cut_by_split", parts.spans_of(self.starts) != parts.spans_of(self.ends - 1))
        self._take(np.lexsort((self.mentions, self.ids, -self.ends, self.starts)))
        columns = (self.starts, self.ends, self.ids)
        is_double = np.all([np.diff(column, prepend=-1) == 0 for column in columns], axis=0)
        self.lose("double", is_double)
        of = parts.spans_of(self.starts)
        is_over = np.arange(len(of)) - np.searchsorted(of, of, side="left") >= max_entities
        self.lose("over_limit", is_over)
        self.counters["mentions.widened"] += int(self.is_widened.sum())
        return of[~is_over]


def find_entities(
    mentions: MentionColumn, bases: Ints, *, vocab: EntityVocab | None, rules: MentionRules
) -> Entities:
    """Look up the entities of mentions, and select mentions by ``rules``.

    ``bases`` is where each text begins in the characters of the batch. The name of a special row of
    the vocabulary is no entity.
    """
    names = mentions.structs.field("entity")
    ids = np.full(len(names), -1, np.int32)
    if vocab is not None:
        ids = np.array(vocab.ids_of(names).fill_null(-1))
        ids[ids < len(SPECIAL)] = -1
    base = np.repeat(bases, np.diff(mentions.ends))
    starts, ends = (base + mentions.numbers(edge) for edge in ("start", "end"))
    found = Entities(np.arange(len(ids)), ids, starts, ends, np.zeros(len(ids), np.bool_))
    found.counters["mentions.read"] += len(ids)
    origins = pa.array(rules.origins, pa.string())
    is_other = ~np.asarray(pc.is_in(mentions.structs.field("origin"), origins))
    found.lose("of_other_origins", is_other)
    scores = mentions.structs.field("score").to_numpy(zero_copy_only=False)
    found.lose("unsure", scores[found.mentions] < np.float32(rules.min_score))
    if vocab is None:
        found.lose("without_vocabulary", np.ones(len(found.ids), np.bool_))
        return found
    limited = limited_ids(np.asarray(vocab.table.column("count"), np.int64), rules.min_entity_count)
    if rules.keep_unknown:
        known = np.where(found.ids < 0, UNK, limited[found.ids])
        found.ids = np.where(known < 0, UNK, known).astype(np.int32)
        return found
    found.lose("without_entity", np.asarray(names.is_null())[found.mentions])
    found.lose("out_of_vocabulary", found.ids < 0)
    found.lose("below_min_count", limited[found.ids] < 0)
    found.ids = limited[found.ids]
    return found
