"""Columns become steps in stages, each a relation above the last: no text is repeated."""

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from fractions import Fraction

from sqlglot import exp

from tacit.core.column import Kind
from tacit.engines.print.row import (
    choose,
    clamped,
    column,
    compare,
    double,
    finite,
    literal,
    staged,
)
from tacit.errors import InternalError
from tacit.plan.bounded import BoundedPlan
from tacit.plan.expression import Comparison
from tacit.plan.steps import ColumnSteps

HALF = Fraction(1, 2)
STAGES = ("tacit_clamped", "tacit_scaled", "tacit_floored", "tacit_stepped")


def stages(plan: BoundedPlan, below: str) -> dict[str, exp.Select]:
    """The relations above ``below`` that add the steps of every column computed with.

    Guarantee: what they compute cannot fail, is the index of the column's grid, and NULL where
    the column holds no finite number.
    """
    numbers = list(dict.fromkeys(_columns(plan)))
    made: dict[str, exp.Select] = {}
    for stage in STAGES if numbers else ():
        added = [
            exp.alias_(_at(stage, number), _name(stage, number), quoted=True)
            for number in numbers
        ]
        made[stage] = exp.select("*", *added, copy=False).from_(below, copy=False)
        below = stage
    return made


def _columns(node: object) -> Iterator[ColumnSteps]:
    """Every column that is computed with, wherever it stands."""
    if isinstance(node, ColumnSteps):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from _columns(part)
    elif is_dataclass(node):
        for field in fields(node):
            yield from _columns(getattr(node, field.name))


def _name(stage: str, number: ColumnSteps) -> str:
    return staged(number) if stage == STAGES[-1] else f"{stage}_{number.name}"


def _at(stage: str, number: ColumnSteps) -> exp.Expr:
    """What one stage adds for one column."""
    grid, kind = number.grid, number.kind
    below = dict(zip(STAGES[1:], STAGES, strict=False))
    last = column(f"{below[stage]}_{number.name}") if stage in below else None
    low, high = literal(grid.lowest), literal(grid.highest)
    match stage, kind:
        case "tacit_clamped", Kind.INTEGER:
            return clamped(column(number.name), low, high)
        case "tacit_clamped", Kind.DECIMAL:
            # to whole numbers around the range, so that nothing overflows
            around = grid.lower.__floor__(), grid.upper.__ceil__()
            return clamped(column(number.name), *map(literal, around))
        case "tacit_clamped", Kind.FLOAT:
            around_float = float(grid.lower), float(grid.upper)
            return clamped(finite(number.name, kind), *map(double, around_float))
        case "tacit_scaled", Kind.DECIMAL if last:
            return exp.Mul(this=last, expression=literal(1 / grid.step))
        case "tacit_scaled", Kind.FLOAT if last:
            # a power of two: exact
            return exp.Mul(this=last, expression=double(float(1 / grid.step)))
        case (("tacit_scaled" | "tacit_floored"), Kind.INTEGER) if last:
            return last
        case "tacit_floored", Kind.DECIMAL | Kind.FLOAT if last:
            return exp.Floor(this=last)
        case "tacit_stepped", Kind.INTEGER if last:
            return exp.cast(last, "BIGINT")
        case "tacit_stepped", Kind.DECIMAL | Kind.FLOAT if last:
            return clamped(_nearest(number, last), low, high)
    raise InternalError(f"A {kind.value} column has no steps.")


def _nearest(number: ColumnSteps, floor: exp.Expr) -> exp.Expr:
    """The floor, or one more: a half goes up, and nothing is rounded before that is decided."""
    scaled = column(f"tacit_scaled_{number.name}")
    rest = exp.paren(exp.Sub(this=scaled, expression=floor))
    half = double(0.5) if number.kind is Kind.FLOAT else literal(HALF)
    one = choose([(compare(Comparison.AT_LEAST, rest, half), literal(1))], literal(0))
    return exp.paren(exp.Add(this=exp.cast(floor, "BIGINT"), expression=one))
