"""What answering would do, cost and miss by: free, and without data."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.core.event import Composed
from tacit.core.loss import Loss
from tacit.core.population import Population
from tacit.core.sensitivity import Sensitivity
from tacit.mechanisms.mechanism import Mechanism
from tacit.plan.bound import Bound
from tacit.plan.canonical import Canonical, text
from tacit.plan.sensitivity import group_count
from tacit.query.survival import survival


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
    """A question with its price: what is charged, and how well it will be answered.

    Under (epsilon, delta) a leaf of the event without an epsilon of its own is read off its
    curve at ``price_delta``. Where the keys are not public, the first tally selects them.
    """

    question: Canonical
    bound: Bound
    population: Population
    tallies: tuple[PricedTally, ...]
    event: Composed
    loss: Loss
    price_delta: Fraction = Fraction(0)
    assumptions: tuple[str, ...] = ()

    @property
    def key(self) -> bytes:
        """What the ledger knows it by."""
        return self.question.hash

    @property
    def datasets(self) -> tuple[str, ...]:
        """The tables that it reads."""
        return self.bound.plan.source.datasets

    @property
    def asked(self) -> dict[str, Any]:
        """What a child process is told of it."""
        loss = self.loss
        told = [loss.measure.value, str(loss.amount), str(loss.delta)]
        return {"plan": text(self.question.plan), "loss": told}

    @property
    def survival(self) -> tuple[tuple[Fraction, int], ...]:
        """Probabilities, each with the least units of a group that is released so often.

        None are stated where the keys are public: then every group is there.
        """
        public = group_count(self.bound.plan) is not None
        return () if public else survival(self.tallies[0].mechanism)
