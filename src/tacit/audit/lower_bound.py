"""Lower bounds on the privacy loss of a mechanism, from many draws on two neighbours.

If an event S has probability p on one dataset and q on its neighbour, the loss is at least
log(p / q), or log((p - delta) / q) where a delta is claimed. The two probabilities are not
known, but the number of hits among many draws gives a lower bound on p and an upper bound on
q. Each bound fails with half of the probability 1 - confidence. The event must be fixed before
the draws are made.

The first section holds the bounds. `Drawn` applies them to the noise of a question, and
`ModelBound` to fits of a model with and without a canary.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import isqrt, log, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from tacit.accounting import gaussian_delta, least_that
from tacit.audit.report import Check
from tacit.core import Loss, Measure, Norm, Secret
from tacit.errors import InvalidValue
from tacit.mechanisms import Gaussian, Laplace, LiveGateway
from tacit.numeric import greatest_probability, least_probability
from tacit.numeric.entropy import SystemEntropy
from tacit.query import PricedTally


def epsilon_lower_bound(  # noqa: PLR0913 - hits and counts of two sides, and the confidence
    hits_left: int,
    count_left: int,
    hits_right: int,
    count_right: int,
    confidence: float,
    *,
    delta: float = 0,
) -> float:
    """Return a lower bound on epsilon from the hits on two neighbours; it is at least 0.

    Guarantee: for an (epsilon, delta) mechanism, the result is above epsilon with probability
    at most ``1 - confidence``, if the event was fixed before the draws.
    Reference: Clopper, Pearson 1934; Jagielski, Ullman, Oprea 2020, theorem 2.

    Example:
        >>> round(epsilon_lower_bound(731_059, 10**6, 268_941, 10**6, 0.999), 3)
        0.993
    """
    left = least_probability(hits_left, count_left, (1 - confidence) / 2)
    right = greatest_probability(hits_right, count_right, (1 - confidence) / 2)
    return max(0.0, log((left - delta) / right)) if left > delta else 0.0


def mu_lower_bound(
    hits_left: int, count_left: int, hits_right: int, count_right: int, confidence: float
) -> float:
    """Return a lower bound on the mu of Gaussian differential privacy; it is at least 0.

    Guarantee: for a mechanism with mu-GDP (distinguishing neighbours is at least as hard as
    N(0, 1) from N(mu, 1)), the result is above mu with probability at most ``1 - confidence``.
    Reference: Dong, Roth, Su 2022, definition 3 (Gaussian trade-off functions).

    Example:
        >>> round(mu_lower_bound(691_462, 10**6, 308_538, 10**6, 0.999), 3)
        0.991
    """
    left = least_probability(hits_left, count_left, (1 - confidence) / 2)
    right = greatest_probability(hits_right, count_right, (1 - confidence) / 2)
    if left <= 0 or right >= 1:
        return 0.0
    normal = NormalDist()
    return max(0.0, normal.inv_cdf(left) - normal.inv_cdf(right))


def one_run_lower_bound(right: int, guesses: int, confidence: float) -> float:
    """Return a lower bound on epsilon from correct guesses of fair coins; it is at least 0.

    Guarantee: if each coin decides whether one unit is in the data, and all coins are guessed
    from one release with pure epsilon, the result is above epsilon with probability at most
    ``1 - confidence``.
    Reference: Steinke, Nasr, Jagielski 2023, section 5 (for delta = 0): the number of correct
    guesses is dominated by a binomial with probability 1 / (1 + e**-epsilon).

    Example:
        >>> round(one_run_lower_bound(73_106, 10**5, 0.999), 3)
        0.978
    """
    fair = least_probability(right, guesses, 1 - confidence)
    return max(0.0, log(fair / (1 - fair))) if fair else 0.0


def expected_lower_bound(
    left: float, right: float, count: int, confidence: float, delta: float = 0
) -> float:
    """Return the lower bound to expect from a correct mechanism, computed without draws.

    ``left`` and ``right`` are the exact probabilities of the event on the two neighbours, each
    of which is drawn ``count`` times.

    Example:
        >>> round(expected_lower_bound(0.731059, 0.268941, 10**5, 0.999), 2)
        0.98
    """
    hits = round(left * count), round(right * count)
    return epsilon_lower_bound(hits[0], count, hits[1], count, confidence, delta=delta)


# ------------------------------------------------------------------ noise of a question

LEAST_VARIANCE = 1
"""Variance below which a discrete Gaussian is too different from a continuous one."""


@dataclass(frozen=True, slots=True)
class WorstPair:
    """The worst pair of neighbouring values, 0 and ``moved``, and the loss that is claimed.

    ``moved`` is the whole sensitivity. The event is that the release is at most ``most``; it is
    fixed before anything is drawn.
    """

    noise: str
    unit: str
    moved: int
    most: int
    claimed: float

    @classmethod
    def of(cls, priced: PricedTally) -> "WorstPair | None":
        """Return the worst pair of a tally, or None if its mechanism is not supported."""
        mechanism, sensitivity = priced.mechanism, priced.sensitivity
        match mechanism:
            case Laplace():
                moved = int(sensitivity.in_norm(Norm.L1).amount)
                return cls("Laplace noise", "ε", moved, 0, float(moved / mechanism.scale))
            case Gaussian() if mechanism.variance >= LEAST_VARIANCE:
                moved = isqrt(int(sensitivity.in_norm(Norm.L2).square))
                claimed = moved / sqrt(mechanism.variance)
                return cls("Gaussian noise", "μ", moved, moved // 2, claimed)
        return None


@dataclass(frozen=True, slots=True)
class Drawn:
    """An audit of noise by draws: the number of draws on each side, and the confidence."""

    draws: int
    confidence: float

    def check(self, priced: PricedTally) -> Check | None:
        """Compare the lower bound from draws with the claimed loss of a tally.

        The result is None if the mechanism is not supported.
        """
        pair = WorstPair.of(priced)
        if pair is None:
            return None
        hits = [self._hits(value, pair.most, priced) for value in (0, pair.moved)]
        bound = BOUNDS[pair.unit]
        shown = bound(hits[0], self.draws, hits[1], self.draws, self.confidence)
        found = (
            f"{pair.unit} >= {shown:.4f} at {self.confidence:.1%} confidence from "
            f"{self.draws:,} draws on each side, and {pair.claimed:.4f} is claimed"
        )
        figures = {"draws": self.draws, "shown": shown, "claimed": pair.claimed}
        return Check(pair.noise, found, shown <= pair.claimed, figures)

    def _hits(self, value: int, most: int, priced: PricedTally) -> int:
        secret = Secret(np.full(self.draws, value, dtype=np.int64))
        gateway = LiveGateway(SystemEntropy(b"an audit"))
        released = priced.mechanism.release(secret, priced.sensitivity, gateway)
        return int(np.count_nonzero(np.asarray(released <= most)))


BOUNDS: dict[str, Callable[[int, int, int, int, float], float]] = {
    "ε": epsilon_lower_bound,
    "μ": mu_lower_bound,
}


# ------------------------------------------------------------------ fits of a model
# A canary is a synthetic unit with the largest influence that one unit may have, in a direction
# that no other unit uses: at every step, the length of its clipped gradient is the clipping
# norm. Half of the fits include the canary. The attacker sees a fitted model and guesses
# whether the canary was included.

Fit = Callable[[bool], float]
"""A function that fits a model, with the canary or without, and returns a score.

A higher score means that the model looks more as if the canary was included.
"""

PILOTS = 10
"""One fit in PILOTS is a pilot fit, which is used only to set the threshold of the guess."""

UNIT = Fraction(1, 10**6)
"""Step to which the lower bound on epsilon is rounded down."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelBound:
    """Scores of fits with a canary and without, and the loss that each fit claims.

    Guarantee: if the loss of a fit is at most the loss of Gaussian noise within ``claimed``,
    the bound is above the claim with probability at most ``1 - confidence``.
    Reference: Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini, Terzis 2023, section 4
    (a bound of mu, which the curve of Gaussian noise turns into an epsilon at delta).

    Example:
        >>> spread = np.linspace(-0.9, 0.9, 1000)
        >>> shown = ModelBound(spread + 1, spread - 1, 0.0, Loss.approximate(1, "1e-6"), 0.999)
        >>> print(shown)
        1,000 of 1,000 guessed with a canary, 0 without: μ >= 4.86, ε >= 34.2 at 99.9% \
confidence, and ε = 1, δ = 0.000001 is claimed
        >>> shown.convicts
        True
    """

    with_it: NDArray[np.float64]
    without: NDArray[np.float64]
    threshold: float
    claimed: Loss
    confidence: float

    def __post_init__(self) -> None:
        if self.claimed.measure is not Measure.APPROXIMATE or not self.claimed.delta:
            raise InvalidValue(
                "A fit must claim an epsilon with a delta above 0, but "
                f"{self.claimed} was given."
            )

    @classmethod
    def of(cls, fit: Fit, fits: int, claimed: Loss, confidence: float) -> "ModelBound":
        """Return the bound from ``fits`` new fits on each side; pilots set the threshold."""
        pilots = [[fit(there) for _ in range(1 + fits // PILOTS)] for there in (True, False)]
        threshold = float(np.mean([np.mean(scores) for scores in pilots]))
        scores = [np.array([fit(there) for _ in range(fits)]) for there in (True, False)]
        return cls(scores[0], scores[1], threshold, claimed, confidence)

    @property
    def hits(self) -> tuple[int, int]:
        """Number of fits with a score above the threshold: with the canary, and without."""
        with_it, without = (
            int(np.count_nonzero(scores > self.threshold))
            for scores in (self.with_it, self.without)
        )
        return with_it, without

    @property
    def mu(self) -> float:
        """The lower bound on mu."""
        sizes = self.with_it.size, self.without.size
        return mu_lower_bound(self.hits[0], sizes[0], self.hits[1], sizes[1], self.confidence)

    @property
    def epsilon(self) -> float:
        """The lower bound on epsilon, at the delta that is claimed."""
        mu, delta = self.mu, float(self.claimed.delta)
        above = least_that(lambda found: gaussian_delta(float(found), mu) <= delta, UNIT)
        return float(above - UNIT)

    @property
    def convicts(self) -> bool:
        """Whether the lower bound is above the claimed epsilon: the guarantee is violated."""
        return self.epsilon > self.claimed.amount

    def __str__(self) -> str:
        return (
            f"{self.hits[0]:,} of {self.with_it.size:,} guessed with a canary, "
            f"{self.hits[1]:,} without: μ >= {self.mu:.2f}, ε >= {self.epsilon:.1f} at "
            f"{self.confidence:.1%} confidence, and {self.claimed} is claimed"
        )
