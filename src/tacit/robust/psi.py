"""The score functions of M-estimators of location: how much a residual counts."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from tacit.errors import InvalidValue
from tacit.robust.steps import Floats


class Psi(Protocol):
    """A bounded, odd function of a residual, and its slope."""

    @property
    def turn(self) -> float:
        """Where it stops growing (Huber), or where it is 0 again (Tukey)."""
        ...

    @property
    def bound(self) -> float:
        """The most that it can be."""
        ...

    def __call__(self, residuals: Floats) -> Floats:
        """How much each residual counts."""
        ...

    def slope(self, residuals: Floats) -> Floats:
        """Its derivative."""
        ...


@dataclass(frozen=True, slots=True)
class Huber:
    """A residual counts as it is up to ``turn``, and no more beyond.

    Example:
        >>> Huber(1.345)(np.array([0.5, 100.0])).tolist()
        [0.5, 1.345]
    """

    turn: float = 1.345

    def __post_init__(self) -> None:
        _above_zero(self.turn)

    @property
    def bound(self) -> float:
        """The turn itself."""
        return self.turn

    def __call__(self, residuals: Floats) -> Floats:
        """Residuals, clamped."""
        return np.clip(residuals, -self.turn, self.turn)

    def slope(self, residuals: Floats) -> Floats:
        """1 between the turns, else 0."""
        return np.asarray(abs(residuals) < self.turn, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Tukey:
    """The biweight: a residual counts less again when it grows, and nothing beyond ``turn``.

    Example:
        >>> Tukey(4.685)(np.array([0.0, 4.685, 100.0])).tolist()
        [0.0, 0.0, 0.0]
    """

    turn: float = 4.685

    def __post_init__(self) -> None:
        _above_zero(self.turn)

    @property
    def bound(self) -> float:
        """Its value at turn / sqrt(5)."""
        return float(self(np.array([self.turn / 5**0.5]))[0])

    def __call__(self, residuals: Floats) -> Floats:
        """Each residual u as u * (1 - (u / turn)**2)**2 inside the turns."""
        inside = np.clip(residuals / self.turn, -1, 1)
        return np.asarray(self.turn * inside * (1 - inside**2) ** 2)

    def slope(self, residuals: Floats) -> Floats:
        """(1 - v**2) * (1 - 5 * v**2) for v = u / turn inside the turns."""
        square = np.clip(residuals / self.turn, -1, 1) ** 2
        return np.asarray((1 - square) * (1 - 5 * square))


def _above_zero(turn: float) -> None:
    if not turn > 0:
        raise InvalidValue(f"The turn of a score function is above 0, and {turn} was given.")
