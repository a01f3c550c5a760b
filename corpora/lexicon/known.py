"""Words that need no discovery: dictionaries, and function words."""

import tomllib
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa

from corpora.errors import CorpusError, UsageError


def jieba_dictionary() -> Path:
    """Where jieba's dictionary lies; raises ``UsageError`` where jieba is not installed."""
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


@cache
def function_words() -> pa.Array:
    """Those of all languages, from ``functions.toml``; each as it begins a sentence, too."""
    table = tomllib.loads((files("corpora.lexicon") / "functions.toml").read_text("utf-8"))
    words = {word for words in table.values() for word in words.split()}
    return pa.array(sorted(words | {word.capitalize() for word in words}), pa.string())
