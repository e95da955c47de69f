"""Gaussian noise on secret samples, again and again: what DP-SGD loses, fixed in advance."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil, erfc, expm1, floor, inf, log, log1p, sqrt

import numpy as np

from tacit.accounting.loss_grid import STEP, LossGrid, cells
from tacit.accounting.search import least_that
from tacit.core.event import Event, Repeated, Sampled
from tacit.core.noise_event import RealGaussianNoise
from tacit.errors import InvalidValue
from tacit.numeric.exact import sqrt_bounds

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
