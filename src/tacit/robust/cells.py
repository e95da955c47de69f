"""Public cells between public bounds, even or finer near a public point: a base measure."""

from dataclasses import dataclass
from fractions import Fraction
from math import asinh, sinh

import numpy as np
from numpy.typing import ArrayLike

from tacit.core.bounds import Bounds
from tacit.errors import InvalidValue
from tacit.noise.integers import Integers


@dataclass(frozen=True, slots=True)
class Cells:
    """``count`` cells between ``bounds``; with a ``unit`` they are even in asinh(value / unit).

    On a wide range even cells are a poor guess of where values are: a private choice then pays
    for the logarithm of the range. Cells that grow with the distance from 0 beyond ``unit`` pay
    for that of its logarithm.

    Example:
        >>> even = Cells(Bounds.of(0, 10), 5)
        >>> even.places([0.1, 9.9, 70]).tolist(), even.value(2)
        ([0, 4, 4], 5.0)
        >>> wide = Cells(Bounds.of(0, 10**6), 1000, unit=Fraction(1))
        >>> [round(wide.value(place), 1) for place in (0, 500, 999)]
        [0.0, 712.3, 992771.9]
    """

    bounds: Bounds
    count: int = 2**14
    unit: Fraction | None = None

    def __post_init__(self) -> None:
        if self.count < 1 or self.bounds.width == 0 or (self.unit or 1) <= 0:
            raise InvalidValue(
                "Cells need bounds that differ, a count of 1 or more and a unit above 0; "
                f"{self.count} and {self.unit} were given."
            )

    def places(self, values: ArrayLike) -> Integers:
        """The cell of each value: the nearest for one outside, the first for what is no number.

        Guarantee: total, and each place is a function of its own value alone.
        """
        lower, upper = (float(end) for end in (self.bounds.lower, self.bounds.upper))
        numbers = np.asarray(values, dtype=np.float64)
        inside = np.clip(np.where(np.isnan(numbers), lower, numbers), lower, upper)
        even = inside if self.unit is None else np.arcsinh(inside / float(self.unit))
        low, high = self._ends
        found = np.floor((even - low) / (high - low) * self.count).astype(np.int64)
        return np.clip(found, 0, self.count - 1)

    def counts(self, values: ArrayLike) -> Integers:
        """How many values lie in each cell."""
        return np.bincount(self.places(values), minlength=self.count)

    def value(self, place: int) -> float:
        """The middle of a cell."""
        return self.edge(place + 0.5)

    def edge(self, place: float) -> float:
        """Where the cell ``place`` begins, and the one before it ends."""
        low, high = self._ends
        even = low + (high - low) * place / self.count
        return even if self.unit is None else float(self.unit) * sinh(even)

    @property
    def _ends(self) -> tuple[float, float]:
        ends = float(self.bounds.lower), float(self.bounds.upper)
        if self.unit is None:
            return ends
        return asinh(ends[0] / float(self.unit)), asinh(ends[1] / float(self.unit))
