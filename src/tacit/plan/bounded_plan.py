"""A question whose every part is bounded: what an engine runs, and what a proof speaks of."""

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
    """Groups by the values of a column; those that are not public are not there, nor is NULL.

    Where ``keys`` is None the values are secret, until a selection releases some.
    """

    name: str
    column: str
    kind: Kind
    keys: Keys | None


@dataclass(frozen=True, slots=True)
class CaseKey:
    """Groups by the first condition that holds: the question itself names them."""

    name: str
    whens: tuple[tuple[Condition, Key], ...]
    otherwise: Key | None
    keys: Keys


@dataclass(frozen=True, slots=True)
class PeriodKey:
    """Groups by the period of a clamped day; each is named by the day that it starts on.

    Where ``keys`` is None the periods are secret, until a selection releases some.
    """

    name: str
    day: ColumnSteps
    span: Span
    keys: Keys | None


@dataclass(frozen=True, slots=True)
class StepsKey:
    """Groups by a whole number of a row: those listed; a row of another number is in none."""

    name: str
    steps: Steps
    keys: Keys


BoundedKey = ColumnKey | CaseKey | PeriodKey | StepsKey


@dataclass(frozen=True, slots=True)
class FirstPeriods:
    """Rows of the period ``now`` count, of units that have it among their first ``most``.

    The periods of a unit are those in which it has rows that meet the condition.

    Guarantee: asked again for every period, a unit counts in at most ``most`` of them, as long
    as no row of a period before is taken away or changed. Rows that come late only use up
    periods: what was answered before them stands.
    """

    period: PeriodKey
    now: str
    most: int


@dataclass(frozen=True, slots=True)
class BoundedPlan:
    """One bounded relation that feeds all tallies and the selection of keys.

    Rows where the unit is NULL or not in the fold, or where the condition is not true, are
    dropped, and those that are not of a unit's ``first_periods``, where these are said. Then
    each unit keeps at most ``max_rows_in_all`` rows, where that is said; of these, rows where a
    key is NULL or not public are dropped, and it keeps at most ``max_groups`` groups, and in a
    group at most ``max_rows`` rows where a tally keeps rows. Which ones is a function of the
    unit's own rows and a salt.
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


# ------------------------------------------------------------------ sensitivity
# How far one unit moves each tally, from the unit and the bounds alone.


def group_count(plan: BoundedPlan) -> int | None:
    """How many groups the answer has, where they are public; None where they are secret."""
    sizes = [None if key.keys is None else len(key.keys.values) for key in plan.keys]
    return None if None in sizes else prod(size for size in sizes if size is not None)


def groups_touched(plan: BoundedPlan) -> int:
    """In how many groups one unit can be."""
    groups = group_count(plan)
    return plan.max_groups if groups is None else min(plan.max_groups, groups)


def sensitivities(
    plan: BoundedPlan, tally: Tally, neighbours: Neighbours
) -> tuple[Sensitivity, Sensitivity]:
    """How far one unit moves the groups' values of ``tally``: in L1, and in L2.

    Guarantee: for every pair of neighbouring tables, in the integers that the engine returns.
    Adding or removing a unit changes at most k groups, each by at most M = max(|low|, |high|).
    Replacing one is a removal and an addition: where both meet in a group it moves by at most
    w = high - low (0 counts as a value), elsewhere by M in each of two groups. A tree is moved
    so in each of its levels: at most M rows leave one node, and as many join another.

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
