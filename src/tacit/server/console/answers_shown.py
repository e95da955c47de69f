"""Show an answer of the API as a page does: rows with intervals, a picture, what is left out.

The numbers are those of the API. They are written with as many digits as their intervals give
reason for, and the downloads have all digits.
"""

from collections.abc import Mapping, Sequence
from datetime import date
from math import floor, isfinite, log10
from typing import Any

from tacit.server.console.pictures import Bar, draw_bars
from tacit.server.console.templates_of import number

MOST_ROWS = 200
"""Largest number of rows that a page shows; downloads have all of them."""

SPARE_DIGITS = 1
"""Digits that are shown of an interval's half width, after its first one."""

Columns = Mapping[str, Sequence[Any]]


def show_answer(answer: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a page shows of an answer of `POST /v1/ask` or `POST /v1/open`."""
    columns: Columns = answer["columns"]
    measures = [name for name in answer.get("confidence", {}) if name in columns]
    ends = {f"{name}{end}" for name in measures for end in ("_low", "_high")}
    keys = [name for name in columns if name not in measures and name not in ends]
    count = max((len(column) for column in columns.values()), default=0)
    rows = [_row(columns, keys, measures, index) for index in range(min(count, MOST_ROWS))]
    return {
        "heads": [
            *({"text": name, "is_number": False} for name in keys),
            *(
                head
                for name in measures
                for head in (
                    {"text": name, "is_number": True},
                    {
                        "text": f"{_percent(answer['confidence'][name])} interval",
                        "is_number": True,
                    },
                )
            ),
        ],
        "rows": rows,
        "is_wide": len(keys) + 2 * len(measures) > 3,  # noqa: PLR2004 - the picture is below
        "left_out": count - len(rows),
        "title": title_of(columns, measures),
        "picture": _picture(columns, keys, measures, count),
        "picture_label": _in_words(rows, keys, measures),
        "coverage": answer.get("coverage", []),
        "asked_on": day_in_words((answer.get("dates") or {}).get("charged")),
        "epochs": (answer.get("dates") or {}).get("epochs", []),
        "guarantee": answer.get("guarantee", ""),
        "receipt": answer.get("receipt", ""),
        "release_key": answer.get("release_key", ""),
    }


def title_of(columns: Columns, measures: Sequence[str]) -> str:
    """Return the title of an answer: its margin of error, if it is the same for all groups."""
    if not measures:
        return "Answer"
    name = measures[0]
    halves = {
        round(max(abs(each - low), abs(high - each)), 9)
        for each, low, high in _intervals(columns, name)
        if None not in {low, high, each}
    }
    if len(halves) != 1:
        return "Answer"
    return f"Answer, ± {round_error(halves.pop())}"


def round_error(value: float) -> str:
    """Return a margin of error with two digits.

    Example:
        >>> round_error(24.6), round_error(0.01234), round_error(7206.38), round_error(5.0)
        ('25', '0.012', '7,206', '5')
    """
    text = shown_number(value, value)
    return text.rstrip("0").rstrip(".") if "." in text else text


def shown_number(value: Any, half: float | None) -> str:
    """Return a number with the digits that an interval of this half width gives reason for.

    Example:
        >>> (
        ...     shown_number(199.5167, 3.21),
        ...     shown_number(412, 49.0),
        ...     shown_number(411.4255227, None),
        ... )
        ('199.5', '412', '411.426')
    """
    if value is None:
        return "not known"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return number(value)
    if isinstance(value, int) or not isfinite(value):
        return number(value)
    if not half or not isfinite(half):
        return number(float(f"{value:.6g}"))
    digits = max(0, SPARE_DIGITS - floor(log10(half)))
    return f"{value:,.{min(digits, 10)}f}"


def day_in_words(day: str | None) -> str:
    """Return a day as people write it.

    Example:
        >>> day_in_words("2026-11-09")
        '9 November 2026'
    """
    if not day:
        return ""
    found = date.fromisoformat(day[:10])
    return f"{found.day} {found:%B %Y}"


def _intervals(columns: Columns, name: str) -> list[tuple[Any, Any, Any]]:
    values = columns[name]
    nothing = [None] * len(values)
    lows, highs = columns.get(f"{name}_low", nothing), columns.get(f"{name}_high", nothing)
    return list(zip(values, lows, highs, strict=True))


def _row(
    columns: Columns, keys: Sequence[str], measures: Sequence[str], index: int
) -> list[dict[str, Any]]:
    row = [
        {"text": _key(columns[name][index]), "is_number": False, "is_interval": False}
        for name in keys
    ]
    for name in measures:
        value, low, high = _intervals(columns, name)[index]
        half = _half(value, low, high)
        row += [
            {"text": shown_number(value, half), "is_number": True, "is_interval": False},
            {"text": _interval(low, high, half), "is_number": True, "is_interval": True},
        ]
    return row


def _half(value: Any, low: Any, high: Any) -> float | None:
    found = [
        abs(each - value)
        for each in (low, high)
        if isinstance(each, int | float) and isinstance(value, int | float)
    ]
    return max(found, default=None)


def _interval(low: Any, high: Any, half: float | None) -> str:
    if low is None and high is None:
        return "none"
    if high is None:
        return f"{shown_number(low, half)} or more"
    if low is None:
        return f"{shown_number(high, half)} or less"
    return f"{shown_number(low, half)} to {shown_number(high, half)}"


def _key(value: Any) -> str:
    if value is None:
        return "NULL"
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def _picture(
    columns: Columns, keys: Sequence[str], measures: Sequence[str], count: int
) -> dict[str, Any] | None:
    """Return the picture of the first column of numbers, by the keys of its groups."""
    if not keys or not measures:
        return None
    bars: list[Bar] = []
    for index, (value, low, high) in enumerate(_intervals(columns, measures[0])):
        numbers = [each for each in (value, low, high) if each is not None]
        if value is None or not all(isinstance(each, int | float) for each in numbers):
            return None
        key = ", ".join(_key(columns[name][index]) for name in keys)
        bars.append((key, value, low, high))
    return draw_bars(bars) if len(bars) == count else None


def _in_words(
    rows: Sequence[Sequence[Mapping[str, Any]]], keys: Sequence[str], measures: Sequence[str]
) -> str:
    if not keys or not measures:
        return ""
    told = [
        f"{', '.join(each['text'] for each in row[: len(keys)])} {row[len(keys)]['text']} "
        f"({row[len(keys) + 1]['text']})"
        for row in rows
    ]
    return f"{measures[0]} by {', '.join(keys)}, with intervals: " + "; ".join(told)


def _percent(confidence: Any) -> str:
    return f"{100 * float(confidence):.3g}%"
