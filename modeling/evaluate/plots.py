"""Pictures of an evaluation as SVG, made without a library: a reliability diagram, F1 by length.

The vertical axis of both goes from 0 at the bottom to 1 at the top.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from modeling.evaluate.calibration import Bin

_WIDTH, _HEIGHT = 460, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 12, 26, 58  # margins, in pixels
_BLUE, _GREY = "#2a6fbb", "#999"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """A ratio with its interval, and the name of the part that it was measured on."""

    name: str
    ratio: float
    low: float | None = None
    high: float | None = None


def draw_reliability(bins: Sequence[Bin]) -> str:
    """Draw a reliability diagram as SVG: the ratio of right predictions by probability.

    A bar is a bin, with its number of predictions above it; a point stands at its mean probability.
    On the dashed diagonal, the ratio equals the probability.
    """
    parts = [_line(_x(0), _y(0), _x(1), _y(1), colour=_GREY, dashes="4 4")]
    for one in bins:
        if one.right is not None and one.probability is not None:
            top, middle = _y(one.right), _x((one.low + one.high) / 2)
            parts.append(_bar(_x(one.low), _x(one.high), top))
            parts.append(_dot(_x(one.probability), top))
            parts.append(_text(middle, top - 6, f"{one.n:,}", size=8))
    ticks = [(_x(tenth / 10), f"{tenth / 10:.1f}") for tenth in range(0, 11, 2)]
    title = "Spans by probability"
    return _frame(parts, ticks, title=title, below="probability", beside="ratio right")


def draw_by_length(points: Sequence[Point]) -> str:
    """Draw the F1 of parts of the sentences by length as SVG, shortest first, with intervals."""
    parts, ticks = [], []
    for number, point in enumerate(points):
        x = _x((number + 0.5) / len(points))
        ticks.append((x, point.name.removesuffix("s").removesuffix(" word")))
        if point.low is not None and point.high is not None:
            parts.append(_line(x, _y(point.low), x, _y(point.high), colour=_BLUE))
        parts.append(_dot(x, _y(point.ratio)))
    title, below = "Strict F1 by length", "words of the sentence"
    return _frame(parts, ticks, title=title, below=below, beside="strict F1")


def _x(ratio: float) -> float:
    return _LEFT + ratio * (_WIDTH - _LEFT - _RIGHT)


def _y(ratio: float) -> float:
    return _TOP + (1 - ratio) * (_HEIGHT - _TOP - _BOTTOM)


def _frame(
    parts: Sequence[str], ticks: Sequence[tuple[float, str]], *, title: str, below: str, beside: str
) -> str:
    """Draw the title and the labelled axes around ``parts``, and return the SVG."""
    grid = [_line(_x(0), _y(n / 5), _x(1), _y(n / 5), colour="#ddd") for n in range(6)]
    numbers = [_text(_LEFT - 16, _y(n / 5) + 3, f"{n / 5:.1f}") for n in range(6)]
    names = [_text(x, _y(0) + 15, name) for x, name in ticks]
    middle = (_TOP + _HEIGHT - _BOTTOM) / 2
    words = [
        _text(_WIDTH / 2, 14, title, size=12),
        _text(_x(0.5), _HEIGHT - 18, below, size=10),
        f'<g transform="rotate(-90 11 {middle:.0f})">{_text(11, middle, beside, size=10)}</g>',
    ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" font-family="sans-serif">'
        f"<title>{escape(title)}</title>"
        + "".join([*grid, *numbers, *names, *parts, *words])
        + "</svg>"
    )


def _line(x: float, y: float, to_x: float, to_y: float, *, colour: str, dashes: str = "") -> str:  # noqa: PLR0917 - two points
    style = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" '
        f'stroke="{colour}"{style}/>'
    )


def _bar(left: float, right: float, top: float) -> str:
    return (
        f'<rect x="{left + 1:.1f}" y="{top:.1f}" width="{right - left - 2:.1f}" '
        f'height="{_y(0) - top:.1f}" fill="{_BLUE}" fill-opacity="0.35"/>'
    )


def _dot(x: float, y: float) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{_BLUE}"/>'


def _text(x: float, y: float, text: str, *, size: int = 9) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" text-anchor="middle">'
        f"{escape(text)}</text>"
    )
