"""Which entity the words of sentences are part of: forms are looked up, the longest first.

Maximum entity matching (published systems, C.11): of forms that overlap the leftmost, there the
longest; so each word is part of one entity, or of none. Words and forms are compared part by part
(``name_lookup.parts_of``), so that it does not matter how the sentences were cut; a form begins
and ends with a word.

An entity is ``SPACE:TITLE``. A document whose id is a space, or begins with one and ``/`` or ``:``
(a chapter of a novel that has a lexicon of its own), knows the forms of this space alone (E-D5);
any other knows all.

Shapes: F forms, S sentences, W words, Q pieces of a set of sentences.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Final, Self

import numpy as np
import pyarrow as pa

from corpora.entities.vocabulary import split_entities
from corpora.errors import CorpusError
from corpora.ner.gazetteer import Names, leftmost_longest
from modeling.data.chance import Integers
from modeling.data.masking import ranges
from modeling.data.name_lookup import by_hash, find, parts_of, word_columns
from modeling.data.sentence_encoder import EncodedSentences

FILE: Final = "entity_forms.arrow"
_BORDERS: Final = re.compile("[/:]")
_SCHEMA: Final = pa.schema([("form", pa.string()), ("entity", pa.string()), ("id", pa.int64())])


class EntityLookup:
    """Forms with the id of the entity that each means; of equal ones the first counts.

    Args:
        forms: (F,)
        entities: (F,) names.
        ids: (F,) rows of a model's entity table, above 0.
    """

    def __init__(self, forms: pa.StringArray, entities: pa.StringArray, ids: Integers) -> None:
        self.forms, self.entities, self.ids = forms, entities, ids
        self._made: dict[int, Names] = {}

    def __len__(self) -> int:
        """How many forms, equal ones included."""
        return len(self.forms)

    @cached_property
    def _spaces(self) -> tuple[dict[str, int], Integers]:
        """The number of each space, and (F,) that of each form."""
        encoded = split_entities(self.entities)[0].dictionary_encode()
        numbers = {space: n for n, space in enumerate(encoded.dictionary.to_pylist()) if space}
        return numbers, np.asarray(encoded.indices).astype(np.int64)

    def _space_of(self, document: str) -> int:
        """The number of the space that a document has the forms of, −1 for all."""
        numbers, _ = self._spaces
        ends = [*(found.start() for found in _BORDERS.finditer(document)), len(document)]
        known = (numbers.get(document[:end]) for end in reversed(ends))
        return next((number for number in known if number is not None), -1)

    def _names(self, space: int) -> Names:
        """The forms of a space, or all (−1), by hash; labels are their numbers."""
        if space not in self._made:
            own = np.arange(len(self)) if space < 0 else np.flatnonzero(self._spaces[1] == space)
            parts = parts_of(self.forms.take(pa.array(own)))
            self._made[space] = by_hash(parts, own, np.zeros(len(own), np.int64))
        return self._made[space]

    def find(
        self, words: Sequence[Sequence[str]], documents: Sequence[str] | None = None
    ) -> Integers:
        """(W,) the id of each word of these sentences, 0 for none; many at once are faster.

        ``documents`` (S,) are the ids of their documents; None: all forms are looked up in each.
        """
        if documents is None:
            return self._find(words, -1)
        space_of = {document: self._space_of(document) for document in set(documents)}
        spaces = np.array([space_of[document] for document in documents], np.int64)
        sizes = np.array([len(tokens) for tokens in words], np.int64)
        starts = np.cumsum(sizes) - sizes
        found = np.zeros(int(sizes.sum()), np.int64)
        for space in np.unique(spaces).tolist():
            chosen = np.flatnonzero(spaces == space)
            own = self._find([words[number] for number in chosen.tolist()], space)
            found[ranges(starts[chosen], sizes[chosen])] = own
        return found

    def _find(self, words: Sequence[Sequence[str]], space: int) -> Integers:
        columns, names = word_columns(words), self._names(space)
        found = np.zeros(len(columns.tokens), np.int64)
        matches = find(names, columns, by_parts=True)
        kept = leftmost_longest(matches.starts, matches.ends)
        starts, sizes = matches.starts[kept], (matches.ends - matches.starts)[kept]
        ids = self.ids[names.labels[matches.forms[kept]]]
        found[ranges(starts, sizes)] = np.repeat(ids, sizes)
        return found

    def of_pieces(self, encoded: EncodedSentences) -> Integers:
        """(Q,) the id that each piece of a set of sentences has with its word, 0 for none."""
        sentences = encoded.sentences
        documents = [sentence.document_id for sentence in sentences]
        of_words = self.find([sentence.tokens for sentence in sentences], documents)
        found = np.zeros(len(encoded.pieces), np.int64)
        sizes = encoded.word_ends - encoded.word_starts
        found[ranges(encoded.word_starts, sizes)] = np.repeat(of_words, sizes)
        return found

    def save(self, folder: Path) -> None:
        """Write all that is needed to look forms up elsewhere: one file."""
        columns = [self.forms, self.entities, pa.array(self.ids)]
        table = pa.Table.from_arrays(columns, schema=_SCHEMA)
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        folder.mkdir(parents=True, exist_ok=True)
        with pa.ipc.new_file(str(folder / FILE), _SCHEMA, options=options) as writer:
            writer.write_table(table)

    @classmethod
    def load(cls, folder: Path) -> Self:
        """Read what ``save`` wrote; raises ``CorpusError`` where it is missing or damaged."""
        path = folder / FILE
        try:
            with pa.ipc.open_file(str(path)) as reader:
                table = reader.read_all().combine_chunks()
            table.validate(full=True)
            forms, entities, ids = (table.column(n).combine_chunks() for n in _SCHEMA.names)
            return cls(forms, entities, ids.to_numpy().astype(np.int64))
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise CorpusError(
                f"{path}: no entities that can be read ({error}). Copy the file again from where "
                "the tagger was made."
            ) from error
