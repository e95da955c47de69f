"""The truncated Laplace mechanism: one integer, with noise that never passes a bound."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.core import Norm, Secret, Sensitivity, TruncatedLaplaceNoise, event
from tacit.errors import InvalidValue
from tacit.mechanisms import AddVector, Gateway, Laplace
from tacit.noise import DiscreteLaplace, Integers, TruncatedDiscreteLaplace, packed
from tacit.numeric import exp_bounds, log_bounds
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class TruncatedLaplace:
    """One integer with discrete Laplace noise that is cut at ``reach``.

    Guarantee: an integer of sensitivity d, released once, is (d / scale, delta)-private, where
    delta is the probability that the noise lies within d steps of one end of its reach: there
    the neighbour cannot follow. The interval of a release is certain, and not merely likely.
    Reference: Geng, Ding, Guo, Kumar 2020, theorem 1.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.L1, Rule("a person is counted once"))
        >>> TruncatedLaplace(Fraction(1), reach=14).event(one)
        TruncatedLaplaceNoise(sensitivity=Fraction(1, 1), scale=Fraction(1, 1), reach=14)
        >>> TruncatedLaplace(Fraction(1), reach=14).error(Fraction(1))
        Fraction(14, 1)
    """

    scale: Fraction
    reach: int

    def __post_init__(self) -> None:
        self._noise()

    def event(self, sensitivity: Sensitivity) -> TruncatedLaplaceNoise:
        """Truncated Laplace noise of this scale and reach, for that sensitivity."""
        return TruncatedLaplaceNoise(
            sensitivity.in_norm(Norm.L1).amount, self.scale, self.reach
        )

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The integer with noise; a batch of any other length than 1 is refused."""
        draw = AddVector(self._noise(), dimensions=1)
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least integer t with P(abs(noise) <= t) >= confidence; the reach, for certainty.

        P(abs(noise) <= t) = (1 + q - 2 * q**(t + 1)) / (1 + q - 2 * q**(reach + 1)), where q =
        exp(-1 / scale).
        """
        if not 0 <= confidence <= 1:
            raise InvalidValue(f"A confidence lies in [0, 1], and {confidence} does not.")
        ratio = exp_bounds(-1 / self.scale)[0]
        end = exp_bounds(-(self.reach + 1) / self.scale)[0]
        beyond = (1 - confidence) * (1 + ratio) / 2 + confidence * end
        if beyond == 0:  # certainty is asked for, and the end is too unlikely for its bound
            return Fraction(self.reach)
        # q**(t + 1) <= beyond, where -scale * log(beyond) is rounded up
        least = (-self.scale * log_bounds(beyond)[0]).__ceil__() - 1
        return Fraction(min(max(0, least), self.reach))

    def _noise(self) -> TruncatedDiscreteLaplace:
        return TruncatedDiscreteLaplace(self.scale, self.reach)


# ------------------------------------------------------------------ propose test release
# Propose, test, release: noise for a bound that the data are first shown to keep.


@dataclass(frozen=True, slots=True)
class ProposeTestRelease:
    """A pair (passed, noisy value), from a secret pair (value, distance); (0, 0) if it fails.

    The distance is how many units must change before some dataset has a local sensitivity above
    ``bound``: 0 where this one has. Local sensitivity, distance and privacy unit speak of the
    same neighbours, so a unit moves the distance by 1 at most. The `Sensitivity` of the pair is
    its worst case over all neighbours, for audits; it sets no noise.

    Guarantee: (test_epsilon + release_epsilon, delta).
    Reference: Dwork, Lei 2009; for the discrete law it is proved in
    ``docs/privacy/mechanisms/propose_test_release.md``.

    Example:
        >>> recipe = ProposeTestRelease(
        ...     bound=Fraction(5),
        ...     test_epsilon=Fraction(1),
        ...     release_epsilon=Fraction(1, 2),
        ...     delta=Fraction("1e-6"),
        ... )
        >>> recipe.threshold, recipe.error(Fraction("0.95"))
        (13, Fraction(30, 1))
    """

    bound: Fraction
    test_epsilon: Fraction
    release_epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        for name in ("bound", "test_epsilon", "release_epsilon"):
            if getattr(self, name) <= 0:
                raise InvalidValue(f"{name} is above 0, and {getattr(self, name)} was given.")
        if not 0 < self.delta < 1:
            raise InvalidValue(f"delta lies between 0 and 1, and {self.delta} was given.")

    @property
    def threshold(self) -> int:
        """The least integer that test noise passes with probability delta or less.

        P(noise > t) = q**(t + 1) / (1 + q), q = exp(-test_epsilon).
        """
        return _threshold(self.test_epsilon, self.delta)

    def event(self, sensitivity: Sensitivity) -> event.ProposeTestReleaseEvent:
        """A test and a release, however far the pair moves at worst."""
        sensitivity.in_norm(Norm.LINF)
        return event.ProposeTestReleaseEvent(
            self.test_epsilon, self.release_epsilon, self.delta
        )

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Whether the test passed, as 1 or 0, and the value with noise where it did."""
        draw = TestThenRelease(
            self.threshold,
            DiscreteLaplace(1 / self.test_epsilon),
            DiscreteLaplace(self.bound / self.release_epsilon),
        )
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """What the value errs by where the test passed."""
        return Laplace(self.bound / self.release_epsilon).error(confidence)


@dataclass(frozen=True, slots=True)
class TestThenRelease:
    """The draw: a noisy distance against a threshold, and the noisy value where it is above."""

    __test__ = False  # pytest would take it for a test

    threshold: int
    test_noise: DiscreteLaplace
    release_noise: DiscreteLaplace

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The pair; both noises are drawn either way, so that time does not tell more."""
        value, distance = (int(each) for each in values)
        passed = distance + int(self.test_noise.draw(entropy, 1)[0]) > self.threshold
        noisy = value + int(self.release_noise.draw(entropy, 1)[0])
        return packed([1, noisy] if passed else [0, 0])


@lru_cache(maxsize=256)
def _threshold(test_epsilon: Fraction, delta: Fraction) -> int:
    """The least integer t of at least 0 with q**(t + 1) <= delta * (1 + q), rounded up."""
    beyond = delta * (1 + exp_bounds(-test_epsilon)[0])
    return max(0, (-log_bounds(beyond)[0] / test_epsilon).__ceil__() - 1)
