"""What one release shows of the loss that was claimed for it."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.audit.lower_bound import one_run_lower_bound


@dataclass(frozen=True, slots=True)
class OneRun:
    """How many coins of made-up people were guessed from one release, beside its claim.

    Guarantee: a release of no more than the ``epsilon`` claimed is convicted with probability
    ``1 - confidence`` at most.

    Example:
        >>> print(OneRun(100_000, 73_106, Fraction(1), 0.999))
        73,106 of 100,000 guessed: ε >= 0.978 with 99.9%, and 1 is claimed
        >>> OneRun(100_000, 75_235, Fraction(1), 0.999).convicts
        True
    """

    people: int
    right: int
    epsilon: Fraction
    confidence: float

    @property
    def lower_bound(self) -> float:
        """The epsilon that the guesses show at least."""
        return one_run_lower_bound(self.right, self.people, self.confidence)

    @property
    def convicts(self) -> bool:
        """Whether more is lost than was claimed."""
        return self.lower_bound > self.epsilon

    def __str__(self) -> str:
        return (
            f"{self.right:,} of {self.people:,} guessed: ε >= {self.lower_bound:.3f} with "
            f"{self.confidence:.1%}, and {float(self.epsilon):g} is claimed"
        )
