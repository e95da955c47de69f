"""The mechanism that does not look."""

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
    """Integers fixed before any data was read, whatever the secret.

    Guarantee: nothing is lost: the secret is not opened.
    Reference: Dwork, Roth 2014, definition 2.4 at epsilon 0.

    Example:
        >>> ConstantMechanism((4, 2)).error(Fraction("0.95"))
        Fraction(0, 1)
    """

    values: tuple[int, ...]

    def event(self, sensitivity: Sensitivity) -> Nothing:
        """Nothing, at every sensitivity."""
        del sensitivity
        return Nothing()

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The integers; the secret does not reach the gateway."""
        del secret, sensitivity, gateway
        return np.array(self.values, dtype=np.int64)

    def error(self, confidence: Fraction) -> Fraction:
        """0: a constant is released as it is."""
        valid_confidence(confidence)
        return Fraction(0)


# ------------------------------------------------------------------ top k
# The best few candidates, one exponential mechanism after the other.


@dataclass(frozen=True, slots=True)
class TopK:
    """The places of ``winners`` candidates, in the order in which they were chosen.

    Each is chosen by the exponential mechanism among those that are left (peeling).

    Guarantee: a composition of as many exponential mechanisms, each of epsilon 2 * rate * d for
    scores that one unit moves by d at most, and of half where they are ``monotone``.
    Reference: Durfee, Rogers 2019, section 4.1 (peeling, and one Gumbel draw a score instead);
    the composition is adaptive, as each choice is among what the ones before left.

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
                f"There are 1 to {self.candidates} winners among as many candidates, "
                f"and {self.winners} were asked for."
            )

    def event(self, sensitivity: Sensitivity) -> Repeated:
        """One selection a winner."""
        epsilon = spread(self.rate, sensitivity, monotone=self.monotone)
        return Repeated(ExponentialSelection(epsilon), self.winners)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The places of the winners."""
        draw = Peel(self.rate, self.candidates, self.winners)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """How far one winner's score lies at most below the best that was left for it."""
        return shortfall(self.rate, Fraction(self.candidates), confidence)


@dataclass(frozen=True, slots=True)
class Peel:
    """Chooses one candidate after the other, each among those left."""

    rate: Fraction
    candidates: int
    winners: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The places of the winners."""
        check_size(values, self.candidates)
        left, chosen = np.arange(self.candidates), np.empty(self.winners, dtype=np.int64)
        for turn in range(self.winners):
            place = choose(entropy, Exponentials(self.rate, values[left]))
            chosen[turn] = left[place]
            left = np.delete(left, place)
        return chosen


# ------------------------------------------------------------------ interval exponential
# The exponential mechanism on an interval whose scores are constant on public cells.

MOST_POINTS = 2**62
"""Grid points of an interval; their places fit 64 bits."""


@dataclass(frozen=True, slots=True)
class IntervalExponential:
    """The place of one grid point, with weight exp(rate * score of its cell).

    The interval is cut into public cells, and a cell into ``widths[k]`` points of a public
    grid: the base measure. The secret holds one score a cell. A base that is finer where the
    answer is likely, such as a logarithmic one, is a matter of what the places stand for.

    Guarantee: scores that one unit moves by d at most lose pure epsilon 2 * rate * d, and half
    of it where they are ``monotone``, with a bounded range.
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
                "Cells have at least 1 grid point each and 2**62 together; the least has "
                f"{min(self.widths)}, and all have {sum(self.widths)}."
            )

    def event(self, sensitivity: Sensitivity) -> ExponentialSelection:
        """A selection whose weights' logarithms spread by twice what one score moves."""
        return ExponentialSelection(spread(self.rate, sensitivity, monotone=self.monotone))

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """The place of the chosen grid point, in an array of one."""
        draw = ChoosePoint(self.rate, self.widths)
        return gateway.release(secret, sensitivity.in_norm(Norm.LINF), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """How far the chosen score lies below the best at most, however narrow its cell."""
        points = Fraction(sum(self.widths), min(self.widths))
        return shortfall(self.rate, points, confidence)


@dataclass(frozen=True, slots=True)
class ChoosePoint:
    """A cell by its points and its score, then one of its points uniformly.

    How many words the second step takes depends on the cell alone, which the release tells.
    """

    rate: Fraction
    widths: tuple[int, ...]

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The place of a grid point of one of the cells."""
        check_size(values, len(self.widths))
        cell = choose(entropy, Exponentials(self.rate, values, self.widths))
        within = UniformBelow(self.widths[cell]).draw(entropy, 1)
        return np.array([sum(self.widths[:cell]) + int(within[0])], dtype=np.int64)
