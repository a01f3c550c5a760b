"""Texts as sets of shingles, exact fingerprints and MinHash signatures.

A shingle is ``SIZE`` adjacent words, without case and punctuation; in scripts without spaces
between words (Han, kana, Thai …), every character is a word. Signatures are rensa's R-MinHash.
"""

import hashlib
import re
import unicodedata
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from corpora.hashing.marks import HAS_MARKS_BEYOND, MARKS_BEYOND, marks_of

SIZE = 3
N_HASHES = 128
_SEED = 1
_WITHOUT_SPACES = (
    r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff"
    r"\U00020000-\U0003ffff"
)
_LETTER = rf"[^\W_{_WITHOUT_SPACES}]"
_SIGNS = marks_of(
    *(range(0x780, 0x7C0), range(0x900, 0xE00), range(0xF00, 0x1000), range(0x1A00, 0x1D00)),
    *(range(0xA800, 0xAA60), range(0xABC0, 0xAC00)),
)
"""Vowel signs and other marks of the scripts of India, Tibet, the Maldives and Indonesia, which
``\\w`` lacks; joiners may follow them."""


def _word_pattern(signs: str) -> re.Pattern[str]:
    """Compile the pattern of a word whose marks are among ``signs``."""
    rest = rf"(?:[{signs}][{signs}\u200c\u200d]*{_LETTER}*)*"
    return re.compile(rf"[{_WITHOUT_SPACES}]|{_LETTER}+{rest}")


_WORD = _word_pattern(_SIGNS)
_WORD_BEYOND = _word_pattern(_SIGNS + MARKS_BEYOND)


def words_of(text: str) -> list[str]:
    """Split a text into words for comparison: NFKC, case folded, without punctuation."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    pattern = _WORD_BEYOND if HAS_MARKS_BEYOND.search(folded) else _WORD
    return pattern.findall(folded)


def shingles_of(words: Sequence[str]) -> set[str]:
    """Build the shingles of a text; fewer words than a shingle has make one shingle."""
    if len(words) < SIZE:
        return {" ".join(words)}
    return {" ".join(words[i : i + SIZE]) for i in range(len(words) - SIZE + 1)}


def jaccard(a: set[str], b: set[str]) -> float:
    """Compute the Jaccard similarity of two sets: intersection over union."""
    both = len(a & b)
    return both / (len(a) + len(b) - both)


def fingerprint(words: Sequence[str]) -> bytes:
    """Hash words to 16 bytes, which two texts share only with the same words in the same order."""
    return hashlib.blake2b(" ".join(words).encode("utf-8"), digest_size=16).digest()


def signature(shingles: set[str]) -> bytes:
    """Compute the MinHash signature: ``N_HASHES`` numbers of 32 bits, little-endian.

    The fraction of equal numbers in two signatures estimates their Jaccard similarity.
    """
    from rensa import RMinHash

    minhash = RMinHash(num_perm=N_HASHES, seed=_SEED)
    minhash.update(list(shingles))
    return np.array(minhash.digest(), "<u4").tobytes()


def signature_matrix(signatures: Sequence[bytes]) -> npt.NDArray[np.uint32]:
    """Stack signatures to a matrix, shape (n, ``N_HASHES``)."""
    return np.frombuffer(b"".join(signatures), "<u4").reshape(-1, N_HASHES)
