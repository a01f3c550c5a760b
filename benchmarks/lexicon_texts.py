"""The texts of ``benchmarks/lexicon.py``, as published and repeated."""

import gzip
from collections.abc import Iterator, Sequence
from pathlib import Path

HAN = range(0x4E00, 0x9FA6)
SHIFT = 997


def plain(data: Path) -> Iterator[str]:
    """Yield the texts of both sets."""
    for name in ("三国演义.txt", "红楼梦.txt"):
        yield (data / "zh-novels" / name).read_text("utf-8")
    yield "\n".join("".join(word for word, _ in line) for line in peoples_daily(data))
    titles = (data / "zh-news/thucnews-titles.txt").read_text("utf-8")
    yield "\n".join(line.partition("\t")[0] for line in titles.split("\n"))
    yield (data / "zh-news/clue-corpus-small-sampled.txt").read_text("utf-8")


def peoples_daily(data: Path) -> Iterator[list[tuple[str, str]]]:
    """Yield the lines of People's Daily, each as pairs of word and tag."""
    path = data / "zh-news/peoples-daily-199801.txt.gz"
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            pairs = [word.rpartition("/") for word in line.split()]
            yield [(word, tag) for word, _, tag in pairs if word]


def shifted(text: str, copy: int) -> str:
    """Replace the Han characters of a text by others, which differ by copy; copy 0 is as it was."""
    size = len(HAN)
    table = {code: HAN[(code - HAN[0] + copy * SHIFT) % size] for code in HAN}
    return text.translate(table) if copy else text


def repeated(texts: Sequence[str], megabytes: float) -> Iterator[str]:
    """Copy after copy, until there are so many MB."""
    left = megabytes * 1e6
    copy = 0
    while left > 0:
        for text in texts:
            varied = shifted(text, copy)
            encoded = varied.encode()
            yield varied if len(encoded) <= left else encoded[: int(left)].decode(errors="ignore")
            left -= len(encoded)
            if left <= 0:
                return
        copy += 1
