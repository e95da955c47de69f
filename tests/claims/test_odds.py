"""The odds that are told for a loss or an event are the exact ones, and at most 5% more.

What is exact is computed here from trade-off curves alone: of lists of outcomes with both of
their probabilities, of thresholds on normal laws, or of Bernoulli laws whose Rényi divergences
are as large as the loss allows. None of it uses a grid of losses or a convolution of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import comb, exp, log, sqrt

import numpy as np
import pytest
from conftest import Bar
from scipy.optimize import brentq, minimize_scalar
from scipy.stats import norm

from tacit import core
from tacit.accounting import curve_of_event, curve_of_loss
from tacit.accounting.trade_off import TradeOff, curve_of_mu

RATES = (0.001, 0.01, 0.1)
MOST = 1.05
WIDE = Fraction(10**6)

Curve = Callable[[float], float]
"""The exact true-positive rate at a false-positive rate."""


@dataclass(frozen=True)
class Exact:
    """The exact curve of a setting, and the area under it."""

    rate: Curve
    area: float


def of_outcomes(*outcomes: tuple[float, float]) -> Exact:
    """The curve of a list of outcomes, each with its probability with and without a person."""
    ranked = sorted((each for each in outcomes if max(each) > 0), key=ratio, reverse=True)
    corners = [(0.0, 0.0)]
    for found, accused in ranked:
        corners.append((corners[-1][0] + accused, corners[-1][1] + found))

    def rate(at: float) -> float:
        best = 0.0
        for (x, y), (more_x, more_y) in pairwise(corners):
            if x <= at:
                part = 1.0 if more_x == x else min(1.0, (at - x) / (more_x - x))
                best = max(best, y + part * (more_y - y))
        return best

    area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(corners))
    return Exact(rate, area)


def ratio(outcome: tuple[float, float]) -> float:
    found, accused = outcome
    return found / accused if accused else np.inf


def responses(epsilon: float, times: int = 1, delta: float = 0.0) -> list[tuple[float, float]]:
    """The outcomes of randomised response, asked so many times."""
    truth = exp(epsilon) / (1 + exp(epsilon))
    hits = [
        (comb(times, k) * truth**k * (1 - truth) ** (times - k), times - k)
        for k in range(times + 1)
    ]
    by_hits = [chance for chance, _ in hits]
    kept = [
        (a * (1 - delta), b * (1 - delta)) for a, b in zip(by_hits, by_hits[::-1], strict=True)
    ]
    return [(delta, 0.0), (0.0, delta), *kept]


def discrete_normal(variance: float, moved: int, times: int = 1) -> list[tuple[float, float]]:
    """The outcomes of a sum of integers with discrete Gaussian noise, which tells all."""
    reach = int(12 * sqrt(variance)) + moved + 2
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    law = one = weights / weights.sum()
    for _ in range(times - 1):
        law = np.convolve(law, one)
    gap = np.zeros(moved * times)
    return list(zip(np.append(gap, law), np.append(law, gap), strict=True))


def both(one: list[tuple[float, float]], other: list[tuple[float, float]]) -> Exact:
    """The curve of two independent outcomes."""
    return of_outcomes(*((a * c, b * d) for a, b in one for c, d in other))


def by_threshold(
    accused: Callable[[float], float], found: Callable[[float], float], reach: float = 12
) -> Exact:
    """The curve of tests whether a number is above a threshold."""

    def rate(at: float) -> float:
        return found(brentq(lambda end: accused(end) - at, -reach, reach, xtol=1e-13))

    ends = np.linspace(reach, -reach, 40_001)
    x = np.array([accused(end) for end in ends])
    y = np.array([found(end) for end in ends])
    return Exact(rate, float(np.sum(np.diff(x) * (y[1:] + y[:-1]) / 2)))


def upper(*curves: Exact) -> Exact:
    """The larger of several curves at each rate: either neighbour may be the one with more."""
    return Exact(lambda at: max(c.rate(at) for c in curves), max(c.area for c in curves))


def mixture_of_normals(parts: list[tuple[float, float, float]], mu: float) -> Exact:
    """The curve of a normal number and an outcome of two probabilities.

    The privacy loss is normal around mu**2 / 2 or its negative, plus the logarithm of the
    outcome's ratio.
    """

    def tail(end: float, sign: int, column: int) -> float:
        return sum(
            part[column] * norm.sf((end - log(part[0] / part[1]) - sign * mu**2 / 2) / mu)
            for part in parts
        )

    return by_threshold(lambda end: tail(end, -1, 1), lambda end: tail(end, 1, 0), 14)


def any_noise(rho: float) -> Exact:
    """The curve of zCDP: the best test that every Rényi order allows, by the worst order."""

    def excess(x: float, y: float) -> float:
        def beyond(power: float) -> float:
            order = 1 + exp(power)
            found = []
            for p, q in ((y, x), (x, y)):
                in_, out = (
                    order * log(p) + (1 - order) * log(q),
                    order * log(1 - p) + (1 - order) * log(1 - q),
                )
                found.append(np.logaddexp(in_, out) / (order * (order - 1)))
            return -float(max(found))

        grid = np.linspace(-7, 9, 60)
        start = min(grid, key=beyond)
        best = minimize_scalar(beyond, bounds=(start - 0.3, start + 0.3), method="bounded")
        return max(-best.fun, -beyond(start)) - rho

    def rate(x: float) -> float:
        low, high = x, min(1 - 1e-12, x + sqrt(rho / 2) + 1e-9)
        if excess(x, high) <= 0:
            return high
        return float(brentq(lambda y: excess(x, y), low * (1 + 1e-9), high, xtol=1e-12))

    x = np.concatenate([np.geomspace(1e-5, 0.1, 20), np.linspace(0.12, 0.99, 40)])
    ends, rates = np.append(np.append(0, x), 1), [0.0, *map(rate, x), 1.0]
    return Exact(rate, float(np.sum(np.diff(ends) * (np.array(rates)[1:] + rates[:-1]) / 2)))


def selection(epsilon: float) -> Exact:
    """The curve of a bounded range: the best of all pairs of losses t and t - epsilon."""

    def pair(t: float) -> Exact:
        accused = (1 - exp(t - epsilon)) / (exp(t) - exp(t - epsilon))
        return of_outcomes((accused * exp(t), accused), (1 - accused * exp(t), 1 - accused))

    pairs = [pair(t) for t in np.linspace(0.002, epsilon - 0.002, 800)]
    x = np.linspace(0, 1, 801)
    y = [max(each.rate(at) for each in pairs) for at in x]
    return Exact(
        lambda at: max(each.rate(at) for each in pairs),
        float(np.sum(np.diff(x) * (np.array(y)[1:] + y[:-1]) / 2)),
    )


def sampled_normal(chance: float, mu: float) -> Exact:
    """The curves of a normal number about a sample, for a person who joins and who leaves."""
    without, inside = norm(0, 1), norm(mu, 1)

    def mixed(end: float) -> float:
        return (1 - chance) * without.sf(end) + chance * inside.sf(end)

    joins = by_threshold(without.sf, mixed)
    leaves = by_threshold(lambda end: 1 - mixed(-end), lambda end: without.cdf(-end))
    return upper(joins, leaves)


def truncated(variance: float, reach: int) -> list[tuple[float, float]]:
    law = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * variance))
    law = law / law.sum()
    return list(zip(np.append(law, 0), np.append(0, law), strict=True))


def laplace(epsilon: str) -> core.Event:
    return core.LaplaceNoiseV2(Fraction(1), 1 / Fraction(epsilon))


def sampled_response(epsilon: float, chance: float) -> Exact:
    outcomes = [each for each in responses(epsilon) if max(each) > 0]
    mixed = [((1 - chance) * q + chance * p, q) for p, q in outcomes]
    return upper(of_outcomes(*mixed), of_outcomes(*((q, p) for p, q in mixed)))


NORMAL = core.GaussianNoise(WIDE, WIDE)
"""A number with Gaussian noise whose scale is its sensitivity, so that mu is 1."""

SETTINGS: dict[str, tuple[Callable[[], TradeOff], Callable[[], Exact]]] = {
    "pure epsilon 0.1": (
        lambda: curve_of_loss(core.Loss.pure("0.1")),
        lambda: of_outcomes(*responses(0.1)),
    ),
    "pure epsilon 1": (
        lambda: curve_of_loss(core.Loss.pure(1)),
        lambda: of_outcomes(*responses(1)),
    ),
    "epsilon 3, delta 0.001": (
        lambda: curve_of_loss(core.Loss.approximate(3, "0.001")),
        lambda: of_outcomes(*responses(3, delta=0.001)),
    ),
    "rho 0.5, any noise": (
        lambda: curve_of_loss(core.Loss.zcdp("0.5")),
        lambda: any_noise(0.5),
    ),
    "rho 0.02, any noise": (
        lambda: curve_of_loss(core.Loss.zcdp("0.02")),
        lambda: any_noise(0.02),
    ),
    "rho 0.5, Gaussian": (
        lambda: curve_of_event(NORMAL),
        lambda: of_outcomes(*discrete_normal(float(WIDE), 1000)),
    ),
    "three counts with Gaussian noise of variance 6": (
        lambda: curve_of_event(core.GaussianNoise(Fraction(3), Fraction(6))),
        lambda: of_outcomes(*discrete_normal(6, 1, 3)),
    ),
    "a count with Gaussian noise of variance 1": (
        lambda: curve_of_event(core.GaussianNoise(Fraction(1), Fraction(1))),
        lambda: of_outcomes(*discrete_normal(1, 1)),
    ),
    "52 counts with Laplace noise": (
        lambda: curve_of_event(core.Repeated(laplace("0.1"), 52)),
        lambda: of_outcomes(*responses(0.1, 52)),
    ),
    "Laplace and Gaussian": (
        lambda: curve_of_event(core.Composed((laplace("1"), NORMAL))),
        lambda: mixture_of_normals([(a, b, 0) for a, b in responses(1) if a], 1),
    ),
    "randomised response of five answers, and a delay": (
        lambda: curve_of_event(
            core.Composed(
                (
                    core.RandomisedResponseEventV2(Fraction(1, 2), 5),
                    core.DelayNoise(Fraction(4), 12, Fraction(1)),
                )
            )
        ),
        lambda: both([(1 / 2, 1 / 8), (1 / 8, 1 / 2), (3 / 8, 3 / 8)], truncated(4, 12)),
    ),
    "a selection by the exponential mechanism": (
        lambda: curve_of_event(core.ExponentialSelection(Fraction(1))),
        lambda: selection(1),
    ),
    "a tenth sampled, Gaussian": (
        lambda: curve_of_event(core.Sampled(NORMAL, Fraction(1, 10))),
        lambda: sampled_normal(0.1, 1),
    ),
    "a tenth sampled, Laplace": (
        lambda: curve_of_event(core.Sampled(laplace("1"), Fraction(1, 10))),
        lambda: sampled_response(1, 0.1),
    ),
}


def compared(told: TradeOff, exact: Exact) -> list[float]:
    """What is told over what is exact: at each rate, and for the area."""
    rates = [float(told.true_positive_rate(Fraction(str(at)))) / exact.rate(at) for at in RATES]
    return [*rates, float(told.pairs) / exact.area]


@pytest.mark.parametrize("name", SETTINGS)
def test_the_odds_told_are_tight(name: str, bar: Bar) -> None:
    told, exact = (make() for make in SETTINGS[name])
    found = compared(told, exact)
    low, high = min(found), max(found)
    ok = low >= 1 - 1e-9 and high <= MOST
    bar(f"odds: {name}", f"{low:.6f} to {high:.6f}", f"1 to {MOST} of the exact", ok)


def test_the_curve_of_continuous_noise_is_a_lie_about_integers() -> None:
    exact = of_outcomes(*discrete_normal(1, 1))
    weights = [exp(-(y**2) / 2) for y in range(20)]
    corner = sum(weights[1:]) / (2 * sum(weights) - 1)  # the test "at least 1"
    at = Fraction(corner)
    assert float(curve_of_mu(Fraction(1)).true_positive_rate(at)) < exact.rate(corner)
    assert float(
        curve_of_event(core.GaussianNoise(Fraction(1), Fraction(1))).true_positive_rate(at)
    ) >= (exact.rate(corner))


def test_what_was_told_before_is_too_much() -> None:
    """Version 0.1 told an AUC of 0.85 for Gaussian noise of rho 0.5."""
    exact = of_outcomes(*discrete_normal(float(WIDE), 1000))
    assert exact.area == pytest.approx(norm.cdf(sqrt(0.5)), abs=1e-4)
    assert 0.85 / exact.area > MOST


def test_gaussian_odds_of_a_cap_are_a_lie() -> None:
    """A mechanism within the cap beats the curve that holds for Gaussian noise alone."""
    assert any_noise(0.5).rate(0.01) > 1.1 * float(
        curve_of_mu(Fraction(1)).true_positive_rate(Fraction(1, 100))
    )
