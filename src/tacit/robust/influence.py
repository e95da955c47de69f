"""Influence functions and what follows from them, as diagnostics of the owner's data.

T is an M-estimator of location: the root of sum psi((x - T) / scale) = 0. With M = -E[d psi /
dT] its influence function is psi / M: how far a little more of x moves T.
Reference: Hampel 1974; Huber 1981, chapter 3. ``docs/privacy/errata.md``, E20, has the
lectures' formula, which lost a t and a sign.
"""

import numpy as np
from numpy.typing import ArrayLike

from tacit.errors import InvalidValue
from tacit.robust.diagnostic import Diagnostic
from tacit.robust.psi import Psi
from tacit.robust.steps import Floats

STEPS = 2000
"""Of the iteration for a root; it stops when nothing moves any more."""

AWAY = 1e6
"""So many scales beyond the data is far enough for a score to have reached its end."""

PLACES = 401
"""Where an influence is looked at."""


def location(values: ArrayLike, psi: Psi, scale: float = 1.0) -> Diagnostic:
    """The exact M-estimate, from the median on; reweighting, which cannot overshoot.

    Example:
        >>> from tacit.robust.psi import Huber
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
        >>> from tacit.robust.psi import Huber
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
