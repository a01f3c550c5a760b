"""Mentions of characters to entities of pieces; what is lost on the way is counted by reason."""

from collections import Counter
from dataclasses import dataclass, field, fields
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import Mentions
from corpora.entities.vocabulary import SPECIAL, UNK, EntityVocab
from corpora.examples.subwords import Numbers, Parts, PieceRow

LOSSES: Final = {
    "of_other_origins": "of an origin that was not asked for",
    "without_vocabulary": "no entity vocabulary was given",
    "without_entity": "nobody knows what they mean",
    "out_of_vocabulary": "their entity is not in the vocabulary",
    "below_min_count": "their entity is mentioned too rarely",
    "without_pieces": "in no sentence, or all of characters that the tokenizer drops",
    "crossing_sentences": "they reach over the end of a sentence",
    "too_long": "they have too many pieces",
    "in_short_sentences": "their sentence has too few pieces",
    "cut_by_split": "a sentence that is too long was split inside them",
    "double": "another one has the same pieces and the same entity",
    "over_limit": "their sentence has too many; the first were kept",
}
"""Why a mention is no entity of an example, in the order in which it is asked."""

NAMED: Final = ("too_long", "cut_by_split", "over_limit")
"""Those of them that come of the limits of examples; ``corpora.examples.losses`` names these."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MentionRules:
    """Which mentions become entities."""

    origins: tuple[str, ...]
    keep_unknown: bool = False
    """Those without an entity of the vocabulary are kept as ``[UNK]``, as LUKE does."""
    min_entity_count: int = 1
    """By the counts of the vocabulary; ids stay as they are."""
    max_pieces: int = 30
    """Of a mention."""
    max_entities: int = 128
    """Of an example."""


@dataclass(slots=True, eq=False)
class EntityRow:
    """The entities of a batch, in a row, while they are found; E entities."""

    mentions: Numbers  # (E) the number of the mention that each was
    ids: npt.NDArray[np.int32]  # (E)
    starts: Numbers  # (E) half-open: characters of the batch; pieces after `align`
    ends: Numbers  # (E)
    is_widened: npt.NDArray[np.bool_]  # (E) the pieces have other edges than the mention
    counters: Counter[str] = field(default_factory=Counter)
    named: dict[str, tuple[Numbers, Numbers]] = field(default_factory=dict)
    """For each reason in ``NAMED`` that occurs, the mentions and how many pieces they have."""

    def __len__(self) -> int:
        """How many are left."""
        return len(self.mentions)

    def lose(self, reason: str, where: npt.NDArray[np.bool_]) -> None:
        """Take out some, and count them."""
        self.counters[f"mentions.{reason}"] += int(where.sum())
        if not where.any():
            return
        if reason in NAMED:
            self.named[reason] = self.mentions[where], (self.ends - self.starts)[where]
        self._take(np.flatnonzero(~where))

    def _take(self, numbers: Numbers) -> None:
        for column in fields(self):
            if column.name not in ("counters", "named"):
                setattr(self, column.name, getattr(self, column.name)[numbers])

    def align(self, row: PieceRow, *, max_pieces: int) -> None:
        """Replace characters by the pieces that overlap them; take out what is in no sentence."""
        starts, ends = self.starts, self.ends
        self.starts = np.searchsorted(row.ends, starts, side="right")
        self.ends = np.searchsorted(row.starts, ends, side="left")
        found = np.flatnonzero(self.starts < self.ends)
        first, last = self.starts[found], self.ends[found] - 1
        is_widened = (row.starts[first] < starts[found]) | (row.ends[last] > ends[found])
        self.is_widened[found] = is_widened
        self.lose("without_pieces", self.starts >= self.ends)
        sentences = row.sentences_of(self.starts)
        self.lose("crossing_sentences", sentences != row.sentences_of(self.ends - 1))
        self.lose("too_long", self.ends - self.starts > max_pieces)

    def leave_out(self, row: PieceRow, is_left_out: npt.NDArray[np.bool_]) -> None:
        """Take out what is in some of the sentences, and count pieces without them."""
        self.lose("in_short_sentences", is_left_out[row.sentences_of(self.starts)])
        n_left_out = np.cumsum(np.where(is_left_out, row.sizes, 0))
        before = n_left_out[row.sentences_of(self.starts)]  # its own sentence is none of them
        self.starts, self.ends = self.starts - before, self.ends - before

    def place(self, parts: Parts, *, max_entities: int) -> Numbers:
        """Put all in order, by start and the longer first, as many as each part can hold.

        Returns the part of each.
        """
        self.lose("cut_by_split", parts.of(self.starts) != parts.of(self.ends - 1))
        self._take(np.lexsort((self.mentions, self.ids, -self.ends, self.starts)))
        is_double = np.zeros(len(self), np.bool_)
        columns = (self.starts, self.ends, self.ids)
        is_double[1:] = np.all([column[1:] == column[:-1] for column in columns], axis=0)
        self.lose("double", is_double)
        of = parts.of(self.starts)
        is_over = np.arange(len(of)) - np.searchsorted(of, of, side="left") >= max_entities
        self.lose("over_limit", is_over)
        self.counters["mentions.widened"] += int(self.is_widened.sum())
        return of[~is_over]


class EntityFinder:
    """Finds the entities of mentions."""

    def __init__(self, vocab: EntityVocab | None, rules: MentionRules) -> None:
        self.vocab, self.rules = vocab, rules
        counts = [] if vocab is None else vocab.table.column("count")
        self._counts = np.asarray(counts, np.int64)

    def find(self, mentions: Mentions, bases: Numbers) -> EntityRow:
        """Find the entities; ``bases`` is where each text begins in the characters of the batch."""
        structs = mentions.structs
        base = np.repeat(bases, np.diff(mentions.ends))
        found = EntityRow(
            np.arange(len(structs)),
            self._ids(structs.field("entity")),
            base + mentions.numbers("start"),
            base + mentions.numbers("end"),
            np.zeros(len(structs), np.bool_),
        )
        found.counters["mentions.read"] += len(found)
        origins = pa.array(self.rules.origins, pa.string())
        found.lose("of_other_origins", ~np.asarray(pc.is_in(structs.field("origin"), origins)))
        if self.vocab is None:
            found.lose("without_vocabulary", np.ones(len(found), np.bool_))
        elif self.rules.keep_unknown:
            is_rare = self._counts[found.ids] < self.rules.min_entity_count
            found.ids[is_rare | (found.ids < 0)] = UNK
        else:
            has_entity = np.asarray(structs.field("entity").is_valid())
            found.lose("without_entity", ~has_entity[found.mentions])
            found.lose("out_of_vocabulary", found.ids < 0)
            found.lose("below_min_count", self._counts[found.ids] < self.rules.min_entity_count)
        return found

    def _ids(self, entities: pa.StringArray) -> npt.NDArray[np.int32]:
        """Ids; -1 for what has none, or looks like a special row."""
        if self.vocab is None:
            return np.full(len(entities), -1, np.int32)
        ids = np.array(self.vocab.ids_of(entities).fill_null(-1))
        ids[ids < len(SPECIAL)] = -1
        return ids
