"""A gazetteer: names with classes and levels, that are looked up as features of words.

The class of a name is a label, or ``entity`` where labels are not known. The features of a word
(``LookedUp``) say, for each of ``1 + len(THRESHOLDS)`` thresholds, whether a name of each class
begins there or goes on; the first threshold is the gazetteer's own, that scores best. Forms must
stand as they are written, upper and lower case too.

Shapes: F forms, L classes, W words, G = 2 L (1 + len(THRESHOLDS)) + 1 features.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
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
from corpora.hashing.tokens import Runs, hash_strings
from corpora.matching.sequences import LEVELS
from corpora.ner.columns import Indices, find_spans
from corpora.ner.gazetteer import Names
from corpora.system.parsing import parse_json
from modeling.data.masking import ranges
from modeling.data.name_lookup import (
    LookedUp,
    by_hash,
    find,
    names_of,
    parts_of,
    tag,
    tagged_columns,
    word_columns,
)
from modeling.data.tagset import TagSet

THRESHOLDS: Final = (0, 5, 10, 15, 20)
"""Levels, in twentieths, besides a gazetteer's own."""
FILE: Final = "gazetteer.arrow"
ENTITY: Final = "entity"
_SCHEMA: Final = pa.schema(
    [("form", pa.list_(pa.string())), ("label", pa.int32()), ("level", pa.int32())]
)


class Gazetteer:
    """Names, ready to be looked up; about 40 bytes a form, and its text.

    Args:
        forms: (F,) lists of words; of equal ones that with the highest level counts, or the first.
        labels: (F,) indices into ``classes``.
        levels: (F,) 0 to 20.
        classes: in the order of their ids.
        level: the threshold of its own.
        by_parts: whether words and forms are cut into runs of letters, and other characters one by
            one, before they are compared, so that it does not matter how the sentences were cut;
            a name still begins and ends with a word.
    """

    def __init__(
        self,
        forms: pa.ListArray,
        labels: Indices,
        levels: Indices,
        *,
        classes: tuple[str, ...],
        level: int = 0,
        by_parts: bool = False,
    ) -> None:
        self.forms, self.labels, self.levels = forms, labels, levels
        self.classes, self.level, self.by_parts = classes, level, by_parts

    @classmethod
    def learn(cls, sentences: Sequence[Sentence], tagset: TagSet, *, level: int = 0) -> Self:
        """Take the mentions of sentences, each with its most frequent label (ties: by name)."""
        columns = [tagged_columns(sentences, tagset)]
        names = names_of(columns, tagset)
        spans = find_spans(columns[0])
        hashes = Runs(hash_strings(columns[0].tokens)).hash(spans.starts, spans.ends)
        _, firsts = np.unique(hashes, return_index=True)
        starts, sizes = spans.starts[firsts], (spans.ends - spans.starts)[firsts]
        tokens = columns[0].tokens.take(pa.array(ranges(starts, sizes)))
        forms = pa.ListArray.from_arrays(
            pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32()), tokens
        )
        labels, levels = names.labels.astype(np.int64), names.levels.astype(np.int64)
        return cls(forms, labels, levels, classes=tagset.labels, level=level)

    @classmethod
    def from_file(cls, path: Path | str) -> Self:
        """Read lines ``form TAB label [TAB reliability]``, the last from 0 to 1 (none: 1).

        Raises ``CorpusError`` for what is no such line, or where there is none.
        """
        rows = list(_read_lines(Path(path)))
        if not rows:
            raise CorpusError(f"{path}: no names. Write a form, a tab and a label on each line.")
        classes = tuple(sorted({label for _, label, _ in rows}))
        ids = {label: id for id, label in enumerate(classes)}
        return cls(
            parts_of(pa.array([form for form, _, _ in rows], pa.string())),
            np.array([ids[label] for _, label, _ in rows], np.int64),
            np.array([_level(reliability) for _, _, reliability in rows], np.int64),
            classes=classes,
            by_parts=True,
        )

    @classmethod
    def from_entities(cls, path: Path | str) -> Self:
        """Take the aliases of an entity vocabulary, all of the class ``entity``.

        The reliability of a form is its link probability; of one whose link probability is not
        known, 0. Raises ``CorpusError`` where there is no vocabulary, or it has no aliases.
        """
        dataset = open_dataset(path, "entities")
        tables = [_read_aliases(dataset.path / shard.name) for shard in dataset.shards]
        table = pa.concat_tables(tables).group_by("form", use_threads=False)
        table = table.aggregate([("link_probability", "max")])
        if not len(table):
            raise CorpusError(f"{path}: no aliases. Make the vocabulary again, with aliases.")
        shares = pc.fill_null(table.column("link_probability_max"), 0.0).to_numpy()
        return cls(
            parts_of(table.column("form").combine_chunks()),
            np.zeros(len(table), np.int64),
            np.array([_level(share) for share in shares.tolist()], np.int64),
            classes=(ENTITY,),
            by_parts=True,
        )

    @property
    def n_forms(self) -> int:
        """F, equal ones included."""
        return len(self.forms)

    @property
    def n_features(self) -> int:
        """G."""
        return (1 + len(THRESHOLDS)) * 2 * len(self.classes) + 1

    @property
    def thresholds(self) -> tuple[int, ...]:
        """Its own, and those that all gazetteers have."""
        return (self.level, *THRESHOLDS)

    @cached_property
    def _names(self) -> Names:
        return by_hash(self.forms, self.labels, self.levels)

    def look_up(
        self, words: Sequence[Sequence[str]], *, thresholds: Sequence[int] | None = None
    ) -> LookedUp:
        """Find names in the words of each sentence; at its own thresholds, unless others are given.

        Many sentences at once are faster.
        """
        columns = word_columns(words)
        matches = find(self._names, columns, by_parts=self.by_parts)
        thresholds = self.thresholds if thresholds is None else thresholds
        tags = tag(self._names, matches, len(columns.tokens), thresholds=thresholds)
        return LookedUp(tags, 1 + 2 * len(self.classes))

    def features(self, words: Sequence[str]) -> NDArray[np.float32]:
        """(W, G) of the words of one sentence; ``look_up`` is faster for many."""
        return self.look_up([words]).rows(np.arange(len(words)))

    def at_level(self, level: int) -> "Gazetteer":
        """The same with another threshold of its own."""
        return Gazetteer(
            self.forms,
            self.labels,
            self.levels,
            classes=self.classes,
            level=level,
            by_parts=self.by_parts,
        )

    def save(self, folder: Path | str) -> None:
        """Write all that is needed to look names up elsewhere: one file."""
        settings = {"classes": self.classes, "level": self.level, "by_parts": self.by_parts}
        schema = _SCHEMA.with_metadata({"gazetteer": json.dumps(settings)})
        columns = [self.forms, pa.array(self.labels), pa.array(self.levels)]
        table = pa.Table.from_arrays(columns, names=_SCHEMA.names).cast(schema)
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        Path(folder).mkdir(parents=True, exist_ok=True)
        with pa.ipc.new_file(str(Path(folder) / FILE), schema, options=options) as writer:
            writer.write_table(table)

    @classmethod
    def load(cls, folder: Path | str) -> Self:
        """Read what ``save`` wrote; raises ``CorpusError`` where it is missing or damaged."""
        path = Path(folder) / FILE
        try:
            with pa.ipc.open_file(str(path)) as reader:
                table = reader.read_all().combine_chunks()
            table.validate(full=True)
            settings = parse_json(table.schema.metadata[b"gazetteer"])
            forms, labels, levels = (table.column(n).combine_chunks() for n in _SCHEMA.names)
            settings["classes"] = tuple(settings["classes"])
            numbers = (np.asarray(column).astype(np.int64) for column in (labels, levels))
            return cls(forms, *numbers, **settings)
        except (pa.ArrowException, OSError, ValueError, KeyError, TypeError) as error:
            raise CorpusError(
                f"{path}: no gazetteer that can be read ({error}). Copy it again from where the "
                "tagger was made."
            ) from error


def _read_lines(path: Path) -> Iterator[tuple[str, str, float]]:
    """Form, label and reliability of each line that is not empty."""
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: no list of names that can be read ({error}).") from error
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
    """Form and link probability of all aliases of a shard, but those of retired entities."""
    columns = ("aliases", "retired")
    schema = pa.schema([SCHEMAS["entities"].columns.field(name) for name in columns])
    batches = read_batches(path, SCHEMAS["entities"], columns=columns)
    table = pa.Table.from_batches(batches, schema=schema)
    aliases = table.filter(pc.invert(table.column("retired"))).column("aliases")
    fields = aliases.combine_chunks().flatten()
    names = ("form", "link_probability")
    return pa.table([fields.field(name) for name in names], names=names)


def _level(reliability: float) -> int:
    """In twentieths, rounded down; a hair is no step: 0.15 are 3."""
    return int(LEVELS * reliability + 1e-6)
