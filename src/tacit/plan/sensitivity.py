"""How far one unit moves each tally, from the unit and the bounds alone."""

from fractions import Fraction
from math import prod

from tacit.core.proof import Rule
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.unit import Neighbours
from tacit.plan.bounded import BoundedPlan
from tacit.plan.tally import Tally, TreeTally


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
        >>> from tacit.plan.steps import AllOf, Known
        >>> from tacit.plan.tally import RowTally
        >>> rows = RowTally(Known(True), high=3)
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
