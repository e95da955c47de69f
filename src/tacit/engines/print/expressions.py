"""How a stored value is read: the one place where storage gets the meaning of its kind.

A statement must not fail, nor change its meaning, by what a table's writer stored. Types alone
do not promise that: a text column may carry a collation by which 'north' and 'NORTH' are equal,
or by which a comparison with another column is an error of the engine; on Spark it may hold
bytes that are no text; on PostgreSQL it may hold a gigabyte. So every column passes through
`cell` where it is read from its table, and again in the condition of a join. What a question
does above that is done with plain values:

- text is compared, grouped and ordered by its bytes;
- text that is not UTF-8, or longer than `LONGEST_TEXT` bytes, is NULL;
- a decimal that is no number is NULL.

Floats that are not finite and days far away have their meaning where they are used
(`tacit.engines.print.expressions`, `tacit.engines.print.expressions`).
"""

from collections.abc import Collection, Iterator
from fractions import Fraction
from sys import float_info

from sqlglot import exp

from tacit.core import EPOCH, FIRST, Kind, day_of
from tacit.engines.print import sql_builder as build
from tacit.engines.print.sql_dialect import Dialect
from tacit.errors import InternalError
from tacit.plan import (
    PARTS,
    BoundedKey,
    CaseKey,
    ColumnKey,
    Comparison,
    DatePartName,
    PeriodKey,
    Span,
    StepsKey,
    Value,
)
from tacit.plan import steps as grid_steps

LONGEST_TEXT = 2**20
"""Bytes of the longest text that PostgreSQL and Spark are asked about; a longer one is NULL.

Two texts of half a gigabyte do not fit into one row of PostgreSQL, and one of them ends Spark's
driver. DuckDB reads texts of any length. A prepared copy holds short texts on every engine.
"""


def cell(value: exp.Expr, kind: Kind, dialect: Dialect) -> exp.Expr:
    """Print a stored ``value`` with the meaning of its kind, whatever its table's writer did.

    Example:
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> cell(exp.column("ward"), Kind.TEXT, DUCKDB).sql(dialect="duckdb")
        'ward COLLATE "C"'
        >>> cell(exp.column("ward"), Kind.INTEGER, DUCKDB).sql(dialect="duckdb")
        'ward'
    """
    return dialect.cell(value, kind)


def compared_by_bytes(value: exp.Expr) -> exp.Expr:
    """Return a text that is compared by its bytes, whatever collation its column has."""
    return exp.Collate(this=value, expression=exp.to_identifier("C", quoted=True))


def short_or_null(value: exp.Expr) -> exp.Expr:
    """Return a text, and NULL where it is too long; its length is known without reading it."""
    length = exp.Anonymous(this="OCTET_LENGTH", expressions=[value])
    fits = exp.LTE(this=length, expression=build.literal(LONGEST_TEXT))
    return build.choose([(fits, value)], None)


# ------------------------------------------------------------------ row
# What is computed from one row: each node has one printed form, which all engines agree on.
#
# They are comparisons, CASE, integer arithmetic, FLOOR, and EXTRACT of days of the years 1 to
# 9999; nothing here can fail, whatever a row holds.

WIDEST_DECIMAL = exp.DataType.build("DECIMAL(38, 18)")
"""20 digits before the point and 18 after it: all decimals that `check_types` lets pass."""


def condition(wanted: grid_steps.Condition) -> exp.Expr:
    """A condition on one row."""
    match wanted:
        case grid_steps.ConstantCondition(truth):
            return build.cast(build.literal(truth), "BOOLEAN")
        case grid_steps.ColumnIsTrue(name):
            return build.column(name)
        case grid_steps.CompareColumn(comparison, name, kind, value):
            return build.compare(
                comparison, _comparable_column(name, kind), _comparable_constant(kind, value)
            )
        case grid_steps.CompareColumns(comparison, left, right, kind):
            return build.compare(
                comparison, _comparable_column(left, kind), _comparable_column(right, kind)
            )
        case grid_steps.CompareSteps(comparison, one, other):
            return build.compare(comparison, steps(one), steps(other))
        case grid_steps.StepsAreNull(number):
            return build.is_null(steps(number))
        case grid_steps.StepsOneOf(number, whole):
            listed = list(map(build.literal, whole))
            return build.paren(exp.In(this=steps(number), expressions=listed))
        case grid_steps.ColumnIsNull(name, kind):
            return build.is_null(finite(name, kind))
        case grid_steps.ColumnOneOf(name, kind, values):
            listed = [_comparable_constant(kind, value) for value in values]
            return build.paren(exp.In(this=_comparable_column(name, kind), expressions=listed))
        case grid_steps.AllOf(parts):
            return build.paren(exp.and_(exp.true(), *map(condition, parts), copy=False))
        case grid_steps.AnyOf(parts):
            return build.paren(exp.or_(exp.false(), *map(condition, parts), copy=False))
        case grid_steps.NotSo(part):
            return build.paren(exp.Not(this=build.paren(condition(part))))


def steps(number: grid_steps.Steps) -> exp.Expr:
    """A whole number of steps, of 64 bits."""
    match number:
        case grid_steps.WholeSteps(value):
            return build.cast(build.literal(value), "BIGINT")
        case grid_steps.SumSteps(left, right):
            return build.paren(exp.Add(this=steps(left), expression=steps(right)))
        case grid_steps.ProductSteps(left, right):
            return build.paren(exp.Mul(this=steps(left), expression=steps(right)))
        case grid_steps.HalvedSteps(part, times):
            # a shift of what is never below 0: engines divide integers each in its own way
            shift = exp.BitwiseRightShift(this=steps(part), expression=build.literal(times))
            return build.paren(shift)
        case grid_steps.CaseSteps(whens, otherwise):
            pairs = [(condition(when), steps(then)) for when, then in whens]
            return build.choose(pairs, steps(otherwise))
        case grid_steps.HeldSteps(name):
            return build.column(name)
        case grid_steps.PartSteps(day, DatePartName.WEEKDAY):
            # engines number the days of a week each in its own way
            return days_since_monday(day, more=1)
        case grid_steps.PartSteps(day, part):
            extracted = exp.Extract(this=exp.var(part.value), expression=clamped_day(day))
            return build.cast(extracted, "BIGINT")
        case grid_steps.ColumnSteps():
            return build.column(steps_column(number))


def days_since_monday(day: grid_steps.ColumnSteps, more: int = 0) -> exp.Expr:
    """How many days ``more`` days after a clamped day are after a Monday, from 0 to 6.

    The first day of the calendar is a Monday, and none is before it.
    """
    since = exp.Add(this=steps(day), expression=build.literal(more - FIRST))
    return build.paren(exp.Mod(this=build.paren(since), expression=build.literal(7)))


def clamped_day(day: grid_steps.ColumnSteps) -> exp.Expr:
    """A clamped day as a day, once `tacit.engines.print.expressions` has made it."""
    return build.column(f"tacit_clamped_{day.name}")


def steps_column(number: grid_steps.ColumnSteps) -> str:
    """Return the name of the computed column that holds a column's grid steps."""
    return f"tacit_steps_{number.name}"


def finite(name: str, kind: Kind) -> exp.Expr:
    """A column as it is; a float that is not finite is NULL: engines differ on its order."""
    if kind is not Kind.FLOAT:
        return build.column(name)
    inside = exp.and_(
        build.compare(Comparison.AT_LEAST, build.column(name), build.double(-float_info.max)),
        build.compare(Comparison.AT_MOST, build.column(name), build.double(float_info.max)),
    )
    return build.choose([(inside, build.column(name))], None)


def _comparable_column(name: str, kind: Kind) -> exp.Expr:
    """A column as it is compared; a decimal in the type that holds all that may be declared.

    A file may hold numbers of more digits than its decimals have by their type. DuckDB fails on
    such a number where it casts the column to the type of a finer constant; this cast does not.
    """
    if kind is not Kind.DECIMAL:
        return finite(name, kind)
    return exp.TryCast(this=build.column(name), to=WIDEST_DECIMAL.copy())


def _comparable_constant(kind: Kind, value: Value) -> exp.Expr:
    """A constant in the type of the column that it is compared with."""
    if kind is Kind.FLOAT and isinstance(value, int | Fraction):
        return build.double(float(value))
    return build.literal(value)


# ------------------------------------------------------------------ stage
# Columns become steps in stages, each a relation above the last: no text is repeated.

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
            build.alias(
                _stage_value(stage, number, known=number.name in there),
                build.identifier(_name(stage, number)),
            )
            for number in numbers
        ]
        made[f"{stage}{level}"] = build.select_from(below, exp.Star(), *added)
        below = f"{stage}{level}"
    return made


def _columns(node: object) -> Iterator[grid_steps.ColumnSteps]:
    """Every column that is computed with, wherever it stands."""
    if isinstance(node, grid_steps.ColumnSteps):
        yield node
    elif isinstance(node, tuple):
        for part in node:
            yield from _columns(part)
    else:
        for name in PARTS[type(node)] or ():
            yield from _columns(getattr(node, name))


def _name(stage: str, number: grid_steps.ColumnSteps) -> str:
    return steps_column(number) if stage == STAGES[-1] else f"{stage}_{number.name}"


def _stage_value(stage: str, number: grid_steps.ColumnSteps, *, known: bool) -> exp.Expr:
    """What one stage adds for one column."""
    grid, kind = number.grid, number.kind
    below = dict(zip(STAGES[1:], STAGES, strict=False))
    last = build.column(f"{below[stage]}_{number.name}") if stage in below else None
    low, high = build.literal(grid.lowest), build.literal(grid.highest)
    match stage, kind:
        case "tacit_clamped", Kind.INTEGER:
            return build.clamp(build.column(number.name), low, high, known=known)
        case "tacit_clamped", Kind.DECIMAL:
            # to whole numbers around the range, so that nothing overflows
            around = grid.lower.__floor__(), grid.upper.__ceil__()
            return build.clamp(
                build.column(number.name), *map(build.literal, around), known=known
            )
        case "tacit_clamped", Kind.DATE:
            days = map(day_of, (grid.lowest, grid.highest))
            return build.clamp(
                build.column(number.name), *map(build.literal, days), known=known
            )
        case "tacit_clamped", Kind.FLOAT:
            ends = float(grid.lower), float(grid.upper)
            if known:  # to be finite
                return build.clamp(
                    build.column(number.name), *map(build.double, ends), known=True
                )
            return _clamp_float(build.column(number.name), *ends)
        case "tacit_scaled", Kind.DECIMAL if last:
            return exp.Mul(this=last, expression=build.literal(1 / grid.step))
        case "tacit_scaled", Kind.FLOAT if last:
            # a power of two: exact
            scaled = exp.Mul(this=last, expression=build.double(float(1 / grid.step)))
            return (
                scaled if grid.step <= 1 else _unless_tiny(last, float(grid.step / 4), scaled)
            )
        case (("tacit_scaled" | "tacit_floored"), Kind.INTEGER | Kind.DATE) if last:
            return last
        case "tacit_floored", Kind.FLOAT if last and _rounds_at_once(number):
            half = build.double(JUST_BELOW_HALF)
            return exp.Floor(this=build.paren(exp.Add(this=last, expression=half)))
        case "tacit_floored", Kind.DECIMAL | Kind.FLOAT if last:
            return exp.Floor(this=last)
        case "tacit_stepped", Kind.INTEGER if last:
            return build.cast(last, "BIGINT")
        case "tacit_stepped", Kind.DATE if last:
            since = exp.DateDiff(
                this=last, expression=build.literal(EPOCH), unit=exp.var("DAY")
            )
            return build.cast(since, "BIGINT")
        case "tacit_stepped", Kind.FLOAT if last and _rounds_at_once(number):
            return build.cast(last, "BIGINT")
        case "tacit_stepped", Kind.DECIMAL | Kind.FLOAT if last:
            return build.clamp(_nearest(number, last), low, high, known=known)
    raise InternalError(f"A {kind.value} column has no steps.")


def _clamp_float(value: exp.Expr, low: float, high: float) -> exp.Expr:
    """The nearest float inside; NULL for what is not finite: engines differ on its order."""
    bounds = build.double(low), build.double(high)
    inside = exp.and_(
        build.compare(Comparison.AT_LEAST, value, bounds[0]),
        build.compare(Comparison.AT_MOST, value, bounds[1]),
    )
    above = exp.and_(
        build.compare(Comparison.MORE, value, bounds[1]),
        build.compare(Comparison.AT_MOST, value, build.double(float_info.max)),
    )
    below = exp.and_(
        build.compare(Comparison.LESS, value, bounds[0]),
        build.compare(Comparison.AT_LEAST, value, build.double(-float_info.max)),
    )
    # the common case by itself: engines look at the other conditions only where it fails
    outside = build.choose([(above, bounds[1]), (below, bounds[0])], None)
    return build.choose([(inside, value)], outside)


def _rounds_at_once(number: grid_steps.ColumnSteps) -> bool:
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
        build.compare(Comparison.MORE, value, build.double(-tiny)),
        build.compare(Comparison.LESS, value, build.double(tiny)),
    )
    return build.choose([(near, build.double(0.0))], scaled)


def _nearest(number: grid_steps.ColumnSteps, floor: exp.Expr) -> exp.Expr:
    """The floor, or one more: a half goes up, and nothing is rounded before that is decided."""
    scaled = build.column(f"tacit_scaled_{number.name}")
    rest = build.paren(exp.Sub(this=scaled, expression=floor))
    half = build.double(0.5) if number.kind is Kind.FLOAT else build.literal(HALF)
    one = build.choose(
        [(build.compare(Comparison.AT_LEAST, rest, half), build.literal(1))], build.literal(0)
    )
    return build.paren(exp.Add(this=build.cast(floor, "BIGINT"), expression=one))


# ------------------------------------------------------------------ key
# What names the group of a row: text or a whole number, and NULL where it is in none.


def group_name(key: BoundedKey) -> exp.Expr:
    """The name of a row's group."""
    match key:
        case CaseKey(_, whens, otherwise, _):
            pairs = [(condition(when), build.literal(name)) for when, name in whens]
            return build.choose(pairs, build.literal(otherwise))
        case PeriodKey():
            return _period_start(key)
        case StepsKey(_, number, _):
            return steps(number)
        case ColumnKey(_, name, Kind.BOOLEAN, _):
            not_so = exp.not_(build.paren(build.column(name)))
            return build.choose(
                [(build.column(name), build.literal(1)), (not_so, build.literal(0))], None
            )
        case ColumnKey(_, name, Kind.DATE, _):
            return build.cast(build.column(name), "VARCHAR")
        case ColumnKey(_, name, _, _):
            return build.column(name)


def is_text(key: BoundedKey) -> bool:
    """Whether groups are named by text, and else by whole numbers."""
    match key:
        case ColumnKey(_, _, kind, _):
            return kind in {Kind.TEXT, Kind.DATE}
        case CaseKey(_, _, _, keys):
            return isinstance(keys.values[0], str)
        case PeriodKey():
            return True
        case StepsKey():
            return False


def is_group(key: BoundedKey, name: str, dialect: Dialect) -> exp.Expr:
    """Whether the column ``name`` names a group: one of the public ones, where they are."""
    if not isinstance(key, ColumnKey | StepsKey) or not key.keys:
        return exp.not_(build.is_null(build.column(name)))
    values = list(map(build.literal, key.keys.values))
    return dialect.is_one_of(build.column(name), values, text=is_text(key))


def _period_start(key: PeriodKey) -> exp.Expr:
    """The text of the day that a period starts on.

    Not by DATE_TRUNC: where a table holds days near the ends of its type, DuckDB fails on them
    although they are filtered out, since it is taken of the column's least and greatest.
    """
    day = clamped_day(key.day)
    match key.span:
        case Span.DAYS:
            return build.cast(day, "VARCHAR")
        case Span.WEEKS:
            since = build.cast(days_since_monday(key.day), "INT")
            return build.cast(build.paren(exp.Sub(this=day, expression=since)), "VARCHAR")
        case Span.MONTHS:
            return _date_prefix(day, len("2026-01-"), build.literal("01"))
        case Span.QUARTERS:
            quarter = steps(grid_steps.PartSteps(key.day, DatePartName.QUARTER))
            pairs = [
                (
                    build.compare(Comparison.EQUAL, quarter, build.literal(number)),
                    build.literal(f"{month}-01"),
                )
                for number, month in enumerate(("01", "04", "07", "10"), start=1)
            ]
            return _date_prefix(day, len("2026-"), build.choose(pairs, None))
        case Span.YEARS:
            return _date_prefix(day, len("2026-"), build.literal("01-01"))


def _date_prefix(day: exp.Expr, length: int, rest: exp.Expr) -> exp.Expr:
    """The first characters of a day, and others after them."""
    start = exp.Substring(
        this=build.cast(day, "VARCHAR"), start=build.literal(1), length=build.literal(length)
    )
    return build.paren(exp.DPipe(this=start, expression=rest, safe=True))
