"""Segmentation of paragraphs into sentences, and of sentences into words.

ICU finds the candidates. A table for each language (``languages/<lang>.toml``) adds what ICU lacks:
abbreviations, whether "9." means "ninth", how sentences begin. ``Segmenter._period`` alone decides
whether a period belongs to the word before it, for sentences and words alike.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from corpora.document import Span
from corpora.segmentation.language_tags import CHINESE, primary_language
from corpora.segmentation.scripts import begins_low, is_initial
from corpora.segmentation.starts import (
    CLITIC,
    CLOSING,
    INVISIBLE,
    LETTERS_BEFORE_NUMBER,
    with_other_starts,
    without_notes,
)
from corpora.segmentation.stops import follows_stop, with_stops
from corpora.segmentation.tables import LanguageRules, Period, composed, make_table, read_table

if TYPE_CHECKING:
    from icu4py.breakers import BaseBreaker

# Alphabets whose words are written with spaces between them (Latin, Greek, Cyrillic), with digits,
# combining marks and soft hyphens. In all other scripts the words of ICU stay as they are.
_ALPHABET = "0-9A-Za-z_\u00ad\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u052f\u1e00-\u1fff"
_HYPHEN = "\u2010\u2011-"
_MARKS = "!-/:-@\\[-`{-~\u00a1-\u00ac\u00ae-\u00bf\u2013-\u2027\u2030-\u205e"
_PARTS = rf"[{_ALPHABET}]+(?:\.?[{_HYPHEN}][{_ALPHABET}]+|['’][{_ALPHABET}]+)*+"
_DIGITS = r"\d++(?:[.,]\d+)*+"
_OPENING = "\"'»«›‹“”„‚‘’([{*–—-•⁃‣▪■●○◦ \u00a0\t\n"

_LINE_BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_FIRST_WORD = re.compile(r"[\W_]*([^\W_](?:[^\W_]|[\u0300-\u036f])*)")
_OTHER = rf"[^\s{_ALPHABET}{_MARKS}]+"
_LAST_WORD = re.compile(rf"(?:{_DIGITS}|{_PARTS}|{_OTHER}(?:[\"'’]{_OTHER})*+)\.$")
_UP_TO_LAST_LETTER = re.compile(r".*\w", re.DOTALL)
_HAN = re.compile(
    "[\u2e80-\u2fd5\u3005-\u3007\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003fffd]"
    "[\u0300-\u036f\ufe00-\ufe0f\U000e0100-\U000e01ef]*"  # marks and variation selectors
)
_MAX_PLAIN = 100_000
_DAY_DIGITS = 2
_INITIAL = 4  # most characters of an initial: a letter and its marks
_CONTEXT = 80  # characters on each side of a boundary that are examined

_ODD = re.compile(r"[^ -~¡-¬®-ʯ–„“”…’]")  # ICU may return a word with white space
_SPACES = re.compile(r"\s+")
_UNSEEN = re.compile(f"[{INVISIBLE}\ufe00-\ufe0f\U000e0100-\U000e01ef]+")
"""Characters that nobody sees: joiners, soft hyphens, marks of direction, selectors of glyphs."""
_SPACE = frozenset(filter(str.isspace, map(chr, range(0x3001)))) | {"\u200b"}
_RUN = re.compile(rf"([{_MARKS}])(?:\1+|(?<=['’])(?<![\w.!?…].)[snt]\b)")  # also ’s
_JOINT = re.compile(rf"[.@{_HYPHEN}]\S*")
_TOKEN = re.compile(
    rf"""
    (?P<address> (?:(?:https?|ftp)://|www\.) [^\s<>"„“”«»]*[\w/=\#&%~+-]
               | (?<![\w.+-]) [\w.+-]+@[\w-]+(?:\.[\w-]+)+ )
  | (?P<number> (?<![{_ALPHABET}]) {_DIGITS} (?![{_HYPHEN}]?[^\W\d_]) )  (?: \.(?!\.) )?
  | (?P<word> {_PARTS} )  (?: \.(?!\.) | [{_HYPHEN}](?![\w{_HYPHEN}]) )?
    """,
    re.VERBOSE,
)
_HYPHENS = re.compile(f"[{_HYPHEN}]")
_ELIDED = re.compile(r"[^\W\d_]+['’](?=(?!(?:ll|re|ve)$)[^\W\d_]{2}|[A-ZÀ-ÖØ-Þ]$)")
_NUMBER_SIGN = re.compile(r"(?<![^\W_])[Nn][°º]\.$")
_PART_OF_NAME = re.compile(r"[^\W\d_]\.|O['’]")  # "J.-C.", "O'Neill": no starters
_SCALES = ("C", "F", "R")
_DEGREES = re.compile(r"°\s?\Z")
_SOURCE = re.compile(r"\([^()\n]{1,80}\)[.,;]")
_QUOTES = frozenset("\"'”’»«“")
_GLUED = re.compile(r"([^\W\d_]{1,6})\.(?!\.)")

_ROMAN = re.compile(r"(?=[IVXLCDM]{2})M{0,3}(?:C[MD]|D?C{0,3})(?:X[CL]|L?X{0,3})(?:I[XV]|V?I{0,3})")
_LIST_NUMBER = re.compile(r"\d{1,3}|[A-Za-z]|[IVX]{1,5}")
_DAY = re.compile(r"(?<!\d)\d{1,2}\.\s?\Z")
_DATE = re.compile(r"\d{1,2}\.(?:0?[1-9]|1[0-2])(?:\.\d{2})?")
_DIGIT = re.compile(r"\s*\d")
_NUMBER = re.compile(r"\s*(\d|[IVXLC]+\b)")
_AFTER_NUMBER = re.compile(r"\d[^\s,;()]{0,4}\s*\Z")
_HEADING = re.compile(r"\s*(?:\d|[^\W\d_a-zß-öø-ÿа-џ]{2})")
_VOWELLESS = re.compile(r"[B-DF-HJ-NP-TV-XZb-df-hj-np-tv-xzß][b-df-hj-np-tv-xzß]{1,4}")


def is_unseen(text: str) -> bool:
    """Tell whether a text has only characters that nobody sees, and blanks."""
    return not _UNSEEN.sub("", text).strip()


def _seen(
    text: str, words: Iterable[tuple[int, int]], cuts: Container[int]
) -> Iterator[tuple[int, int]]:
    """Join what nobody sees to the word before or after it; leave out what touches none."""
    joined: list[tuple[int, int]] = []
    for start, end in words:
        before, last = joined[-1] if joined else (start, -1)
        is_bare = any(_UNSEEN.fullmatch(text, *pair) for pair in ((before, last), (start, end)))
        if last == start and start not in cuts and is_bare:
            joined[-1] = (before, end)
        else:
            joined.append((start, end))
    return (pair for pair in joined if not _UNSEEN.fullmatch(text, *pair))


@dataclass(frozen=True, slots=True)
class Segmenter:
    """A finder of sentences and words of one language; made by ``segmenter``."""

    locale: str
    table: LanguageRules = field(repr=False)
    _plain: set[str] = field(default_factory=set, init=False, repr=False, compare=False)
    """Words after which a period is a full stop in any context: a cache."""

    @property
    def conjunctions(self) -> frozenset[str]:
        """The words that may follow a suspended hyphen: "Ein- *und* Ausgang"."""
        return self.table.conjunctions or _all_conjunctions()

    def sentences(self, text: str, within: Span, *, unbroken: Sequence[Span] = ()) -> list[Span]:
        """Cut the paragraph ``within`` into sentences, in order and without white space around.

        A span of ``unbroken`` is never cut; a line break counts as a space.
        """
        paragraph = _LINE_BREAK.sub(" ", text[within.start : within.end])
        boundaries = [within.start + offset for offset in self._starts(paragraph)]
        block = (within.start, within.end)
        found = self._cut(text, [block], boundaries, unbroken=_outermost(unbroken))
        return [Span(*pair) for pair in found]

    def split(
        self, text: str, blocks: Sequence[tuple[int, int]], *, unbroken: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, int]]:
        """Cut many paragraphs into sentences at once, in a third of the time of ``sentences``.

        ``blocks`` are in order, and each stands on a line of its own; ``unbroken`` are disjoint
        and in order.
        """
        if len(text.splitlines()) > len(blocks):  # a block has several lines
            lines = [_LINE_BREAK.sub(" ", text[start:end]) for start, end in blocks]
            boundaries = self._starts("\n".join(lines))
        else:
            boundaries = self._starts(text)
        return self._cut(text, blocks, boundaries, unbroken=unbroken)

    def _cut(
        self,
        text: str,
        blocks: Sequence[tuple[int, int]],
        boundaries: Sequence[int],
        *,
        unbroken: Sequence[tuple[int, int]],
    ) -> Iterator[tuple[int, int]]:
        """Cut blocks at each of the ordered ``boundaries`` at which a sentence ends."""
        starts = [start for start, _ in unbroken]
        position = 0
        for start, end in blocks:
            begin = start
            position = bisect_right(boundaries, start, position)
            while position < len(boundaries) and (boundary := boundaries[position]) < end:
                position += 1
                around = bisect_left(starts, boundary) - 1
                if around >= 0 and unbroken[around][1] > boundary:
                    continue
                if self._ends(text, boundary, begin=begin, limit=end):
                    if sentence := _stripped(text, begin, boundary):
                        yield sentence
                    begin = boundary
            if sentence := _stripped(text, begin, end):
                yield sentence

    def _starts(self, text: str) -> list[int]:
        """Find the offsets where sentences may begin, in order: those of ICU, and more."""
        from icu4py.breakers import SentenceBreaker

        starts = _ends(SentenceBreaker(text, self.locale), len(text))
        starts = with_other_starts(text, starts, self.table)
        table = self.table
        if not table.stops:
            return starts
        return with_stops(text, starts, table.stops, unbroken=table.unbroken_stops)

    def edges(self, text: str) -> list[int]:
        """Find the offsets where ICU begins and ends words, for the argument of ``words``."""
        from icu4py.breakers import WordBreaker

        found = [0, *_ends(WordBreaker(text, self.locale), len(text))]
        if self.table.characters:
            return sorted({*found, *(edge for han in _HAN.finditer(text) for edge in han.span())})
        return found

    def words(
        self,
        text: str,
        within: Span,
        *,
        cuts: Iterable[int] = (),
        edges: Sequence[int] | None = None,
    ) -> list[tuple[int, int]]:
        """Cut the sentence ``within`` into words and marks; none spans an offset of ``cuts``.

        Characters that nobody sees are in the word that they touch, or in none.

        ``edges`` is the result of the method ``edges`` for the text: to pass it saves time where
        the text has many sentences.
        """
        start, end = within.start, within.end
        sentence = text[start:end]
        if edges is None:
            edges = [start + edge for edge in self.edges(sentence)]
        edges = [start, *edges[bisect_right(edges, start) : bisect_left(edges, end)], end]
        joined: set[int] = set()
        added: set[int] = set()
        self._mark(text, within, joined=joined, added=added)
        if _ODD.search(sentence):
            for space in _SPACES.finditer(text, start, end):
                added.update(space.span())
        cuts = {cut for cut in cuts if start < cut < end}
        added |= cuts
        if joined or added:
            edges = sorted((set(edges) - joined) | added)
        words = [pair for pair in pairwise(edges) if text[pair[0]] not in _SPACE]
        return list(_seen(text, words, cuts)) if _UNSEEN.search(sentence) else words

    def _ends(self, text: str, boundary: int, *, begin: int, limit: int) -> bool:
        """Tell whether the sentence that starts at ``begin`` ends before ``boundary``."""
        if text[boundary - 2 : boundary] == ". " and text[boundary].isupper():
            last = max(text.rfind(" ", begin, boundary - 2) + 1, begin)
            if text[last : boundary - 2] in self._plain:
                return True
        following = _FIRST_WORD.match(text, boundary, min(limit, boundary + _CONTEXT))
        if not following:
            return False
        if self.table.stops and follows_stop(text, boundary, self.table.stops):
            return True
        is_odd = following[1][0].islower() or following.start(1) > boundary
        if is_odd and _goes_on(text, boundary, following):
            return False
        context = max(begin, boundary - _CONTEXT)
        tail = without_notes(text[context:boundary].rstrip()).rstrip(CLOSING)
        if not tail.endswith("."):
            return bool(tail) and tail[-1] not in self.table.commas
        if not self.table.full_stop:
            return False
        word = _LAST_WORD.search(tail, tail.rfind(" ") + 1)
        if word is None:
            return not (following[1][0].isdecimal() and _NUMBER_SIGN.search(tail))
        start, dot = context + word.start(), context + word.end() - 1
        is_first = start - begin < 8 and not text[begin:start].strip(_OPENING)
        if is_first and _LIST_NUMBER.fullmatch(text, start, dot):
            return False
        period = self._phrase_period(text, start, dot)
        if period in (Period.EITHER, Period.ORDINAL):
            first = composed(following[1])
            first = first.capitalize() if first.isupper() else first
            is_name = _PART_OF_NAME.match(text, following.start(1))
            return first in self.table.starters and not is_name
        if period is Period.FINAL:
            return not following[1][0].isdecimal()
        if period is Period.STOP:
            self._remember(text[start:dot])
            return True
        return False

    def _remember(self, word: str) -> None:
        """Keep a word if a period after it is a full stop wherever it stands."""
        is_year = len(word) > 3 and word.isdecimal()
        small = word.capitalize() if word.isupper() else word
        is_open = self.table.before_numbers.intersection((word, small))
        is_word = word.isalpha() and not is_open and small not in self.table.periods
        if is_year or (is_word and not _LIST_NUMBER.fullmatch(word)):
            if len(self._plain) >= _MAX_PLAIN:
                self._plain.clear()
            self._plain.add(word)

    def _mark(self, text: str, within: Span, *, joined: set[int], added: set[int]) -> None:
        """Collect the edges of ICU that are inside our words, and the edges that ICU lacks."""
        start, end = within.start, within.end
        for run in _RUN.finditer(text, start, end):
            joined.update(range(run.start() + 1, run.end()))
            added.update(run.span())
        letters = _UP_TO_LAST_LETTER.match(text, start, end)
        last = letters.end() if letters else start
        for joint in _JOINT.finditer(text, start, end):
            start = max(start, text.rfind(" ", start, joint.start()) + 1)
            for token in _TOKEN.finditer(text, start, joint.end()):
                inner = range(token.start() + 1, token.end())
                if token["address"]:
                    joined.update(inner)
                    added.difference_update(inner)
                elif text[token.end() - 1] == ".":
                    self._mark_period(text, token, last, joined=joined, added=added)
                elif not token[0].isalpha():
                    joined.update(inner)
            start = joint.end()

    def _mark_period(
        self, text: str, token: re.Match[str], last: int, *, joined: set[int], added: set[int]
    ) -> None:
        """Cut a period off its word, or join both; ``last`` is where the sentence's letters end."""
        dot = token.end() - 1
        following = text[dot + 1 : min(dot + 2, token.endpos)]
        period = self._period(text, token.start(), dot)
        if period is Period.STOP or (period is Period.ORDINAL and dot >= last):
            joined.update(range(token.start() + 1, dot))
            if following.isalnum() and not (token["word"] and following.islower()):
                added.update((dot, dot + 1))  # as in "Ende.Der", but not as in example.org
            return
        joined.update(range(token.start() + 1, token.end()))
        glued = token["word"] and _GLUED.match(text, dot + 1, token.endpos)
        if not glued or self._period(text, *glued.span(1)) in (Period.STOP, Period.ORDINAL):
            added.add(dot + 1)  # as in "Nr.5", but not as in "d.h."

    def _phrase_period(self, text: str, start: int, dot: int) -> Period:
        """Classify the period at ``dot``; abbreviations before it are looked at too (z. B.)."""
        found = self._period(text, start, dot)
        if found in (Period.INNER, Period.EITHER, Period.FINAL):
            phrase = text[start:dot]
            for part in reversed(text[max(0, start - 16) : start].split()[-3:]):
                if not part.endswith("."):
                    break
                phrase = part.lstrip(_OPENING) + phrase
                found = self.table.periods.get(composed(phrase), found)
        return found

    def _period(self, text: str, start: int, dot: int) -> Period:
        """Classify the period at ``dot``, which follows the word ``text[start:dot]``."""
        table, word = self.table, composed(text[start:dot])
        if not word[-1].isalnum():
            word = word.rstrip(INVISIBLE) or word
        if word[-1].isdecimal():
            return self._period_after_number(text, start, dot)
        part = word if word.isalpha() else _ELIDED.sub("", _HYPHENS.split(word)[-1])
        if part in table.words or (part in _SCALES and _DEGREES.search(text, start - 2, start)):
            return Period.STOP
        known = table.periods.get(word) or table.periods.get(part)
        if known is not None:
            if part in table.after_numbers and not _AFTER_NUMBER.search(text, start - 12, start):
                return Period.INNER
            return known
        small = part.capitalize() if part.isupper() else part
        if small in table.periods and _HEADING.match(text, dot + 1):
            return table.periods[small]  # "MR. DARCY"
        if small in table.before_numbers or part in table.before_numbers:
            number = _NUMBER.match(text, dot + 1)
            return Period.INNER if number and number[1] not in table.words else Period.STOP
        if len(part) <= _INITIAL and is_initial(part):
            return Period.EITHER
        if len(part) == 1:
            return Period.STOP
        if not table.periods and _is_short(part) and _DIGIT.match(text, dot + 1):
            return Period.INNER
        if part.endswith(table.endings):
            return Period.EITHER
        if (table.roman_ordinals and _ROMAN.fullmatch(part)) or (
            table.starters and _VOWELLESS.fullmatch(part)
        ):
            return Period.ORDINAL
        return Period.STOP

    def _period_after_number(self, text: str, start: int, dot: int) -> Period:
        number = text[start:dot]
        if not self.table.ordinals:
            is_date = not self.table.starters and len(number) <= _DAY_DIGITS
            return Period.INNER if is_date and _NUMBER.match(text, dot + 1) else Period.STOP
        if _DATE.fullmatch(number):
            return Period.EITHER
        if not number.isdecimal() or len(number) > 3:
            return Period.STOP
        if int(number) <= 12 and _DAY.search(text, max(0, start - 4), start):
            return Period.EITHER  # the month of a date: "9. 5."
        return Period.ORDINAL


@cache
def segmenter(lang: str | None) -> Segmenter:
    """Make the segmenter for a BCP 47 tag; a language without a table gets an empty one."""
    code = primary_language(lang)
    if not re.fullmatch("[a-z]{2,3}", code):
        return Segmenter("root", LanguageRules())
    if (resource := _table_of(code)).is_file():
        return Segmenter(code, read_table(resource.read_text("utf-8"), source=resource.name))
    return Segmenter(code, LanguageRules())


def segmenter_with(lang: str | None, table: Mapping[str, object]) -> Segmenter:
    """Make the segmenter for a language with ``table``, as in a TOML file, in place of its own."""
    return Segmenter(segmenter(lang).locale, make_table(table, source="table"))


def segmenter_plus(
    lang: str | None, *, declared: Mapping[str, Sequence[str]], learned: Mapping[str, Sequence[str]]
) -> Segmenter:
    """Make the segmenter for a language with more abbreviations than its table has.

    Declared abbreviations (``never_final``, ``may_be_final``) override the table, learned ones do
    not.
    """
    plain = segmenter(lang)
    table = plain.table.with_abbreviations(learned, is_certain=False)
    return Segmenter(plain.locale, table.with_abbreviations(declared, is_certain=True))


def may_be_final(segmenter: Segmenter, abbreviation: str) -> bool:
    """Tell whether the table knows an abbreviation after which a sentence may end (``etc.``)."""
    form = composed("".join(abbreviation.split())).removesuffix(".")
    known = segmenter.table.periods.get(form)
    return known is Period.FINAL or (known is Period.EITHER and len(form) > 1)


def table_name(lang: str | None) -> str:
    """Name the table that serves a language; empty where none does."""
    code = primary_language(lang)
    if (table := _table_of(code)).is_file():
        return f"corpora/segmentation/languages/{table.name}"
    return ""


def has_table(lang: str | None) -> bool:
    """Tell whether abbreviations of a language are known."""
    return bool(table_name(lang))


def _table_of(code: str) -> Traversable:
    return files("corpora.segmentation") / "languages" / f"{_SAME_TABLE.get(code, code)}.toml"


@cache
def _all_conjunctions() -> frozenset[str]:
    """Collect the conjunctions of all tables, for languages whose table has none."""
    texts = (
        file.read_text("utf-8") for file in (files("corpora.segmentation") / "languages").iterdir()
    )
    return frozenset().union(*(read_table(text, source="").conjunctions for text in texts))


_SAME_TABLE = dict.fromkeys(CHINESE, "zh") | {
    "bs": "hr",
    "nb": "no",
    "nn": "no",
    "ti": "am",
    "sh": "hr",
    "enm": "en",
    "frm": "fr",
    "fro": "fr",
    "gmh": "de",
    "goh": "de",
    "dum": "nl",
    "grc": "el",
    "blk": "my",
    "mnw": "my",
    "shn": "my",
}
"""Languages that use the table of another, among them older stages of that language."""


def _goes_on(text: str, boundary: int, following: re.Match[str]) -> bool:
    """Tell whether what follows a stop belongs to the sentence before.

    A word with a small letter (but ``'s Avonds`` begins a sentence), a number after ``№``, or the
    source of a quotation: ``… is lost?” (Smith 55).``
    """
    clitic = CLITIC.match(text, boundary)
    if begins_low(following[1]) and not (clitic and text[clitic.end()].isupper()):
        return True
    if "№" in text[boundary : following.start(1)]:
        return True
    is_bracket = text[boundary] == "(" and text[boundary - 2 : boundary - 1] in _QUOTES
    return is_bracket and _SOURCE.match(text, boundary) is not None


def _is_short(word: str) -> bool:
    """Tell whether a word may be an abbreviation: a few letters, in a script with capitals."""
    return len(word) < LETTERS_BEFORE_NUMBER and word[0].lower() != word[0].upper()


def _outermost(spans: Iterable[Span]) -> list[tuple[int, int]]:
    """Select the spans that no other span covers; ``spans`` nest."""
    outer: list[tuple[int, int]] = []
    for span in sorted(spans, key=lambda span: (span.start, -span.end)):
        if not outer or outer[-1][1] < span.end:
            outer.append((span.start, span.end))
    return outer


def _ends(breaker: "BaseBreaker", length: int) -> list[int]:
    """List the offsets at which the pieces of a text of ``length`` characters end."""
    ends = [end for _, end in breaker.segments()]
    if ends and ends[-1] != length:  # they count UTF-16 code units, not characters
        return list(accumulate(map(len, breaker)))
    return ends


def _stripped(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return the span without white space around; None if it has nothing but white space."""
    while end > start and text[end - 1].isspace():
        end -= 1
    while start < end and text[start].isspace():
        start += 1
    return (start, end) if start < end else None
