"""Noise with the memory of a Toeplitz matrix of integers; its square root of sums by default.

The released number of step t, in parts of 2**-bits, is u(t) = 2**bits * x(t) + v(t), with

    v(t) = round((2**bits * z(t) - c(1) v(t-1) - c(2) v(t-2) - ...) / c(0)).

Put u - 2**bits * x in place of v: the same rounding turns y(t) = c(0) x(t) + c(1) x(t-1) + ...
+ z(t) and the u before into u(t), because whole x pass through a rounding unchanged. So all
that is released is computed from y, which is integers with noise, and nothing else.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate

import numpy as np

from tacit.core.proof import Rule
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.noise.integers import Integers, narrowed
from tacit.stream.factor import Memory, Numbers
from tacit.stream.response import spread
from tacit.stream.window import Window

BITS = 16
"""Fraction bits of the matrix: from 16 on, rounding it costs less than 10**-8 of the error."""

SPARE_BITS = 64
"""Bits beyond these, so that what is rounded does not depend on floats."""

ROOM = 2**61
"""Sums below this fit 64 bits, also doubled."""


@dataclass(frozen=True, slots=True)
class Toeplitz:
    """A lower triangular matrix of integers, the same down each diagonal.

    ``coefficients`` are its first column, or the start of it where 0 follows: none below 0, and
    none above the one before.

    Guarantee: see `tacit.stream.factor.Factor`. A unit that moves k steps moves what is noised
    most where these are the first k in a row: two columns overlap the more the earlier and the
    nearer they are.
    Reference: Fichtenberger, Henzinger, Upadhyay 2023 (the square root); Kalinin, Lampert 2024,
    theorem 2 (k steps).

    Example:
        >>> Toeplitz.square_root(horizon=4).coefficients
        (65536, 32768, 24576, 20480)
    """

    coefficients: tuple[int, ...]
    horizon: int
    bits: int = BITS

    def __post_init__(self) -> None:
        first, *rest = self.coefficients
        pairs = zip(self.coefficients, rest, strict=False)
        if first < 1 or any(not 0 <= after <= before for before, after in pairs):
            raise InvalidValue("Coefficients begin above 0, and never rise or fall below 0.")
        if not len(self.coefficients) <= self.horizon:
            raise InvalidValue(f"A horizon of {self.horizon} steps has no more coefficients.")

    @classmethod
    def square_root(
        cls, horizon: int, length: int | None = None, bits: int = BITS
    ) -> "Toeplitz":
        """The square root of running sums, rounded; or its first ``length`` coefficients."""
        found, exact = [], 1 << (BITS + SPARE_BITS)
        for place in range(min(horizon, length or horizon)):
            exact = exact * (2 * place - 1) // (2 * place) if place else exact
            found.append((exact + (1 << SPARE_BITS - 1)) >> SPARE_BITS)
        return cls(tuple(found), horizon, bits)

    @classmethod
    def independent(cls, horizon: int) -> "Toeplitz":
        """Noise without a memory."""
        return cls((1,), horizon, 0)

    @property
    def grows(self) -> bool:
        """Whether any step before is remembered."""
        return len(self.coefficients) > 1

    def moved(self, step: Sensitivity, steps: int) -> Sensitivity:
        """The norm of the first ``steps`` columns together, in the integers themselves."""
        rule = Rule(
            "the first columns of the rounded matrix together, times what one step moves",
            (f"steps={steps}", f"horizon={self.horizon}"),
            (step.proof,),
        )
        if step.norm is Norm.L1:
            square = (steps * sum(self.coefficients)) ** 2
        else:
            square = column_square(self.coefficients, self.horizon, steps)
        return Sensitivity(step.square * square, step.norm, rule)

    def next(self, number: int, memory: Memory, fresh: Integers) -> tuple[Integers, Memory]:
        """The noise of the step ``number``, and all noise so far."""
        del number
        first, *rest = self.coefficients
        recalled = memory[::-1][: len(rest)]
        terms = [2**self.bits, *(-each for each in rest[: len(recalled)])]
        total = _combined(terms, (fresh, *recalled))
        noise = narrowed((2 * total + first) // (2 * first))
        return noise, (*memory, noise) if self.grows else ()

    def spread(self, window: Window) -> Numbers:
        """The deviations of what is shown, by the inverse of the rounded matrix."""
        return spread(_response(self.coefficients, self.horizon), window)


def column_square(coefficients: tuple[int, ...], horizon: int, steps: int) -> int:
    """The square of the norm of the first ``steps`` columns added up, exactly.

    Example:
        >>> column_square((2, 1), horizon=3, steps=1), column_square((2, 1), 3, 3)
        (5, 22)
    """
    padded = (*coefficients, *(0,) * (horizon - len(coefficients)))
    sums = [0, *accumulate(padded)]
    return sum((sums[t + 1] - sums[max(0, t + 1 - steps)]) ** 2 for t in range(horizon))


def _combined(coefficients: list[int], noises: Memory) -> Integers:
    """The sum of noises times coefficients: in 64 bits where a bound says that it fits."""
    largest = max(int(np.abs(noise).max(initial=0)) for noise in noises)
    kind = np.int64 if largest * sum(map(abs, coefficients)) < ROOM else object
    combined: Integers = np.array(coefficients, dtype=kind) @ np.array(noises, dtype=kind)
    return combined


@lru_cache(maxsize=64)
def _response(coefficients: tuple[int, ...], horizon: int) -> Numbers:
    """The first column of the inverse."""
    first = float(coefficients[0])
    rest = np.array(coefficients[1:], dtype=np.float64) / first
    response = np.zeros(horizon)
    response[0] = 1 / first
    for place in range(1, horizon if rest.size else 1):
        reach = min(place, rest.size)
        response[place] = -(rest[:reach] @ response[place - reach : place][::-1])
    return response
