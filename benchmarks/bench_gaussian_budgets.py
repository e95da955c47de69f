"""A study of budgets in Gaussian differential privacy: what they would save and cost.

A mechanism is mu-GDP if telling two neighbours apart by it is never easier than telling normal
distributions apart whose means are mu standard deviations away from each other. Sums of mu**2
are valid filters (Smith, Thakurta 2022, arXiv 2210.17520), so that a ledger could count in
mu**2 / 2, which is rho for Gaussian noise. The figures are those of decision 61.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from statistics import NormalDist

import numpy as np
import pytest
from conftest import Bar

from tacit.accounting.concentrated_loss import laplace_rho, pure_rho
from tacit.accounting.convert import rho_within
from tacit.accounting.curves import discrete_gaussian_delta, gaussian_delta, gaussian_scale

F = Fraction
NORMAL = NormalDist()
TOTALS = [(e, d) for d in ("1e-5", "1e-6", "1e-9") for e in ("0.1", "0.5", "1", "3", "10")]
SCALES = (F(1, 2), F(1), F(2), F(4), F(8))
LEAST_DELTA = 1e-11
"""The least delta that is compared: below, 64-bit floats are too short."""


@dataclass(frozen=True)
class GaussianFilter:
    """A prototype of a budget in GDP: the sum of mu**2 stays within a cap."""

    cap: float
    spent: float = 0.0

    def admit(self, mu: float) -> "GaussianFilter":
        """Return the filter after one more release, or raise if that does not fit."""
        if self.spent + mu**2 > self.cap**2 * (1 + 1e-12):
            raise OverflowError
        return replace(self, spent=self.spent + mu**2)

    @property
    def left(self) -> float:
        """The mu that is left."""
        return math.sqrt(max(0.0, self.cap**2 - self.spent))


def saved(epsilon: str, delta: str) -> float:
    """The share of the variance that Gaussian noise would save within one total."""
    rho, scale = rho_within(F(epsilon), F(delta)), gaussian_scale(F(epsilon), F(delta))
    return 1 - float(2 * rho * scale**2)


def least_mu(epsilon: float, delta: float) -> float:
    """The least mu whose curve is at least ``delta`` at ``epsilon``."""
    low, high = 0.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(epsilon, middle) < delta else (low, middle)
    return high


def mu_of_advantage(advantage: float) -> float:
    """The mu of a total variation distance: no smaller one is valid."""
    return 2 * NORMAL.inv_cdf((1 + advantage) / 2)


def discrete_mu(scale: Fraction) -> float:
    """The mu of discrete Gaussian noise on a count, as a multiple of that of the continuous."""
    worst, unit = 0.0, F(round(1000 / scale), 1000)
    for step in range(200):
        epsilon = unit * F(step, 20)
        delta = float(discrete_gaussian_delta(scale**2, 1, epsilon))
        if delta < LEAST_DELTA:
            break
        worst = max(worst, least_mu(float(epsilon), delta) * float(scale))
    return worst


def adaptive_delta(epsilon: float, first: float, second: Callable[[float], float]) -> float:
    """The delta of two Gaussian releases, the second of which depends on the first answer."""
    answers = np.linspace(-12, 12, 4001)
    density = np.exp(-((answers - first) ** 2) / 2) / math.sqrt(2 * math.pi)
    losses = first * answers - first**2 / 2
    rest = [
        curve(epsilon - loss, second(float(answer)))
        for answer, loss in zip(answers, losses, strict=True)
    ]
    return float(np.trapezoid(density * np.array(rest), answers))


def curve(epsilon: float, mu: float) -> float:
    """The delta of Gaussian noise at an epsilon of any sign, and of no release at all."""
    if mu == 0:
        return max(0.0, 1 - math.exp(epsilon))
    return NORMAL.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * NORMAL.cdf(
        -mu / 2 - epsilon / mu
    )


def test_gaussian_noise_would_have_less_variance(bar: Bar) -> None:
    print("\nepsilon  delta  standard deviation in rho  in GDP  variance saved")
    for epsilon, delta in TOTALS:
        noise = math.sqrt(1 / (2 * float(rho_within(F(epsilon), F(delta)))))
        gaussian = float(gaussian_scale(F(epsilon), F(delta)))
        print(
            f"{epsilon:>7} {delta:>6} {noise:>26.3f} {gaussian:>7.3f} "
            f"{saved(epsilon, delta):>14.1%}"
        )
    every = [saved(*total) for total in TOTALS]
    bar("variance that GDP would save, least", min(every), "above 0.07", min(every) > 0.07)
    bar("variance that GDP would save, most", max(every), "below 0.19", max(every) < 0.19)


def test_pure_events_would_cost_more(bar: Bar) -> None:
    print("\nepsilon  event                 in rho  mu**2 / 2 at least  more")
    every = []
    for epsilon in (0.1, 0.5, 1.0, 3.0):
        exact = F(str(epsilon))
        fine = laplace_rho(F(10**6), F(10**6) / exact)
        events = {
            "randomised response": (pure_rho(exact), math.tanh(epsilon / 2)),
            "Laplace noise, sums": (fine, 1 - math.exp(-epsilon / 2)),
            "bounded range": (exact**2 / 8, math.tanh(epsilon / 4)),
        }
        for name, (rho, advantage) in events.items():
            half = mu_of_advantage(advantage) ** 2 / 2
            every.append(half / float(rho) - 1)
            shown = f"{epsilon:>7} {name:>20} {float(rho):>8.4f} {half:>19.4f}"
            print(f"{shown} {every[-1]:>5.0%}")
    bar("pure events in GDP cost more, by at least", min(every), "above 0.4", min(every) > 0.4)


def test_discrete_noise_on_counts_would_cost_a_little_more(bar: Bar) -> None:
    print("\nscale  mu of discrete noise, as a multiple of that of continuous noise")
    found = {scale: discrete_mu(scale) for scale in SCALES}
    for scale, factor in found.items():
        print(f"{float(scale):>5g}  {factor:.4f}")
    bar("mu of discrete noise of scale 4", found[F(4)], "below 1.01", found[F(4)] < 1.01)
    bar("mu of discrete noise of scale 1/2", found[F(1, 2)], "above 1.2", found[F(1, 2)] > 1.2)


@pytest.mark.parametrize("epsilon", [0.0, 0.5, 1.0, 2.0])
def test_a_filter_holds_where_the_next_release_depends_on_the_last(epsilon: float) -> None:
    whole = GaussianFilter(cap=1.0)
    after = whole.admit(0.6)
    promised = curve(epsilon, whole.cap)
    for stops in (-1.0, 0.0, 1.0):
        shown = adaptive_delta(epsilon, 0.6, lambda x, s=stops: after.left if x > s else 0.0)
        assert shown <= promised + 1e-9
    # the lie: an analyst who spends more where the first answer was telling
    greedy = adaptive_delta(epsilon, 0.6, lambda x: 1.0 if x > 0 else after.left)
    assert greedy > promised
    with pytest.raises(OverflowError):
        after.admit(1.0)
