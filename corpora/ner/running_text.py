"""Columns without sentence breaks: newspaper pages by OCR, a token and its tag a line.

The tag stands after the last blank; what is before is the token, with blanks in it as they are. A
line is a record here, since what stands between two empty lines, if there are any, is long.
"""

from collections import Counter

import numpy as np
import pyarrow as pa

from corpora.document import Rejected
from corpora.ner.columns import Tags
from corpora.ner.found import Found, Origin
from corpora.ner.layout import Layout
from corpora.ner.schemes import READABLE


def read_running_text(data: bytes, layout: Layout, origin: Origin, *, first_line: int = 1) -> Found:
    """Read a text; lines that hold no tag are rejected alone, ``#`` begins a comment."""
    counters: Counter[str] = Counter({"line_ends.crlf": data.count(b"\r\n")})
    rows: list[tuple[str, str, int]] = []
    begins: list[int] = []
    rejected: list[Rejected] = []
    is_new = True
    for number, raw in enumerate(data.replace(b"\r\n", b"\n").split(b"\n"), first_line):
        line = raw.decode("utf-8", "replace").rstrip(" \t")
        token, _, tag = line.rpartition(layout.separator or " ")
        token = token.strip(" \t")
        if not line:
            is_new = True
        elif layout.has_comments and line.startswith("#") and not READABLE.fullmatch(tag):
            counters["lines.comment"] += 1
        elif problem := _problem(raw, token):
            reason, what = problem
            what = f"{what} in {line[:80]!r}. The line is left out; mend it."
            rejected.append(origin.reject(number, reason, what=what, excerpt=line))
        else:
            begins += [len(rows)] * is_new
            is_new = False
            rows.append((token, tag, number))
    if layout.has_comments:  # who counts lines without # misses these
        counters["tokens.with # first"] += sum(token[0] == "#" for token, _, _ in rows)
    counters["tokens.with blanks"] += sum(" " in token for token, _, _ in rows)
    return Found(
        tokens=pa.array([token for token, _, _ in rows], pa.string()),
        begins=np.array([*begins, len(rows)], np.int64),
        tags=Tags.of(pa.array([tag for _, tag, _ in rows], pa.string())),
        places=np.array([number for _, _, number in rows], np.int64),
        rejected=rejected,
        counters=+counters,
    )


def _problem(raw: bytes, token: str) -> tuple[str, str] | None:
    if b"\0" in raw:
        return "nul", "a NUL byte"
    try:
        raw.decode()
    except UnicodeDecodeError:
        return "not_utf8", "bytes that are not UTF-8"
    return None if token else ("columns", "no token and tag")
