"""Events of mechanisms that add noise to numbers."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit.core.event import Event, Numerics, above_zero, at_least_zero


@dataclass(frozen=True, slots=True)
class LaplaceNoise(Event):
    """Integers moved by at most ``sensitivity`` in L1, with discrete Laplace noise on each.

    The noise is independent, with P(y) proportional to exp(-abs(y) / scale).
    """

    sensitivity: Fraction
    scale: Fraction

    def __post_init__(self) -> None:
        at_least_zero(sensitivity=self.sensitivity)
        above_zero(scale=self.scale)


@dataclass(frozen=True, slots=True)
class GaussianNoise(Event):
    """Integers moved by at most the root of ``sensitivity_square`` in L2, with Gaussian noise.

    The noise is independent on each, with P(y) proportional to exp(-y**2 / (2 * variance)).
    """

    sensitivity_square: Fraction
    variance: Fraction

    def __post_init__(self) -> None:
        at_least_zero(sensitivity_square=self.sensitivity_square)
        above_zero(variance=self.variance)


@dataclass(frozen=True, slots=True)
class RealGaussianNoise(Event):
    """A real vector moved by at most the root of ``sensitivity_square``, with Gaussian noise.

    The noise is independent on each number, with a density proportional to
    exp(-y**2 / (2 * variance)).
    """

    law: ClassVar[Numerics] = Numerics.IDEALISED

    sensitivity_square: Fraction
    variance: Fraction

    def __post_init__(self) -> None:
        at_least_zero(sensitivity_square=self.sensitivity_square)
        above_zero(variance=self.variance)


@dataclass(frozen=True, slots=True)
class TruncatedLaplaceNoise(Event):
    """One integer moved by at most ``sensitivity``, with Laplace noise up to ``reach``.

    The noise has P(y) proportional to exp(-abs(y) / scale) for the integers abs(y) <= reach.
    """

    sensitivity: Fraction
    scale: Fraction
    reach: int

    def __post_init__(self) -> None:
        at_least_zero(sensitivity=self.sensitivity, reach=Fraction(self.reach))
        above_zero(scale=self.scale)


@dataclass(frozen=True, slots=True)
class BallNoise(Event):
    """A real vector moved by at most the root of ``sensitivity_square`` in L2, with L2 noise.

    The noise has a density proportional to exp(-norm2(z) / scale) in so many dimensions: its
    norm is Gamma(dimensions, scale), and its direction uniform.
    """

    law: ClassVar[Numerics] = Numerics.IDEALISED

    sensitivity_square: Fraction
    scale: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        at_least_zero(sensitivity_square=self.sensitivity_square)
        above_zero(scale=self.scale, dimensions=Fraction(self.dimensions))


@dataclass(frozen=True, slots=True)
class CubeNoise(Event):
    """Integers moved by at most ``sensitivity`` in L-infinity, with L-infinity noise.

    The noise is an integer vector with P(z) proportional to exp(-max(abs(z)) / scale).
    """

    sensitivity: Fraction
    scale: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        at_least_zero(sensitivity=self.sensitivity)
        above_zero(scale=self.scale, dimensions=Fraction(self.dimensions))
