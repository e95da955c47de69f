"""Every statistic on generated neighbours: what its noise hides moves as far as it says."""

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tacit.accounting.pricing import loss_of
from tacit.audit.replay import BrokenPromise, RecordingGateway, ReplayingGateway
from tacit.core.domain import Bounds
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy
from tacit.robust import location as robust_location
from tacit.robust.estimate import NoisySum
from tacit.robust.location import (
    DescentLocation,
    Huber,
    RobustLocation,
    SubsampleAggregate,
    Tukey,
)
from tacit.robust.means import BoundedMean, ClippedMean, CoinPress, MeanAndVariance
from tacit.robust.quantiles import PublicCells, Quantiles
from tacit.robust.trimmed_mean import TrimmedMean

AR, CO = Neighbours.ADD_REMOVE, Neighbours.REPLACE_ONE
RHO, EPSILON = Loss.zcdp("0.1"), Loss.pure(1)
WIDE = Bounds.of(-5, 20)
CELLS = PublicCells(WIDE, 64)
HALF = Fraction(1, 2)


def location(psi: Huber | Tukey, loss: Loss) -> RobustLocation:
    return RobustLocation(WIDE, psi, 1.0, loss, points=41)


ALL: dict[str, tuple[Any, tuple[Neighbours, ...]]] = {
    "mean, units come and go": (BoundedMean(WIDE, RHO, AR), (AR,)),
    "mean, one replaced": (BoundedMean(WIDE, EPSILON, CO), (CO,)),
    "moments, units come and go": (MeanAndVariance(WIDE, RHO, AR), (AR,)),
    "moments, one replaced": (MeanAndVariance(WIDE, EPSILON, CO), (CO,)),
    "quantiles, units come and go": (Quantiles(CELLS, RHO, (HALF, HALF / 2), AR), (AR,)),
    "median, one replaced": (Quantiles(CELLS, EPSILON, (HALF,), CO), (CO,)),
    "clipped mean, units come and go": (ClippedMean(CELLS, RHO, HALF / 5, AR), (AR,)),
    "clipped mean, one replaced": (ClippedMean(CELLS, EPSILON, HALF / 5, CO), (CO,)),
    "coin press": (CoinPress(0.0, 50.0, 2.0, RHO), (CO,)),
    "trimmed mean": (TrimmedMean(WIDE, HALF / 5, EPSILON), (CO,)),
    "median by smooth sensitivity": (TrimmedMean(WIDE, HALF, RHO), (CO,)),
    "Huber's location": (location(Huber(), EPSILON), (AR, CO)),
    "Tukey's location": (location(Tukey(), RHO), (AR, CO)),
    "descent": (DescentLocation(WIDE, 1.345, RHO, steps=5), (CO,)),
    "subsample": (SubsampleAggregate(np.median, 7, location(Huber(), EPSILON)), (CO,)),
}
"""By name: a statistic, and the neighbours for which it makes its promise."""

PAIRS = 20
STRANGE = (1e308, -1e308, float("nan"), float("inf"), -5.0, 20.0, 7.5)


def pairs(neighbours: Neighbours, count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Values and a neighbour of them: near, tied, far away, and no numbers at all."""
    rng = np.random.default_rng(9)
    for number in range(count):
        size = int(rng.integers(1, 40))
        values = np.round(rng.normal(5, 3, size), int(rng.integers(0, 3)))
        far = rng.random(size) < rng.choice([0, 0.1, 0.5])
        values[far] = rng.choice(STRANGE, int(far.sum()))
        new = rng.choice(STRANGE) if number % 2 else float(rng.normal(5, 3))
        other = np.append(values, new)
        if neighbours is CO:
            other = values.copy()
            other[int(rng.integers(size))] = new
        yield values, other


def replay(statistic: Any, neighbours: Neighbours, count: int = PAIRS) -> None:
    for values, other in pairs(neighbours, count):
        recorded = RecordingGateway(SystemEntropy(b"pairs"))
        first = statistic.release(values, recorded)
        again = ReplayingGateway(recorded.calls)
        # what is printed is a function of the releases alone, and of public facts
        assert repr(statistic.release(other, again)) == repr(first)
        again.finish()


@pytest.mark.parametrize("name", ALL)
def test_neighbours_show_in_nothing_but_noise(name: str) -> None:
    statistic, relations = ALL[name]
    for neighbours in relations:
        replay(statistic, neighbours)


@pytest.mark.parametrize("name", ALL)
def test_the_price_is_known_before_and_within_the_loss(name: str) -> None:
    statistic, _ = ALL[name]
    loss = getattr(statistic, "loss", EPSILON)
    spent = loss_of(statistic.event(), loss.measure)
    assert 0.95 * loss.amount <= spent.amount <= loss.amount
    assert spent <= loss


def test_a_mean_of_the_other_relation_is_caught() -> None:
    with pytest.raises(BrokenPromise):
        replay(replace(ALL["mean, units come and go"][0], neighbours=AR), CO)
    with pytest.raises((BrokenPromise, AssertionError)):
        replay(ALL["mean, one replaced"][0], AR)


class HalfTheNoise(DescentLocation):
    """The lectures' certificate: B for a residual that becomes another, not 2B."""

    def _sum(self) -> NoisySum:
        each = self.loss.part(Fraction(1, self.steps))
        return NoisySum.within(
            each, Fraction(robust_location.TURN) ** 2, "half of what it needs"
        )


class ObservedBounds(BoundedMean):
    """The range of the values at hand as if it were public."""

    def release(self, values: Any, gateway: Any) -> Any:
        inside = np.clip(np.nan_to_num(values), -5, 20)
        return BoundedMean(
            Bounds.of(float(inside.min()), float(inside.max()) + 1), self.loss, CO
        ).release(values, gateway)


@pytest.mark.parametrize(
    "lie", [HalfTheNoise(WIDE, 1.345, RHO, steps=5), ObservedBounds(WIDE, RHO, CO)]
)
def test_half_the_noise_and_observed_bounds_are_caught(lie: Any) -> None:
    with pytest.raises((BrokenPromise, AssertionError)):
        replay(lie, CO, 200)


@pytest.mark.parametrize("name", ALL)
def test_nobody_at_all_is_answered_too(name: str) -> None:
    statistic, relations = ALL[name]
    if AR in relations:
        statistic.release(np.array([]), LiveGateway(SystemEntropy(b"nobody")))
