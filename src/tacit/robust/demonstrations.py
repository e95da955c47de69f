"""Two formulas of the lectures that look like mechanisms, kept to show why they are none.

Both scale noise by a property of the data at hand: E03 and E05 of ``docs/privacy/errata.md``.
They compute what the lectures say, as diagnostics, and refuse to be charged or released.
"""

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import SecretMisuse
from tacit.robust.diagnostic import Diagnostic
from tacit.robust.influence import fixed_scale_sensitivity, gross_error_sensitivity
from tacit.robust.psi import Psi


@dataclass(frozen=True, slots=True)
class GrossErrorNoise:
    """E03: T + G * 5 sqrt(2 ln n ln(2/delta)) / (epsilon n) * Z, which is not private.

    The proposition holds for data whose slope is bounded from below all around them, and
    whether they are cannot be told without paying for it. Two heaps of equal size break it: one
    person moves the estimate from one heap to the other, a thousand deviations of this noise.
    Reference: Avella-Medina 2021; the counterexample is tests/claims/test_errata.py's.
    """

    epsilon: float
    delta: float
    psi: Psi
    scale: float = 1.0

    def deviation(self, values: ArrayLike) -> Diagnostic:
        """Of the noise that the formula would add."""
        size = max(2, np.size(values))
        gross = gross_error_sensitivity(values, self.psi, self.scale).for_the_owner
        factor = 5 * sqrt(2 * log(size) * log(2 / self.delta)) / (self.epsilon * size)
        return Diagnostic("deviation of gross error noise", gross * factor)

    def event(self, *_: object) -> NoReturn:
        """Refuse: there is no loss to charge."""
        raise SecretMisuse(_REFUSAL.format("Noise of a gross error sensitivity (E03)"))

    def release(self, *_: object) -> NoReturn:
        """Refuse: nothing that it gives is private."""
        raise SecretMisuse(_REFUSAL.format("Noise of a gross error sensitivity (E03)"))


@dataclass(frozen=True, slots=True)
class ProbableSmoothBound:
    """E05: max(2 G / n, R exp(-beta k)), which bounds a smooth sensitivity *often*.

    G is the fixed-scale gross error sensitivity at 1/n. The bound holds with probability
    1 - eta over a sample of independent values, for a law that nobody knows; a neighbour of the
    sample at hand need not be a likely one. ``span`` is the length of the estimator's range,
    which must be finite.
    Reference: Chaudhuri, Hsu 2012, theorem 3.
    """

    smoothing: float
    eta: float
    span: float
    psi: Psi
    scale: float = 1.0

    def bound(self, values: ArrayLike) -> Diagnostic:
        """What the formula says, with the sample itself in place of its law."""
        size = max(2, np.size(values))
        gross = fixed_scale_sensitivity(values, self.psi, 1 / size, self.scale).for_the_owner
        changed = sqrt(size * log(2 / self.eta) / 2) - 1
        damped = self.span * exp(-self.smoothing * changed)
        return Diagnostic("probable smooth sensitivity", max(2 * gross / size, damped))

    def radius(self, size: int) -> float:
        """Of the ball of laws around the sample's that holds the true one, but for ``eta``."""
        return sqrt(2 * log(2 / self.eta) / size)

    def event(self, *_: object) -> NoReturn:
        """Refuse: there is no loss to charge."""
        raise SecretMisuse(_REFUSAL.format("A bound that holds with high probability (E05)"))

    def release(self, *_: object) -> NoReturn:
        """Refuse: nothing that it gives is private."""
        raise SecretMisuse(_REFUSAL.format("A bound that holds with high probability (E05)"))


_REFUSAL = (
    "{} is no mechanism: it promises nothing on the data where it fails, and they cannot be "
    "told apart for free. Use Location, TrimmedMean or DescentLocation of tacit.robust."
)
