"""A dictionary of surface forms: what each form means, whether it is worth matching, and matching.

*Prior*: of the mentions with a form, the fraction that means an entity. *Link probability*: of all
places where a form stands, the fraction that are mentions. A mention that the dictionary adds has,
unless a gate judges it, the score prior × link probability: the probability that a text like those
that were counted links this form to this entity. If the link probability is unknown, the score is
the prior; if that is unknown too, there is no score.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import MentionColumn, mention_array, with_field, with_mentions
from corpora.datasets.entity_names import entities_in
from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches, read_shards
from corpora.document import Origin
from corpora.errors import CorpusError
from corpora.evidence.places import Floats
from corpora.hashing.strings import long_hashes
from corpora.matching.arrays import Numbers, run_begins
from corpora.matching.composition import composed, find_composed
from corpora.matching.form_table import FormTable, build_form_table
from corpora.matching.surface_forms import Right, fold
from corpora.matching.variants import as_one

CHOSEN = SCHEMAS["chosen_forms"].columns
COUNTS = SCHEMAS["form_counts"].columns
BLOCKS = ""
"""In place of the entity of a form that is no mention, and keeps others from being any."""
MEANINGS = pa.schema(
    [
        pa.field("form", pa.string(), nullable=False),
        ("entity", pa.string()),
        pa.field("count", pa.float64(), nullable=False),
        ("prior", pa.float64()),
        ("link_probability", pa.float64()),
    ]
)
"""The columns of a form and one entity that it may mean; ``count`` is a weight, of the same kind in
all rows."""
MENTIONS_OF_LINES = 1000.0
"""The number of mentions that the ratios of a line stand for."""
_ROWS = 1 << 16  # rows handled at once
_PART_ROWS = 1 << 20  # rows of a part; choosing forms takes 200 bytes a row


@dataclass(frozen=True, slots=True, kw_only=True)
class Matching:
    """The settings of the matching of forms."""

    lang: str | None
    """The language whose rules for words and case apply; None: unknown."""
    right: Right = "word"
    ignore_case: bool = True
    are_variants_same: bool = False
    """Whether both Chinese scripts, all widths and the dots of names are the same."""

    def comparable(self, forms: pa.StringArray) -> list[str]:
        """Return forms as they are in the table, and texts where they are matched."""
        found = comparable(forms, ignore_case=self.ignore_case, lang=self.lang).to_pylist()
        return [self.text(form) for form in found]

    def text(self, text: str) -> str:
        """Return a text of the same length in which spellings of one form are the same."""
        return as_one(text, lang=self.lang) if self.are_variants_same else text


def read_meanings(vocab: Iterable[Path], *, space: str = "") -> pa.Table:
    """Read the aliases in shards of ``entities``; retired entities are left out.

    Entities have their names in ``space``, such as a wiki, if they have any there.
    """
    tables = [MEANINGS.empty_table()]
    columns = ("entity", "names", "aliases", "retired")
    for batch in read_shards(vocab, SCHEMAS["entities"], columns=columns):
        live = batch.filter(pc.invert(batch.column("retired")))
        aliases = live.column("aliases")
        entities = entities_in(space, live).take(pc.list_parent_indices(aliases))
        fields = [aliases.flatten().field(name) for name in MEANINGS.names if name != "entity"]
        fields.insert(1, entities)
        tables.append(pa.table(fields, names=MEANINGS.names).cast(MEANINGS))
    return pa.concat_tables(tables)


def read_meanings_file(path: Path) -> pa.Table:
    """Read lines ``form TAB entity [TAB prior [TAB link probability]]``; raises ``CorpusError``.

    An empty entity means no entity, an empty number is unknown; a line without a form is left out.
    A file without forms is an error.
    """
    tables: list[pa.Table] = []
    with path.open(encoding="utf-8-sig") as file:
        try:
            rows = _meanings_of(file, path)
            while some := list(islice(rows, _ROWS)):
                tables.append(pa.Table.from_pylist(some, schema=MEANINGS))
        except UnicodeDecodeError as error:
            raise CorpusError(f"{path}: not UTF-8 ({error}). Convert it.") from error
    if not tables:
        raise CorpusError(f"{path}: no forms. Write a form, a tab and an entity on each line.")
    return pa.concat_tables(tables)


def _meanings_of(lines: Iterable[str], path: Path) -> Iterator[dict[str, str | float | None]]:
    for number, line in enumerate(lines, start=1):
        fields = [field.strip() for field in line.rstrip("\n").split("\t")]
        if fields[0]:
            yield _meaning(fields, where=f"{path}:{number}")


def _meaning(fields: Sequence[str], *, where: str) -> dict[str, str | float | None]:
    if not 2 <= len(fields) <= 4:
        raise CorpusError(
            f"{where}: {len(fields)} fields. Write form, entity, and if they are known prior and "
            "link probability, with tabs between."
        )
    prior, probability = (_ratio(text, where=where) for text in (*fields[2:], "", "")[:2])
    return {
        "form": fields[0],
        "entity": fields[1] or None,
        "count": MENTIONS_OF_LINES * (prior or 0.0),
        "prior": prior,
        "link_probability": probability,
    }


def _ratio(text: str, *, where: str) -> float | None:
    try:
        value = float(text) if text else None
        if value is None or 0 <= value <= 1:
            return value
    except ValueError:
        pass
    raise CorpusError(f"{where}: {text!r} is not a number between 0 and 1.")


def choose_forms(
    meanings: pa.Table, *, ignore_case: bool, lang: str | None
) -> tuple[pa.Table, pa.Table]:
    """Choose the entity of each form; returns the rows of ``chosen_forms`` and ``form_counts``.

    A form gets the entity with the highest prior; of equals, the first by name. Spellings that
    differ only in how their letters are composed are one form, and with ``ignore_case`` those that
    differ only in case: their numbers of mentions and of occurrences are added up. More than a
    million rows are processed in parts, and the result is in the order of the parts.
    """
    parts = [
        _choose(part, ignore_case=ignore_case, lang=lang)
        for part in parts_of(meanings, ignore_case=ignore_case, lang=lang)
    ]
    chosen, counts = zip(*parts, strict=True)
    return pa.concat_tables(chosen), pa.concat_tables(counts)


def parts_of(meanings: pa.Table, *, ignore_case: bool, lang: str | None) -> Iterator[pa.Table]:
    """Split rows into parts of about a million; all rows of a form, in any case, are in one part.

    This bounds the memory of work done part by part.
    """
    n_parts = 1 + len(meanings) // _PART_ROWS
    if n_parts == 1:
        yield meanings
        return
    numbers = []
    for batch in meanings.select(["form"]).to_batches(max_chunksize=_ROWS):
        forms = batch.column("form")
        forms = comparable(forms, ignore_case=ignore_case, lang=lang)
        numbers.append((long_hashes(forms) % np.uint64(n_parts)).astype(np.uint32))
    of_row = np.concatenate(numbers)
    for number in range(n_parts):
        yield meanings.filter(pa.array(of_row == number))


def _choose(
    meanings: pa.Table, *, ignore_case: bool, lang: str | None
) -> tuple[pa.Table, pa.Table]:
    """Choose among all rows of some forms."""
    keys, key_of_row, linked, places = _keys(meanings, ignore_case=ignore_case, lang=lang)
    names, best, counts = _best(meanings, key_of_row)
    prior, probability = (counts / linked).astype(np.float32), (linked / places).astype(np.float32)
    score = np.where(np.isnan(probability), prior, prior * probability)
    every = np.arange(len(best))
    columns = [
        _take(keys, every),
        _take(names, best),
        pa.array(np.minimum(score, 1), from_pandas=True),
    ]
    numbers = [pa.array(column, from_pandas=True) for column in (counts, linked, places)]
    return pa.table(columns, schema=CHOSEN), pa.table(numbers, schema=COUNTS)


def _keys(
    meanings: pa.Table, *, ignore_case: bool, lang: str | None
) -> tuple[pa.StringArray, Numbers, Floats, Floats]:
    """Return the distinct forms, the form of each row, and the totals of each form.

    Forms are composed, and folded if case is ignored. The totals are the numbers of mentions and of
    occurrences, see ``_totals``.
    """
    forms = meanings.column("form").dictionary_encode().combine_chunks()
    of_row = np.asarray(forms.indices)
    linked, places = _totals(meanings, of_row, n_forms=len(forms.dictionary))
    keys = comparable(forms.dictionary, ignore_case=ignore_case, lang=lang).dictionary_encode()
    of_form, n_keys = np.asarray(keys.indices), len(keys.dictionary)
    sums = [_sums(column, of_form, n_keys) for column in (linked, places)]
    return keys.dictionary, of_form[of_row], sums[0], sums[1]


def comparable(strings: pa.StringArray, *, ignore_case: bool, lang: str | None) -> pa.StringArray:
    """Compose the letters of strings, and fold their case if it is ignored, in chunks."""
    parts = [pa.array([], pa.string())]
    for start in range(0, len(strings), _ROWS):
        some = map(composed, strings.slice(start, _ROWS).to_pylist())
        done = [fold(string, lang=lang) for string in some] if ignore_case else list(some)
        parts.append(pa.array(done, pa.string()))
    return pa.concat_arrays(parts)


def _take(names: pa.StringArray, rows: Numbers) -> pa.ChunkedArray:
    """Take names by row, in chunks: beyond 2 GiB a single array would be wrong without an error."""
    parts = [rows[start : start + _ROWS] for start in range(0, len(rows), _ROWS)]
    return pa.chunked_array([names.take(pa.array(part)) for part in parts], pa.string())


def _totals(meanings: pa.Table, form_of_row: Numbers, *, n_forms: int) -> tuple[Floats, Floats]:
    """Compute how often each form is linked, and how often it occurs; NaN where unknown.

    Any row of a form gives both: ``count / prior`` is how often it is linked, and that divided by
    the link probability how often it occurs.
    """
    linked, places = np.full(n_forms, np.nan), np.full(n_forms, np.nan)
    start = 0
    for batch in meanings.to_batches(max_chunksize=_ROWS):
        prior, probability, count = (
            batch.column(name).to_numpy(zero_copy_only=False)
            for name in ("prior", "link_probability", "count")
        )
        forms = form_of_row[start : start + len(batch)]
        start += len(batch)
        with np.errstate(divide="ignore", invalid="ignore"):
            all_of_form = np.rint(count / prior)
            np.fmax.at(linked, forms, all_of_form)
            np.fmax.at(places, forms, all_of_form / probability)
    return linked, places


def _best(meanings: pa.Table, key_of_row: Numbers) -> tuple[pa.StringArray, Numbers, Floats]:
    """Find the entity that each key means most often.

    Returns all names (null last), the index among them of each key's entity, and its count. Of
    equals, the first by name wins.
    """
    # All rows may exceed the 2 GiB of an array, distinct names do not.
    entities = meanings.column("entity").dictionary_encode().combine_chunks()
    names = pa.concat_arrays([entities.dictionary, pa.nulls(1, pa.string())])
    by_name = np.asarray(pc.sort_indices(names)).astype(np.int64)  # the null is last
    ranks = np.empty(len(names), np.int64)
    ranks[by_name] = np.arange(len(names))
    pairs = ranks[np.asarray(entities.indices.fill_null(len(names) - 1))]
    pairs += key_of_row * np.int64(len(names))
    del entities
    order = np.argsort(pairs, kind="stable")
    pairs = pairs[order]
    is_new = np.append(True, pairs[1:] != pairs[:-1])[: len(pairs)]
    counts = meanings.column("count").to_numpy()[order]
    del order
    counts = _sums(counts, np.cumsum(is_new) - 1, int(is_new.sum()))
    keys, of_pair = np.divmod(pairs[is_new], len(names))
    begins = run_begins(keys)
    if not len(begins):
        return names, begins, counts
    most = np.maximum.reduceat(counts, begins)
    is_most = counts == np.repeat(most, np.diff(begins, append=len(keys)))
    best = np.minimum.reduceat(np.where(is_most, of_pair, len(names)), begins)
    return names, by_name[best], most


def _sums(values: Floats, group_of: Numbers, n_groups: int) -> Floats:
    return np.bincount(group_of, weights=values, minlength=n_groups).astype(np.float64)


class FormDictionary:
    """The chosen forms, ready for matching.

    With a ``table`` of the forms, folded if case is ignored, it takes no memory of its own, and may
    have the forms of one ``group`` alone. Without one it makes a table in memory.
    """

    def __init__(
        self,
        chosen: pa.Table,
        matching: Matching,
        *,
        table: FormTable | None = None,
        group: str | None = None,
    ) -> None:
        self._batches = chosen.select(["entity", "score"]).to_batches()
        self._begins = np.cumsum([0, *map(len, self._batches)])
        if table is None:
            table = FormTable(forms=map(matching.comparable, chosen.column("form").chunks))
        self._matching = matching
        self._find_in = partial(
            table.find,
            lang=matching.lang,
            ignore_case=matching.ignore_case,
            right=matching.right,
            groups=(group,),
        )

    def add_to(self, batch: pa.RecordBatch, *, origin: Origin) -> tuple[pa.RecordBatch, int]:
        """Match the texts of a batch; returns the batch with the new mentions, and their number.

        Existing mentions win: nothing that overlaps them is added. Letters may be composed or not.
        """
        texts = batch.column("text").to_pylist()
        # All texts at once, joined by newlines, which no match spans.
        lengths = np.fromiter(map(len, texts), np.int64, len(texts)) + 1
        begins = np.cumsum(lengths) - lengths
        mentions = MentionColumn.of(batch)
        shifts = np.repeat(begins, np.diff(mentions.ends))
        taken = mentions.numbers("start") + shifts, mentions.numbers("end") + shifts
        starts, ends, forms = find_composed(self._find, "\n".join(texts), taken)
        if not len(forms):
            return batch, 0
        chosen = self._take(forms)
        is_mention = pc.fill_null(pc.not_equal(chosen.column("entity"), BLOCKS), fill_value=True)
        chosen, kept = chosen.filter(is_mention), np.flatnonzero(is_mention)
        starts, ends, forms = starts[kept], ends[kept], forms[kept]
        documents = np.searchsorted(begins, starts, side="right") - 1
        added = mention_array(
            (starts - begins[documents]).astype(np.int32),
            (ends - begins[documents]).astype(np.int32),
            chosen.column("entity"),
            origins=[origin] * len(forms),
        )
        added = with_field(added, "score", chosen.column("score"))
        merged = mentions.merged(documents.astype(np.int32), added)
        return with_mentions(batch, merged), len(forms)

    def _find(
        self, text: str, starts: npt.NDArray[np.integer], ends: npt.NDArray[np.integer]
    ) -> tuple[Numbers, Numbers, Numbers]:
        return self._find_in(self._matching.text(text), starts, ends)

    def _take(self, forms: Numbers) -> pa.RecordBatch:
        """Return the entities and scores of some forms.

        The (mapped) batches are not concatenated.
        """
        order = np.argsort(forms, kind="stable")
        forms = forms[order]
        parts = []
        bounds = np.searchsorted(forms, self._begins).tolist()
        for batch, first, (start, end) in zip(
            self._batches, self._begins[:-1], pairwise(bounds), strict=True
        ):
            if start < end:
                parts.append(batch.take(pa.array(forms[start:end] - first)))
        return pa.concat_batches(parts).take(pa.array(np.argsort(order)))


class FormsByGroup:
    """The dictionaries of chosen forms: one for each group of documents, or one for all."""

    def __init__(
        self, chosen: Path, table: Path, *, matching: Matching, column: str | None
    ) -> None:
        """Open a shard of ``chosen_forms``, and the table that ``build_table`` made of it.

        ``column`` of a document names its group; None: all documents have all forms.
        """
        batches = read_batches(chosen, SCHEMAS["chosen_forms"])
        self._chosen = pa.Table.from_batches(batches, schema=CHOSEN)
        self._table, self._matching, self._column = FormTable(table), matching, column

    def dictionaries_for(
        self, batch: pa.RecordBatch
    ) -> Iterator[tuple[FormDictionary, pa.RecordBatch]]:
        """Split a batch of documents where the group changes; yields dictionary and part."""
        if self._column is None:
            yield self._dictionary(None), batch
            return
        runs = pc.run_end_encode(batch.column(self._column))
        begin = 0
        for group, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            yield self._dictionary(group), batch.slice(begin, end - begin)
            begin = end

    def _dictionary(self, group: str | None) -> FormDictionary:
        return FormDictionary(self._chosen, self._matching, table=self._table, group=group)


def build_table(folder: Path, chosen: Path, groups: Path, *, matching: Matching) -> None:
    """Build the form table of shards of ``chosen_forms`` and ``chosen_groups``.

    ``matching``: the settings with which the table is searched. Without groups, the forms are those
    of all documents.
    """
    ends = [
        (row["group"], row["end"])
        for batch in read_batches(groups, SCHEMAS["chosen_groups"])
        for row in batch.to_pylist()
    ]
    batches = read_batches(chosen, SCHEMAS["chosen_forms"], columns=("form",))
    columns = (batch.column("form") for batch in batches)
    build_form_table(folder, map(matching.comparable, columns), groups=ends)
