"""The tables of a question with GROUPING SETS, ROLLUP or CUBE, and their sensitivities.

An engine computes the finest cells alone: the groups by all keys. A table of fewer keys is a
marginal of them, the sum over the keys that it leaves out, so that all tables are about the
same bounded rows. The sums are computed from secret integers, before noise is added.

One unit is in at most k finest cells and adds at most M to each. Several of these cells can be
in one cell of a marginal, which then changes by more than M: a marginal has a larger L2
sensitivity than the finest cells, and `marginal_sensitivities` says how large.
"""

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import floor, isqrt, prod

from tacit.core import Neighbours, Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.plan import plan as nodes
from tacit.plan import steps as grid_steps
from tacit.plan.bounded_plan import (
    BoundedKey,
    BoundedPlan,
    CaseKey,
    ColumnKey,
    PeriodKey,
    groups_touched,
    most_of_row,
    sensitivities,
)
from tacit.plan.expression import Comparison
from tacit.plan.left_out import Slack
from tacit.plan.tally import (
    DistinctTally,
    MeanReading,
    Reading,
    Tally,
    TotalReading,
    UnitTally,
    VarianceReading,
)
from tacit.plan.tree_walk import every

Kept = tuple[int, ...]
"""The places of the keys by which a table groups, in ascending order."""

MOST_KEYS = 6
"""Largest number of keys of a question with several tables; a CUBE of 6 has 64 tables."""

MOST_CELLS = 10**7
"""Largest number of cells of all tables together."""


@dataclass(frozen=True, slots=True)
class MarginalTable:
    """One grouping set: its keys, and which ends of its intervals hold, by measure.

    ``unlisted`` names the keys that the table sums over although rows can have a value of them
    that is not listed. Such rows are not in the table.
    """

    kept: Kept
    slacks: tuple[Slack, ...]
    unlisted: tuple[str, ...] = ()


def marginal_tables(
    plan: nodes.Plan,
    bounded: BoundedPlan,
    readings: tuple[Reading, ...],
    slacks: tuple[tuple[Slack, ...], tuple[Slack, ...]],
    complete: tuple[str, ...],
) -> tuple[MarginalTable, ...]:
    """Return the tables of ``plan``, which has grouping sets; refuse what does not add up.

    Args:
        plan: The question.
        bounded: The plan of its finest cells.
        readings: How its measures are computed from the tallies.
        slacks: Those of its measures, first in a table that has all rows that the finest cells
            have, and then in a table in which rows with an unlisted key are missing.
        complete: The columns of which every row has a listed key.

    Guarantee: the result is a function of the question and the catalogue; no data is read.
    """
    _check_keys(plan, bounded.keys)
    for reading in readings:
        _check_additive(reading, bounded)
    places = {key.name: place for place, key in enumerate(plan.keys)}
    found = []
    for names in plan.sets:
        kept = tuple(sorted(places[name] for name in names))
        rest = [key for place, key in enumerate(bounded.keys) if place not in kept]
        listed = (_key_name(key) for key in rest if not _is_complete(key, bounded, complete))
        unlisted = tuple(dict.fromkeys(listed))
        found.append(MarginalTable(kept, slacks[bool(unlisted)], unlisted))
    return tuple(found)


def _check_keys(plan: nodes.Plan, keys: tuple[BoundedKey, ...]) -> None:
    """Refuse secret keys, too many keys, and too many cells."""
    for key in keys:
        if key.keys is None:
            raise InvalidValue(
                "GROUPING SETS, ROLLUP and CUBE need keys that are public, and those of "
                f"{_key_name(key)!r} are not; declare them, or ask for each table by itself."
            )
    if len(keys) > MOST_KEYS:
        raise InvalidValue(
            f"GROUPING SETS, ROLLUP and CUBE can have at most {MOST_KEYS} keys, and this "
            f"question has {len(keys)}; ask several questions."
        )
    sizes = {
        part.name: len(key.keys.values)
        for part, key in zip(plan.keys, keys, strict=True)
        if key.keys is not None
    }
    cells = sum(prod(sizes[name] for name in each) for each in plan.sets)
    if cells > MOST_CELLS:
        raise InvalidValue(
            f"An answer can have at most {MOST_CELLS} groups, and this one would have "
            f"{cells}; ask for fewer keys."
        )


def _check_additive(reading: Reading, plan: BoundedPlan) -> None:
    """Refuse an aggregate whose value in a total does not follow from those of its parts."""
    if isinstance(reading, TotalReading):
        if isinstance(plan.tallies[reading.tally], DistinctTally):
            raise InvalidValue(
                "COUNT(DISTINCT ...) does not add up in GROUPING SETS, ROLLUP and CUBE, "
                "because one value can be in several groups; use COUNT(*), or ask for each "
                "table by itself."
            )
        if isinstance(plan.tallies[reading.tally], UnitTally) and groups_touched(plan) > 1:
            raise InvalidValue(
                "COUNT(DISTINCT ...) does not add up in GROUPING SETS, ROLLUP and CUBE, "
                "because one unit can be in several groups; use COUNT(*), or ask for each "
                "table by itself."
            )
        return
    if not isinstance(reading, MeanReading | VarianceReading):
        raise InvalidValue(
            "Quantiles, MIN and MAX do not add up in GROUPING SETS, ROLLUP and CUBE; use "
            "COUNT, SUM and AVG there, and ask for the others by GROUP BY alone."
        )


def _key_name(key: BoundedKey) -> str:
    match key:
        case ColumnKey(_, column, _, _):
            return column
        case PeriodKey(_, day, _, _):
            return day.name
    numbers = [each.name for each in every((key,), grid_steps.ColumnSteps)]
    compared = [each.name for each in every((key,), grid_steps.CompareColumn)]
    return next(iter(numbers + compared), "a key")


def _is_complete(key: BoundedKey, plan: BoundedPlan, complete: tuple[str, ...]) -> bool:
    """Return whether every row of a question has a listed value of ``key``."""
    match key:
        case ColumnKey(_, column, _, keys) if keys is not None:
            return column in complete or _is_limited(column, keys.values, plan.condition)
        case CaseKey(_, whens, otherwise, _):
            # rows of a branch without a name are dropped
            return otherwise is not None and all(name is not None for _, name in whens)
    return False


def _is_limited(
    column: str, listed: tuple[object, ...], condition: grid_steps.Condition
) -> bool:
    """Return whether rows that meet ``condition`` have a value of ``column`` that is listed."""
    match condition:
        case grid_steps.AllOf(parts):
            return any(_is_limited(column, listed, part) for part in parts)
        case grid_steps.ColumnOneOf(name, _, values):
            return name == column and set(values) <= set(listed)
        case grid_steps.CompareColumn(Comparison.EQUAL, name, _, value):
            return name == column and value in listed
    return False


# Sizes ---------------------------------------------------------------------------------------


def key_sizes(plan: BoundedPlan) -> tuple[int, ...]:
    """Return the number of values of each key; all keys are public."""
    return tuple(0 if key.keys is None else len(key.keys.values) for key in plan.keys)


def cells_of(sizes: tuple[int, ...], kept: Kept) -> int:
    """Return the number of cells of a table.

    Example:
        >>> cells_of((2, 3, 5), (0, 2)), cells_of((2, 3, 5), ())
        (10, 1)
    """
    return prod(sizes[place] for place in kept)


def subsets(kept: Kept) -> tuple[Kept, ...]:
    """Return all tables of some of these keys, the largest first.

    Example:
        >>> subsets((0, 2))
        ((0, 2), (0,), (2,), ())
    """
    lengths = range(len(kept), -1, -1)
    return tuple(part for length in lengths for part in combinations(kept, length))


# Sensitivity ---------------------------------------------------------------------------------


def marginal_sensitivities(
    plan: BoundedPlan, tally: Tally, kept: Kept, neighbours: Neighbours
) -> tuple[Sensitivity, Sensitivity]:
    """Return the L1 and the L2 sensitivity of a marginal of ``tally``, over all its cells.

    Guarantee: the bounds hold for every pair of neighbouring tables, in integers. A unit is in
    at most k finest cells and adds at most M to each, so that it adds at most T = k * M in all.
    A cell of the marginal consists of c finest cells. If j of them have rows of the unit, it
    changes by at most j * M. The squares of these changes add up to the most if the cells are
    filled one after the other: to (k // c) * c**2 + (k % c)**2, times M**2.

    If a unit has at most R rows in all, and a row adds at most m, then T is at most R * m. No
    cell changes by more than T, and squares of numbers that add up to T and are at most B add
    up to at most T * B. If squared numbers of rows are limited to S, the squares add up to at
    most min(c, k) * S * m**2, by the inequality of Cauchy and Schwarz.

    Replacing a unit is a removal and an addition: twice the L1 sensitivity, and twice the
    square if no row adds less than 0, or none more, and four times otherwise.

    Example:
        >>> from tacit.core import Keys, Kind
        >>> from tacit.plan.source import Source
        >>> from tacit.plan.steps import AllOf, ConstantCondition
        >>> from tacit.plan.tally import RowTally
        >>> rows = RowTally(ConstantCondition(True), high=3)
        >>> key = ColumnKey("key_0", "visits.ward", Kind.TEXT, Keys(("a", "b", "c")))
        >>> visits = Source("visits", (), "visits.patient")
        >>> plan = BoundedPlan(visits, AllOf(()), (key,), 2, 3, (rows,))
        >>> [s.square for s in marginal_sensitivities(plan, rows, (), Neighbours.ADD_REMOVE)]
        [Fraction(36, 1), Fraction(36, 1)]
        >>> [s.square for s in marginal_sensitivities(plan, rows, (0,), Neighbours.ADD_REMOVE)]
        [Fraction(36, 1), Fraction(18, 1)]
    """
    finest = sensitivities(plan, tally, neighbours)
    if len(kept) == len(plan.keys):
        return finest
    sizes = key_sizes(plan)
    groups, most = groups_touched(plan), max(abs(tally.low), abs(tally.high))
    each = cells_of(sizes, tuple(range(len(sizes)))) // cells_of(sizes, kept)
    full, rest = divmod(groups, each)
    total, square = Fraction(groups * most), Fraction((full * each**2 + rest**2) * most**2)
    row = most_of_row(tally, plan.max_rows)
    if plan.max_squares is not None:
        total = min(total, row * isqrt(groups * plan.max_squares))
        square = min(square, min(each, groups) * plan.max_squares * row**2)
    if plan.max_rows_in_all is not None:
        total = min(total, plan.max_rows_in_all * row)
    square = min(square, total * min(total, Fraction(min(each, groups) * most)))
    facts = (f"cells={each}", f"max_groups={groups}")
    rule = Rule("cells of a unit can be in one cell of a marginal", facts, (finest[1].proof,))
    if neighbours is not Neighbours.ADD_REMOVE:
        rule = Rule("a unit leaves its cells and another joins its own", (), (rule,))
        total *= 2
        square *= 2 if tally.low >= 0 or tally.high <= 0 else 4
    return (
        Sensitivity.of(floor(total), Norm.L1, rule),
        Sensitivity(Fraction(floor(square)), Norm.L2, rule),
    )
