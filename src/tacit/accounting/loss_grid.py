"""A privacy loss distribution on a grid of losses, and many of it, one after the other.

Losses are multiples of a step. A law that lies between two of them is split over both such that
neither neighbour's mass changes, which only makes the two easier to tell apart.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import ceil, expm1, log, log1p, log2, sqrt

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

Tail = Callable[[float], float]
"""A number, to the mass on one side of it."""

STEP = 1e-4
"""Between two losses."""

TAIL = 1e-14
"""What may lie outside of the window that sums of losses are computed in; it is added."""

ROUNDING = 2.0**-50
"""Room for the rounding of a fast Fourier transform, for each of its levels."""


SLOPES = [2.0 ** (half / 2) for half in range(-10, 21)]
"""That are tried, to find such a window."""


@dataclass(frozen=True, slots=True, eq=False)
class LossGrid:
    """Masses of losses ``(first + i) * STEP``, and of what is told outright.

    Reference: Doroshenko, Ghazi, Kamath, Kumar, Manurangsi 2022 (connecting the dots); Koskela,
    Jälkö, Honkela 2020 (sums by Fourier transforms).
    """

    first: int
    masses: Floats
    outright: float

    @classmethod
    def between(
        cls, first: int, likely: Floats, unlikely: Floats, below: float, outright: float
    ) -> "LossGrid":
        """From what two neighbours have between grid points, ``first`` and those after it.

        ``likely`` is the mass of the one whose loss it is, and ``unlikely`` that of the other;
        ``below`` and ``outright`` are what the first has before and after all of them.
        """
        lower = np.exp(STEP * (first + np.arange(likely.size)))
        upper = np.clip((likely - unlikely * lower) / -expm1(-STEP), 0, likely)
        masses = np.append(likely - upper, 0.0) + np.append(below, upper)
        return cls(first, masses, outright)

    def repeated(self, times: int) -> "LossGrid":
        """The law of the sum of so many; what the window may miss counts as told outright."""
        low, high = (sign * self._reach(times, sign) for sign in (-1, 1))
        size = 1 << (high - low).bit_length()  # of which a Fourier transform is fast
        masses = np.zeros(size)
        np.add.at(masses, np.arange(self.masses.size) % size, self.masses)
        turned = np.fft.irfft(np.fft.rfft(masses) ** times, size)
        # on this circle the sum of all lowest losses stands at 0
        found = np.roll(turned, times * self.first - low)
        room = ROUNDING * log2(size) * times * sqrt(size * float(np.sum(self.masses**2)))
        outright = -expm1(times * log1p(-self.outright)) + TAIL + room
        return LossGrid(low, np.maximum(found, 0), outright)

    def delta_at(self, epsilon: float) -> float:
        """How much more one neighbour has than e to ``epsilon`` times the other."""
        losses = STEP * (self.first + np.arange(self.masses.size))
        above = losses > epsilon
        part = self.masses[above] * -np.expm1(epsilon - losses[above])
        return float(min(1.0, part.sum() * (1 + 1e-12) + self.outright))

    def _reach(self, times: int, sign: int) -> int:
        """So many steps up, or down, the sum of ``times`` hardly ever goes.

        Reference: Chernoff's bound; it holds at every slope, and the best of a few is taken.
        """
        losses = sign * STEP * (self.first + np.arange(self.masses.size))
        tops = [times * float(losses.max())]
        for slope in SLOPES:
            grown = float(np.log(self.masses @ np.exp(slope * (losses - losses.max()))))
            tops.append(times * (grown / slope + float(losses.max())) - log(TAIL / 2) / slope)
        return ceil(min(tops) / STEP)


def cells(edges: Floats, below: Tail, above: Tail) -> Floats:
    """The mass between each two edges, by the tail that is nearer, so that no digit is lost."""
    under, over = (np.array([tail(edge) for edge in edges]) for tail in (below, above))
    return np.maximum(np.where(under[1:] < over[:-1], np.diff(under), -np.diff(over)), 0)
