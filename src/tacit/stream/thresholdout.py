"""Thresholdout: a holdout that answers only where it has something else to say."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from tacit.core.event import Composed, Repeated
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.above_threshold import SparseVector
from tacit.mechanisms.add_noise import AddNoise
from tacit.mechanisms.gateway import Gateway, inside
from tacit.mechanisms.laplace import Laplace
from tacit.noise.integers import Integers
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import Entropy
from tacit.plan.steps import CaseSteps, Condition, WholeSteps
from tacit.plan.tally import KeptTally

STEPS = 2**20
"""A share of all rows, in whole steps."""

PARTS = Fraction(1, 6), Fraction(1, 2), Fraction(1, 3)
"""Of epsilon: for the noisy threshold, for the comparisons, and for what is read."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What goes on from one comparison to the next: secret, but for how often is ``left``."""

    reached: int
    left: int

    def __repr__(self) -> str:
        return f"<a noisy threshold, {self.left} answers left>"


@dataclass(frozen=True, slots=True)
class Share:
    """What is told of a share: the asker's own, or one that was read ``off`` the holdout."""

    value: Fraction
    off: bool


@dataclass(frozen=True, slots=True)
class Thresholdout:
    """Shares of rows, each beside the one that the asker expects from other data.

    Where the holdout agrees within a ``threshold``, the asker's own share comes back, and costs
    nothing more, however often. Where it does not, the holdout's share is told, with noise:
    that happens up to ``answers`` times. ``rows`` is about how many rows the holdout has, from
    what is public: it turns sums into shares, and no promise rests on it.

    What is compared is the sum over rows of how far each is from the expected share: a row is
    off by one share at most, so that nobody needs to know how many rows there are.

    Guarantee: pure ``epsilon`` for all shares together, chosen by whoever sees the ones before.
    Reference: Dwork, Feldman, Hardt, Pitassi, Reingold, Roth 2015 (Thresholdout), as the sparse
    vector of Lyu, Su, Li 2017, algorithm 1: one noisy threshold, and noise for every share that
    is read.

    Example:
        >>> asked = Thresholdout(Fraction(3), 10, 4000, Fraction("0.08"))
        >>> round(float(asked.error(Fraction("0.95"))), 4)
        0.0075
    """

    epsilon: Fraction
    answers: int
    rows: int
    threshold: Fraction
    max_rows: int = 1

    def __post_init__(self) -> None:
        if (
            not (self.epsilon > 0 and 0 < self.threshold < 1)
            or min(self.answers, self.rows) < 1
        ):
            raise InvalidValue(
                "A holdout has an epsilon above 0, a threshold between 0 and 1, and at least "
                f"one answer and one row, not {self.epsilon}, {self.threshold}, "
                f"{self.answers} and {self.rows}."
            )

    @property
    def reach(self) -> int:
        """The most that one unit moves a sum by, in steps, whether it comes or is replaced."""
        return self.max_rows * STEPS

    @property
    def sparse(self) -> SparseVector:
        """Which shares are far off: the first two parts of epsilon."""
        bar = round(self.threshold * self.rows * STEPS)
        first, second, _ = (self.epsilon * part for part in PARTS)
        return SparseVector(first, second, self.answers, monotone=False, threshold=bar)

    @property
    def reading(self) -> Laplace:
        """The noise of a share that is read: the last part of epsilon, for all of them."""
        return Laplace(self.answers * self.reach / (self.epsilon * PARTS[2]))

    def event(self) -> Composed:
        """All that a holdout will tell, however it is asked."""
        read = Repeated(self.reading.event(self._moved(Norm.L1)), self.answers)
        return Composed((self.sparse.event(self._moved(Norm.LINF)), read))

    def error(self, confidence: Fraction) -> Fraction:
        """What a share that is read errs by at most, beside the holdout's own chance."""
        return self.reading.error(confidence) / (STEPS * self.rows)

    def tally(self, condition: Condition, expected: Fraction) -> KeptTally:
        """How far the rows are from ``expected``, those where a condition holds and others."""
        low = -_steps(expected)
        there = ((condition, WholeSteps(low + STEPS)),)
        most = self.max_rows * low, self.max_rows * (low + STEPS)
        return KeptTally(CaseSteps(there, WholeSteps(low)), *most)

    def start(self, entropy: Entropy) -> Kept:
        """The noisy threshold of a new holdout; drawn once, and kept secret."""
        scale = self.reach / self.sparse.threshold_epsilon
        noise = DiscreteLaplace(scale).draw(entropy, 1)
        return Kept(self.sparse.threshold + int(noise[0]), self.answers)

    def ask(
        self, expected: Fraction, off: Secret[Integers], kept: Kept, gateway: Gateway
    ) -> tuple[Share, Kept]:
        """What is told where the holdout is ``off`` by that sum, and what is kept now."""
        own = Fraction(_steps(expected), STEPS)
        self.check_left(kept.left)
        draw = Reaches(kept.reached, self.sparse.query_scale(self.reach))
        if not gateway.release(inside(off, np.abs), self._moved(Norm.LINF), draw)[0]:
            return Share(own, off=False), kept
        noisy = int(self.reading.release(off, self._moved(Norm.L1), gateway)[0])
        read = min(max(own + Fraction(noisy, STEPS * self.rows), Fraction(0)), Fraction(1))
        return Share(read, off=True), replace(kept, left=kept.left - 1)

    def check_left(self, left: int) -> None:
        """Refuse to say more where no answer is left: "it agrees" would tell something too."""
        if not left:
            raise InvalidValue(
                f"This holdout has given all of its {self.answers} answers; what it would say "
                "next is not paid for. Open a new one, which is charged anew."
            )

    def _moved(self, norm: Norm) -> Sensitivity:
        rule = Rule("a row is off by one share at most", (f"max_rows={self.max_rows}",))
        return Sensitivity.of(self.reach, norm, rule)


@dataclass(frozen=True, slots=True)
class Reaches:
    """The draw of a comparison: whether a number with noise reaches a threshold that has it."""

    reached: int
    scale: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """1 where it does."""
        noisy = AddNoise(DiscreteLaplace(self.scale))(values, entropy)
        return np.asarray(noisy >= self.reached, dtype=np.int64)


def _steps(share: Fraction) -> int:
    if not 0 <= share <= 1:
        raise InvalidValue(f"A share lies between 0 and 1, and {share} does not.")
    return round(share * STEPS)
