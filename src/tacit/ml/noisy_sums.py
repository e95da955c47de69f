"""Sums over rows that are released together, with Gaussian noise for what one unit moves."""

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

from tacit.core.event import Composed
from tacit.core.noise_event import GaussianNoise
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.unit import Neighbours
from tacit.mechanisms.gateway import Gateway, together
from tacit.mechanisms.gaussian import Gaussian
from tacit.noise.integers import Integers
from tacit.plan.bounded import BoundedPlan, StepsKey
from tacit.plan.steps import Condition
from tacit.plan.tally import KeptTally, TreeTally
from tacit.plan.training import Training


@dataclass(frozen=True, slots=True)
class NoisySums:
    """Sums of numbers of rows; the squares of what one row adds come to ``row_square`` at most.

    ``order`` says which sums are released, and how often each; without it, all are, once. They
    are ``acute`` where what two rows add never points apart: its inner product is never
    negative, as that of two matrices xx' or of numbers that are never negative.

    Guarantee: a unit keeps at most ``max_rows`` rows, whose sums add up to at most ``max_rows``
    times the root of ``row_square``; for acute sums a and b, the square of a - b is at most
    those of a and b together, and else at most four times the greater.
    """

    tallies: tuple[KeptTally | TreeTally, ...]
    row_square: int
    share: Fraction
    order: tuple[int, ...] = ()
    acute: bool = False

    def sensitivity(self, training: Training) -> Sensitivity:
        """How far one unit moves them together."""
        facts = (f"row_square={self.row_square}", f"max_rows={training.max_rows}")
        rule = Rule("a unit adds at most max_rows times what a row does", facts)
        square = Fraction(self.row_square * training.max_rows**2)
        if training.neighbours is Neighbours.REPLACE_ONE:
            factor = 2 if self.acute else 4
            rule = Rule(
                "one unit's sums leave and another's come", (f"factor={factor}",), (rule,)
            )
            square *= factor
        return Sensitivity(square, Norm.L2, rule)

    def mechanism(self, training: Training, rho: Fraction) -> Gaussian:
        """The noise that costs their share of ``rho``, and hardly less."""
        square = self.sensitivity(training).square
        return Gaussian(Fraction(ceil(square / (2 * rho * self.share))))

    def event(self, training: Training, rho: Fraction) -> GaussianNoise:
        """What releasing them does."""
        return self.mechanism(training, rho).event(self.sensitivity(training))

    def released(
        self,
        secrets: Sequence[Secret[Integers]],
        training: Training,
        rho: Fraction,
        gateway: Gateway,
    ) -> Integers:
        """The sums with noise."""
        mechanism, moved = self.mechanism(training, rho), self.sensitivity(training)
        return mechanism.release(together(secrets, self.order), moved, gateway)


def event_of(parts: Sequence[NoisySums], training: Training, rho: Fraction) -> Composed:
    """What releasing all ``parts`` within ``rho`` does."""
    return Composed(tuple(part.event(training, rho) for part in parts))


def released(
    parts: Sequence[NoisySums],
    training: Training,
    rho: Fraction,
    gateway: Gateway,
    *conditions: Condition,
    key: StepsKey | None = None,
) -> Generator[BoundedPlan, Any, list[Integers]]:
    """One step of a fit: all ``parts``, summed in one scan of the rows, each with its noise.

    By a ``key`` each sum is one for each group, of which a row is in one at most: it moves the
    sums of all groups together by no more than it would move one.
    """
    tallies = list(dict.fromkeys(tally for part in parts for tally in part.tallies))
    secrets = yield training.plan(tallies, *conditions, key=key)
    return [
        part.released([secrets[tallies.index(t)] for t in part.tallies], training, rho, gateway)
        for part in parts
    ]
