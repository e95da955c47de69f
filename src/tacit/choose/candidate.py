"""One way to release something within a loss, and how well it does."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.mechanisms.mechanism import Mechanism


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism at the parameters that a loss allows, and the error to compare it by."""

    mechanism: Mechanism
    error: Fraction
    """The expected squared error of all numbers together, or what a score falls short by."""
