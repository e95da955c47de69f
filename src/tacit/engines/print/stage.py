"""Columns become steps in stages, each a relation above the last: no text is repeated."""

from collections.abc import Collection, Iterator
from fractions import Fraction
from sys import float_info

from sqlglot import exp

from tacit.core.column import Kind
from tacit.core.day import EPOCH, day_of
from tacit.engines.print.row import staged
from tacit.engines.print.word import (
    alias,
    cast,
    choose,
    chosen,
    clamped,
    column,
    compare,
    double,
    identifier,
    literal,
    paren,
)
from tacit.errors import InternalError
from tacit.plan.expression import Comparison
from tacit.plan.node import PARTS
from tacit.plan.steps import ColumnSteps

HALF = Fraction(1, 2)
JUST_BELOW_HALF = 0.49999999999999994
"""The greatest float below a half: what is just below a half does not reach the next step."""

STAGES = ("tacit_clamped", "tacit_scaled", "tacit_floored", "tacit_stepped")


def stages(
    node: object, below: str, level: str = "", there: Collection[str] = ()
) -> dict[str, exp.Select]:
    """The relations above ``below`` that add the steps of every column ``node`` computes with.

    Their names end in ``level``.

    Guarantee: what they compute cannot fail, is the index of the column's grid, and NULL where
    the column holds no finite number. Of columns that are ``there``, in all rows that are kept,
    it is never NULL, so that an engine knows its range: DuckDB multiplies twice as fast then.
    """
    numbers = list(dict.fromkeys(_columns(node)))
    made: dict[str, exp.Select] = {}
    for stage in STAGES if numbers else ():
        added = [
            alias(
                _at(stage, number, known=number.name in there),
                identifier(_name(stage, number)),
            )
            for number in numbers
        ]
        made[f"{stage}{level}"] = chosen(below, exp.Star(), *added)
        below = f"{stage}{level}"
    return made


def _columns(node: object) -> Iterator[ColumnSteps]:
    """Every column that is computed with, wherever it stands."""
    if isinstance(node, ColumnSteps):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from _columns(part)
    else:
        for name in PARTS[type(node)] or ():
            yield from _columns(getattr(node, name))


def _name(stage: str, number: ColumnSteps) -> str:
    return staged(number) if stage == STAGES[-1] else f"{stage}_{number.name}"


def _at(stage: str, number: ColumnSteps, *, known: bool) -> exp.Expr:
    """What one stage adds for one column."""
    grid, kind = number.grid, number.kind
    below = dict(zip(STAGES[1:], STAGES, strict=False))
    last = column(f"{below[stage]}_{number.name}") if stage in below else None
    low, high = literal(grid.lowest), literal(grid.highest)
    match stage, kind:
        case "tacit_clamped", Kind.INTEGER:
            return clamped(column(number.name), low, high, known=known)
        case "tacit_clamped", Kind.DECIMAL:
            # to whole numbers around the range, so that nothing overflows
            around = grid.lower.__floor__(), grid.upper.__ceil__()
            return clamped(column(number.name), *map(literal, around), known=known)
        case "tacit_clamped", Kind.DATE:
            days = map(day_of, (grid.lowest, grid.highest))
            return clamped(column(number.name), *map(literal, days), known=known)
        case "tacit_clamped", Kind.FLOAT:
            ends = float(grid.lower), float(grid.upper)
            if known:  # to be finite
                return clamped(column(number.name), *map(double, ends), known=True)
            return _clamped_float(column(number.name), *ends)
        case "tacit_scaled", Kind.DECIMAL if last:
            return exp.Mul(this=last, expression=literal(1 / grid.step))
        case "tacit_scaled", Kind.FLOAT if last:
            # a power of two: exact
            scaled = exp.Mul(this=last, expression=double(float(1 / grid.step)))
            return (
                scaled if grid.step <= 1 else _unless_tiny(last, float(grid.step / 4), scaled)
            )
        case (("tacit_scaled" | "tacit_floored"), Kind.INTEGER | Kind.DATE) if last:
            return last
        case "tacit_floored", Kind.FLOAT if last and _rounds_at_once(number):
            half = double(JUST_BELOW_HALF)
            return exp.Floor(this=paren(exp.Add(this=last, expression=half)))
        case "tacit_floored", Kind.DECIMAL | Kind.FLOAT if last:
            return exp.Floor(this=last)
        case "tacit_stepped", Kind.INTEGER if last:
            return cast(last, "BIGINT")
        case "tacit_stepped", Kind.DATE if last:
            since = exp.DateDiff(this=last, expression=literal(EPOCH), unit=exp.var("DAY"))
            return cast(since, "BIGINT")
        case "tacit_stepped", Kind.FLOAT if last and _rounds_at_once(number):
            return cast(last, "BIGINT")
        case "tacit_stepped", Kind.DECIMAL | Kind.FLOAT if last:
            return clamped(_nearest(number, last), low, high, known=known)
    raise InternalError(f"A {kind.value} column has no steps.")


def _clamped_float(value: exp.Expr, low: float, high: float) -> exp.Expr:
    """The nearest float inside; NULL for what is not finite: engines differ on its order."""
    bounds = double(low), double(high)
    inside = exp.and_(
        compare(Comparison.AT_LEAST, value, bounds[0]),
        compare(Comparison.AT_MOST, value, bounds[1]),
    )
    above = exp.and_(
        compare(Comparison.MORE, value, bounds[1]),
        compare(Comparison.AT_MOST, value, double(float_info.max)),
    )
    below = exp.and_(
        compare(Comparison.LESS, value, bounds[0]),
        compare(Comparison.AT_LEAST, value, double(-float_info.max)),
    )
    # the common case by itself: engines look at the other conditions only where it fails
    outside = choose([(above, bounds[1]), (below, bounds[0])], None)
    return choose([(inside, value)], outside)


def _rounds_at_once(number: ColumnSteps) -> bool:
    """Whether no step is below 0, and what was clamped as a float has not to be clamped again.

    Then the floor of a float and `JUST_BELOW_HALF` is the nearest step, a half going up, with
    the rounding that every engine's floats have.
    """
    ends = number.grid.lower, number.grid.upper
    return ends[0] >= 0 and all(Fraction(float(end)) == end for end in ends)


def _unless_tiny(value: exp.Expr, tiny: float, scaled: exp.Expr) -> exp.Expr:
    """``scaled``, and 0 for the nearest to 0, where a product of floats may vanish.

    PostgreSQL fails then; the step that is nearest is the same.
    """
    near = exp.and_(
        compare(Comparison.MORE, value, double(-tiny)),
        compare(Comparison.LESS, value, double(tiny)),
    )
    return choose([(near, double(0.0))], scaled)


def _nearest(number: ColumnSteps, floor: exp.Expr) -> exp.Expr:
    """The floor, or one more: a half goes up, and nothing is rounded before that is decided."""
    scaled = column(f"tacit_scaled_{number.name}")
    rest = paren(exp.Sub(this=scaled, expression=floor))
    half = double(0.5) if number.kind is Kind.FLOAT else literal(HALF)
    one = choose([(compare(Comparison.AT_LEAST, rest, half), literal(1))], literal(0))
    return paren(exp.Add(this=cast(floor, "BIGINT"), expression=one))
