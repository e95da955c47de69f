"""Privacy events: descriptions of what mechanisms did, for the accountant.

An event describes a release and does not price it. The privacy loss of ``LaplaceNoise`` is
computed by `tacit.accounting`, which may find a tighter bound later. A ledger stores events
forever, so **the meaning of an event never changes**: new behaviour gets a new class and a new
name in `tacit.core.codec`. An event is public: it holds parameters, and nothing that was
learned from data.

There are three kinds of events. A leaf describes what one mechanism did. ``Composed``,
``Repeated`` and ``Sampled`` combine other events. ``Nothing`` is a release without data.
"""

from dataclasses import dataclass, fields, replace
from enum import Enum
from fractions import Fraction
from typing import ClassVar

from tacit.errors import InvalidValue


class Numerics(Enum):
    """Whether the noise has exactly the distribution of the proof, or only approximately."""

    EXACT = "exact"
    IDEALISED = "idealised"


@dataclass(frozen=True, slots=True)
class Event:
    """The base class of all events."""

    law: ClassVar[Numerics] = Numerics.EXACT

    @property
    def numerics(self) -> Numerics:
        """Whether the noise is exact or idealised; exact by default."""
        return self.law


@dataclass(frozen=True, slots=True)
class Nothing(Event):
    """A release that does not depend on the data."""


@dataclass(frozen=True, slots=True)
class Composed(Event):
    """Adaptive composition: each event may have been chosen after the previous releases."""

    events: tuple[Event, ...]

    @property
    def numerics(self) -> Numerics:
        """`Numerics.EXACT` if the noise of all composed events is exact, else idealised."""
        idealised = any(event.numerics is Numerics.IDEALISED for event in self.events)
        return Numerics.IDEALISED if idealised else Numerics.EXACT


@dataclass(frozen=True, slots=True)
class Repeated(Event):
    """An event that is repeated ``times`` times; it is short for `Composed`."""

    event: Event
    times: int

    def __post_init__(self) -> None:
        if self.times < 0:
            raise InvalidValue(
                f"An event must be repeated 0 times or more, but times={self.times} was given."
            )

    @property
    def numerics(self) -> Numerics:
        """Whether the noise of the inner event is exact or idealised."""
        return self.event.numerics


@dataclass(frozen=True, slots=True)
class Sampled(Event):
    """An event on a secret sample, in which each unit is independently with ``probability``."""

    event: Event
    probability: Fraction

    def __post_init__(self) -> None:
        if not 0 <= self.probability <= 1:
            raise InvalidValue(
                f"A probability must be in [0, 1], but {self.probability} was given."
            )

    @property
    def numerics(self) -> Numerics:
        """Whether the noise of the inner event is exact or idealised."""
        return self.event.numerics


def at_least_zero(**values: Fraction) -> None:
    """Raise for a field below 0; the error names the field."""
    for name, value in values.items():
        if value < 0:
            raise InvalidValue(f"{name} must be at least 0, but {value} was given.")


def above_zero(**values: Fraction) -> None:
    """Raise for a field of 0 or below; the error names the field."""
    for name, value in values.items():
        if value <= 0:
            raise InvalidValue(f"{name} must be above 0, but {value} was given.")


# ------------------------------------------------------------------ additive noise


@dataclass(frozen=True, slots=True)
class LaplaceNoise(Event):
    """Integers of L1 sensitivity ``sensitivity``, with discrete Laplace noise on each.

    The noise is independent, with P(y) proportional to exp(-abs(y) / scale).
    """

    sensitivity: Fraction
    scale: Fraction

    def __post_init__(self) -> None:
        at_least_zero(sensitivity=self.sensitivity)
        above_zero(scale=self.scale)


@dataclass(frozen=True, slots=True)
class GaussianNoise(Event):
    """Integers of squared L2 sensitivity ``sensitivity_square``, with discrete Gaussian noise.

    The noise is independent on each, with P(y) proportional to exp(-y**2 / (2 * variance)).
    """

    sensitivity_square: Fraction
    variance: Fraction

    def __post_init__(self) -> None:
        at_least_zero(sensitivity_square=self.sensitivity_square)
        above_zero(variance=self.variance)


@dataclass(frozen=True, slots=True)
class RealGaussianNoise(Event):
    """A real vector of squared L2 sensitivity ``sensitivity_square``, with Gaussian noise.

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
    """One integer of sensitivity ``sensitivity``, with Laplace noise truncated at ``reach``.

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
    """A real vector of squared L2 sensitivity ``sensitivity_square``, with L2 noise.

    The noise has a density proportional to exp(-norm2(z) / scale): its norm is
    Gamma(dimensions, scale), and its direction is uniform.
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
    """Integers of L-infinity sensitivity ``sensitivity``, with L-infinity noise.

    The noise is an integer vector with P(z) proportional to exp(-max(abs(z)) / scale).
    """

    sensitivity: Fraction
    scale: Fraction
    dimensions: int

    def __post_init__(self) -> None:
        at_least_zero(sensitivity=self.sensitivity)
        above_zero(scale=self.scale, dimensions=Fraction(self.dimensions))


# ------------------------------------------------------------------ time


@dataclass(frozen=True, slots=True)
class DelayNoise(Event):
    """The time at which an answer leaves, in steps of ``step_ms`` milliseconds, with a delay.

    One unit moves the time from the start to the result, rounded up to steps, by at most one
    step. The delay is a public constant plus an integer z, with P(z) proportional to
    exp(-z**2 / (2 * variance)) for abs(z) <= reach. The reach is at least the square root of
    the variance.
    """

    variance: Fraction
    reach: int
    step_ms: Fraction

    def __post_init__(self) -> None:
        above_zero(variance=self.variance, step_ms=self.step_ms)
        if self.reach < 1 or self.reach**2 < self.variance:
            raise InvalidValue(
                "The reach of a delay must be at least 1 and at least the square root of its "
                f"variance, but {self.reach} was given."
            )


# ------------------------------------------------------------------ selection


@dataclass(frozen=True, slots=True)
class ExponentialSelection(Event):
    """The selection of a candidate with the bounded range ``epsilon``.

    Between neighbours, log(P(r) / P'(r)) is in an interval of length ``epsilon``, which is the
    same for all candidates r (bounded range). For the exponential mechanism with weights
    exp(rate * score), epsilon is 2 * rate * sensitivity, and half of it if one unit changes all
    scores in the same direction.
    """

    epsilon: Fraction

    def __post_init__(self) -> None:
        at_least_zero(epsilon=self.epsilon)


@dataclass(frozen=True, slots=True)
class PermuteAndFlipSelection(Event):
    """The selection of a candidate by permute and flip, without a bounded range."""

    epsilon: Fraction

    def __post_init__(self) -> None:
        at_least_zero(epsilon=self.epsilon)


@dataclass(frozen=True, slots=True)
class RandomisedResponseEvent(Event):
    """Randomised response: the true answer with probability ``truth``, else any other.

    There are ``choices`` possible answers.
    """

    truth: Fraction
    choices: int

    def __post_init__(self) -> None:
        if self.choices < 2:  # noqa: PLR2004 - with one choice, an answer says nothing
            raise InvalidValue(
                f"An answer must have 2 choices or more, but {self.choices} were given."
            )
        if not Fraction(1, self.choices) <= self.truth < 1:
            raise InvalidValue(
                f"truth must be a probability from 1/{self.choices} to below 1, "
                f"but {self.truth} was given."
            )


@dataclass(frozen=True, slots=True)
class KeySelection(Event):
    """The selection of keys that occur, each at (epsilon, delta), for up to ``max_keys`` keys.

    ``max_keys`` is the largest number of keys of one unit.
    """

    epsilon: Fraction
    delta: Fraction
    max_keys: int

    def __post_init__(self) -> None:
        at_least_zero(epsilon=self.epsilon, delta=self.delta)
        above_zero(max_keys=Fraction(self.max_keys))


@dataclass(frozen=True, slots=True)
class AboveThreshold(Event):
    """The sparse vector technique: which queries are above a threshold, up to a number of them.

    The threshold has Laplace noise worth ``threshold_epsilon``, which is drawn once. All
    queries above the threshold together cost ``query_epsilon``.
    """

    threshold_epsilon: Fraction
    query_epsilon: Fraction

    def __post_init__(self) -> None:
        at_least_zero(
            threshold_epsilon=self.threshold_epsilon, query_epsilon=self.query_epsilon
        )


# ------------------------------------------------------------------ smooth sensitivity
# The noise of these mechanisms is scaled to the smooth sensitivity of the data.


@dataclass(frozen=True, slots=True)
class LomaxNoise(Event):
    """A number with two-sided Lomax noise scaled to a smooth sensitivity: pure ``epsilon``.

    The density is proportional to (1 + abs(z) / s)**(-1 - epsilon / smoothing), where s is the
    smooth sensitivity times a factor that depends only on ``epsilon`` and ``smoothing``. The
    smooth sensitivities of neighbours differ by a factor of at most exp(smoothing).
    """

    epsilon: Fraction
    smoothing: Fraction

    def __post_init__(self) -> None:
        above_zero(epsilon=self.epsilon, smoothing=self.smoothing)
        if self.smoothing >= self.epsilon:
            raise InvalidValue("Lomax noise needs a smoothing below epsilon.")


@dataclass(frozen=True, slots=True)
class StudentNoise(Event):
    """A number with Student's t noise, scaled to smooth sensitivity / ``rate``."""

    law: ClassVar[Numerics] = Numerics.IDEALISED

    degrees: int
    smoothing: Fraction
    rate: Fraction

    def __post_init__(self) -> None:
        above_zero(degrees=Fraction(self.degrees), smoothing=self.smoothing, rate=self.rate)


@dataclass(frozen=True, slots=True)
class SmoothLaplaceNoise(Event):
    """A number with Laplace noise, whose scale is ``factor`` times its smooth sensitivity."""

    law: ClassVar[Numerics] = Numerics.IDEALISED

    factor: Fraction
    smoothing: Fraction

    def __post_init__(self) -> None:
        above_zero(factor=self.factor, smoothing=self.smoothing)


@dataclass(frozen=True, slots=True)
class ProposeTestReleaseEvent(Event):
    """Propose-test-release: a noisy test of a proposed bound, and a release with that bound.

    The test costs ``test_epsilon`` and errs with probability ``delta``. The release costs
    ``release_epsilon``.
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


# ------------------------------------------------------------------ second versions
# An event that stands in a ledger keeps its price. The pure events above are priced in rho as
# any pure mechanism of their epsilon was priced in version 0.1.0, by epsilon**2 / 2. The events
# below describe the same releases, and `tacit.accounting.concentrated_loss` prices each by a
# curve of its own. Mechanisms state these. Their other losses, such as epsilon, are the same.


@dataclass(frozen=True, slots=True)
class LaplaceNoiseV2(LaplaceNoise):
    """`LaplaceNoise`, priced by the curve of the discrete law for its sensitivity and scale.

    Each number is an integer, and so is the amount by which one unit moves it.
    """


@dataclass(frozen=True, slots=True)
class TruncatedLaplaceNoiseV2(TruncatedLaplaceNoise):
    """`TruncatedLaplaceNoise`, priced as `LaplaceNoiseV2` with the delta of the truncation."""


@dataclass(frozen=True, slots=True)
class BallNoiseV2(BallNoise):
    """`BallNoise`, priced as randomised response with its epsilon."""


@dataclass(frozen=True, slots=True)
class CubeNoiseV2(CubeNoise):
    """`CubeNoise`, priced as randomised response with its epsilon."""


@dataclass(frozen=True, slots=True)
class PermuteAndFlipSelectionV2(PermuteAndFlipSelection):
    """`PermuteAndFlipSelection`, priced as randomised response with its epsilon."""


@dataclass(frozen=True, slots=True)
class RandomisedResponseEventV2(RandomisedResponseEvent):
    """`RandomisedResponseEvent`, priced by its own curve for its number of choices."""


@dataclass(frozen=True, slots=True)
class KeySelectionV2(KeySelection):
    """`KeySelection`, each key of which is priced as randomised response with its epsilon."""


@dataclass(frozen=True, slots=True)
class AboveThresholdV2(AboveThreshold):
    """`AboveThreshold`, priced as randomised response with its epsilon."""


@dataclass(frozen=True, slots=True)
class LomaxNoiseV2(LomaxNoise):
    """`LomaxNoise`, priced as randomised response with its epsilon."""


@dataclass(frozen=True, slots=True)
class StudentNoiseV2(StudentNoise):
    """`StudentNoise`, priced as randomised response with its epsilon."""


@dataclass(frozen=True, slots=True)
class ProposeTestReleaseEventV2(ProposeTestReleaseEvent):
    """`ProposeTestReleaseEvent`, priced as randomised response with its epsilon."""


FIRST_VERSIONS: dict[type[Event], type[Event]] = {
    LaplaceNoiseV2: LaplaceNoise,
    TruncatedLaplaceNoiseV2: TruncatedLaplaceNoise,
    BallNoiseV2: BallNoise,
    CubeNoiseV2: CubeNoise,
    PermuteAndFlipSelectionV2: PermuteAndFlipSelection,
    RandomisedResponseEventV2: RandomisedResponseEvent,
    KeySelectionV2: KeySelection,
    AboveThresholdV2: AboveThreshold,
    LomaxNoiseV2: LomaxNoise,
    StudentNoiseV2: StudentNoise,
    ProposeTestReleaseEventV2: ProposeTestReleaseEvent,
}
"""The first version of each second one. Both have the same fields."""


def first_version(event: Event) -> Event:
    """Return ``event`` with the first version of each leaf, which describes the same release.

    Streams, fits and holdouts are identified by their first versions for ever, because some
    were before second versions existed.

    Example:
        >>> first_version(Repeated(PermuteAndFlipSelectionV2(Fraction(1, 10)), 52))
        Repeated(event=PermuteAndFlipSelection(epsilon=Fraction(1, 10)), times=52)
    """
    match event:
        case Composed(events):
            return Composed(tuple(first_version(part) for part in events))
        case Repeated() | Sampled():
            return replace(event, event=first_version(event.event))
    kind = FIRST_VERSIONS.get(type(event))
    if kind is None:
        return event
    return kind(**{each.name: getattr(event, each.name) for each in fields(event)})
