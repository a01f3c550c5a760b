"""Files of words, a line each: what is to be tagged, with tags or without."""

from collections import Counter
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Final

from corpora.datasets.rows import sentence_from_row
from corpora.document import Rejected, Sentence
from corpora.errors import CorpusError
from corpora.ner.detection import Overrides
from corpora.ner.files import MAX_BYTES, Part, describe, read_file
from corpora.ner.layout import Layout
from corpora.ner.sentence_rows import RowMaker
from corpora.text.detection import detect
from corpora.text.encodings import decode
from corpora.text.opening import read_chunks

_BLANKS: Final = " \t"


def read_sentences(path: Path) -> list[Sentence]:
    """The sentences of a file in any form that ``benchmark_to_ner`` knows, or of words alone.

    Raises ``CorpusError`` that says what cannot be read; no sentence is left out.
    """
    if _has_words_alone(path):
        return list(_read_words(path))
    layout = describe(path, name=path.name, said=Overrides(None, None, None, None))
    return list(_read_tagged(path, layout))


def _read_tagged(path: Path, layout: Layout) -> Iterator[Sentence]:
    maker = RowMaker(split="test")
    for found, origin in read_file(path, layout, name=path.name, part=Part()):
        made = None if isinstance(found, Rejected) else maker.make(found, layout, origin)
        problems = [found] if isinstance(found, Rejected) else made.rejected  # type: ignore[union-attr]
        for rejected in problems:
            raise CorpusError(rejected.message)
        for batch in made.batches if made else ():
            yield from (sentence_from_row(row) for row in batch.to_pylist())


def _lines(path: Path) -> Iterator[str]:
    def read() -> Iterator[bytes]:
        return read_chunks(path, name=path.name, max_bytes=MAX_BYTES)

    text = "".join(decode(read(), detect(read, name=path.name), Counter()))
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return (line.strip(_BLANKS) for line in lines)


def _has_words_alone(path: Path) -> bool:
    """Whether no line has columns; other white space, as in ``10 000``, is part of a word."""
    if path.read_bytes()[:4] == b"PAR1":
        return False
    return not any(blank in line for line in _lines(path) for blank in _BLANKS)


def _read_words(path: Path) -> Iterator[Sentence]:
    blocks = groupby(_lines(path), key=bool)
    words = (tuple(block) for is_sentence, block in blocks if is_sentence)
    for number, tokens in enumerate(words, 1):
        yield Sentence(
            id=f"{path.name}#{number}",
            document_id=path.name,
            split="test",
            tokens=tokens,
            tags=("O",) * len(tokens),
        )
