"""Correlations and regressions: exact moments on engines, and how far one person moves them."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from statistics import correlation, covariance, linear_regression

import pytest
from clinic import TABLE, catalog, database

from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.catalog import Catalog, Limits
from tacit.core.loss import Loss
from tacit.core.sensitivity import Sensitivity
from tacit.core.unseal import unseal
from tacit.engines.duckdb import DuckDB
from tacit.engines.engine import Engine, SecretTable
from tacit.engines.reference import Reference, Row
from tacit.numeric.entropy import SystemEntropy
from tacit.plan.bounded_plan import BoundedPlan
from tacit.plan.canonical_form import canonical
from tacit.plan.tally import RowSumTally
from tacit.query.intervals import column_of, expected_errors
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.query.quote import PricedTally, Quote
from tacit.sql.parser import parse
from tacit.sql.printer import show

LIMITS = Limits(max_groups=2, max_rows=3)
PAIRS = "SELECT ward, CORR(age, cost), REGR_SLOPE(age, cost) FROM visits GROUP BY ward"
ALL = """SELECT CORR(age, cost) AS a, REGR_SLOPE(age, cost) AS b,
    REGR_INTERCEPT(age, cost) AS c, COVAR_SAMP(age, cost) AS d, COVAR_POP(age, cost) AS e,
    REGR_R2(age, cost) AS f FROM visits"""

Make = Callable[[list[Row]], Engine]


def row(person: str, ward: str, age: int | None, cost: str | None) -> Row:
    return {
        "person": person,
        "ward": ward,
        "age": age,
        "cost": None if cost is None else Decimal(cost),
    }


def reference(rows: list[Row]) -> Engine:
    return Reference({TABLE: rows})


def on_duckdb(rows: list[Row]) -> Engine:
    return DuckDB(database(rows))


def quoted(text: str, limits: Limits = LIMITS) -> tuple[Quote, Catalog]:
    declared = catalog(limits)
    return price(parse(text, declared), declared, Loss.zcdp(Fraction(1, 10))), declared


KNOWN = [(20 + 37 * place % 61, f"{place * 13 % 90}.25") for place in range(60)]
ROWS = [row(f"p{place}", "north", age, cost) for place, (age, cost) in enumerate(KNOWN)]
HALVES = [row("x", "north", 120, None), row("y", "north", None, "99.99")]


@pytest.mark.parametrize("make", [reference, on_duckdb])
def test_without_noise_the_statistics_are_those_of_the_rows_with_both_numbers(
    make: Make,
) -> None:
    quote, declared = quoted(ALL, Limits(1, 1))
    table = make([*ROWS, *HALVES]).run(quote.bound.plan, declared, b"salt")
    exact = [[int(each) for each in unseal(tally)] for tally in table.tallies]
    found = {
        measure.aggregate.function.value: column_of("x", reading, quote, exact).values[0]  # type: ignore[union-attr]
        for measure, reading in zip(
            quote.question.plan.measures, quote.bound.readings, strict=True
        )
    }
    ages, costs = [float(age) for age, _ in KNOWN], [float(cost) for _, cost in KNOWN]
    line = linear_regression(costs, ages)
    wanted = {
        "COVAR_SAMP": covariance(costs, ages),
        "COVAR_POP": covariance(costs, ages) * 59 / 60,
    }
    for name, value in wanted.items():
        assert float(found[name]) == pytest.approx(value)  # type: ignore[arg-type]
    # sixty rows are too few to tell a variance from 0 at this loss
    large = replace(quote, tallies=tuple(map(_quiet, quote.tallies)))
    for measure, reading in zip(
        quote.question.plan.measures, quote.bound.readings, strict=True
    ):
        (value,) = column_of("x", reading, large, exact).values
        found[measure.aggregate.function.value] = value  # type: ignore[union-attr]
    assert float(found["CORR"]) == pytest.approx(correlation(costs, ages))  # type: ignore[arg-type]
    assert float(found["REGR_R2"]) == pytest.approx(correlation(costs, ages) ** 2)  # type: ignore[arg-type]
    assert float(found["REGR_SLOPE"]) == pytest.approx(line.slope)  # type: ignore[arg-type]
    assert float(found["REGR_INTERCEPT"]) == pytest.approx(line.intercept)  # type: ignore[arg-type]


def _quiet(part: PricedTally) -> PricedTally:
    """The same tally with next to no noise."""
    return replace(part, mechanism=type(part.mechanism)(Fraction(1, 10**6)))  # type: ignore[call-arg]


def test_a_correlation_without_a_variance_is_null() -> None:
    quote, _ = quoted(ALL, Limits(1, 1))
    nothing = [[0] for _ in quote.tallies]
    for measure, reading in zip(
        quote.question.plan.measures, quote.bound.readings, strict=True
    ):
        column = column_of("x", reading, quote, nothing)
        covaries = measure.aggregate.function.value.startswith("COVAR")  # type: ignore[union-attr]
        assert (column.values[0] is None) is not covaries
        assert (column.intervals[0] is None) is not covaries


@pytest.mark.parametrize("noise", [-(10**9), -7, 0, 1, 10**9])
def test_no_released_integers_make_it_fail(noise: int) -> None:
    quote, _ = quoted(ALL, Limits(1, 1))
    for place in range(len(quote.tallies)):
        made = [[1000 if other == place else noise] for other in range(len(quote.tallies))]
        for reading in quote.bound.readings:
            column = column_of("x", reading, quote, made)
            (value,), (around,) = column.values, column.intervals
            if value is not None and around is not None:
                assert around[0] <= value <= around[1]  # type: ignore[operator]


def test_a_quote_says_how_large_the_error_is_and_leaves_out_what_it_cannot_say() -> None:
    quote, _ = quoted("SELECT CORR(age, cost) AS r FROM visits")
    (error,) = expected_errors(quote, (2, 10**6))
    assert [size for size, _ in error.by_size] == [10**6]
    assert 0 < error.by_size[0][1] < Fraction(1, 10)


def test_both_orders_of_a_correlation_are_one_question() -> None:
    declared = catalog(LIMITS)

    def form(what: str) -> object:
        text = f"SELECT {what} AS x FROM visits"  # noqa: S608 - our own words
        plan = parse(text, declared)
        assert canonical(parse(show(plan, declared), declared)) == canonical(plan)
        return canonical(plan).hash

    assert form("CORR(age, cost)") == form("CORR(cost, age)")
    assert form("REGR_SLOPE(age, cost)") != form("REGR_SLOPE(cost, age)")


# Sensitivity ---------------------------------------------------------------------------------

OTHERS = [
    row(f"p{place % 40}", ("north", "south")[place % 2], place, "5") for place in range(99)
]


def theirs(age: int, cost: str) -> list[Row]:
    return [row("a", ward, age, cost) for ward in ("north", "south", "it's") for _ in range(9)]


def replayed(quote: Quote, declared: Catalog, rows: list[Row], make: Make) -> None:
    recording = RecordingGateway(SystemEntropy(b"charge"))
    run(quote, make(OTHERS), declared, b"salt", recording)
    replaying = ReplayingGateway(recording.calls)
    run(quote, make([*OTHERS, *rows]), declared, b"salt", replaying)
    replaying.finish()


EXTREMES = [(0, "-10.5"), (120, "99.99"), (0, "99.99"), (120, "-10.5"), (60, "44.74")]


@pytest.mark.parametrize("make", [reference, on_duckdb])
@pytest.mark.parametrize(("age", "cost"), EXTREMES)
def test_a_person_moves_no_more_than_is_declared(make: Make, age: int, cost: str) -> None:
    replayed(*quoted(PAIRS), theirs(age, cost), make)


@pytest.mark.parametrize("place", range(6))
def test_each_moment_is_moved_by_all_that_is_declared(place: int) -> None:
    quote, declared = quoted(PAIRS)
    assert len(quote.tallies) == 6
    part = quote.tallies[place]
    assert isinstance(quote.bound.plan.tallies[place], RowSumTally)
    moved = part.sensitivity
    lie = PricedTally(part.mechanism, Sensitivity(moved.square - 1, moved.norm, moved.proof))
    parts = [*quote.tallies[:place], lie, *quote.tallies[place + 1 :]]
    caught = 0
    for age, cost in EXTREMES:
        try:
            replayed(
                replace(quote, tallies=tuple(parts)), declared, theirs(age, cost), reference
            )
        except BrokenPromise:
            caught += 1
    assert caught


class AllRows:
    """The lie of an engine that keeps every row of a unit."""

    def __init__(self, rows: list[Row]) -> None:
        self._inner = Reference({TABLE: rows})

    def run(self, plan: BoundedPlan, catalog: Catalog, salt: bytes) -> SecretTable:
        return self._inner.run(replace(plan, max_rows=100), catalog, salt)


def test_an_engine_that_keeps_all_rows_is_found() -> None:
    with pytest.raises(BrokenPromise):
        replayed(*quoted(PAIRS), theirs(120, "99.99"), AllRows)
