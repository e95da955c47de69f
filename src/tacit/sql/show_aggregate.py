"""Aggregates of a plan to those of SQL, one case a function."""

from sqlglot import exp

from tacit.plan.aggregate import (
    Aggregate,
    CountRows,
    CountUnits,
    CountValues,
    Deviation,
    Greatest,
    Least,
    Mean,
    Quantile,
    Sum,
    Variance,
)
from tacit.plan.expression import Expression, Field
from tacit.sql.show_expression import Shown, column, literal, show_expression


def rows(field: Field) -> exp.Expr:
    """A column of the rows, called dataset.column or by its own name."""
    table, dot, name = field.name.partition(".")
    return column(name, table) if dot else column(field.name)


def show_aggregate(aggregate: Aggregate, unit: str, shown: Shown = rows) -> exp.Expr:
    """The call of ``aggregate``; ``unit`` is the column that names the unit."""

    def of(argument: Expression) -> exp.Expr:
        return show_expression(argument, shown)

    match aggregate:
        case CountRows():
            return exp.Count(this=exp.Star())
        case CountUnits():
            return exp.Count(this=exp.Distinct(expressions=[shown(Field(unit))]))
        case CountValues(argument):
            return exp.Count(this=of(argument))
        case Sum(argument):
            return exp.Sum(this=of(argument))
        case Mean(argument):
            return exp.Avg(this=of(argument))
        case Variance(argument, sample):
            return (exp.Variance if sample else exp.VariancePop)(this=of(argument))
        case Deviation(argument, sample):
            return (exp.StddevSamp if sample else exp.StddevPop)(this=of(argument))
        case Quantile(argument, fraction):
            return exp.Quantile(this=of(argument), quantile=literal(fraction))
        case Least(argument):
            return exp.Min(this=of(argument))
        case Greatest(argument):
            return exp.Max(this=of(argument))
