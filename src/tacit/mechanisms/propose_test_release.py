"""Propose, test, release: noise for a bound that the data are first shown to keep."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.core import smooth_event
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.laplace import Laplace
from tacit.noise.integers import Integers, packed
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import Entropy
from tacit.numeric.exact import exp_bounds, log_bounds


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

    def event(self, sensitivity: Sensitivity) -> smooth_event.ProposeTestRelease:
        """A test and a release, however far the pair moves at worst."""
        sensitivity.in_norm(Norm.LINF)
        return smooth_event.ProposeTestRelease(
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
