"""Tables of a CUBE: how far one unit moves each, what adds up, and which rows are in them."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from clinic import catalog

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
    Population,
    PrivacyUnit,
    PublicMost,
    Schema,
    UnitColumn,
)
from tacit.core.privacy_unit import Neighbours
from tacit.core.sensitivity import Norm
from tacit.errors import InvalidValue
from tacit.plan.bounded_plan import BoundedPlan, CaseKey, sensitivities
from tacit.plan.bounding import Bound, bound
from tacit.plan.canonical_form import canonical
from tacit.plan.marginal_tables import (
    Kept,
    cells_of,
    key_sizes,
    marginal_sensitivities,
    subsets,
)
from tacit.plan.source import Source
from tacit.plan.steps import AllOf, ComputedSteps, ConstantCondition
from tacit.plan.tally import RowTally, Tally, TotalTally
from tacit.sql.parser import parse

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
VISITS = Source("visits", (), "visits.person")
SIZES = (2, 3)


def plan(tally: Tally, max_groups: int, **more: int) -> BoundedPlan:
    keys = tuple(CaseKey(f"k{size}", (), None, Keys(tuple(range(size)))) for size in SIZES)
    return BoundedPlan(VISITS, AllOf(()), keys, max_groups, 3, (tally,), **more)


ROWS = RowTally(ConstantCondition(True), 3)
SIGNED = TotalTally(ComputedSteps("x"), -6, 3)

# a tally, the most groups of a unit, other limits, the table, and L1 and L2 squared
BY_HAND: list[tuple[Tally, int, dict[str, int], Kept, tuple[int, int]]] = [
    (ROWS, 1, {}, (), (3, 9)),
    (ROWS, 1, {}, (0,), (3, 9)),
    (ROWS, 2, {}, (), (6, 36)),
    (ROWS, 2, {}, (0,), (6, 36)),  # both groups in one of its cells, of three
    (ROWS, 4, {}, (0,), (12, 9 * (9 + 1))),  # three groups in one cell, one in another
    (ROWS, 4, {}, (1,), (12, 9 * (4 + 4))),  # cells of two groups
    (ROWS, 6, {}, (1,), (18, 9 * 12)),
    (ROWS, 9, {}, (), (18, 18**2)),  # there are only six groups
    (ROWS, 4, {"max_rows_in_all": 5}, (), (5, 25)),
    (ROWS, 4, {"max_rows_in_all": 5}, (1,), (5, 25)),
    (ROWS, 4, {"max_squares": 9}, (), (6, 36)),  # 9 rows in 4 groups are at most 6
    (ROWS, 4, {"max_squares": 9}, (1,), (6, 18)),
    (SIGNED, 2, {}, (), (12, 144)),
]


@pytest.mark.parametrize(("tally", "groups", "more", "kept", "wanted"), BY_HAND)
def test_the_sensitivity_of_a_table_by_hand(
    tally: Tally, groups: int, more: dict[str, int], kept: Kept, wanted: tuple[int, int]
) -> None:
    one, two = marginal_sensitivities(plan(tally, groups, **more), tally, kept, ADD)
    assert (one.norm, two.norm) == (Norm.L1, Norm.L2)
    assert (one.amount, two.square) == wanted
    both = marginal_sensitivities(plan(tally, groups, **more), tally, kept, REPLACE)
    times = 2 if tally is ROWS else 4
    assert (both[0].amount, both[1].square) == (2 * wanted[0], times * wanted[1])


def test_the_finest_table_has_the_sensitivity_of_its_groups() -> None:
    asked = plan(SIGNED, 3)
    for neighbours in Neighbours:
        found = marginal_sensitivities(asked, SIGNED, (0, 1), neighbours)
        assert found == sensitivities(asked, SIGNED, neighbours)


def moved(rows: dict[tuple[int, ...], int], kept: Kept) -> dict[tuple[int, ...], int]:
    found: dict[tuple[int, ...], int] = {}
    for cell, count in rows.items():
        part = tuple(cell[place] for place in kept)
        found[part] = found.get(part, 0) + count
    return found


def unit(draw: Random, limits: BoundedPlan) -> dict[tuple[int, ...], int]:
    """Rows of a unit, as many as its limits allow, by cell."""
    cells = [(a, b) for a in range(SIZES[0]) for b in range(SIZES[1])]
    chosen = draw.sample(cells, min(limits.max_groups, len(cells)))
    rows = {cell: draw.choice((0, 1, *(limits.max_rows,) * 3)) for cell in chosen}
    while limits.max_rows_in_all is not None and sum(rows.values()) > limits.max_rows_in_all:
        cell = draw.choice([cell for cell, count in rows.items() if count])
        rows[cell] -= 1
    return rows


@pytest.mark.parametrize("groups", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("more", [{}, {"max_rows_in_all": 5}])
@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_no_unit_moves_a_table_further_and_one_moves_it_as_far(
    groups: int, more: dict[str, int], neighbours: Neighbours
) -> None:
    draw, asked = Random(groups), plan(ROWS, groups, **more)  # noqa: S311 - rows of a test
    for kept in subsets((0, 1)):
        bounds = marginal_sensitivities(asked, ROWS, kept, neighbours)
        reached = [Fraction(0), Fraction(0)]
        for _ in range(400):
            change = moved(unit(draw, asked), kept)
            if neighbours is REPLACE:
                for cell, count in moved(unit(draw, asked), kept).items():
                    change[cell] = change.get(cell, 0) - count
            sizes = [Fraction(sum(map(abs, change.values())))]
            sizes.append(Fraction(sum(count**2 for count in change.values())))
            reached = list(map(max, reached, sizes))
        assert reached[0] <= bounds[0].amount
        assert reached[1] <= bounds[1].square
        # one step less is refuted, where the bound can be reached
        if neighbours is ADD and not more:
            assert reached[0] > bounds[0].amount - 1
            assert reached[1] > bounds[1].square - 1


def test_cells_and_tables_are_counted() -> None:
    asked = plan(ROWS, 1)
    assert key_sizes(asked) == SIZES
    assert [cells_of(SIZES, kept) for kept in subsets((0, 1))] == [6, 2, 3, 1]


# which aggregates, keys and rows --------------------------------------------------------------

CLINIC = catalog(Limits(2, 3))


def bounded(text: str, declared: Catalog = CLINIC) -> Bound:
    return bound(canonical(parse(text, declared)).plan, declared)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SELECT MEDIAN(age) FROM visits GROUP BY ROLLUP (ward)", "Quantiles, MIN and MAX"),
        ("SELECT MAX(age) FROM visits GROUP BY ROLLUP (ward)", "do not add up"),
        (
            "SELECT COUNT(DISTINCT person) FROM visits GROUP BY CUBE (ward, smoker)",
            "one unit can be in several groups",
        ),
        (
            "SELECT COUNT(DISTINCT doctor) FROM visits GROUP BY ROLLUP (ward)",
            "one value can be in several groups",
        ),
        ("SELECT COUNT(*) FROM visits GROUP BY ROLLUP (doctor)", "'visits.doctor' are not"),
        (
            (
                "SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS "
                "((ward), (smoker), (QUARTER(until)), (YEAR(until)), (MONTH(until)), "
                "(DAY(until)), (FLOOR(age / 50) * 50))"
            ),
            "at most 6 keys",
        ),
    ],
)
def test_what_does_not_add_up_is_refused(text: str, said: str) -> None:
    with pytest.raises(InvalidValue, match=said):
        bounded(text)


def test_people_add_up_if_each_is_in_one_group() -> None:
    text = "SELECT COUNT(DISTINCT person) FROM visits GROUP BY ROLLUP (ward)"
    assert bounded(text, catalog(Limits(1, 3))).tables[0].kept == (0,)


def test_a_rule_about_small_cells_refuses_several_tables() -> None:
    [visits] = CLINIC.datasets
    declared = replace(CLINIC, datasets=(replace(visits, min_people=10),))
    with pytest.raises(InvalidValue, match="min_people"):
        bounded("SELECT COUNT(*) FROM visits GROUP BY ROLLUP (ward)", declared)


def declared(limits: Limits, most: int | None, *, complete: bool) -> Catalog:
    columns = Schema(
        (
            Column("person", Kind.INTEGER),
            Column("ward", Kind.TEXT, keys=Keys(("north", "south"), complete=complete)),
            Column("kind", Kind.INTEGER, keys=Keys((1, 2), complete=True)),
            Column("pay", Kind.INTEGER, bounds=Bounds.of(0, 10)),
        )
    )
    place = Location("here", ("visits",))
    unit = UnitColumn("person")
    visits = Dataset("visits", "all", columns, unit, limits, place, Epoch("1"))
    if most is not None:
        visits = replace(visits, most_rows=PublicMost(most, "a law"))
    return Catalog((Population("all", PrivacyUnit("person")),), (visits,))


CUBE = "SELECT COUNT(*), SUM(pay), AVG(pay) FROM visits {} GROUP BY CUBE (kind, ward)"


def unlisted(found: Bound) -> dict[Kept, tuple[str, ...]]:
    return {table.kept: table.unlisted for table in found.tables}


def test_rows_without_a_listed_key_are_missing_where_a_table_sums_over_the_key() -> None:
    found = bounded(CUBE.format(""), declared(Limits(4, 4), 4, complete=False))
    names = ("visits.ward",)
    assert unlisted(found) == {(0, 1): (), (0,): names, (1,): (), (): names}
    opened = {table.kept: [slack.high for slack in table.slacks] for table in found.tables}
    assert opened == {(0, 1): [True] * 3, (1,): [True] * 3, (0,): [False] * 3, (): [False] * 3}
    # a count and a sum of numbers above 0 can only be larger; a mean is in the middle
    assert [slack.low for slack in found.tables[-1].slacks] == [True, False, True]
    # the question as a whole is as open as its most open table
    assert not any(slack.high for slack in found.slacks)


@pytest.mark.parametrize(
    "where", ["WHERE ward IN ('north', 'south')", "WHERE pay > 3 AND ward = 'north'"]
)
def test_a_condition_on_listed_keys_leaves_none_out(where: str) -> None:
    found = bounded(CUBE.format(where), declared(Limits(4, 4), 4, complete=False))
    assert not any(unlisted(found).values())
    assert all(slack.high for slack in found.slacks)


@pytest.mark.parametrize(
    "where",
    ["WHERE ward IN ('north', 'west')", "WHERE ward <> 'north'", "WHERE ward = 'n' OR pay > 3"],
)
def test_a_condition_on_other_keys_does_not(where: str) -> None:
    found = bounded(CUBE.format(where), declared(Limits(4, 4), 4, complete=False))
    assert unlisted(found)[()] == ("visits.ward",)


def test_complete_keys_and_a_case_with_else_leave_none_out() -> None:
    found = bounded(CUBE.format(""), declared(Limits(4, 4), 4, complete=True))
    assert not any(unlisted(found).values())
    case = "CASE WHEN pay > 3 THEN 'much' {} END"
    text = f"SELECT COUNT(*) FROM visits GROUP BY ROLLUP ({case})"  # noqa: S608
    less = declared(Limits(4, 4), 4, complete=False)
    assert not any(unlisted(bounded(text.format("ELSE 'little'"), less)).values())
    assert unlisted(bounded(text.format(""), less))[()] == ("visits.pay",)


def test_a_case_with_else_leaves_out_the_rows_of_a_branch_without_a_listed_value() -> None:
    text = (
        "SELECT COUNT(*) FROM visits GROUP BY ROLLUP (CASE WHEN pay > 3 THEN {} ELSE '?' END)"
    )
    less = declared(Limits(4, 4), 4, complete=False)
    # rows with much pay and an unlisted ward are in no group
    found = bounded(text.format("ward"), less)
    assert unlisted(found)[()]
    assert not found.tables[-1].slacks[0].high
    assert not any(unlisted(bounded(text.format("'much'"), less)).values())
