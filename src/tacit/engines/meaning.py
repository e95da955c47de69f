"""What each node of a bounded question means, in exact Python: slow, and right by reading.

Truth has three values as in SQL: None is unknown. An engine is right where it agrees with this.
"""

from collections.abc import Mapping
from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction
from math import isfinite

from tacit.core.column import Kind
from tacit.core.day import day_of, number_of
from tacit.plan.expression import Comparison
from tacit.plan.steps import (
    AllOf,
    AnyOf,
    CaseSteps,
    ColumnIsNull,
    ColumnIsTrue,
    ColumnOneOf,
    ColumnSteps,
    CompareColumn,
    CompareColumns,
    CompareSteps,
    Condition,
    HalvedSteps,
    HeldSteps,
    Known,
    NotSo,
    PartSteps,
    ProductSteps,
    Steps,
    StepsAreNull,
    StepsOneOf,
    SumSteps,
    WholeSteps,
)

Cell = bool | int | float | Decimal | str | date | None
"""What a table holds."""

Row = Mapping[str, Cell]


def truth(condition: Condition, row: Row) -> bool | None:
    """Whether ``condition`` holds for ``row``; None is unknown."""
    match condition:
        case Known(known):
            return known
        case ColumnIsTrue(name):
            cell = row[name]
            return None if cell is None else bool(cell)
        case CompareColumn(comparison, name, kind, value):
            return _compared(comparison, _value(row[name]), _beside(kind, value))
        case CompareColumns(comparison, left, right, _):
            return _compared(comparison, _value(row[left]), _value(row[right]))
        case CompareSteps(comparison, one, other):
            return _compared(comparison, steps(one, row), steps(other, row))
        case StepsAreNull(number):
            return steps(number, row) is None
        case StepsOneOf(number, whole):
            count = steps(number, row)
            return None if count is None else count in whole
        case ColumnIsNull(name, _):
            return _value(row[name]) is None
        case ColumnOneOf(name, kind, values):
            found = _value(row[name])
            return (
                None if found is None else found in {_beside(kind, value) for value in values}
            )
        case AllOf(parts):
            return _all([truth(part, row) for part in parts])
        case AnyOf(parts):
            negated = _all([_not(truth(part, row)) for part in parts])
            return _not(negated)
        case NotSo(part):
            return _not(truth(part, row))


def steps(number: Steps, row: Row) -> int | None:
    """How many steps ``number`` is for ``row``; None is NULL."""
    match number:
        case WholeSteps(value):
            return value
        case SumSteps(left, right):
            one, other = steps(left, row), steps(right, row)
            return None if one is None or other is None else one + other
        case ProductSteps(left, right):
            one, other = steps(left, row), steps(right, row)
            return None if one is None or other is None else one * other
        case HalvedSteps(part, times):
            whole = steps(part, row)
            return None if whole is None else whole // 2**times
        case CaseSteps(whens, otherwise):
            for condition, then in whens:
                if truth(condition, row):
                    return steps(then, row)
            return steps(otherwise, row)
        case HeldSteps(name):
            held = row[name]
            return held if isinstance(held, int) else None
        case PartSteps(day, which):
            days = steps(day, row)
            return None if days is None else which.of(day_of(days))
        case ColumnSteps(name, kind, grid):
            found = _value(row[name])
            if kind is Kind.DATE and isinstance(found, date):
                return grid.index(Fraction(number_of(found)))
            return grid.index(found) if isinstance(found, Fraction) else None


def _value(cell: Cell) -> Fraction | str | date | None:
    """A cell as it is compared: numbers exactly, and NULL for what is no finite number."""
    match cell:
        case None | str() | date():
            return cell
        case float() | Decimal() if not isfinite(cell):
            return None
        case bool() | int() | float() | Decimal():
            return Fraction(cell)


def _beside(kind: Kind, value: object) -> object:
    """A constant as it is compared with a column: with floats, as the nearest float."""
    if isinstance(value, bool | int | Fraction):
        return Fraction(float(value)) if kind is Kind.FLOAT else Fraction(value)
    if kind is Kind.TIMESTAMP and isinstance(value, date):
        return datetime.combine(value, time())
    return value


def _compared(comparison: Comparison, left: object, right: object) -> bool | None:
    if left is None or right is None:
        return None
    return comparison.holds(left, right)


def _all(truths: list[bool | None]) -> bool | None:
    if False in truths:
        return False
    return None if None in truths else True


def _not(value: bool | None) -> bool | None:  # noqa: FBT001
    return None if value is None else not value
