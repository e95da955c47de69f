"""How far one unit moves each tally: values computed by hand, and the worst pair of units."""

from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from tacit.core.domain import Keys, Kind
from tacit.core.privacy_unit import Neighbours
from tacit.core.sensitivity import Norm
from tacit.plan.bounded_plan import (
    BoundedKey,
    BoundedPlan,
    CaseKey,
    ColumnKey,
    group_count,
    groups_touched,
    sensitivities,
)
from tacit.plan.source import Source
from tacit.plan.steps import AllOf, ComputedSteps, ConstantCondition
from tacit.plan.tally import RowSumTally, RowTally, Tally, TotalTally, TreeTally, UnitTally

X = ComputedSteps("x")
VISITS = Source("visits", (), "visits.person")
ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
SECRET = ColumnKey("s", "visits.s", Kind.TEXT, None)


def key(count: int) -> BoundedKey:
    return CaseKey("k", (), None, Keys(tuple(range(count))))


def plan(tally: Tally, *keys: BoundedKey, max_groups: int = 1) -> BoundedPlan:
    return BoundedPlan(VISITS, AllOf(()), keys, max_groups, 3, (tally,))


def test_groups_are_counted_where_they_are_public() -> None:
    unit = UnitTally()
    assert group_count(plan(unit)) == 1
    assert group_count(plan(unit, key(3))) == 3
    assert group_count(plan(unit, key(3), key(4))) == 12
    assert group_count(plan(unit, key(3), SECRET)) is None


def test_a_unit_is_in_no_more_groups_than_there_are() -> None:
    unit = UnitTally()
    assert groups_touched(plan(unit, key(3), max_groups=5)) == 3
    assert groups_touched(plan(unit, key(5), max_groups=3)) == 3
    assert groups_touched(plan(unit, key(2), key(2), max_groups=3)) == 3
    assert groups_touched(plan(unit, SECRET, max_groups=5)) == 5


# a tally, the groups of a unit, and L1 and L2 squared for both relations
BY_HAND: list[tuple[Tally, int, tuple[int, int], tuple[int, int]]] = [
    (UnitTally(), 1, (1, 1), (2, 2)),
    (UnitTally(), 4, (4, 4), (8, 8)),
    (RowTally(ConstantCondition(True), 3), 1, (3, 9), (6, 18)),
    (RowTally(ConstantCondition(True), 3), 2, (6, 18), (12, 36)),
    (TotalTally(X, -2, 5), 1, (5, 25), (10, 50)),
    (TotalTally(X, -5, 2), 1, (5, 25), (10, 50)),
    # both ends are far from 0: in one group, replacing moves by the whole width
    (TotalTally(X, -5, 5), 1, (5, 25), (10, 100)),
    (RowSumTally(X, -4, 5), 3, (15, 75), (30, 243)),
    (RowSumTally(X, 2, 5), 1, (5, 25), (10, 50)),
    (RowSumTally(X, -1, 0), 1, (1, 1), (2, 2)),
    (RowSumTally(X, 0, 1), 1, (1, 1), (2, 2)),
    (RowSumTally(X, -5, -2), 1, (5, 25), (10, 50)),
    (TreeTally(X, 3, 2, 2), 1, (6, 12), (12, 24)),
    (TreeTally(X, 3, 2, 2), 2, (12, 24), (24, 48)),
]


@pytest.mark.parametrize(("tally", "groups", "added", "replaced"), BY_HAND)
def test_sensitivities_by_hand(
    tally: Tally, groups: int, added: tuple[int, int], replaced: tuple[int, int]
) -> None:
    asked = plan(tally, key(9), max_groups=groups)
    for neighbours, (total, square) in ((ADD, added), (REPLACE, replaced)):
        one, two = sensitivities(asked, tally, neighbours)
        assert (one.norm, two.norm) == (Norm.L1, Norm.L2)
        assert one.amount == total
        assert two.square == square


@pytest.mark.parametrize(("low", "high"), [(-2, 3), (-3, 2), (0, 3), (-3, 0), (1, 1), (-2, 2)])
@pytest.mark.parametrize("max_groups", [1, 2])
def test_no_two_units_are_farther_apart(low: int, high: int, max_groups: int) -> None:
    tally = RowSumTally(X, low, high)
    units = [
        given
        for given in product((0, *range(low, high + 1)), repeat=2)
        if sum(value != 0 for value in given) <= max_groups
    ]
    asked = plan(tally, key(2), max_groups=max_groups)
    for neighbours, moves in (
        (ADD, units),
        (REPLACE, [(a - c, b - d) for (a, b), (c, d) in product(units, units)]),
    ):
        one, two = sensitivities(asked, tally, neighbours)
        assert max(abs(a) + abs(b) for a, b in moves) <= one.amount
        squares = max(a**2 + b**2 for a, b in moves)
        assert squares <= two.square
        if neighbours is ADD:
            assert squares == two.square  # one less would be a lie


def test_the_proof_says_what_it_rests_on() -> None:
    tally = TotalTally(X, -2, 5)
    heads = {
        ADD: "a unit is in at most max_groups groups",
        REPLACE: "a unit leaves its groups and another joins its own",
    }
    for neighbours, head in heads.items():
        for found in sensitivities(plan(tally, key(9), max_groups=2), tally, neighbours):
            assert str(found.proof).splitlines() == [
                f"{head} [max_groups=2]",
                "  a unit adds between low and high to a group [low=-2, high=5]",
            ]


def test_a_plan_bounds_no_more_than_it_says() -> None:
    asked = plan(UnitTally())
    assert (asked.max_rows_in_all, asked.first_periods, asked.fold) == (None, None, None)
    assert sensitivities(asked, UnitTally(), ADD)[1].square == Fraction(1)


@pytest.mark.parametrize(
    ("low", "high", "each", "neighbours", "square"),
    [
        (0, 12, 5, ADD, 10 * 5**2),  # a row adds up to 5, and the total is clamped to 12
        (0, 12, 5, REPLACE, 2 * 10 * 5**2),
        (-12, 12, 5, REPLACE, 4 * 10 * 5**2),
        (0, 12, None, ADD, 10 * 4**2),  # a third of 12 for each of three rows
        (0, 1, 5, ADD, 5),  # clamped totals move less than long vectors
    ],
)
def test_a_clamped_total_has_the_length_of_its_rows(
    low: int, high: int, each: int | None, neighbours: Neighbours, square: int
) -> None:
    asked = replace(plan(TotalTally(X, low, high, each), key(9), max_groups=5), max_squares=10)
    _, found = sensitivities(asked, asked.tallies[0], neighbours)
    assert found.square == square
