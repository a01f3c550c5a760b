"""Titles in another script: links in Chinese and Serbian wikis may be written in either.

MediaWiki looks up a link that has no page in the other scripts. Here the other spellings of each
title are redirects to it, unless there is a page or a redirect of that name.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pyarrow as pa

from corpora.datasets.redirect_table import RedirectTable, build_table

_CHINESE, _SERBIAN = frozenset({"zh", "gan", "wuu"}), frozenset({"sr", "sh"})
"""The codes of wikis with two scripts."""
SERBIAN, OPENCC = "serbian", "OpenCC"
"""The names of tables; that of OpenCC has a version, too."""
_CONVERSIONS = ("t2s", "s2t", "s2tw", "s2hk")
_CYRILLIC = "абвгдђежзијклљмнњопрстћуфхцчџш"
_LATIN = (
    *("a", "b", "v", "g", "d", "đ", "e", "ž", "z", "i", "j", "k", "l", "lj", "m", "n", "nj"),
    *("o", "p", "r", "s", "t", "ć", "u", "f", "h", "c", "č", "dž", "š"),
)
_TO_LATIN = str.maketrans(
    dict(zip(_CYRILLIC, _LATIN, strict=True))
    | dict(zip(_CYRILLIC.upper(), map(str.capitalize, _LATIN), strict=True))
)
_PAIRS = dict(zip(_LATIN, _CYRILLIC, strict=True))
_IN_LATIN = re.compile(r"[dD][žŽ]|[lLnN][jJ]|[^\W\d_]")
_OTHER_LETTERS = re.compile(r"[qwxyQWXY]")

Rows = Iterable[pa.RecordBatch]


def table_for(codes: Sequence[str]) -> str:
    """Return the name of the table of a wiki's scripts; empty if it has one, or there is none."""
    if _SERBIAN.intersection(codes):
        return SERBIAN
    with suppress(PackageNotFoundError):
        return f"{OPENCC} {version('opencc')}" if has_chinese_scripts(codes) else ""
    return ""


def has_chinese_scripts(codes: Sequence[str]) -> bool:
    """Tell whether a wiki is written in both Chinese scripts."""
    return bool(_CHINESE.intersection(codes))


def with_variants(
    folder: Path, titles: Rows, redirects: Rows, *, table: str
) -> Iterator[pa.RecordBatch]:
    """Yield redirects, then those from other spellings of titles, and of redirects.

    ``titles`` have a column ``name``, with nulls. A table of all names is built in ``folder``.
    """
    redirects = list(redirects)
    columns = [batch.column("name").drop_null() for batch in titles]
    targets = [(column, column) for column in columns]
    targets += [(batch.column("title"), batch.column("target")) for batch in redirects]
    build_table(folder, (pa.record_batch([name] * 2, ["title", "target"]) for name, _ in targets))
    known = RedirectTable(folder)
    yield from redirects
    convert = _in_serbian if table == SERBIAN else _in_chinese
    for names_of_batch, of in targets:
        for spellings in convert(names_of_batch.to_pylist()):
            others = pa.array(spellings, pa.string())
            is_new = known.rows(others) < 0
            rows = [others.filter(pa.array(is_new)), of.filter(pa.array(is_new))]
            yield pa.record_batch(rows, ["title", "target"])


def _in_chinese(titles: Sequence[str]) -> Iterator[list[str]]:
    from opencc import OpenCC

    for conversion in _CONVERSIONS:
        yield OpenCC(conversion).convert("\n".join(titles)).split("\n") if titles else []


def _in_serbian(titles: Sequence[str]) -> Iterator[list[str]]:
    yield [title.translate(_TO_LATIN) for title in titles]
    yield [to_cyrillic(title) for title in titles]


def to_cyrillic(title: str) -> str:
    """Write a Serbian title in Cyrillic script; one with letters of other languages stays.

    >>> to_cyrillic("Njegoš i Ljubljana")
    'Његош и Љубљана'
    """
    if _OTHER_LETTERS.search(title):
        return title

    def letter(found: re.Match[str]) -> str:
        cyrillic = _PAIRS.get(found[0].lower(), found[0])
        return cyrillic.upper() if found[0][0].isupper() else cyrillic

    return _IN_LATIN.sub(letter, title)
