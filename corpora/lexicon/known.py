"""Words that need no discovery: dictionaries, and function words."""

import tomllib
from collections import Counter
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from corpora.errors import CorpusError, UsageError

TRADITIONAL_SHARE = 0.05
"""Of a text in traditional script, at least, the Han characters that simplified lacks: three
of ten in prose, two of a thousand in simplified novels."""
_OPENCC = ("s2t", "s2tw", "s2twp", "s2hk")
"""OpenCC's own standard, Taiwan's characters, its words (軟體 for 软件), Hong Kong's characters."""


def jieba_dictionary() -> Path:
    """Find where jieba's dictionary lies; raises ``UsageError`` where jieba is not installed."""
    found = find_spec("jieba")
    if found is None or found.origin is None:
        raise UsageError(
            "--known jieba: jieba is not installed. Install it (pip install jieba), name a FILE of "
            "words, or choose --known none."
        )
    return Path(found.origin).with_name("dict.txt")


def read_known(path: Path) -> pa.Array:
    """Read a word from each line; raises ``CorpusError`` where the file is not UTF-8.

    The word is what stands before a tab, or before a number (jieba: word, frequency, tag), or the
    whole line.
    """
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 ({error}). Convert it.") from error
    return pa.array(sorted({_word(line) for line in lines} - {""}), pa.string())


def _word(line: str) -> str:
    fields = line.partition("\t")[0].split()
    if len(fields) > 1 and fields[1].isdecimal():
        return fields[0]
    return " ".join(fields)


def is_traditional(text: str) -> bool:
    """Tell a Chinese text in traditional script: by characters that Big5 has and GB 2312 lacks."""
    counts = Counter(character for character in text if "\u3400" <= character <= "\u9fff")
    n_only = sum(n for character, n in counts.items() if _is_only_traditional(character))
    return n_only > TRADITIONAL_SHARE * counts.total()


@cache
def _is_only_traditional(character: str) -> bool:
    return bool(character.encode("big5", "ignore")) and not character.encode("gb2312", "ignore")


def check_opencc() -> None:
    """Raise ``UsageError`` where OpenCC is not installed."""
    if find_spec("opencc") is None:
        raise UsageError(
            "--known: the documents are in traditional script, and OpenCC, which spells known "
            "words so, is not installed. Install it (pip install opencc), or choose --known none."
        )


def in_both_scripts(words: pa.Array) -> pa.Array:
    """Return the words, and how each is spelled in traditional characters; each once."""
    from opencc import OpenCC

    lines = "\n".join(words.to_pylist())
    spelled = [line for name in _OPENCC for line in OpenCC(name).convert(lines).split("\n")]
    return pc.unique(pa.concat_arrays([words, pa.array(spelled, pa.string())]))


@cache
def function_words() -> pa.Array:
    """Return those of all languages, from ``functions.toml``; each as it begins a sentence, too."""
    table = tomllib.loads((files("corpora.lexicon") / "functions.toml").read_text("utf-8"))
    words = {word for words in table.values() for word in words.split()}
    return pa.array(sorted(words | {word.capitalize() for word in words}), pa.string())
