"""The rows and numbers that limits can leave out of an answer, from public facts alone.

Engines count at most the declared number of rows and groups of a unit, and clamp numbers to
their bounds. The noise of an answer says nothing about what this leaves out. How much that can
be is known only where an owner has declared it: a `PublicMost` of rows, or bounds that are
public. A `RowsProfile` says how many people have more rows than a limit, as it was measured.
`left_out_of` says whether something can be missing in the groups of a question, and `slack_of`
which ends of an interval hold nevertheless, and by how much the others move. All other ends
are open.

Dropping rows makes a count or a sum of numbers above 0 smaller, so that the lower end of its
interval needs no declaration. It can move a mean, a variance or a quantile either way.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, is_dataclass, replace
from fractions import Fraction
from math import prod

from tacit.core import Catalog, Column, Dataset, Kind, Provenance, TotalProfile, UnitColumn
from tacit.numeric import Grid
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import BoundedPlan, ColumnKey, group_count
from tacit.plan.contribution_limits import determining_tables, limits_of
from tacit.plan.source import CountOf, MeanOf, SemiJoin, Source, SumOf, UnitAggregation
from tacit.plan.tally import (
    DistinctTally,
    ExtremeReading,
    MeanReading,
    PairReading,
    QuantileReading,
    Reading,
    RowTally,
    StoredValue,
    Tally,
    TotalReading,
    TotalTally,
    TreeTally,
    UnitTally,
    VarianceReading,
)
from tacit.plan.tree_walk import every


@dataclass(frozen=True, slots=True)
class Slack:
    """Whether the ends of an interval hold what was asked; an end that does not is open.

    Numbers that are ``clamped`` to bounds that are not public open both ends of a sum or a
    mean. Of a quantile or an extreme they open an end that lies at such a bound.

    If the interval is ``measured``, it depends on a profile, which is right with probability
    99%. The ends of a total then move by the amounts ``below`` and ``above``, and ``missing``
    rows can move a mean. If it is not known how many rows are missing, the interval is about
    the rows of ``all_but`` so many units, and the first rows of these.
    """

    low: bool = True
    high: bool = True
    clamped: bool = False
    below: Fraction = Fraction(0)
    above: Fraction = Fraction(0)
    missing: int = 0
    all_but: int | None = None
    measured: bool = False
    total: TotalProfile | None = field(default=None, compare=False)
    """The profile of totals by which a sum is clamped for ``all_but`` so many units."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The units of which a limit can cut rows, as the profile of ``table`` has measured them.

    All rows of all but ``units`` units count, with probability 99%: these have more than
    ``limit`` rows. ``missing`` is the most rows of all of them together that can be missing in
    a group, by a declared ``fact`` or an assumption; it is None if there is none.
    """

    table: str
    limit: int
    units: int
    missing: int | None = None
    fact: str = ""


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Whether rows or units can be missing in the groups of a question, and who says so.

    ``rows`` says whether rows of a unit can be missing in a group, and ``units`` whether units
    can be missing. ``clamped`` says whether a condition or a group key uses a number that is
    clamped to bounds that are not public, and ``rounded`` whether one uses a number that is
    rounded. ``below`` is the number of rows at which a subquery stops to count the rows of a
    unit, if there can be more. ``known`` are the declarations from which nothing is missing,
    and ``unknown`` the tables for which a declaration is missing. ``cut`` is the
    measured number of units whose rows can be missing, if there is one.
    """

    rows: bool
    units: bool
    clamped: bool = False
    rounded: bool = False
    below: int | None = None
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    cut: Cut | None = None
    most: int | None = None
    """The most rows of a unit, if that is declared."""
    groups: int | None = None
    """The most groups of a unit, if that follows from declarations."""


def left_out_of(plan: BoundedPlan, owners: tuple[str, ...], catalog: Catalog) -> LeftOut:
    """Return what limits can leave out of ``plan``, whose keys are columns of ``owners``.

    Guarantee: the result is a function of the question and the catalogue; no data is read.
    """
    gathered = plan.source.gathered
    source = plan.source if gathered is None else gathered.source
    tables, times = determining_tables(source, catalog)
    most, unknown = _most_rows(tables, times, catalog)
    below = None if gathered is None else _limit_below(gathered, most, catalog)
    inside = tuple(_semi_joins(plan.source))
    if below is None:
        below = _limit_of_semi_joins(inside, catalog)
    if gathered is not None:
        # a subquery has one row for each unit, or one for each of its groups
        most = most if gathered.keys else 1
        most = None if most is None else most * determining_tables(plan.source, catalog)[1]
        owners = ()
    rows, units = _can_miss(plan, owners, most, catalog)
    if _is_cut_before(source, catalog):
        rows, units = True, bool(plan.keys) or units
    cut = None
    if rows and gathered is None and len(tables) == 1:
        cut = _cut(plan, owners, catalog.dataset(tables[0]), times, catalog)
        if cut is not None:
            cut = _with_missing(cut, plan, catalog.dataset(cut.table), times, units=units)
    asked = (plan.condition, plan.keys)
    if units:
        others = [name for name in owners if not catalog.is_public(name)]
        unknown += tuple(name for name in others if _most(catalog.dataset(name)) is None)
    return LeftOut(
        rows,
        units,
        clamped=_is_clamped((*asked, plan.source), catalog),
        rounded=_is_rounded(asked, gathered)
        or (gathered is not None and _is_rounded(gathered.condition, None))
        or any(_is_rounded(each.condition, each.source.gathered) for each in inside),
        below=below,
        known=_facts((*tables, *owners), catalog),
        unknown=tuple(dict.fromkeys(unknown)) if rows or below is not None else (),
        cut=cut,
        most=most,
        groups=_most_groups(plan, owners, most, catalog) if plan.keys else None,
    )


def _can_miss(
    plan: BoundedPlan, owners: tuple[str, ...], most: int | None, catalog: Catalog
) -> tuple[bool, bool]:
    """Return whether rows, and whether units, can be missing in a group.

    ``most`` is the most rows of a unit, or None if that is not known.
    """
    touched = _most_groups(plan, owners, most, catalog)
    in_all = plan.max_rows_in_all
    units = bool(plan.keys) and (
        touched is None
        or touched > plan.max_groups
        or (in_all is not None and (most is None or most > in_all))
        or (plan.max_squares is not None and (most is None or most**2 > plan.max_squares))
    )
    in_group = 1 if _one_row_in_group(plan, catalog) else most
    return units or in_group is None or in_group > _most_counted(plan), units


def _is_cut_before(source: Source, catalog: Catalog) -> bool:
    """Return whether a limit can cut the rows of a table before it is joined."""
    most = [(_most(catalog.dataset(each.dataset)), each.most) for each in source.limited]
    return any(rows is None or rows > limit for rows, limit in most)


def _cut(
    plan: BoundedPlan, owners: tuple[str, ...], dataset: Dataset, times: int, catalog: Catalog
) -> Cut | None:
    """Return of how many units rows can be missing; None if no profile says so.

    The profile is about all rows of the table. A condition can only take rows away, so that as
    many units, at most, have more rows than the limit among the rows of the question. A public
    table repeats each of them at most ``times``.
    """
    found = dataset.profile
    if found is None or found.epoch != catalog.epochs_of(dataset.name):
        return None
    if _can_miss(plan, owners, found.rows * times, catalog)[0]:
        return None
    return Cut(dataset.name, found.rows, found.people)


def _with_missing(
    cut: Cut, plan: BoundedPlan, dataset: Dataset, times: int, *, units: bool
) -> Cut:
    """Return ``cut`` with the most rows that can be missing, if a declaration says how many.

    If ``units`` can be missing in a group, all rows of such a unit can be missing there.
    """
    if not cut.units:
        return replace(cut, missing=0)
    ways, most = [], _most(dataset)
    if most is not None:
        each = most * times - (0 if units else _most_counted(plan))
        rows = "1 row" if most == 1 else f"{most} rows"
        fact = f"nobody has more than {rows} of {dataset.name}"
        ways.append(replace(cut, missing=cut.units * each, fact=fact))
    if dataset.tail is not None and dataset.tail.beyond == cut.limit:
        each = (dataset.tail.rows + (cut.limit if units else 0)) * times
        fact = (
            f"it is assumed that they have on average at most {dataset.tail.rows} further rows "
            f"({dataset.tail.source})"
        )
        ways.append(replace(cut, missing=cut.units * each, fact=fact))
    return min(ways, key=lambda way: way.missing or 0, default=cut)


def slack_of(reading: Reading, plan: BoundedPlan, left_out: LeftOut, catalog: Catalog) -> Slack:
    """Return which ends of the interval of ``reading`` hold what was asked.

    Example:
        >>> from fractions import Fraction
        >>> from tacit.plan.source import Source
        >>> from tacit.plan.steps import AllOf, ConstantCondition
        >>> rows = RowTally(ConstantCondition(True), high=5)
        >>> visits = Source("visits", (), "visits.patient")
        >>> plan = BoundedPlan(visits, AllOf(()), (), 1, 5, (rows,))
        >>> count = TotalReading(0, Fraction(1))
        >>> slack_of(count, plan, LeftOut(True, False), Catalog((), ())).high
        False
    """
    if left_out.clamped or left_out.rounded or left_out.below is not None:
        return Slack(low=False, high=False, clamped=left_out.clamped)
    gathered = plan.source.gathered
    if isinstance(reading, TotalReading):
        tally = plan.tallies[reading.tally]
        if isinstance(tally, UnitTally):
            if left_out.units and left_out.cut is not None:
                return Slack(above=Fraction(left_out.cut.units), measured=True)
            return Slack(high=not left_out.units)
        clamped = _is_clamped(tally, catalog)
        if clamped or _decides_by_rounded(tally, gathered):
            return Slack(low=False, high=False, clamped=clamped)
        if isinstance(tally, DistinctTally):
            return _distinct_slack(tally, left_out, gathered)
        if isinstance(tally, TotalTally) and tally.each is not None:
            return _clamped_total(tally, tally.each, plan, left_out, catalog)
        if left_out.rows and left_out.cut is not None:
            return _cut_total(left_out.cut, tally, plan.max_rows, reading.step)
        if isinstance(tally, RowTally):
            return Slack(high=not left_out.rows)
        # numbers of one sign can only be missing on one side
        return Slack(
            low=not left_out.rows or tally.low == 0, high=not left_out.rows or tally.high == 0
        )
    used = [plan.tallies[place] for place in _tallies(reading)]
    clamped = any(_is_clamped(tally, catalog) for tally in used)
    if any(_decides_by_rounded(tally, gathered) for tally in used):
        return Slack(low=False, high=False, clamped=clamped)
    if clamped and not all(map(_is_monotone, used)):
        return Slack(low=False, high=False, clamped=True)
    if isinstance(reading, ExtremeReading):
        lost = left_out.rows
        return Slack(not lost or reading.greatest, not (lost and reading.greatest), clamped)
    cut = left_out.cut if left_out.rows else None
    if cut is not None and (isinstance(reading, QuantileReading) or not clamped):
        if isinstance(reading, MeanReading) and cut.missing is not None:
            return Slack(missing=cut.missing, measured=True)
        return Slack(clamped=clamped, all_but=cut.units or None, measured=True)
    if isinstance(reading, QuantileReading):
        return Slack(not left_out.rows, not left_out.rows, clamped)
    known = not (left_out.rows or clamped)
    return Slack(known, known, clamped)


def _distinct_slack(
    tally: DistinctTally, left_out: LeftOut, gathered: UnitAggregation | None
) -> Slack:
    """Return the slack of a count of distinct values.

    Rows that are missing can only have further values, at most one each. Rounding one column
    can only merge values; a number that is computed from rounded ones can be off either way.
    """
    if _is_rounded(tally, gathered):
        return Slack(low=isinstance(tally.value, grid_steps.ColumnSteps), high=False)
    cut = left_out.cut
    if left_out.rows and cut is not None:
        if cut.missing is None:
            return Slack(all_but=cut.units, measured=True)
        return Slack(above=Fraction(cut.missing), measured=True)
    return Slack(high=not left_out.rows)


def _clamped_total(
    tally: TotalTally, each: int, plan: BoundedPlan, left_out: LeftOut, catalog: Catalog
) -> Slack:
    """Return the slack of a sum in which all rows of a unit count, up to a declared total.

    A profile of totals is about all rows of the column's own table. If no number is below 0, a
    condition can only make a total smaller.
    """
    most, in_all = left_out.most, plan.max_rows_in_all
    whole = (
        not left_out.units
        and most is not None
        and most * each <= max(-tally.low, tally.high)
        and (in_all is None or most <= in_all)
    )
    if not whole and not left_out.units and in_all is None and tally.low == 0:
        found = _profile_of_totals(tally, plan, catalog)
        if found is not None:
            return Slack(all_but=found.people or None, measured=True, total=found)
    return Slack(low=whole or tally.low == 0, high=whole or tally.high == 0)


def _profile_of_totals(
    tally: TotalTally, plan: BoundedPlan, catalog: Catalog
) -> TotalProfile | None:
    """Return the profile that bounds the units with a total above the limit; None if none."""
    steps = tally.steps
    if plan.source.gathered is not None or not isinstance(steps, grid_steps.ColumnSteps):
        return None
    table = steps.name.partition(".")[0]
    if determining_tables(plan.source, catalog) != ((table,), 1):
        return None
    found = _column(steps, catalog).total_profile
    if found is None or found.epoch != catalog.epochs_of(table):
        return None
    return found if found.amount <= tally.high * steps.grid.step else None


def _cut_total(cut: Cut, tally: Tally, max_rows: int, step: Fraction) -> Slack:
    """Return by how much the rows that are missing can move a total; a row adds its range."""
    if cut.missing is None:
        return Slack(all_but=cut.units, measured=True)
    low, high = (Fraction(min(0, tally.low), max_rows), Fraction(max(0, tally.high), max_rows))
    below, above = (abs(end) * step * cut.missing for end in (low, high))
    return Slack(below=below, above=above, measured=True)


def _limit_below(gathered: UnitAggregation, most: int | None, catalog: Catalog) -> int | None:
    """Return the limit that can cut counts and sums of a subquery; None if none can."""
    limit = limits_of(gathered.source, catalog).max_rows
    if _is_cut_before(gathered.source, catalog):
        return limit
    cut = any(isinstance(value, CountOf | SumOf) for _, value in gathered.values)
    return limit if cut and (most is None or most > limit) else None


def _semi_joins(source: Source) -> Iterator[SemiJoin]:
    """Yield the semi-joins of ``source``, of its subqueries, and of these semi-joins."""
    if source.gathered is not None:
        yield from _semi_joins(source.gathered.source)
    for each in source.semis:
        yield each
        yield from _semi_joins(each.source)


def _limit_of_semi_joins(found: tuple[SemiJoin, ...], catalog: Catalog) -> int | None:
    """Return the limit that can cut the rows, counts and sums by which a semi-join decides."""
    for each in found:
        gathered = each.source.gathered
        if gathered is not None:
            tables, times = determining_tables(gathered.source, catalog)
            limit = _limit_below(gathered, _most_rows(tables, times, catalog)[0], catalog)
            if limit is not None:
                return limit
        elif _is_cut_before(each.source, catalog):
            return limits_of(each.source, catalog).max_rows
    return None


def _one_row_in_group(plan: BoundedPlan, catalog: Catalog) -> bool:
    """Return whether a group has one row of a subquery for each unit, by its keys."""
    gathered = plan.source.gathered
    if gathered is None or determining_tables(plan.source, catalog)[1] > 1:
        return False
    named = {key.column for key in plan.keys if isinstance(key, ColumnKey)}
    return named >= set(gathered.keys)


def _most_rows(
    tables: tuple[str, ...], times: int, catalog: Catalog
) -> tuple[int | None, tuple[str, ...]]:
    """Return the most joined rows of a unit, and the tables for which no most is declared."""
    found = {name: _most(catalog.dataset(name)) for name in tables}
    known = [most for most in found.values() if most is not None]
    unknown = tuple(name for name, most in found.items() if most is None)
    return (None if unknown else prod(known) * times), unknown


def _facts(tables: tuple[str, ...], catalog: Catalog) -> tuple[str, ...]:
    """Return the declarations of how many rows a unit can have in ``tables``."""
    found = []
    for name in dict.fromkeys(tables):
        most = None if catalog.is_public(name) else catalog.dataset(name).most_rows
        if most is not None:
            rows = "1 row" if most.rows == 1 else f"{most.rows} rows"
            found.append(f"nobody has more than {rows} of {name} ({most.source})")
    return tuple(found)


def _most(dataset: Dataset) -> int | None:
    if isinstance(dataset.unit, UnitColumn) and dataset.unit.one_row:
        return 1
    return None if dataset.most_rows is None else dataset.most_rows.rows


def _most_groups(
    plan: BoundedPlan, owners: tuple[str, ...], most: int | None, catalog: Catalog
) -> int | None:
    """Return the most groups that a unit can be in; None if that is not known."""
    found = [group_count(plan), most]
    if plan.source.gathered is None and not any(catalog.is_public(owner) for owner in owners):
        each = [_most(catalog.dataset(owner)) for owner in dict.fromkeys(owners)]
        known = [number for number in each if number is not None]
        found.append(prod(known) if len(known) == len(each) else None)
    return min((number for number in found if number is not None), default=None)


def _most_counted(plan: BoundedPlan) -> int:
    """Return the most rows of a unit that count in a group."""
    in_all = plan.max_rows_in_all
    return plan.max_rows if in_all is None else min(plan.max_rows, in_all)


def _is_clamped(node: object, catalog: Catalog) -> bool:
    """Return whether a number in ``node`` is clamped to bounds that are not public."""
    columns = every((node,), grid_steps.ColumnSteps)
    return any(has_private_bounds(_column(each, catalog)) for each in columns)


def has_private_bounds(column: Column) -> bool:
    """Return whether a column is clamped to bounds that are not public."""
    return column.bounds is not None and column.bounds.provenance is not Provenance.PUBLIC


def _is_rounded(node: object, gathered: UnitAggregation | None) -> bool:
    """Return whether ``node`` uses a number that is rounded: a float, a curve or a mean."""
    if any(True for _ in every((node,), grid_steps.CurveSteps)):
        return True
    if any(column.kind is Kind.FLOAT for column in every((node,), grid_steps.ColumnSteps)):
        return True
    rounded = {
        name
        for name, value in (() if gathered is None else gathered.values)
        if isinstance(value, MeanOf) or _is_rounded(value, None)
    }
    return any(each.name in rounded for each in every((node,), grid_steps.ComputedSteps))


def _decides_by_rounded(tally: Tally, gathered: UnitAggregation | None) -> bool:
    """Return whether a condition in ``tally`` decides by a number that is rounded."""
    cases = every((tally,), grid_steps.CaseSteps)
    conditions = [when for case in cases for when, _ in case.whens]
    if isinstance(tally, RowTally):
        conditions.append(tally.condition)
    if isinstance(tally, DistinctTally) and isinstance(tally.value, StoredValue):
        conditions.append(tally.value.condition)
    return any(_is_rounded(when, gathered) for when in conditions if not _asks_for_null(when))


def _asks_for_null(condition: grid_steps.Condition) -> bool:
    """Return whether a condition is only about NULL, which no rounding changes."""
    return isinstance(condition, grid_steps.Negation) and isinstance(
        condition.part, grid_steps.StepsAreNull
    )


def _is_monotone(tally: Tally) -> bool:
    """Return whether the number of a tree moves in one direction with its one column."""
    if not isinstance(tally, TreeTally):
        return True
    parts = [each for each in every((tally.cell,), object) if is_dataclass(each)]
    columns = [each for each in parts if isinstance(each, grid_steps.ColumnSteps)]
    plain = (
        *(grid_steps.ColumnSteps, grid_steps.SumSteps, grid_steps.WholeSteps),
        *(grid_steps.HalvedSteps, Grid),
    )
    return len(columns) == 1 and all(isinstance(each, plain) for each in parts)


def _column(steps: grid_steps.ColumnSteps, catalog: Catalog) -> Column:
    name, _, rest = steps.name.partition(".")
    return catalog.table(name).schema[rest]


def _tallies(reading: Reading) -> Iterator[int]:
    """Yield the places of the tallies from which ``reading`` is computed."""
    match reading:
        case TotalReading(tally, _, _):
            yield tally
        case MeanReading():
            yield from (reading.total, reading.count)
        case VarianceReading():
            yield from (reading.mean.total, reading.mean.count, reading.squares)
        case PairReading():
            yield from (reading.product, *_tallies(reading.x), *_tallies(reading.y))
            for each in (reading.x_variance, reading.y_variance):
                yield from () if each is None else _tallies(each)
        case QuantileReading() | ExtremeReading():
            yield reading.tree
