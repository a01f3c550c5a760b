"""Pre-training examples from documents: packed sentences, with their subwords, words and entities.

An example holds neighbouring sentences of one document, as many as fit, without special tokens. All
positions are half-open, and count its subwords. This is what LUKE and DaLUKE do, with two
differences: the text of a sentence is cut into subwords unchanged, and an entity has all subwords
that overlap its mention.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import MentionColumn
from corpora.datasets.schemas import SCHEMAS
from corpora.entities.vocabulary import UNK, EntityVocab
from corpora.examples.lost_mentions import LostMention, name_losses
from corpora.examples.mentions import Entities, MentionRules, find_entities
from corpora.examples.subwords import (
    BatchSentences,
    Ints,
    SubwordRow,
    encode,
    pack,
    split_long,
    with_chinese_words,
)
from corpora.hashing.sampling import ratio
from corpora.tokenization.tokenizers import Tokenizer

TRAIN, VALIDATION = "train", "validation"
COLUMNS = ("id", "group", "text", "sentences", "mentions")
"""The columns of ``documents`` that examples are made from."""
WRITTEN, UNSPLIT, EMPTY, SHORT, UNMENTIONED = (
    "written",
    "no_sentences",
    "empty",
    "short_sentences",
    "without_mentions",
)
"""The possible outcomes of a document. ``no_sentences`` is an error: there is text, but it was not
cut into sentences."""
BATCH_BYTES = 4 << 20
"""The bytes of text that are made into examples at once; a longer document is taken whole."""
_SCHEMA = SCHEMAS["examples"].columns


@dataclass(frozen=True, slots=True, kw_only=True)
class ExampleRules:
    """The rules by which examples are made."""

    length: int
    """The most subwords of an example, without special ones."""
    mentions: MentionRules
    min_sentence_subwords: int = 1
    """The least subwords of a sentence; shorter ones are left out, so that neighbours in an example
    need not be neighbours in the text."""
    words: str = "tokenizer"
    """How Chinese words are found: ``tokenizer`` (each character is a word) or ``jieba``."""
    only_with_mentions: bool = False
    """Whether examples without an entity are left out."""
    validation: float = 0.0
    """Documents with a ratio (``corpora.hashing.sampling``) below this are for validation."""
    seed: int = 1


@dataclass(frozen=True, slots=True, eq=False)
class ExampleBatch:
    """The examples of a batch of documents, with counts and lost mentions."""

    examples: pa.RecordBatch
    fates: Sequence[str]
    """The outcome of each document: ``written``, or the reason why it has no example."""
    counters: Counter[str]
    lost: Sequence[LostMention]
    """The first mentions, for each reason, that were lost because of the limits of examples."""


def in_chunks(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut a batch of documents into chunks of ``BATCH_BYTES`` of text, or of one document."""
    ends = np.cumsum(pc.binary_length(batch.column("text")).to_numpy())
    begin = 0
    while begin < batch.num_rows:
        limit = BATCH_BYTES + (ends[begin - 1] if begin else 0)
        end = max(begin + 1, int(np.searchsorted(ends, limit, side="right")))
        yield batch.slice(begin, end - begin)
        begin = end


class ExampleMaker:
    """A maker of examples from documents; without a vocabulary, examples have no entities."""

    def __init__(
        self, tokenizer: Tokenizer, vocab: EntityVocab | None, rules: ExampleRules
    ) -> None:
        self.tokenizer, self.vocab, self.rules = tokenizer, vocab, rules

    def make(self, batch: pa.RecordBatch) -> ExampleBatch:
        """Make the examples of documents; the batch has the columns ``COLUMNS``."""
        rules, limits = self.rules, self.rules.mentions
        mentions, sentences = MentionColumn.of(batch), BatchSentences.of(batch)
        row = encode(sentences, self.tokenizer)
        if rules.words == "jieba":
            row = with_chinese_words(row, sentences)
        entities = find_entities(mentions, sentences.bases, vocab=self.vocab, rules=limits)
        entities.align(row)
        is_short = row.sizes < max(rules.min_sentence_subwords, 1)
        entities.leave_out(row, is_short)
        kept = row.without(is_short)
        parts = split_long(kept, rules.length)
        of = entities.place(parts, max_entities=limits.max_entities)
        n_entities = np.bincount(of, minlength=len(parts.documents))
        begins = pack(parts, n_entities, length=rules.length, max_entities=limits.max_entities)
        documents = parts.documents[begins]
        columns = self._names(batch, documents) | _positions(parts, begins, entities)
        origins = mentions.structs.field("origin").take(pa.array(entities.mentions))
        columns["entity_origins"] = _lists(columns["entity_ids"].offsets, origins)
        packed = pa.RecordBatch.from_arrays([columns[n] for n in _SCHEMA.names], schema=_SCHEMA)
        is_kept = np.ones(len(begins), np.bool_)
        if rules.only_with_mentions:
            is_kept = np.diff(np.asarray(columns["entity_ids"].offsets)) > 0
        examples, left_out = (packed.filter(pa.array(mask)) for mask in (is_kept, ~is_kept))
        unk = self.tokenizer.special.unk
        counters = Counter(
            {
                **_count_read(sentences, row, kept),
                **_count_split(kept, parts, length=rules.length),
                **entities.counters,
                **_count_made(examples, left_out, unk=unk),
            }
        )
        fates = _fates(sentences, row, packed=documents, kept=documents[is_kept])
        return ExampleBatch(examples, fates, counters, name_losses(batch, mentions, entities))

    def _names(self, batch: pa.RecordBatch, documents: Ints) -> dict[str, pa.Array]:
        """Return the columns that name examples, their documents, groups and splits.

        ``documents`` are the rows of the documents of the examples, ascending.
        """
        rows, counts = np.unique(documents, return_counts=True)
        ids = batch.column("id").take(pa.array(rows)).to_pylist()
        numbered = (
            f"{id}#{n}"
            for id, count in zip(ids, counts.tolist(), strict=True)
            for n in range(1, count + 1)
        )
        is_validation = [ratio(id, seed=self.rules.seed) < self.rules.validation for id in ids]
        splits = np.where(is_validation, VALIDATION, TRAIN).astype(object)
        return {
            "id": pa.array(list(numbered), pa.string()),
            "document_id": batch.column("id").take(pa.array(documents)),
            "group": batch.column("group").take(pa.array(documents)),
            "split": pa.array(np.repeat(splits, counts), pa.string()),
        }


def _positions(parts: SubwordRow, begins: Ints, entities: Entities) -> dict[str, pa.Array]:
    """Return the columns of subwords, and of words, sentences and entities as their positions.

    A word, or a sentence that is too long, that continues from the example before begins at 0.
    """
    bounds = parts.bounds[np.append(begins, len(parts.documents))]
    is_word_start = parts.is_word_start.copy()
    is_word_start[bounds[:-1]] = True
    entity_offsets = np.searchsorted(entities.starts, bounds)
    base = np.repeat(bounds[:-1], np.diff(entity_offsets))
    return {
        "input_ids": _lists(bounds, parts.ids),
        "word_starts": _inside(np.flatnonzero(is_word_start), bounds),
        "sentence_starts": _inside(parts.bounds[:-1], bounds),
        "entity_ids": _lists(entity_offsets, entities.ids),
        "entity_starts": _lists(entity_offsets, entities.starts - base),
        "entity_ends": _lists(entity_offsets, entities.ends - base),
    }


def _inside(positions: Ints, bounds: Ints) -> pa.ListArray:
    """Cut ascending positions at the bounds of examples, and count from the start of each."""
    offsets = np.searchsorted(positions, bounds)
    return _lists(offsets, positions - np.repeat(bounds[:-1], np.diff(offsets)))


def _lists(
    offsets: npt.NDArray[np.integer] | pa.Array, values: npt.NDArray[np.integer] | pa.Array
) -> pa.ListArray:
    if not isinstance(values, pa.Array):
        values = pa.array(values.astype(np.int32, copy=False))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), values)


def _fates(sentences: BatchSentences, row: SubwordRow, *, packed: Ints, kept: Ints) -> list[str]:
    """Return the fate of each document; ``packed`` and ``kept`` are the documents of examples."""
    n = len(sentences.bases)
    n_sentences, n_packed, n_kept = (
        np.bincount(documents, minlength=n) for documents in (row.documents, packed, kept)
    )
    n_subwords = np.bincount(row.documents, row.sizes, minlength=n)
    is_unsplit = (n_sentences == 0) & (sentences.outside > 0)
    conditions = [n_kept > 0, n_packed > 0, n_subwords > 0, is_unsplit]
    fates: list[str] = np.select(conditions, [WRITTEN, UNMENTIONED, SHORT, UNSPLIT], EMPTY).tolist()
    return fates


def _count_read(sentences: BatchSentences, row: SubwordRow, kept: SubwordRow) -> dict[str, int]:
    """Count the subwords that were read, and those in sentences that are left out."""
    n_empty = int((row.sizes == 0).sum())
    return {
        "characters.outside_sentences": int(sentences.outside.sum()),
        "sentences.read": len(row.sizes),
        "sentences.without_subwords": n_empty,
        "sentences.short": len(row.sizes) - n_empty - len(kept.sizes),
        "subwords.read": len(row.ids),
        "subwords.in_short_sentences": len(row.ids) - len(kept.ids),
    }


def _count_split(sentences: SubwordRow, parts: SubwordRow, *, length: int) -> dict[str, int]:
    """Count split sentences, and cuts inside of words that are longer than an example."""
    cuts = np.setdiff1d(parts.bounds, sentences.bounds)
    return {
        "sentences.split": int((sentences.sizes > length).sum()),
        "words.cut": int((~parts.is_word_start[cuts]).sum()),
    }


def _count_made(examples: pa.RecordBatch, left_out: pa.RecordBatch, *, unk: int) -> dict[str, int]:
    """Count what is in the examples, and in those without an entity that are left out."""
    ids = np.asarray(examples.column("input_ids").flatten())
    entities = np.asarray(examples.column("entity_ids").flatten())
    origins = pc.value_counts(examples.column("entity_origins").flatten()).to_pylist()
    by_origin = {f"mentions.kept/{of['values']}": of["counts"] for of in origins}
    return {
        "examples": examples.num_rows,
        "examples.left_out": left_out.num_rows,
        "subwords": len(ids),
        "subwords.unknown": int((ids == unk).sum()),
        "subwords.left_out": len(left_out.column("input_ids").flatten()),
        "words": len(examples.column("word_starts").flatten()),
        "mentions.kept": len(entities),
        "mentions.unknown": int((entities == UNK).sum()),
        **by_origin,
    }
