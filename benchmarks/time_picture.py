"""Picture of F1 and time of all rows of the tables: SVG, drawn without a library.

The left side shows the F1 of each row, with a line for its 95 % interval and a grey mark for the F1
of a list of names. The right side shows the minutes that it took, and sentences per second if
measured. The picture also has its content in words, for people who cannot see it.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, ROW, TOP, BOTTOM = 760, 24, 30, 26  # pixels
SCALE, BARS, END = (170, 450), 480, 650
"""Pixels from the left: of F1 0 and 100; of 0 minutes; of the most minutes that a row has."""
BLUE, PALE, GREY, DARK = "#2a6fbb", "#9cc2e5", "#767676", "#222"


@dataclass(frozen=True)
class Row:
    """A row of the picture: means over seeds; ``interval`` and ``list`` of the first seed alone."""

    name: str
    f1: float
    interval: tuple[float, float]
    list: float
    """The F1 of a list of names."""
    minutes: float | None
    """Minutes of processor time to train and score one seed; None if that was done on a GPU."""
    speed: float | None = None
    """Tagged sentences per second; None if not measured."""

    @property
    def time(self) -> str:
        """The minutes, and the speed of tagging if measured, as text."""
        minutes = "" if self.minutes is None else f"{self.minutes:.0f} min"
        speed = f"{self.speed:.0f} sentences/s" if self.speed else ""
        return ", ".join(filter(None, (minutes, speed)))


def in_words(rows: Sequence[Row]) -> str:
    """Return the content of the picture in words: all figures of each row."""
    said = [
        f"{row.name} F1 {row.f1:.1f} ({row.interval[0]:.1f} to {row.interval[1]:.1f}; a list "
        f"{row.list:.1f}), {row.time}"
        for row in rows
    ]
    return "Strict F1, and CPU time to train and score: " + "; ".join(said) + "."


def draw(rows: Sequence[Row]) -> str:
    """Return the picture, as the text of an SVG file."""
    height, most = (
        TOP + ROW * len(rows) + BOTTOM,
        max((row.minutes or 0 for row in rows), default=0) or 1,
    )
    shown = (
        "speed" if not any(row.minutes for row in rows) else "CPU time to train and score; speed"
    )
    parts = [*axis(height - BOTTOM), text(BARS, 18, shown)]
    for number, row in enumerate(rows):
        y = TOP + ROW * (number + 0.5)
        length = (END - BARS) * (row.minutes or 0) / most
        parts += [
            text(SCALE[0] - 12, y + 4, row.name, anchor="end"),
            line((at(row.interval[0]), y), (at(row.interval[1]), y), colour=BLUE),
            line((at(row.list), y - 6), (at(row.list), y + 6), colour=GREY),
            f'<circle cx="{at(row.f1):.1f}" cy="{y:.1f}" r="4" fill="{BLUE}"/>',
            f'<rect x="{BARS}" y="{y - 7:.1f}" width="{length:.1f}" height="14" fill="{PALE}"/>',
            text(BARS + 6, y + 4, row.time),
        ]
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        'font-family="sans-serif" font-size="12">\n<title>F1 and time</title>\n'
        f"<desc>{escape(in_words(rows))}</desc>\n"
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>\n' + "\n".join(parts) + "\n</svg>\n"
    )


def at(f1: float) -> float:
    return SCALE[0] + f1 / 100 * (SCALE[1] - SCALE[0])


def axis(bottom: float) -> Iterator[str]:
    """Yield the SVG elements of the grid of F1, and of its title.

    ``bottom`` is the place of the lower end of the grid, in pixels from the top.
    """
    for f1 in range(0, 101, 20):
        yield line((at(f1), TOP), (at(f1), bottom), colour="#ddd")
        yield text(at(f1), bottom + 16, f"{f1}", anchor="middle")
    yield text(SCALE[0], 18, "strict F1, 95 % interval; grey: a list of names")


def line(begin: tuple[float, float], end: tuple[float, float], *, colour: str) -> str:
    (x1, y1), (x2, y2) = begin, end
    places = f'x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"'
    return f'<line {places} stroke="{colour}" stroke-width="1.5"/>'


def text(x: float, y: float, words: str, *, anchor: str = "start") -> str:
    place = f'x="{x:.1f}" y="{y:.1f}"'
    return f'<text {place} text-anchor="{anchor}" fill="{DARK}">{escape(words)}</text>'
