"""Gazetteers: lists of names that are looked up in sentences; matches become features of words.

The class of a name is a label, or ``entity`` if labels are not known. The *level* of a name is the
fraction of its occurrences that are mentions, in twentieths, rounded down
(``corpora.ner.gazetteer``). At a threshold, only names with at least this level are found; of
overlapping names the leftmost, and of those that begin there the longest. The features of a word
(``LookedUp``) say, for each of ``1 + len(THRESHOLDS)`` thresholds, whether a name of each class
begins or continues at the word; the first threshold is the gazetteer's own, the one that scores
best. Lookup is exact and case-sensitive.

Shapes: F forms, L classes, N sentences, W words, C tags (``TagSet``), V thresholds, Q subwords,
G = 2 L (1 + len(THRESHOLDS)) + 1 features.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import open_dataset, read_batches
from corpora.document import Sentence
from corpora.errors import CorpusError
from corpora.hashing.sampling import ratio
from corpora.hashing.tokens import Runs, hash_strings
from corpora.matching.arrays import first_disjoint
from corpora.matching.composition import composed
from corpora.ner.columns import Indices, SentenceColumns, begins_of
from corpora.ner.gazetteer import LEVELS, Lookup, Matches, TrainForms, learn
from corpora.ner.schemes import find_spans
from corpora.ner.tally import Labels, tally
from corpora.system.parsing import parse_json
from modeling.data.batch import borders_of, ranges, starts_of
from modeling.data.sentences import document_numbers, word_counts
from modeling.data.tagset import TagSet, gold_spans

TagCodes = NDArray[np.int16]

THRESHOLDS: Final = (0, 5, 10, 15, 20)
"""The thresholds of all gazetteers, in twentieths, in addition to a gazetteer's own."""
FILE: Final = "gazetteer.arrow"
ENTITY: Final = "entity"
SCALE: Final = 20.0
"""The value of a feature that is on. AdamW moves every weight of a head by about the learning rate
in a step, and a word's state has hundreds of numbers: with the learning rates of fine-tuning, 5e-5,
the weights of a few features with the value 1 would grow too slowly to matter."""
_ALL: Final = tuple(range(LEVELS + 1))
_SCHEMA: Final = pa.schema(
    [("form", pa.list_(pa.string())), ("label", pa.int32()), ("level", pa.int32())]
)
_HAN: Final = "\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003fffd"
_PARTS: Final = re.compile(rf"[{_HAN}]|(?:(?![{_HAN}])\w)+|[^\w\s]")


@dataclass(frozen=True, slots=True, eq=False)
class LookedUp:
    """The names found in some sentences, word by word, one sentence after the other.

    A word has a feature for each threshold and each tag but O, which is ``SCALE`` if the word has
    that tag, else 0. The last feature is ``SCALE`` if the word has no tag at any threshold.
    """

    tags: TagCodes
    """(W, V) the tag of each word at each threshold; the gazetteer's own threshold comes first."""
    n_tags: int
    """C, the number of tags."""

    def __len__(self) -> int:
        return len(self.tags)

    @property
    def n_features(self) -> int:
        """G, the number of features of a word."""
        n_thresholds: int = self.tags.shape[1]
        return n_thresholds * (self.n_tags - 1) + 1

    def rows(self, words: Indices) -> NDArray[np.float32]:
        """Compute the features of some words, shape (n, G)."""
        tags = self.tags[words].astype(np.int64)
        features = np.zeros((len(tags), self.n_features), np.float32)
        rows, thresholds = np.nonzero(tags)
        features[rows, thresholds * (self.n_tags - 1) + tags[rows, thresholds] - 1] = SCALE
        features[~tags.any(axis=1), -1] = SCALE
        return features


@dataclass(frozen=True, eq=False)
class Gazetteer:
    """Names that can be looked up; about 40 bytes a form, in addition to the text of the form."""

    forms: pa.ListArray
    """(F,) lists of words; of equal forms, the first of those with the highest level is used."""
    labels: Indices
    """(F,) indices into ``classes``."""
    levels: Indices
    """(F,) from 0 to 20."""
    classes: tuple[str, ...]
    """The classes in the order of their ids."""
    level: int = 0
    """The gazetteer's own threshold."""
    by_parts: bool = False
    """Whether words and forms are compared by parts (runs of letters and digits; other characters
    one by one), so that matches do not depend on the tokenization of the sentences. A match still
    begins and ends at the borders of words."""

    @classmethod
    def learn(cls, sentences: Sequence[Sentence], tagset: TagSet, *, level: int = 0) -> Self:
        """Collect the mentions of sentences, each form with its most frequent label.

        Between equally frequent labels, the first in the alphabet counts.
        """
        columns = _columns(sentences, tagset)
        names = _names_of([columns], tagset)
        spans = find_spans(columns)
        hashes = Runs(hash_strings(columns.tokens)).hash(spans.starts, spans.ends)
        _, firsts = np.unique(hashes, return_index=True)
        starts, sizes = spans.starts[firsts], (spans.ends - spans.starts)[firsts]
        tokens = columns.tokens.take(pa.array(ranges(starts, sizes)))
        begins = pa.array(borders_of(sizes), pa.int32())
        forms = pa.ListArray.from_arrays(begins, tokens)
        labels, levels = names.labels.astype(np.int64), names.levels.astype(np.int64)
        return cls(forms, labels, levels, tagset.labels, level)

    @classmethod
    def from_file(cls, path: Path | str) -> Self:
        """Read lines ``form TAB label [TAB reliability]``, the last from 0 to 1 (none: 1).

        Raises ``CorpusError`` for other lines, or a file without names.
        """
        rows = list(_read_lines(Path(path)))
        if not rows:
            raise CorpusError(f"{path}: no names. Write a form, a tab and a label on each line.")
        forms, labels, reliabilities = zip(*rows, strict=True)
        classes = tuple(sorted(set(labels)))
        numbers = np.array([classes.index(label) for label in labels], np.int64)
        parts = parts_of(pa.array(forms, pa.string()))
        return cls(parts, numbers, _levels(reliabilities), classes, by_parts=True)

    @classmethod
    def from_entities(cls, path: Path | str) -> Self:
        """Collect the aliases of an entity vocabulary, all of the class ``entity``.

        The reliability of a form is its link probability, or 0 where that is not known. Raises
        ``CorpusError`` where there is no vocabulary, or it has no aliases.
        """
        dataset = open_dataset(path, "entities")
        tables = [_read_aliases(dataset.path / shard.name) for shard in dataset.shards]
        table = pa.concat_tables(tables).group_by("form", use_threads=False)
        table = table.aggregate([("link_probability", "max")])
        if not len(table):
            raise CorpusError(f"{path}: no aliases. Make the vocabulary again, with aliases.")
        levels = _levels(pc.fill_null(table.column("link_probability_max"), 0.0).to_pylist())
        parts = parts_of(table.column("form").combine_chunks())
        return cls(parts, np.zeros(len(table), np.int64), levels, (ENTITY,), by_parts=True)

    @property
    def n_features(self) -> int:
        """G, the number of features of a word."""
        return (1 + len(THRESHOLDS)) * 2 * len(self.classes) + 1

    @property
    def thresholds(self) -> tuple[int, ...]:
        """The gazetteer's own threshold, and then ``THRESHOLDS``."""
        return (self.level, *THRESHOLDS)

    @cached_property
    def _names(self) -> TrainForms:
        return index_forms(self.forms, self.labels, self.levels)

    def look_up(
        self, words: Sequence[Sequence[str]], *, thresholds: Sequence[int] | None = None
    ) -> LookedUp:
        """Find names in the words of each sentence, at ``thresholds``; None: at the gazetteer's.

        Many sentences at once are faster.
        """
        columns = word_columns(words)
        matches = find_names(self._names, columns, by_parts=self.by_parts)
        thresholds = self.thresholds if thresholds is None else thresholds
        tags = _tag(self._names, matches, len(columns.tokens), thresholds=thresholds)
        return LookedUp(tags, 1 + 2 * len(self.classes))

    def at_level(self, level: int) -> Self:
        """Return the same gazetteer with another threshold of its own."""
        return replace(self, level=level)

    def save(self, folder: Path | str) -> None:
        """Write all that is needed to look names up elsewhere: one file."""
        settings = {"classes": self.classes, "level": self.level, "by_parts": self.by_parts}
        columns = [self.forms, pa.array(self.labels), pa.array(self.levels)]
        schema = _SCHEMA.with_metadata({"gazetteer": json.dumps(settings)})
        table = pa.Table.from_arrays(columns, names=_SCHEMA.names).cast(schema)
        write_table(Path(folder) / FILE, table)

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Read what ``save`` wrote; raises ``CorpusError`` where it is missing or damaged."""
        path = Path(folder) / FILE
        try:
            table = read_table(path)
            settings = parse_json(table.schema.metadata[b"gazetteer"])
            settings["classes"] = tuple(settings["classes"])
            forms, *columns = (table.column(name).combine_chunks() for name in _SCHEMA.names)
            labels, levels = (np.asarray(column).astype(np.int64) for column in columns)
            return cls(forms, labels, levels, **settings)
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            raise CorpusError(
                f"{path}: no gazetteer that can be read ({error}). Copy it again from where the "
                "tagger was made."
            ) from error


def write_table(path: Path, table: pa.Table) -> None:
    """Write a table to a compressed Arrow file, in a folder that is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_file(str(path), table.schema, options=options) as writer:
        writer.write_table(table)


def read_table(path: Path) -> pa.Table:
    """Read what ``write_table`` wrote; raises ``pa.ArrowException`` or ``OSError``."""
    with pa.ipc.open_file(str(path)) as reader:
        table = reader.read_all().combine_chunks()
    table.validate(full=True)
    return table


def _read_lines(path: Path) -> Iterator[tuple[str, str, float]]:
    """Yield form, label and reliability of each line that is not empty.

    Raises ``CorpusError`` for a line that is not as ``from_file`` says, or an unreadable file.
    """
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise CorpusError(
            f"{path}: no list of names that can be read ({why}). Name a file with a form, a tab "
            "and a label on each line, or the folder of an entity vocabulary."
        ) from error
    for number, line in enumerate(lines, start=1):
        fields = [field.strip() for field in line.split("\t")]
        if not any(fields):
            continue
        if not (2 <= len(fields) <= 3 and fields[0] and fields[1]):
            raise CorpusError(
                f"{path}:{number}: {line[:80]!r} is no name. Write form, label, and if it is known "
                "reliability (0 to 1), with tabs between."
            )
        yield fields[0], fields[1], _reliability(*fields[2:], where=f"{path}:{number}")


def _reliability(text: str = "", *, where: str) -> float:
    try:
        value = float(text) if text else 1.0
        if 0 <= value <= 1:
            return value
    except ValueError:
        pass
    raise CorpusError(f"{where}: the reliability {text!r} is not a number between 0 and 1.")


def _read_aliases(path: Path) -> pa.Table:
    """Read form and link probability of the aliases of a shard, except of retired entities."""
    columns = ("aliases", "retired")
    schema = pa.schema([SCHEMAS["entities"].columns.field(name) for name in columns])
    batches = read_batches(path, SCHEMAS["entities"], columns=columns)
    table = pa.Table.from_batches(batches, schema=schema)
    aliases = table.filter(pc.invert(table.column("retired"))).column("aliases")
    fields = aliases.combine_chunks().flatten()
    names = ("form", "link_probability")
    return pa.table([fields.field(name) for name in names], names=names)


def _levels(reliabilities: Iterable[float]) -> Indices:
    """Convert reliabilities to twentieths, rounded down.

    A tolerance of 1e-6 twentieths keeps floats from losing a step: 0.15 gives 3.
    """
    return np.array([int(LEVELS * value + 1e-6) for value in reliabilities], np.int64)


def _tag(
    names: TrainForms, matches: Matches, n_words: int, *, thresholds: Sequence[int]
) -> TagCodes:
    """Tag words with the names that are found at each threshold, shape (W, V)."""
    tags = np.zeros((n_words, len(thresholds)), np.int16)
    levels = names.levels[matches.forms]
    for column, threshold in enumerate(thresholds):
        used = np.flatnonzero(levels >= threshold)
        kept = used[first_disjoint(matches.starts[used], matches.ends[used])]
        begins = 1 + 2 * names.labels[matches.forms[kept]]
        starts, sizes = matches.starts[kept], matches.ends[kept] - matches.starts[kept]
        tags[ranges(starts, sizes), column] = np.repeat(begins + 1, sizes)
        tags[starts, column] = begins
    return tags


def index_forms(forms: pa.ListArray, labels: Indices, levels: Indices) -> TrainForms:
    """Index forms (F,), lists of words, by their hashes.

    Between equal forms, that of the highest level counts, or the first. Empty forms are left out.
    """
    begins = begins_of(forms)
    tokens = Runs(hash_strings(forms.flatten()))
    starts, ends = begins[:-1], begins[1:]
    order = np.argsort(-levels, kind="stable")
    kept = order[ends[order] > starts[order]]
    hashes, firsts = np.unique(tokens.hash(starts[kept], ends[kept]), return_index=True)
    kept = kept[firsts]
    starts, ends = starts[kept], ends[kept]
    heads = tokens.hash(starts, np.minimum(starts + 2, ends))
    lookup = Lookup(hashes, heads, (ends - starts).astype(np.int32))
    return TrainForms(lookup, labels[kept].astype(np.int32), levels[kept].astype(np.int32))


def find_names(names: TrainForms, sentences: SentenceColumns, *, by_parts: bool) -> Matches:
    """Find every occurrence of every name, ordered by start, the longer first.

    ``by_parts``: forms are parts of words (``parts_of``); a name begins and ends with a word.
    """
    if not by_parts:
        return names.lookup.find(sentences)
    words = sentences.tokens.dictionary_encode()
    parts = parts_of(words.dictionary).take(words.indices)
    begins = begins_of(parts)
    columns = SentenceColumns(parts.flatten(), begins[sentences.begins], sentences.tag_strings)
    matches = names.lookup.find(columns)
    starts = np.searchsorted(begins, matches.starts, side="right") - 1
    ends = np.searchsorted(begins, matches.ends, side="left")
    whole = (begins[starts] == matches.starts) & (begins[ends] == matches.ends)
    return Matches(starts[whole], ends[whole], matches.forms[whole])


def parts_of(texts: pa.StringArray) -> pa.ListArray:
    """Split texts into parts: runs of letters and digits, and all other characters one by one.

    Each Han or Kana character is a part, too. Whitespace is in no part. The parts do not depend on
    how a text is cut into words, or on how its letters are composed.
    """
    parts = [_PARTS.findall(composed(text)) for text in texts.to_pylist()]
    return pa.array(parts, pa.list_(pa.string()))


def word_columns(words: Sequence[Sequence[str]]) -> SentenceColumns:
    """Convert the words of sentences to columns, without tags."""
    lengths = np.fromiter(map(len, words), np.int64, len(words))
    tokens = pa.array(list(chain.from_iterable(words)), pa.string())
    return SentenceColumns(tokens, borders_of(lengths), pa.nulls(len(tokens), pa.string()))


def _columns(sentences: Sequence[Sentence], tagset: TagSet) -> SentenceColumns:
    """Convert sentences to columns, with the tags of the tag set; other tags become O."""
    columns = word_columns([sentence.tokens for sentence in sentences])
    tags = pa.array(tagset.tags, pa.string()).take(pa.array(tagset.encode_all(sentences)))
    return replace(columns, tag_strings=tags)


def _names_of(train: Sequence[SentenceColumns], tagset: TagSet) -> TrainForms:
    """Collect the mentions of tagged sentences as names; labels have the ids of the tag set."""
    labels = Labels()
    labels.number(tagset.labels)
    return learn(tally(train, labels).forms.table(), train, labels)


def learn_gazetteer(
    sentences: Sequence[Sentence], tagset: TagSet, *, folds: int = 10
) -> tuple[Gazetteer, LookedUp]:
    """Learn a gazetteer from a training set; also look up names in the set itself, cross-fitted.

    The gazetteer's own threshold is the one with which the cross-fitted names score best.
    """
    found = cross_fitted(sentences, tagset, folds=folds, thresholds=_ALL)
    level = best_threshold(found, tagset.encode_all(sentences))
    gazetteer = Gazetteer.learn(sentences, tagset, level=level)
    return gazetteer, LookedUp(found.tags[:, gazetteer.thresholds], found.n_tags)


def with_best_level(
    gazetteer: Gazetteer, sentences: Sequence[Sentence], tagset: TagSet
) -> Gazetteer:
    """Return a gazetteer with the threshold that scores best on some sentences.

    The gazetteer must not have been learned from these sentences. If it has classes that are no
    labels of the tag set, only the borders of names are scored.
    """
    found = gazetteer.look_up([sentence.tokens for sentence in sentences], thresholds=_ALL)
    is_labelled = set(gazetteer.classes) <= set(tagset.labels)
    if is_labelled:
        begins = [1 + 2 * tagset.labels.index(label) for label in gazetteer.classes]
        codes = [0, *(code for begin in begins for code in (begin, begin + 1))]
        found = LookedUp(np.array(codes, np.int16)[found.tags], len(tagset))
    level = best_threshold(found, tagset.encode_all(sentences), with_labels=is_labelled)
    return gazetteer.at_level(level)


def cross_fitted(
    sentences: Sequence[Sentence],
    tagset: TagSet,
    *,
    folds: int = 10,
    thresholds: Sequence[int] = (0, *THRESHOLDS),
) -> LookedUp:
    """Find in each sentence the names that were learned from the other folds.

    Names of a sentence's own document would all be found, and a model would learn to trust the
    gazetteer more than it may later.
    """
    of = folds_of(sentences, folds)
    lengths = word_counts(sentences)
    begins = starts_of(lengths)
    members = [np.flatnonzero(of == fold) for fold in range(int(of.max(initial=-1)) + 1)]
    columns = [_columns([sentences[n] for n in own.tolist()], tagset) for own in members]
    tags = np.zeros((int(lengths.sum()), len(thresholds)), np.int16)
    for fold, own in enumerate(members):
        names = _names_of(columns[:fold] + columns[fold + 1 :], tagset)
        matches = find_names(names, columns[fold], by_parts=False)
        found = _tag(names, matches, len(columns[fold].tokens), thresholds=thresholds)
        tags[ranges(begins[own], lengths[own])] = found
    return LookedUp(tags, len(tagset))


def folds_of(sentences: Sequence[Sentence], folds: int) -> Indices:
    """Assign a fold to each sentence, shape (N,): that of its document, or of its block.

    Documents are dealt to the folds in the order of their hashes. If there is only one document,
    its sentences are cut into as many blocks as there are folds: a name is likely to come again in
    the next sentences, as it would not in another document.
    """
    documents = document_numbers(sentences)
    if documents.max(initial=0) == 0:
        return np.arange(len(sentences)) * folds // max(len(sentences), 1)
    _, firsts = np.unique(documents, return_index=True)
    ratios = [ratio(sentences[number].document_id) for number in firsts.tolist()]
    ranks = np.argsort(np.argsort(ratios, kind="stable"), kind="stable")
    return (ranks % folds)[documents]


def best_threshold(found: LookedUp, gold: Indices, *, with_labels: bool = True) -> int:
    """Find the column of tags with the best strict F1 (ties: the first).

    Args:
        found: columns are thresholds.
        gold: (W,) tags.
        with_labels: whether labels must be right, too; found and gold labels have the same ids.
    """
    n_tags = found.n_tags if with_labels else 1

    def keys(tags: Indices) -> Indices:
        """Compute a key of each span: of its first and last word, and its label if that counts."""
        firsts, lasts = gold_spans(tags)
        borders: Indices = firsts * (len(tags) + 1) + lasts - firsts
        return borders * n_tags + tags[firsts] % n_tags

    gold_keys, scores = keys(gold), []
    for column in found.tags.T.astype(np.int64):
        own = keys(column)
        correct = len(np.intersect1d(own, gold_keys, assume_unique=True))
        scores.append(2 * correct / max(len(own) + len(gold_keys), 1))
    return int(np.argmax(scores))
