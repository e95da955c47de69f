"""Pictures that the server draws: the curve of error against price, and bars with intervals.

A picture is computed here as the coordinates of its parts, which a template writes as SVG. So
it needs no script, no style of its own and no second request, and nothing moves when it comes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import ceil, floor, log10
from typing import Any

from tacit.server.console.templates_of import number, visible

MOST_BARS, MOST_ROWS = 8, 24
"""Largest number of groups that are drawn as upright bars, and that are drawn at all."""

UPRIGHT_LETTERS, LYING_LETTERS = 12, 18
"""Letters of a group's key under an upright bar, and at the left of a lying one."""

Shape = dict[str, Any]


@dataclass(frozen=True, slots=True)
class LineScale:
    """A linear axis from the values ``low`` to ``high``, drawn from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float

    def place(self, value: float) -> float:
        """Return where ``value`` is drawn; values outside are drawn at the nearest end."""
        inside = min(max(value, self.low), self.high)
        return self.start + (self.end - self.start) * (inside - self.low) / (
            self.high - self.low
        )

    def ticks(self, about: int) -> list[float]:
        """Return round values on the axis, about so many.

        Example:
            >>> LineScale(0, 140, 0, 1).ticks(3)
            [0.0, 50.0, 100.0]
        """
        rough = (self.high - self.low) / about
        power = 10.0 ** floor(log10(rough))
        step = next(power * each for each in (1, 2, 5, 10) if power * each >= rough * 0.9)
        first, last = ceil(self.low / step), floor(self.high / step)
        return [float(f"{step * each:.12g}") for each in range(first, last + 1)]


def at(value: float) -> str:
    """Return a coordinate as it is written into SVG."""
    return f"{value:.1f}"


def short(text: object, letters: int) -> str:
    """Return the begin of a text for a label of a picture.

    Example:
        >>> short("north-east of the river", 12)
        'north-east …'
    """
    shown = visible(text)
    return shown if len(shown) <= letters else f"{shown[: letters - 1]}…"


# ------------------------------------------------------------------ the curve

LEFT, RIGHT, TOP, BOTTOM = 44.0, 350.0, 14.0, 126.0


def draw_curve(
    points: Iterable[tuple[float, float]],
    marks: Sequence[tuple[float, float]],
    asked: tuple[float, float] | None,
    free: Mapping[tuple[float, float], str],
    limit: tuple[float, str] | None,
) -> Shape | None:
    """Return the curve of error against price; None if there is too little to draw.

    Each point is an epsilon and an error. ``marks`` are those that are offered, and with
    ``asked`` they decide what is shown. ``free`` are stored answers with their labels, and
    beyond ``limit``, an epsilon, the picture is shaded and labelled.
    """
    curve = sorted(points)
    wanted = [*marks, *([asked] if asked else [])]
    if len(curve) < 2 or not wanted:  # noqa: PLR2004 - a line has two ends
        return None
    x = LineScale(0, 1.1 * max(each for each, _ in wanted), LEFT, RIGHT)
    y = LineScale(0, 1.4 * max(each for _, each in wanted), BOTTOM, TOP)
    return {
        "path": _path(curve, x, y),
        "x_ticks": [{"at": at(x.place(each)), "text": number(each)} for each in x.ticks(4)],
        "y_ticks": [
            {"at": at(y.place(each)), "text": f"± {number(each)}" if each else "0"}
            for each in y.ticks(4)
            if y.place(each) > TOP + 10  # the name of the axis is above
        ],
        "asked": None if asked is None else _dot(*asked, x, y),
        "free": [
            _dot(*place, x, y) | {"text": text}
            for place, text in free.items()
            if place[0] <= x.high and place[1] <= y.high
        ],
        "beyond": None if limit is None else _beyond(*limit, x),
    }


def _path(curve: Sequence[tuple[float, float]], x: LineScale, y: LineScale) -> str:
    """Return the part of a curve that is inside, which ends at the edges of the picture."""
    inside: list[tuple[float, float]] = []
    for (less, above), (more, below) in pairwise(curve):
        if less >= x.high or (above > y.high and below > y.high):
            continue
        slope = (below - above) / (more - less) if more > less else 0.0
        start, end = (less, above), (more, below)
        if above > y.high:  # where the line comes in from above
            start = less + (y.high - above) / slope, y.high
        if more > x.high:
            end = x.high, above + slope * (x.high - less)
        inside += [end] if inside else [start, end]
    return "M" + " L".join(f"{at(x.place(a))} {at(y.place(b))}" for a, b in inside)


def _dot(epsilon: float, error: float, x: LineScale, y: LineScale) -> Shape:
    across, up = x.place(epsilon), y.place(error)
    is_left = across < (LEFT + RIGHT) / 2
    return {
        "x": at(across),
        "y": at(up),
        "guide": f"M{at(LEFT)} {at(up)}H{at(across)}V{at(BOTTOM)}",
        "text_x": at(across + (10 if is_left else -10)),
        "text_y": at(up - 6 if up > TOP + 16 else up + 16),
        "anchor": "start" if is_left else "end",
    }


def _beyond(epsilon: float, text: str, x: LineScale) -> Shape | None:
    start = x.place(epsilon)
    if RIGHT - start < 1:
        return None
    narrow = RIGHT - start < 130  # noqa: PLR2004 - the width of the label
    middle = RIGHT if narrow else (start + RIGHT) / 2
    return {
        "x": at(start),
        "width": at(RIGHT - start),
        "text_x": at(middle),
        "anchor": "end" if narrow else "middle",
        "text": text,
    }


# ------------------------------------------------------------------ bars

Bar = tuple[str, float, float | None, float | None]
"""The key of a group, its value, and the ends of its interval where it has any."""

Span = tuple[str, float, float, tuple[float, float], list[float]]
"""A bar's key and where its foot, its tip, the ends of its interval and the closed ones are."""


def draw_bars(bars: Sequence[Bar]) -> Shape | None:
    """Return bars with their intervals: upright if they are few, and lying otherwise.

    An end of an interval that is open is drawn as a line to the edge. None is returned if there
    is nothing to compare: a single bar, or more than a picture can show.
    """
    if not 1 < len(bars) <= MOST_ROWS:
        return None
    ends = [each for _, *found in bars for each in found if each is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    if low == high:
        high = 1.0
    room = 0.06 * (high - low)
    low, high = low - room if low < 0 else 0.0, high + room if high > 0 else 0.0
    longest = max(len(visible(key)) for key, *_ in bars)
    if len(bars) <= MOST_BARS and longest * len(bars) <= 48:  # noqa: PLR2004 - letters in a row
        return _upright(bars, LineScale(low, high, 150, 10))
    return _lying(bars, LineScale(low, high, 120, 296))


def _spans(bars: Sequence[Bar], scale: LineScale) -> Iterator[Span]:
    """Yield, for each bar, its key, foot, tip and interval, and which ends are closed."""
    for key, value, low, high in bars:
        start = scale.place(scale.low if low is None else low)
        end = scale.place(scale.high if high is None else high)
        closed = [place for place, given in ((start, low), (end, high)) if given is not None]
        yield key, scale.place(0), scale.place(value), (start, end), closed


def _upright(bars: Sequence[Bar], y: LineScale) -> Shape:
    step = 262 / len(bars)
    width = min(40.0, 0.62 * step)
    shapes = []
    for index, (key, base, top, (start, end), closed) in enumerate(_spans(bars, y)):
        middle = 36 + step * (index + 0.5)
        caps = "".join(f"M{at(middle - 7)} {at(place)}h14" for place in closed)
        shapes.append(
            {
                "key": short(key, UPRIGHT_LETTERS),
                "x": at(middle - width / 2),
                "y": at(min(base, top)),
                "width": at(width),
                "height": at(abs(base - top)),
                "middle_x": at(middle),
                "middle_y": at(top),
                "whisker": f"M{at(middle)} {at(start)}V{at(end)}{caps}",
                "label_x": at(middle),
                "label_y": "168",
                "anchor": "mid",
            }
        )
    return {"is_upright": True, "height": 174, "bars": shapes, **_axis_of(y, 4)}


def _lying(bars: Sequence[Bar], x: LineScale) -> Shape:
    shapes = []
    for index, (key, base, tip, (start, end), closed) in enumerate(_spans(bars, x)):
        middle = 14 + 22 * index
        caps = "".join(f"M{at(place)} {at(middle - 5)}v10" for place in closed)
        shapes.append(
            {
                "key": short(key, LYING_LETTERS),
                "x": at(min(base, tip)),
                "y": at(middle - 7),
                "width": at(abs(base - tip)),
                "height": "14",
                "middle_x": at(tip),
                "middle_y": at(middle),
                "whisker": f"M{at(start)} {at(middle)}H{at(end)}{caps}",
                "label_x": "112",
                "label_y": at(middle + 4),
                "anchor": "end",
            }
        )
    height = 14 + 22 * len(bars) + 16
    return {"is_upright": False, "height": height, "bars": shapes, **_axis_of(x, 3)}


def _axis_of(scale: LineScale, count: int) -> Shape:
    ticks = [{"at": at(scale.place(each)), "text": number(each)} for each in scale.ticks(count)]
    return {"ticks": ticks, "zero": at(scale.place(0))}
