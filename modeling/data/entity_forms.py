"""Forms of entities that are looked up in sentences; each word knows the entity of its form.

Shapes: F forms, N sentences, W words, Q subwords.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final, Self

import numpy as np
import pyarrow as pa

from corpora.entities.vocabulary import split_entities
from corpora.errors import CorpusError
from corpora.matching.arrays import first_disjoint
from corpora.ner.columns import Indices
from corpora.ner.gazetteer import TrainForms
from modeling.data import gazetteer
from modeling.data.batch import ranges, starts_of
from modeling.data.sentences import EncodedSentences, wide

ENTITY_FILE: Final = "entity_forms.arrow"
_ENTITY_SCHEMA: Final = pa.schema(
    [("form", pa.string()), ("entity", pa.string()), ("id", pa.int64())]
)
_BORDERS: Final = re.compile("[/:]")


@dataclass(frozen=True, eq=False)
class EntityForms:
    """Forms of entities, each with the id of its entity; of equal forms the first is used.

    Maximum entity matching: of overlapping forms the leftmost is taken,
    and of those that begin there the longest; so each word is part of one entity, or of none. Words
    and forms are compared part by part, so matches do not depend on the tokenization of sentences.

    An entity is ``SPACE:TITLE``. In a document whose id is ``SPACE``, or begins with ``SPACE/``
    or ``SPACE:`` (a chapter of a novel that has a lexicon of its own), only the forms of this
    ``SPACE`` are looked up; in any other document, all forms are.
    """

    forms: pa.StringArray
    """(F,) texts."""
    entities: pa.StringArray
    """(F,) names, ``SPACE:TITLE``."""
    ids: Indices
    """(F,) rows of a model's entity table, from 1 on."""

    def __len__(self) -> int:
        return len(self.forms)

    @cached_property
    def _spaces(self) -> tuple[dict[str, int], Indices]:
        """The index of each space by name, and the index of the space of each form, (F,)."""
        encoded = split_entities(self.entities)[0].dictionary_encode()
        numbers = {space: n for n, space in enumerate(encoded.dictionary.to_pylist()) if space}
        return numbers, np.asarray(encoded.indices).astype(np.int64)

    def _space_of(self, document: str) -> int:
        """Find the index of the space whose forms are looked up in a document; −1 for all."""
        ends = [*(match.start() for match in _BORDERS.finditer(document)), len(document)]
        known = (self._spaces[0].get(document[:end]) for end in reversed(ends))
        return next((number for number in known if number is not None), -1)

    @cached_property
    def _made(self) -> dict[int, TrainForms]:
        return {}

    def _names(self, space: int) -> TrainForms:
        """Index the forms of a space, or all (−1), by hash; labels are indices of forms."""
        if space not in self._made:
            own = np.arange(len(self)) if space < 0 else np.flatnonzero(self._spaces[1] == space)
            parts = gazetteer.parts_of(self.forms.take(pa.array(own)))
            self._made[space] = gazetteer.index_forms(parts, own, np.zeros(len(own), np.int64))
        return self._made[space]

    def find(
        self, words: Sequence[Sequence[str]], documents: Sequence[str] | None = None
    ) -> Indices:
        """Find the entity id of each word of the sentences, shape (W,); 0 for none.

        Many sentences at once are faster. ``documents`` (N,) are the ids of their documents; None:
        all forms are looked up in each sentence.
        """
        if documents is None:
            return self._find(words, -1)
        space_of = {document: self._space_of(document) for document in set(documents)}
        spaces = np.array([space_of[document] for document in documents], np.int64)
        sizes = np.array([len(tokens) for tokens in words], np.int64)
        starts = starts_of(sizes)
        found = np.zeros(int(sizes.sum()), np.int64)
        for space in np.unique(spaces).tolist():
            chosen = np.flatnonzero(spaces == space)
            own = self._find([words[number] for number in chosen.tolist()], space)
            found[ranges(starts[chosen], sizes[chosen])] = own
        return found

    def _find(self, words: Sequence[Sequence[str]], space: int) -> Indices:
        columns, names = gazetteer.word_columns(words), self._names(space)
        found = np.zeros(len(columns.tokens), np.int64)
        matches = gazetteer.find_names(names, columns, by_parts=True)
        kept = first_disjoint(matches.starts, matches.ends)
        starts, sizes = matches.starts[kept], (matches.ends - matches.starts)[kept]
        ids = self.ids[names.labels[matches.forms[kept]]]
        found[ranges(starts, sizes)] = np.repeat(ids, sizes)
        return found

    def of_subwords(self, encoded: EncodedSentences) -> Indices:
        """Find the entity id that each subword has with its word, shape (Q,); 0 for none."""
        sentences = encoded.sentences
        documents = [sentence.document_id for sentence in sentences]
        of_words = self.find([sentence.tokens for sentence in sentences], documents)
        found = np.zeros(len(encoded.subwords), np.int64)
        starts = wide(encoded.word_starts)
        sizes = encoded.word_ends - starts
        found[ranges(starts, sizes)] = np.repeat(of_words, sizes)
        return found

    def save(self, folder: Path) -> None:
        """Write all that is needed to look forms up elsewhere: one file."""
        columns = [self.forms, self.entities, pa.array(self.ids)]
        gazetteer.write_table(
            folder / ENTITY_FILE, pa.Table.from_arrays(columns, schema=_ENTITY_SCHEMA)
        )

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what ``save`` wrote; raises ``CorpusError`` where it is missing or damaged."""
        path = folder / ENTITY_FILE
        try:
            table = gazetteer.read_table(path)
            forms, entities, ids = (
                table.column(name).combine_chunks() for name in _ENTITY_SCHEMA.names
            )
            return cls(forms, entities, ids.to_numpy().astype(np.int64))
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise CorpusError(
                f"{path}: no entities that can be read ({error}). Copy the file again from where "
                "the tagger was made."
            ) from error
