"""A dictionary of surface forms: what each form means, whether it is worth matching, and matching.

*Prior*: of the mentions with a form, the share that mean an entity. *Link probability*: of all
places where a form stands, the share that are mentions. A mention that the dictionary adds has the
score prior × link probability: how likely a text as those that were counted would link this form
to this entity; where no link probability is known, the prior; else none.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import Mentions, mention_array, with_field, with_mentions
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.document import Origin
from corpora.errors import CorpusError
from corpora.matching.surface_forms import Overlap, Right, SurfaceMatcher, fold

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.int64]

CHOSEN = SCHEMAS["chosen_forms"].columns
MEANINGS = pa.schema(
    [
        pa.field("form", pa.string(), nullable=False),
        ("entity", pa.string()),
        pa.field("count", pa.float64(), nullable=False),
        ("prior", pa.float64()),
        ("link_probability", pa.float64()),
    ]
)
"""A form and one entity that it may mean; ``count`` is a weight, of the same kind in all rows."""
_ROWS = 1 << 16  # of names that are taken at once
_KEPT = 4
"""Dictionaries of groups; the documents of a group stand together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """Thresholds of a form; what is unknown does not reach them."""

    min_link_probability: float
    min_prior: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """How forms are matched."""

    lang: str | None
    """Whose rules for words and case apply."""
    right: Right = "word"
    ignore_case: bool = True
    overlap: Overlap = "leftmost_longest"


def read_meanings(vocab: Iterable[Path]) -> pa.Table:
    """Read the aliases of shards of an ``entities`` dataset; retired entities are left out."""
    tables = [MEANINGS.empty_table()]
    columns = ("entity", "aliases", "retired")
    for path in vocab:
        for batch in read_batches(path, SCHEMAS["entities"], columns=columns):
            live = batch.filter(pc.invert(batch.column("retired")))
            aliases = live.column("aliases")
            entities = live.column("entity").take(pc.list_parent_indices(aliases))
            fields = [aliases.flatten().field(name) for name in MEANINGS.names if name != "entity"]
            fields.insert(1, entities)
            tables.append(pa.table(fields, names=MEANINGS.names).cast(MEANINGS))
    return pa.concat_tables(tables)


def read_meanings_file(path: Path) -> pa.Table:
    """Read lines ``form TAB entity [TAB prior [TAB link probability]]``; raises ``CorpusError``.

    An empty entity is none, an empty number is unknown; a line without a form is left out.
    """
    rows = []
    with path.open(encoding="utf-8") as file:
        try:
            for number, line in enumerate(file, start=1):
                fields = [field.strip() for field in line.rstrip("\n").split("\t")]
                if fields[0]:
                    rows.append(_meaning(fields, where=f"{path}:{number}"))
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path}: not UTF-8 ({error}). Convert it.") from error
    return pa.Table.from_pylist(rows, schema=MEANINGS)


def _meaning(fields: Sequence[str], *, where: str) -> dict[str, str | float | None]:
    if not 2 <= len(fields) <= 4:
        raise CorpusError(
            f"{where}: {len(fields)} fields. Write form, entity, and if they are known prior and "
            "link probability, with tabs between."
        )
    prior, probability = (_share(text, where=where) for text in (*fields[2:], "", "")[:2])
    return {
        "form": fields[0],
        "entity": fields[1] or None,
        "count": prior or 0.0,
        "prior": prior,
        "link_probability": probability,
    }


def _share(text: str, *, where: str) -> float | None:
    try:
        value = float(text) if text else None
        if value is None or 0 <= value <= 1:
            return value
    except ValueError:
        pass
    raise CorpusError(f"{where}: {text!r} is not a number between 0 and 1.")


def choose_forms(
    meanings: pa.Table, *, gate: Gate | None, ignore_case: bool, lang: str | None
) -> tuple[pa.Table, dict[str, int]]:
    """Choose the entity of each form, and the forms that pass the gate: (chosen, counters).

    A form means the entity with the highest prior, of equals the first by name. With
    ``ignore_case``, spellings that differ in nothing else are one form: their mentions, and the
    places where they stand, are added up.
    """
    forms = meanings.column("form").dictionary_encode().combine_chunks()
    spelled = [str(form) for form in forms.dictionary.to_pylist()]
    keys = pa.array([fold(form, lang=lang) for form in spelled] if ignore_case else spelled)
    keys = pa.array(keys, pa.string()).dictionary_encode()
    key_of_form = np.asarray(keys.indices).astype(np.int64)  # is multiplied in ``_best``
    linked, places = _totals(meanings, np.asarray(forms.indices), n_forms=len(spelled))
    linked, places = (
        _sums(column, key_of_form, len(keys.dictionary)) for column in (linked, places)
    )
    key_of_row = key_of_form[np.asarray(forms.indices)]
    names, best, counts = _best(meanings, key_of_row, n_keys=len(keys.dictionary))
    # As exact as what they were made from, so that what equals a threshold passes.
    prior, probability = (counts / linked).astype(np.float32), (linked / places).astype(np.float32)
    score = np.where(np.isnan(probability), prior, prior * probability)
    passes = np.ones(len(prior), np.bool_)
    if gate:
        passes = probability >= np.float32(gate.min_link_probability)
        passes &= prior >= np.float32(gate.min_prior)
    kept = np.flatnonzero(passes)
    columns = [
        keys.dictionary.take(pa.array(kept)),
        _take(names, best[kept]),
        pa.array(np.minimum(score[kept], 1), from_pandas=True),
    ]
    chosen = pa.table(columns, schema=CHOSEN)
    return chosen, {"forms.kept": len(kept), "forms.gated_out": len(passes) - len(kept)}


def link_probabilities(meanings: pa.Table, *, lang: str | None) -> tuple[pa.StringArray, Floats]:
    """All forms, folded, and how often each is linked where it stands; NaN where unknown."""
    forms = meanings.column("form").dictionary_encode().combine_chunks()
    spelled = [str(form) for form in forms.dictionary.to_pylist()]
    keys = pa.array([fold(form, lang=lang) for form in spelled], pa.string()).dictionary_encode()
    numbers = np.asarray(keys.indices).astype(np.int64)
    totals = _totals(meanings, np.asarray(forms.indices), n_forms=len(spelled))
    linked, places = (_sums(column, numbers, len(keys.dictionary)) for column in totals)
    return keys.dictionary, (linked / places).astype(np.float32)


def _take(names: pa.StringArray, rows: Indices) -> pa.ChunkedArray:
    """Take some names; beyond 2 GiB, a single array would be wrong without an error."""
    parts = [rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS)]
    return pa.chunked_array([names.take(pa.array(part)) for part in parts], pa.string())


def _totals(meanings: pa.Table, form_of_row: Indices, *, n_forms: int) -> tuple[Floats, Floats]:
    """How often each form is linked, and how often it stands at all; NaN where that is unknown.

    Both follow from any of its rows: its count is ``prior`` of the former.
    """
    prior, probability, count = (
        meanings.column(name).to_numpy() for name in ("prior", "link_probability", "count")
    )
    linked, places = np.full(n_forms, np.nan), np.full(n_forms, np.nan)
    with np.errstate(divide="ignore", invalid="ignore"):
        all_of_form = np.rint(count / prior)
        np.fmax.at(linked, form_of_row, all_of_form)
        np.fmax.at(places, form_of_row, all_of_form / probability)
    return linked, places


def _best(
    meanings: pa.Table, key_of_row: Indices, *, n_keys: int
) -> tuple[pa.StringArray, Indices, Floats]:
    """All names; for each key that of the entity that is meant most, and how often it is."""
    # All rows together may hold more than the 2 GiB that an array can; distinct names do not.
    entities = meanings.column("entity").dictionary_encode().combine_chunks()
    names = pa.concat_arrays([entities.dictionary, pa.nulls(1, pa.string())])
    numbers = np.asarray(entities.indices.fill_null(len(names) - 1)).astype(np.int64)
    pairs, pair_of_row = np.unique(key_of_row * len(names) + numbers, return_inverse=True)
    counts = _sums(meanings.column("count").to_numpy(), pair_of_row, len(pairs))
    keys, numbers = np.divmod(pairs, len(names))
    ranks = np.empty(len(names), np.int64)
    ranks[np.asarray(pc.sort_indices(names))] = np.arange(len(names))
    order = np.lexsort((ranks[numbers], -counts, keys))
    first = order[np.searchsorted(keys[order], np.arange(n_keys))]
    return names, numbers[first], counts[first]


def _sums(values: Floats, group_of: Indices, n_groups: int) -> Floats:
    return np.bincount(group_of, weights=values, minlength=n_groups).astype(np.float64)


class FormDictionary:
    """Chosen forms, ready to be matched: 100,000 take 30 MB, with their entities."""

    def __init__(
        self,
        chosen: pa.Table,
        *,
        lang: str | None,
        ignore_case: bool,
        right: Right,
        overlap: Overlap = "leftmost_longest",
    ) -> None:
        chosen = chosen.combine_chunks()
        self._entities = chosen.column("entity").combine_chunks()
        self._scores = chosen.column("score").combine_chunks()
        forms = chosen.column("form").to_pylist()
        self._matcher = SurfaceMatcher(
            forms, lang=lang, ignore_case=ignore_case, right=right, overlap=overlap
        )

    def add_to(self, batch: pa.RecordBatch, *, origin: Origin) -> tuple[pa.RecordBatch, int]:
        """Match the texts of a batch of documents: the batch with more mentions, and how many.

        Mentions that are there win: nothing that overlaps them is added.
        """
        texts = batch.column("text").to_pylist()
        # All at once, with newlines between, which no match spans.
        lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
        begins = np.cumsum(lengths) - lengths
        mentions = Mentions.of(batch)
        shifts = np.repeat(begins, np.diff(mentions.ends))
        starts, ends, forms = self._matcher.find_arrays(
            "\n".join(texts), mentions.numbers("start") + shifts, mentions.numbers("end") + shifts
        )
        if not len(forms):
            return batch, 0
        documents = np.searchsorted(begins, starts, side="right") - 1
        added = mention_array(
            (starts - begins[documents]).astype(np.int32),
            (ends - begins[documents]).astype(np.int32),
            self._entities.take(pa.array(forms)),
            origins=[origin] * len(forms),
        )
        added = with_field(added, "score", self._scores.take(pa.array(forms)))
        merged = mentions.merged(documents.astype(np.int32), added)
        return with_mentions(batch, merged), len(forms)


class FormsByGroup:
    """Chosen forms that are ready for documents: those of a document's group, or all.

    A dictionary is made when it is asked for; the last few are kept.
    """

    def __init__(
        self,
        chosen: pa.Table,
        bounds: Mapping[str, tuple[int, int]],
        *,
        matching: Matching,
        column: str | None,
    ) -> None:
        """``bounds``: the rows of each group; ``column`` of a document names it; None: all rows."""
        self._chosen, self._bounds, self._matching, self._column = chosen, bounds, matching, column
        self._dictionary = lru_cache(maxsize=_KEPT)(self._make)

    @classmethod
    def open(cls, chosen: Path, groups: Path, *, matching: Matching, column: str | None) -> Self:
        """Read shards of ``chosen_forms`` and ``chosen_groups``."""
        batches = read_batches(chosen, SCHEMAS["chosen_forms"])
        rows = [
            row
            for batch in read_batches(groups, SCHEMAS["chosen_groups"])
            for row in batch.to_pylist()
        ]
        spans = pairwise([0, *(row["end"] for row in rows)])
        bounds = {row["group"]: span for row, span in zip(rows, spans, strict=True)}
        table = pa.Table.from_batches(batches, schema=CHOSEN)
        return cls(table, bounds, matching=matching, column=column)

    def dictionaries_for(
        self, batch: pa.RecordBatch
    ) -> Iterator[tuple[FormDictionary, pa.RecordBatch]]:
        """Cut a batch of documents where the group changes, each part with its dictionary."""
        if self._column is None:
            yield self._dictionary(None), batch
            return
        runs = pc.run_end_encode(batch.column(self._column))
        begin = 0
        for group, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield self._dictionary(group), batch.slice(begin, end - begin)
            begin = end

    def _make(self, group: str | None) -> FormDictionary:
        chosen = self._chosen
        if group is not None:
            begin, end = self._bounds.get(group, (0, 0))
            chosen = chosen.slice(begin, end - begin)
        of = self._matching
        return FormDictionary(
            chosen, lang=of.lang, ignore_case=of.ignore_case, right=of.right, overlap=of.overlap
        )
