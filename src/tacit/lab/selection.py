"""Experimental selection mechanisms: a constant, top-k, and selection on an interval."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core import ExponentialSelection, Norm, Nothing, Repeated, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms import (
    Gateway,
    check_choice,
    check_size,
    shortfall,
    spread,
    valid_confidence,
)
from tacit.noise import Exponentials, Integers, UniformBelow, choose
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class ConstantMechanism:
    """A mechanism that returns fixed integers and ignores the data.

    Guarantee: the privacy loss is 0, because the secret is not read.
    Reference: Dwork, Roth 2014, definition 2.4 at epsilon 0.

    Example:
        >>> ConstantMechanism((4, 2)).error(Fraction("0.95"))
        Fraction(0, 1)
    """

    values: tuple[int, ...]

    def event(self, sensitivity: Sensitivity) -> Nothing:
        """Describe the release: the event `Nothing`, at every sensitivity."""
        del sensitivity
        return Nothing()

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the integers; the secret is not passed to the gateway."""
        del secret, sensitivity, gateway
        return np.array(self.values, dtype=np.int64)

    def error(self, confidence: Fraction) -> Fraction:
        """Return 0, because a constant has no noise."""
        valid_confidence(confidence)
        return Fraction(0)


# ------------------------------------------------------------------ top-k


@dataclass(frozen=True, slots=True)
class TopK:
    """The indices of ``winners`` candidates, in the order in which they were chosen.

    Each winner is chosen by the exponential mechanism among the remaining candidates (peeling).

    Guarantee: a composition of ``winners`` exponential mechanisms. Each has epsilon
    2 * rate * d for scores that one unit changes by at most d, and half of that where they are
    ``monotone``. The composition is adaptive, since each choice depends on the choices before.
    Reference: Durfee, Rogers 2019, section 4.1 (peeling; they use one Gumbel draw per score).

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a row changes each count by at most 1"))
        >>> TopK(Fraction("0.1"), candidates=50, winners=3, monotone=True).event(one)
        Repeated(event=ExponentialSelection(epsilon=Fraction(1, 10)), times=3)
    """

    rate: Fraction
    candidates: int
    winners: int
    monotone: bool = False

    def __post_init__(self) -> None:
        check_choice(self.rate, self.candidates)
        if not 1 <= self.winners <= self.candidates:
            raise InvalidValue(
                f"There must be from 1 to {self.candidates} winners, as many as there are "
                f"candidates, but {self.winners} were requested."
            )

    def event(self, sensitivity: Sensitivity) -> Repeated:
        """Describe one selection per winner."""
        epsilon = spread(self.rate, sensitivity, monotone=self.monotone)
        return Repeated(ExponentialSelection(epsilon), self.winners)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Release the indices of the winners."""
        draw = Peel(self.rate, self.candidates, self.winners)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin by which a winner's score may be below the best remaining score."""
        return shortfall(self.rate, Fraction(self.candidates), confidence)


@dataclass(frozen=True, slots=True)
class Peel:
    """The draw of top-k: one candidate after the other, each among the remaining ones."""

    rate: Fraction
    candidates: int
    winners: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the indices of the winners."""
        check_size(values, self.candidates)
        left, chosen = np.arange(self.candidates), np.empty(self.winners, dtype=np.int64)
        for turn in range(self.winners):
            place = choose(entropy, Exponentials(self.rate, values[left]))
            chosen[turn] = left[place]
            left = np.delete(left, place)
        return chosen


# ------------------------------------------------------------------ selection on an interval

MOST_POINTS = 2**62
"""The largest number of grid points of an interval, so that their indices fit 64 bits."""


@dataclass(frozen=True, slots=True)
class IntervalExponential:
    """The exponential mechanism on an interval, with scores that are constant on public cells.

    A grid point has the weight exp(rate * score of its cell). The cell k contains ``widths[k]``
    points of a public grid, which are the base measure. The secret is one score per cell. The
    caller decides which value each index stands for, so the grid can be finer where the answer
    is likely, for example logarithmic.

    Guarantee: scores that one unit changes by at most d have the pure loss 2 * rate * d, and
    half of that where they are ``monotone``, with bounded range.
    Reference: McSherry, Talwar 2007, definition 2 and theorem 6 (any base measure).

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.LINF, Rule("a row changes each score by at most 1"))
        >>> IntervalExponential(Fraction(1, 2), widths=(10, 1000, 10)).event(one)
        ExponentialSelection(epsilon=Fraction(1, 1))
    """

    rate: Fraction
    widths: tuple[int, ...]
    monotone: bool = False

    def __post_init__(self) -> None:
        check_choice(self.rate, len(self.widths))
        if min(self.widths) < 1 or sum(self.widths) > MOST_POINTS:
            raise InvalidValue(
                "Each cell needs at least 1 grid point, and all cells together at most 2**62; "
                f"the smallest has {min(self.widths)}, and all have {sum(self.widths)}."
            )

    def event(self, sensitivity: Sensitivity) -> ExponentialSelection:
        """Describe the selection, for the given sensitivity of the scores."""
        return ExponentialSelection(spread(self.rate, sensitivity, monotone=self.monotone))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Release the index of the chosen grid point, in an array of one entry."""
        draw = ChoosePoint(self.rate, self.widths)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin by which the chosen score may be below the best score.

        It holds even if the best cell is the narrowest.
        """
        points = Fraction(sum(self.widths), min(self.widths))
        return shortfall(self.rate, points, confidence)


@dataclass(frozen=True, slots=True)
class ChoosePoint:
    """The draw: a cell by its score and its number of points, then one of its points.

    The number of random words in the second step depends on the chosen cell only, and the
    release reveals the cell anyway.
    """

    rate: Fraction
    widths: tuple[int, ...]

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return the index of the chosen grid point."""
        check_size(values, len(self.widths))
        cell = choose(entropy, Exponentials(self.rate, values, self.widths))
        within = UniformBelow(self.widths[cell]).draw(entropy, 1)
        return np.array([sum(self.widths[:cell]) + int(within[0])], dtype=np.int64)
