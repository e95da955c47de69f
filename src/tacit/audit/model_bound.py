"""What fits of a model show of its loss, where a canary took part in half of them.

A canary is a made-up unit that pushes as hard as one unit may, in a direction where nobody else
does: its clipped gradient is as long as the clip, at every step. Whoever sees the fitted model
asks whether it took part.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.accounting.gaussian import gaussian_delta
from tacit.accounting.search import least_that
from tacit.audit.lower_bound import mu_lower_bound
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.errors import InvalidValue

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
