"""A plan, its relations, aggregates and what is done after the release."""

from fractions import Fraction

import pytest
from ward import c, field

from tacit.errors import InvalidValue
from tacit.plan.expression import Compare, Comparison, Field
from tacit.plan.plan import (
    CountRows,
    CountUnits,
    Filter,
    GroupKey,
    Join,
    JoinPublic,
    NamedAggregate,
    Output,
    PerUnit,
    Plan,
    Post,
    Quantile,
    Scan,
    UnitValue,
    datasets,
    filters,
    per_unit_in,
)

LONG = Compare(Comparison.MORE, field("stay"), c(7))
COSTLY = Compare(Comparison.MORE, field("cost"), c(100))
JOINED = Join(Filter(Scan("visits"), LONG), "patients", "visits.patient", "id")
PUBLIC = JoinPublic(JOINED, "regions", "visits.ward", "ward")
UNITS = PerUnit(PUBLIC, ("visits.ward",), (UnitValue("n", CountRows()),))
COUNTED = (NamedAggregate("n", CountRows()),)


@pytest.mark.parametrize(
    "fraction", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)]
)
def test_a_quantile_lies_strictly_between_the_ends(fraction: Fraction) -> None:
    with pytest.raises(InvalidValue, match=f"between 0 and 1, and {fraction} is not"):
        Quantile(field("cost"), fraction)


def test_a_quantile_may_be_near_the_ends() -> None:
    for fraction in (Fraction(1, 10**6), Fraction(10**6 - 1, 10**6)):
        assert Quantile(field("cost"), fraction).fraction == fraction


def test_a_plan_without_measures_would_release_rows() -> None:
    with pytest.raises(InvalidValue, match=r"such as COUNT\(\*\); rows are not released"):
        Plan(Scan("visits"), (GroupKey("w", field("ward")),), (), Post.showing("w"))


@pytest.mark.parametrize(
    ("keys", "measures"), [(("a", "a"), ("n",)), (("a",), ("a",)), ((), ("n", "n"))]
)
def test_keys_and_measures_have_distinct_names(
    keys: tuple[str, ...], measures: tuple[str, ...]
) -> None:
    with pytest.raises(InvalidValue, match="distinct names"):
        Plan(
            Scan("visits"),
            tuple(GroupKey(name, field("ward")) for name in keys),
            tuple(NamedAggregate(name, CountUnits()) for name in measures),
            Post(()),
        )


def test_outputs_have_distinct_names_and_the_first_double_is_told() -> None:
    with pytest.raises(InvalidValue, match="two are called 'b'; rename one with AS"):
        Post((Output("c", c(1)), Output("b", c(1)), Output("c", c(2)), Output("b", c(2))))


def test_nothing_is_done_after_the_release_unless_it_is_asked_for() -> None:
    shown = Post.showing("a", "b")
    assert [(each.name, each.expression) for each in shown.outputs] == [
        ("a", Field("a")),
        ("b", Field("b")),
    ]
    assert (shown.having, shown.order, shown.limit) == (None, (), None)


def test_the_tables_of_a_relation_come_in_order() -> None:
    assert datasets(Scan("visits")) == ("visits",)
    assert datasets(PUBLIC) == ("visits", "patients", "regions")
    assert datasets(Filter(UNITS, c(True))) == ("visits", "patients", "regions")  # type: ignore[arg-type]


def test_the_rows_of_units_are_found_below_filters_and_joins() -> None:
    above = JoinPublic(Filter(UNITS, COSTLY), "regions", "visits.ward", "ward")
    assert per_unit_in(above) is UNITS
    assert per_unit_in(Join(UNITS, "patients", "visits.patient", "id")) is UNITS
    for relation in (Scan("visits"), JOINED, PUBLIC):
        assert per_unit_in(relation) is None


def test_conditions_come_from_the_bottom_up_and_not_from_below_units() -> None:
    assert filters(Filter(PUBLIC, COSTLY)) == [LONG, COSTLY]
    assert filters(Filter(UNITS, COSTLY)) == [COSTLY]
    assert filters(UNITS) == filters(Scan("visits")) == []


def test_a_public_join_drops_rows_without_a_partner_unless_it_is_outer() -> None:
    assert PUBLIC.outer is False
