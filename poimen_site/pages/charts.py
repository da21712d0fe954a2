"""Charts as SVG geometry, drawn on the server: numbers in, rectangles out. Colours come from the stylesheet."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from poimen_site.pages.figures import Day

WIDTH, HEIGHT = 560.0, 168.0  # of the drawing, which scales to the page
LEFT, TOP, BOTTOM = 36.0, 10.0, 24.0
_ORDER = ("success", "failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Bar:
    """A piece of a column: ``kind`` is success, failed or cancelled."""

    kind: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Column:
    """A day: its bars from the bottom up, its label if it has one, the area that shows ``title`` on hover."""

    title: str
    label: str
    x: float
    middle: float
    width: float
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Columns, and the lines to read them by: ``(y, value)``."""

    width: float
    height: float
    base: float
    left: float
    columns: tuple[Column, ...]
    ticks: tuple[tuple[float, int], ...]


def column_chart(days: Sequence[Day]) -> Chart:
    """Return the stacked columns of ``days``; the scale starts at 0 and ends at a round number."""
    most = _round_up(max((day.total for day in days), default=0))
    base, room = HEIGHT - BOTTOM, HEIGHT - BOTTOM - TOP
    step = (WIDTH - LEFT) / max(len(days), 1)
    columns = []
    for index, day in enumerate(days):
        x, y, bars = LEFT + index * step, base, []
        for kind in _ORDER:
            height = getattr(day, kind) / most * room
            if height:
                y -= height
                bars.append(Bar(kind, round(x + step * 0.18, 2), round(y, 2), round(step * 0.64, 2), round(height, 2)))
        title = f"{day.day:%a %d %b}: {day.success} succeeded, {day.failed} failed, {day.cancelled} cancelled"
        is_labelled = (len(days) - 1 - index) % 3 == 0
        label = f"{day.day.day} {day.day:%b}" if is_labelled else ""
        columns.append(Column(title, label, round(x, 2), round(x + step / 2, 2), round(step, 2), tuple(bars)))
    values = sorted({0, most // 2, most}) if most > 1 else [0, most]
    ticks = tuple((round(base - value / most * room, 2), value) for value in values)
    return Chart(WIDTH, HEIGHT, base, LEFT, tuple(columns), ticks)


def _round_up(value: int) -> int:
    """The next of 1, 2, 4, 6, 10, 20, 40 ... that ``value`` fits under."""
    if value <= 1:
        return 1
    power = 10 ** math.floor(math.log10(value))
    return next(int(step * power) for step in (1, 2, 4, 6, 10) if step * power >= value)
