"""What is computed from one row: each node has one printed form, which all engines agree on.

They are comparisons, CASE, integer arithmetic, FLOOR, and EXTRACT of days of the years 1 to
9999; nothing here can fail, whatever a row holds.
"""

from fractions import Fraction
from sys import float_info

from sqlglot import exp

from tacit.core.column import Kind
from tacit.core.day import FIRST
from tacit.engines.print.word import (
    cast,
    choose,
    column,
    compare,
    double,
    is_null,
    literal,
    paren,
)
from tacit.plan.calendar import Part
from tacit.plan.expression import Comparison, Value
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

WIDEST_DECIMAL = exp.DataType.build("DECIMAL(38, 18)")
"""20 digits before the point and 18 after it: all decimals that `check_types` lets pass."""


def condition(wanted: Condition) -> exp.Expr:
    """A condition on one row."""
    match wanted:
        case Known(truth):
            return cast(literal(truth), "BOOLEAN")
        case ColumnIsTrue(name):
            return column(name)
        case CompareColumn(comparison, name, kind, value):
            return compare(comparison, _compared(name, kind), _beside(kind, value))
        case CompareColumns(comparison, left, right, kind):
            return compare(comparison, _compared(left, kind), _compared(right, kind))
        case CompareSteps(comparison, one, other):
            return compare(comparison, steps(one), steps(other))
        case StepsAreNull(number):
            return is_null(steps(number))
        case StepsOneOf(number, whole):
            listed = list(map(literal, whole))
            return paren(exp.In(this=steps(number), expressions=listed))
        case ColumnIsNull(name, kind):
            return is_null(finite(name, kind))
        case ColumnOneOf(name, kind, values):
            listed = [_beside(kind, value) for value in values]
            return paren(exp.In(this=_compared(name, kind), expressions=listed))
        case AllOf(parts):
            return paren(exp.and_(exp.true(), *map(condition, parts), copy=False))
        case AnyOf(parts):
            return paren(exp.or_(exp.false(), *map(condition, parts), copy=False))
        case NotSo(part):
            return paren(exp.Not(this=paren(condition(part))))


def steps(number: Steps) -> exp.Expr:
    """A whole number of steps, of 64 bits."""
    match number:
        case WholeSteps(value):
            return cast(literal(value), "BIGINT")
        case SumSteps(left, right):
            return paren(exp.Add(this=steps(left), expression=steps(right)))
        case ProductSteps(left, right):
            return paren(exp.Mul(this=steps(left), expression=steps(right)))
        case HalvedSteps(part, times):
            # a shift of what is never below 0: engines divide integers each in its own way
            shift = exp.BitwiseRightShift(this=steps(part), expression=literal(times))
            return paren(shift)
        case CaseSteps(whens, otherwise):
            pairs = [(condition(when), steps(then)) for when, then in whens]
            return choose(pairs, steps(otherwise))
        case HeldSteps(name):
            return column(name)
        case PartSteps(day, Part.WEEKDAY):
            # engines number the days of a week each in its own way
            return after_monday(day, more=1)
        case PartSteps(day, part):
            extracted = exp.Extract(this=exp.var(part.value), expression=clamped_day(day))
            return cast(extracted, "BIGINT")
        case ColumnSteps():
            return column(staged(number))


def after_monday(day: ColumnSteps, more: int = 0) -> exp.Expr:
    """How many days ``more`` days after a clamped day are after a Monday, from 0 to 6.

    The first day of the calendar is a Monday, and none is before it.
    """
    since = exp.Add(this=steps(day), expression=literal(more - FIRST))
    return paren(exp.Mod(this=paren(since), expression=literal(7)))


def clamped_day(day: ColumnSteps) -> exp.Expr:
    """A clamped day as a day, once `tacit.engines.print.stage` has made it."""
    return column(f"tacit_clamped_{day.name}")


def staged(number: ColumnSteps) -> str:
    """The column that holds a column's steps, once `tacit.engines.print.stage` has made it."""
    return f"tacit_steps_{number.name}"


def finite(name: str, kind: Kind) -> exp.Expr:
    """A column as it is; a float that is not finite is NULL: engines differ on its order."""
    if kind is not Kind.FLOAT:
        return column(name)
    inside = exp.and_(
        compare(Comparison.AT_LEAST, column(name), double(-float_info.max)),
        compare(Comparison.AT_MOST, column(name), double(float_info.max)),
    )
    return choose([(inside, column(name))], None)


def _compared(name: str, kind: Kind) -> exp.Expr:
    """A column as it is compared; a decimal in the type that holds all that may be declared.

    A file may hold numbers of more digits than its decimals have by their type. DuckDB fails on
    such a number where it casts the column to the type of a finer constant; this cast does not.
    """
    if kind is not Kind.DECIMAL:
        return finite(name, kind)
    return exp.TryCast(this=column(name), to=WIDEST_DECIMAL.copy())


def _beside(kind: Kind, value: Value) -> exp.Expr:
    """A constant in the type of the column that it is compared with."""
    if kind is Kind.FLOAT and isinstance(value, int | Fraction):
        return double(float(value))
    return literal(value)
