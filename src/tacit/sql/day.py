"""Dates in SQL: the parts of a day, and the periods that it lies in."""

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.plan.calendar import Part, Span

FUNCTIONS: dict[type[exp.Expr], Part] = {
    exp.Year: Part.YEAR,
    exp.Quarter: Part.QUARTER,
    exp.Month: Part.MONTH,
    exp.Day: Part.DAY,
    exp.DayOfMonth: Part.DAY,
    exp.DayOfWeek: Part.WEEKDAY,
}
"""Functions of a day that give a part of it."""

PARTS = {part.value: part for part in Part} | {"DAYOFWEEK": Part.WEEKDAY}
SPANS = {span.value: span for span in Span}


def part_of(node: exp.Expr) -> tuple[Part, exp.Expr] | None:
    """The part that ``node`` takes, and of what; None where it takes none."""
    if type(node) in FUNCTIONS:
        return FUNCTIONS[type(node)], node.this
    if not isinstance(node, exp.Extract):
        return None
    if node.name not in PARTS or not isinstance(node.this, exp.Var):
        raise InvalidValue(f"EXTRACT takes one of {', '.join(PARTS)}, as in YEAR FROM day.")
    return PARTS[node.name], node.expression


def span_of(node: exp.TimestampTrunc) -> Span:
    """How long the periods of DATE_TRUNC are."""
    unit = node.args["unit"].name
    if unit not in SPANS:
        known = ", ".join(f"'{name.lower()}'" for name in SPANS)
        raise InvalidValue(f"DATE_TRUNC takes one of {known}, as in DATE_TRUNC('month', day).")
    return SPANS[unit]
