"""What was done to the data, in the terms that an accountant needs.

An event describes and does not price: how much privacy ``LaplaceNoise`` gives up is a question
for `accounting`, which may find a better answer later. A ledger keeps events for ever, so **the
meaning of an event never changes**: new behaviour gets a new class and a new name in
`tacit.core.codec`. An event is public: it holds parameters, and nothing that was learned
from data.

There are three kinds: leaves, which say what one mechanism did and stand in
`tacit.core.event` and its neighbours; ``Composed``, ``Repeated`` and ``Sampled``, which
say how often and on whom; and ``Nothing``.
"""

from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from typing import ClassVar

from tacit.errors import InvalidValue


class Numerics(Enum):
    """Whether the noise that was drawn has exactly the law that the proof speaks of."""

    EXACT = "exact"
    IDEALISED = "idealised"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that was released. Leaves derive from this class."""

    law: ClassVar[Numerics] = Numerics.EXACT

    @property
    def numerics(self) -> Numerics:
        """Exact, unless a part of it is idealised."""
        return self.law


@dataclass(frozen=True, slots=True)
class Nothing(Event):
    """A release that does not depend on the data."""


@dataclass(frozen=True, slots=True)
class Composed(Event):
    """All of ``events``, each of which may have been chosen after the ones before were seen."""

    events: tuple[Event, ...]

    @property
    def numerics(self) -> Numerics:
        """Exact where all of them are."""
        idealised = any(event.numerics is Numerics.IDEALISED for event in self.events)
        return Numerics.IDEALISED if idealised else Numerics.EXACT


@dataclass(frozen=True, slots=True)
class Repeated(Event):
    """The same event ``times`` times: nothing but a shorter way to write it in `Composed`."""

    event: Event
    times: int

    def __post_init__(self) -> None:
        if self.times < 0:
            raise InvalidValue(
                f"An event is repeated 0 times or more, and times={self.times} was given."
            )

    @property
    def numerics(self) -> Numerics:
        """That of the event."""
        return self.event.numerics


@dataclass(frozen=True, slots=True)
class Sampled(Event):
    """The event on a secret sample that holds each unit independently with ``probability``."""

    event: Event
    probability: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise InvalidValue(
                f"A probability lies in [0, 1], and {self.probability} does not."
            )

    @property
    def numerics(self) -> Numerics:
        """That of the event."""
        return self.event.numerics


def at_least_zero(**values: Fraction) -> None:
    """Refuse a field below 0, by its name."""
    for name, value in values.items():
        if value < 0:
            raise InvalidValue(f"{name} is at least 0, and {value} was given.")


def above_zero(**values: Fraction) -> None:
    """Refuse a field of 0 or below, by its name."""
    for name, value in values.items():
        if value <= 0:
            raise InvalidValue(f"{name} is above 0, and {value} was given.")


# ------------------------------------------------------------------ noise event
# Events of mechanisms that add noise to numbers.


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


# ------------------------------------------------------------------ selection event
# Events of mechanisms that select.
#
# A candidate, a key, an answer, the first query above a bar.


@dataclass(frozen=True, slots=True)
class ExponentialSelection(Event):
    """One candidate, by weights whose logarithms one unit spreads by ``epsilon`` at most.

    Between neighbours, log(P(r) / P'(r)) lies in an interval of length ``epsilon``, the same
    for all candidates r (a bounded range). The exponential mechanism is this for rate * scores
    that each move by ``sensitivity``: epsilon = 2 * rate * sensitivity, and half of it where
    all scores move one way.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        at_least_zero(epsilon=self.epsilon)


@dataclass(frozen=True, slots=True)
class PermuteAndFlipSelection(Event):
    """One candidate by permute-and-flip: the same ``epsilon``, and no bounded range."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        at_least_zero(epsilon=self.epsilon)


@dataclass(frozen=True, slots=True)
class RandomisedResponseEvent(Event):
    """One answer out of ``choices``.

    The true one with probability ``truth``, else any other.
    """

    truth: Fraction
    choices: int

    def __post_init__(self) -> None:
        if self.choices < 2:  # noqa: PLR2004 - fewer is no answer
            raise InvalidValue(
                f"An answer has 2 choices or more, and {self.choices} were given."
            )
        if not Fraction(1, self.choices) <= self.truth < 1:
            raise InvalidValue(
                f"The truth is told with a probability from 1/{self.choices} to below 1, "
                f"and {self.truth} was given."
            )


@dataclass(frozen=True, slots=True)
class KeySelection(Event):
    """Which keys have rows, each at (epsilon, delta), for up to ``max_keys`` of a unit."""

    epsilon: Fraction
    delta: Fraction
    max_keys: int

    def __post_init__(self) -> None:
        at_least_zero(epsilon=self.epsilon, delta=self.delta)
        above_zero(max_keys=Fraction(self.max_keys))


@dataclass(frozen=True, slots=True)
class AboveThreshold(Event):
    """Which queries of a stream pass a threshold, until so many have: the sparse vector.

    The threshold has Laplace noise worth ``threshold_epsilon``, drawn once, and all passings
    together cost ``query_epsilon``.
    """

    threshold_epsilon: Fraction
    query_epsilon: Fraction

    def __post_init__(self) -> None:
        at_least_zero(
            threshold_epsilon=self.threshold_epsilon, query_epsilon=self.query_epsilon
        )


# ------------------------------------------------------------------ smooth event
# Events of mechanisms whose noise follows the data, smoothly.


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
class ProposeTestReleaseEvent(Event):
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
