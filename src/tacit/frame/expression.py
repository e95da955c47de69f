"""Column expressions and aggregates for data frames, built with Python operators.

`col("age") > 30` does not compare anything; it builds an expression of a plan. Aggregates such
as `count()` are arguments of `Table.agg`.
"""

from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from tacit.errors import InvalidValue
from tacit.numeric import Number, exact
from tacit.plan import expression as expr
from tacit.plan import plan as nodes

# Expressions ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, eq=False)
class Expr:
    """An expression of a plan, with operators that build larger expressions.

    Example:
        >>> (col("ward") == "north").node.right
        Constant(value='north')
    """

    node: expr.Expression

    def __eq__(self, other: object) -> "Expr":  # type: ignore[override]
        return self._compare(expr.Comparison.EQUAL, other)

    def __ne__(self, other: object) -> "Expr":  # type: ignore[override]
        return self._compare(expr.Comparison.UNEQUAL, other)

    def __lt__(self, other: object) -> "Expr":
        return self._compare(expr.Comparison.LESS, other)

    def __le__(self, other: object) -> "Expr":
        return self._compare(expr.Comparison.AT_MOST, other)

    def __gt__(self, other: object) -> "Expr":
        return self._compare(expr.Comparison.MORE, other)

    def __ge__(self, other: object) -> "Expr":
        return self._compare(expr.Comparison.AT_LEAST, other)

    def __add__(self, other: object) -> "Expr":
        return self._with(expr.Operation.ADD, other)

    def __sub__(self, other: object) -> "Expr":
        return self._with(expr.Operation.SUBTRACT, other)

    def __mul__(self, other: object) -> "Expr":
        return self._with(expr.Operation.MULTIPLY, other)

    def __radd__(self, other: object) -> "Expr":
        return as_expression(other)._with(expr.Operation.ADD, self)

    def __rsub__(self, other: object) -> "Expr":
        return as_expression(other)._with(expr.Operation.SUBTRACT, self)

    def __rmul__(self, other: object) -> "Expr":
        return as_expression(other)._with(expr.Operation.MULTIPLY, self)

    def __truediv__(self, other: object) -> "Expr":
        return Expr(expr.Divide(self.node, as_expression(other).node))

    def __and__(self, other: object) -> "Expr":
        return Expr(expr.And((self.node, as_expression(other).node)))

    def __or__(self, other: object) -> "Expr":
        return Expr(expr.Or((self.node, as_expression(other).node)))

    def __invert__(self) -> "Expr":
        return Expr(expr.Not(self.node))

    def __neg__(self) -> "Expr":
        return -1 * self

    def __hash__(self) -> int:
        return hash(self.node)

    def __bool__(self) -> bool:
        raise InvalidValue("Combine conditions with & and |, and negate them with ~.")

    def is_null(self) -> "Expr":
        """Return the condition that the value is NULL."""
        return Expr(expr.IsNull(self.node))

    def between(self, low: object, high: object) -> "Expr":
        """Return the condition that the value is from ``low`` to ``high``, both included."""
        return (self >= low) & (self <= high)

    def is_in(self, *values: object) -> "Expr":
        """Return the condition that the value is one of ``values``."""
        return Expr(expr.OneOf(self.node, tuple(_value(value) for value in values)))

    def like(self, pattern: str) -> "Expr":
        """Return the condition that the value is a declared key that matches ``pattern``."""
        return Expr(expr.Like(self.node, pattern))

    def part(self, part: expr.DatePartName) -> "Expr":
        """Return a part of a date, such as its month."""
        return Expr(expr.DatePart(part, self.node))

    def period(self, span: expr.Span) -> "Expr":
        """Return the first day of the period that contains a date, for use as a group key."""
        return Expr(expr.Period(span, self.node))

    def _compare(self, comparison: expr.Comparison, other: object) -> "Expr":
        return Expr(expr.Compare(comparison, self.node, as_expression(other).node))

    def _with(self, operation: expr.Operation, other: object) -> "Expr":
        return Expr(expr.Arithmetic(operation, self.node, as_expression(other).node))


def col(name: str) -> Expr:
    """Return the column ``name`` as an expression."""
    return Expr(expr.Field(name))


def case(*whens: tuple[Expr, object], otherwise: object = None) -> Expr:
    """Return the value of the first condition that is true, or else ``otherwise``."""
    pairs = tuple((when.node, as_expression(then).node) for when, then in whens)
    return Expr(expr.Case(pairs, as_expression(otherwise).node))


def as_expression(value: object) -> Expr:
    """Return ``value`` as an expression; a value that is not one becomes a constant."""
    if isinstance(value, Expr):
        return value
    return Expr(expr.Constant(None if value is None else _value(value)))


def _value(value: object) -> expr.Value:
    match value:
        case datetime() if value.tzinfo is not None:
            pass  # timestamps are compared in the local time of their column's zone
        case bool() | int() | str() | date():
            return value
        case float() | Fraction():
            number = exact(value)
            return int(number) if number.denominator == 1 else number
    raise InvalidValue(
        f"A {type(value).__name__} cannot be used in a question; use a number, a text, a date "
        "or a Boolean."
    )


# Aggregates ----------------------------------------------------------------------------------

MEDIAN = exact("1/2")


@dataclass(frozen=True, slots=True)
class Agg:
    """An aggregate, as an argument of `Table.agg`."""

    aggregate: nodes.Aggregate


def count(part: Expr | str | None = None) -> Agg:
    """Count rows, or the rows in which ``part`` is not NULL.

    Example:
        >>> count().aggregate
        CountRows()
    """
    return Agg(nodes.CountRows() if part is None else nodes.CountValues(_node(part)))


def count_units() -> Agg:
    """Count privacy units."""
    return Agg(nodes.CountUnits())


def count_distinct(part: Expr | str) -> Agg:
    """Count the distinct values of ``part``, without NULL."""
    return Agg(nodes.CountDistinct(_node(part)))


def total(part: Expr | str) -> Agg:
    """Sum ``part`` over rows."""
    return Agg(nodes.Sum(_node(part)))


def mean(part: Expr | str) -> Agg:
    """Compute the mean of ``part``."""
    return Agg(nodes.Mean(_node(part)))


def variance(part: Expr | str, *, sample: bool = True) -> Agg:
    """Compute the variance of ``part``, with divisor n - 1 for a ``sample``."""
    return Agg(nodes.Variance(_node(part), sample))


def deviation(part: Expr | str, *, sample: bool = True) -> Agg:
    """Compute the standard deviation of ``part``, with divisor n - 1 for a ``sample``."""
    return Agg(nodes.Deviation(_node(part), sample))


def correlation(y: Expr | str, x: Expr | str) -> Agg:
    """Compute the correlation of ``y`` and ``x``."""
    return Agg(nodes.PairStatistic(nodes.PairFunction.CORRELATION, _node(y), _node(x)))


def slope(y: Expr | str, x: Expr | str) -> Agg:
    """Compute the slope of the least-squares line that explains ``y`` by ``x``."""
    return Agg(nodes.PairStatistic(nodes.PairFunction.SLOPE, _node(y), _node(x)))


def quantile(part: Expr | str, fraction: Number) -> Agg:
    """Compute the quantile of ``part``: the value below which ``fraction`` of the rows lies."""
    return Agg(nodes.Quantile(_node(part), exact(fraction)))


def median(part: Expr | str) -> Agg:
    """Compute the median of ``part``."""
    return Agg(nodes.Quantile(_node(part), MEDIAN))


def least(part: Expr | str) -> Agg:
    """Compute the minimum of ``part``: the least value that can be distinguished from noise."""
    return Agg(nodes.Least(_node(part)))


def greatest(part: Expr | str) -> Agg:
    """Compute the maximum of ``part``: the last value that can be distinguished from noise."""
    return Agg(nodes.Greatest(_node(part)))


def _node(part: Expr | str) -> expr.Expression:
    return (col(part) if isinstance(part, str) else part).node
