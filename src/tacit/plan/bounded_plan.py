"""Bounded plans: the form of a question that engines run, and its sensitivities.

In a `BoundedPlan` every contribution of a privacy unit is limited: the number of its groups,
the number of its rows, and the amount that it can add to each tally. The proofs of sensitivity
are about this form, and `sensitivities` computes them. Engines must implement exactly what the
docstring of `BoundedPlan` says.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import floor, isqrt, prod

from tacit.core import Key, Keys, Kind, Neighbours, Norm, Rule, Sensitivity
from tacit.plan.expression import Span
from tacit.plan.source import Fold, Source
from tacit.plan.steps import ColumnSteps, Condition, Steps
from tacit.plan.tally import (
    DistinctTally,
    RowSumTally,
    StoredValue,
    Tally,
    TotalTally,
    TreeTally,
)


@dataclass(frozen=True, slots=True)
class ColumnKey:
    """A group key that is a column. Rows with NULL, or with an unlisted value, are dropped.

    Where ``keys`` is None the values are secret, and a key selection decides which to release.
    """

    name: str
    column: str
    kind: Kind
    keys: Keys | None


@dataclass(frozen=True, slots=True)
class CaseKey:
    """A group key that is a CASE: the first condition that is true names the group.

    Rows for which the first true condition names None are dropped.
    """

    name: str
    whens: tuple[tuple[Condition, Key | None], ...]
    otherwise: Key | None
    keys: Keys


@dataclass(frozen=True, slots=True)
class PeriodKey:
    """A group key that is the period of a clamped day, named by the period's first day.

    Where ``keys`` is None the periods are secret, and a key selection decides which to release.
    """

    name: str
    day: ColumnSteps
    span: Span
    keys: Keys | None


@dataclass(frozen=True, slots=True)
class StepsKey:
    """A group key that is an integer of a row. Rows with an unlisted integer are dropped."""

    name: str
    steps: Steps
    keys: Keys


BoundedKey = ColumnKey | CaseKey | PeriodKey | StepsKey


@dataclass(frozen=True, slots=True)
class FirstPeriods:
    """The limit of a stream: each unit counts only in its first ``most`` periods with rows.

    Rows of the period ``now`` count for a unit if ``now`` is among the first ``most`` periods
    in which the unit has rows that meet the condition.

    Guarantee: if the question is asked for every period, a unit counts in at most ``most`` of
    them, as long as no row of an earlier period is removed or changed. Rows that arrive late
    only use up periods of their unit; earlier answers remain valid.
    """

    period: PeriodKey
    now: str
    most: int


@dataclass(frozen=True, slots=True)
class BoundedPlan:
    """A question with bounded contributions, from which an engine computes all tallies.

    An engine applies these steps in this order:

    1. It drops rows whose unit is NULL or not in ``fold``, rows for which ``condition`` is not
       true, and rows outside ``first_periods``, if that is set.
    2. It keeps at most ``max_rows_in_all`` rows of each unit, if that is set.
    3. It drops rows with a key that is NULL or is not among the public keys.
    4. If ``max_squares`` is set, it numbers the rows of a unit in each group, drops those above
       ``max_rows``, and keeps the first of the others, over all groups of the unit, while the
       sum of 2 * number - 1 is at most ``max_squares``. As the first n odd numbers add up to
       n**2, the squared numbers of kept rows add up to at most ``max_squares``.
    5. It keeps at most ``max_groups`` groups of each unit, and at most ``max_rows`` rows of the
       unit in each group, for the tallies that are computed from kept rows.

    Which rows and groups of a unit are kept depends only on the unit's own rows and a salt.
    """

    source: Source
    condition: Condition
    keys: tuple[BoundedKey, ...]
    max_groups: int
    max_rows: int
    tallies: tuple[Tally, ...]
    max_rows_in_all: int | None = None
    first_periods: FirstPeriods | None = None
    fold: Fold | None = None
    max_squares: int | None = None


# Sensitivity ---------------------------------------------------------------------------------


def group_count(plan: BoundedPlan) -> int | None:
    """Return the number of groups of the answer, or None where the groups are secret."""
    sizes = [None if key.keys is None else len(key.keys.values) for key in plan.keys]
    return None if None in sizes else prod(size for size in sizes if size is not None)


def groups_touched(plan: BoundedPlan) -> int:
    """Return the largest number of groups in which one unit can count."""
    groups = group_count(plan)
    limits = (plan.max_groups, groups, plan.max_squares)
    return min(limit for limit in limits if limit is not None)


def sensitivities(
    plan: BoundedPlan, tally: Tally, neighbours: Neighbours
) -> tuple[Sensitivity, Sensitivity]:
    """Return the L1 and the L2 sensitivity of ``tally``, as a vector over all groups.

    Guarantee: the bounds hold for every pair of neighbouring tables, in the integers that the
    engine returns. Adding or removing a unit changes at most k = `groups_touched` groups, each
    by at most M = max(|low|, |high|). Replacing a unit is a removal and an addition: a group
    that both units are in changes by at most w, the width of the range of low, high and 0, and
    any other group of either unit by at most M. In a tree this holds for each level: at most M
    rows leave one node of the level, and at most M rows join another.

    A count of distinct values is not a sum over units, but the same bounds hold. The rows that
    a unit keeps in a group depend on its own rows alone, and there are at most ``high`` of
    them. So the values of a group are the union of a set of at most ``high`` values, and of
    sets that do not change if the unit is added or removed: their number changes by 0 to
    ``high``, or by at most the unit's number of rows in the group. If a unit is replaced, the
    number falls by at most ``high`` and then rises by at most ``high``. If the values are those
    of the unit's own column, under a condition, all rows of a unit have one value, so that the
    same holds with 1 in the place of ``high``.

    If the plan limits ``max_squares`` to S, and one row adds at most m, a unit with n rows in a
    group changes it by at most n * m, and the squares of all its changes add up to at most
    S * m**2. By the inequality of Cauchy and Schwarz its changes add up to at most the root of
    k * S, times m. Two units change the groups by at most twice that, and the squares by at
    most twice that if no row adds less than 0, or none more, and by four times otherwise. A
    quantile is chosen in each group by itself, so that its sensitivity does not use S.

    Example:
        >>> from tacit.plan.source import Source
        >>> from tacit.plan.steps import AllOf, ConstantCondition
        >>> from tacit.plan.tally import RowTally
        >>> rows = RowTally(ConstantCondition(True), high=3)
        >>> visits = Source("visits", (), "visits.patient")
        >>> plan = BoundedPlan(visits, AllOf(()), (), 1, 3, (rows,))
        >>> [s.amount for s in sensitivities(plan, rows, Neighbours.ADD_REMOVE)]
        [Fraction(3, 1), Fraction(3, 1)]
    """
    groups = groups_touched(plan)
    own = counts_units(plan, tally)
    low, high = (0, 1) if own else (tally.low, tally.high)
    most = max(abs(low), abs(high))
    width = max(0, high) - min(0, low)
    facts = (f"max_groups={groups}", f"low={low}", f"high={high}")
    unit = Rule("a unit adds between low and high to a group", facts[1:])
    levels = tally.levels if isinstance(tally, TreeTally) else 1
    if isinstance(tally, TreeTally):
        unit = Rule("each kept row adds 1 to one node a level", (f"levels={levels}",), (unit,))
    if own:
        unit = Rule("all rows of a unit have one value, which is the unit", (), (unit,))
    elif isinstance(tally, DistinctTally):
        unit = Rule("each kept row of a unit adds at most one distinct value", (), (unit,))
    if neighbours is Neighbours.ADD_REMOVE:
        rule = Rule("a unit is in at most max_groups groups", facts[:1], (unit,))
        total, square = groups * most, groups * most**2
    else:
        rule = Rule("a unit leaves its groups and another joins its own", facts[:1], (unit,))
        total, square = 2 * groups * most, groups * max(width**2, 2 * most**2)
    if plan.max_squares is not None and not _is_quantile(tally):
        limit = (f"max_squares={plan.max_squares}",)
        rule = Rule("rows of a unit by group are a vector of limited length", limit, (rule,))
        two = neighbours is not Neighbours.ADD_REMOVE
        times = 1 if not two else 2 if low >= 0 or high <= 0 else 4
        each = most_of_row(tally, plan.max_rows)
        square = min(square, floor(times * plan.max_squares * each**2))
        long = min(isqrt(groups * plan.max_squares), plan.max_squares)
        total = min(total, floor((2 if two else 1) * long * each))
    return (
        Sensitivity.of(levels * total, Norm.L1, rule),
        Sensitivity(Fraction(levels * square), Norm.L2, rule),
    )


def _is_quantile(tally: Tally) -> bool:
    return isinstance(tally, TreeTally) and tally.quantile is not None


def counts_units(plan: BoundedPlan, tally: Tally) -> bool:
    """Return whether the distinct values that ``tally`` counts are units.

    An example is COUNT(DISTINCT CASE WHEN age > 3 THEN patient END).
    """
    if not isinstance(tally, DistinctTally) or not isinstance(tally.value, StoredValue):
        return False
    return tally.value.name == plan.source.unit


def most_of_row(tally: Tally, max_rows: int) -> Fraction:
    """Return the most that one row adds to a tally, above or below 0."""
    if isinstance(tally, TotalTally) and tally.each is not None:
        return Fraction(tally.each)
    if isinstance(tally, TotalTally | RowSumTally):
        return Fraction(max(abs(tally.low), abs(tally.high)), max_rows)
    return Fraction(1)
