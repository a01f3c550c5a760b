"""Title matches that are common words: known by how often their form is a link, and by its case.

A page that links ``[[court]]`` once has ``court`` as a form, and each ``court`` on it becomes a
match. If hardly any of all places of the form, on any page, is a link, it is a word and not a name.
A capital inside a sentence shows a name, whatever the ratio, unless the title needs a qualifier
(``Welt (Fernsehsender)``); a capital at the start of a sentence shows nothing. A Chinese form that
``學`` or ``家`` follows is a part of a longer word (``生物學``, ``作曲家``).
"""

import re

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from corpora.datasets.columns import Mentions, with_mentions
from corpora.hashing.strings import long_hashes
from corpora.matching.composition import composed
from corpora.matching.form_dictionary import link_probabilities, parts_of
from corpora.matching.surface_forms import fold

Hashes = npt.NDArray[np.uint64]
_WINDOW = 6  # characters before a match that are searched for the start of its sentence
_OPENING = " \t\u00a0\"'“”«»„‘’‚‹›([{–—-*•"
_PART_OF_WORD = re.compile("[学學](?![派院校生者会會界])|家(?![族庭園园鄉乡])")
_ENDS = frozenset("\n.!?…:;。！？।։؟۔።:")


def common_forms(meanings: pa.Table, *, below: float, lang: str | None) -> Hashes:
    """Hash the forms, case folded, with a link probability lower than ``below``.

    Returns the hashes sorted, 8 bytes each.
    """
    found = []
    for part in parts_of(meanings, ignore_case=True, lang=lang):
        keys, probability = link_probabilities(part, lang=lang)
        found.append(long_hashes(keys.filter(pa.array(probability < np.float32(below)))))
    return np.sort(np.concatenate(found))


def without_common(
    batch: pa.RecordBatch, common: Hashes, *, lang: str | None
) -> tuple[pa.RecordBatch, int]:
    """Remove matched titles that are common words from documents; returns how many were removed.

    Matches of the page's own title, and mentions of other origins, stay.
    """
    mentions = Mentions.of(batch)
    is_match = pc.equal(mentions.structs.field("origin"), "title_match")
    rows = np.flatnonzero(is_match.to_numpy(zero_copy_only=False))
    if not len(rows) or not len(common):
        return batch, 0
    document = np.searchsorted(mentions.ends, rows, side="right") - 1
    texts = batch.column("text").to_pylist()
    starts, ends = (mentions.numbers(name)[rows].tolist() for name in ("start", "end"))
    places = list(zip([texts[n] for n in document.tolist()], starts, ends, strict=True))
    surfaces = [composed(" ".join(text[start:end].split())) for text, start, end in places]
    hashes = long_hashes(pa.array(fold("\n".join(surfaces), lang=lang).split("\n"), pa.string()))
    found = np.minimum(np.searchsorted(common, hashes), len(common) - 1)
    suspects = np.flatnonzero(common[found] == hashes)
    entities = mentions.structs.field("entity").take(pa.array(rows)).to_pylist()
    out = {
        n
        for n in suspects.tolist()
        if (entities[n] or "").endswith((")", "）")) or not _is_name(*places[n])
    }
    out |= {n for n, (text, _, end) in enumerate(places) if _PART_OF_WORD.match(text, end)}
    kept = np.ones(len(mentions.structs), np.bool_)
    kept[rows[sorted(out)]] = False
    left = np.concatenate([[0], np.cumsum(kept)])[mentions.ends].astype(np.int32)
    gated = Mentions(mentions.structs.filter(pa.array(kept)), left)
    return with_mentions(batch, gated), len(out)


def _is_name(text: str, start: int, end: int) -> bool:
    """Tell whether a form has capitals that no start of a sentence explains."""
    if any(map(str.isupper, text[start + 1 : end])):
        return True
    if not text[start].isupper():
        return False
    window = text[max(0, start - _WINDOW) : start]
    before = window.rstrip(_OPENING)
    if not before:
        return start > _WINDOW
    return before[-1] not in _ENDS
