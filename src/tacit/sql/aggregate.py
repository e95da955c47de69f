"""Aggregates of SQL to those of a plan, one case a function."""

from fractions import Fraction

from sqlglot import exp

from tacit.errors import InvalidValue
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
from tacit.plan.expression import Constant, Expression, Field
from tacit.sql.expression import Leaf, expression

AGGREGATES = (
    exp.Count,
    exp.Sum,
    exp.Avg,
    exp.Variance,
    exp.VariancePop,
    exp.Stddev,
    exp.StddevSamp,
    exp.StddevPop,
    exp.Median,
    exp.Quantile,
    exp.PercentileCont,
    exp.PercentileDisc,
    exp.WithinGroup,
    exp.Min,
    exp.Max,
)
"""What the language knows as an aggregate."""


def aggregate(node: exp.Expr, leaf: Leaf, unit: str) -> Aggregate:
    """The aggregate that ``node`` asks for; ``unit`` is the column that names the unit."""
    match node:
        case exp.Count() if isinstance(node.this, exp.Star):
            return CountRows()
        case exp.Count() if isinstance(node.this, exp.Distinct):
            counted = [expression(part, leaf) for part in node.this.expressions]
            if counted != [Field(unit)]:
                raise InvalidValue(f"COUNT(DISTINCT ...) counts units: COUNT(DISTINCT {unit}).")
            return CountUnits()
        case exp.Count() if node.args.get("this") is None:
            raise InvalidValue("COUNT says of what: COUNT(*) counts rows.")
        case exp.Count():
            return CountValues(expression(node.this, leaf))
        case exp.Sum():
            return Sum(expression(node.this, leaf))
        case exp.Avg():
            return Mean(expression(node.this, leaf))
        case exp.Variance() | exp.VariancePop():
            sample = not isinstance(node, exp.VariancePop)
            return Variance(expression(node.this, leaf), sample)
        case exp.Stddev() | exp.StddevSamp() | exp.StddevPop():
            sample = not isinstance(node, exp.StddevPop)
            return Deviation(expression(node.this, leaf), sample)
        case exp.Min():
            return Least(expression(node.this, leaf))
        case exp.Max():
            return Greatest(expression(node.this, leaf))
        case exp.Median():
            return Quantile(expression(node.this, leaf), Fraction(1, 2))
        case exp.Quantile() if node.args.get("quantile"):
            part = _fraction(expression(node.args["quantile"], leaf))
            return Quantile(expression(node.this, leaf), part)
        case exp.PercentileCont() | exp.PercentileDisc() if node.args.get("expression"):
            part = _fraction(expression(node.expression, leaf))
            return Quantile(expression(node.this, leaf), part)
        case exp.WithinGroup(this=exp.PercentileCont() | exp.PercentileDisc()):
            return _within_group(node, leaf)
    raise InvalidValue(
        "A quantile is written QUANTILE(x, 0.9), or PERCENTILE_CONT(0.9) WITHIN GROUP "
        "(ORDER BY x)."
    )


def _within_group(node: exp.Expr, leaf: Leaf) -> Quantile:
    """PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)."""
    ordered = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if len(ordered) != 1 or node.this.args.get("expression") is not None:
        raise InvalidValue(
            "A percentile is written PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY x)."
        )
    part = _fraction(expression(node.this.this, leaf))
    if ordered[0].args.get("desc"):
        part = 1 - part
    return Quantile(expression(ordered[0].this, leaf), part)


def _fraction(written: Expression) -> Fraction:
    match written:
        case Constant(bool()):
            pass
        case Constant(int() | Fraction() as value):
            return Fraction(value)
    raise InvalidValue("A quantile is written as one number, as in QUANTILE(x, 0.9).")
