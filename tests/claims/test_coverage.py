"""Intervals hold the exact value as often as the law of the noise says, and 95% at least.

The engine counts once; its secrets are released many times, as so many groups of one release.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import sqrt
from statistics import mean, median, pstdev, pvariance, stdev, variance

import numpy as np
import pytest
from clinic import TABLE, catalog
from conftest import Bar
from interval_laws import (
    gaussian_within,
    median_law,
    quotient_law,
    ratio_law,
    variance_law,
)

from tacit.core.catalog import Limits
from tacit.core.loss import Loss
from tacit.core.release import Interval
from tacit.core.secret import Secret
from tacit.core.unseal import unseal
from tacit.engines.engine import SecretTable
from tacit.engines.reference import Reference
from tacit.mechanisms.additive_noise import Gaussian, Laplace
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.grid_quantiles import GridQuantile
from tacit.mechanisms.mechanism import Mechanism
from tacit.numeric.entropy import SystemEntropy
from tacit.query.intervals import column_of
from tacit.query.paid_work import release, released_by
from tacit.query.post_processing import post_process
from tacit.query.pricing import price
from tacit.query.quote import Quote
from tacit.sql.parser import parse

pytestmark = pytest.mark.claim

RUNS = int(os.environ.get("TACIT_INTERVALS", "4000"))
"""Releases of which coverage is counted; CI's are fewer."""

AGES = [20 + number * 37 % 71 for number in range(400)]
COSTS = [Fraction(number * 13 % 5000, 100) for number in range(400)]
CLINIC = catalog(Limits(max_groups=1, max_rows=1))
ROWS = [
    {
        "person": f"p{place}",
        "ward": "north",
        "age": age,
        "pay": float(cost),
        "cost": Decimal(cost.numerator) / cost.denominator,
        "smoker": True,
        "day": None,
    }
    for place, (age, cost) in enumerate(zip(AGES, COSTS, strict=True))
]


@dataclass(frozen=True)
class Asked:
    """A statistic, its exact value, and what the law of its noise says of its interval."""

    sql: str
    exact: Fraction
    law: Callable[[Quote, SecretTable], float] | None = None


ASKED = {
    "count": Asked("COUNT(*)", Fraction(400), lambda quote, _: gaussian_within(quote)),
    "sum": Asked("SUM(age)", Fraction(sum(AGES)), lambda quote, _: gaussian_within(quote)),
    "sum of floats": Asked("SUM(pay)", sum(COSTS)),
    "mean": Asked("AVG(age)", mean(map(Fraction, AGES)), ratio_law),
    "ratio": Asked("SUM(age) / COUNT(cost)", mean(map(Fraction, AGES)), quotient_law),
    "variance": Asked("VAR_POP(age)", pvariance(map(Fraction, AGES)), variance_law),
    "sample variance": Asked("VARIANCE(age)", variance(map(Fraction, AGES))),
    "deviation": Asked("STDDEV_POP(cost)", Fraction(pstdev(COSTS))),
    "sample deviation": Asked("STDDEV(age)", Fraction(stdev(AGES))),
    "median": Asked("MEDIAN(age)", Fraction(median(AGES)), median_law),
    "quantile": Asked("QUANTILE(age, 0.9)", Fraction(float(np.quantile(AGES, 0.9)))),
    "least": Asked("MIN(age)", Fraction(min(AGES))),
    "greatest": Asked("MAX(age)", Fraction(max(AGES))),
}


def priced(asked: Asked, loss: Loss) -> tuple[Quote, SecretTable]:
    text = f"SELECT {asked.sql} FROM visits"  # noqa: S608 - our own text
    quote = price(parse(text, CLINIC), CLINIC, loss)
    return quote, Reference({TABLE: ROWS}).run(quote.bound.plan, CLINIC, b"salt")


def intervals(shown: Quote, quote: Quote, table: SecretTable) -> list[Interval | None]:
    """Of all releases under ``quote``, as a reader of the quote ``shown`` makes them."""
    many = tuple(Secret(np.tile(unseal(secret), RUNS)) for secret in table.tallies)
    gateway = LiveGateway(SystemEntropy(b"claim"))
    _, released = release(quote, SecretTable(None, many), gateway)
    measures = zip(quote.question.plan.measures, quote.bound.readings, strict=True)
    columns = tuple(
        column_of(measure.name, reading, shown, released) for measure, reading in measures
    )
    answer = post_process(released_by(quote, columns, b"receipt"), quote.question.post)
    return list(answer.columns[0].intervals)


def covered(asked: Asked, found: list[Interval | None]) -> float:
    inside = [part is not None and part[0] <= asked.exact <= part[1] for part in found]
    return sum(inside) / RUNS


def standard_error(rate: float) -> float:
    return sqrt(max(rate * (1 - rate), 1 / RUNS) / RUNS)


@pytest.mark.parametrize("name", ASKED)
def test_intervals_hold_as_often_as_the_law_says(name: str, bar: Bar) -> None:
    asked = ASKED[name]
    quote, table = priced(asked, Loss.zcdp("0.1"))
    found = intervals(quote, quote, table)
    rate = covered(asked, found)
    least = 0.95 - 4 * standard_error(0.95)
    bar(f"coverage of {name}", rate, f">= {least:.4f}", rate >= least)
    if asked.law is not None:
        law = asked.law(quote, table)
        room = 4 * standard_error(law)
        wanted = f"{law:.4f} ± {room:.4f}, by the law"
        bar(f"coverage of {name}, beside its law", rate, wanted, abs(rate - law) <= room)


def quiet(mechanism: Mechanism) -> Mechanism:
    """The same with next to no noise; a quantile's reach then is that of its own cell."""
    if isinstance(mechanism, GridQuantile):
        return AtItsCell(mechanism)
    return Gaussian(Fraction(1, 10**4))


class AtItsCell(GridQuantile):
    """The lie that a chosen cell is the exact one."""

    def __init__(self, chosen: GridQuantile) -> None:
        for name in chosen.__slots__:
            object.__setattr__(self, name, getattr(chosen, name))

    def interval(self, cell: int, place: int) -> tuple[int, int]:
        del place
        return cell, cell


@pytest.mark.parametrize("name", ASKED)
def test_without_noise_in_the_interval_the_check_fails(name: str, bar: Bar) -> None:
    asked = ASKED[name]
    quote, table = priced(asked, Loss.zcdp("0.1"))
    # what ignores the noise reads the same release as if it had next to none
    ignored = tuple(replace(part, mechanism=quiet(part.mechanism)) for part in quote.tallies)
    rate = covered(asked, intervals(replace(quote, tallies=ignored), quote, table))
    least = 0.95 - 4 * standard_error(0.95)
    bar(f"coverage of {name}, noise ignored", rate, f"< {least:.4f}", rate < least)


@pytest.mark.parametrize("name", ["count", "mean", "ratio", "variance", "median", "least"])
def test_intervals_hold_under_laplace_noise(name: str, bar: Bar) -> None:
    asked = ASKED[name]
    quote, table = priced(asked, Loss.pure(1))
    assert all(isinstance(part.mechanism, Laplace | GridQuantile) for part in quote.tallies)
    rate = covered(asked, intervals(quote, quote, table))
    least = 0.95 - 4 * standard_error(0.95)
    bar(f"coverage of {name} under pure epsilon", rate, f">= {least:.4f}", rate >= least)
