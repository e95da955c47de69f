"""Intervals of correlations and regressions hold the exact value at least 95 times in 100.

The engine counts once; its secrets are released many times, as so many groups of one release.
"""

import os
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from statistics import correlation, covariance, linear_regression

import numpy as np
import pytest
from clinic import TABLE, catalog
from conftest import Bar

from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.core.secret import Secret
from tacit.core.unseal import unseal
from tacit.engines.engine import SecretTable
from tacit.engines.reference import Reference, Row
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.query.intervals import column_of
from tacit.query.paid_work import release
from tacit.query.pricing import price
from tacit.sql.parser import parse

pytestmark = pytest.mark.claim

RUNS = int(os.environ.get("TACIT_INTERVALS", "4000")) // 4
"""Releases of which coverage is counted; CI's are fewer."""

LOSSES = {"zCDP": Loss.zcdp(Fraction(2)), "pure": Loss.pure(Fraction(20))}
STATISTICS = ("CORR", "REGR_R2", "COVAR_POP", "COVAR_SAMP", "REGR_SLOPE", "REGR_INTERCEPT")
CLINIC = catalog(Limits(max_groups=1, max_rows=1))
GATEWAY = LiveGateway(SystemEntropy(b"intervals of pairs"))


def pairs(kind: str) -> list[tuple[int, Decimal]]:
    """Return pairs that rise together, have no relation, or lie far from the centres."""
    draw = np.random.default_rng(11)
    costs = draw.uniform(0, 80, 1500) if kind != "off centre" else draw.uniform(70, 99, 1500)
    near = {"line": costs + 20, "none": np.full(1500, 60.0), "off centre": costs + 18}[kind]
    ages = np.clip(np.round(near + draw.normal(0, 10, 1500)), 0, 120).astype(int)
    return [
        (int(age), Decimal(int(cost * 100)) / 100)
        for age, cost in zip(ages, costs, strict=True)
    ]


def exact(statistic: str, kind: str) -> float:
    found = pairs(kind)
    ages, costs = [float(age) for age, _ in found], [float(cost) for _, cost in found]
    line, together = linear_regression(costs, ages), correlation(costs, ages)
    many = len(found)
    return {
        "CORR": together,
        "REGR_R2": together**2,
        "COVAR_SAMP": covariance(costs, ages),
        "COVAR_POP": covariance(costs, ages) * (many - 1) / many,
        "REGR_SLOPE": line.slope,
        "REGR_INTERCEPT": line.intercept,
    }[statistic]


def covered(statistic: str, kind: str, loss: Loss, part: float = 1) -> tuple[float, float]:
    """Return the share of intervals, shrunk to a ``part``, that hold, and of those given."""
    text = f"SELECT {statistic}(age, cost) AS x FROM visits"  # noqa: S608 - our own words
    quote = price(parse(text, CLINIC), CLINIC, loss)
    rows: list[Row] = [
        {"person": f"p{place}", "age": age, "cost": cost}
        for place, (age, cost) in enumerate(pairs(kind))
    ]
    table = Reference({TABLE: rows}).run(quote.bound.plan, CLINIC, b"salt")
    many = tuple(Secret(np.tile(unseal(each), RUNS)) for each in table.tallies)
    released = release(quote, SecretTable(None, many), GATEWAY)[1]
    column = column_of("x", quote.bound.readings[0], quote, released)
    wanted, held, there = exact(statistic, kind), 0, 0
    for value, around in zip(column.values, column.intervals, strict=True):
        if value is None or around is None:
            continue
        there += 1
        low, high = (
            float(value) + part * (float(end) - float(value))  # type: ignore[arg-type]
            for end in around
        )
        held += low - 1e-9 <= wanted <= high + 1e-9
    return held / there, there / RUNS


@pytest.mark.parametrize("kind", ["line", "none", "off centre"])
@pytest.mark.parametrize("measure", LOSSES)
def test_intervals_of_pairs_hold_the_exact_value(kind: str, measure: str, bar: Bar) -> None:
    # three standard errors less than 95%
    least = 0.95 - 3 * sqrt(0.95 * 0.05 / RUNS)
    for statistic in STATISTICS:
        held, there = covered(statistic, kind, LOSSES[measure])
        shown = f"{statistic}, {kind}, {measure}: intervals that hold"
        bar(shown, round(held, 4), f">= {least:.3f}", held >= least)
        bar(f"{statistic}, {kind}, {measure}: given", round(there, 3), "> 0.5", there > 0.5)


@pytest.mark.parametrize("statistic", STATISTICS)
def test_a_part_of_the_interval_does_not_hold(statistic: str, bar: Bar) -> None:
    """The lie: intervals of a fifth of their length."""
    held, _ = covered(statistic, "line", LOSSES["zCDP"], part=0.2)
    bar(f"{statistic}: a fifth of the interval holds", round(held, 3), "< 0.9", held < 0.9)
