"""Forms that are the title of their entity in another case or number, as links show it.

A form is like a title if each of its words begins as that of the title. Some forms like a title
are derived from it, and mean something else:

- a form with a small first letter, if links show the title with a capital alone: *ukrainisch* of
  Ukraine;
- a form whose words end in a way that links show for few titles: *Christian* of Christianity.
"""

import unicodedata
from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from corpora.hashing.strings import long_hashes
from corpora.matching.arrays import Numbers
from corpora.matching.surface_forms import WORD

Flags = npt.NDArray[np.bool_]
Changes = npt.NDArray[np.uint64]
"""Shape (N, 4): the number of a form; of a word of it and of the title that end otherwise, the
letters of both endings, those of the title's, and the hash of both."""

_STEM = 4
"""The first characters by which inflected forms of a word are one."""
_SHORT, _USUAL = 4, 20
"""The letters of both endings that may differ, and the titles for which links must show more."""
_SHORT_AFTER, _USUAL_AFTER = 2, 3
"""The same for what follows a whole word of a title."""
_CAPITAL = 2
"""How often links show a title with a capital, at least, that never stands with a small letter."""
_ACCENT = 200  # the least combining class of marks above and below letters


def stems(text: str) -> list[str]:
    """Return the first letters of the words of a form or title."""
    return [word[:_STEM] for word in WORD.findall(text.lower())]


def changes_of(pairs: Iterable[tuple[int, str, str]]) -> Changes:
    """Describe how forms end otherwise than their titles (``Goethes``, ``Goethe``).

    ``pairs`` are number, form, title.
    """
    others = (each for each in pairs if each[1].lower() != each[2].lower())
    rows = [(number, *change) for number, *pair in others for change in _changed(*pair)]
    *numbers, endings = zip(*rows, strict=True) if rows else ((), (), (), ())
    hashes = long_hashes(pa.array(endings, pa.string()))
    return np.column_stack([np.array(numbers, np.uint64).T, hashes])


def _changed(form: str, title: str) -> Iterator[tuple[int, int, str]]:
    """Yield the letters and the endings of the words that end otherwise, accents apart."""
    words = (WORD.findall(_without_accents(text)) for text in (form, title))
    for word, other in zip(*words, strict=False):
        if word != other:
            pairs = enumerate(zip(word, other, strict=False))
            n = next((n for n, (a, b) in pairs if a != b), min(len(word), len(other)))
            ending, old = word[n:], other[n:]
            yield len(ending + old), len(old), f"{ending} {old}"


def _without_accents(text: str) -> str:
    letters = unicodedata.normalize("NFD", text.lower())
    return "".join(c for c in letters if unicodedata.combining(c) < _ACCENT).replace("ς", "σ")


def forms_with_rare_endings(changes: Changes, entity_of: Numbers) -> Numbers:
    """Return the forms with long endings that few titles show."""
    numbers, letters, old = changes[:, :3].astype(np.int64).T
    _, key_of = np.unique(changes[:, 3], return_inverse=True)
    titles = np.unique(np.column_stack([key_of, entity_of[numbers]]), axis=0)[:, 0]
    is_long = letters > np.where(old > 0, _SHORT, _SHORT_AFTER)
    is_rare = np.bincount(titles)[key_of] < np.where(old > 0, _USUAL, _USUAL_AFTER)
    return np.asarray(numbers[is_long & is_rare])


def names_in_capitals(
    entity_of: Numbers, n_links: npt.NDArray[np.float64], *, are_small: Flags
) -> Numbers:
    """Return the entities that links show with a capital alone.

    The entity of forms that are its title, the links of each, and whether it begins small.
    """
    n_capital = np.bincount(entity_of, weights=np.where(are_small, 0, n_links))
    return np.setdiff1d(np.flatnonzero(n_capital >= _CAPITAL), entity_of[are_small])
