"""The screen Publications: what is released again and again, as lines with bands."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastapi import Response

from tacit.server.console.templates_of import number, visible
from tacit.server.console.visit import Visit, console_router, shown_to
from tacit.server.token_policy import Role

router = console_router()

MOST_LINES = 6
"""The most groups that a chart draws; the table has all of them."""

MOST_PERIODS = 60
"""The most periods that a screen shows: the newest ones."""

LONGEST_KEY = 40
COLOURS = [f"var(--series-{place})" for place in (1, 2, 3, 4)]


@router.get("/publications", **shown_to(Role.ANALYST, Role.OWNER))
async def publications(visit: Visit) -> Response:
    """Show all publications that the visitor may read, and the chosen one over time."""
    listed = (await visit.api("GET", "/v1/publications"))["publications"]
    chosen = visit.query.get("name") or (listed[0]["name"] if listed else None)
    shown = None
    if chosen is not None:
        first = newest_from(await visit.api("GET", "/v1/publications/{}", chosen))
        path, query = "/v1/publications/{}", {"after": first, "limit": MOST_PERIODS}
        shown = publication_shown(await visit.api("GET", path, chosen, query=query))
    return await visit.page(
        "publications.html", screen="publications", listed=listed, chosen=chosen, shown=shown
    )


def newest_from(found: Mapping[str, Any]) -> int:
    """Return the number of the first period to show, so that the newest ones are shown.

    Example:
        >>> newest_from({"periods": 100}), newest_from({"periods": 3})
        (40, 0)
    """
    return max(0, int(found["periods"]) - MOST_PERIODS)


def publication_shown(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the page shows of a publication: a chart for each number, and a table."""
    released = found["released"]
    numbers = list(released[0]["confidence"]) if released else []
    charts = [
        {
            "name": name,
            "label": label_of(name, released),
            "drawing": drawing(name, released),
            "has_band": any("low" in point for point in points_of(name, released)),
        }
        for name in numbers
    ]
    keys = keys_of(released[-1]) if released else []
    rows = [row for period in reversed(released) for row in rows_of(period, keys, numbers)]
    return {**found, "charts": charts, "keys": keys, "numbers": numbers, "rows": rows}


def keys_of(period: Mapping[str, Any]) -> list[str]:
    """Return the names of the columns that name a group, and not a number of it.

    Example:
        >>> keys_of(
        ...     {
        ...         "columns": {"ward": [], "n": [], "n_low": [], "n_high": []},
        ...         "confidence": {"n": 0.95},
        ...     }
        ... )
        ['ward']
    """
    numbers = period["confidence"]
    taken = {f"{name}{end}" for name in numbers for end in ("", "_low", "_high")}
    return [name for name in period["columns"] if name not in taken]


def rows_of(
    period: Mapping[str, Any], keys: Sequence[str], numbers: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """Yield the rows of a period for the table: its days, its keys, and numbers as text."""
    columns = period["columns"]
    for place in range(len(columns[numbers[0]]) if numbers else 0):
        cells = []
        for name in numbers:
            low, high = (columns.get(f"{name}_{end}") for end in ("low", "high"))
            said = interval(low[place] if low else None, high[place] if high else None)
            cells.append({"value": number(columns[name][place]), "interval": said})
        group = [columns[name][place] for name in keys]
        yield {"from": period["from"], "until": period["until"], "keys": group, "cells": cells}


def interval(low: float | None, high: float | None) -> str:
    """Return an interval in words, which may be open.

    Example:
        >>> interval(1, 3), interval(1, None), interval(None, None)
        ('1 to 3', '1 or more', '')
    """
    match low is None, high is None:
        case True, True:
            return ""
        case False, True:
            return f"{number(low)} or more"
        case True, False:
            return f"{number(high)} or less"
    return f"{number(low)} to {number(high)}"


def points_of(name: str, released: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return a point for each group and period: the day, the number and its interval."""
    keys = keys_of(released[-1])
    found: list[dict[str, Any]] = []
    for period in released:
        columns = period["columns"]
        for place, value in enumerate(columns[name]):
            group = ", ".join(visible(columns[key][place])[:LONGEST_KEY] for key in keys)
            low, high = (columns.get(f"{name}_{end}") or [] for end in ("low", "high"))
            ends = {"low": low[place], "high": high[place]} if low and high else {}
            if None in ends.values():
                ends = {}  # an open interval has no end to draw; the table has the other one
            found.append({"day": period["from"], "group": group, "value": value, **ends})
    drawn = list(dict.fromkeys(point["group"] for point in found))[:MOST_LINES]
    return [point for point in found if point["group"] in drawn]


def drawing(name: str, released: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a chart of Vega-Lite: a line for each group, in a band of its intervals.

    Fields have fixed names, because a name that comes from data would be an expression.
    """
    points = points_of(name, released)
    several = len({point["group"] for point in points}) > 1
    day = {"field": "day", "type": "temporal", "title": None}
    colour: dict[str, Any] = (
        {
            "field": "group",
            "type": "nominal",
            "scale": {"range": COLOURS},
            "legend": {"title": None, "orient": "top"},
        }
        if several
        else {"value": COLOURS[0]}
    )
    title = visible(name)[:LONGEST_KEY]
    bands = {
        "y": {"field": "low", "type": "quantitative", "title": title},
        "y2": {"field": "high"},
        "x": day,
        "color": colour,
    }
    lines = {
        "y": {"field": "value", "type": "quantitative", "title": title},
        "x": day,
        "color": colour,
    }
    is_closed = any("low" in point for point in points)
    band = {"mark": {"type": "area", "opacity": 0.18}, "encoding": bands}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v6.json",
        "description": label_of(name, released),
        "width": "container",
        "height": 220,
        "data": {"values": points},
        "layer": [
            *([band] if is_closed else []),
            {"mark": {"type": "line", "point": True}, "encoding": lines},
        ],
    }


def label_of(name: str, released: Sequence[Mapping[str, Any]]) -> str:
    """Return what a chart shows, in words."""
    first, last = released[0]["from"], released[-1]["until"]
    return f"{visible(name)} from {first} to {last}, with intervals; the table has the numbers."
