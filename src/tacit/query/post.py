"""The answer as the analyst asked for it: expressions, HAVING, ORDER BY and LIMIT."""

from collections.abc import Callable, Mapping
from fractions import Fraction
from operator import add, mul, sub
from typing import Any

from tacit.core.release import Release, ReleasedColumn
from tacit.errors import InvalidValue
from tacit.plan.expression import (
    And,
    Arithmetic,
    Case,
    Compare,
    Constant,
    Divide,
    Expression,
    Field,
    IsNull,
    Not,
    OneOf,
    Operation,
    Or,
)
from tacit.plan.post import Post
from tacit.query.estimate import Estimate

Row = Mapping[str, Estimate]
"""One row of a release, by the names of its columns."""

OPERATIONS: dict[Operation, Callable[[Estimate, Estimate], Estimate]] = {
    Operation.ADD: add,
    Operation.SUBTRACT: sub,
    Operation.MULTIPLY: mul,
}


def posted(release: Release, post: Post) -> Release:
    """``release`` with its columns computed, and its rows chosen, ordered and cut.

    Guarantee: free: only released values are looked at. The interval of a computed value holds
    where those of its parts do, and its confidence says so.
    """
    rows = [_row(release, place) for place in range(len(release.columns[0].values))]
    if post.having is not None:
        rows = [row for row in rows if estimate(post.having, row).value is True]
    for order in reversed(post.order):
        places = [_sortable(estimate(order.expression, row)) for row in rows]
        ordered = sorted(zip(places, rows, strict=True), key=_place, reverse=order.descending)
        rows = [row for _, row in ordered]
    columns = tuple(
        _column(output.name, [estimate(output.expression, row) for row in rows[: post.limit]])
        for output in post.outputs
    )
    return Release(columns, release.guarantee, release.receipt)


def estimate(expression: Expression, row: Row) -> Estimate:
    """The value of ``expression`` for one row of a release."""
    match expression:
        case Field(name):
            return row[name]
        case Constant(bool() | str() | None as value):
            return Estimate(value)
        case Constant(int() | Fraction() as value):
            return Estimate(Fraction(value))
        case Arithmetic(operation, left, right):
            return OPERATIONS[operation](estimate(left, row), estimate(right, row))
        case Divide(left, right):
            return estimate(left, row) / estimate(right, row)
        case Case(whens, otherwise):
            chosen = (then for when, then in whens if estimate(when, row).value is True)
            return estimate(next(chosen, otherwise), row)
        case Compare() | OneOf() | IsNull() | And() | Or() | Not():
            return Estimate(_truth(expression, row))
    raise InvalidValue("This cannot be computed from released values.")


def _truth(condition: Expression, row: Row) -> bool | None:
    """Whether a condition holds for released values; None is unknown."""
    match condition:
        case Compare(comparison, left, right):
            one, other = estimate(left, row).value, estimate(right, row).value
            if one is None or other is None:
                return None
            if isinstance(one, str) is not isinstance(other, str):
                raise InvalidValue("Text is compared with text, and numbers with numbers.")
            return comparison.holds(one, other)
        case OneOf(part, values):
            value = estimate(part, row).value
            return None if value is None else value in values
        case IsNull(part):
            return estimate(part, row).value is None
        case And(parts):
            truths = [estimate(part, row).value for part in parts]
            return False if False in truths else None if None in truths else True
        case Or(parts):
            truths = [estimate(part, row).value for part in parts]
            return True if True in truths else None if None in truths else False
        case Not(part):
            value = estimate(part, row).value
            return None if value is None else value is False
    raise InvalidValue("A condition is expected here.")


def _row(release: Release, place: int) -> dict[str, Estimate]:
    row = {}
    for column in release.columns:
        noisy = column.confidence is not None
        row[column.name] = Estimate(
            column.values[place],
            column.intervals[place] if noisy else None,
            1 - column.confidence if column.confidence is not None else Fraction(0),
        )
    return row


def _column(name: str, found: list[Estimate]) -> ReleasedColumn:
    values = tuple(_shown(each) for each in found)
    doubt = max((each.doubt for each in found), default=Fraction(0))
    if not doubt:
        return ReleasedColumn(name, values)
    return ReleasedColumn(name, values, tuple(each.interval for each in found), 1 - doubt)


def _shown(each: Estimate) -> Any:
    """A value as it is shown: truth is a number, since columns hold no other."""
    return int(each.value) if isinstance(each.value, bool) else each.value


def _sortable(each: Estimate) -> tuple[bool, Any]:
    return each.value is None, each.value if each.value is not None else 0


def _place(pair: tuple[tuple[bool, Any], Row]) -> tuple[bool, Any]:
    return pair[0]
