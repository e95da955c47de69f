"""The chart of what was spent over time: stacked by analyst, in shares of the budget.

It is drawn from charges of ``GET /v1/ledger/{population}/history``. Shares add up exactly, so
that they can be stacked; epsilons do not.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from math import ceil
from typing import Any

from tacit.server.console.budget_words import day_of_time, share_of
from tacit.server.console.catalogue_words import day_in_words

MOST_STEPS, MOST_NAMED = 90, 3
OTHERS = "others and before"

WIDE, NARROW = (1040, 300), (350, 250)
LEFT, RIGHT, TOP, BOTTOM = 42, 12, 40, 30

FARTHEST = 3.0
"""A forecast is drawn up to so many times the days since the budget was opened."""


@dataclass(frozen=True, slots=True)
class SeriesShown:
    """One analyst's area: its key in the legend, and its path."""

    name: str
    look: int
    share: float
    path: str


@dataclass(frozen=True, slots=True)
class Label:
    """A text in a chart, at a place."""

    text: str
    x: float
    y: float
    look: str = ""


@dataclass(frozen=True, slots=True)
class SpentChart:
    """A chart that a template draws at one size."""

    width: float
    height: float
    left: float
    right: float
    now: float
    spent: float
    cap: float
    floor: float
    grid: tuple[float, ...]
    series: tuple[SeriesShown, ...]
    forecast: str
    labels: tuple[Label, ...]


@dataclass(frozen=True, slots=True)
class Spent:
    """The sums that analysts spent by the end of each step of days, in shares of the budget."""

    first: date
    today: date
    step: int
    names: tuple[str, ...]
    sums: tuple[tuple[float, ...], ...]
    """For each name, the share that was spent by the end of each step."""


def spent_over_time(
    lines: Sequence[Mapping[str, Any]], budget: Mapping[str, Any], today: date
) -> Spent:
    """Return who spent what until when, from the lines of charges in a history.

    The lines may be only the newest: the rest was spent before all of them.
    """
    cap = budget["cap"]
    charges = [
        (date.fromisoformat(day_of_time(each["at"])), each["who"], share_of(each["cost"], cap))
        for each in lines
        if each["kind"] == "charge" and each["cost"] is not None and each["at"] is not None
    ]
    days = [date.fromisoformat(day_of_time(each["at"])) for each in lines if each["at"]]
    first = min([*days, today])
    by: dict[str, float] = {}
    for _, who, share in charges:
        by[who] = by.get(who, 0.0) + share
    named = sorted(by, key=lambda who: (-by[who], who))[:MOST_NAMED]
    before = max(0.0, share_of(budget["spent"], cap) - sum(by.values()))
    is_rest = len(by) > len(named) or before > 1e-9  # noqa: PLR2004 - an error of rounding
    names = (*named, OTHERS) if is_rest else tuple(named)
    step = max(1, ceil(((today - first).days + 1) / MOST_STEPS))
    count = (today - first).days // step + 1
    sums = [[0.0] * count for _ in names]
    for day, who, share in charges:
        place = names.index(who) if who in named else len(names) - 1
        sums[place][min(count - 1, (day - first).days // step)] += share
    if is_rest:
        sums[-1][0] += before
    return Spent(first, today, step, names, tuple(tuple(_running_sums(each)) for each in sums))


def _running_sums(values: Sequence[float]) -> list[float]:
    total, found = 0.0, []
    for each in values:
        total += each
        found.append(total)
    return found


def charts_of(spent: Spent, days_left: int | None) -> tuple[SpentChart, SpentChart]:
    """Return the chart for wide screens and the one for phones."""
    return _chart(spent, days_left, *WIDE), _chart(spent, days_left, *NARROW)


def _chart(spent: Spent, days_left: int | None, width: float, height: float) -> SpentChart:
    passed = (spent.today - spent.first).days + 1
    wanted = passed if days_left is None else (passed + days_left) * 1.08
    whole = max(min(wanted, passed * FARTHEST + 7), passed * 1.1 + 1)
    floor, right = height - BOTTOM, width - RIGHT

    def x(days: float) -> float:
        return round(LEFT + days / whole * (right - LEFT), 1)

    def y(share: float) -> float:
        return round(floor - share * (floor - TOP), 1)

    total = sum(each[-1] for each in spent.sums)
    areas, below = [], [0.0] * len(spent.sums[0]) if spent.sums else []
    for at, (name, sums) in enumerate(zip(spent.names, spent.sums, strict=True)):
        above = [one + other for one, other in zip(below, sums, strict=True)]
        ends = [x(min((place + 1) * spent.step, passed)) for place in range(len(sums))]
        starts = [x(0), *ends[:-1]]
        path = [f"M{starts[0]} {y(below[0])}"]
        path += [f"V{y(share)}H{end}" for share, end in zip(above, ends, strict=True)]
        back = zip(reversed(below), reversed(starts), strict=True)
        path += [f"V{y(share)}H{start}" for share, start in back]
        look = MOST_NAMED + 1 if name == OTHERS else at + 1
        areas.append(SeriesShown(name, look, sums[-1], "".join(path) + "Z"))
        below = above
    forecast = ""
    if days_left is not None and days_left > 0:
        end = min(passed + days_left, whole)
        reached = total + (1 - total) * (end - passed) / days_left
        forecast = f"M{x(passed)} {y(total)}L{x(end)} {y(reached)}"
    return SpentChart(
        width,
        height,
        LEFT,
        right,
        x(passed),
        y(total),
        y(1),
        floor,
        tuple(y(share) for share in (0.25, 0.5, 0.75)),
        tuple(areas),
        forecast,
        tuple(_labels(spent, whole, x, y, width)),
    )


def _labels(spent: Spent, whole: float, x: Any, y: Any, width: float) -> list[Label]:
    parts = 5 if width > NARROW[0] else 3
    far = whole > 300  # noqa: PLR2004 - days; then a year is a part of each label
    found: list[Label] = []
    for part in range(parts):
        days = whole * part / parts
        day = (spent.first + timedelta(int(days))).isoformat()
        text = day_in_words(day, with_year=far)
        if not found or found[-1].text != text:
            found.append(Label(text, x(days), y(0) + 20))
    ends = (0, 0.25, 0.5, 0.75, 1)
    found += [Label(f"{share:.0%}", LEFT - 6, y(share) + 4, "end") for share in ends]
    return found
