"""What answering would do, cost and miss by: free, and without data."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.population import Population
from tacit.core.sensitivity import Sensitivity
from tacit.mechanisms.mechanism import Mechanism
from tacit.plan.bound import Bound
from tacit.plan.canonical import Canonical


@dataclass(frozen=True, slots=True)
class PricedTally:
    """The mechanism that releases one tally, and how far one unit moves it."""

    mechanism: Mechanism
    sensitivity: Sensitivity

    def error(self, confidence: Fraction) -> Fraction:
        """What a released number errs by at most, in steps, with this probability."""
        return self.mechanism.error(confidence)


@dataclass(frozen=True, slots=True)
class Quote:
    """A question with its price: what is charged, and how well it will be answered."""

    question: Canonical
    bound: Bound
    population: Population
    tallies: tuple[PricedTally, ...]
    event: Composed
    loss: Loss
