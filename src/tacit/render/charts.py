"""Bar charts of columns, with confidence intervals, as Vega-Lite and as SVG."""

from collections.abc import Sequence
from fractions import Fraction
from html import escape
from typing import Any

from tacit.render.table import Range, ShownColumn, Value, cell, interval, safe, spell

SCHEMA = "https://vega.github.io/schema/vega-lite/v5.json"


def chart(labels: Sequence[ShownColumn], measure: ShownColumn) -> dict[str, Any]:
    """Return a Vega-Lite chart with one bar for each row; ``labels`` name the bars.

    The fields have fixed names, because Vega-Lite reads dots and brackets in a field name as a
    path. The names of the columns are used only as titles.
    """
    ranges = measure.intervals or (None,) * len(measure.values)
    rows = [
        {
            "label": " · ".join(cell(column.values[place]) for column in labels),
            "value": None if value is None else float(value),
            **_ends(value, around),
        }
        for place, (value, around) in enumerate(zip(measure.values, ranges, strict=True))
    ]
    sides = {row["open"] for row in rows}
    title = " · ".join(safe(column.name) for column in labels)
    x = {"field": "label", "type": "nominal", "sort": None, "title": title}
    y = {"field": "value", "type": "quantitative", "title": _title(measure)}
    ends = {"y": {**y, "field": "low"}, "y2": {"field": "high"}}
    open_ends = [
        {
            "transform": [{"filter": f"datum.open === '{side}'"}],
            "mark": {"type": "point", "shape": f"triangle-{to}", "filled": True, "color": INK},
            "encoding": {"y": y},
        }
        for side, to in (("above", "up"), ("below", "down"))
        if side in sides
    ]
    return {
        "$schema": SCHEMA,
        "data": {"values": rows},
        "encoding": {"x": x},
        "layer": [
            {"mark": {"type": "bar", "opacity": 0.6}, "encoding": {"y": y}},
            {"mark": "rule", "encoding": ends},
            *open_ends,
        ],
    }


def _title(measure: ShownColumn) -> str:
    """Return the name of a measure, with the people whose rows its intervals leave out."""
    name = safe(measure.name)
    few = measure.all_but
    if few is None:
        return name
    return f"{name} (intervals: all but {spell(few, 'person', 'people')})"


def _ends(value: Value, around: Range) -> dict[str, float | str | None]:
    """Return the ends of a rule; an open one goes to the value, where a mark says so."""
    if around is None or value is None or isinstance(value, str):
        return {"low": None, "high": None, "open": None}
    low, high = (float(value if end is None else end) for end in around)
    side = "above" if around[1] is None else "below" if around[0] is None else None
    return {"low": low, "high": high, "open": side}


# ------------------------------------------------------------------ SVG
# The SVG needs no script and no network.

WIDTH, LEFT, ROW, RIGHT = 720, 240, 30, 110
INK, FILL, LINE = "#1c2b2a", "#7fb5ae", "#d7e0de"
LONGEST = 34
TICKS = 4


def bars(
    labels: Sequence[ShownColumn], measure: ShownColumn, low: Fraction, high: Fraction
) -> str:
    """Return an SVG with one bar for each row, from ``low``, and a rule for each interval.

    Bars are cut off at ``low`` and ``high``; the numbers next to them are not.

    Guarantee: all names and labels are escaped, so that a browser shows them as text.
    """
    ranges = measure.intervals or (None,) * len(measure.values)
    rows = []
    for place, (value, around) in enumerate(zip(measure.values, ranges, strict=True)):
        name = " · ".join(cell(column.values[place]) for column in labels)
        rows.append(f"<g>{_row(name, value, around, place, (low, high))}</g>")
    height = ROW * len(measure.values)
    title = escape(_title(measure))
    return (
        f'<svg viewBox="0 0 {WIDTH} {height + 40}" width="{WIDTH}" role="img" '
        f'aria-label="{title}" font-family="system-ui, sans-serif" font-size="13">'
        f"{_axis(low, high, height)}{''.join(rows)}"
        f"{_text((LEFT + WIDTH - RIGHT) // 2, height + 32, 'middle', title)}</svg>"
    )


def _row(
    name: str, value: Value, around: Range, place: int, ends: tuple[Fraction, Fraction]
) -> str:
    middle = place * ROW + ROW // 2
    cut = name if len(name) <= LONGEST else f"{name[: LONGEST - 1]}…"
    parts = [_text(LEFT - 10, middle, "end", cut)]
    if value is None or isinstance(value, str):
        return parts[0]
    number = cell(value, around)
    wide = _x(Fraction(value), *ends) - LEFT
    parts += [
        f"<title>{escape(f'{name}: {number} {interval(around, value)}')}</title>",
        f'<rect x="{LEFT}" y="{middle - 9}" width="{wide:.1f}" height="18" fill="{FILL}"/>',
        _text(WIDTH - RIGHT + 12, middle, "start", number),
    ]
    if around is not None:
        parts.append(_rule(around, ends, middle))
    return "".join(parts)


def _x(value: Fraction, low: Fraction, high: Fraction) -> float:
    share = min(max((value - low) / (high - low), Fraction(0)), Fraction(1))
    return LEFT + float(share) * (WIDTH - LEFT - RIGHT)


def _axis(low: Fraction, high: Fraction, height: int) -> str:
    parts = []
    for tick in range(TICKS + 1):
        value = low + (high - low) * tick / TICKS
        x = _x(value, low, high)
        parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="0" y2="{height}" stroke="{LINE}"/>')
        parts.append(_text(round(x), height + 12, "middle", cell(value)))
    return "".join(parts)


def _rule(
    around: tuple[Fraction | None, Fraction | None],
    axis: tuple[Fraction, Fraction],
    middle: int,
) -> str:
    """Return the rule of an interval; an open one goes to the end of the axis."""
    left, right = (
        _x(axis[place] if end is None else end, *axis) for place, end in enumerate(around)
    )
    ends = "".join(
        f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{middle - 5}" y2="{middle + 5}"/>'
        for x, end in zip((left, right), around, strict=True)
        if end is not None
    )
    rule = f'<line x1="{left:.1f}" x2="{right:.1f}" y1="{middle}" y2="{middle}"/>'
    return f'<g stroke="{INK}" stroke-width="1.5">{rule}{ends}</g>'


def _text(x: int, y: int, anchor: str, text: str) -> str:
    return (
        f'<text x="{x}" y="{y}" text-anchor="{anchor}" dominant-baseline="central" '
        f'fill="{INK}">{escape(text)}</text>'
    )
