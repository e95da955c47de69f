"""The rows of a question: tables side by side, or what each unit's own rows add up to."""

from sqlglot import exp

from tacit.core.catalog import Catalog
from tacit.engines.print.join import JOINED, joined
from tacit.engines.print.row import condition, steps
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.stage import stages
from tacit.engines.print.word import (
    alias,
    cast,
    choose,
    chosen,
    clamped,
    column,
    identifier,
    is_null,
    literal,
    paren,
)
from tacit.plan.of_unit import CountOf, GreatestOf, LeastOf, MeanOf, OfUnit, SumOf
from tacit.plan.source import Gathered, Source

VALUES, GATHERED = "tacit_values", "tacit_gathered"

Relations = dict[str, exp.Query]
"""Relations by name, each above the one before it."""


def rows(source: Source, catalog: Catalog, dialect: Dialect, level: str = "") -> Relations:
    """The relations of which the last holds the rows of ``source``; ``level`` ends their names.

    Guarantee: what they compute cannot fail, whatever the rows hold.
    """
    if source.gathered is None:
        return {f"{JOINED}{level}": joined(source, catalog, dialect)}
    made = _gathered(source.gathered, catalog, dialect, f"{level}_below")
    if source.beside:
        made[f"{JOINED}{level}"] = joined(source, catalog, dialect, list(made)[-1])
    return made


def _gathered(relation: Gathered, catalog: Catalog, dialect: Dialect, level: str) -> Relations:
    made = rows(relation.source, catalog, dialect, level)
    values = [value for _, value in relation.values]
    made |= stages((relation.condition, *values), list(made)[-1], level)
    unit = relation.source.unit
    names = [column(name) for name in (unit, *relation.keys)]
    numbers = [alias(_number(each), f"v{place}") for place, each in enumerate(values)]
    made[f"{VALUES}{level}"] = chosen(list(made)[-1], *names, *numbers).where(
        exp.not_(is_null(column(unit))), condition(relation.condition), copy=False
    )
    found = [
        alias(cast(_of_unit(value, column(f"v{place}")), "BIGINT"), identifier(name))
        for place, (name, value) in enumerate(relation.values)
    ]
    made[f"{GATHERED}{level}"] = chosen(f"{VALUES}{level}", *names, *found).group_by(
        *names, copy=False
    )
    return made


def _number(value: OfUnit) -> exp.Expr:
    """What is needed of one row."""
    if isinstance(value, CountOf):
        return choose([(condition(value.condition), literal(1))], literal(0))
    return steps(value.steps)


def _of_unit(value: OfUnit, number: exp.Expr) -> exp.Expr:
    """What a unit's rows add up to: sums have 128 bits, which no number of rows fills."""
    match value:
        case CountOf(_, low, high) | SumOf(_, low, high):
            return clamped(exp.Sum(this=number), literal(low), literal(high))
        case LeastOf():
            return exp.Min(this=number)
        case GreatestOf():
            return exp.Max(this=number)
        case MeanOf(_, finer, start):
            count = exp.Count(this=number)
            doubled = exp.Mul(this=exp.Sum(this=number), expression=literal(2 * finer))
            rounded = paren(exp.Add(this=doubled, expression=count))
            whole = exp.IntDiv(
                this=rounded, expression=paren(exp.Mul(this=literal(2), expression=count))
            )
            # of nothing the sum is NULL, and so is this
            there = exp.GT(this=count, expression=literal(0))
            total = exp.Add(this=paren(whole), expression=literal(start))
            return choose([(there, total)], None)
