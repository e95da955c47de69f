"""Columns in Python: operators that build the expressions of a plan."""

from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from tacit.errors import InvalidValue
from tacit.numeric.exact import exact
from tacit.plan.calendar import Part, Span
from tacit.plan.expression import (
    And,
    Arithmetic,
    Case,
    Compare,
    Comparison,
    Constant,
    DatePart,
    Divide,
    Expression,
    Field,
    IsNull,
    Like,
    Not,
    OneOf,
    Operation,
    Or,
    Period,
    Value,
)


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """An expression that is built by operators.

    Example:
        >>> (col("ward") == "north").node.right
        Constant(value='north')
    """

    node: Expression

    def __eq__(self, other: object) -> "Expr":  # type: ignore[override]
        return self._compare(Comparison.EQUAL, other)

    def __ne__(self, other: object) -> "Expr":  # type: ignore[override]
        return self._compare(Comparison.UNEQUAL, other)

    def __lt__(self, other: object) -> "Expr":
        return self._compare(Comparison.LESS, other)

    def __le__(self, other: object) -> "Expr":
        return self._compare(Comparison.AT_MOST, other)

    def __gt__(self, other: object) -> "Expr":
        return self._compare(Comparison.MORE, other)

    def __ge__(self, other: object) -> "Expr":
        return self._compare(Comparison.AT_LEAST, other)

    def __add__(self, other: object) -> "Expr":
        return self._with(Operation.ADD, other)

    def __sub__(self, other: object) -> "Expr":
        return self._with(Operation.SUBTRACT, other)

    def __mul__(self, other: object) -> "Expr":
        return self._with(Operation.MULTIPLY, other)

    def __radd__(self, other: object) -> "Expr":
        return wrapped(other)._with(Operation.ADD, self)

    def __rsub__(self, other: object) -> "Expr":
        return wrapped(other)._with(Operation.SUBTRACT, self)

    def __rmul__(self, other: object) -> "Expr":
        return wrapped(other)._with(Operation.MULTIPLY, self)

    def __truediv__(self, other: object) -> "Expr":
        return Expr(Divide(self.node, wrapped(other).node))

    def __and__(self, other: object) -> "Expr":
        return Expr(And((self.node, wrapped(other).node)))

    def __or__(self, other: object) -> "Expr":
        return Expr(Or((self.node, wrapped(other).node)))

    def __invert__(self) -> "Expr":
        return Expr(Not(self.node))

    def __neg__(self) -> "Expr":
        return -1 * self

    def __hash__(self) -> int:
        return hash(self.node)

    def __bool__(self) -> bool:
        raise InvalidValue("Conditions are joined by & and |, and negated by ~.")

    def is_null(self) -> "Expr":
        """Whether the value is NULL."""
        return Expr(IsNull(self.node))

    def between(self, low: object, high: object) -> "Expr":
        """Whether the value lies within two others, both included."""
        return (self >= low) & (self <= high)

    def is_in(self, *values: object) -> "Expr":
        """Whether the value is one of ``values``."""
        return Expr(OneOf(self.node, tuple(_value(value) for value in values)))

    def like(self, pattern: str) -> "Expr":
        """Whether the value is a declared key that looks like ``pattern``, as 'no%' does."""
        return Expr(Like(self.node, pattern))

    def part(self, part: Part) -> "Expr":
        """A part of a day, such as its month."""
        return Expr(DatePart(part, self.node))

    def period(self, span: Span) -> "Expr":
        """Where the period starts that a day lies in: what groups are named by."""
        return Expr(Period(span, self.node))

    def _compare(self, comparison: Comparison, other: object) -> "Expr":
        return Expr(Compare(comparison, self.node, wrapped(other).node))

    def _with(self, operation: Operation, other: object) -> "Expr":
        return Expr(Arithmetic(operation, self.node, wrapped(other).node))


def col(name: str) -> Expr:
    """The column of that name."""
    return Expr(Field(name))


def case(*whens: tuple[Expr, object], otherwise: object = None) -> Expr:
    """The value beside the first condition that holds, or else another."""
    pairs = tuple((when.node, wrapped(then).node) for when, then in whens)
    return Expr(Case(pairs, wrapped(otherwise).node))


def wrapped(value: object) -> Expr:
    """``value`` as an expression: itself, or a constant."""
    if isinstance(value, Expr):
        return value
    return Expr(Constant(None if value is None else _value(value)))


def _value(value: object) -> Value:
    match value:
        case datetime():
            pass  # a moment is no day
        case bool() | int() | str() | date():
            return value
        case float() | Fraction():
            number = exact(value)
            return int(number) if number.denominator == 1 else number
    raise InvalidValue(f"A {type(value).__name__} is no value that a question can hold.")
