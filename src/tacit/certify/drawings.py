"""The pictures of a report, as SVG inside of its page: they need no script and no network.

Each picture is drawn twice, for a wide page and for a narrow screen, because the letters of a
wide one are too small on a telephone. The style of the page shows one of them. The colours are
those of the page, so that they follow a dark theme.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from html import escape

WIDE, NARROW = 760, 350
"""The widths of the two drawings of a picture, in points."""

INK, SOFT, LINE = "var(--ink)", "var(--soft)", "var(--line)"
MAIN, CAP = "var(--main)", "var(--cap)"

TOP, BOTTOM, LEFT, RIGHT = 22, 34, 54, 24
HEIGHT = 250
MOST_STEPS = 200
"""Number of days that a line shows at most; of more, some are left out."""

CHARACTER = 6.4
"""Width of a character of a label, roughly, in points."""


def _svg(width: int, height: float, label: str, parts: Sequence[str]) -> str:
    kind = "narrow" if width == NARROW else "wide"
    return (
        f'<svg class="{kind}" viewBox="0 0 {width} {height:.0f}" role="img" '
        f'aria-label="{escape(label)}" width="{width}" font-size="12" fill="{INK}">'
        f"{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, said: str, *, anchor: str = "start", fill: str = INK) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {place} fill="{fill}">{escape(said)}</text>'


def _line(ends: tuple[float, float, float, float], colour: str, dashes: str = "") -> str:
    x, y, to_x, to_y = ends
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" stroke="{colour}"'
        f"{dashed}/>"
    )


# ------------------------------------------------------------------ spent over time


@dataclass(frozen=True, slots=True)
class SpentStep:
    """The epsilon spent and the cap, in epsilon, from a day on."""

    day: date
    spent: float
    cap: float


def thin(steps: Sequence[SpentStep]) -> list[SpentStep]:
    """Return at most `MOST_STEPS` of the steps, the last one among them."""
    every = -(-len(steps) // MOST_STEPS) or 1
    return [each for at, each in enumerate(steps) if (len(steps) - 1 - at) % every == 0]


def spent_over_time(steps: Sequence[SpentStep], until: date) -> str:
    """Return a picture of the epsilon that was spent, below the cap, up to a day.

    Example:
        >>> spent_over_time([SpentStep(date(2026, 1, 1), 0.5, 3.0)], date(2026, 2, 1))[:4]
        '<svg'
    """
    return "".join(_spent_over_time(steps, until, width) for width in (WIDE, NARROW))


def _spent_over_time(steps: Sequence[SpentStep], until: date, width: int) -> str:
    first = steps[0].day
    days = (until - first).days + 1  # to the end of the last day
    most = max(max(each.cap, each.spent) for each in steps) or 1.0
    top = _round_up(most * 1.08)

    def x(day: date) -> float:
        return LEFT + (day - first).days / days * (width - LEFT - RIGHT)

    def y(value: float) -> float:
        return HEIGHT - BOTTOM - value / top * (HEIGHT - TOP - BOTTOM)

    def path(values: Sequence[tuple[date, float]]) -> str:
        found = [f"M{x(values[0][0]):.1f} {y(values[0][1]):.1f}"]
        for day, value in values[1:]:
            found.append(f"H{x(day):.1f}V{y(value):.1f}")
        return "".join([*found, f"H{width - RIGHT}"])

    parts = []
    for part in range(5):
        value = top * part / 4
        parts += [
            _line((LEFT, y(value), width - RIGHT, y(value)), LINE),
            _text(LEFT - 8, y(value) + 4, f"{value:.3g}", anchor="end", fill=SOFT),
        ]
    start = (first, 0.0)
    spent = path([start, *((each.day, each.spent) for each in steps)])
    cap = path([(each.day, each.cap) for each in steps])
    area = f"{spent}V{y(0):.1f}H{x(first):.1f}Z"
    last = steps[-1]
    parts += [
        f'<path d="{area}" fill="{MAIN}" fill-opacity="0.16"/>',
        f'<path d="{spent}" fill="none" stroke="{MAIN}" stroke-width="2.5"/>',
        (
            f'<path d="{cap}" fill="none" stroke="{CAP}" stroke-width="1.6" '
            'stroke-dasharray="6 4"/>'
        ),
        _text(width - RIGHT, y(last.cap) - 7, f"cap {last.cap:.4g}", anchor="end", fill=CAP),
        _text(
            width - RIGHT,
            y(last.spent) - 8 if last.spent < last.cap * 0.9 else y(last.spent) + 18,
            f"spent {last.spent:.4g}",
            anchor="end",
            fill=MAIN,
        ),
        _text(LEFT, TOP - 9, "epsilon", fill=SOFT),
        _text(LEFT, HEIGHT - 12, first.isoformat(), fill=SOFT),
        _text(width - RIGHT, HEIGHT - 12, until.isoformat(), anchor="end", fill=SOFT),
    ]
    return _svg(width, HEIGHT, "Epsilon spent over time, below the cap", parts)


def _round_up(value: float) -> float:
    """Return a round number that is not below ``value``.

    Example:
        >>> _round_up(3.24), _round_up(0.07)
        (4.0, 0.08)
    """
    power = 1.0
    while power > value:
        power /= 10
    while power * 10 <= value:
        power *= 10
    for figure in (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8):
        if figure * power >= value * (1 - 1e-9):
            return round(figure * power, 12)
    return round(10 * power, 12)


# ------------------------------------------------------------------ bars


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar of a share from 0 to 1, with its colour and what is written at its end."""

    name: str
    share: float
    colour: str
    said: str


@dataclass(frozen=True, slots=True)
class Group:
    """Bars under one title. The share ``guess`` is marked in all of them."""

    title: str
    bars: tuple[Bar, ...]
    guess: float | None = None


ROW, GAP, NAME, NARROW_NAME = 24, 16, 150, 84


def bars(groups: Sequence[Group], label: str, *, name: float = NAME) -> str:
    """Return a picture of groups of bars, one below the other, on a scale from 0% to 100%.

    ``name`` is the width of the names on a wide page.

    Example:
        >>> bars([Group("found", (Bar("cap", 0.1, MAIN, "10%"),))], "odds")[:4]
        '<svg'
    """
    return _bars(groups, label, name, WIDE) + _bars(groups, label, NARROW_NAME, NARROW)


def _bars(groups: Sequence[Group], label: str, name: float, width: int) -> str:
    left, parts, y = name + 10, list[str](), 16.0

    def x(share: float) -> float:
        return left + min(1.0, max(0.0, share)) * (width - left - 52)

    for group in groups:
        if group.title:
            parts.append(_text(0, y, group.title))
            y += 9
        begin = y
        for each in group.bars:
            wide = max(1.5, x(each.share) - x(0))
            parts += [
                _text(name, y + 15, _cut(each.name, name), anchor="end", fill=SOFT),
                (
                    f'<rect x="{x(0):.1f}" y="{y + 2:.1f}" width="{x(1) - x(0):.1f}" '
                    f'height="18" rx="3" fill="{LINE}" fill-opacity="0.45"/>'
                ),
                (
                    f'<rect x="{x(0):.1f}" y="{y + 2:.1f}" width="{wide:.1f}" height="18" '
                    f'rx="3" '
                    f'fill="{each.colour}"><title>{escape(f"{each.name}: {each.said}")}</title>'
                    "</rect>"
                ),
                _text(x(1) + 8, y + 15, each.said),
            ]
            y += ROW
        if group.guess is not None:
            parts.append(_line((x(group.guess), begin - 2, x(group.guess), y), INK, "3 3"))
        y += GAP + 6
    return _svg(width, y, label, parts)


def _cut(said: str, width: float) -> str:
    """Return a label that is short enough for ``width`` points."""
    most = max(4, int(width / CHARACTER))
    return said if len(said) <= most else f"{said[: most - 1]}…"
