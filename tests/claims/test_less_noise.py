"""The figures of decision 61: what pure events cost in rho, and what keys get of delta."""

from decimal import Decimal, localcontext
from fractions import Fraction
from random import Random

import pytest
from conftest import Bar

from tacit.accounting.convert import KEYS_PART, budget_within, epsilon_of_rho
from tacit.accounting.pricing import calibrate, cost_of
from tacit.core.event import (
    LaplaceNoise,
    LaplaceNoiseV2,
    RandomisedResponseEventV2,
    Repeated,
    TruncatedLaplaceNoiseV2,
)
from tacit.core.loss import Loss
from tacit.lab.accountants import epsilon_by_pld

F = Fraction
MICRO = F(1, 10**6)
ROUNDING = F(1, 10**9)
E = F("2.718281828459045235360287471352662497757247")
"""A lower bound on e, so that its odds are those of an epsilon just below 1."""


def test_the_figures(bar: Bar) -> None:
    sums = float(cost_of(LaplaceNoiseV2(F(100), F(100))).rho)
    truncated = float(cost_of(TruncatedLaplaceNoiseV2(F(100), F(100), 3000)).rho)
    count = float(cost_of(LaplaceNoiseV2(F(1), F(1))).rho)
    answer = float(cost_of(RandomisedResponseEventV2(E / (1 + E), 2)).rho)
    bar("rho of Laplace noise at epsilon 1, sums", sums, "at most 0.37", sums <= 0.37)
    bar("rho of truncated noise at epsilon 1", truncated, "at most 0.37", truncated <= 0.37)
    bar("rho of Laplace noise at epsilon 1, counts", count, "at most 0.463", count <= 0.463)
    bar("rho of randomised response at epsilon 1", answer, "at most 0.463", answer <= 0.463)
    first = float(cost_of(LaplaceNoise(F(100), F(100))).rho)
    bar("rho of the first version, as in ledgers", first, "0.5", first == 0.5)


def test_the_parts_of_delta(bar: Bar) -> None:
    budget = budget_within(1, MICRO)
    share = float(budget.cap.delta / MICRO)
    bar("share of delta for keys", f"{share:.0%}", "1%", budget.cap.delta == MICRO * KEYS_PART)
    before = budget_within(1, MICRO, recorded_delta=MICRO / 2)
    less = float(1 - before.cap.amount / budget.cap.amount)
    bar("variance saved by it at epsilon 1", f"{less:.1%}", "at least 5%", less >= 0.05)


@pytest.mark.parametrize(("rho", "least"), [("0.1", 0.14), ("0.5", 0.3)])
def test_laplace_noise_on_sums_is_smaller(bar: Bar, rho: str, least: float) -> None:
    now, before = (
        calibrate(lambda x, kind=kind: kind(F(1000), x), Loss.zcdp(rho))
        for kind in (LaplaceNoiseV2, LaplaceNoise)
    )
    less = float(1 - (now / before) ** 2)
    name = f"variance of Laplace noise saved at rho {rho}"
    bar(name, f"{less:.1%}", f"at least {least:.0%}", less >= least)


# random parameters ----------------------------------------------------------------------------


def divergence(moved: int, rate: Decimal, order: Decimal) -> Decimal:
    """D_a / a of discrete Laplace noise of scale 1 / rate, by its sum in closed form."""
    q, power = (-rate).exp(), order - 1
    most = (power * moved * rate).exp()
    inner = Decimal(0)
    if moved > 1:
        step = -(2 * order - 1) * rate
        inner = most * step.exp() * (1 - ((moved - 1) * step).exp()) / (1 - step.exp())
    ends = (most + (-order * moved * rate).exp()) / (1 - q)
    return ((1 - q) / (1 + q) * (ends + inner)).ln() / (order * power)


def test_no_price_of_laplace_noise_is_below_a_divergence(bar: Bar) -> None:
    draw, closest = Random(1), Decimal(0)  # noqa: S311 - parameters of a test
    with localcontext(prec=120, Emin=-(10**12), Emax=10**12):
        for _ in range(200):
            moved = draw.choice((1, 2, 3, draw.randint(4, 100), draw.randint(100, 10**9)))
            scale = F(str(moved * 10 ** draw.uniform(-2, 9)))
            rate = Decimal(scale.denominator) / scale.numerator
            rho = cost_of(LaplaceNoiseV2(F(moved), scale)).rho
            price = Decimal(rho.numerator) / rho.denominator
            for place in range(-40, 25):
                order = 1 + Decimal(10) ** (Decimal(place) / 4)
                shown = divergence(moved, rate, order)
                assert price >= shown, (moved, scale, order)
                closest = max(closest, shown / price)
    share = float(closest)
    name = "greatest divergence, as a share of its price"
    bar(name, share, "0.999999 to 1", 1 - 1e-6 < share <= 1)


def test_another_accountant_finds_no_more_than_the_price(bar: Bar) -> None:
    """Google's library computes the curve of 52 counts with noise, all fixed in advance."""
    week = LaplaceNoiseV2(F(100), F(1000))
    theirs = epsilon_by_pld(Repeated(week, 52), 1e-6, one_number=True)
    ours = float(epsilon_of_rho(52 * cost_of(week).rho, MICRO))
    bar(
        "epsilon of 52 sums in rho",
        ours,
        f"at least {theirs:.4g} of their curve",
        ours >= theirs,
    )
    # the lie: a price of three quarters
    assert float(epsilon_of_rho(39 * cost_of(week).rho, MICRO)) < theirs
