"""The sum of a column of whole numbers, which no number of rows makes too wide."""

from sqlglot import exp

from tacit.engines.print.row import steps
from tacit.engines.print.sql_dialect import Dialect
from tacit.engines.print.word import cast, literal, paren
from tacit.plan.steps import (
    CaseSteps,
    HeldSteps,
    NotSo,
    Steps,
    StepsAreNull,
    SumSteps,
    WholeSteps,
)

LIMB = 21
"""Bits of a number that are summed apart: 2^42 rows of them fit into 64."""

NARROW = "narrow"
"""What marks a sum that 64 bits hold."""


def total(amount: exp.Expr, most: int, dialect: Dialect) -> exp.Expr:
    """The sum of ``amount``, of which no row holds more than ``most``, or less than its minus.

    Example:
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> total(exp.column("t0"), 3, DUCKDB).sql()
        'SUM(t0)'
    """
    if not dialect.sums_by_limbs:
        return exp.Sum(this=amount)
    parts: list[exp.Expr] = []
    limbs = max(1, -(-most.bit_length() // LIMB))
    for place in range(limbs):
        shift, part = LIMB * place, amount.copy()
        if shift:
            part = paren(exp.BitwiseRightShift(this=part, expression=literal(shift)))
        if place < limbs - 1:  # the last holds the sign
            part = paren(exp.BitwiseAnd(this=part, expression=literal(2**LIMB - 1)))
        added = exp.Sum(this=part)
        added.meta[NARROW] = True
        wide = cast(added, "DECIMAL(38, 0)") if limbs > 1 else added
        parts.append(exp.Mul(this=wide, expression=literal(2**shift)) if shift else wide)
    first, *others = parts
    for part in others:
        first = exp.Add(this=first, expression=part)
    return first


def total_alone(number: Steps, most: int, dialect: Dialect) -> exp.Expr:
    """The sum of what rows add by themselves: of few columns, and else of how many rows.

    Example:
        >>> from tacit.engines.print.postgres_dialect import POSTGRES
        >>> total_alone(SumSteps(HeldSteps("v0"), WholeSteps(-7)), 9, POSTGRES).sql()
        'SUM("v0") + CAST(COUNT("v0") AS DECIMAL) * (-7)'
    """
    match number:
        case WholeSteps(1):
            return exp.Count(this=exp.Star())
        case CaseSteps(((NotSo(StepsAreNull(part)), WholeSteps(1)),), WholeSteps(0)):
            return exp.Count(this=steps(part))
        case SumSteps(HeldSteps() as held, WholeSteps(int(value))) if dialect.wide_integer:
            count = cast(exp.Count(this=steps(held)), dialect.wide_integer)
            moved = exp.Mul(this=count, expression=literal(value))
            summed = total(steps(held), most + abs(value), dialect)
            return exp.Add(this=summed, expression=moved)
        case _:
            return total(steps(number), most, dialect)
