"""How much may be spent, as an owner writes it: a plain value, which no accountant has seen."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.project.entry import Entry


@dataclass(frozen=True, slots=True)
class Allowance:
    """An epsilon or a rho, and a delta.

    An epsilon without a delta is pure; with one it is what everything together may come to. A
    rho has the delta at which it is converted in ``conversion_delta``.
    """

    epsilon: Fraction | None = None
    rho: Fraction | None = None
    delta: Fraction = Fraction(0)
    conversion_delta: Fraction = Fraction(0)
    least: Fraction | None = None
    """The least price of a question, as a share of a budget; None where nothing is said."""


def budget_in(entry: Entry) -> Allowance:
    """A budget: ``{ epsilon = 3, delta = "1e-6", least = "1e-5" }``, where least may be 0."""
    allowed = allowance_of(entry, "least")
    if allowed.least is not None and allowed.least > 1:
        raise entry.part("least").fault("least is a share of the budget, from 0 to 1.")
    return allowed


def allowance_of(entry: Entry, *more: str) -> Allowance:
    """A budget or a quota: ``{ epsilon = 3, delta = "1e-6" }``, or by ``rho``."""
    parts = entry.fields("epsilon", "rho", "delta", "conversion_delta", *more)
    if ("epsilon" in parts) == ("rho" in parts):
        raise entry.fault("Say how much in one way: epsilon = 3, or rho = 0.1.")
    numbers = {name: part.number() for name, part in parts.items()}
    for name, number in numbers.items():
        if number < 0 or (number == 0 and name in {"epsilon", "rho"}):
            raise parts[name].fault(f"{name} is above 0.")
    return Allowance(**numbers)
