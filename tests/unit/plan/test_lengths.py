"""Limits of the length of a unit's rows by group, and of a unit's total in a sum."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product

import pytest

from tacit.core import (
    Bounds,
    Catalog,
    Column,
    Dataset,
    Epoch,
    Keys,
    Kind,
    Limits,
    Location,
    Neighbours,
    Population,
    PrivacyUnit,
    PublicMost,
    Schema,
    TotalProfile,
    UnitColumn,
    decode_catalog,
    encode_catalog,
)
from tacit.errors import InvalidValue
from tacit.plan.bounded_plan import BoundedPlan, sensitivities
from tacit.plan.bounding import Bound, bound
from tacit.plan.left_out import Slack
from tacit.plan.tally import RowSumTally, RowTally, TotalTally, UnitTally
from tacit.session.policy_version import policy_of
from tacit.sql import parse

GROUPS, ROWS, SQUARES = 3, 4, 11


def catalog(
    limits: Limits, most: PublicMost | None = None, total: Fraction | None = None
) -> Catalog:
    columns = Schema(
        (
            Column("person", Kind.INTEGER),
            Column("ward", Kind.TEXT, keys=Keys(("a", "b", "c", "d"))),
            Column("pay", Kind.INTEGER, bounds=Bounds.of(0, 10), max_total=total),
            Column("gain", Kind.INTEGER, bounds=Bounds.of(-5, 10), max_total=total),
        )
    )
    place = Location("here", ("visits",))
    visits = Dataset(
        "visits",
        "all",
        columns,
        UnitColumn("person"),
        limits,
        place,
        Epoch("1"),
        most_rows=most,
    )
    return Catalog((Population("all", PrivacyUnit("person")),), (visits,))


def asked(what: str, declared: Catalog, by: str = "ward") -> Bound:
    key, group = (f"{by}, ", f"GROUP BY {by}") if by else ("", "")
    text = f"SELECT {key}{what} AS x FROM visits {group}"  # noqa: S608 - our own names
    return bound(parse(text, declared), declared)


SHORT = catalog(Limits(GROUPS, ROWS, max_length=Fraction("3.4")))


def vectors(plan: BoundedPlan, low: int, high: int) -> Iterator[tuple[int, ...]]:
    """Yield what a unit with so many rows in each group can add, at the ends of its range."""
    for rows in product(range(ROWS + 1), repeat=4):
        if sum(n * n for n in rows) <= SQUARES and sum(n > 0 for n in rows) <= plan.max_groups:
            yield from product(*({n * low, n * high, 0} for n in rows))


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize(
    ("what", "low", "high"),
    [("COUNT(*)", 0, 1), ("SUM(pay)", 0, 10), ("SUM(gain)", -5, 10), ("AVG(gain)", -7, 8)],
)
def test_no_unit_moves_a_tally_by_more_than_its_sensitivity(
    what: str, low: int, high: int, neighbours: Neighbours
) -> None:
    plan = asked(what, SHORT).plan
    assert plan.max_squares == SQUARES
    one, two = sensitivities(plan, plan.tallies[0], neighbours)
    found = list(vectors(plan, low, high))
    if neighbours is Neighbours.ADD_REMOVE:
        moves = found
    else:
        far = [each for each in found if any(each)]
        moves = [
            tuple(a - b for a, b in zip(left, right, strict=True))
            for left in far[::7]
            for right in far[::5]
        ]
    assert max(sum(map(abs, each)) for each in moves) <= one.amount
    assert max(sum(part * part for part in each) for each in moves) <= two.square


def test_the_length_of_a_count_is_reached_and_needs_less_noise() -> None:
    """The lie: a length that is shorter by one square is passed by a unit."""
    plan = asked("COUNT(*)", SHORT).plan
    _, two = sensitivities(plan, plan.tallies[0], Neighbours.ADD_REMOVE)
    reached = max(sum(n * n for n in rows) for rows in vectors(plan, 0, 1))
    assert reached == two.square == SQUARES
    wide = asked("COUNT(*)", catalog(Limits(GROUPS, ROWS))).plan
    assert sensitivities(wide, wide.tallies[0], Neighbours.ADD_REMOVE)[1].square == 3 * 16


def test_units_are_in_no_more_groups_than_squares() -> None:
    declared = catalog(Limits(4, 4, max_length=Fraction("1.5")))
    plan = asked("COUNT(DISTINCT person)", declared).plan
    assert plan.tallies == (UnitTally(),)
    _, two = sensitivities(plan, plan.tallies[0], Neighbours.ADD_REMOVE)
    assert two.square == 2


def test_a_quantile_does_not_use_the_length() -> None:
    plan = asked("MEDIAN(pay)", SHORT).plan
    one, _ = sensitivities(plan, plan.tallies[0], Neighbours.ADD_REMOVE)
    assert one.amount == GROUPS * ROWS


@pytest.mark.parametrize(
    ("limits", "by"),
    [
        (Limits(3, 4, max_length=Fraction(7)), "ward"),  # longer than the other limits allow
        (Limits(3, 4, max_length=Fraction(2)), ""),  # there is one group
        (Limits(1, 4, max_length=Fraction(2)), "ward"),
    ],
)
def test_a_length_that_would_not_help_is_not_used(limits: Limits, by: str) -> None:
    assert asked("COUNT(*)", catalog(limits), by).plan.max_squares is None


@pytest.mark.parametrize(("most", "slack"), [(3, Slack()), (4, Slack(high=False))])
def test_an_interval_is_closed_if_everybody_fits(most: int, slack: Slack) -> None:
    declared = catalog(Limits(4, 4, max_length=Fraction(3)), PublicMost(most, "a law"))
    assert asked("COUNT(*)", declared).slacks == (slack,)


def test_a_sum_is_clamped_to_the_total_of_a_person() -> None:
    declared = catalog(Limits(1, 4), total=Fraction(25))
    assert asked("SUM(pay)", declared, "").plan.tallies == (
        TotalTally(asked("SUM(pay)", declared, "").plan.tallies[0].steps, 0, 25, 10),  # type: ignore[union-attr]
    )
    [tally] = asked("SUM(gain)", declared, "").plan.tallies
    assert (tally.low, tally.high) == (-20, 25)
    # no total is smaller than one value: engines do not clamp a single row
    [tally] = asked("SUM(pay)", catalog(Limits(1, 4), total=Fraction(3)), "").plan.tallies
    assert (tally.low, tally.high) == (0, 10)
    [tally] = asked("SUM(pay + 1)", declared, "").plan.tallies
    assert (tally.low, tally.high) == (0, 44)


@pytest.mark.parametrize(
    ("total", "most", "slack"),
    [
        (30, None, Slack(high=False)),
        (30, PublicMost(4, "a law"), Slack(high=False)),
        (40, PublicMost(4, "a law"), Slack()),
        (40, PublicMost(5, "a law"), Slack(high=False)),
    ],
)
def test_a_sum_is_closed_if_no_total_is_clamped(
    total: int, most: PublicMost | None, slack: Slack
) -> None:
    declared = catalog(Limits(1, 4), most, Fraction(total))
    assert asked("SUM(pay)", declared, "").slacks == (slack,)


@pytest.mark.parametrize(
    ("amount", "epoch", "what", "slack"),
    [
        (25, "1", "SUM(pay)", Slack(all_but=24, measured=True)),
        (20, "1", "SUM(pay)", Slack(all_but=24, measured=True)),
        (26, "1", "SUM(pay)", Slack(high=False)),  # the limit is lower than what was measured
        (25, "0", "SUM(pay)", Slack(high=False)),
        (25, "1", "SUM(gain)", Slack(low=False, high=False)),
    ],
)
def test_a_profile_of_totals_bounds_the_people_above(
    amount: int, epoch: str, what: str, slack: Slack
) -> None:
    declared = catalog(Limits(1, 4), total=Fraction(25))
    [visits] = declared.datasets
    found = TotalProfile(Fraction(amount), 24, epoch)
    columns = tuple(
        replace(each, total_profile=found) if each.max_total else each
        for each in visits.schema.columns
    )
    measured = declared.with_tables(replace(visits, schema=Schema(columns)))
    assert asked(what, measured, "").slacks == (slack,)
    assert decode_catalog(encode_catalog(measured)).dataset("visits").schema == Schema(columns)
    bare = measured.without_profiles()
    assert asked("SUM(pay)", bare, "").slacks == (Slack(high=False),)


def test_all_rows_count_in_a_total_that_is_large_enough() -> None:
    # only four rows count, but a total of fifty holds five rows of ten
    declared = catalog(Limits(1, 4), PublicMost(5, "a law"), Fraction(50))
    [tally] = asked("SUM(pay)", declared, "").plan.tallies
    assert tally.high == 40
    assert asked("SUM(pay)", declared, "").slacks == (Slack(high=False),)


def test_lengths_and_totals_are_encoded() -> None:
    declared = catalog(Limits(3, 4, None, Fraction("3.4")), total=Fraction("25.5"))
    found = decode_catalog(encode_catalog(declared)).dataset("visits")
    assert found.limits == declared.dataset("visits").limits
    assert found.schema["pay"].max_total == Fraction("25.5")


@pytest.mark.parametrize("kind", [RowTally, RowSumTally])
def test_tallies_of_rows_have_no_total(kind: type) -> None:
    assert "each" not in kind.__slots__  # type: ignore[attr-defined]


def test_limits_that_keep_nothing_are_refused() -> None:
    with pytest.raises(InvalidValue, match=r"max_length=0\.5"):
        Limits(1, 1, max_length=Fraction(1, 2))
    with pytest.raises(InvalidValue, match="max_total must be above 0"):
        Column("pay", Kind.INTEGER, bounds=Bounds.of(0, 1), max_total=Fraction(0))
    with pytest.raises(InvalidValue, match="with bounds"):
        Column("pay", Kind.INTEGER, max_total=Fraction(5))


def test_a_length_and_a_total_are_parts_of_the_policy() -> None:
    declared = [
        catalog(Limits(3, 4)),
        catalog(Limits(3, 4, max_length=Fraction(3))),
        catalog(Limits(3, 4, max_length=Fraction(2))),
        catalog(Limits(3, 4), total=Fraction(25)),
        catalog(Limits(3, 4), total=Fraction(26)),
    ]
    policies = {policy_of(each.populations[0], each.datasets) for each in declared}
    assert len(policies) == len(declared)
