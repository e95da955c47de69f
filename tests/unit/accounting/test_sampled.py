"""What a sample costs where its event has a delta, computed for laws that are known exactly."""

from fractions import Fraction
from itertools import product
from math import exp, inf, isclose, log, prod

import pytest

from tacit.accounting.pricing import cost_of
from tacit.core.event import KeySelection, Sampled, TruncatedLaplaceNoise

Law = dict[object, float]
RATES = [Fraction(1, 100), Fraction(1, 10), Fraction(1, 3), Fraction(1, 2), Fraction(1)]
ORDERS = [1.01, 1.5, 2, 4, 16, 64]
ENOUGH = 1 + 1e-9
"""More than floats can be wrong by here."""


def hockey_stick(one: Law, other: Law, epsilon: float) -> float:
    """The least delta at which ``one`` is within exp(epsilon) of ``other``."""
    return sum(max(0.0, mass - exp(epsilon) * other.get(at, 0.0)) for at, mass in one.items())


def divergence(one: Law, other: Law, order: float) -> float:
    """The Renyi divergence of ``one`` from ``other``."""
    if any(mass and not other.get(at) for at, mass in one.items()):
        return inf
    parts = [
        order * log(mass) + (1 - order) * log(other[at]) for at, mass in one.items() if mass
    ]
    most = max(parts)
    return (most + log(sum(exp(part - most) for part in parts))) / (order - 1)


def mixed(first: Law, second: Law, rate: float) -> Law:
    """``second`` with probability ``rate``, and otherwise ``first``."""
    return {
        at: (1 - rate) * first.get(at, 0.0) + rate * second.get(at, 0.0)
        for at in first.keys() | second.keys()
    }


def truncated(scale: Fraction, reach: int, centre: int) -> Law:
    weights = {centre + k: exp(-abs(k) / float(scale)) for k in range(-reach, reach + 1)}
    whole = sum(weights.values())
    return {at: weight / whole for at, weight in weights.items()}


@pytest.mark.parametrize("rate", RATES)
def test_the_delta_of_a_sample_is_what_its_law_has(rate: Fraction) -> None:
    event = TruncatedLaplaceNoise(sensitivity=Fraction(2), scale=Fraction(4), reach=20)
    cost = cost_of(Sampled(event, rate))
    without, with_unit = (truncated(event.scale, 20, centre) for centre in (0, 2))
    sampled = mixed(without, with_unit, float(rate))
    assert cost.epsilon is not None
    epsilon = float(cost.epsilon)
    exact = max(
        hockey_stick(sampled, without, epsilon), hockey_stick(without, sampled, epsilon)
    )
    assert exact <= float(cost.delta) * ENOUGH
    # what only the unit can cause is all of it: no smaller delta would do
    assert isclose(exact, float(cost.delta), rel_tol=1e-6)
    if rate < 1:  # the lie: a square, which no test told from the truth
        assert float(rate**2 * cost_of(event).delta) < exact / ENOUGH


def keys(event: KeySelection, *, there: bool) -> tuple[Law, Law, float]:
    """The worst laws of ``max_keys`` selections: all, those without a catastrophe, its chance.

    One selection gives itself away with probability delta, and otherwise answers truly with
    odds of exp(epsilon) (Kairouz, Oh, Viswanath 2015).
    """
    odds, delta = exp(float(event.epsilon)), float(event.delta)
    truth = odds / (1 + odds)
    calm = {there: truth, not there: 1 - truth}
    one: Law = {at: (1 - delta) * mass for at, mass in calm.items()}
    one["gone" if there else "never there"] = delta
    times = event.max_keys

    def power(law: Law) -> Law:
        return {
            at: prod(law[part] for part in at)  # type: ignore[attr-defined]
            for at in product(law, repeat=times)
        }

    return power(one), power(calm), 1 - (1 - delta) ** times


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("most", [1, 2, 4])
def test_the_rho_of_a_sample_holds_up_to_its_delta(rate: Fraction, most: int) -> None:
    event = KeySelection(Fraction(1), Fraction(1, 1000), most)
    whole, cost = cost_of(event), cost_of(Sampled(event, rate))
    q = float(rate)
    (with_unit, calm_with, gone), (without, calm_without, _) = (
        keys(event, there=there) for there in (True, False)
    )
    assert gone <= float(whole.delta) * ENOUGH
    sampled = mixed(without, with_unit, q)
    # the brackets of the proof: what is left of both without a catastrophe of the sample
    scale = 1 - q * gone
    brackets = [
        {
            at: ((1 - q) * without.get(at, 0.0) + q * (1 - gone) * calm.get(at, 0.0)) / scale
            for at in without.keys() | calm.keys()
        }
        for calm in (calm_with, calm_without)
    ]
    for law, bracket in zip((sampled, without), brackets, strict=True):
        assert isclose(sum(bracket.values()), 1, rel_tol=1e-9)
        assert all(scale * mass <= law.get(at, 0.0) * ENOUGH for at, mass in bracket.items())
    for order in ORDERS:
        for one, other in (brackets, brackets[::-1]):
            assert divergence(one, other, order) <= float(whole.rho) * order * ENOUGH
    # what is left over is the delta that is charged, and a square would not cover it
    alone = sum(mass for at, mass in sampled.items() if not without.get(at))
    assert alone <= float(cost.delta) * ENOUGH
    assert isclose(alone, q * gone, rel_tol=1e-9)
    if rate <= Fraction(1, 2):
        assert float(rate**2 * whole.delta) < alone
    assert cost.rho <= whole.rho
    assert cost.delta == rate * whole.delta


def test_half_of_the_rho_is_told_from_it() -> None:
    """The lie: everybody is in the sample, and half of the rho of the whole is claimed."""
    event = KeySelection(Fraction(1), Fraction(1, 1000), 4)
    _, calm_with, _ = keys(event, there=True)
    _, calm_without, _ = keys(event, there=False)
    rho = float(cost_of(Sampled(event, Fraction(1))).rho)
    found = [divergence(calm_with, calm_without, order) / order for order in ORDERS]
    assert rho / 2 < max(found) <= rho * ENOUGH


def test_a_sample_of_nobody_costs_nothing_and_of_everybody_all() -> None:
    event = KeySelection(Fraction(1), Fraction(1, 1000), 2)
    nobody, everybody = (cost_of(Sampled(event, Fraction(rate))) for rate in (0, 1))
    assert (nobody.epsilon, nobody.rho, nobody.delta) == (0, 0, 0)
    assert (everybody.rho, everybody.delta) == (cost_of(event).rho, cost_of(event).delta)
