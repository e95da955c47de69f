"""Where the groups of a question come from."""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from tacit.core import Catalog, Column, Key, Keys, Kind, Limits, Schema, day_of
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.plan import steps as grid_steps
from tacit.plan.aggregate_tallies import finest, present, read
from tacit.plan.bounded_plan import (
    BoundedKey,
    BoundedPlan,
    CaseKey,
    ColumnKey,
    PeriodKey,
    StepsKey,
)
from tacit.plan.lowering import condition, number
from tacit.plan.row_cost import not_too_many_terms
from tacit.plan.source import (
    CountOf,
    Gathered,
    GreatestOf,
    LeastOf,
    MeanOf,
    OfUnit,
    Source,
    SumOf,
    one_row,
    source_of,
)
from tacit.plan.tally import Reading, Tally, UnitTally
from tacit.plan.tree_walk import LARGEST_QUESTION, size
from tacit.plan.type_check import (
    ColumnScope,
    Released,
    clamped_days,
    day_column,
    kind_of,
    not_too_many_patterns,
    scope_of,
)

GROUPED = {Kind.TEXT, Kind.INTEGER, Kind.BOOLEAN, Kind.DATE}
"""Kinds that have groups; numbers with fractions are put into bins first."""

TRUTHS = Keys((0, 1))

MOST_PERIODS = 50_000
"""Periods of one key, such as the days of 137 years."""

MOST_BINS = 200
"""Bins of one key; each is a comparison that every row goes through."""


def bound_key(key: nodes.GroupKey, schema: Schema) -> BoundedKey:
    """The groups that ``key`` makes: public where the owner or the question names them."""
    match key.expression:
        case expr.Field(name):
            column = schema[name]
            if isinstance(column, grid_steps.ComputedColumn) and column.keys is None:
                raise InvalidValue(
                    "A number of a query below makes groups where it is whole, and has at most "
                    f"{grid_steps.MOST_KEYS} values; use bins, as in FLOOR(x / 10) * 10."
                )
            if column.kind not in GROUPED:
                raise InvalidValue(
                    f"Groups by {name!r}, a {column.kind.value} column, would hold one value "
                    "each; use bins, as in FLOOR(x / 10) * 10, or a CASE that names ranges."
                )
            keys = TRUTHS if column.kind is Kind.BOOLEAN else column.keys
            return ColumnKey(key.name, column.name, column.kind, keys)
        case expr.Case(whens, otherwise):
            named = tuple((condition(when, schema), _named(then)) for when, then in whens)
            rest = None if otherwise == expr.Constant(None) else _named(otherwise)
            values = [value for _, value in named] + ([] if rest is None else [rest])
            return CaseKey(key.name, named, rest, Keys(tuple(dict.fromkeys(values))))
        case expr.Bin(part, width):
            return bound_key(nodes.GroupKey(key.name, _bins(part, width, schema)), schema)
        case expr.DatePart():
            return bound_key(nodes.GroupKey(key.name, expr.Bin(key.expression, 1)), schema)
        case expr.Period(span, day):
            column = day_column(day, schema)
            return PeriodKey(key.name, clamped_days(column), span, _periods(span, column))
    raise InvalidValue(
        "Groups are made by a column, by bins of a number, as in FLOOR(x / 10) * 10, by dates, "
        "as in MONTH(day) or DATE_TRUNC('month', day), or by a CASE whose values are written "
        "out."
    )


def _periods(span: expr.Span, column: Column) -> Keys | None:
    """The periods that the bounds of days reach; nobody knows them where there are none."""
    if column.bounds is None:
        return None
    first, last = day_of(column.grid().lowest), day_of(column.grid().highest)
    if (last - first).days > MOST_PERIODS * span.longest:
        raise InvalidValue(
            f"So many {span.name.lower()} within the bounds of {column.name!r} are more than "
            f"{MOST_PERIODS}; ask for longer periods."
        )
    return Keys(tuple(start.isoformat() for start in span.starts(first, last)))


def _bins(part: expr.Expression, width: int, schema: Schema) -> expr.Case:
    """The bins that the bounds of a number reach; what lies beyond is in the first or last."""
    value = number(part, schema)
    first, last = (end * value.step // width for end in (value.low, value.high))
    if last - first >= MOST_BINS:
        raise InvalidValue(
            f"Bins {width} wide are {last - first + 1} within the bounds, and {MOST_BINS} are "
            "the most; make them wider."
        )
    if (last - first + 1) * size(part) > LARGEST_QUESTION:
        raise InvalidValue("So many bins of a number that is so much to compute are too many.")
    starts = [place * width for place in range(first, last + 1)]
    below = [
        (
            expr.Compare(expr.Comparison.LESS, part, expr.Constant(start + width)),
            expr.Constant(start),
        )
        for start in starts[:-1]
    ]
    # a comparison with NULL is not true, so that NULL has no bin
    rest = expr.Compare(expr.Comparison.AT_LEAST, part, expr.Constant(starts[-1]))
    return expr.Case((*below, (rest, expr.Constant(starts[-1]))), expr.Constant(None))


def _named(expression: expr.Expression) -> Key:
    match expression:
        case expr.Constant(bool()):
            pass
        case expr.Constant(str() | int() as value):
            return value
        case expr.Constant(Fraction() as value) if value.denominator == 1:
            return int(value)
    raise InvalidValue("A group is named by text or by a whole number, written out.")


# ------------------------------------------------------------------ gather value
# Which number an aggregate of one unit's rows is, and the range that it never leaves.

FINE = 34
"""Bits of the range of a mean, at least: its rounding is then as small as that of floats."""

SHAPE = grid_steps.WholeSteps(None)
"""What stands for the steps where only their range is told."""


def gather_value(
    aggregate: nodes.Aggregate, schema: Schema, max_rows: int
) -> tuple[OfUnit, grid_steps.Ranged]:
    """What an engine computes for ``aggregate``, and its range, with no steps of its own.

    The range follows from public facts: ``max_rows``, beyond which counts and sums are clamped,
    and the bounds of columns.
    """
    match aggregate:
        case nodes.CountRows():
            # a unit that has a row here has at least one
            return CountOf(grid_steps.ConstantCondition(True), 1, max_rows), grid_steps.Ranged(
                SHAPE, 1, max_rows, Fraction(1)
            )
        case nodes.CountValues(argument):
            made = CountOf(present(argument, schema), 0, max_rows)
            return made, grid_steps.Ranged(SHAPE, 0, max_rows, Fraction(1))
        case nodes.Sum(argument):
            value = number(argument, schema)
            low, high = (
                min(value.low, value.low * max_rows),
                max(value.high, value.high * max_rows),
            )
            rounding = value.rounding * max_rows
            ranged = grid_steps.Ranged(SHAPE, low, high, value.step, rounding)
            return SumOf(value.steps, low, high), ranged
        case nodes.Least(argument):
            value = number(argument, schema)
            return LeastOf(value.steps), value
        case nodes.Greatest(argument):
            value = number(argument, schema)
            return GreatestOf(value.steps), value
        case nodes.Mean(argument):
            return _mean(number(argument, schema))
    raise InvalidValue(
        "Of one unit's rows there are COUNT(*), COUNT(x), SUM, AVG, MIN and MAX."
    )


def _mean(value: grid_steps.Ranged) -> tuple[MeanOf, grid_steps.Ranged]:
    """A mean rounded to parts of a step, as many as there is room for."""
    wide = (value.high - value.low).bit_length()
    room = grid_steps.ROOM.bit_length() - 1 - max(abs(value.low), abs(value.high)).bit_length()
    finer = 2 ** max(0, min(FINE - wide, room))
    low, high, step = value.low * finer, value.high * finer, value.step / finer
    made = MeanOf(value.above(value.low).steps, finer, low)
    return made, grid_steps.Ranged(SHAPE, low, high, step, value.rounding + step / 2)


# ------------------------------------------------------------------ gather
# The rows of a relation as engines find them: tables, or what each unit's own rows add up to.
#
# What is computed for a unit is a total function of that unit's own rows, so that the rows
# above still belong to one unit each, and are bounded above as any others are.


@dataclass(frozen=True, slots=True)
class Rows:
    """Where rows come from, their columns, which of them count, and how many a unit has.

    ``limits`` are what a question about these rows bounds units by: what is above a limit is
    dropped, so that nothing rests on their being true.
    """

    source: Source
    scope: ColumnScope
    condition: grid_steps.AllOf
    limits: Limits


def gather(relation: nodes.Relation, catalog: Catalog) -> Rows:
    """The rows of ``relation``.

    Guarantee: a function of the question and the catalog alone: no data is read.
    """
    source = source_of(relation, catalog)
    below = nodes.per_unit_in(relation)
    if below is None:
        scope = scope_of(source.datasets, catalog)
        limits = catalog.dataset(source.dataset).limits
        if one_row(source, catalog):
            limits = Limits(1, 1)
    else:
        gathered, scope, limits = _gathered(below, source.unit, catalog)
        source = replace(source, gathered=gathered)
        public = scope_of(tuple(each.dataset for each in source.beside), catalog)
        scope = ColumnScope((*scope.columns, *public.columns))
    for each in source.beside:
        if catalog.is_public(each.dataset):
            _alike(scope[each.left], scope[each.right])
    wanted = grid_steps.AllOf(tuple(condition(part, scope) for part in nodes.filters(relation)))
    return Rows(source, scope, wanted, limits)


def _gathered(
    relation: nodes.PerUnit, unit: str, catalog: Catalog
) -> tuple[Gathered, ColumnScope, Limits]:
    """The rows of units, their columns, and their limits.

    A unit has one row, or one for each of its groups: as many as it may have in an answer.
    """
    rows = gather(relation.source, catalog)
    _names_unit(relation, unit)
    columns = [rows.scope[name] for name in dict.fromkeys((unit, *relation.keys))]
    for column in columns[1:]:
        _is_key(column)
    values, held = [], []
    for value in relation.values:
        made, found = gather_value(value.aggregate, rows.scope, rows.limits.max_rows)
        name = f"{nodes.BELOW}.{value.name}"
        values.append((name, made))
        held.append(
            grid_steps.ComputedColumn.of(name, replace(found, steps=grid_steps.HeldSteps(name)))
        )
    keys = tuple(column.name for column in columns[1:])
    gathered = Gathered(rows.source, rows.condition, keys, tuple(values))
    most = rows.limits.max_groups if keys else 1
    return gathered, ColumnScope((*columns, *held)), Limits(most, most)


def _alike(left: Column, right: Column) -> None:
    """Refuse to equate columns that engines compare each in their own way, or not at all."""
    if left.kind is not right.kind or left.kind not in GROUPED:
        raise InvalidValue(
            f"{left.name} is {left.kind.value} and {right.name} is {right.kind.value}; a join "
            "equates columns of one kind: text, whole numbers, truths or days."
        )


def _names_unit(relation: nodes.PerUnit, unit: str) -> None:
    dataset = unit.partition(".")[0]
    if dataset not in nodes.datasets(relation):
        raise InvalidValue(
            f"Rows of a query below that aggregates belong to {unit}; join {dataset!r} there."
        )


def _is_key(column: Column) -> None:
    if isinstance(column, grid_steps.ComputedColumn) or column.kind not in GROUPED:
        raise InvalidValue(
            f"{column.name!r} makes no groups in a query below; group by the unit, and by "
            "columns of text, whole numbers, truths or days."
        )


# ------------------------------------------------------------------ bound
# Bound a question: contribution limits, clamps, and where its keys come from.

MOST_MEASURES = 100
"""Aggregates of one question."""

MOST_GROUPS = 10**7
"""Public groups of one answer: ten seconds of noise."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A question that an engine can run, and how its answer is read off what comes back."""

    plan: BoundedPlan
    readings: tuple[Reading, ...]


def bound(plan: nodes.Plan, catalog: Catalog) -> Bound:
    """``plan`` with every contribution bounded by what the owner declared.

    Guarantee: a function of the question and the catalog alone: no data is read.
    """
    rows = gather(plan.source, catalog)
    scope, limits = rows.scope, rows.limits
    _without_unit(rows.source.unit, plan, scope)
    # patterns stand below too, where other columns are seen
    tables = tuple(dict.fromkeys(rows.source.datasets))
    not_too_many_patterns(plan, scope_of(tables, catalog))
    keys = tuple(bound_key(key, scope) for key in plan.keys)
    _not_too_many(plan, keys)
    not_too_many_terms(plan.source, plan.keys, plan.measures)
    tallies: list[Tally] = []
    if any(key.keys is None for key in keys):
        tallies.append(UnitTally())
    max_rows = _max_rows(plan, scope, limits)
    readings = tuple(
        read(measure.aggregate, scope, max_rows, tallies, finest(keys))
        for measure in plan.measures
    )
    bounded = BoundedPlan(
        source=rows.source,
        condition=rows.condition,
        keys=keys,
        max_groups=_at_most(limits.max_groups, limits.max_rows_in_all) if keys else 1,
        max_rows=max_rows,
        tallies=tuple(tallies),
        max_rows_in_all=limits.max_rows_in_all,
    )
    return Bound(bounded, readings)


def _not_too_many(plan: nodes.Plan, keys: tuple[BoundedKey, ...]) -> None:
    """Refuse an answer that nobody could hold: every public group is in it."""
    if len(plan.measures) > MOST_MEASURES:
        raise InvalidValue(f"A question asks for at most {MOST_MEASURES} aggregates.")
    groups = prod(len(key.keys.values) for key in keys if key.keys is not None)
    if groups > MOST_GROUPS:
        raise InvalidValue(f"An answer has at most {MOST_GROUPS} groups; ask for fewer keys.")


def _max_rows(plan: nodes.Plan, scope: ColumnScope, limits: Limits) -> int:
    """The rows of a unit in a group: one, where the keys are those that it has one row by."""
    below = nodes.per_unit_in(plan.source)
    if below is None:
        return _at_most(limits.max_rows, limits.max_rows_in_all)
    fields = [key.expression for key in plan.keys]
    named = {scope[field.name].name for field in fields if isinstance(field, expr.Field)}
    return 1 if named >= {scope[key].name for key in below.keys} else limits.max_rows


def _at_most(limit: int, in_all: int | None) -> int:
    return limit if in_all is None else min(limit, in_all)


def _without_unit(unit: str, plan: nodes.Plan, scope: ColumnScope) -> None:
    """Refuse a question that names the unit: it is for counting people, not for finding one."""
    if any(mentions(key.expression, unit, scope) for key in plan.keys):
        raise InvalidValue(
            f"{unit!r} names a person; groups of one person are not released. Group by another "
            "column."
        )


def mentions(expression: object, name: str, scope: ColumnScope) -> bool:
    """Whether an expression names a column."""
    if isinstance(expression, expr.Field):
        return scope[expression.name].name == name
    if isinstance(expression, tuple):
        return any(mentions(part, name, scope) for part in expression)
    slots: tuple[str, ...] = getattr(expression, "__slots__", ())
    return any(mentions(getattr(expression, slot), name, scope) for slot in slots)


# ------------------------------------------------------------------ post kind
# What is done with released values makes sense: told before the charge, and not after it.


def check_post(
    post: nodes.Post, keys: tuple[BoundedKey, ...], measures: tuple[str, ...]
) -> None:
    """Refuse what cannot be computed from released values, whatever these will be."""
    columns = [Column(key.name, _released(key)) for key in keys]
    schema = Released((*columns, *(Column(name, Kind.FLOAT) for name in measures)))
    for output in post.outputs:
        if kind_of(output.expression, schema) is Kind.DATE:
            raise InvalidValue("A day is shown as text, such as '2026-01-31'.")
    for order in post.order:
        kind_of(order.expression, schema)
    if post.having is not None and kind_of(post.having, schema) not in {Kind.BOOLEAN, None}:
        raise InvalidValue("HAVING is a condition on what is released, as in COUNT(*) > 100.")


def _released(key: BoundedKey) -> Kind:
    """Groups are named by text, as days are, or by whole numbers, as truths are."""
    if isinstance(key, CaseKey | StepsKey):
        return Kind.TEXT if isinstance(key.keys.values[0], str) else Kind.INTEGER
    if isinstance(key, PeriodKey):
        return Kind.TEXT
    return Kind.TEXT if key.kind in {Kind.TEXT, Kind.DATE} else Kind.INTEGER
