"""Bounded plans: the form of a question that engines run, and its sensitivities.

In a `BoundedPlan` every contribution of a privacy unit is limited: the number of its groups,
the number of its rows, and the amount that it can add to each tally. The proofs of sensitivity
are about this form, and `sensitivities` computes them. Engines must implement exactly what the
docstring of `BoundedPlan` says.
"""

from dataclasses import dataclass
from fractions import Fraction
from math import prod

from tacit.core import Key, Keys, Kind, Neighbours, Norm, Rule, Sensitivity
from tacit.plan.expression import Span
from tacit.plan.source import Fold, Source
from tacit.plan.steps import ColumnSteps, Condition, Steps
from tacit.plan.tally import Tally, TreeTally


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
    """A group key that is a CASE: the first condition that is true names the group."""

    name: str
    whens: tuple[tuple[Condition, Key], ...]
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
    4. It keeps at most ``max_groups`` groups of each unit, and at most ``max_rows`` rows of the
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


# Sensitivity ---------------------------------------------------------------------------------


def group_count(plan: BoundedPlan) -> int | None:
    """Return the number of groups of the answer, or None where the groups are secret."""
    sizes = [None if key.keys is None else len(key.keys.values) for key in plan.keys]
    return None if None in sizes else prod(size for size in sizes if size is not None)


def groups_touched(plan: BoundedPlan) -> int:
    """Return the largest number of groups in which one unit can count."""
    groups = group_count(plan)
    return plan.max_groups if groups is None else min(plan.max_groups, groups)


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
    most = max(abs(tally.low), abs(tally.high))
    width = max(0, tally.high) - min(0, tally.low)
    facts = (f"max_groups={groups}", f"low={tally.low}", f"high={tally.high}")
    unit = Rule("a unit adds between low and high to a group", facts[1:])
    levels = tally.levels if isinstance(tally, TreeTally) else 1
    if isinstance(tally, TreeTally):
        unit = Rule("each kept row adds 1 to one node a level", (f"levels={levels}",), (unit,))
    if neighbours is Neighbours.ADD_REMOVE:
        rule = Rule("a unit is in at most max_groups groups", facts[:1], (unit,))
        total, square = groups * most, groups * most**2
    else:
        rule = Rule("a unit leaves its groups and another joins its own", facts[:1], (unit,))
        total, square = 2 * groups * most, groups * max(width**2, 2 * most**2)
    return (
        Sensitivity.of(levels * total, Norm.L1, rule),
        Sensitivity(Fraction(levels * square), Norm.L2, rule),
    )
