"""Where a budget stands after an answer: public facts, rounded only toward more loss."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.loss import Loss
from tacit.numeric.exact import ceil_to, plain

SHOWN = Fraction(1, 10**6)
"""Amounts are shown to this, rounded up; the ledger holds them to 10^-12."""


@dataclass(frozen=True, slots=True)
class Standing:
    """What an answer cost, and what is spent of the budget that it belongs to.

    ``total`` is the (epsilon, delta) of all that was released so far, ``promised`` that of the
    cap, and ``more`` says how many questions of the same price still fit.

    Example:
        >>> half, whole = Loss.zcdp("0.05"), Loss.zcdp("0.1")
        >>> totals = Loss.approximate("1.5", "1e-6"), Loss.approximate(2, "1e-6")
        >>> print(Standing("patients", half, half, whole, *totals, more=1))
        This answer cost ρ = 0.05. Spent about patients: ρ = 0.05 of 0.1,
        which is ε = 1.5, δ = 0.000001 so far, and at most ε = 2, δ = 0.000001.
        About 1 more question like this fits.
    """

    population: str
    cost: Loss
    spent: Loss
    cap: Loss
    total: Loss
    promised: Loss
    more: int

    def __str__(self) -> str:
        cost = f"cost {rounded(self.cost)}" if self.cost.amount else "was paid for before"
        questions = "question like this fits" if self.more == 1 else "questions like this fit"
        return (
            f"This answer {cost}. Spent about {self.population}: {rounded(self.spent)} of "
            f"{plain(ceil_to(self.cap.amount, SHOWN))},\n"
            f"which is {rounded(self.total)} so far, and at most {rounded(self.promised)}.\n"
            f"About {self.more} more {questions}."
        )


def rounded(loss: Loss) -> Loss:
    """``loss`` with its amount to six digits after the point, rounded up."""
    return Loss(loss.measure, ceil_to(loss.amount, SHOWN), loss.delta)
