"""Days as engines compute with them: whole numbers, of a clamped column or a constant."""

from datetime import date
from fractions import Fraction

from tacit.core.column import Column, Kind
from tacit.core.day import FIRST, LAST, day_of, number_of
from tacit.core.schema import Schema
from tacit.errors import InvalidValue
from tacit.numeric.grid import Grid
from tacit.plan.calendar import Part
from tacit.plan.expression import Constant, Expression, Field
from tacit.plan.ranged import Ranged
from tacit.plan.steps import ColumnSteps, PartSteps

CALENDAR = Grid(Fraction(FIRST), Fraction(LAST), Fraction(1))
"""Where a day is clamped whose column has no bounds: the same on every engine, and public."""


def day_column(day: Expression, schema: Schema) -> Column:
    """The column of days that a part or a period is taken of."""
    if isinstance(day, Field) and schema[day.name].kind is Kind.DATE:
        return schema[day.name]
    raise InvalidValue("EXTRACT and DATE_TRUNC take a column of days, as in YEAR(day).")


def clamped_days(column: Column) -> ColumnSteps:
    """The days of a column, clamped to its bounds, or to the calendar where it has none."""
    grid = CALENDAR if column.bounds is None else column.grid()
    return ColumnSteps(column.name, column.kind, grid)


def day_part(part: Part, column: Column) -> Ranged:
    """A part of the days of ``column``; years have a range only where the days have bounds."""
    if part is Part.YEAR:
        column.grid()  # refuses a column without bounds
    days = clamped_days(column)
    ends = day_of(days.grid.lowest), day_of(days.grid.highest)
    return Ranged(PartSteps(days, part), *part.reach(*ends), Fraction(1))


def days_between(left: Expression, right: Expression, schema: Schema) -> Ranged | None:
    """How many days ``left`` is after ``right``; None where they are not both days."""
    one, other = _number(left, schema), _number(right, schema)
    return None if one is None or other is None else one - other


def _number(day: Expression, schema: Schema) -> Ranged | None:
    match day:
        case Field(name) if schema[name].kind is Kind.DATE:
            grid = schema[name].grid()
            days = ColumnSteps(schema[name].name, Kind.DATE, grid)
            return Ranged(days, grid.lowest, grid.highest, grid.step)
        case Constant(date() as value):
            return Ranged.constant(Fraction(number_of(value)))
    return None
