"""How much a mechanism loses at least, from how often an event was seen on two neighbours.

An event S that is seen with probability p on one neighbour and q on the other shows a loss of
log(p / q), or of log((p - delta) / q) where a delta is claimed. Neither probability is known,
but the hits among many draws bound p from below and q from above, each wrongly with half of
what the confidence leaves. The event must be fixed before the draws are made.
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


def epsilon_lower_bound(  # noqa: PLR0913 - two sides, and how sure one is
    hits_left: int,
    count_left: int,
    hits_right: int,
    count_right: int,
    confidence: float,
    *,
    delta: float = 0,
) -> float:
    """The epsilon that the hits show at least, 0 where they show none.

    Guarantee: of an (epsilon, delta) mechanism the result is above epsilon with probability
    ``1 - confidence`` at most, for an event that was fixed before the draws.
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
    """The mu of Gaussian differential privacy that the hits show at least, 0 where none.

    Guarantee: of a mechanism no easier to test than N(0, 1) against N(mu, 1), the result is
    above mu with probability ``1 - confidence`` at most.
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
    """The epsilon that right guesses of fair coins show at least, 0 where they show none.

    Guarantee: where each coin decides about one unit, and all are guessed from one release of a
    pure epsilon, the result is above epsilon with probability ``1 - confidence`` at most.
    Reference: Steinke, Nasr, Jagielski 2023, section 5 (where delta is 0): many right guesses
    are no likelier than as many heads of coins that show them with 1 / (1 + e**-epsilon).

    Example:
        >>> round(one_run_lower_bound(73_106, 10**5, 0.999), 3)
        0.978
    """
    fair = least_probability(right, guesses, 1 - confidence)
    return max(0.0, log(fair / (1 - fair))) if fair else 0.0


def expected_lower_bound(
    left: float, right: float, count: int, confidence: float, delta: float = 0
) -> float:
    """What an honest mechanism is expected to show, computed before any draw.

    ``left`` and ``right`` are the exact probabilities of the event on the two neighbours, each
    of which is drawn ``count`` times.

    Example:
        >>> round(expected_lower_bound(0.731059, 0.268941, 10**5, 0.999), 2)
        0.98
    """
    hits = round(left * count), round(right * count)
    return epsilon_lower_bound(hits[0], count, hits[1], count, confidence, delta=delta)


# ------------------------------------------------------------------ noise bound
# What the noise of a question shows of its loss, from draws about two neighbours.

LEAST_VARIANCE = 1
"""Below it a discrete Gaussian is told apart in other ways than a real one."""


@dataclass(frozen=True, slots=True)
class WorstPair:
    """One number that is 0 or ``moved`` by all of the sensitivity, and what that may lose.

    The event is that at most ``most`` is released: it is fixed before anything is drawn.
    """

    noise: str
    unit: str
    moved: int
    most: int
    claimed: float

    @classmethod
    def of(cls, priced: PricedTally) -> "WorstPair | None":
        """That of a tally whose noise can be drawn so; None for other mechanisms."""
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
    """How often noise is drawn on each side, and how sure one wants to be."""

    draws: int
    confidence: float

    def check(self, priced: PricedTally) -> Check | None:
        """The loss that the noise of a tally shows, beside what is claimed, where it can."""
        pair = WorstPair.of(priced)
        if pair is None:
            return None
        hits = [self._hits(value, pair.most, priced) for value in (0, pair.moved)]
        bound = BOUNDS[pair.unit]
        shown = bound(hits[0], self.draws, hits[1], self.draws, self.confidence)
        found = (
            f"{pair.unit} >= {shown:.4f} with {self.confidence:.1%} from {self.draws:,} draws "
            f"a side, and {pair.claimed:.4f} is claimed"
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


# ------------------------------------------------------------------ model bound
# What fits of a model show of its loss, where a canary took part in half of them.
#
# A canary is a made-up unit that pushes as hard as one unit may, in a direction where nobody
# else does: its clipped gradient is as long as the clip, at every step. Whoever sees the
# fitted model asks whether it took part.

Fit = Callable[[bool], float]
"""Whether the canary takes part, to how much one new fit looks as if it did."""

PILOTS = 10
"""One fit in so many comes before the others, to fix from where on a score is a guess."""

UNIT = Fraction(1, 10**6)
"""An epsilon that is shown is a multiple of this, rounded down."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelBound:
    """Scores of fits with a canary and without, beside the loss that each fit claims.

    Guarantee: of fits that lose no more than Gaussian noise within ``claimed`` does, the bound
    passes it with probability ``1 - confidence`` at most.
    Reference: Nasr, Hayes, Steinke, Balle, Tramèr, Jagielski, Carlini, Terzis 2023, section 4
    (a bound of mu, which the curve of Gaussian noise turns into an epsilon at delta).

    Example:
        >>> spread = np.linspace(-0.9, 0.9, 1000)
        >>> shown = ModelBound(spread + 1, spread - 1, 0.0, Loss.approximate(1, "1e-6"), 0.999)
        >>> print(shown)
        1,000 of 1,000 guessed with a canary, 0 without: μ >= 4.86, ε >= 34.2 with 99.9%, \
and ε = 1, δ = 0.000001 is claimed
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
                f"A fit claims an epsilon with a delta above 0, and not {self.claimed}."
            )

    @classmethod
    def of(cls, fit: Fit, fits: int, claimed: Loss, confidence: float) -> "ModelBound":
        """What so many new fits show on each side; pilots before them fix the threshold."""
        pilots = [[fit(there) for _ in range(1 + fits // PILOTS)] for there in (True, False)]
        threshold = float(np.mean([np.mean(scores) for scores in pilots]))
        scores = [np.array([fit(there) for _ in range(fits)]) for there in (True, False)]
        return cls(scores[0], scores[1], threshold, claimed, confidence)

    @property
    def hits(self) -> tuple[int, int]:
        """How many fits were taken for one with the canary: of those with it, and of others."""
        with_it, without = (
            int(np.count_nonzero(scores > self.threshold))
            for scores in (self.with_it, self.without)
        )
        return with_it, without

    @property
    def mu(self) -> float:
        """The mu that they show at least."""
        sizes = self.with_it.size, self.without.size
        return mu_lower_bound(self.hits[0], sizes[0], self.hits[1], sizes[1], self.confidence)

    @property
    def epsilon(self) -> float:
        """The epsilon that they show at least, at the delta that is claimed."""
        mu, delta = self.mu, float(self.claimed.delta)
        above = least_that(lambda found: gaussian_delta(float(found), mu) <= delta, UNIT)
        return float(above - UNIT)

    @property
    def convicts(self) -> bool:
        """Whether more is lost than was claimed."""
        return self.epsilon > self.claimed.amount

    def __str__(self) -> str:
        return (
            f"{self.hits[0]:,} of {self.with_it.size:,} guessed with a canary, "
            f"{self.hits[1]:,} without: μ >= {self.mu:.2f}, ε >= {self.epsilon:.1f} with "
            f"{self.confidence:.1%}, and {self.claimed} is claimed"
        )
