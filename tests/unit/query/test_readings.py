"""Without noise an answer is the exact statistic, and its interval holds it."""

from dataclasses import replace
from fractions import Fraction
from statistics import mean, median_low, pvariance, variance

import pytest
from clinic import TABLE, catalog
from exact import ExactGateway
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.catalog import Catalog, Limits, PublicMost
from tacit.core.loss import Loss
from tacit.core.release import ClosedInterval
from tacit.engines.reference import Reference
from tacit.query.paid_work import run
from tacit.query.pricing import price
from tacit.sql.parser import parse


def closed(limits: Limits) -> Catalog:
    """Return the clinic of which it is public that nobody has more rows than the limit."""
    declared = catalog(limits)
    most = PublicMost(limits.max_rows, "tables of this test have no more")
    datasets = tuple(replace(each, most_rows=most) for each in declared.datasets)
    return replace(declared, datasets=datasets)


CLINIC = closed(Limits(max_groups=1, max_rows=100))
AGES = st.lists(st.integers(0, 120), min_size=2, max_size=60)
PAYS = st.lists(st.floats(-0.1, 100), min_size=2, max_size=60)
LOSSES = st.sampled_from([Loss.zcdp(1), Loss.pure(1)])


def answer(
    sql: str, column: str, values: list[float], loss: Loss
) -> tuple[Fraction, ClosedInterval]:
    rows = [
        {"person": "a", "ward": "north", "age": None, "pay": None, "cost": None}
        | {"smoker": None, "day": None, column: value}
        for value in values
    ]
    quote = price(parse(f"SELECT {sql} FROM visits", CLINIC), CLINIC, loss)  # noqa: S608
    (found,) = run(quote, Reference({TABLE: rows}), CLINIC, b"salt", ExactGateway())
    (value,), (interval,) = found.values, found.intervals
    assert isinstance(value, Fraction)
    assert interval is not None
    assert interval[0] <= value <= interval[1]
    return value, interval


@given(AGES, LOSSES)
def test_moments_of_integers_are_exact(ages: list[int], loss: Loss) -> None:
    whole = [Fraction(age) for age in ages]
    for sql, exact in (
        ("SUM(age)", sum(whole)),
        ("AVG(age)", mean(whole)),
        ("VAR_POP(age)", pvariance(whole)),
        ("VAR_SAMP(age)", variance(whole)),
    ):
        value, (low, high) = answer(sql, "age", ages, loss)
        assert value == exact
        assert low <= exact <= high


@given(AGES)
def test_a_deviation_is_the_root_of_the_variance(ages: list[int]) -> None:
    exact = pvariance(map(Fraction, ages))
    value, (low, high) = answer("STDDEV_POP(age)", "age", ages, Loss.zcdp(1))
    assert abs(value**2 - exact) < Fraction(1, 10**15)
    assert low**2 <= exact <= high**2


@given(PAYS, LOSSES)
def test_what_floats_are_rounded_by_is_in_the_interval(pays: list[float], loss: Loss) -> None:
    clamped = [min(max(Fraction(pay), Fraction("-0.1")), Fraction(100)) for pay in pays]
    for sql, exact in (
        ("SUM(pay)", sum(clamped)),
        ("AVG(pay)", mean(clamped)),
        ("VAR_POP(pay)", pvariance(clamped)),
        ("QUANTILE(pay, 0.5)", median_low(clamped)),
        ("MIN(pay)", min(clamped)),
        ("MAX(pay)", max(clamped)),
    ):
        _, (low, high) = answer(sql, "pay", pays, loss)
        assert low <= exact <= high


@given(AGES, st.sampled_from(["0.1", "0.5", "0.9"]), LOSSES)
def test_a_quantile_is_the_first_value_that_enough_rows_do_not_pass(
    ages: list[int], part: str, loss: Loss
) -> None:
    value, (low, high) = answer(f"QUANTILE(age, {part})", "age", ages, loss)
    enough = Fraction(part) * len(ages)
    exact = min(age for age in ages if sum(other <= age for other in ages) >= enough)
    assert abs(value - exact) <= 0 or abs(float(enough) - round(float(enough))) < 1e-9
    assert low <= exact <= high


@given(AGES, LOSSES)
def test_the_least_and_the_greatest_lie_beyond_what_is_shown(
    ages: list[int], loss: Loss
) -> None:
    least, (low, high) = answer("MIN(age)", "age", ages, loss)
    assert low == 0
    assert low <= min(ages) <= least == high
    greatest, (low, high) = answer("MAX(age)", "age", ages, loss)
    assert high == 120
    assert low == greatest <= max(ages) <= high


@pytest.mark.parametrize("sql", ["AVG(age)", "VARIANCE(age)", "STDDEV_POP(age)", "MEDIAN(age)"])
@pytest.mark.parametrize("loss", [Loss.zcdp("0.01"), Loss.pure("0.1")])
def test_of_a_group_that_noise_hides_nothing_is_said(sql: str, loss: Loss) -> None:
    _, (low, high) = answer(sql, "age", [3], loss)
    most = {"AVG(age)": 120, "MEDIAN(age)": 120, "VARIANCE(age)": 7200}.get(sql, 60)
    assert (low, high) == (0, most)


def test_a_great_group_has_a_short_interval() -> None:
    many = closed(Limits(max_groups=1, max_rows=1))
    rows = [
        {"person": f"p{place}", "ward": "north", "age": 40 + place % 20, "pay": None}
        | {"cost": None, "smoker": None, "day": None}
        for place in range(3000)
    ]
    text = "SELECT AVG(age), VARIANCE(age), MEDIAN(age), MIN(age), MAX(age) FROM visits"
    quote = price(parse(text, many), many, Loss.zcdp("0.5"))
    found = run(quote, Reference({TABLE: rows}), many, b"salt", ExactGateway())
    longest = [float(high - low) for column in found for low, high in column.intervals]  # type: ignore[misc]
    assert all(each < 130 for each in longest)
    assert sum(each < 5 for each in longest) >= 2
