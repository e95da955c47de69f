"""Intervals are open where limits can have left something out, and say so."""

from dataclasses import replace
from fractions import Fraction

import pytest
from clinic import TABLE, catalog
from exact import ExactGateway

from tacit.core import Catalog, Provenance, PublicMost, Release, ReleasedColumn, Schema
from tacit.core.catalog import Limits
from tacit.core.codec import EARLIER, decode_release, encode_release
from tacit.core.loss import Loss
from tacit.engines.reference import Reference
from tacit.plan import ExtremeReading, QuantileReading, Slack, TotalReading
from tacit.plan.tally import TreeCells
from tacit.query.open_ends import coverage, open_column, open_interval, refresh
from tacit.query.paid_work import released_by, run
from tacit.query.post_processing import IntervalValue, post_process
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.sql.parser import parse

LIMITS = Limits(max_groups=2, max_rows=3)
UNKNOWN = catalog(LIMITS)
COUNT = TotalReading(0, Fraction(1))
CELLS = TreeCells(0, 100, 1, Fraction(1), Fraction(0))
NOBODYS = "Rows that belong to no person are left out."
NEAR = (Fraction(8), Fraction(12))


def known(rows: int) -> Catalog:
    """Return the clinic of which it is public that nobody has more than ``rows`` rows."""
    most = PublicMost(rows, "a law")
    datasets = tuple(replace(each, most_rows=most) for each in UNKNOWN.datasets)
    return replace(UNKNOWN, datasets=datasets)


def quote(declared: Catalog, sql: str = "SELECT COUNT(*) AS n FROM visits") -> Quote:
    return price(parse(sql, declared), declared, Loss.zcdp(1))


def released(declared: Catalog, sql: str = "SELECT COUNT(*) AS n FROM visits") -> Release:
    asked = quote(declared, sql)
    row = {"person": "a", "ward": "north", "age": 7, "pay": None, "cost": None}
    rows = [row | {"smoker": None, "day": None} for _ in range(5)]
    columns = run(asked, Reference({TABLE: rows}), declared, b"salt", ExactGateway())
    return released_by(asked, columns, b"receipt")


@pytest.mark.parametrize(
    ("slack", "expected"),
    [
        (Slack(), NEAR),
        (Slack(high=False), (Fraction(8), None)),
        (Slack(low=False), (None, Fraction(12))),
        (Slack(low=False, high=False), None),
    ],
)
def test_an_end_that_does_not_hold_is_open(slack: Slack, expected: object) -> None:
    assert open_interval(NEAR, COUNT, slack) == expected
    assert open_interval(None, COUNT, slack) is None


@pytest.mark.parametrize(
    ("around", "expected"),
    [
        ((5, 50), (5, 50)),
        ((0, 50), (None, 50)),
        ((5, 100), (5, None)),
        ((0, 100), None),
    ],
)
@pytest.mark.parametrize(
    "reading",
    [QuantileReading(0, Fraction(1, 2), CELLS), ExtremeReading(0, True, CELLS)],
)
def test_an_end_at_a_bound_that_is_not_public_is_open(
    around: tuple[int, int],
    expected: tuple[int | None, int | None] | None,
    reading: QuantileReading | ExtremeReading,
) -> None:
    ends = Fraction(around[0]), Fraction(around[1])
    assert open_interval(ends, reading, Slack(clamped=True)) == expected
    assert open_interval(ends, reading, Slack()) == ends


def test_the_interval_of_the_rows_that_count_is_kept() -> None:
    column = ReleasedColumn("n", (Fraction(10),), (NEAR,), Fraction(19, 20))
    opened = open_column(column, COUNT, Slack(high=False))
    assert (opened.intervals, opened.counted) == (((Fraction(8), None),), (NEAR,))
    assert open_column(opened, COUNT, Slack()) == column
    assert open_column(column, COUNT, Slack()) == column


def test_an_answer_is_open_unless_nothing_can_be_missing() -> None:
    [unknown] = released(UNKNOWN).columns
    assert unknown.values == (3,)  # of five rows
    low, high = unknown.intervals[0] or (None, None)
    assert low is not None
    assert low < 5
    assert high is None
    [few] = released(known(4)).columns
    assert few.intervals == unknown.intervals
    [enough] = released(known(3)).columns
    assert enough.intervals == unknown.counted


def test_a_later_declaration_closes_an_answer_that_is_stored() -> None:
    stored = decode_release(encode_release(released(UNKNOWN)))
    closed = refresh(stored, quote(known(3)))
    assert closed.columns == released(known(3)).columns
    assert closed.coverage == (
        "By declaration, nobody has more than 3 rows of visits (a law).",
        NOBODYS,
    )
    assert refresh(closed, quote(UNKNOWN)) == stored


TO_CLOSE = (
    "To close them, the owner can declare most_rows of visits, or measure how many persons the "
    "limits cut: tacit limits visits --estimate."
)


def test_what_is_not_covered_is_said_with_what_to_do() -> None:
    by_ward = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    assert coverage(quote(UNKNOWN).bound, "person") == (
        "At most 3 rows of each person count; there can be more.",
        "Intervals are open where this can move the exact value.",
        TO_CLOSE,
        NOBODYS,
    )
    [first, *_, last] = coverage(quote(UNKNOWN, by_ward).bound, "person")
    assert first == (
        "At most 3 rows of each person count in a group, and at most 2 groups; there can be "
        "more."
    )
    assert last == (
        "Rows that belong to no person, or that have a key which is not listed, are left out."
    )
    assert coverage(quote(known(3)).bound, "person") == (
        "By declaration, nobody has more than 3 rows of visits (a law).",
        NOBODYS,
    )
    [_, _, _, advice, _] = coverage(quote(known(4)).bound, "person")
    assert advice == "To close them, the owner can raise max_rows to 4."
    below = "(SELECT person, COUNT(*) AS n FROM visits GROUP BY person)"
    per_person = f"SELECT AVG(n) AS x FROM {below}"  # noqa: S608 - our own
    [first, *_] = coverage(quote(UNKNOWN, per_person).bound, "person")
    assert first == "The subquery counts at most 3 rows of each person."


def test_bounds_that_are_not_public_are_named_as_the_reason() -> None:
    visits, *others = known(3).datasets
    age = visits.schema["age"]
    assert age.bounds is not None
    policy = replace(age, bounds=replace(age.bounds, provenance=Provenance.POLICY))
    columns = tuple(policy if each == age else each for each in visits.schema.columns)
    declared = replace(known(3), datasets=(replace(visits, schema=Schema(columns)), *others))
    said = coverage(quote(declared, "SELECT SUM(age) AS s FROM visits").bound, "person")
    assert said[1:] == (
        "Some numbers are clamped to bounds that are not public.",
        "Intervals are open where this can move the exact value.",
        NOBODYS,
    )
    [count, _] = coverage(quote(declared).bound, "person")
    assert count.startswith("By declaration")


def test_a_release_of_an_earlier_version_says_that_its_intervals_cover_the_noise_alone() -> (
    None
):
    stored = encode_release(released(known(3)))
    earlier = stored.replace(
        b'"coverage":["By declaration, nobody has more than 3 rows of visits (a law).",'
        b'"Rows that belong to no person are left out."],',
        b"",
    )
    assert earlier != stored
    assert decode_release(earlier).coverage == (EARLIER,)


def test_post_processing_keeps_what_it_does_not_compute() -> None:
    asked = quote(UNKNOWN, "SELECT COUNT(*) AS n, 2 * COUNT(*) AS twice FROM visits")
    stored = released(UNKNOWN, "SELECT COUNT(*) AS n, 2 * COUNT(*) AS twice FROM visits")
    made = post_process(stored, asked.question.post)
    assert made.coverage == stored.coverage
    assert made["n"].counted == stored.columns[0].counted
    [(low, high)] = made["n"].intervals  # type: ignore[misc]
    assert made["twice"].intervals == ((2 * low, high),)
    assert made["twice"].counted == ()


@pytest.mark.parametrize(("factors", "confidence"), [(19, Fraction(1, 20)), (20, None)])
def test_a_product_of_many_noisy_numbers_has_no_interval_of_no_confidence(
    factors: int, confidence: Fraction | None
) -> None:
    product = " * ".join(["COUNT(*)"] * factors)
    sql = f"SELECT {product} AS n FROM visits"  # noqa: S608 - our own
    made = post_process(released(known(3), sql), quote(known(3), sql).question.post)
    assert made["n"].values == (3**factors,)
    assert made["n"].confidence == confidence
    assert len(made["n"].intervals) == (confidence is not None)


@pytest.mark.parametrize(
    "sql",
    [
        "CASE WHEN COUNT(*) > 150 THEN 0 - COUNT(*) ELSE COUNT(*) END",
        "CASE WHEN COUNT(*) > 150 THEN 1 ELSE 0 END",
    ],
)
def test_a_number_that_noise_chooses_has_no_interval(sql: str) -> None:
    text = f"SELECT {sql} AS n FROM visits"  # noqa: S608 - our own
    made = post_process(released(known(3), text), quote(known(3), text).question.post)
    assert made["n"].intervals == (None,)
    assert made["n"].confidence is not None


ABOVE = IntervalValue(Fraction(10), (Fraction(8), None), Fraction(1, 20))
BELOW = IntervalValue(Fraction(10), (None, Fraction(12)), Fraction(1, 20))
ABOUT = IntervalValue(Fraction(10), NEAR, Fraction(1, 20))
ANY = IntervalValue(Fraction(10), None, Fraction(1, 20))
MINUS = IntervalValue(Fraction(-1))
NOUGHT = IntervalValue(Fraction(0))


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (ABOVE + ABOVE, (16, None)),
        (ABOVE + BELOW, None),
        (ABOVE - BELOW, (-4, None)),
        (BELOW - ABOVE, (None, 4)),
        (ABOVE - ABOVE, None),
        (ABOVE * MINUS, (None, -8)),
        (ABOVE * ABOVE, (64, None)),
        (ABOVE * BELOW, None),
        (ABOVE * NOUGHT, (0, 0)),
        (ABOUT / ABOVE, (0, Fraction(3, 2))),
        (ABOVE / ABOUT, (Fraction(2, 3), None)),
        (ABOUT / BELOW, None),
        (ABOUT / ANY, None),
        (ANY / ABOUT, None),
        (ABOUT * ANY, None),
        (ABOUT + ANY, None),
        (NOUGHT * ANY, (0, 0)),
    ],
)
def test_arithmetic_with_open_ends(found: IntervalValue, expected: object) -> None:
    assert found.interval == expected
