"""A privacy loss distribution on a grid of losses, and many of it, one after the other.

Losses are multiples of a step. A law that lies between two of them is split over both such that
neither neighbour's mass changes, which only makes the two easier to tell apart.
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
"""A number, to the mass on one side of it."""

STEP = 1e-4
"""Between two losses."""

TAIL = 1e-14
"""What may lie outside of the window that sums of losses are computed in; it is added."""

ROUNDING = 2.0**-50
"""Room for the rounding of a fast Fourier transform, for each of its levels."""


SLOPES = [2.0 ** (half / 2) for half in range(-10, 21)]
"""That are tried, to find such a window."""


@dataclass(frozen=True, slots=True, eq=False)
class LossGrid:
    """Masses of losses ``(first + i) * STEP``, and of what is told outright.

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
        """From what two neighbours have between grid points, ``first`` and those after it.

        ``likely`` is the mass of the one whose loss it is, and ``unlikely`` that of the other;
        ``below`` and ``outright`` are what the first has before and after all of them.
        """
        lower = np.exp(STEP * (first + np.arange(likely.size)))
        upper = np.clip((likely - unlikely * lower) / -expm1(-STEP), 0, likely)
        masses = np.append(likely - upper, 0.0) + np.append(below, upper)
        return cls(first, masses, outright)

    def repeated(self, times: int) -> "LossGrid":
        """The law of the sum of so many; what the window may miss counts as told outright."""
        low, high = (sign * self._reach(times, sign) for sign in (-1, 1))
        size = 1 << (high - low).bit_length()  # of which a Fourier transform is fast
        masses = np.zeros(size)
        np.add.at(masses, np.arange(self.masses.size) % size, self.masses)
        turned = np.fft.irfft(np.fft.rfft(masses) ** times, size)
        # on this circle the sum of all lowest losses stands at 0
        found = np.roll(turned, times * self.first - low)
        room = ROUNDING * log2(size) * times * sqrt(size * float(np.sum(self.masses**2)))
        outright = -expm1(times * log1p(-self.outright)) + TAIL + room
        return LossGrid(low, np.maximum(found, 0), outright)

    def delta_at(self, epsilon: float) -> float:
        """How much more one neighbour has than e to ``epsilon`` times the other."""
        losses = STEP * (self.first + np.arange(self.masses.size))
        above = losses > epsilon
        part = self.masses[above] * -np.expm1(epsilon - losses[above])
        return float(min(1.0, part.sum() * (1 + 1e-12) + self.outright))

    def _reach(self, times: int, sign: int) -> int:
        """So many steps up, or down, the sum of ``times`` hardly ever goes.

        Reference: Chernoff's bound; it holds at every slope, and the best of a few is taken.
        """
        losses = sign * STEP * (self.first + np.arange(self.masses.size))
        tops = [times * float(losses.max())]
        for slope in SLOPES:
            grown = float(np.log(self.masses @ np.exp(slope * (losses - losses.max()))))
            tops.append(times * (grown / slope + float(losses.max())) - log(TAIL / 2) / slope)
        return ceil(min(tops) / STEP)


def cells(edges: Floats, below: Tail, above: Tail) -> Floats:
    """The mass between each two edges, by the tail that is nearer, so that no digit is lost."""
    under, over = (np.array([tail(edge) for edge in edges]) for tail in (below, above))
    return np.maximum(np.where(under[1:] < over[:-1], np.diff(under), -np.diff(over)), 0)


# ------------------------------------------------------------------ sampled gaussian
# Gaussian noise on secret samples, again and again: what DP-SGD loses, fixed in advance.

EPSILON_UNIT = Fraction(1, 10**5)
"""An epsilon that is read off the curve is a multiple of this, rounded up."""

LEAST_SCALE = Fraction(3, 10)
"""Of noise over what one unit moves: below it a sample hides nobody."""

REACH = 10
"""Deviations of noise within which losses are told apart; what is beyond is told outright."""


@dataclass(frozen=True, slots=True)
class SampledGaussian:
    """Real Gaussian noise on a sum over a Poisson sample, so many ``times``.

    ``scale`` is the deviation of the noise over what one unit moves the sum by; each unit is in
    each sample with ``probability``, and neighbours differ by adding or removing one.

    Guarantee: deltas are rounded up. The curve is that of all times together, for steps that
    may look at what was released before; settings are fixed in advance.
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
                "Samples hold each unit with a probability above 0 and up to 1, are 1 or more, "
                f"and get noise of {LEAST_SCALE} or more of what a unit moves; "
                f"{self.probability}, {self.times} and {float(self.scale):.3g} were given."
            )

    @classmethod
    def of(cls, event: Event) -> "SampledGaussian":
        """The law of an event: one sample's noise, repeated."""
        match event:
            case Repeated(Sampled(RealGaussianNoise(square, variance), probability), times):
                return cls(probability, sqrt_bounds(variance / square)[0], times)
        raise InvalidValue(
            "A curve of samples is for real Gaussian noise on a sample, repeated, and not for "
            f"{type(event).__name__}."
        )

    def delta_at(self, epsilon: float) -> float:
        """The delta at ``epsilon``, for whoever is added and for whoever is removed."""
        return max(grid.delta_at(epsilon) for grid in _together(self))

    def epsilon_at(self, delta: float) -> Fraction:
        """The least epsilon within ``delta``, rounded up.

        Example:
            >>> epochs = SampledGaussian(Fraction(1, 100), Fraction(1), 100)
            >>> round(float(epochs.epsilon_at(1e-5)), 2)
            0.72
        """
        lost = max(grid.outright for grid in _together(self))
        if not lost < delta < 1:
            raise InvalidValue(
                f"An epsilon is found at a delta above {lost:.2g} and below 1, not {delta}."
            )
        return least_that(lambda found: self.delta_at(float(found)) <= delta, EPSILON_UNIT)


@lru_cache(maxsize=16)
def _together(law: SampledGaussian) -> tuple[LossGrid, LossGrid]:
    """The loss of all times, for one who is removed and for one who is added.

    One who is removed turns a mixture of noise about 0 and about 1 into noise about 0. Its loss
    rises with what is released, from edge to edge of the grid; one who is added goes back.
    """
    chance, scale = float(law.probability), float(law.scale)

    def normal(value: float) -> float:
        return erfc(-value / (scale * sqrt(2))) / 2

    def mixed(value: float) -> float:
        return (1 - chance) * normal(value) + chance * normal(value - 1)

    def mixed_above(value: float) -> float:
        return (1 - chance) * normal(-value) + chance * normal(1 - value)

    def loss(value: float) -> float:
        return log1p(chance * expm1((2 * value - 1) / (2 * scale**2)))

    def place(loss: float) -> float:
        inside = 1 + expm1(loss) / chance
        return scale**2 * log(inside) + 0.5 if inside > 0 else -inf

    first, last = floor(loss(-REACH * scale) / STEP), ceil(loss(1 + REACH * scale) / STEP)
    edges = np.array([place(STEP * number) for number in range(first, last + 1)])
    mixture = cells(edges, mixed, mixed_above)
    noise = cells(edges, normal, lambda value: normal(-value))
    removed = LossGrid.between(first, mixture, noise, mixed(edges[0]), mixed_above(edges[-1]))
    added = LossGrid.between(
        -last, noise[::-1], mixture[::-1], normal(-edges[-1]), normal(edges[0])
    )
    return removed.repeated(law.times), added.repeated(law.times)


# ------------------------------------------------------------------ sampled descent
# Noisy descent over secret samples (DP-SGD): its public settings, their event and loss.

NOISE_UNIT = Fraction(1, 100)
"""Noise that is solved for is a multiple of this, rounded up."""


@dataclass(frozen=True, slots=True)
class SampledDescent:
    """So many ``steps``, each on a sample that holds every unit with ``probability``.

    Of each unit in the sample the gradient is clipped to the norm ``clip``; their sum gets
    Gaussian noise of ``noise`` times the clip, and is divided by ``expected``, the number of
    units that one expects in a sample. All of these are public, and no batch decides about any.

    Guarantee: ``loss(delta)`` bounds what all noisy sums tell together about one unit that is
    added or removed, where samples stay secret and noise is real: idealised.
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
        _ = self.law  # refuses what is out of range
        if self.expected < 1 or not self.clip > 0:
            raise InvalidValue(
                "A sample is expected to hold 1 unit or more, and gradients are clipped to a "
                f"norm above 0; {self.expected} and {self.clip} were given."
            )

    @classmethod
    def within(
        cls, loss: Loss, probability: Number, *, steps: int, expected: int, clip: float = 1.0
    ) -> "SampledDescent":
        """With the least noise, to a hundredth of the clip, that stays within ``loss``."""
        if loss.measure is not Measure.APPROXIMATE or not (loss.amount and loss.delta):
            raise InvalidValue(
                f"Samples have a loss in epsilon with a delta, both above 0, and not {loss}."
            )
        one = cls(exact(probability), steps, expected, Fraction(1), clip)

        def stays(noise: Fraction) -> bool:
            return noise >= LEAST_SCALE and replace(one, noise=noise).law.delta_at(
                float(loss.amount)
            ) <= float(loss.delta)

        return replace(one, noise=least_that(stays, NOISE_UNIT))

    def event(self) -> Repeated:
        """Gaussian noise on a sample, for each step: norms are in clips."""
        sums = RealGaussianNoise(Fraction(1), self.noise**2)
        return Repeated(Sampled(sums, self.probability), self.steps)

    @property
    def law(self) -> SampledGaussian:
        """The curve of that event."""
        return SampledGaussian.of(self.event())

    def loss(self, delta: Number) -> Loss:
        """The epsilon of all steps together, at ``delta``."""
        return Loss.approximate(self.law.epsilon_at(float(exact(delta))), delta)

    def samples(self, units: int, entropy: Entropy) -> Iterator[Integers]:
        """The places of the units of each step's sample: each is in it by a coin of its own.

        Guarantee: coins are exact and independent. Samples are secret, and so is their size.
        """
        coin = Bernoulli(self.probability)
        for _ in range(self.steps):
            yield np.flatnonzero(coin.draw(entropy, units))
