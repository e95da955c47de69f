"""A column as it is beside a constant, which engines must compare alike."""

from fractions import Fraction

from tacit.core.column import Column, Kind
from tacit.errors import InvalidValue
from tacit.plan.expression import Comparison, Value
from tacit.plan.ranged import ROOM
from tacit.plan.steps import CompareColumn, Condition

DECIMALS = 10**18
"""What a decimal in a question is a whole part of."""


def compare_column(comparison: Comparison, column: Column, value: Value) -> Condition:
    """A column beside a constant, both as they are."""
    ordered(comparison, column)
    if isinstance(value, int | Fraction):
        _comparable(Fraction(value), column)
    if column.kind is Kind.INTEGER and isinstance(value, Fraction):
        # engines compare integers with integers exactly, and with fractions in their own ways
        below = value.__floor__()
        if comparison in {Comparison.EQUAL, Comparison.UNEQUAL} and below != value:
            raise InvalidValue(f"{column.name!r} holds whole numbers, and {value} is none.")
        up = comparison in {Comparison.LESS, Comparison.AT_LEAST}
        return CompareColumn(
            comparison, column.name, column.kind, -(-value // 1) if up else below
        )
    return CompareColumn(comparison, column.name, column.kind, value)


def _comparable(value: Fraction, column: Column) -> None:
    """Refuse a number that an engine could not put beside every value of a column."""
    if abs(value) >= ROOM:
        raise InvalidValue("A number in a comparison has at most 62 bits.")
    if column.kind is Kind.DECIMAL and DECIMALS % value.denominator:
        raise InvalidValue("A number beside a decimal has at most 18 digits after the point.")


def ordered(comparison: Comparison, column: Column) -> None:
    """Refuse an order where engines have none, or each its own."""
    equality = comparison in {Comparison.EQUAL, Comparison.UNEQUAL}
    if column.kind in {Kind.TEXT, Kind.BOOLEAN} and not equality:
        raise InvalidValue(
            f"{column.name!r} holds {column.kind.value}s, which are compared by = and <> alone."
        )
