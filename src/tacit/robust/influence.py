"""Numbers for the owner's eyes: they describe the data, and no mechanism takes them."""

from dataclasses import dataclass
from math import exp, log, sqrt
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike

from tacit.core import Norm
from tacit.errors import InvalidValue, SecretMisuse
from tacit.robust.estimate import Floats
from tacit.robust.location import Psi


@dataclass(frozen=True, slots=True, eq=False)
class Diagnostic:
    """A property of the very data at hand, such as a gross error sensitivity.

    It is exact, so it stays with the owner: it prints no number. And it holds for these data
    and not for their neighbours, so noise that follows it tells who is there (E03, E05, E07 of
    ``docs/privacy/errata.md``). Every mechanism asks for its sensitivity in a norm: there this
    one refuses.

    Example:
        >>> found = Diagnostic("gross error sensitivity", 1.8)
        >>> print(found)
        gross error sensitivity: a diagnostic for the owner, not a sensitivity
        >>> found.for_the_owner
        1.8
    """

    name: str
    for_the_owner: float

    def __repr__(self) -> str:
        return f"{self.name}: a diagnostic for the owner, not a sensitivity"

    __str__ = __repr__

    def in_norm(self, norm: Norm) -> NoReturn:
        """Refuse to be the sensitivity of a mechanism."""
        raise SecretMisuse(
            f"The {self.name} describes the data at hand, and a sensitivity in {norm.name} "
            "must hold for all data: noise that follows it would tell who is there. Use a "
            "mechanism of tacit.robust, such as Location, whose noise does not look at it."
        )

    def __float__(self) -> float:
        raise SecretMisuse(
            f"The {self.name} is exact, and for the owner alone; for_the_owner holds it."
        )


# ------------------------------------------------------------------ influence
# Influence functions and what follows from them, as diagnostics of the owner's data.
#
# T is an M-estimator of location: the root of sum psi((x - T) / scale) = 0. With M = -E[d psi
# / dT] its influence function is psi / M: how far a little more of x moves T. Reference:
# Hampel 1974; Huber 1981, chapter 3. ``docs/privacy/errata.md``, E20, has the lectures'
# formula, which lost a t and a sign.

STEPS = 2000
"""Of the iteration for a root; it stops when nothing moves any more."""

AWAY = 1e6
"""So many scales beyond the data is far enough for a score to have reached its end."""

PLACES = 401
"""Where an influence is looked at."""


def location(values: ArrayLike, psi: Psi, scale: float = 1.0) -> Diagnostic:
    """The exact M-estimate, from the median on; reweighting, which cannot overshoot.

    Example:
        >>> from tacit.robust.location import Huber
        >>> round(location([0.0, 1.0, 2.0, 90.0], Huber(3.0)).for_the_owner, 6)
        2.0
    """
    return Diagnostic("M-estimate", _root(_weighted(values), psi, scale))


def influence(values: ArrayLike, at: ArrayLike, psi: Psi, scale: float = 1.0) -> Floats:
    """IF(x) = psi((x - T) / scale) * scale / mean slope, for each x of ``at``."""
    points, weights = _weighted(values)
    where = _root((points, weights), psi, scale)
    slope = float(weights @ psi.slope((points - where) / scale))
    scores = psi((np.asarray(at, dtype=np.float64) - where) / scale)
    return np.asarray(scale * scores / slope) if slope > 0 else np.full_like(scores, np.inf)


def gross_error_sensitivity(values: ArrayLike, psi: Psi, scale: float = 1.0) -> Diagnostic:
    """The greatest influence, sup over x of abs(IF(x)).

    Example:
        >>> from tacit.robust.location import Huber
        >>> round(gross_error_sensitivity([0.0, 1.0, 2.0, 90.0], Huber(3.0)).for_the_owner, 6)
        4.0
    """
    name = "gross error sensitivity"
    points, weights = _weighted(values)
    where = _root((points, weights), psi, scale)
    slope = float(weights @ psi.slope((points - where) / scale))
    return Diagnostic(name, scale * psi.bound / slope if slope > 0 else float("inf"))


def fixed_scale_influence(
    values: ArrayLike, at: ArrayLike, psi: Psi, share: float, scale: float = 1.0
) -> Floats:
    """IF at a share of x that is not little: (T((1 - share) F + share x) - T(F)) / share."""
    points, weights = _weighted(values)
    here = _root((points, weights), psi, scale)
    mixed = np.append((1 - share) * weights, share)
    moved = [
        _root((np.append(points, each), mixed), psi, scale)
        for each in np.asarray(at, dtype=np.float64)
    ]
    return (np.array(moved) - here) / share


def fixed_scale_sensitivity(
    values: ArrayLike, psi: Psi, share: float, scale: float = 1.0
) -> Diagnostic:
    """The greatest fixed-scale influence, near the estimate and far away."""
    if not 0 < share < 1:
        raise InvalidValue(f"A share lies between 0 and 1, and {share} does not.")
    where = _root(_weighted(values), psi, scale)
    near = where + scale * np.linspace(-2, 2, PLACES) * psi.turn
    at = np.concatenate([near, [where - AWAY * scale, where + AWAY * scale]])
    found = fixed_scale_influence(values, at, psi, share, scale)
    return Diagnostic("fixed-scale gross error sensitivity", float(abs(found).max()))


def asymptotic_variance(values: ArrayLike, psi: Psi, scale: float = 1.0) -> Diagnostic:
    """V = E[IF**2]: sqrt(n) (T - its limit) is near a normal law of this variance."""
    points, weights = _weighted(values)
    found = influence(values, points, psi, scale)
    return Diagnostic("asymptotic variance", float(weights @ found**2))


def _weighted(values: ArrayLike) -> tuple[Floats, Floats]:
    points = np.asarray(values, dtype=np.float64)
    if points.size == 0:
        raise InvalidValue("A diagnostic needs one value or more, and none was given.")
    return points, np.full(points.size, 1 / points.size)


def _root(law: tuple[Floats, Floats], psi: Psi, scale: float) -> float:
    """The fixed point of T = sum(w * x) / sum(w), w = weight * psi(u) / u."""
    points, weights = law
    order = np.argsort(points)
    half = int(np.searchsorted(np.cumsum(weights[order]), 0.5))
    where = float(points[order][min(half, points.size - 1)])
    for _ in range(STEPS):
        residuals = (points - where) / scale
        safe = np.where(abs(residuals) < 1e-12, 1e-12, residuals)  # noqa: PLR2004 - 0 / 0
        each = weights * psi(safe) / safe
        if not (whole := float(each.sum())) > 0:
            return where
        before, where = where, float(each @ points) / whole
        if abs(where - before) <= 1e-12 * scale:
            break
    return where


# ------------------------------------------------------------------ demonstrations
# Two formulas of the lectures that look like mechanisms, kept to show why they are none.
#
# Both scale noise by a property of the data at hand: E03 and E05 of
# ``docs/privacy/errata.md``. They compute what the lectures say, as diagnostics, and refuse
# to be charged or released.


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
