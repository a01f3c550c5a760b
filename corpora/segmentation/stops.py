"""Ends of sentences after stops that need no space, with the quotes and brackets that close there.

Chinese, Tibetan and Khmer have such stops. Of the Chinese ones, ICU knows ``。！？`` and ``．``,
but not ``…`` and ``；``. ICU takes a plain quotation mark that opens after a stop for a closing
one, and leaves other opening marks with the sentence before.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cache

_CLOSING = "”’」』）】》〉〕］)]}"
_OPENING = "“‘「『（【《〈〔［([{"
_AROUND = re.compile(rf"[{re.escape(_CLOSING + _OPENING)}\"'\s]*\Z")
_TITLE = re.compile(r"《[^《》\n]{1,60}》|〈[^〈〉\n]{1,60}〉")
_GO_ON = frozenset("，、：﹐﹑﹕,:")
"""Marks after which a sentence continues, whatever stop is before them."""
_LATIN = re.compile(r"[\dA-Za-zＡ-Ｚａ-ｚ]")
_CONTEXT = 80


@cache
def _patterns(stops: str, unbroken: tuple[str, ...]) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Make the pattern of a stop with what follows it, and that of what follows alone."""
    stop, after = re.escape(stops), re.escape(_CLOSING + stops)
    first = "|".join([*map(re.escape, unbroken), f"[{stop}]"])
    rest = rf"(?:[{after}]|\[\d{{1,3}}\]|[^\S\n]+(?=[{after}]))*+"
    return re.compile(f"(?:{first}){rest}"), re.compile(rest)


def after_stops(text: str, stops: str, unbroken: tuple[str, ...] = ()) -> Iterator[int]:
    """Yield the offset after each run of stops, with the marks that close and the notes (``[1]``).

    ``．`` between digits or Latin letters is no stop. A stop in a title (``《…》``), or before a
    comma or colon, ends no sentence. A plain quotation mark closes if the number of such marks
    before it, in its line, is odd. ``unbroken`` are abbreviations with stops in them.
    """
    end = 0
    quotes = _Quotes(text)
    titles = _Titles(text)
    run, rest = _patterns(stops, unbroken)
    for match in run.finditer(text):
        if match.start() < end or _is_point(text, match) or titles.hold(match.start()):
            continue
        end = match.end()
        while text[end : end + 1] == '"' and quotes.are_open(end):
            following = rest.match(text, end + 1)
            end = following.end() if following else end + 1
        if text[end : end + 1] not in _GO_ON:
            yield end


def _is_point(text: str, found: re.Match[str]) -> bool:
    """Tell whether the stop is a point in a number, or in Latin initials or addresses."""
    before, after = text[max(found.start() - 1, 0)], text[found.end() : found.end() + 1]
    return found[0] == "．" and bool(_LATIN.match(before) and _LATIN.match(after))


class _Titles:
    """The titles of a text, which their marks enclose: ``《你好！李焕英》``."""

    def __init__(self, text: str) -> None:
        self._spans = [title.span() for title in _TITLE.finditer(text)]

    def hold(self, place: int) -> bool:
        """Tell whether ``place`` is inside a title."""
        before = bisect_right(self._spans, (place, 0)) - 1
        return before >= 0 and place < self._spans[before][1]


class _Quotes:
    """A counter of the plain quotation marks of a text, from its start to its end."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._n = 0  # marks from the start of the line up to ``_at``

    def are_open(self, place: int) -> bool:
        """Tell whether a mark is open at ``place``, in its line; places must not decrease."""
        line = self._text.rfind("\n", self._at, place) + 1
        if line:
            self._at, self._n = line, 0
        self._n += self._text.count('"', self._at, place)
        self._at = place
        return self._n % 2 == 1


def follows_stop(text: str, boundary: int, stops: str) -> bool:
    """Tell whether only quotes, brackets and spaces stand between a stop and the boundary."""
    start = max(0, boundary - _CONTEXT)
    before = text[start:boundary].rpartition("\n")[2]
    tail = _AROUND.sub("", before)
    return bool(tail) and tail[-1] in stops


def with_stops(
    text: str, boundaries: Iterable[int], stops: str, *, unbroken: tuple[str, ...] = ()
) -> list[int]:
    """Replace the boundaries of ICU that follow a stop by those of ``after_stops``; in order."""
    others = {boundary for boundary in boundaries if not follows_stop(text, boundary, stops)}
    return sorted(others.union(after_stops(text, stops, unbroken)))
