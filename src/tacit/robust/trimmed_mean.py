"""A trimmed mean, or the median, with noise of its smooth sensitivity."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from tacit.accounting.calibrate import calibrate
from tacit.core.bounds import Bounds
from tacit.core.event import Event
from tacit.core.loss import Loss
from tacit.core.proof import Rule
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.core.smooth_event import LomaxNoise
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.lomax import Lomax
from tacit.robust.estimate import Estimate
from tacit.robust.steps import steps_from
from tacit.robust.trimmed_sensitivity import MiddleSum

HALF = 2**32
"""Steps from the middle to a bound."""

SMOOTHING = Fraction(1, 6)
"""Of epsilon: the noise has finite variance below a half, and least error near a sixth."""


@dataclass(frozen=True, slots=True)
class TrimmedMean:
    """The mean of what is left when the share ``cut`` is taken off at either end.

    With a cut of 1/2 one value is left: the lower median. Neighbours replace one value, and the
    number of values is public. An exponential mechanism on ranks (`Quantiles`) has a median of
    less error; this is for trimmed means, and for the literature's mechanism.

    Guarantee: ``event()`` stays within ``loss``, whatever the values. There is no interval: the
    size of the noise is a secret of the values.
    Reference: Bun, Steinke 2019; noise by ``docs/privacy/mechanisms/lomax.md``.

    Example:
        >>> TrimmedMean(Bounds.of(0, 10), Fraction(1, 10), Loss.pure(1)).event()
        LomaxNoise(epsilon=Fraction(1, 1), smoothing=Fraction(1, 6))
    """

    bounds: Bounds
    cut: Fraction
    loss: Loss

    def __post_init__(self) -> None:
        if not 0 <= self.cut <= Fraction(1, 2) or self.bounds.width == 0:
            raise InvalidValue(
                "A trimmed mean needs bounds that differ and a cut between 0 and 1/2, and "
                f"{self.cut} was given."
            )

    def event(self) -> Event:
        """Noise that follows the values, smoothly."""
        return self._mechanism().event(self._worst(1))

    def release(self, values: ArrayLike, gateway: Gateway) -> Estimate:
        """The noisy trimmed mean of ``values``, one for each unit; of none it is the middle."""
        lower, upper = self.bounds.lower, self.bounds.upper
        middle, reach = float((lower + upper) / 2), float((upper - lower) / 2)
        if np.size(values) == 0:  # their number is public
            return Estimate(middle)
        steps = steps_from(values, middle, reach, HALF)
        kept, mechanism = self._kept(steps.size), self._mechanism()
        pair = Secret(kept.smooth_pair(steps, mechanism.smoothing))
        left = kept.last - kept.first + 1
        noisy = float(mechanism.release(pair, self._worst(left), gateway)[0]) / left
        return Estimate(middle + reach * min(max(noisy / HALF, -1.0), 1.0))

    def _kept(self, size: int) -> MiddleSum:
        cut = int(size * self.cut)
        if 2 * cut >= size:
            return MiddleSum.median(size, -HALF, HALF)
        return MiddleSum.trimmed(size, cut, -HALF, HALF)

    def _mechanism(self) -> Lomax:
        epsilon = 1 / calibrate(lambda x: LomaxNoise(1 / x, SMOOTHING / x), self.loss)
        return Lomax(epsilon, SMOOTHING * epsilon)

    def _worst(self, left: int) -> Sensitivity:
        """However far the pair can move; for audits, since it sets no noise."""
        return Sensitivity.of(2 * HALF * left, Norm.LINF, Rule("the range of the kept sum"))
