"""Events of mechanisms whose noise follows the data, smoothly."""

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

from tacit.core.event import Event, Numerics, above_zero, at_least_zero
from tacit.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class LomaxNoise(Event):
    """A number with two-sided Lomax noise of a smooth sensitivity: pure ``epsilon``.

    The density is proportional to (1 + abs(z) / s)**(-1 - epsilon / smoothing), where s is the
    smooth sensitivity times a factor of ``epsilon`` and ``smoothing`` alone; neighbours' smooth
    sensitivities differ by a factor of exp(smoothing) at most.
    """

    epsilon: Fraction
    smoothing: Fraction

    def __post_init__(self) -> None:
        above_zero(epsilon=self.epsilon, smoothing=self.smoothing)
        if self.smoothing >= self.epsilon:
            raise InvalidValue("Lomax noise needs a smoothing below epsilon.")


@dataclass(frozen=True, slots=True)
class StudentNoise(Event):
    """A number with Student noise of so many degrees, times smooth sensitivity / ``rate``."""

    law: ClassVar[Numerics] = Numerics.IDEALISED

    degrees: int
    smoothing: Fraction
    rate: Fraction

    def __post_init__(self) -> None:
        above_zero(degrees=Fraction(self.degrees), smoothing=self.smoothing, rate=self.rate)


@dataclass(frozen=True, slots=True)
class SmoothLaplaceNoise(Event):
    """A number with Laplace noise of ``factor`` times its smooth sensitivity."""

    law: ClassVar[Numerics] = Numerics.IDEALISED

    factor: Fraction
    smoothing: Fraction

    def __post_init__(self) -> None:
        above_zero(factor=self.factor, smoothing=self.smoothing)


@dataclass(frozen=True, slots=True)
class ProposeTestRelease(Event):
    """A proposed bound, tested at Laplace distance, and a release with noise for that bound.

    The test costs ``test_epsilon`` and fails wrongly with probability ``delta``; the release
    costs ``release_epsilon``.
    """

    test_epsilon: Fraction
    release_epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        at_least_zero(
            test_epsilon=self.test_epsilon,
            release_epsilon=self.release_epsilon,
            delta=self.delta,
        )
