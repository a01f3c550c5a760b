"""Facts on known forms, in tables that all processes map: what they mean, how they are spelled."""

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.datasets.schemas import SCHEMAS
from corpora.datasets.shards import read_batches
from corpora.hashing.strings import long_hashes
from corpora.matching.arrays import Numbers
from corpora.matching.form_dictionary import MENTIONS_OF_LINES
from corpora.matching.inflection import (
    Changes,
    changes_of,
    forms_with_rare_endings,
    names_in_capitals,
    stems,
)
from corpora.matching.surface_forms import WORD

Floats = npt.NDArray[np.float64]

SPELLING = (
    *("words", "characters", "capital", "inner_capital", "uncased", "exact", "letter", "title"),
    "small",
)
"""The facts on the spelling of a form: see ``spelling``."""
UNCASED, EXACT, LETTER, LIKE_TITLE, SMALL = map(SPELLING.index, SPELLING[4:])
_FEW = 0.1  # of the forms of ids, such as ``sturm:weimar``, those that are like the id
_LETTER = re.compile(r"[^\W\d_]")
_QUALIFIER = re.compile(r" ?[(（].*[)）]$")
MOST_WORDS = 3
"""The words of the longest parts of titles that are compared with forms."""
_MOST = 127
_NAMES = pa.schema([SCHEMAS["chosen_forms"].columns.field("entity")])


class FormFacts:
    """The facts on forms by their numbers: tables of ``write_facts``, and ``chosen_forms``."""

    def __init__(self, folder: Path, chosen: Path) -> None:
        names = ("entities", "entity_of", "counts", "spelling", "words")
        columns = [np.load(folder / f"facts_{name}.npy", mmap_mode="r") for name in names]
        self.entities: npt.NDArray[np.uint64] = columns[0]
        """The hashes of all entities, sorted."""
        self.entity_of: Numbers = columns[1]
        """The row of the entity of each form; -1 where it has none."""
        self.counts: Floats = columns[2]
        """For each form, how often it means its entity, is a mention at all, and stands; NaN where
        the dictionary does not say."""
        batches = read_batches(chosen, SCHEMAS["chosen_forms"], columns=("entity",))
        self._names = pa.Table.from_batches(batches, schema=_NAMES).column("entity")
        self.spelling: npt.NDArray[np.int8] = columns[3]
        """The facts of ``SPELLING`` on each form."""
        is_like = self.spelling[:, LIKE_TITLE]
        self.has_titles = bool(is_like.sum() > _FEW * len(is_like))
        """Whether entities are titles, and not ids, a few of which may be like a form."""
        self.words: npt.NDArray[np.uint64] = columns[4]
        """The hash of each form of at most ``MOST_WORDS`` words, folded; else 0."""

    def names_of(self, forms: Numbers) -> list[str | None]:
        """Return the entities of forms."""
        names: list[str | None] = self._names.take(pa.array(forms)).to_pylist()
        return names


def write_facts(folder: Path, chosen: Path, counts: Path) -> None:
    """Write the facts on the forms in shards of ``chosen_forms`` and ``form_counts``."""
    hashes, words = [np.empty(0, np.uint64)], [np.empty(0, np.uint64)]
    spellings, changes = [np.empty((0, len(SPELLING)), np.int8)], [changes_of([])]
    for batch in read_batches(chosen, SCHEMAS["chosen_forms"], columns=("form", "entity")):
        first = sum(map(len, hashes))
        entities = batch.column("entity").fill_null("")
        hashes.append(long_hashes(entities))
        forms = batch.column("form").to_pylist()
        pairs = [*zip(forms, entities.to_pylist(), strict=True)]
        rows = np.array([spelling(*pair) for pair in pairs], np.int8).reshape(-1, len(SPELLING))
        spellings.append(rows)
        alike = np.flatnonzero(rows[:, LIKE_TITLE]).tolist()
        changes.append(
            changes_of((first + row, pairs[row][0], _title(pairs[row][1])) for row in alike)
        )
        is_short = rows[:, 0] <= MOST_WORDS
        words.append(np.where(is_short, hashed_words(forms), 0).astype(np.uint64))
    of_forms = np.concatenate(hashes)
    nothing = long_hashes(pa.array([""]))
    entities_of_all = np.setdiff1d(of_forms, nothing)
    at = np.searchsorted(entities_of_all, of_forms).astype(np.int32)
    batches = list(read_batches(counts, SCHEMAS["form_counts"]))
    numbers = [np.column_stack([c.to_numpy(zero_copy_only=False) for c in b]) for b in batches]
    entity_of = np.where(of_forms == nothing, -1, at)
    of_spellings = np.concatenate(spellings)
    all_counts = _known_counts(np.concatenate([np.empty((0, 3)), *numbers]))
    is_derived = _are_derived(of_spellings, entity_of, all_counts[:, 0], changes=changes)
    of_spellings[is_derived, LIKE_TITLE] = False
    tables = {
        "entities": entities_of_all,
        "entity_of": entity_of,
        "counts": all_counts,
        "spelling": of_spellings,
        "words": np.concatenate(words),
    }
    for name, table in tables.items():
        np.save(folder / f"facts_{name}.npy", table)


def _are_derived(
    spellings: npt.NDArray[np.int8], entity_of: Numbers, n_links: Floats, *, changes: list[Changes]
) -> npt.NDArray[np.bool_]:
    """Tell which forms are derived from a title."""
    is_small, exact = spellings[:, SMALL] > 0, np.flatnonzero(spellings[:, EXACT])
    names = names_in_capitals(entity_of[exact], n_links[exact], are_small=is_small[exact])
    is_derived = is_small & np.isin(entity_of, names)
    is_derived[forms_with_rare_endings(np.concatenate(changes), entity_of)] = True
    return is_derived


def _known_counts(counts: Floats) -> Floats:
    """Let forms without numbers mean their entity always."""
    counts[np.isnan(counts[:, 1]), :2] = MENTIONS_OF_LINES
    return counts


def hashed_words(words: Sequence[str]) -> npt.NDArray[np.uint64]:
    """Hash words, or runs of words, without regard to case."""
    return long_hashes(pa.array([word.lower() for word in words], pa.string()))


@lru_cache(maxsize=1 << 14)
def title_parts(entity: str) -> tuple[str, ...]:
    """Return the words, and shorter runs of words, of an entity's title without its qualifier."""
    words = WORD.findall(bare_title(entity).lower())
    return tuple(
        " ".join(words[start : start + length])
        for length in range(1, min(len(words), MOST_WORDS + 1))
        for start in range(len(words) - length + 1)
    )


def bare_title(entity: str) -> str:
    """Return the title of an entity without its qualifier."""
    return _QUALIFIER.sub("", _title(entity))


def _title(entity: str) -> str:
    return entity.partition(":")[2] or entity


def spelling(form: str, entity: str) -> tuple[int, ...]:
    """Describe a form beside the title of its entity.

    The number of words and of characters; whether it begins with a capital, has one further inside,
    has no letter with case; is the title (without a qualifier); has a letter at all; is the whole
    title, but for the endings of words; and begins with a small letter.
    """
    return (
        min(len(WORD.findall(form)), _MOST),
        min(len(form), _MOST),
        form[:1].isupper(),
        any(map(str.isupper, form[1:])),
        form.lower() == form.upper(),
        form[:1].upper() + form[1:] == bare_title(entity),
        _LETTER.search(form) is not None,
        stems(form) == stems(_title(entity)),
        form[:1].islower(),
    )


def is_like_title(form: str, entity: str) -> bool:
    """Tell whether a form is the title of an entity, but for its qualifier and endings of words."""
    return stems(form) == stems(bare_title(entity))
