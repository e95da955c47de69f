"""Accounting of DP-SGD: Gaussian noise on secret Poisson samples, repeated many times.

`LossGrid` is a privacy loss distribution on a grid of losses, and composes by Fourier
transforms. A loss between two grid points is split over both, such that the mass of neither
neighbour changes; this can only make the two neighbours easier to distinguish, so the result is
an upper bound. `SampledGaussian` is the privacy curve of the repeated subsampled Gaussian
mechanism, and `SampledDescent` holds the public settings of a DP-SGD run.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, expm1, floor, inf, log, log1p, log2, sqrt

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import least_that
from tacit.core import Event, Loss, Measure, RealGaussianNoise, Repeated, Sampled
from tacit.errors import InvalidValue
from tacit.noise import Bernoulli, Integers
from tacit.numeric import Number, exact, sqrt_bounds
from tacit.numeric.entropy import Entropy

Floats = NDArray[np.float64]

Tail = Callable[[float], float]
"""A function from a number to the probability mass on one side of it."""

STEP = 1e-4
"""The distance between two losses of the grid."""

TAIL = 1e-14
"""The mass that may lie outside the window in which sums of losses are computed.

It is added to delta.
"""

ROUNDING = 2.0**-50
"""A bound on the rounding error of a fast Fourier transform, per level."""


SLOPES = [2.0 ** (half / 2) for half in range(-10, 21)]
"""The parameters of Chernoff's bound that are tried for the window of summed losses."""


@dataclass(frozen=True, slots=True, eq=False)
class LossGrid:
    """A privacy loss distribution: masses of the losses ``(first + i) * STEP``.

    ``outright`` is the mass of infinite loss: outputs that reveal the neighbour with certainty.

    Reference: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022 (connecting the dots); Koskela,
    Jälkö, Honkela 2020 (sums by Fourier transforms).
    """

    first: int
    masses: Floats
    outright: float

    @classmethod
    def between(
        cls, first: int, likely: Floats, unlikely: Floats, below: float, outright: float
    ) -> "LossGrid":
        """Build the distribution from the masses of two neighbours between grid points.

        The grid points are ``first`` and those after it. ``likely`` are the masses of the
        neighbour whose loss is described, and ``unlikely`` those of the other. ``below`` and
        ``outright`` are the masses of the former below and above all grid points.
        """
        lower = np.exp(STEP * (first + np.arange(likely.size)))
        upper = np.clip((likely - unlikely * lower) / -expm1(-STEP), 0, likely)
        masses = np.append(likely - upper, 0.0) + np.append(below, upper)
        return cls(first, masses, outright)

    def self_compose(self, times: int) -> "LossGrid":
        """Return the distribution of the sum of ``times`` independent losses.

        Mass that the window may miss counts as infinite loss.
        """
        low, high = (sign * self._reach(times, sign) for sign in (-1, 1))
        size = 1 << (high - low).bit_length()  # a power of two, for a fast Fourier transform
        masses = np.zeros(size)
        np.add.at(masses, np.arange(self.masses.size) % size, self.masses)
        turned = np.fft.irfft(np.fft.rfft(masses) ** times, size)
        # the convolution is circular, and the sum of the lowest losses is at index 0
        found = np.roll(turned, times * self.first - low)
        room = ROUNDING * log2(size) * times * sqrt(size * float(np.sum(self.masses**2)))
        outright = -expm1(times * log1p(-self.outright)) + TAIL + room
        return LossGrid(low, np.maximum(found, 0), outright)

    repeated = self_compose
    """Another name of `self_compose`, for code that was written with it."""

    def delta_at(self, epsilon: float) -> float:
        """Return the delta at ``epsilon`` (the hockey-stick divergence)."""
        losses = STEP * (self.first + np.arange(self.masses.size))
        above = losses > epsilon
        part = self.masses[above] * -np.expm1(epsilon - losses[above])
        return float(min(1.0, part.sum() * (1 + 1e-12) + self.outright))

    def _reach(self, times: int, sign: int) -> int:
        """Return the number of steps above (or below) 0 that a sum of losses rarely exceeds.

        Reference: Chernoff's bound; it holds at every slope, and the best of a few is used.
        """
        losses = sign * STEP * (self.first + np.arange(self.masses.size))
        tops = [times * float(losses.max())]
        for slope in SLOPES:
            grown = float(np.log(self.masses @ np.exp(slope * (losses - losses.max()))))
            tops.append(times * (grown / slope + float(losses.max())) - log(TAIL / 2) / slope)
        return ceil(min(tops) / STEP)


def cells(edges: Floats, below: Tail, above: Tail) -> Floats:
    """Return the mass between adjacent edges, from the smaller tail to keep precision."""
    under, over = (np.array([tail(edge) for edge in edges]) for tail in (below, above))
    return np.maximum(np.where(under[1:] < over[:-1], np.diff(under), -np.diff(over)), 0)


# ------------------------------------------------------------------ subsampled Gaussian

EPSILON_UNIT = Fraction(1, 10**5)
"""The unit to which an epsilon of the curve is rounded up."""

LEAST_SCALE = Fraction(3, 10)
"""The smallest ratio of noise to sensitivity; below it, sampling protects nobody."""

REACH = 10
"""The range of the grid in standard deviations of noise; beyond it, the loss is infinite."""


@dataclass(frozen=True, slots=True)
class SampledGaussian:
    """Real Gaussian noise on sums over Poisson samples, repeated ``times`` times.

    ``scale`` is the standard deviation of the noise divided by the sensitivity of the sum. Each
    unit is in each sample with ``probability``, and neighbours differ in one added or removed
    unit.

    Guarantee: deltas are rounded up. The curve is for all repetitions together, where each may
    depend on earlier releases. The settings are fixed in advance.
    Reference: Zhu, Dong, Wang 2022, theorem 11 (the two pairs that dominate a sample).

    Example:
        >>> whole = SampledGaussian(Fraction(1), Fraction(4), 1)
        >>> round(whole.delta_at(1.0) * 1e6, 3)  # as that of Gaussian noise alone
        2.924
    """

    probability: Fraction
    scale: Fraction
    times: int

    def __post_init__(self) -> None:
        if not (0 < self.probability <= 1 and self.scale >= LEAST_SCALE and self.times > 0):
            raise InvalidValue(
                "Sampling needs a probability above 0 and up to 1, at least 1 repetition, and "
                f"noise of at least {LEAST_SCALE} times the sensitivity; "
                f"{self.probability}, {self.times} and {float(self.scale):.3g} were given."
            )

    @classmethod
    def of(cls, event: Event) -> "SampledGaussian":
        """Return the curve of an event: Gaussian noise on a sample, repeated."""
        match event:
            case Repeated(Sampled(RealGaussianNoise(square, variance), probability), times):
                return cls(probability, sqrt_bounds(variance / square)[0], times)
        raise InvalidValue(
            "This curve is for repeated real Gaussian noise on a sample, and not for a "
            f"{type(event).__name__}."
        )

    def delta_at(self, epsilon: float) -> float:
        """Return the delta at ``epsilon``, for both adding and removing a unit."""
        return max(grid.delta_at(epsilon) for grid in _together(self))

    def epsilon_at(self, delta: float) -> Fraction:
        """Return the smallest epsilon at ``delta``, rounded up.

        Example:
            >>> epochs = SampledGaussian(Fraction(1, 100), Fraction(1), 100)
            >>> round(float(epochs.epsilon_at(1e-5)), 2)
            0.72
        """
        lost = max(grid.outright for grid in _together(self))
        if not lost < delta < 1:
            raise InvalidValue(
                f"The delta must be above {lost:.2g} and below 1, but {delta} was given."
            )
        return least_that(lambda found: self.delta_at(float(found)) <= delta, EPSILON_UNIT)


@lru_cache(maxsize=16)
def _together(law: SampledGaussian) -> tuple[LossGrid, LossGrid]:
    """Return the composed loss distributions for removing and for adding a unit.

    Removing a unit turns a mixture of noise around 0 and noise around 1 into noise around 0.
    The loss increases with the released value, so the cells of the grid are intervals of this
    value. Adding a unit is the reverse.
    """
    chance, scale = float(law.probability), float(law.scale)

    def normal(value: float) -> float:
        return erfc(-value / (scale * sqrt(2))) / 2

    def mixture_below(value: float) -> float:
        return (1 - chance) * normal(value) + chance * normal(value - 1)

    def mixture_above(value: float) -> float:
        return (1 - chance) * normal(-value) + chance * normal(1 - value)

    def loss(value: float) -> float:
        return log1p(chance * expm1((2 * value - 1) / (2 * scale**2)))

    def place(loss: float) -> float:
        inside = 1 + expm1(loss) / chance
        return scale**2 * log(inside) + 0.5 if inside > 0 else -inf

    first, last = floor(loss(-REACH * scale) / STEP), ceil(loss(1 + REACH * scale) / STEP)
    edges = np.array([place(STEP * number) for number in range(first, last + 1)])
    mixture = cells(edges, mixture_below, mixture_above)
    noise = cells(edges, normal, lambda value: normal(-value))
    removed = LossGrid.between(
        first, mixture, noise, mixture_below(edges[0]), mixture_above(edges[-1])
    )
    added = LossGrid.between(
        -last, noise[::-1], mixture[::-1], normal(-edges[-1]), normal(edges[0])
    )
    return removed.self_compose(law.times), added.self_compose(law.times)


# ------------------------------------------------------------------ settings of DP-SGD

NOISE_UNIT = Fraction(1, 100)
"""The unit to which calibrated noise is rounded up."""


@dataclass(frozen=True, slots=True)
class SampledDescent:
    """DP-SGD: ``steps`` steps, each on a sample that contains a unit with ``probability``.

    The gradient of each unit in the sample is clipped to the norm ``clip``. Their sum gets
    Gaussian noise with standard deviation ``noise`` times the clip, and is divided by
    ``expected``, the expected number of units in a sample. All settings are public, and none
    depends on a batch.

    Guarantee: ``loss(delta)`` bounds the privacy loss of all noisy sums together, for one unit
    that is added or removed. It is idealised: samples must stay secret, and noise is real.
    Reference: Abadi, Chu, Goodfellow, McMahan, Mironov, Talwar, Zhang 2016, algorithm 1.

    Example:
        >>> descent = SampledDescent(
        ...     Fraction(1, 100), steps=100, expected=50, noise=Fraction(1)
        ... )
        >>> descent.event().numerics
        <Numerics.IDEALISED: 'idealised'>
        >>> print(descent.loss(1e-5))
        ε = 0.71804, δ = 0.00001
    """

    probability: Fraction
    steps: int
    expected: int
    noise: Fraction
    clip: float = 1.0

    def __post_init__(self) -> None:
        _ = self.law  # raises if a setting is out of range
        if self.expected < 1 or not self.clip > 0:
            raise InvalidValue(
                "The expected number of units in a sample must be at least 1 and the clip "
                f"above 0, but {self.expected} and {self.clip} were given."
            )

    @classmethod
    def within(
        cls, loss: Loss, probability: Number, *, steps: int, expected: int, clip: float = 1.0
    ) -> "SampledDescent":
        """Return the descent with the least noise within ``loss``, in units of `NOISE_UNIT`."""
        if loss.measure is not Measure.APPROXIMATE or not (loss.amount and loss.delta):
            raise InvalidValue(
                "Sampled descent needs a loss with an epsilon and a delta, both above 0, but "
                f"{loss} was given."
            )
        one = cls(exact(probability), steps, expected, Fraction(1), clip)

        def stays(noise: Fraction) -> bool:
            return noise >= LEAST_SCALE and replace(one, noise=noise).law.delta_at(
                float(loss.amount)
            ) <= float(loss.delta)

        return replace(one, noise=least_that(stays, NOISE_UNIT))

    def event(self) -> Repeated:
        """Describe the releases: Gaussian noise on a sample in each step, in units of clip."""
        sums = RealGaussianNoise(Fraction(1), self.noise**2)
        return Repeated(Sampled(sums, self.probability), self.steps)

    @property
    def law(self) -> SampledGaussian:
        """The privacy curve of all steps together."""
        return SampledGaussian.of(self.event())

    def loss(self, delta: Number) -> Loss:
        """Return the loss of all steps together, at ``delta``."""
        return Loss.approximate(self.law.epsilon_at(float(exact(delta))), delta)

    def samples(self, units: int, entropy: Entropy) -> Iterator[Integers]:
        """Yield the indices of the units in the sample of each step (Poisson sampling).

        Guarantee: the coin flips are exact and independent. Samples are secret, and so is
        their size.
        """
        coin = Bernoulli(self.probability)
        for _ in range(self.steps):
            yield np.flatnonzero(coin.draw(entropy, units))
