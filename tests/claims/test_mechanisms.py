"""The figures of single mechanisms, beside what the literature says of them."""

from fractions import Fraction
from math import exp

import numpy as np
import pytest
from conftest import Bar

from tacit.accounting.ball import ball_scale
from tacit.accounting.price import loss_of
from tacit.core.measure import Measure
from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.mechanisms.ball import Ball
from tacit.mechanisms.exponential import Exponential
from tacit.mechanisms.gateway import LiveGateway
from tacit.mechanisms.laplace import Laplace
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.permute_and_flip import PermuteAndFlip
from tacit.mechanisms.randomised_response import RandomisedResponse
from tacit.mechanisms.truncated_geometric_keys import TruncatedGeometricKeys
from tacit.numeric.entropy import SystemEntropy
from tacit.robust.median_sensitivity import smooth_sensitivity
from tacit.testing.mechanism import Draws, l1, l2, linf

pytestmark = pytest.mark.claim

MICRO = Fraction(1, 10**6)
CLASSIFIERS = tuple(-errors for errors in range(200, 300, 10))


def gateway() -> LiveGateway:
    return LiveGateway(SystemEntropy(b"claim"))


def released(
    mechanism: Mechanism, values: object, sensitivity: Sensitivity, times: int
) -> Draws:
    door, secret = gateway(), Secret(np.asarray(values))
    return np.array([mechanism.release(secret, sensitivity, door) for _ in range(times)])


def within(bar: Bar, name: str, measured: float, wanted: float, room: float) -> None:
    bar(name, measured, f"{wanted} ± {room:.2g}", abs(measured - wanted) <= room)


@pytest.mark.parametrize(
    ("epsilon", "deviation"), [("0.1", 14.136), ("1", 1.3570), ("3", 0.3321)]
)
def test_the_deviation_of_laplace_noise(epsilon: str, deviation: float, bar: Bar) -> None:
    mechanism = Laplace(1 / Fraction(epsilon))
    noise = mechanism.release(Secret(np.zeros(10**6, dtype=np.int64)), l1(1), gateway())
    found = float(noise.std())
    within(
        bar, f"T10 Laplace at epsilon {epsilon}, deviation", found, deviation, deviation / 100
    )


def test_the_ball_beats_the_gaussian_for_one_vector(bar: Bar) -> None:
    steps = 1000
    noise = released(Ball(Fraction(steps), 10), [0] * 10, l2(1), 20_000) / steps
    norms = np.linalg.norm(noise, axis=1)
    within(bar, "T13 ball of 10 dimensions, mean norm", float(norms.mean()), 10, 0.1)
    within(bar, "T13 mean squared norm", float((norms**2).mean()), 110, 1.6)
    scale = ball_scale(10, 1.0, 1e-6)
    rms = scale * 110**0.5
    within(bar, "T13 root mean square norm at (1, 1e-6)", rms, 9.61, 0.0961)
    within(bar, "T13 squared error over the Gaussian's", (rms / 13.36) ** 2, 0.52, 0.02)


@pytest.mark.parametrize(("kind", "wanted"), [(Exponential, 0.918), (PermuteAndFlip, 0.955)])
def test_the_best_of_ten_classifiers(kind: type[Exponential], wanted: float, bar: Bar) -> None:
    mechanism = kind(Fraction(1, 4), 10)  # epsilon 0.5 for scores that move by 1
    assert loss_of(mechanism.event(linf(1)), Measure.PURE).amount == Fraction(1, 2)
    chosen = released(mechanism, CLASSIFIERS, linf(1), 60_000)
    found = float((chosen == 0).mean())
    within(bar, f"T14 P(best) by {kind.__name__}", found, wanted, 0.005)


def test_randomised_response(bar: Bar) -> None:
    mechanism = RandomisedResponse(Fraction(2, 3), 2)
    loss = float(loss_of(mechanism.event(linf(1)), Measure.PURE).amount)
    within(bar, "T16 epsilon of telling the truth with 2/3", exp(loss), 2, 1e-12)
    people, runs = 1000, 40_000  # four standard errors of the bias are below 0.001
    truth = np.repeat([1, 0], [300, 700])
    door, everyone = gateway(), Secret(np.tile(truth, runs // 8))
    answers = [mechanism.release(everyone, linf(1), door) for _ in range(8)]
    shares = 3 * np.concatenate(answers).reshape(runs, people).mean(axis=1) - 1
    within(bar, "T16 bias of the estimate", float(shares.mean() - 0.3), 0, 0.001)
    within(bar, "T16 deviation of the estimate", float(shares.std()), 0.0447, 0.0009)


def rank_law(counts: Draws) -> np.ndarray:
    """The exact law of a median at epsilon 1: weights exp(-distance from the rank)."""
    up_to = np.cumsum(counts)
    middle = up_to[-1] / 2
    distance = np.maximum(np.maximum(up_to - counts - middle, middle - up_to), 0)
    weights = np.exp(-(distance - distance.min()))
    return weights / weights.sum()


def test_medians(bar: Bar) -> None:
    """T34: the exponential mechanism, and noise of the smooth sensitivity; laws, not draws."""
    rng = np.random.default_rng(34)
    steps, points, smoothing = 100, 100_001, Fraction(1, 6)
    grid = np.arange(points) / steps
    by_rank, by_smooth = [], []
    for _ in range(100):
        values = np.sort(np.round(np.clip(rng.normal(50, 10, 1001), 0, 1000) * steps))
        values = values.astype(np.int64)
        law = rank_law(np.bincount(values, minlength=points))
        by_rank.append(float(law @ (grid - values[500] / steps) ** 2))
        smooth = smooth_sensitivity(values, 0, points - 1, smoothing)
        by_smooth.append((float(max(smooth)) / steps) ** 2)
    error = float(np.mean(by_rank)) ** 0.5
    bar("T34 median at epsilon 1, error", error, "<= 0.06", error <= 0.06)
    # the deviation of Lomax noise with tail 7 is its scale over the root of 10
    scales = {"simple": 8.4, "exact": 6.697}
    ratios = {
        name: scale / 10**0.5 * float(np.mean(by_smooth)) ** 0.5 / error
        for name, scale in scales.items()
    }
    name = "T34 error of smooth sensitivity over it, simple scale"
    bar(name, ratios["simple"], ">= 5", ratios["simple"] >= 5)
    assert ratios["exact"] > 4


def test_keys(bar: Bar) -> None:
    keys = TruncatedGeometricKeys(Fraction(1), MICRO, 1)
    bar("T37 reach of the truncated law at (1, 1e-6)", keys.reach, "14", keys.reach == 14)
    for users, wanted in ((14, 0.269), (15, 0.731)):
        noisy = keys.release(Secret(np.full(200_000, users)), l2(1), gateway())
        found = float((noisy > 0).mean())
        within(bar, f"T37 published at {users} users", found, wanted, 0.005)
