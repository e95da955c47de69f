"""The rows and numbers that limits can leave out of an answer, from public facts alone.

Engines count at most the declared number of rows and groups of a unit, and clamp numbers to
their bounds. The noise of an answer says nothing about what this leaves out. How much that can
be is known only where an owner has declared it: a `PublicMost` of rows, or bounds that are
public. `slack_of` says how far each end of an interval must move to cover what can be left out.
An end is open where nothing is known.

Dropping rows makes a count or a sum of numbers above 0 smaller, so that the lower end of its
interval needs no declaration. It can move a mean, a variance or a quantile either way.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from tacit.core import Bounds, Catalog, Dataset, Provenance, UnitColumn
from tacit.plan.bounded_plan import BoundedPlan, group_count
from tacit.plan.contribution_limits import determining_tables
from tacit.plan.source import CountOf, SumOf, UnitAggregation
from tacit.plan.steps import ColumnSteps
from tacit.plan.tally import (
    ExtremeReading,
    MeanReading,
    QuantileReading,
    Reading,
    RowTally,
    TotalReading,
    UnitTally,
    VarianceReading,
)
from tacit.plan.tree_walk import every


@dataclass(frozen=True, slots=True)
class Slack:
    """Whether the ends of an interval hold what was asked; an end that does not is open.

    Numbers that are ``clamped`` to bounds that are not public open both ends of a sum or a
    mean. Of a quantile or an extreme they open an end that lies at such a bound.
    """

    low: bool = True
    high: bool = True
    clamped: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Whether rows or units can be missing in the groups of a question, and who says so.

    ``rows`` says whether rows of a unit can be missing in a group, and ``units`` whether units
    can be missing. ``clamped`` says whether a condition or a group key uses a number that is
    clamped to bounds that are not public. ``known`` are the declarations from which nothing is
    missing, and ``unknown`` the tables for which a declaration is missing.
    """

    rows: bool
    units: bool
    clamped: bool = False
    known: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def left_out_of(plan: BoundedPlan, owners: tuple[str, ...], catalog: Catalog) -> LeftOut:
    """Return what limits can leave out of ``plan``, whose keys are columns of ``owners``.

    Guarantee: the result is a function of the question and the catalogue; no data is read.
    """
    clamped = _is_clamped((plan.condition, plan.keys, plan.source), catalog)
    if plan.source.gathered is not None:
        return _left_out_of_units(plan, plan.source.gathered, clamped, catalog)
    tables, times = determining_tables(plan.source, catalog)
    most, unknown = _most_rows(tables, times, catalog)
    touched = _most_groups(plan, owners, most, catalog)
    units = bool(plan.keys) and (touched is None or touched > plan.max_groups)
    rows = units or most is None or most > _most_counted(plan)
    known = _facts((*tables, *owners), catalog)
    return LeftOut(rows, units, clamped, known, unknown if rows else ())


def slack_of(reading: Reading, plan: BoundedPlan, left_out: LeftOut, catalog: Catalog) -> Slack:
    """Return which ends of the interval of ``reading`` hold what was asked.

    Example:
        >>> from fractions import Fraction
        >>> from tacit.plan.source import Source
        >>> from tacit.plan.steps import AllOf, ConstantCondition
        >>> rows = RowTally(ConstantCondition(True), high=5)
        >>> visits = Source("visits", (), "visits.patient")
        >>> plan = BoundedPlan(visits, AllOf(()), (), 1, 5, (rows,))
        >>> slack_of(TotalReading(0, Fraction(1)), plan, LeftOut(True, False), Catalog((), ()))
        Slack(low=True, high=False, clamped=False)
    """
    if left_out.clamped:
        return Slack(low=False, high=False, clamped=True)
    if isinstance(reading, TotalReading):
        tally = plan.tallies[reading.tally]
        if isinstance(tally, UnitTally):
            return Slack(high=not left_out.units)
        if isinstance(tally, RowTally):
            return Slack(high=not left_out.rows)
        if _is_clamped(tally, catalog):
            return Slack(low=False, high=False, clamped=True)
        # numbers of one sign can only be missing on one side
        return Slack(
            low=not left_out.rows or tally.low == 0, high=not left_out.rows or tally.high == 0
        )
    clamped = any(_is_clamped(plan.tallies[place], catalog) for place in _tallies(reading))
    if isinstance(reading, ExtremeReading):
        lost = left_out.rows
        return Slack(not lost or reading.greatest, not (lost and reading.greatest), clamped)
    if isinstance(reading, QuantileReading):
        return Slack(not left_out.rows, not left_out.rows, clamped)
    known = not (left_out.rows or clamped)
    return Slack(known, known, clamped)


def _left_out_of_units(
    plan: BoundedPlan,
    gathered: UnitAggregation,
    clamped: bool,  # noqa: FBT001 - whether a condition or key is clamped
    catalog: Catalog,
) -> LeftOut:
    """Return what is left out where a subquery aggregates the rows of each unit.

    The subquery reads all rows of a unit, but its counts and sums have a limit.
    """
    tables, times = determining_tables(gathered.source, catalog)
    most, unknown = _most_rows(tables, times, catalog)
    known = _facts(tables, catalog)
    limited = [value.high for _, value in gathered.values if isinstance(value, CountOf)]
    summed = any(isinstance(value, SumOf) for _, value in gathered.values)
    if (summed and most is None) or any(most is None or most > high for high in limited):
        return LeftOut(True, True, True, (), unknown)
    if not gathered.keys:
        return LeftOut(False, False, clamped, known if limited or summed else ())
    units = bool(plan.keys) and (most is None or most > plan.max_groups)
    rows = units or most is None or most > plan.max_groups * _most_counted(plan)
    return LeftOut(rows, units, clamped, known, unknown if rows else ())


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
    if not any(catalog.is_public(owner) for owner in owners):
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
    return any(
        bounds is not None and bounds.provenance is not Provenance.PUBLIC
        for bounds in (_bounds(column, catalog) for column in every((node,), ColumnSteps))
    )


def _bounds(column: ColumnSteps, catalog: Catalog) -> Bounds | None:
    name, _, rest = column.name.partition(".")
    return catalog.table(name).schema[rest].bounds


def _tallies(reading: Reading) -> Iterator[int]:
    """Yield the places of the tallies from which ``reading`` is computed."""
    match reading:
        case TotalReading(tally, _, _):
            yield tally
        case MeanReading():
            yield from (reading.total, reading.count)
        case VarianceReading():
            yield from (reading.mean.total, reading.mean.count, reading.squares)
        case QuantileReading() | ExtremeReading():
            yield reading.tree
