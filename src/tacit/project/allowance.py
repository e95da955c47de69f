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


def allowance_of(entry: Entry) -> Allowance:
    """A budget or a quota: ``{ epsilon = 3, delta = "1e-6" }``, or by ``rho``."""
    parts = entry.fields("epsilon", "rho", "delta", "conversion_delta")
    if ("epsilon" in parts) == ("rho" in parts):
        raise entry.fault("Say how much in one way: epsilon = 3, or rho = 0.1.")
    numbers = {name: part.number() for name, part in parts.items()}
    for name, number in numbers.items():
        if number < 0 or (number == 0 and name in {"epsilon", "rho"}):
            raise parts[name].fault(f"{name} is above 0.")
    return Allowance(**numbers)
