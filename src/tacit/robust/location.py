"""Huber's and Tukey's location by inverse sensitivity: pure, and as robust as they are."""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from tacit.choose.selector import choose_selector
from tacit.core.bounds import Bounds
from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import Mechanism
from tacit.noise.integers import Integers
from tacit.robust.estimate import Estimate
from tacit.robust.inverse_sensitivity import huber_lengths, tukey_lengths
from tacit.robust.psi import Huber, Tukey
from tacit.robust.steps import steps_from

FINER = 16
"""Steps of values between two points that may be released."""

FINE_SCORES = 2**16
"""What the greatest of Tukey's scores is as an integer."""

ONE = Sensitivity.of(1, Norm.LINF, Rule("a unit changes by one how many must be replaced"))


@dataclass(frozen=True, slots=True)
class Location:
    """The location of one value for each unit, by the exponential mechanism.

    A point between the ``bounds`` is the likelier the fewer values must be replaced to make it
    the root of ``psi``'s scores, in residuals over a public ``scale``. Values need no bounds:
    beyond the turn they all count the same. `docs/privacy/robust.md` has the proof, for
    neighbours of either kind.

    Guarantee: ``event()`` stays within ``loss``, whatever the values. There is no interval.
    Reference: Asi, Duchi 2020 (inverse sensitivity).

    Example:
        >>> where = Location(Bounds.of(-50, 50), Huber(), scale=1.0, loss=Loss.pure(1))
        >>> where.event()
        PermuteAndFlipSelection(epsilon=Fraction(1, 1))
    """

    bounds: Bounds
    psi: Huber | Tukey
    scale: float
    loss: Loss
    points: int = 4001

    def __post_init__(self) -> None:
        if not self.scale > 0 or self.bounds.width == 0 or self.points < 2:  # noqa: PLR2004
            raise InvalidValue(
                "A location needs bounds that differ, a scale above 0 and 2 points or more; "
                f"{self.scale} and {self.points} were given."
            )

    def event(self) -> Event:
        """One selection."""
        return self._mechanism().event(ONE)

    def release(self, values: ArrayLike, gateway: Gateway) -> Estimate:
        """The noisy location of ``values``, one for each unit."""
        lower, upper = float(self.bounds.lower), float(self.bounds.upper)
        scores = Secret(-self.lengths(values))
        place = int(self._mechanism().release(scores, ONE, gateway)[0])
        return Estimate(lower + (upper - lower) * place / (self.points - 1))

    def lengths(self, values: ArrayLike) -> Integers:
        """For each point how many values must be replaced: exact, and for the gateway alone."""
        lower, upper = float(self.bounds.lower), float(self.bounds.upper)
        step = (upper - lower) / (self.points - 1) / FINER
        turn = max(1, round(self.psi.turn * self.scale / step))
        last = FINER * (self.points - 1)
        # beyond the turn from every point a value counts as if it were there
        half = last // 2 + turn + 1
        middle = lower + step * (last // 2)
        steps = steps_from(values, middle, step * half, half) + last // 2
        points = FINER * np.arange(self.points)
        if isinstance(self.psi, Huber):
            return huber_lengths(steps, points, turn)
        return tukey_lengths(steps, points, _biweights(turn))

    def _mechanism(self) -> Mechanism:
        return choose_selector(ONE, self.points, self.loss).mechanism


@lru_cache(maxsize=16)
def _biweights(turn: int) -> Integers:
    """Tukey's scores of residuals of 0 to ``turn`` steps, as integers."""
    exact = [Fraction(u, turn) * (1 - Fraction(u, turn) ** 2) ** 2 for u in range(turn + 1)]
    most = max(exact)
    return np.array([round(FINE_SCORES * each / most) for each in exact])
