"""Groups of a stored answer add up to coarser groups, where nothing is missing."""

from dataclasses import replace
from fractions import Fraction

import pytest
from exact import ExactGateway

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
    Loss,
    Population,
    PrivacyUnit,
    PublicMost,
    Release,
    Schema,
    UnitColumn,
    decode_catalog,
    encode_catalog,
)
from tacit.engines.reference import Reference
from tacit.mechanisms import Gaussian, Laplace
from tacit.plan import JoinedTable, Slack, Source, complete_columns
from tacit.project import facts_by_subject, facts_of
from tacit.query.open_ends import coverage
from tacit.query.paid_work import released_by, run
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.query.sums_of_groups import (
    _is_within,
    _times,
    error_of_sum,
    finer_questions,
    sum_groups,
)
from tacit.session.policy_version import policy_of
from tacit.sql import parse

WARDS = ("north", "south", "east", "west")
TABLE = ("visits",)
COUNT = "SELECT COUNT(*) AS n FROM visits"
BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
BOTH = "SELECT kind, ward, COUNT(*) AS n, SUM(pay) AS s FROM visits GROUP BY kind, ward"
BY_KIND = "SELECT kind, COUNT(*) AS n, SUM(pay) AS s FROM visits GROUP BY kind"


def declared(limits: Limits, most: int | None = 4, *, complete: bool = True) -> Catalog:
    columns = Schema(
        (
            Column("person", Kind.INTEGER),
            Column("ward", Kind.TEXT, keys=Keys(WARDS, complete=complete)),
            Column("kind", Kind.INTEGER, keys=Keys((1, 2))),
            Column("pay", Kind.INTEGER, bounds=Bounds.of(0, 10)),
        )
    )
    place, unit = Location("here", TABLE), UnitColumn("person")
    visits = Dataset("visits", "all", columns, unit, limits, place, Epoch("1"))
    if most is not None:
        visits = replace(visits, most_rows=PublicMost(most, "a law"))
    return Catalog((Population("all", PrivacyUnit("person")),), (visits,))


WIDE = declared(Limits(4, 4))
"""All rows of a person count, in whichever groups they are."""

NARROW = declared(Limits(1, 4))
"""Without groups all rows of a person count, and in groups those of one group."""

ROWS = [
    {"person": person, "ward": WARDS[row], "kind": 1 + row % 2, "pay": person + row}
    for person in range(5)
    for row in range(4)
]


def quote(sql: str, catalog: Catalog, rho: int | str = 1) -> Quote:
    return price(parse(sql, catalog), catalog, Loss.zcdp(rho))


def stored(asked: Quote, catalog: Catalog) -> Release:
    columns = run(asked, Reference({TABLE: ROWS}), catalog, b"salt", ExactGateway())
    return released_by(asked, columns, b"receipt")


def summed(sql: str, finer: str, catalog: Catalog, rho: int | str = "0.01") -> Release | None:
    asked = quote(sql, catalog, rho)
    [only] = finer_questions(asked)
    whole = quote(finer, catalog)
    assert only.subject == whole.subject
    assert only.column == "visits.ward"
    return sum_groups(stored(whole, catalog), whole, only.column, asked)


def test_groups_add_up_to_the_exact_number() -> None:
    found = summed(COUNT, BY_WARD, WIDE)
    assert found is not None
    [total] = found.columns
    assert total.values == (20,)
    assert found.receipt == b"receipt"


def test_groups_of_another_key_stay_apart_and_in_their_order() -> None:
    found = summed(BY_KIND, BOTH, WIDE)
    assert found is not None
    kinds, *sums = found.columns
    assert kinds.values == (1, 2)
    true = [
        [
            sum(1 for row in ROWS if row["kind"] == kind),
            sum(int(str(row["pay"])) for row in ROWS if row["kind"] == kind),
        ]
        for kind in (1, 2)
    ]
    assert sorted(zip(*(each.values for each in sums), strict=True)) == sorted(
        tuple(pair) for pair in true
    )


def test_the_interval_is_that_of_the_sum_of_the_noise() -> None:
    found = summed(COUNT, BY_WARD, WIDE)
    assert found is not None
    whole = quote(BY_WARD, WIDE)
    [(low, high)] = found.columns[0].intervals  # type: ignore[misc]
    assert low is not None
    assert high is not None
    reach = (high - low) / 2
    one = whole.tallies[0].error(Fraction(19, 20))
    assert one < reach < 4 * one  # longer than of one group, shorter than of four margins
    assert reach == error_of_sum(whole.tallies[0].mechanism, 4)


def test_what_would_be_less_exact_than_asked_is_not_given() -> None:
    """A person moves the groups by 8 in all, the count by 4, and noise of 4 groups adds up."""
    assert summed(COUNT, BY_WARD, WIDE, "0.05") is not None
    assert summed(COUNT, BY_WARD, WIDE, "0.07") is None


def test_what_the_finer_limits_cut_is_not_given() -> None:
    """The coarser question counts 20 rows; of each person the finer one counts one group."""
    assert quote(COUNT, NARROW).bound.slacks == (Slack(),)
    assert quote(BY_WARD, NARROW).bound.slacks == (Slack(high=False),)
    whole = stored(quote(BY_WARD, NARROW), NARROW)
    assert sum(int(str(value)) for value in whole.columns[1].values) == 5  # and not 20
    assert summed(COUNT, BY_WARD, NARROW) is None


def test_an_open_end_stays_open() -> None:
    unknown = declared(Limits(4, 4), None)
    found = summed(COUNT, BY_WARD, unknown)
    assert found is not None
    [interval] = found.columns[0].intervals
    assert interval is not None
    assert interval[0] is not None
    assert interval[1] is None


def test_a_stored_answer_with_other_noise_is_not_given() -> None:
    asked, whole = quote(COUNT, WIDE, "0.01"), quote(BY_WARD, WIDE)
    other = stored(quote(BY_WARD, WIDE, 2), WIDE)
    assert sum_groups(other, whole, "visits.ward", asked) is None
    assert sum_groups(other, quote(BY_WARD, WIDE, 2), "visits.ward", asked) is not None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(DISTINCT person) AS n FROM visits",
        "SELECT AVG(pay) AS n FROM visits",
        "SELECT COUNT(*) AS n, MAX(pay) AS m FROM visits",
        BY_WARD,
    ],
)
def test_other_questions_have_no_finer_one(sql: str) -> None:
    assert list(finer_questions(quote(sql, WIDE))) == []


def test_keys_that_are_not_complete_do_not_add_up() -> None:
    assert list(finer_questions(quote(COUNT, declared(Limits(4, 4), complete=False)))) == []


def test_an_outer_join_and_a_subquery_have_no_complete_columns() -> None:
    inner = Source("visits", (), "visits.person")
    assert complete_columns(inner, WIDE) == ("visits.ward",)
    outer = JoinedTable("visits", "visits.person", "visits.person", outer=True)
    assert complete_columns(replace(inner, beside=(outer,)), WIDE) == ()
    each = "SELECT person, COUNT(*) AS v FROM visits GROUP BY person"
    below = COUNT.replace("visits", f"({each}) AS below")
    assert quote(below, WIDE).bound.complete == ()


def test_rows_with_unlisted_keys_are_mentioned_unless_there_are_none() -> None:
    [*_, last] = coverage(quote(BY_WARD, WIDE).bound, "person")
    assert last == "Rows that belong to no person are left out."
    [*_, last] = coverage(quote(BOTH, WIDE).bound, "person")  # kind is not complete
    assert "or that have a key which is not listed" in last


@pytest.mark.parametrize(
    ("slack", "other", "within"),
    [
        (Slack(), Slack(), True),
        (Slack(), Slack(high=False), True),
        (Slack(high=False), Slack(), False),
        (Slack(low=False), Slack(), False),
        (Slack(measured=True), Slack(), False),
        (Slack(measured=True), Slack(measured=True), True),
        (Slack(above=Fraction(1)), Slack(), False),
        (Slack(below=Fraction(1)), Slack(below=Fraction(2)), True),
        (Slack(below=Fraction(3)), Slack(below=Fraction(2)), False),
        (Slack(all_but=3), Slack(), False),
        (Slack(all_but=3), Slack(all_but=3), True),
    ],
)
def test_a_sum_leaves_out_no_more_than_was_asked(
    slack: Slack, other: Slack, *, within: bool
) -> None:
    assert _is_within(slack, other) is within


def test_rows_can_be_missing_in_each_group() -> None:
    assert _times(Slack(below=Fraction(2), above=Fraction(3)), 4) == Slack(
        below=Fraction(8), above=Fraction(12)
    )


def test_margins_of_sums() -> None:
    assert error_of_sum(Gaussian(Fraction(100)), 1) == 20
    assert 58 < error_of_sum(Gaussian(Fraction(100)), 9) < 60
    one, four = (error_of_sum(Laplace(Fraction(10)), many) for many in (1, 4))
    assert one == Laplace(Fraction(10)).error(Fraction(19, 20))
    assert four > 4 * one  # each group has a part of the probability of error


def test_complete_keys_change_no_price_and_no_key_of_an_answer() -> None:
    other = declared(Limits(4, 4), complete=False)
    assert other != WIDE
    policies = {policy_of(each.populations[0], each.datasets) for each in (WIDE, other)}
    assert len(policies) == 1
    one, two = quote(BY_WARD, WIDE), quote(BY_WARD, other)
    assert (one.key, one.subject, one.event) == (two.key, two.subject, two.event)
    # other keys do change it, and it is a declared fact
    visits = WIDE.datasets[0]
    person, ward, *rest = visits.schema.columns
    less = replace(ward, keys=Keys(WARDS[:3]))
    third = replace(visits, schema=Schema((person, less, *rest)))
    assert policy_of(WIDE.populations[0], (third,)) not in policies
    said = set(facts_of(WIDE, "all")) - set(facts_of(other, "all"))
    assert said == {"visits.ward: every row has one of the keys"}
    [fact] = [each for each in facts_by_subject(WIDE, "all") if each.text in said]
    assert fact.is_state


def test_complete_keys_are_encoded() -> None:
    for each in (WIDE, declared(Limits(4, 4), complete=False)):
        found = decode_catalog(encode_catalog(each)).dataset("visits").schema["ward"].keys
        assert found == each.dataset("visits").schema["ward"].keys


def test_the_order_of_conditions_and_tables_is_no_part_of_a_subject() -> None:
    one = quote(f"{COUNT} WHERE pay > 1 AND kind = 2", WIDE)
    two = quote(f"{COUNT} WHERE 2 = kind AND 1 < pay", WIDE)
    assert one.subject == two.subject
    assert one.subject != quote(f"{COUNT} WHERE pay > 1", WIDE).subject
    assert one.subject != quote(f"{COUNT} WHERE pay > 1 OR kind = 2", WIDE).subject
