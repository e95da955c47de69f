"""The owner's limit on everything that ever leaves about a population."""

from dataclasses import dataclass
from fractions import Fraction

from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.errors import InvalidValue


@dataclass(frozen=True, slots=True)
class Budget:
    """A cap under one measure, fixed when the budget is made.

    ``conversion_delta`` is what printing a rho as an epsilon adds to delta, so it belongs to
    zCDP alone. ``idealised`` allows noise whose law holds for real numbers only; a population
    that is served to others has no such budget.

    Example:
        >>> print(Budget(Loss.zcdp("0.1", "1e-7"), Fraction(1, 10**6)).cap)
        ρ = 0.1, δ = 0.0000001
    """

    cap: Loss
    conversion_delta: Fraction = Fraction(0)
    idealised: bool = False

    def __post_init__(self) -> None:
        if self.cap.measure is Measure.ZCDP:
            if not 0 < self.conversion_delta < 1:
                raise InvalidValue(
                    "A budget in rho is printed as an epsilon at a delta between 0 and 1, and "
                    f"conversion_delta={self.conversion_delta} was given."
                )
        elif self.conversion_delta:
            raise InvalidValue(
                f"A budget in {self.cap.measure.value} is not converted; leave "
                "conversion_delta out."
            )
