"""What noise in proportion to a smooth sensitivity gives up: the worst over all neighbours.

Neighbours' smooth sensitivities S and S' differ by a factor of exp(smoothing) at most, and
their values by min(S, S') at most. Both curves here are of real numbers, computed in floats.
"""

from collections.abc import Iterator
from fractions import Fraction
from math import exp, expm1, inf, log, log1p

from tacit.noise.lomax import lomax_factor

RATIOS = 401
"""Ratios of scales that are tried before the worst is refined; the curve is smooth between."""

REFINEMENTS = 40


LARGEST_POWER = 700.0
"""e to this is near the greatest float."""


def lomax_worst_loss(
    epsilon: Fraction, smoothing: Fraction, factor: Fraction | None = None
) -> float:
    """The greatest log-ratio of two neighbours' Lomax densities, with the scale's ``factor``.

    Without a factor, that of the mechanism, which attains epsilon.

    Reference: ``docs/privacy/mechanisms/lomax.md``: the ratio is extremal at infinity, or at a
    value itself, where scales are equal or exp(smoothing) apart.

    Example:
        >>> lomax_worst_loss(Fraction(1), Fraction(1, 6))
        1.0
        >>> lomax_worst_loss(Fraction(1), Fraction(1, 6), factor=Fraction(6)) > 1
        True
    """
    scale = float(lomax_factor(epsilon, smoothing) if factor is None else factor)
    power, apart = float(1 + epsilon / smoothing), float(smoothing)
    return max(
        (power - 1) * apart,
        power * log1p(1 / scale),
        apart + power * log1p(exp(-apart) / scale),
    )


def smooth_laplace_delta(factor: Fraction, smoothing: Fraction, epsilon: Fraction) -> float:
    """The delta at epsilon of Laplace noise of ``factor`` times a smooth sensitivity.

    The worst distance of the values is the lesser of both sensitivities: symmetric unimodal
    densities overlap less the further they are apart. The worst ratio of scales is searched
    for, on a fine grid and then between its points.

    Example:
        >>> smooth_laplace_delta(Fraction(2), Fraction(1, 30), Fraction(1)) < 1e-6
        True
        >>> smooth_laplace_delta(Fraction(1), Fraction(1, 30), Fraction(1)) > 1e-4
        True
    """

    def delta(log_ratio: float) -> float:
        shift = min(1.0, exp(log_ratio))
        return _between(shift, float(factor), float(factor) * exp(log_ratio), float(epsilon))

    most = float(smoothing)
    step = 2 * most / (RATIOS - 1)
    worst = max((-most + place * step for place in range(RATIOS)), key=delta)
    low, high = max(-most, worst - step), min(most, worst + step)
    for _ in range(REFINEMENTS):
        third = (high - low) / 3
        if delta(low + third) < delta(high - third):
            low += third
        else:
            high -= third
    return max(delta(worst), delta((low + high) / 2))


def _between(shift: float, scale: float, other: float, epsilon: float) -> float:
    """The most of P(S) - exp(epsilon) * Q(S), P at 0 with ``scale``, Q at shift with ``other``.

    The log-ratio of their densities is linear between the centres and on either side.
    """
    total = 0.0
    for start, end in ((-inf, 0.0), (0.0, shift), (shift, inf)):
        for low, high in _positive_part(start, end, shift, scale, other, epsilon):
            inside = _mass(low, high, scale)
            # a factor that floats can hold: a lesser one only makes the bound greater
            factor = exp(min(epsilon, LARGEST_POWER))
            total += inside - factor * _mass(low - shift, high - shift, other)
    return max(total, 0.0)


def _positive_part(  # noqa: PLR0913, PLR0917 - a segment and two laws
    start: float, end: float, shift: float, scale: float, other: float, epsilon: float
) -> Iterator[tuple[float, float]]:
    """Where the log-ratio is above epsilon within a segment on which it is linear."""

    def excess(place: float) -> float:
        return log(other / scale) - abs(place) / scale + abs(place - shift) / other - epsilon

    anchor = end if start == -inf else start
    beside = (
        anchor - scale if start == -inf else anchor + (scale if end == inf else end - start)
    )
    slope = (excess(beside) - excess(anchor)) / (beside - anchor) if beside != anchor else 0.0
    root = anchor - excess(anchor) / slope if slope else inf
    if not start < root < end:
        inside = excess(beside if abs(end - start) == inf else (start + end) / 2)
        if inside > 0:
            yield start, end
    elif slope > 0:
        yield root, end
    else:
        yield start, root


def _mass(low: float, high: float, scale: float) -> float:
    """The probability of an interval under a Laplace law at 0, exact in the tails."""
    if low >= 0:
        return exp(-low / scale) * -expm1((low - high) / scale) / 2
    if high <= 0:
        return _mass(-high, -low, scale)
    return _mass(0.0, -low, scale) + _mass(0.0, high, scale)
