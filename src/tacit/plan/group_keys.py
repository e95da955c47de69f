"""Group keys: which groups a question has, and whether their list is public.

A column has its declared keys as groups, if it has any. Bins, parts of dates and periods have
those within the bounds of their column, and a CASE has the constants that it names.
`computed_key` finds the groups of all other expressions.
"""

from fractions import Fraction

from tacit.core import Column, Key, Keys, Kind, Schema, day_of
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import BoundedKey, CaseKey, ColumnKey, PeriodKey
from tacit.plan.computed_keys import computed_key
from tacit.plan.lowering import condition, number
from tacit.plan.tree_walk import LARGEST_QUESTION, size
from tacit.plan.type_check import clamped_days, day_column

GROUPED = {Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.DATE}
"""Kinds of columns that can be group keys; numbers with fractions need bins first."""

TRUTHS = Keys((0, 1))

BINNED = frozenset(
    {
        expr.DatePartName.YEAR,
        expr.DatePartName.QUARTER,
        expr.DatePartName.MONTH,
        expr.DatePartName.DAY,
        expr.DatePartName.WEEKDAY,
    }
)
"""Parts of dates that are compared one by one; others are numbers in a list."""

MOST_PERIODS = 50_000
"""Largest number of periods of one key: the days of 137 years."""

MOST_BINS = 200
"""Largest number of bins of one key; each bin is a comparison for every row."""


def bound_key(key: nodes.GroupKey, schema: Schema) -> BoundedKey:
    """Return the groups of ``key``: public where the owner or the question lists the values."""
    match key.expression:
        case expr.Field(name):
            column = schema[name]
            if isinstance(column, grid_steps.ComputedColumn) and column.keys is None:
                raise InvalidValue(
                    "A number that a subquery computes can be a group key only if it is an "
                    f"integer with at most {grid_steps.MOST_KEYS} values; use bins, as in "
                    "FLOOR(x / 10) * 10."
                )
            if column.kind is Kind.TIMESTAMP:
                raise InvalidValue(
                    f"Groups by {name!r}, a timestamp column, would have one value each; use "
                    f"periods, as in DATE_TRUNC('month', {name}), or EXTRACT(HOUR FROM {name})."
                )
            if column.kind not in GROUPED:
                raise InvalidValue(
                    f"Groups by {name!r}, a {column.kind.value} column, would have one value "
                    "each; use bins, as in FLOOR(x / 10) * 10, or a CASE that names ranges."
                )
            keys = TRUTHS if column.kind is Kind.BOOLEAN else column.keys
            return ColumnKey(key.name, column.name, column.kind, keys)
        case expr.Case(whens, otherwise) if _has_constants(key.expression):
            named = tuple((condition(when, schema), _group_name(then)) for when, then in whens)
            rest = None if otherwise == expr.Constant(None) else _group_name(otherwise)
            values = [value for _, value in named] + ([] if rest is None else [rest])
            return CaseKey(key.name, named, rest, Keys(tuple(dict.fromkeys(values))))
        case expr.Bin(part, width):
            return bound_key(nodes.GroupKey(key.name, _bins(part, width, schema)), schema)
        case expr.DatePart(part, _) if part in BINNED:
            return bound_key(nodes.GroupKey(key.name, expr.Bin(key.expression, 1)), schema)
        case expr.Period(span, day):
            column = day_column(day, schema)
            return PeriodKey(key.name, clamped_days(column), span, _periods(span, column))
    return computed_key(key.name, key.expression, schema)


def _has_constants(case: expr.Case) -> bool:
    """Return whether all values of a CASE are constants that are not NULL, or ELSE NULL."""
    thens = [then for _, then in case.whens]
    known = all(isinstance(then, expr.Constant) and then.value is not None for then in thens)
    return known and isinstance(case.otherwise, expr.Constant)


def _periods(span: expr.Span, column: Column) -> Keys | None:
    """Return the periods within the bounds of a column of days; None if it has no bounds."""
    if column.bounds is None:
        return None
    first, last = day_of(column.grid().lowest), day_of(column.grid().highest)
    if (last - first).days > MOST_PERIODS * span.longest:
        raise InvalidValue(
            f"The bounds of {column.name!r} contain more than {MOST_PERIODS} "
            f"{span.name.lower()}; ask for longer periods."
        )
    return Keys(tuple(start.isoformat() for start in span.starts(first, last)))


def _bins(part: expr.Expression, width: int, schema: Schema) -> expr.Case:
    """Return a CASE that names the bin of a number.

    The bins cover the bounds of the number. Values are clamped to these bounds, so that a value
    outside is in the first or the last bin.
    """
    value = number(part, schema)
    first, last = (end * value.step // width for end in (value.low, value.high))
    if last - first >= MOST_BINS:
        raise InvalidValue(
            f"Bins of width {width} give {last - first + 1} groups within the bounds, and "
            f"{MOST_BINS} are the most; use wider bins."
        )
    if (last - first + 1) * size(part) > LARGEST_QUESTION:
        raise InvalidValue(
            "The expression has too many operations for this number of bins; use wider bins, "
            "or a simpler expression."
        )
    starts = [place * width for place in range(first, last + 1)]
    below = [
        (
            expr.Compare(expr.Comparison.LESS, part, expr.Constant(start + width)),
            expr.Constant(start),
        )
        for start in starts[:-1]
    ]
    # the last bin needs a condition too: a comparison with NULL is not true, so NULL has no bin
    rest = expr.Compare(expr.Comparison.AT_LEAST, part, expr.Constant(starts[-1]))
    return expr.Case((*below, (rest, expr.Constant(starts[-1]))), expr.Constant(None))


def _group_name(expression: expr.Expression) -> Key:
    match expression:
        case expr.Constant(bool()):
            pass
        case expr.Constant(str() | int() as value):
            return value
        case expr.Constant(Fraction() as value) if value.denominator == 1:
            return int(value)
    raise InvalidValue("The values of a CASE in GROUP BY must be constant texts or integers.")
