"""Every statistic of a lexicon in the slow obvious way, from dictionaries."""

import math
import re
from collections import Counter, defaultdict
from itertools import pairwise

from corpora.document import Span
from corpora.lexicon.streams import DOTS
from corpora.segmentation.sentences import segmenter

HAN = "々〆〇ぁ-ゖァ-ヺー㐀-鿿"


def character_segments(text):
    """Return the Han characters, runs of other letters, and dots between letters.

    ``None`` is a boundary, ``line`` one with a line end; ``other`` is a number or a long run.
    """
    symbols = ["line"]
    is_joined = False
    for found in re.finditer(rf"[{HAN}]|(?:(?![{HAN}])[^\W_])+|.", text + "\n", re.DOTALL):
        piece = found[0]
        after = text[found.end() : found.end() + 1]
        was_joined, is_joined = is_joined, False
        around = text[found.start() - 1 : found.start()], text[found.end() : found.end() + 1]
        if re.match(f"[{HAN}]", piece) or (piece in DOTS and all(map(str.isalnum, around))):
            symbols.append(piece)
        elif piece.isalnum():
            is_word = (was_joined or any(map(str.isalpha, piece))) and len(piece) <= 16
            symbols.append(piece if is_word else "other")
        elif piece == " " and is_run(text[found.start() - 1 : found.start()]) and is_run(after):
            is_joined = True
        else:
            add_boundary(symbols, piece)
    return symbols


def is_run(character):
    return character.isalnum() and not re.match(f"[{HAN}]", character)


def add_boundary(symbols, piece):
    if symbols[-1] not in {None, "line"}:
        symbols.append(None)
    if piece == "\n":
        symbols[-1] = "line"


def thai_segments(text):
    """Return Thai letters, each with the vowels and tones above, below and (ำ) after it.

    ``None`` is a boundary, ``line`` one with a line end.
    """
    symbols = ["line"]
    for found in re.findall("[ก-ะาเ-ๅ][ัิ-ฺ็-๎ำ]*|.", text + "\n", re.DOTALL):
        if "ก" <= found[0] <= "ะ" or found[0] in "าเแโใไๅ":
            symbols.append(found)
        else:
            add_boundary(symbols, found)
    return symbols


def word_segments(text, lang):
    cutter = segmenter(lang)
    symbols = ["line"]
    for line in text.split("\n"):
        if line.strip():
            for start, end in cutter.words(line, Span(0, len(line))):
                form = line[start:end]
                symbols.append(form if form[0].isalnum() else None)
        symbols.append("line")
    return symbols


def naive(symbols_by_scope, *, longest, min_count, separator=""):
    """Compute every statistic of every candidate, from dictionaries."""
    found = {}
    for scope, symbols in symbols_by_scope.items():
        counts = defaultdict(Counter)
        left, right = defaultdict(Counter), defaultdict(Counter)
        for start in range(len(symbols)):
            for length in range(1, longest + 1):
                string = tuple(symbols[start : start + length])
                if len(string) < length or not {None, "other", "line"}.isdisjoint(string):
                    break
                counts[length][string] += 1
                before, after = symbols[start - 1], symbols[start + length]
                is_alone = before == after == "line"
                for side, symbol in ((left, before), (right, after)):
                    edge = ("alone",) if is_alone else ("edge", start)
                    side[string][edge if symbol in {None, "line"} else symbol] += 1

        def ratio(string, counts=counts):
            return counts[len(string)][string] / counts[len(string)].total()

        def mi(first, second, ratio=ratio):
            return math.log2(ratio(first + second) / (ratio(first) * ratio(second)))

        for length in range(2, longest + 1):
            for string, count in counts[length].items():
                if count >= min_count:
                    sides = left[string], right[string]
                    found[scope, separator.join(string)] = (
                        count,
                        sum(mi((a,), (b,)) for a, b in pairwise(string)) / (length - 1),
                        *map(entropy, sides),
                        any(len(side) == 1 and type(*side) is str for side in sides),
                    )
    return found


def entropy(counts):
    return -sum(n / counts.total() * math.log2(n / counts.total()) for n in counts.values())


def by_scope(made, per, cut):
    scopes = defaultdict(list)
    for document in made:
        scope = {"document": document.id, "group": document.group, "all": None}[per]
        scopes[scope] += cut(document)
    return scopes
