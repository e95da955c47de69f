"""Influence functions and related diagnostics, which are for the data owner only.

A `Diagnostic` is an exact property of the data, such as the gross error sensitivity of an
estimator. It must not be released, and it is not a sensitivity in the sense of differential
privacy. The module also implements two published formulas that scale noise by such diagnostics,
in order to demonstrate why they are not private.
"""

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
    """An exact property of the data, such as a gross error sensitivity.

    Only the owner may see it, so printing it does not show the number. It holds for this data
    and not for neighbouring datasets, so noise that is scaled by it reveals who is in the data
    (E03, E05, E07 of ``docs/privacy/errata.md``). Every mechanism asks for its sensitivity in a
    norm; a diagnostic raises an exception there.

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
        """Raise an error: a property of the present data is not a sensitivity for noise."""
        raise SecretMisuse(
            f"The {self.name} is a property of the present data, but a sensitivity in "
            f"{norm.name} must hold for all data; noise that is scaled by it would reveal who "
            "is in the data. Use a mechanism of tacit.robust, such as RobustLocation."
        )

    def __float__(self) -> float:
        raise SecretMisuse(
            f"The {self.name} is an exact value of the data. Only the owner may use it, "
            "through the attribute for_the_owner."
        )


# ------------------------------------------------------------------ influence functions
# T is an M-estimator of location: the root of sum psi((x - T) / scale) = 0. With M = -E[d psi
# / dT], its influence function is psi / M. It states how far T moves per share of additional
# data at x. Reference: Hampel 1974; Huber 1981, chapter 3. ``docs/privacy/errata.md``, E20,
# corrects the formula of the lectures, in which a factor t and a sign are missing.

STEPS = 2000
"""The largest number of iterations for a root; they end earlier when nothing changes."""

AWAY = 1e6
"""The distance from the data, in scales, at which a score has reached its limit."""

PLACES = 401
"""Number of points at which an influence function is evaluated."""


def location(values: ArrayLike, psi: Psi, scale: float = 1.0) -> Diagnostic:
    """Return the exact M-estimate, by iterative reweighting that starts from the median.

    Example:
        >>> from tacit.robust.location import Huber
        >>> round(location([0.0, 1.0, 2.0, 90.0], Huber(3.0)).for_the_owner, 6)
        2.0
    """
    return Diagnostic("M-estimate", _root(_equal_weights(values), psi, scale))


def influence(values: ArrayLike, at: ArrayLike, psi: Psi, scale: float = 1.0) -> Floats:
    """Return IF(x) = psi((x - T) / scale) * scale / mean slope, for each x of ``at``."""
    points, weights = _equal_weights(values)
    where = _root((points, weights), psi, scale)
    slope = float(weights @ psi.slope((points - where) / scale))
    scores = psi((np.asarray(at, dtype=np.float64) - where) / scale)
    return np.asarray(scale * scores / slope) if slope > 0 else np.full_like(scores, np.inf)


def gross_error_sensitivity(values: ArrayLike, psi: Psi, scale: float = 1.0) -> Diagnostic:
    """Return the largest influence, the supremum over x of abs(IF(x)).

    Example:
        >>> from tacit.robust.location import Huber
        >>> round(gross_error_sensitivity([0.0, 1.0, 2.0, 90.0], Huber(3.0)).for_the_owner, 6)
        4.0
    """
    name = "gross error sensitivity"
    points, weights = _equal_weights(values)
    where = _root((points, weights), psi, scale)
    slope = float(weights @ psi.slope((points - where) / scale))
    return Diagnostic(name, scale * psi.bound / slope if slope > 0 else float("inf"))


def fixed_scale_influence(
    values: ArrayLike, at: ArrayLike, psi: Psi, share: float, scale: float = 1.0
) -> Floats:
    """Return the influence of x at a fixed share of the data, for each x of ``at``.

    It is (T((1 - share) F + share x) - T(F)) / share.
    """
    points, weights = _equal_weights(values)
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
    """Return the largest fixed-scale influence, near the estimate and far away."""
    if not 0 < share < 1:
        raise InvalidValue(f"The share must be between 0 and 1, but {share} was given.")
    where = _root(_equal_weights(values), psi, scale)
    near = where + scale * np.linspace(-2, 2, PLACES) * psi.turn
    at = np.concatenate([near, [where - AWAY * scale, where + AWAY * scale]])
    found = fixed_scale_influence(values, at, psi, share, scale)
    return Diagnostic("fixed-scale gross error sensitivity", float(abs(found).max()))


def asymptotic_variance(values: ArrayLike, psi: Psi, scale: float = 1.0) -> Diagnostic:
    """Return V = E[IF**2], the variance of the normal limit of sqrt(n) (T - its limit)."""
    points, weights = _equal_weights(values)
    found = influence(values, points, psi, scale)
    return Diagnostic("asymptotic variance", float(weights @ found**2))


def _equal_weights(values: ArrayLike) -> tuple[Floats, Floats]:
    points = np.asarray(values, dtype=np.float64)
    if points.size == 0:
        raise InvalidValue("A diagnostic needs at least one value, but none was given.")
    return points, np.full(points.size, 1 / points.size)


def _root(law: tuple[Floats, Floats], psi: Psi, scale: float) -> float:
    """Return the fixed point of T = sum(w * x) / sum(w), where w = weight * psi(u) / u."""
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


# ------------------------------------------------------------------ formulas that are not
# private Two formulas of the lectures that look like mechanisms. Both scale noise by a property
# of the present data: E03 and E05 of ``docs/privacy/errata.md``. The classes compute the
# formulas as diagnostics, and raise an exception when they should be charged or released.


@dataclass(frozen=True, slots=True)
class GrossErrorNoise:
    """Noise scaled by a gross error sensitivity G: T + G * factor * Z. It is not private.

    This is erratum E03 of ``docs/privacy/errata.md``.
    The factor is 5 sqrt(2 ln n ln(2/delta)) / (epsilon n). The published proposition holds for
    data whose slope is bounded from below in a neighbourhood, and this condition cannot be
    checked without a privacy loss. Two clusters of equal size are a counterexample: one person
    moves the estimate from one cluster to the other, by a thousand standard deviations of this
    noise.
    Reference: Avella-Medina 2021; the counterexample is in tests/claims/test_errata.py.
    """

    epsilon: float
    delta: float
    psi: Psi
    scale: float = 1.0

    def deviation(self, values: ArrayLike) -> Diagnostic:
        """Return the standard deviation of the noise that the formula would add."""
        size = max(2, np.size(values))
        gross = gross_error_sensitivity(values, self.psi, self.scale).for_the_owner
        factor = 5 * sqrt(2 * log(size) * log(2 / self.delta)) / (self.epsilon * size)
        return Diagnostic("deviation of gross error noise", gross * factor)

    def event(self, *_: object) -> NoReturn:
        """Refuse to describe a release: this formula has no privacy loss to charge."""
        raise SecretMisuse(_REFUSAL.format("Noise of a gross error sensitivity (E03)"))

    def release(self, *_: object) -> NoReturn:
        """Refuse to release: a value of this formula is not private."""
        raise SecretMisuse(_REFUSAL.format("Noise of a gross error sensitivity (E03)"))


@dataclass(frozen=True, slots=True)
class ProbableSmoothBound:
    """A bound on a smooth sensitivity that is only probable, and so not private.

    This is erratum E05 of ``docs/privacy/errata.md``: max(2 G / n, R exp(-beta k)).
    G is the fixed-scale gross error sensitivity at 1/n. The bound holds only with probability
    1 - eta over a sample of independent values from an unknown distribution, and a neighbour of
    the present sample need not be a likely sample. ``span`` is the length of the estimator's
    range, which must be finite.
    Reference: Chaudhuri, Hsu 2012, theorem 3.
    """

    smoothing: float
    eta: float
    span: float
    psi: Psi
    scale: float = 1.0

    def bound(self, values: ArrayLike) -> Diagnostic:
        """Return the probable bound on the smooth sensitivity, computed from the sample."""
        size = max(2, np.size(values))
        gross = fixed_scale_sensitivity(values, self.psi, 1 / size, self.scale).for_the_owner
        changed = sqrt(size * log(2 / self.eta) / 2) - 1
        damped = self.span * exp(-self.smoothing * changed)
        return Diagnostic("probable smooth sensitivity", max(2 * gross / size, damped))

    def radius(self, size: int) -> float:
        """Return how far the true distribution can be from that of a sample of this size.

        The distance is exceeded with probability at most ``eta``.
        """
        return sqrt(2 * log(2 / self.eta) / size)

    def event(self, *_: object) -> NoReturn:
        """Refuse to describe a release: this formula has no privacy loss to charge."""
        raise SecretMisuse(_REFUSAL.format("A bound that holds with high probability (E05)"))

    def release(self, *_: object) -> NoReturn:
        """Refuse to release: a value of this formula is not private."""
        raise SecretMisuse(_REFUSAL.format("A bound that holds with high probability (E05)"))


_REFUSAL = (
    "{} is not a private mechanism: it has no guarantee for some datasets, and checking for "
    "these would itself cost privacy. Use RobustLocation, TrimmedMean or DescentLocation of "
    "tacit.robust."
)
