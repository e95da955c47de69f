"""The step from a checked plan to a bounded plan.

`bound` applies the owner's declarations to a question: it finds the tables and the privacy unit
of the rows (`gather`), decides which groups are public (`bound_key`), gives each unit its
contribution limits, and translates aggregates into tallies. Everything here is a function of
the question and the catalogue; no data is read, so that a refusal reveals nothing about people.
"""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import prod

from tacit.core import Catalog, Column, Dataset, Kind, Limits, Schema
from tacit.errors import InvalidValue
from tacit.plan import expression as expr
from tacit.plan import plan as nodes
from tacit.plan import source as sources
from tacit.plan import steps as grid_steps
from tacit.plan.aggregate_tallies import finest, present, read
from tacit.plan.bounded_plan import BoundedKey, BoundedPlan, ColumnKey, groups_touched
from tacit.plan.contribution_limits import groups_of, limits_before_join, limits_of
from tacit.plan.group_keys import GROUPED, bound_key
from tacit.plan.left_out import LeftOut, Slack, has_private_bounds, left_out_of, slack_of
from tacit.plan.lowering import condition, number
from tacit.plan.marginal_tables import MarginalTable, marginal_tables
from tacit.plan.narrowed_keys import narrow, unlisted_constants
from tacit.plan.patterns import not_too_many_patterns
from tacit.plan.row_cost import not_too_many_terms
from tacit.plan.tally import Reading, Tally, UnitTally
from tacit.plan.tree_walk import every
from tacit.plan.type_check import ColumnScope, scope_of

# Aggregates over the rows of one unit --------------------------------------------------------

FINE = 34
"""Smallest number of bits for the range of a mean, which makes its rounding as small as that of
floats."""

SHAPE = grid_steps.WholeSteps(None)
"""Placeholder for the steps of a `Ranged` of which only the range is used."""


def gather_value(
    aggregate: nodes.Aggregate, schema: Schema, max_rows: int
) -> tuple[sources.UnitAggregate, grid_steps.Ranged]:
    """Return the computation of ``aggregate`` over one unit's rows, and the result's range.

    The range follows from public facts: the bounds of columns, and ``max_rows``, to which
    counts and sums are clamped.
    """
    match aggregate:
        case nodes.CountRows():
            # a group of a unit exists only if it has a row, so the count is at least 1
            return sources.CountOf(
                grid_steps.ConstantCondition(True), 1, max_rows
            ), grid_steps.Ranged(SHAPE, 1, max_rows, Fraction(1))
        case nodes.CountValues(argument):
            made = sources.CountOf(present(argument, schema), 0, max_rows)
            return made, grid_steps.Ranged(SHAPE, 0, max_rows, Fraction(1))
        case nodes.Sum(argument):
            value = number(argument, schema)
            low, high = (
                min(value.low, value.low * max_rows),
                max(value.high, value.high * max_rows),
            )
            rounding = value.rounding * max_rows
            ranged = grid_steps.Ranged(SHAPE, low, high, value.step, rounding)
            return sources.SumOf(value.steps, low, high), ranged
        case nodes.Least(argument):
            value = number(argument, schema)
            return sources.LeastOf(value.steps), value
        case nodes.Greatest(argument):
            value = number(argument, schema)
            return sources.GreatestOf(value.steps), value
        case nodes.Mean(argument):
            return _mean(number(argument, schema))
    raise InvalidValue(
        "A subquery that aggregates the rows of each unit supports only COUNT(*), COUNT(x), "
        "SUM, AVG, MIN and MAX."
    )


def _mean(value: grid_steps.Ranged) -> tuple[sources.MeanOf, grid_steps.Ranged]:
    """Return the mean of a value in a fraction of its steps, as fine as 62 bits allow."""
    wide = (value.high - value.low).bit_length()
    room = grid_steps.ROOM.bit_length() - 1 - max(abs(value.low), abs(value.high)).bit_length()
    finer = 2 ** max(0, min(FINE - wide, room))
    low, high, step = value.low * finer, value.high * finer, value.step / finer
    made = sources.MeanOf(value.above(value.low).steps, finer, low)
    return made, grid_steps.Ranged(SHAPE, low, high, step, value.rounding + step / 2)


# Rows of a relation --------------------------------------------------------------------------
#
# The rows of a question come from tables, or from a subquery that aggregates the rows of each
# unit. The subquery computes a total function of one unit's own rows, so that each of its rows
# belongs to one unit again, and the question above bounds them like rows of a table.


@dataclass(frozen=True, slots=True)
class Rows:
    """The source of rows, their columns, the condition on them, and the limits per unit.

    Rows above ``limits`` are dropped. Privacy therefore does not depend on whether the limits
    describe the data correctly.
    """

    source: sources.Source
    scope: ColumnScope
    condition: grid_steps.AllOf
    limits: Limits


def gather(relation: nodes.Relation, catalog: Catalog) -> Rows:
    """Return the source, the columns, the condition and the limits of the rows of ``relation``.

    Guarantee: the result is a function of the question and the catalogue; no data is read.
    """
    source = sources.source_of(relation, catalog)
    below = nodes.per_unit_in(relation)
    if below is None:
        scope = scope_of(source.joined, catalog)
        limits = limits_of(source, catalog)
    else:
        gathered, scope, limits = _gather_units(below, source.unit, catalog)
        source = replace(source, gathered=gathered)
        public = scope_of(tuple(each.dataset for each in source.beside), catalog)
        scope = ColumnScope((*scope.columns, *public.columns))
    for each in source.beside:
        if catalog.is_public(each.dataset):
            _check_same_kind(scope[each.left], scope[each.right])
    wanted = grid_steps.AllOf(tuple(condition(part, scope) for part in nodes.filters(relation)))
    semis = zip(nodes.semi_joins(relation), source.semis, strict=True)
    found = tuple(_gather_semi(semi, each, scope, catalog) for semi, each in semis)
    before = () if below is not None else limits_before_join(source, catalog)
    limited = tuple(_with_own_condition(each, source, relation, scope) for each in before)
    return Rows(replace(source, semis=found, limited=limited), scope, wanted, limits)


def _with_own_condition(
    limit: sources.TableLimit,
    source: sources.Source,
    relation: nodes.Relation,
    scope: ColumnScope,
) -> sources.TableLimit:
    """Return the limit of a table with the conditions of the question about its columns alone.

    Rows that do not count must not take the place of others. After an outer join the rows
    without a match are tested too, so that its conditions cannot be tested before it.
    """
    if any(each.outer and each.dataset == limit.dataset for each in source.beside):
        return limit
    parts = [part for wanted in nodes.filters(relation) for part in _and_parts(wanted)]
    own = [part for part in parts if _tables_of(part, scope) == {limit.dataset}]
    wanted = grid_steps.AllOf(tuple(condition(part, scope) for part in own))
    return replace(limit, condition=wanted)


def _and_parts(wanted: expr.Expression) -> list[expr.Expression]:
    if not isinstance(wanted, expr.And):
        return [wanted]
    return [each for part in wanted.parts for each in _and_parts(part)]


def _tables_of(part: expr.Expression, scope: ColumnScope) -> set[str]:
    """Return the tables whose columns an expression uses."""
    fields = every((part,), expr.Field)
    return {scope[field.name].name.partition(".")[0] for field in fields}


def _gather_semi(
    semi: nodes.Semi, found: sources.SemiJoin, scope: ColumnScope, catalog: Catalog
) -> sources.SemiJoin:
    """Return a semi-join with the rows and the condition of its subselect.

    A semi-join only removes rows of its own unit, so that it has no limits of its own.
    """
    rows = gather(semi.below, catalog)
    for left, right in found.on[1:]:
        _check_same_kind(scope[left], rows.scope[right])
    return replace(found, source=rows.source, condition=rows.condition)


def _gather_units(
    relation: nodes.PerUnit, unit: str, catalog: Catalog
) -> tuple[sources.UnitAggregation, ColumnScope, Limits]:
    """Return the aggregated rows of units, their columns, and their limits.

    A unit has one row, or one row for each of its groups, at most the limit of its groups.
    """
    rows = gather(relation.source, catalog)
    _names_unit(relation, unit)
    columns = [rows.scope[name] for name in dict.fromkeys((unit, *relation.keys))]
    for column in columns[1:]:
        _is_key(column)
    values, computed = [], []
    for value in relation.values:
        made, found = gather_value(value.aggregate, rows.scope, rows.limits.max_rows)
        name = f"{nodes.BELOW}.{value.name}"
        values.append((name, made))
        computed.append(
            grid_steps.ComputedColumn.of(
                name, replace(found, steps=grid_steps.ComputedSteps(name))
            )
        )
    keys = tuple(column.name for column in columns[1:])
    gathered = sources.UnitAggregation(rows.source, rows.condition, keys, tuple(values))
    most = rows.limits.max_groups if keys else 1
    return gathered, ColumnScope((*columns, *computed)), Limits(most, most)


def _check_same_kind(left: Column, right: Column) -> None:
    """Refuse to join by columns that engines compare differently, or cannot compare."""
    if left.kind is not right.kind or left.kind not in GROUPED:
        raise InvalidValue(
            f"{left.name} is {left.kind.value} and {right.name} is {right.kind.value}; both "
            "columns of a join must be of one kind: text, integer, boolean or date."
        )


def _names_unit(relation: nodes.PerUnit, unit: str) -> None:
    dataset = unit.partition(".")[0]
    if dataset not in nodes.tables_in_scope(relation):
        raise InvalidValue(
            f"The rows of a subquery that aggregates belong to {unit}; join {dataset!r} inside "
            "that subquery."
        )


def _is_key(column: Column) -> None:
    if isinstance(column, grid_steps.ComputedColumn) or column.kind not in GROUPED:
        raise InvalidValue(
            f"{column.name!r} cannot be a group key of a subquery; group by the unit, and by "
            "columns of kind text, integer, boolean or date."
        )


# The whole question --------------------------------------------------------------------------

MOST_MEASURES = 100
"""Largest number of aggregates of one question."""

MOST_GROUPS = 10**7
"""Largest number of public groups of one answer; noise for them takes about ten seconds."""


@dataclass(frozen=True, slots=True)
class Bound:
    """A bounded plan for an engine, and how each measure is computed from its tallies.

    There is one slack for each measure: it says which ends of its intervals are open, because
    of what limits and clamping can have ``left_out``. If the owner requires ``min_people`` in
    each cell, the tally ``people`` counts them.
    """

    plan: BoundedPlan
    readings: tuple[Reading, ...]
    slacks: tuple[Slack, ...]
    left_out: LeftOut
    min_people: int = 0
    people: int | None = None
    complete: tuple[str, ...] = ()
    """The columns of which every row has a listed key, by declaration."""
    tables: tuple[MarginalTable, ...] = ()
    """The grouping sets of a question with several tables; the plan is about the finest."""
    unlisted: tuple[tuple[str, str], ...] = ()
    """Columns with declared keys, each with a text in WHERE that is not one of them."""


def least_people(tables: tuple[str, ...], catalog: Catalog) -> int:
    """Return the least number of people of a cell that owners require for these tables.

    A rule of a table holds for all tables that lead through it to the unit. It is 0 if there is
    none.
    """
    return max((each.min_people or 0 for each in _private(tables, catalog)), default=0)


def bound(plan: nodes.Plan, catalog: Catalog, *, every_key: bool = False) -> Bound:
    """Return ``plan`` with all contributions bounded as the owner declared.

    Public keys that the conditions exclude are left out, unless ``every_key`` is true.

    Guarantee: the result is a function of the question and the catalogue; no data is read.
    """
    rows = gather(plan.source, catalog)
    scope, limits = rows.scope, rows.limits
    _check_no_unit_key(rows.source.unit, plan, scope)
    # a subquery can have patterns too, over columns that the outer question does not have
    tables = tuple(dict.fromkeys(rows.source.datasets))
    not_too_many_patterns(plan, scope_of(tables, catalog))
    keys = tuple(bound_key(key, scope) for key in plan.keys)
    _check_number_of_measures(plan)
    not_too_many_terms(plan.source, plan.keys, plan.measures)
    if not every_key:
        named = zip(keys, plan.keys, strict=True)
        keys = tuple(_possible_key(key, each.expression, rows) for key, each in named)
    _check_number_of_groups(keys)
    tallies: list[Tally] = []
    if any(key.keys is None for key in keys):
        tallies.append(UnitTally())
    max_rows = _max_rows(plan, scope, limits)
    owners = _key_tables(plan, scope)
    groups = (
        groups_of(owners, rows.source, catalog)
        if rows.source.gathered is None
        else limits.max_groups
    )
    units = sources.columns_of_units(rows.source, catalog)
    asked = [_plain_aggregate(each.aggregate, units, scope) for each in plan.measures]
    readings = tuple(read(each, scope, max_rows, tallies, finest(keys)) for each in asked)
    least = least_people(tables, catalog)
    if least:
        _check_no_conditions_inside(asked)
    if least and UnitTally() not in tallies:
        tallies.append(UnitTally())
    groups = _at_most(groups, limits.max_rows_in_all) if keys else 1
    bounded = BoundedPlan(
        source=rows.source,
        condition=rows.condition,
        keys=keys,
        max_groups=groups,
        max_rows=max_rows,
        tallies=tuple(tallies),
        max_rows_in_all=limits.max_rows_in_all,
    )
    bounded = replace(bounded, max_squares=_max_squares(bounded, limits))
    left_out = left_out_of(bounded, owners, catalog)
    if _has_clamped_bins(plan, scope):
        left_out = replace(left_out, clamped=True)
    slacks = tuple(slack_of(reading, bounded, left_out, catalog) for reading in readings)
    people = tallies.index(UnitTally()) if least else None
    complete = sources.complete_columns(rows.source, catalog)
    marginals: tuple[MarginalTable, ...] = ()
    if plan.sets:
        if least:
            raise InvalidValue(
                "A dataset of this question has min_people, a rule about the people of a cell, "
                "so that GROUPING SETS, ROLLUP and CUBE are refused; ask for each table by "
                "itself, with GROUP BY."
            )
        less = replace(left_out, rows=True, units=True, cut=None)
        opened = tuple(slack_of(reading, bounded, less, catalog) for reading in readings)
        marginals = marginal_tables(plan, bounded, readings, (slacks, opened), complete)
        # the slacks of the table that leaves out the most
        slacks = max((each.slacks for each in marginals), key=lambda each: each != slacks)
    unlisted = unlisted_constants([rows.condition], scope)
    return Bound(
        bounded, readings, slacks, left_out, least, people, complete, marginals, unlisted
    )


def _possible_key(key: BoundedKey, expression: expr.Expression, rows: Rows) -> BoundedKey:
    """Return the groups of ``key`` that rows can be in under the conditions of the question."""
    conditions: list[grid_steps.Condition] = [rows.condition]
    below = rows.source.gathered
    if below is not None and isinstance(key, ColumnKey) and key.column in below.keys:
        conditions.append(below.condition)
    return narrow(key, expression, conditions, rows.scope)


def _plain_aggregate(
    aggregate: nodes.Aggregate, units: frozenset[str], scope: ColumnScope
) -> nodes.Aggregate:
    """Return an aggregate with the same value, in terms of units and numbers.

    The distinct values of a column that identifies units are counted as units. A condition that
    is summed or averaged is 1 where it is true and 0 where it is false.
    """
    match aggregate:
        case nodes.CountDistinct(expr.Field(name)) if scope[name].name in units:
            return nodes.CountUnits()
        case nodes.Sum(part) | nodes.Mean(part) if _is_condition(part, scope):
            cases = (part, expr.Constant(1)), (expr.Not(part), expr.Constant(0))
            return type(aggregate)(expr.Case(cases, expr.Constant(None)))
    return aggregate


def _private(tables: tuple[str, ...], catalog: Catalog) -> list[Dataset]:
    """Return the private tables, and those that lead from them to the unit."""
    private = [name for name in tables if not catalog.is_public(name)]
    return [each for name in private for each in catalog.path_to_unit(name)]


def _is_condition(part: expr.Expression, scope: ColumnScope) -> bool:
    match part:
        case expr.Field(name):
            return scope[name].kind is Kind.BOOLEAN
        case (
            expr.Compare()
            | expr.OneOf()
            | expr.Like()
            | expr.IsNull()
            | expr.And()
            | expr.Or()
            | expr.Not()
        ):
            return True
    return False


def _check_no_conditions_inside(asked: list[nodes.Aggregate]) -> None:
    """Refuse a CASE inside an aggregate where small cells are left empty.

    It would count a part of a cell, and the rule is about the people of the whole cell.
    """
    inside = tuple(asked)
    if any(every(inside, expr.Case)) or any(every(inside, expr.FunctionCall)):
        raise InvalidValue(
            "A dataset of this question has min_people, so that a CASE or a function inside an "
            "aggregate is refused: its cell could be about fewer people. Put the condition "
            "into WHERE or GROUP BY."
        )


def _check_number_of_measures(plan: nodes.Plan) -> None:
    if len(plan.measures) > MOST_MEASURES:
        raise InvalidValue(
            f"A question can ask for at most {MOST_MEASURES} aggregates, and this one asks for "
            f"{len(plan.measures)}. Ask several questions."
        )


def _check_number_of_groups(keys: tuple[BoundedKey, ...]) -> None:
    """Refuse an answer with too many groups. Every public group is in it, even an empty one."""
    groups = prod(len(key.keys.values) for key in keys if key.keys is not None)
    if groups > MOST_GROUPS:
        raise InvalidValue(
            f"An answer can have at most {MOST_GROUPS} groups, and this one would have "
            f"{groups}; ask for fewer keys."
        )


def _max_rows(plan: nodes.Plan, scope: ColumnScope, limits: Limits) -> int:
    """Return the most rows of a unit in a group.

    It is 1 where the rows come from a subquery and the keys include all keys of that subquery.
    """
    below = nodes.per_unit_in(plan.source)
    if below is None:
        return _at_most(limits.max_rows, limits.max_rows_in_all)
    fields = [key.expression for key in plan.keys]
    named = {scope[field.name].name for field in fields if isinstance(field, expr.Field)}
    return 1 if named >= {scope[key].name for key in below.keys} else limits.max_rows


def _max_squares(plan: BoundedPlan, limits: Limits) -> int | None:
    """Return the limit of squared numbers of rows; None if it would not lower the noise."""
    squares = limits.squares
    groups = groups_touched(plan)
    if squares is None or groups == 1 or plan.source.gathered is not None:
        return None
    return squares if squares < groups * plan.max_rows**2 else None


def _key_tables(plan: nodes.Plan, scope: ColumnScope) -> tuple[str, ...]:
    """Return the tables whose columns are in the group keys of ``plan``."""
    fields = every(tuple(key.expression for key in plan.keys), expr.Field)
    return tuple(dict.fromkeys(scope[field.name].name.partition(".")[0] for field in fields))


def _has_clamped_bins(plan: nodes.Plan, scope: ColumnScope) -> bool:
    """Return whether the first or last bin has values beyond bounds that are not public."""
    bins = every(tuple(key.expression for key in plan.keys), expr.Bin)
    fields = (field for each in bins for field in every(each, expr.Field))
    return any(has_private_bounds(scope[field.name]) for field in fields)


def _at_most(limit: int, in_all: int | None) -> int:
    return limit if in_all is None else min(limit, in_all)


def _check_no_unit_key(unit: str, plan: nodes.Plan, scope: ColumnScope) -> None:
    """Refuse a question that groups by the unit: each group would be one person."""
    if any(mentions(key.expression, unit, scope) for key in plan.keys):
        raise InvalidValue(
            f"{unit!r} identifies a person; groups of one person are not released. Group by "
            "another column."
        )


def mentions(expression: object, name: str, scope: ColumnScope) -> bool:
    """Return whether an expression uses the column ``name``."""
    if isinstance(expression, expr.Field):
        return scope[expression.name].name == name
    if isinstance(expression, tuple):
        return any(mentions(part, name, scope) for part in expression)
    slots: tuple[str, ...] = getattr(expression, "__slots__", ())
    return any(mentions(getattr(expression, slot), name, scope) for slot in slots)
