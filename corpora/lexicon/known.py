"""Tables of known words: of dictionaries (with names among them), and function words.

``ranking.py`` flags the words of a lexicon by them.
"""

import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa

from corpora.errors import CorpusError, UsageError

TRADITIONAL_RATIO = 0.05
"""A text is in traditional script if more than this ratio of its Han characters does not exist in
simplified script: the ratio is 0.3 in traditional prose, 0.002 in simplified novels."""
NAME_TAGS = ("nr", "ns", "nt", "nz")
"""The tags of names in jieba's dictionary: persons, places, organisations, others; ``nr`` is often
wrong."""
NAME_TIMES = 8
"""A known word with such a tag is a name in texts where it is at least this many times as frequent
as in the dictionary."""
NOUN_TIMES = 64
"""The same for nouns without such a tag (鸳鸯, a duck, and a maid in a novel)."""
_OPENCC = ("s2t", "s2tw", "s2twp", "s2hk")
"""OpenCC's conversions: to its own standard, to Taiwan's characters, to Taiwan's words (軟體 for
软件), to Hong Kong's characters."""


def jieba_dictionary() -> Path:
    """Find the file of jieba's dictionary; raise ``UsageError`` where jieba is not installed."""
    found = find_spec("jieba")
    if found is None or found.origin is None:
        raise UsageError(
            "--known jieba: jieba is not installed. Install it: pip install 'onoma[chinese]'. Or "
            "name a FILE of words, or choose --known none."
        )
    return Path(found.origin).with_name("dict.txt")


def read_known(path: Path) -> pa.Table:
    """Read a word from each line; raise ``CorpusError`` where the file is not UTF-8.

    The word is what stands before a tab, or before a number (jieba: word, frequency, tag), or the
    whole line. Returns rows of ``KNOWN``, each word once. A word is a name in texts where its
    count, divided by the number of symbols, is at least ``ratio``. The ratio depends on frequency
    and tag; it is infinity for a word without a frequency or a tag of a name or noun.
    """
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 ({error}). Convert it.") from error
    read = [_read_line(line) for line in lines]
    n_symbols = sum(n * len(word) for word, n, _ in read)
    rows = {
        word: (n * _TIMES.get(tag[:2], _TIMES.get(tag[:1], np.inf)) / n_symbols if n else np.inf,
               n, tag)
        for word, n, tag in sorted(read, reverse=True)
        if word
    }  # fmt: skip
    ratios, times, tags = zip(*rows.values(), strict=True) if rows else ((), (), ())
    return pa.table([[*rows], ratios, times, tags], schema=KNOWN)


KNOWN = pa.schema(
    {"word": pa.string(), "ratio": pa.float64(), "times": pa.int64(), "tag": pa.string()}
)
"""The columns of known words: ``times`` and ``tag`` are 0 and empty where a list has none."""
_TIMES = dict.fromkeys(NAME_TAGS, NAME_TIMES) | {"n": NOUN_TIMES}


def _read_line(line: str) -> tuple[str, int, str]:
    """Parse word, frequency and tag; frequency 0 and an empty tag where they are missing."""
    fields = line.partition("\t")[0].split()
    if len(fields) > 1 and fields[1].isdecimal():
        return fields[0], int(fields[1]), "".join(fields[2:3])
    return " ".join(fields), 0, ""


def is_traditional(text: str) -> bool:
    """Tell whether a Chinese text is in traditional script.

    Characters that Big5 has and GB 2312 lacks decide.
    """
    counts = Counter(character for character in text if "\u3400" <= character <= "\u9fff")
    n_only = sum(n for character, n in counts.items() if _is_only_traditional(character))
    return n_only > TRADITIONAL_RATIO * counts.total()


@cache
def _is_only_traditional(character: str) -> bool:
    return bool(character.encode("big5", "ignore")) and not character.encode("gb2312", "ignore")


def check_opencc() -> None:
    """Raise ``UsageError`` where OpenCC is not installed."""
    if find_spec("opencc") is None:
        raise UsageError(
            "--known: the documents are in traditional script, and OpenCC, which spells known "
            "words so, is not installed. Install it (pip install 'onoma[chinese]'), or choose "
            "--known none."
        )


def in_both_scripts(words: pa.Table) -> pa.Table:
    """Return the words, and their spellings in traditional characters; each form once."""
    from opencc import OpenCC

    lines = "".join([f"{word}\n" for word in words.column("word").to_pylist()])
    tables = [words]
    for name in _OPENCC:
        spelled = pa.array(OpenCC(name).convert(lines).split("\n")[:-1], pa.string())
        tables.append(words.set_column(0, "word", spelled))
    every = pa.concat_tables(tables).group_by("word", use_threads=False)
    sums = every.aggregate([("ratio", "min"), ("times", "max"), ("tag", "first")])
    return sums.rename_columns(KNOWN.names).cast(KNOWN)


@cache
def function_words(*, has_letters: bool = True) -> pa.Array:
    """Return the function words of all languages (``functions.toml``), also capitalized.

    Without ``has_letters``, none is a single Latin letter, which is a part of a name in Chinese
    (A股).
    """
    table = tomllib.loads((files("corpora.lexicon") / "functions.toml").read_text("utf-8"))
    words = {word for words in table.values() for word in words.split()}
    words = {word for word in words if has_letters or len(word) > 1 or word.upper() == word.lower()}
    return pa.array(sorted(words | {word.capitalize() for word in words}), pa.string())
