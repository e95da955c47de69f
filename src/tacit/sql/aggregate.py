"""Aggregates of SQL to those of a plan, one case a function."""

from sqlglot import exp

from tacit.errors import InvalidValue
from tacit.plan.aggregate import Aggregate, CountRows, CountUnits, CountValues, Mean, Sum
from tacit.plan.expression import Field
from tacit.sql.expression import Leaf, expression

AGGREGATES = (exp.Count, exp.Sum, exp.Avg)
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
        case exp.Count():
            return CountValues(expression(node.this, leaf))
        case exp.Sum():
            return Sum(expression(node.this, leaf))
        case exp.Avg():
            return Mean(expression(node.this, leaf))
    raise InvalidValue(f"{type(node).__name__.upper()} is no aggregate that is known.")
