"""Two mechanisms with a delta: truncated Laplace noise, and propose-test-release.

`TruncatedLaplace` adds noise that never exceeds a bound. `ProposeTestRelease` proposes a bound
on the local sensitivity, tests privately whether the data are far from violating it, and only
then releases the value with noise for this bound.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.core import Norm, Secret, Sensitivity, TruncatedLaplaceNoiseV2, event
from tacit.errors import InvalidValue
from tacit.mechanisms import AddVector, Gateway, Laplace
from tacit.noise import DiscreteLaplace, Integers, TruncatedDiscreteLaplace, integer_array
from tacit.numeric import exp_bounds, log_bounds
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class TruncatedLaplace:
    """One integer with discrete Laplace noise that is truncated at ``reach``.

    Guarantee: an integer of sensitivity d, released once, is (d / scale, delta)-private, where
    delta is the probability that the noise lies within d steps of one end of its range: a
    neighbour cannot produce these outputs. The interval of a release is certain, and not merely
    likely.
    Reference: Geng, Ding, Guo, Kumar 2020, theorem 1.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.L1, Rule("a person is counted once"))
        >>> TruncatedLaplace(Fraction(1), reach=14).event(one)
        TruncatedLaplaceNoiseV2(sensitivity=Fraction(1, 1), scale=Fraction(1, 1), reach=14)
        >>> TruncatedLaplace(Fraction(1), reach=14).error(Fraction(1))
        Fraction(14, 1)
    """

    scale: Fraction
    reach: int

    def __post_init__(self) -> None:
        self._noise()

    def event(self, sensitivity: Sensitivity) -> TruncatedLaplaceNoiseV2:
        """Describe the noise, for the given sensitivity."""
        return TruncatedLaplaceNoiseV2(
            sensitivity.in_norm(Norm.L1).amount, self.scale, self.reach
        )

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Release the integer with noise; the batch must have length 1."""
        draw = AddVector(self._noise(), dimensions=1)
        return gateway.release(secret, sensitivity.in_norm(Norm.L1), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the least integer t with P(abs(noise) <= t) >= confidence.

        P(abs(noise) <= t) = (1 + q - 2 * q**(t + 1)) / (1 + q - 2 * q**(reach + 1)), where q =
        exp(-1 / scale).
        """
        if not 0 <= confidence <= 1:
            raise InvalidValue(
                f"The confidence must be between 0 and 1, but {confidence} was given."
            )
        ratio = exp_bounds(-1 / self.scale)[0]
        end = exp_bounds(-(self.reach + 1) / self.scale)[0]
        beyond = (1 - confidence) * (1 + ratio) / 2 + confidence * end
        if beyond == 0:  # the confidence is 1, and the lower bound on the end rounds to 0
            return Fraction(self.reach)
        # q**(t + 1) <= beyond, where -scale * log(beyond) is rounded up
        least = (-self.scale * log_bounds(beyond)[0]).__ceil__() - 1
        return Fraction(min(max(0, least), self.reach))

    def _noise(self) -> TruncatedDiscreteLaplace:
        return TruncatedDiscreteLaplace(self.scale, self.reach)


# ------------------------------------------------------------------ propose-test-release


@dataclass(frozen=True, slots=True)
class ProposeTestRelease:
    """Propose-test-release: from a secret (value, distance) to (passed, noisy value).

    The distance is the number of units that must change until the local sensitivity exceeds
    ``bound``; it is 0 if the present dataset exceeds it. Local sensitivity, distance and
    privacy unit use the same neighbours, so one unit changes the distance by at most 1. If the
    test fails, the release is (0, 0). The `Sensitivity` of the pair is its worst case over all
    neighbours. It is used by audits, and does not determine the noise.

    Guarantee: (test_epsilon + release_epsilon, delta).
    Reference: Dwork, Lei 2009; for discrete noise it is proved in
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
                raise InvalidValue(
                    f"{name} must be above 0, but {getattr(self, name)} was given."
                )
        if not 0 < self.delta < 1:
            raise InvalidValue(f"delta must be between 0 and 1, but {self.delta} was given.")

    @property
    def threshold(self) -> int:
        """The least integer that the test's noise exceeds with probability at most delta.

        P(noise > t) = q**(t + 1) / (1 + q), q = exp(-test_epsilon).
        """
        return _threshold(self.test_epsilon, self.delta)

    def event(self, sensitivity: Sensitivity) -> event.ProposeTestReleaseEventV2:
        """Describe the test and the release, which do not depend on the worst case."""
        sensitivity.in_norm(Norm.LINF)
        return event.ProposeTestReleaseEventV2(
            self.test_epsilon, self.release_epsilon, self.delta
        )

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Release whether the test passed, as 1 or 0, and the value with noise if it did."""
        draw = TestThenRelease(
            self.threshold,
            DiscreteLaplace(1 / self.test_epsilon),
            DiscreteLaplace(self.bound / self.release_epsilon),
        )
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error of the value if the test passed."""
        return Laplace(self.bound / self.release_epsilon).error(confidence)


@dataclass(frozen=True, slots=True)
class TestThenRelease:
    """The draw: the noisy value if the noisy distance exceeds the threshold."""

    __test__ = False  # pytest must not collect this class as a test

    threshold: int
    test_noise: DiscreteLaplace
    release_noise: DiscreteLaplace

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the pair; both noises are always drawn, so that timing reveals nothing."""
        value, distance = (int(each) for each in values)
        passed = distance + int(self.test_noise.draw(entropy, 1)[0]) > self.threshold
        noisy = value + int(self.release_noise.draw(entropy, 1)[0])
        return integer_array([1, noisy] if passed else [0, 0])


@lru_cache(maxsize=256)
def _threshold(test_epsilon: Fraction, delta: Fraction) -> int:
    """Return the least t >= 0 with q**(t + 1) <= delta * (1 + q), rounded up."""
    beyond = delta * (1 + exp_bounds(-test_epsilon)[0])
    return max(0, (-log_bounds(beyond)[0] / test_epsilon).__ceil__() - 1)
