"""Figures of statistics that the literature states, through the whole lower half of a query."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from clinic import TABLE, catalog
from conftest import Bar

from tacit.accounting.pricing import loss_of
from tacit.core.catalog import Limits
from tacit.core.loss import Loss, Measure
from tacit.core.privacy_unit import Neighbours
from tacit.core.secret import Secret
from tacit.core.unseal import unseal
from tacit.engines.engine import SecretTable
from tacit.engines.reference import Reference
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.query.intervals import column_of
from tacit.query.paid_work import release
from tacit.query.pricing import TOTAL_SHARE, price
from tacit.query.quote import Quote
from tacit.sql.parser import parse

pytestmark = pytest.mark.claim

RUNS = 20_000
RHO = "0.1"
GROUPS = "CASE WHEN smoker THEN 'yes' ELSE 'no' END"
ROWS = [
    {
        "person": f"p{place}",
        "ward": None,
        "age": (70 if place % 2 else 20) + place % 41,
        "pay": None,
        "cost": None,
        "smoker": place % 2 == 1,
        "day": None,
    }
    for place in range(2000)
]


def answers(quote: Quote, table: SecretTable, groups: int) -> np.ndarray:
    """The values of 20,000 releases: a row for each, and a column for each group."""
    many = tuple(Secret(np.tile(unseal(secret), RUNS)) for secret in table.tallies)
    gateway = LiveGateway(SystemEntropy(b"claim"))
    _, released = release(quote, SecretTable(None, many), gateway)
    found = column_of("", quote.bound.readings[0], quote, released).values
    return np.array([float(value) for value in found if isinstance(value, Fraction)]).reshape(
        RUNS, groups
    )


@pytest.mark.parametrize(
    ("neighbours", "sum_factor", "count_factor"),
    [(Neighbours.ADD_REMOVE, 1, 1), (Neighbours.REPLACE_ONE, 2, sqrt(2))],
)
def test_group_means_have_the_error_of_their_formula(
    neighbours: Neighbours, sum_factor: float, count_factor: float, bar: Bar
) -> None:
    """T31: one charge for both groups; replaced, a unit moves a sum by its whole range."""
    declared = catalog(Limits(max_groups=1, max_rows=1), neighbours)
    text = f"SELECT {GROUPS} AS who, AVG(age) AS age FROM visits GROUP BY who"  # noqa: S608
    quote = price(parse(text, declared), declared, Loss.zcdp(RHO))
    spent = loss_of(quote.event, Measure.ZCDP).amount
    bar(
        f"T31 rho of two groups' means, {neighbours.name}",
        float(spent),
        f"<= {RHO} and within 1%",
        0.99 * float(RHO) <= spent <= Fraction(RHO),
    )
    table = Reference({TABLE: ROWS}).run(quote.bound.plan, declared, b"salt")
    found = answers(quote, table, 2)
    rho = float(RHO)
    keys = quote.bound.plan.keys[0].keys
    assert keys is not None
    for place, key in enumerate(keys.values):
        smoker = key == "yes"
        ages = [row["age"] for row in ROWS if row["smoker"] is smoker]
        truth = sum(ages) / len(ages)
        above = sum_factor * 60 / sqrt(2 * TOTAL_SHARE * rho)
        below = count_factor / sqrt(2 * (1 - TOTAL_SHARE) * rho)
        formula = sqrt(above**2 + (truth - 60) ** 2 * below**2) / len(ages)
        error = sqrt(((found[:, place] - truth) ** 2).mean())
        bar(
            f"T31 error of a mean, {neighbours.name}, {key}",
            error / formula,
            "1 ± 0.03 of the formula",
            abs(error / formula - 1) <= 0.03,
        )
        # the lie of a formula without the noise of the count
        alone = error / (above / len(ages))
        bar(
            f"T31 the same beside the sum's noise alone, {neighbours.name}, {key}",
            alone,
            "not 1 ± 0.03",
            abs(alone - 1) > 0.03,
        )


def test_centred_squares_have_less_error_than_uncentred_ones(bar: Bar) -> None:
    """E[x^2] - E[x]^2 from sums of x and of x^2 at the same loss, beside ours."""
    declared = catalog(Limits(max_groups=1, max_rows=1))
    quote = price(parse("SELECT VAR_POP(age) FROM visits", declared), declared, Loss.zcdp(RHO))
    table = Reference({TABLE: ROWS}).run(quote.bound.plan, declared, b"salt")
    ages = np.array([row["age"] for row in ROWS], dtype=float)
    truth = ages.var()
    ours = sqrt(((answers(quote, table, 1)[:, 0] - truth) ** 2).mean())
    rng, share = np.random.default_rng(8), float(RHO) / 3
    square, total, count = (
        exact + rng.normal(0, moved / sqrt(2 * share), RUNS)
        for exact, moved in (((ages**2).sum(), 120**2), (ages.sum(), 120), (ages.size, 1))
    )
    theirs = sqrt(((square / count - (total / count) ** 2 - truth) ** 2).mean())
    bar("error of a variance, uncentred over ours", theirs / ours, ">= 4", theirs >= 4 * ours)
