"""What events cost: figures of the literature, two other accountants, an adaptive analyst."""

import os
from fractions import Fraction
from functools import cache
from math import exp

import numpy as np
import pytest
from conftest import Bar, Peer
from dp_accounting.pld import privacy_loss_distribution as pld

from tacit.accounting.convert import convert, epsilon_of_rho
from tacit.accounting.curves import discrete_gaussian_delta, gaussian_delta, gaussian_scale
from tacit.accounting.pricing import loss_of
from tacit.core.event import (
    Composed,
    Event,
    GaussianNoise,
    LaplaceNoise,
    LaplaceNoiseV2,
    RandomisedResponseEvent,
    RandomisedResponseEventV2,
    Repeated,
)
from tacit.core.loss import Loss, Measure
from tacit.lab.accountants import (
    PrivacyFilter,
    epsilon_by_pld,
    group_loss,
    report,
    selections_epsilon,
)

pytestmark = pytest.mark.claim

MICRO = Fraction(1, 10**6)
HISTORIES = range(
    int(os.environ.get("TACIT_FIRST_HISTORY", "0")),
    int(os.environ.get("TACIT_HISTORIES", "500")),
)
"""Each history is made from its own number, so that a campaign can go on where it stopped."""
RUNS = 10_000
STEP = 5e-3


def within(bar: Bar, name: str, measured: float, wanted: float, room: float) -> None:
    bar(name, measured, f"{wanted} ± {room}", abs(measured - wanted) <= room)


def test_post_processing_never_raises_the_curve(bar: Bar) -> None:
    rng = np.random.default_rng(3)
    worst = 0.0
    for _ in range(1000):
        left, right = rng.dirichlet(np.ones(6), size=2)
        channel = rng.dirichlet(np.ones(4), size=6)
        for epsilon in (0.0, 0.3, 1.0):
            before = np.maximum(left - exp(epsilon) * right, 0).sum()
            after = np.maximum(left @ channel - exp(epsilon) * (right @ channel), 0).sum()
            worst = max(worst, after - before)
    bar("T03 post-processing, most that a curve rises", worst, "<= 1e-12", worst <= 1e-12)


def test_a_year_of_weekly_releases(bar: Bar) -> None:
    weekly = Repeated(LaplaceNoise(Fraction(100), Fraction(1000)), 52)
    basic = loss_of(weekly, Measure.PURE).amount
    within(bar, "T04 52 x Laplace 0.1, basic", float(basic), 5.20, 0)
    rho = loss_of(weekly, Measure.ZCDP).amount
    within(bar, "T04 52 x Laplace 0.1, zCDP", float(epsilon_of_rho(rho, MICRO)), 3.62, 0.01)
    by_pld = epsilon_by_pld(weekly, 1e-6, one_number=True)
    within(bar, "T04 52 x Laplace 0.1, PLD", by_pld, 3.19, 0.01)
    selections = selections_epsilon(0.1, 52, 1e-6)
    within(bar, "T04 52 x exponential 0.1, fixed in advance", selections, 1.57, 0.02)
    best = report(weekly, MICRO)
    assert best.epsilon <= min(basic, epsilon_of_rho(rho, MICRO))
    # the filter adds up one measure, and no least of several
    assert PrivacyFilter(Loss.zcdp(rho)).admits(loss_of(weekly, Measure.ZCDP))
    assert not PrivacyFilter(Loss.pure(best.epsilon)).admits(loss_of(weekly, Measure.PURE))


def test_ten_charges_fill_a_budget(bar: Bar) -> None:
    budget = PrivacyFilter(Loss.pure(1))
    for _ in range(10):
        budget = budget.admit(Loss.pure(0.1))
    full = budget.spent == budget.cap and not budget.admits(Loss.pure("1e-12"))
    bar(
        "ten charges of 0.1 of a budget of 1",
        str(budget.spent),
        "ε = 1, and no more fits",
        full,
    )
    # the lie of a float accumulator: something is left
    assert sum([0.1] * 10) < 1


def test_a_group_of_five(bar: Bar) -> None:
    scale = float(gaussian_scale(Fraction(2), MICRO))
    true = gaussian_delta(10, 5 / scale)
    bar(
        "T05 Gaussian (2, 1e-6), five people, delta",
        true,
        "in [1.56e-4, 1.58e-4]",
        1.56e-4 <= true <= 1.58e-4,
    )
    generic = float(group_loss(Loss.approximate(2, MICRO), 5).delta)
    bar("T05 generic bound", generic, "<= 3.45e-3, >= true", true <= generic <= 3.46e-3)


def test_conversions_only_loosen(bar: Bar) -> None:
    rng = np.random.default_rng(7)
    tight = 0.0
    for _ in range(1000):
        epsilon = Fraction(int(rng.integers(1, 3000)), 1000)
        pure = Loss.pure(epsilon)
        there = convert(convert(pure, Measure.ZCDP), Measure.APPROXIMATE, MICRO)
        response = (exp(epsilon) - exp(there.amount)) / (exp(epsilon) + 1)
        tight = max(tight, response - float(there.delta))
    bar(
        "T07 pure to zCDP to (eps, delta), most that delta is missed by",
        tight,
        "<= 0",
        tight <= 0,
    )
    worst, least = 0.0, 1.0
    for scale in (1.0, 2.0, 4.0, 10.0, 40.0):
        theirs = pld.from_gaussian_mechanism(scale, value_discretization_interval=1e-4)
        epsilon = theirs.get_epsilon_for_delta(1e-6)
        exact = gaussian_delta(epsilon, 1 / scale)
        ours = epsilon * 0.995
        worst = max(worst, exact / 1e-6)
        least = min(least, gaussian_delta(ours, 1 / scale) / 1e-6)
    bar(
        "T07 PLD of a Gaussian is never below the exact curve", worst, "<= 1", worst <= 1 + 1e-9
    )
    bar("T07 and within 0.5% of it", least, ">= 1", least >= 1)


def test_gaussian_figures(bar: Bar) -> None:
    for epsilon, delta, wanted in (
        ("0.1", "1e-6", 36.305),
        ("0.5", "1e-6", 8.058),
        ("1", "1e-6", 4.2247),
        ("1", "1e-5", 3.7306),
        ("3", "1e-6", 1.5439),
        ("10", "1e-6", 0.5411),
    ):
        found = float(gaussian_scale(Fraction(epsilon), Fraction(delta)))
        ok = abs(found / wanted - 1) < 1e-4
        bar(f"T11 Gaussian scale at ({epsilon}, {delta})", found, f"{wanted} to 1e-4", ok)
    discrete = float(discrete_gaussian_delta(Fraction(16), 1, Fraction(1)))
    ok = abs(discrete / 3.055e-6 - 1) < 0.005
    bar("T12 discrete Gaussian 4, delta at 1", discrete, "3.055e-6, not 2.924e-6", ok)


def history(number: int) -> list[tuple[str, int, int]]:
    rng = np.random.default_rng([11, number])
    laws = rng.choice(["laplace", "gaussian"], size=rng.integers(1, 8))
    return [(str(law), int(rng.integers(1, 20)), int(rng.integers(5, 200))) for law in laws]


def event_of(leaf: tuple[str, int, int]) -> Event:
    law, sensitivity, scale = leaf
    if law == "laplace":
        return LaplaceNoise(Fraction(sensitivity), Fraction(scale))
    return GaussianNoise(Fraction(sensitivity**2), Fraction(scale**2))


@pytest.mark.peer
def test_opendp_prices_the_same(peer: Peer, bar: Bar) -> None:
    made = [history(number) for number in HISTORIES]
    theirs = peer("opendp", script="price.py", given=made)["prices"]
    least, most = 0.0, 0.0
    for listed, prices in zip(made, theirs, strict=True):
        for measure, law in ((Measure.PURE, "laplace"), (Measure.ZCDP, "gaussian")):
            events = tuple(event_of(leaf) for leaf in listed if leaf[0] == law)
            told = sum(p for leaf, p in zip(listed, prices, strict=True) if leaf[0] == law)
            ours = float(loss_of(Composed(events), measure).amount)
            least, most = min(least, ours - told), max(most, ours - told)
    text = f"{len(made)} histories, ours minus OpenDP's"
    bar(f"{text}, least", least, ">= -1e-12: theirs rounds up", least >= -1e-12)
    bar(f"{text}, most", most, "<= 1e-6", most <= 1e-6)


@cache
def repeated(leaf: Event, times: int) -> pld.PrivacyLossDistribution:
    return optimistic(leaf).self_compose(times)


def optimistic(leaf: Event) -> pld.PrivacyLossDistribution:
    step = {"value_discretization_interval": STEP, "pessimistic_estimate": False}
    match leaf:
        case LaplaceNoise(sensitivity, scale):
            return pld.from_laplace_mechanism(
                float(scale / sensitivity), use_connect_dots=False, **step
            )
        case RandomisedResponseEvent(truth, choices):
            other = float((1 - truth) * choices / (choices - 1))
            return pld.from_randomized_response(other, choices, **step)
    raise AssertionError


FIRST: list[Event] = [
    *(LaplaceNoise(Fraction(1), Fraction(scale)) for scale in (2, 5, 10, 30)),
    RandomisedResponseEvent(Fraction(2, 3), 2),
    RandomisedResponseEvent(Fraction(1, 2), 5),
]
SECOND: list[Event] = [
    *(LaplaceNoiseV2(Fraction(1000), Fraction(1000 * scale)) for scale in (2, 5, 10, 30)),
    RandomisedResponseEventV2(Fraction(2, 3), 2),
    RandomisedResponseEventV2(Fraction(1, 2), 5),
]


@pytest.mark.parametrize("kinds", [FIRST, SECOND], ids=["first", "second"])
def test_never_below_an_optimistic_accountant(kinds: list[Event], bar: Bar) -> None:
    least = in_rho = 1e9
    for number in HISTORIES:
        times = np.random.default_rng([13, number]).integers(0, 12, size=len(kinds))
        times[0] += 1
        total = pld.identity(STEP, pessimistic_estimate=False)
        for kind, count in zip(kinds, times, strict=True):
            if count:
                total = total.compose(repeated(kind, int(count)))
        listed = Composed(
            tuple(Repeated(kind, int(n)) for kind, n in zip(kinds, times, strict=True))
        )
        theirs = total.get_epsilon_for_delta(1e-6)
        least = min(least, float(report(listed, MICRO).epsilon) - theirs)
        rho = loss_of(listed, Measure.ZCDP).amount
        in_rho = min(in_rho, float(epsilon_of_rho(rho, MICRO)) - theirs)
    text = f"{len(HISTORIES)} histories of {'second' if kinds is SECOND else 'first'} versions"
    bar(f"{text}, ours minus dp-accounting's optimistic epsilon", least, ">= 0", least >= 0)
    bar(f"{text}, the same in rho", in_rho, ">= 0", in_rho >= 0)


def test_an_adaptive_analyst_never_passes_the_cap(bar: Bar) -> None:
    rng = np.random.default_rng(17)
    cap = Loss.zcdp(1)
    worst = Fraction(0)
    for _ in range(RUNS):
        budget = PrivacyFilter(cap)
        answer = 0.0
        for _ in range(12):
            # the analyst looks at the last noisy answer, and asks for more where it was large
            rho = Fraction(int(1 + 500 * abs(answer)), 1000)
            if not budget.admits(Loss.zcdp(rho)):
                rho = Fraction(1, 1000)
            if budget.admits(Loss.zcdp(rho)):
                budget = budget.admit(Loss.zcdp(rho))
                answer = float(rng.normal(0, 1))
        worst = max(worst, budget.spent.amount)
    bar(
        f"T08 most that {RUNS} adaptive runs spend of a cap of 1",
        float(worst),
        "<= 1",
        worst <= 1,
    )


Pairs = list[tuple[float, float]]
"""The probability of each outcome on the two neighbours."""


def response(epsilon: float) -> Pairs:
    truth = exp(epsilon) / (1 + exp(epsilon))
    return [(truth, 1 - truth), (1 - truth, truth)]


def leak(probability: float) -> Pairs:
    return [(probability, 0.0), (0.0, probability), (1 - probability, 1 - probability)]


def both(one: Pairs, other: Pairs) -> Pairs:
    return [(p * r, q * s) for p, q in one for r, s in other]


def exact_delta(pairs: Pairs, epsilon: float) -> float:
    return sum(max(0.0, p - exp(epsilon) * q) for p, q in pairs)


def test_the_least_of_several_accountants_is_no_filter(bar: Bar) -> None:
    """A filter that admits a history whose exact curve, the least there is, stays within delta.

    First comes a randomised response of epsilon 1. Then either another one of 0.6, or an event
    that tells everything with a small probability. The filter admits both histories; the
    analyst takes the first after a telling answer, and the second after an untelling one.
    """
    cap, first, second = 1.5, response(1.0), response(0.6)
    delta = exact_delta(both(first, second), cap)

    def admits(history: Pairs) -> bool:
        return exact_delta(history, cap) <= delta

    tell = leak(delta)
    assert admits(both(first, second))
    assert admits(both(first, tell))
    telling, untelling = first
    adaptive = both([telling], second) + both([untelling], tell)
    assert abs(sum(p for p, _ in adaptive) - 1) < 1e-12
    ratio = exact_delta(adaptive, cap) / delta
    bar("true delta over the one that the least of several allows", ratio, "> 1", ratio > 1.2)
    # without a choice there is nothing to gain
    assert exact_delta(both(first, second), cap) / delta == 1
    # a sum in one measure refuses what the analyst needs
    budget = PrivacyFilter(Loss.approximate(Fraction(3, 2), Fraction(delta)))
    budget = budget.admit(Loss.approximate(1, 0))
    assert not budget.admits(Loss.approximate(Fraction(3, 5), 0))
    assert budget.admits(Loss.approximate(0, Fraction(delta)))
