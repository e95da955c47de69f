"""The best few candidates, one exponential mechanism after the other."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core.event import Repeated
from tacit.core.secret import Secret
from tacit.core.selection_event import ExponentialSelection
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.exponential import check_choice, check_size, shortfall, spread
from tacit.mechanisms.gateway import Gateway
from tacit.noise.choice import Exponentials, choose
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy


@dataclass(frozen=True, slots=True)
class TopK:
    """The places of ``winners`` candidates, in the order in which they were chosen.

    Each is chosen by the exponential mechanism among those that are left (peeling).

    Guarantee: a composition of as many exponential mechanisms, each of epsilon 2 * rate * d for
    scores that one unit moves by d at most, and of half where they are ``monotone``.
    Reference: Durfee, Rogers 2019, section 4.1 (peeling, and one Gumbel draw a score instead);
    the composition is adaptive, as each choice is among what the ones before left.

    Example:
        >>> from tacit.core.proof import Rule
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
