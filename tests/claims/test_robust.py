"""Figures of robust statistics: T30, T32, T33 and T56 to T58, each with its lie."""

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from conftest import Bar

from tacit.core.domain import Bounds
from tacit.core.event import LaplaceNoise
from tacit.core.loss import Loss
from tacit.core.privacy_unit import Neighbours
from tacit.core.secret import Secret
from tacit.core.sensitivity import Sensitivity
from tacit.core.unseal import unseal
from tacit.errors import SecretMisuse
from tacit.mechanisms.gateway import Draw, LiveGateway
from tacit.noise.integers import Integers
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import SystemEntropy
from tacit.robust.influence import GrossErrorNoise, location
from tacit.robust.location import (
    DescentLocation,
    Huber,
    RobustLocation,
    SubsampleAggregate,
    Tukey,
)
from tacit.robust.means import (
    MEAN_STEPS,
    BoundedMean,
    ClippedMean,
    CoinPress,
    MeanAndVariance,
    tail_for,
)
from tacit.robust.quantiles import PublicCells

pytestmark = pytest.mark.claim

GATEWAY = LiveGateway(SystemEntropy(b"robust claims"))
REPLACE = Neighbours.REPLACE_ONE
RHO = Loss.zcdp("0.1")


def rms(errors: object) -> float:
    return float(np.sqrt(np.mean(np.square(errors))))  # type: ignore[arg-type]


def test_t30_a_mean_errs_by_the_noise_that_is_charged(bar: Bar) -> None:
    """RMSE sqrt(2) / 1000 at epsilon 1; 400,000 draws are within 1% but once in 10^8 runs."""
    (event,) = BoundedMean(Bounds.of(0, 1), Loss.pure(1), REPLACE).event().events
    assert isinstance(event, LaplaceNoise)
    noise = DiscreteLaplace(event.scale).draw(SystemEntropy(b"T30"), 400_000) / (2 * MEAN_STEPS)
    error, wanted = rms(noise / 1000), sqrt(2) / 1000
    name = "T30 error of a mean of 1,000 in [0, 1] at epsilon 1"
    bar(name, error, "0.001414 ± 1%", abs(error / wanted - 1) <= 0.01)
    # the lectures call 1 / (n epsilon) the standard deviation: that is the mean size
    bar("T30 the same over 1 / (n epsilon)", error * 1000, "not 1 ± 1%", error > 1.01e-3)


def test_t32_an_interval_of_the_population_has_the_noise_in_it(bar: Bar) -> None:
    """8,000 runs: bars are 6 deviations of a share from 95%."""
    rng, held, without = np.random.default_rng(32), 0, 0
    moments, runs = MeanAndVariance(Bounds.of(0, 1), Loss.zcdp("0.02"), REPLACE), 8000
    for _ in range(runs):
        mean, variance = moments.release(rng.normal(0.5, 0.15, 1000), GATEWAY)
        held += mean.holds(0.5)
        without += abs(mean.value - 0.5) <= 1.96 * sqrt(variance.value / 1000)
    share, lie = held / runs, without / runs
    bar("T32 coverage of a mean's interval", share, "93.5% to 96.5%", 0.935 <= share <= 0.965)
    bar("T32 the same without the noise", lie, "< 80%", lie < 0.8)


def test_t33_a_mean_without_known_bounds(bar: Bar) -> None:
    rng, bounds, size = np.random.default_rng(33), Bounds.of(0, 10**4), 5000
    cells = PublicCells(bounds, unit=Fraction(1))
    clipped = ClippedMean(cells, RHO, tail_for(size, cells, RHO), REPLACE)
    pressed, fixed = CoinPress(0.0, 5000.0, 15.0, RHO), BoundedMean(bounds, RHO, REPLACE)

    def error(statistic: ClippedMean | CoinPress | BoundedMean, runs: int) -> float:
        data = rng.normal(100, 15, (runs, size))
        return rms([statistic.release(each, GATEWAY).value - 100 for each in data])

    found = error(clipped, 30)
    bar("T33 mean clipped to private quantiles, error", found, "<= 1.3", found <= 1.3)
    # 1,500 runs are within 2% but rarely, and 0.24 is 12% above what is expected
    found = error(pressed, 1500)
    bar("T33 CoinPress, error; sampling alone is 0.212", found, "<= 0.24", found <= 0.24)
    lie = error(fixed, 300)
    bar("T33 a mean with the wide bounds, error", lie, "> 1.3", lie > 1.3)


def spoilt(rng: np.random.Generator, size: int) -> np.ndarray:
    """Values around 0, of which 5% are a million."""
    values = rng.normal(0, 1, size)
    values[: size // 20] = 1e6
    return values


def law_of(where: RobustLocation, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points and their probabilities by the exponential mechanism at epsilon 1.

    Under pure epsilon a location permutes and flips, which falls short by less in every case.
    """
    weights = np.exp(-where.lengths(values) / 2.0)
    ends = float(where.bounds.lower), float(where.bounds.upper)
    return np.linspace(*ends, where.points), weights / weights.sum()


@pytest.mark.parametrize("psi", [Huber(), Tukey()])
def test_t56_a_location_resists_poison(psi: Huber | Tukey, bar: Bar) -> None:
    """The private error over that of the exact estimator on the same data; laws, not draws."""
    rng, name = np.random.default_rng(56), type(psi).__name__
    bounds = Bounds.of(-50, 50) if isinstance(psi, Huber) else Bounds.of(-10, 10)
    where = RobustLocation(bounds, psi, 1.0, Loss.pure(1), points=2001)
    data = [spoilt(rng, 1000) for _ in range(40 if isinstance(psi, Huber) else 10)]
    squares = [float(law @ points**2) for points, law in (law_of(where, x) for x in data)]
    ours = sqrt(np.mean(squares))
    exact = rms([location(each, psi).for_the_owner for each in data])
    bar(f"T56 {name}, error over the exact one's", ours / exact, "<= 1.10", ours <= 1.1 * exact)
    assert abs(where.release(data[0], GATEWAY).value) < 1
    mean = BoundedMean(Bounds.of(-50, 50), Loss.pure(1), REPLACE)
    lie = rms([mean.release(each, GATEWAY).value for each in data])
    bar(f"T56 a private mean beside {name}, error", lie, "> 2: it fails", lie > 2)


def test_t57_noise_of_the_gross_error_sensitivity_is_refused(bar: Bar) -> None:
    lecture = GrossErrorNoise(1.0, 1e-6, Huber())
    left = np.repeat([-100.0, 100.0], [51, 50])
    apart = abs(location(left, Huber()).for_the_owner - location(-left, Huber()).for_the_owner)
    told = apart / lecture.deviation(left).for_the_owner
    bar("T57 neighbours apart in deviations of the lectures' noise", told, "129", told > 128)
    with pytest.raises(SecretMisuse, match="is not a private mechanism"):
        lecture.event()
    ours = RobustLocation(Bounds.of(-200, 200), Huber(), 1.0, Loss.pure(1), points=401)
    lengths = [ours.lengths(data) for data in (left, -left)]
    moved = int(abs(lengths[0] - lengths[1]).max())
    bar("T57 what the same neighbours move in ours", moved, "1", moved == 1)


class NoNoise:
    """A gateway of tests: the exact values come out."""

    def release(self, secret: Secret[Integers], _: Sensitivity, draw: Draw) -> Integers:
        del draw
        return unseal(secret)


def test_t58_descent_without_noise_is_hubers_location(bar: Bar) -> None:
    values = np.random.default_rng(0).normal(2, 1, 1000)
    exact = location(values, Huber()).for_the_owner
    descent = DescentLocation(Bounds.of(-50, 50), 1.345, RHO, steps=200)
    off = abs(descent.release(values, NoNoise()).value - exact)  # type: ignore[arg-type]
    bar("T58 descent without noise, off from Huber's", off, "<= 1e-8", off <= 1e-8)
    few = DescentLocation(Bounds.of(-50, 50), 1.345, RHO, steps=2)
    lie = abs(few.release(values, NoNoise()).value - exact)  # type: ignore[arg-type]
    bar("T58 two steps", lie, "> 1e-8", lie > 1e-8)


def test_any_estimator_at_all_by_blocks(bar: Bar) -> None:
    """The mid-range of the middle half, which has no formula here, on 200 blocks of 6,000."""
    rng = np.random.default_rng(61)

    def hinges(block: np.ndarray) -> float:
        return float(np.quantile(block, [0.25, 0.75]).mean())

    where = RobustLocation(
        Bounds.of(0, 100), Huber(), scale=2.0, loss=Loss.pure(1), points=2001
    )
    private = SubsampleAggregate(hinges, 200, where)
    data = rng.normal(40, 10, (40, 6000))
    ours = rms([private.release(each, GATEWAY).value - 40 for each in data])
    exact = rms([hinges(each) - 40 for each in data])
    bar(
        "subsample and aggregate, error over the exact one's",
        ours / exact,
        "<= 3",
        ours <= 3 * exact,
    )
