"""SQL expressions over one row: stored values, conditions, grid steps and group keys.

A statement must not fail or change its meaning because of stored values. Types alone do not
ensure that. A text column may have a collation in which 'north' and 'NORTH' are equal, or with
which a comparison to another column is an error. On Spark, it may contain bytes that are not
text; on PostgreSQL, a text of one gigabyte. So every column passes through `cell` where it is
read from its table, and again in the condition of a join. All other expressions are computed
from the result of `cell`:

- text is compared, grouped and ordered by its bytes;
- text that is not UTF-8, or longer than `LONGEST_TEXT` bytes, is NULL;
- a decimal that is not a number is NULL.

Floats that are not finite are handled by `finite`, and days outside the bounds by `stages`.
"""

from collections.abc import Collection, Iterator
from datetime import datetime, time
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
    RowValue,
    Span,
    StepsKey,
    StoredValue,
    Value,
)
from tacit.plan import steps as grid_steps

LONGEST_TEXT = 2**20
"""The longest text, in bytes, that is read on PostgreSQL and Spark; a longer one is NULL.

Two texts of half a gigabyte do not fit into one row of PostgreSQL, and one such text makes
Spark's driver crash. DuckDB reads texts of any length. A prepared copy contains short texts on
every engine.
"""


def cell(value: exp.Expr, kind: Kind, dialect: Dialect) -> exp.Expr:
    """Return a stored ``value`` with the meaning of its kind, whatever was stored.

    Example:
        >>> from tacit.engines.print.sql_dialects import DUCKDB
        >>> cell(exp.column("ward"), Kind.TEXT, DUCKDB).sql(dialect="duckdb")
        'ward COLLATE "C"'
        >>> cell(exp.column("ward"), Kind.INTEGER, DUCKDB).sql(dialect="duckdb")
        'ward'
    """
    return dialect.cell(value, kind)


def compared_by_bytes(value: exp.Expr) -> exp.Expr:
    """Return a text that is compared by its bytes, whatever the column's collation is."""
    return exp.Collate(this=value, expression=exp.to_identifier("C", quoted=True))


def short_or_null(value: exp.Expr) -> exp.Expr:
    """Return a text, or NULL if it is too long; its length is known without reading it."""
    length = exp.Anonymous(this="OCTET_LENGTH", expressions=[value])
    fits = exp.LTE(this=length, expression=build.literal(LONGEST_TEXT))
    return build.choose([(fits, value)], None)


# ------------------------------------------------------------------ conditions and steps
# Expressions over one row. Each node of a plan has one printed form, which has the same meaning
# on all engines.
#
# These forms are comparisons, CASE, integer arithmetic, FLOOR, and EXTRACT of days of the years
# 1 to 9999. None of them can fail, whatever a row contains.

WIDEST_DECIMAL = exp.DataType.build("DECIMAL(38, 18)")
"""20 digits before the point and 18 after it: all decimals that `check_types` accepts."""


def condition(wanted: grid_steps.Condition) -> exp.Expr:
    """Return a condition on one row as SQL."""
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
        case grid_steps.Negation(part):
            return build.paren(exp.Not(this=build.paren(condition(part))))


def steps(number: grid_steps.Steps) -> exp.Expr:
    """Return a number of grid steps as SQL, a 64-bit integer."""
    match number:
        case grid_steps.WholeSteps(value):
            return build.cast(build.literal(value), "BIGINT")
        case grid_steps.SumSteps(left, right):
            return build.paren(exp.Add(this=steps(left), expression=steps(right)))
        case grid_steps.ProductSteps(left, right):
            return build.paren(exp.Mul(this=steps(left), expression=steps(right)))
        case grid_steps.HalvedSteps(part, times):
            # the value is never negative; engines differ in how they divide integers
            shift = exp.BitwiseRightShift(this=steps(part), expression=build.literal(times))
            return build.paren(shift)
        case grid_steps.CaseSteps(whens, otherwise):
            pairs = [(condition(when), steps(then)) for when, then in whens]
            return build.choose(pairs, steps(otherwise))
        case grid_steps.QuotientSteps(part, divisor):
            # the value is never negative: engines round negative quotients differently
            whole = exp.IntDiv(this=steps(part), expression=build.literal(divisor))
            return build.cast(build.paren(whole), "BIGINT")
        case grid_steps.AbsoluteSteps(part):
            return exp.Abs(this=steps(part))
        case grid_steps.ExtremeSteps(greatest, parts):
            return build.call("GREATEST" if greatest else "LEAST", *map(steps, parts))
        case grid_steps.CurveSteps():
            return _curve(number)
        case grid_steps.ComputedSteps(name):
            return build.column(name)
        case grid_steps.PartSteps(day, DatePartName.WEEKDAY):
            # engines number the days of a week differently
            return days_since_monday(day, more=1)
        case grid_steps.PartSteps(day, part) if part.is_of_time:
            clamped = build.column(f"{STAGES[0]}_{day.name}")
            extracted = exp.Extract(this=exp.var(part.value), expression=clamped)
            return build.cast(extracted, "BIGINT")
        case grid_steps.PartSteps(day, part):
            extracted = exp.Extract(this=exp.var(part.value), expression=clamped_day(day))
            return build.cast(extracted, "BIGINT")
        case grid_steps.ColumnSteps():
            return build.column(steps_column(number))


def _curve(number: grid_steps.CurveSteps) -> exp.Expr:
    """Return a root, a logarithm or an exponential as SQL.

    No call can fail: its argument is in the domain of the function even where the CASE does not
    use the result, because an engine may compute it in advance.
    """
    least = build.cast(build.literal(number.least), "BIGINT")
    wanted = build.compare(Comparison.AT_LEAST, steps(number.steps), least)
    argument = build.cast(build.call("GREATEST", steps(number.steps), least.copy()), "DOUBLE")
    unit, scale = build.double(float(number.unit)), build.double(float(number.scale))
    found = build.call(number.curve.value, exp.Mul(this=argument, expression=unit))
    scaled = exp.Mul(this=found, expression=scale)
    rounded = exp.Floor(this=exp.Add(this=scaled, expression=build.double(0.5)))
    low, high = (build.double(float(end)) for end in (number.low, number.high))
    clamped = build.call("GREATEST", build.call("LEAST", rounded, high), low)
    return build.choose([(wanted, build.cast(clamped, "BIGINT"))], None)


def days_since_monday(day: grid_steps.ColumnSteps, more: int = 0) -> exp.Expr:
    """Return the days from the last Monday to ``more`` days after a clamped day, from 0 to 6.

    The first day of the calendar is a Monday, so the number is never negative.
    """
    since = exp.Add(this=steps(day), expression=build.literal(more - FIRST))
    return build.paren(exp.Mod(this=build.paren(since), expression=build.literal(7)))


def clamped_day(day: grid_steps.ColumnSteps) -> exp.Expr:
    """Return the column that contains a clamped day as a date; `stages` computes it.

    A timestamp is clamped in the first stage, and cast to a date in the second.
    """
    stage = STAGES[1] if day.kind is Kind.TIMESTAMP else STAGES[0]
    return build.column(f"{stage}_{day.name}")


def steps_column(number: grid_steps.ColumnSteps) -> str:
    """Return the name of the computed column that contains a column's grid steps."""
    return f"tacit_steps_{number.name}"


def finite(name: str, kind: Kind) -> exp.Expr:
    """Return a column; floats that are not finite are NULL: engines differ on their order."""
    if kind is not Kind.FLOAT:
        return build.column(name)
    inside = exp.and_(
        build.compare(Comparison.AT_LEAST, build.column(name), build.double(-float_info.max)),
        build.compare(Comparison.AT_MOST, build.column(name), build.double(float_info.max)),
    )
    return build.choose([(inside, build.column(name))], None)


def _comparable_column(name: str, kind: Kind) -> exp.Expr:
    """Return a column for comparisons; a decimal is cast to the widest supported type.

    A file may contain numbers with more digits than the type of its decimals allows. DuckDB
    fails on such a number when it casts the column to the type of a constant with more digits
    after the point. This cast does not fail.
    """
    if kind is not Kind.DECIMAL:
        return finite(name, kind)
    return exp.TryCast(this=build.column(name), to=WIDEST_DECIMAL.copy())


def _comparable_constant(kind: Kind, value: Value) -> exp.Expr:
    """Return a constant in the type of the column with which it is compared.

    The type depends on the column's kind and not on that of the constant: plans with 1 and with
    TRUE are equal to Python, so that they must have the same statement, which is cached.
    """
    if kind is Kind.FLOAT and isinstance(value, int | Fraction):
        return build.double(float(value))
    if kind is Kind.BOOLEAN:
        return build.literal(bool(value))
    return build.literal(int(value) if isinstance(value, bool) else value)


# ------------------------------------------------------------------ stages
# A column is converted to grid steps in four stages: clamp to the bounds, divide by the step,
# round down, then round to the nearest step. Each stage is a relation above the previous one,
# so that no expression is repeated in the text of the statement.

HALF = Fraction(1, 2)
JUST_BELOW_HALF = 0.49999999999999994
"""The largest float below 0.5: a value just below a half is not rounded to the next step."""

STAGES = ("tacit_clamped", "tacit_scaled", "tacit_floored", "tacit_stepped")


def stages(
    node: object, below: str, level: str = "", there: Collection[str] = ()
) -> dict[str, exp.Select]:
    """Return relations above ``below`` that add the grid steps of all columns of ``node``.

    The names of the relations end in ``level``.

    Guarantee: the expressions cannot fail. They are the index on the column's grid, and NULL if
    the column contains no finite number. The columns ``there`` are not NULL in any kept row, so
    their steps are never NULL. An engine then knows their range, and DuckDB multiplies them
    twice as fast.
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
    """Yield every column of grid steps in a node of a plan and in its parts."""
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
    """Return the expression that one stage computes for one column."""
    grid, kind = number.grid, number.kind
    below = dict(zip(STAGES[1:], STAGES, strict=False))
    last = build.column(f"{below[stage]}_{number.name}") if stage in below else None
    low, high = build.literal(grid.lowest), build.literal(grid.highest)
    match stage, kind:
        case "tacit_clamped", Kind.INTEGER:
            return build.clamp(build.column(number.name), low, high, known=known)
        case "tacit_clamped", Kind.DECIMAL:
            # clamp to whole numbers around the range, so that nothing overflows
            around = grid.lower.__floor__(), grid.upper.__ceil__()
            return build.clamp(
                build.column(number.name), *map(build.literal, around), known=known
            )
        case "tacit_clamped", Kind.DATE:
            days = map(day_of, (grid.lowest, grid.highest))
            return build.clamp(
                build.column(number.name), *map(build.literal, days), known=known
            )
        case "tacit_clamped", Kind.TIMESTAMP:
            moments = (
                datetime.combine(day_of(grid.lowest), time.min),
                datetime.combine(day_of(grid.highest), time.max),
            )
            return build.clamp(
                build.column(number.name), *map(build.literal, moments), known=known
            )
        case "tacit_scaled", Kind.TIMESTAMP if last:
            return build.cast(last, "DATE")
        case "tacit_clamped", Kind.FLOAT:
            ends = float(grid.lower), float(grid.upper)
            if known:  # the column is finite
                return build.clamp(
                    build.column(number.name), *map(build.double, ends), known=True
                )
            return _clamp_float(build.column(number.name), *ends)
        case "tacit_scaled", Kind.DECIMAL if last:
            return exp.Mul(this=last, expression=build.literal(1 / grid.step))
        case "tacit_scaled", Kind.FLOAT if last:
            # the step is a power of two, so the product is exact
            scaled = exp.Mul(this=last, expression=build.double(float(1 / grid.step)))
            return (
                scaled if grid.step <= 1 else _unless_tiny(last, float(grid.step / 4), scaled)
            )
        case (("tacit_scaled" | "tacit_floored"), Kind.INTEGER | Kind.DATE) if last:
            return last
        case "tacit_floored", Kind.TIMESTAMP if last:
            return last
        case "tacit_floored", Kind.FLOAT if last and _rounds_at_once(number):
            half = build.double(JUST_BELOW_HALF)
            return exp.Floor(this=build.paren(exp.Add(this=last, expression=half)))
        case "tacit_floored", Kind.DECIMAL | Kind.FLOAT if last:
            return exp.Floor(this=last)
        case "tacit_stepped", Kind.INTEGER if last:
            return build.cast(last, "BIGINT")
        case "tacit_stepped", Kind.DATE | Kind.TIMESTAMP if last:
            since = exp.DateDiff(
                this=last, expression=build.literal(EPOCH), unit=exp.var("DAY")
            )
            return build.cast(since, "BIGINT")
        case "tacit_stepped", Kind.FLOAT if last and _rounds_at_once(number):
            return build.cast(last, "BIGINT")
        case "tacit_stepped", Kind.DECIMAL | Kind.FLOAT if last:
            return build.clamp(_nearest(number, last), low, high, known=known)
    raise InternalError(f"A column of the kind {kind.value} cannot be converted to steps.")


def _clamp_float(value: exp.Expr, low: float, high: float) -> exp.Expr:
    """Return a float clamped to the bounds; NULL if it is not finite."""
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
    # the common case comes first: engines evaluate the other conditions only if it is false
    outside = build.choose([(above, bounds[1]), (below, bounds[0])], None)
    return build.choose([(inside, value)], outside)


def _rounds_at_once(number: grid_steps.ColumnSteps) -> bool:
    """Return whether one FLOOR finds the nearest step of a float, without a second clamp.

    This needs bounds that are exact floats and not negative. The floor of the value plus
    `JUST_BELOW_HALF` is then the nearest step, and a half is rounded up, with the rounding of
    IEEE floats that every engine has.
    """
    ends = number.grid.lower, number.grid.upper
    return ends[0] >= 0 and all(Fraction(float(end)) == end for end in ends)


def _unless_tiny(value: exp.Expr, tiny: float, scaled: exp.Expr) -> exp.Expr:
    """Return ``scaled``, or 0 for values so close to 0 that the product may underflow.

    PostgreSQL fails on underflow. The nearest step of such values is 0 in any case.
    """
    near = exp.and_(
        build.compare(Comparison.MORE, value, build.double(-tiny)),
        build.compare(Comparison.LESS, value, build.double(tiny)),
    )
    return build.choose([(near, build.double(0.0))], scaled)


def _nearest(number: grid_steps.ColumnSteps, floor: exp.Expr) -> exp.Expr:
    """Return the nearest step: the floor, or one more if the exact rest is at least a half."""
    scaled = build.column(f"tacit_scaled_{number.name}")
    rest = build.paren(exp.Sub(this=scaled, expression=floor))
    half = build.double(0.5) if number.kind is Kind.FLOAT else build.literal(HALF)
    one = build.choose(
        [(build.compare(Comparison.AT_LEAST, rest, half), build.literal(1))], build.literal(0)
    )
    return build.paren(exp.Add(this=build.cast(floor, "BIGINT"), expression=one))


# ------------------------------------------------------------------ group keys
# The key of a row's group is a text or an integer. It is NULL if the row is in no group.


def group_name(key: BoundedKey) -> exp.Expr:
    """Return the key of a row's group as SQL."""
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
    """Return whether the keys of groups are texts; otherwise they are integers."""
    match key:
        case ColumnKey(_, _, kind, _):
            return kind in {Kind.TEXT, Kind.DATE}
        case CaseKey(_, _, _, keys):
            return isinstance(keys.values[0], str)
        case PeriodKey():
            return True
        case StepsKey():
            return False


def row_value(value: RowValue) -> exp.Expr:
    """Return a value of a row as SQL; a stored column has the form of a group key."""
    if not isinstance(value, StoredValue):
        return steps(value)
    stored = group_name(_as_key(value))
    if value.condition == grid_steps.ConstantCondition(True):
        return stored
    return build.choose([(condition(value.condition), stored)], None)


def is_text_value(value: RowValue) -> bool:
    """Return whether a value of a row is a text; otherwise it is an integer."""
    return isinstance(value, StoredValue) and is_text(_as_key(value))


def _as_key(value: StoredValue) -> ColumnKey:
    return ColumnKey(value.name, value.name, value.kind, None)


def is_group(key: BoundedKey, name: str, dialect: Dialect) -> exp.Expr:
    """Return the condition that a row is in a group, by its key: listed, or not NULL."""
    if not isinstance(key, ColumnKey | StepsKey) or not key.keys:
        return exp.not_(build.is_null(build.column(name)))
    values = list(map(build.literal, key.keys.values))
    return dialect.is_one_of(build.column(name), values, text=is_text(key))


def _period_start(key: PeriodKey) -> exp.Expr:
    """Return the first day of a period, as text.

    DATE_TRUNC is not used: DuckDB also computes it for the least and largest value of a column
    and fails on days near the ends of the type, although they are filtered out.
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
    """Return the first ``length`` characters of a day's text, followed by ``rest``."""
    start = exp.Substring(
        this=build.cast(day, "VARCHAR"), start=build.literal(1), length=build.literal(length)
    )
    return build.paren(exp.DPipe(this=start, expression=rest, safe=True))
