"""Columns as plain lists under distinct names, for data frames and JSON."""

from collections.abc import Sequence
from fractions import Fraction

from tacit.render.column import Column, Value

Plain = int | float | str | None


def fields(columns: Sequence[Column]) -> dict[str, list[Plain]]:
    """Each column, and the ends of its ranges in ``_low`` and ``_high`` columns beside it.

    Whole columns of integers stay integers; other numbers are the nearest floats.
    """
    found: dict[str, list[Plain]] = {}
    taken = {column.name for column in columns}
    for column in columns:
        found[column.name] = _numbers(column.values)
        if column.confidence is not None:
            for place, end in enumerate(("low", "high")):
                name = f"{column.name}_{end}"
                while name in taken:
                    name += "_"
                taken.add(name)
                ends = [
                    None if around is None else around[place] for around in column.intervals
                ]
                found[name] = _numbers(ends)
    return found


def _numbers(values: Sequence[Value]) -> list[Plain]:
    whole = all(not isinstance(each, Fraction) or each.denominator == 1 for each in values)
    return [
        (int(each) if whole else float(each)) if isinstance(each, Fraction) else each
        for each in values
    ]
