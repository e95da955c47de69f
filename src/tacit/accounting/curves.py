"""Gaussian differential privacy: the curve of the continuous Gaussian, and of the discrete one.

The discrete Gaussian's own curve lies above the continuous one for small scales, by up to a
fifth: the continuous formula is no claim about integers.

How private L2 noise is at an epsilon below its pure one, and how much of it is needed.

Noise z of density exp(-norm2(z) / scale), and a neighbour one step v away, have the privacy
loss L = (norm2(z - v) - norm2(z)) / scale. The points of equal loss and of equal norm2(z - v) +
norm2(z) are hyperboloids and ellipsoids about the two centres, and in these coordinates the
density is a product: cos(phi) = L * scale has the density, on 0 < phi < pi, proportional to

    exp(cos(phi) / (2 * scale)) * sin(phi)**(d - 2) * (weight + sin(phi)**2),

    weight = 2 * scale * (d - 1) * K(d/2) / K(d/2 - 1), Bessel functions at 1 / (2 * scale),

in d >= 2 dimensions. So delta = E[max(0, 1 - exp(epsilon - L))] is an integral over one line.
"""

from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache
from math import (
    asin,
    asinh,
    cos,
    cosh,
    erfc,
    exp,
    expm1,
    inf,
    log,
    log1p,
    nextafter,
    pi,
    sin,
    sinh,
    sqrt,
)

from tacit.accounting.convert import least_that
from tacit.errors import InvalidValue
from tacit.numeric import ceil_to, exp_bounds

GAUSSIAN_MARGIN = 1e-12
"""Relative room for the rounding of erfc, exp and log in 64-bit floats."""


def gaussian_delta(epsilon: float, mu: float) -> float:
    """The delta at ``epsilon`` of real Gaussian noise, ``mu`` = sensitivity / scale.

    Guarantee: rounded up.

    Reference: Balle, Wang 2018, theorem 8.

    Example:
        >>> round(gaussian_delta(1, 1 / 4.2247) * 1e6, 3)
        1.0
    """
    if mu == 0:
        return 0.0
    near = _normal(mu / 2 - epsilon / mu)
    far = _normal(-mu / 2 - epsilon / mu)
    lost = exp(epsilon + log(far)) if far > 0 else 0.0
    return min(
        1.0,
        max(0.0, nextafter(near * (1 + GAUSSIAN_MARGIN) - lost * (1 - GAUSSIAN_MARGIN), inf)),
    )


def gaussian_scale(epsilon: Fraction, delta: Fraction) -> Fraction:
    """The least scale for sensitivity 1, to a millionth, within ``delta`` at ``epsilon``.

    Example:
        >>> float(gaussian_scale(Fraction(1), Fraction(1, 10**6)))
        4.224679
    """
    if epsilon < 0 or not 0 < delta < 1:
        raise InvalidValue(
            "Gaussian noise needs an epsilon of at least 0 and a delta between 0 and 1, "
            f"and {epsilon}, {delta} were given."
        )
    bound = float(delta)
    return least_that(
        lambda scale: gaussian_delta(float(epsilon), float(1 / scale)) <= bound,
        unit=Fraction(1, 10**6),
    )


def discrete_gaussian_delta(variance: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """The delta at ``epsilon`` of one integer that moves by ``shift`` under discrete noise.

    Guarantee: rounded up, summed from the law itself with certified bounds.

    Example:
        >>> round(float(discrete_gaussian_delta(Fraction(16), 1, Fraction(1))) * 1e6, 3)
        3.055
    """
    reach = int(14 * sqrt(variance)) + 14 + abs(shift)
    lower = [exp_bounds(-Fraction(y * y) / (2 * variance), digits=40)[0] for y in range(reach)]
    upper = [exp_bounds(-Fraction(y * y) / (2 * variance), digits=40)[1] for y in range(reach)]
    total = 2 * sum(lower) - lower[0]  # the weights of all integers, rounded down
    factor = exp_bounds(epsilon, digits=40)[0]
    over = Fraction(0)
    for y in range(-reach + 1, reach):
        other = lower[abs(y - shift)] if abs(y - shift) < reach else Fraction(0)
        over += max(Fraction(0), upper[abs(y)] - factor * other)
    return over / total + Fraction(1, 10**30)  # what lies beyond the reach is below 10**-40


def _normal(value: float) -> float:
    return erfc(-value / sqrt(2)) / 2


BALL_MARGIN = 1e-9
"""Added to each delta as a part of it: a thousand times what sums of floats are wrong by."""

LEAST = 1e-300
"""Added as well, because what underflows is not 0."""

AGREEMENT = 1e-12
"""Two sums, one with twice the points of the other, agree to this part of them."""

STEEPEST = 3.2
"""Where the points of a tanh-sinh sum end, with weights below 10**-16."""

FEWEST_POINTS, MOST_POINTS = 64, 2**20

BESSEL_POINTS = 2000

BISECTIONS = 60


def ball_delta(scale: float, dimensions: int, epsilon: float) -> float:
    """The delta at ``epsilon`` of L2 noise of this scale, for an L2 sensitivity of 1.

    Guarantee: at least the true delta, by a margin far above what floats can be wrong by; 0
    where epsilon * scale >= 1, which is pure privacy. Neighbours nearer than 1 give no more.
    Reference: Joseph, Kulesza, Yu 2025; the coordinates are prolate spheroidal.

    Example:
        >>> f"{ball_delta(0.9164, dimensions=10, epsilon=1.0):.3g}"
        '1e-06'
    """
    if scale <= 0 or dimensions < 1 or epsilon < 0:
        raise InvalidValue(
            "Ball noise has a scale above 0, at least 1 dimension and an epsilon of 0 or more, "
            f"and scale={scale}, dimensions={dimensions}, epsilon={epsilon} was given."
        )
    # 1 - epsilon * scale, exactly, because the floats nearly cancel where delta is small
    gap = float(1 - Fraction(epsilon) * Fraction(scale))
    if gap <= 0:
        return 0.0
    if dimensions == 1:
        return _up(-expm1(-gap / scale / 2))
    density = _loss_density(scale, dimensions)

    def excess(phi: float) -> float:
        # epsilon - L = (2 * sin(phi / 2)**2 - gap) / scale
        return max(0.0, -expm1((2 * sin(phi / 2) ** 2 - gap) / scale)) * density(phi)

    # below this angle the loss passes epsilon
    edge = 2 * asin(sqrt(min(1.0, gap / 2)))
    points = int(16 * sqrt(dimensions + 1 / scale))
    whole = _integral(density, pi, points)
    return _up(_integral(excess, edge, points) / whole)


def ball_scale(dimensions: int, epsilon: float, delta: float) -> float:
    """The least scale whose L2 noise is (epsilon, delta)-private for an L2 sensitivity of 1.

    Guarantee: `ball_delta` of the scale returned is at most ``delta``.

    Example:
        >>> round(ball_scale(dimensions=10, epsilon=1.0, delta=1e-6), 4)
        0.9164
    """
    if epsilon <= 0 or not 0 <= delta < 1:
        raise InvalidValue(
            "A scale is for an epsilon above 0 and a delta in [0, 1), and "
            f"epsilon={epsilon}, delta={delta} was given."
        )
    enough = 1 / epsilon
    while Fraction(enough) * Fraction(epsilon) < 1:  # a quotient of floats is rounded
        enough *= 1 + 2**-52
    if delta == 0:
        return enough
    few = enough / 2
    while ball_delta(few, dimensions, epsilon) <= delta:
        few, enough = few / 2, few
    for _ in range(BISECTIONS):
        middle = (few + enough) / 2
        if ball_delta(middle, dimensions, epsilon) <= delta:
            enough = middle
        else:
            few = middle
    return enough


def _up(delta: float) -> float:
    """A delta with its margin."""
    return min(1.0, delta * (1 + BALL_MARGIN) + LEAST)


def _loss_density(scale: float, dimensions: int) -> Callable[[float], float]:
    """The density of phi, up to a factor that keeps it near 1 where it is greatest."""
    rate, power = 1 / (2 * scale), dimensions - 2
    weight = 2 * scale * (dimensions - 1) * _bessel_ratio(dimensions, rate)
    # rate * cos + power * log(sin) is greatest where power * cos = rate * sin**2
    cosine = 2 * rate / (power + sqrt(power**2 + 4 * rate**2))
    top = rate * cosine + power * log(power * cosine / rate) / 2 if power else rate

    def density(phi: float) -> float:
        sine = sin(phi)
        if sine <= 0:
            return 0.0
        height = rate * cos(phi) + (power * log(sine) if power else 0.0) - top
        return exp(height) * (1 + sine * sine / weight)

    return density


def _bessel_ratio(dimensions: int, argument: float) -> float:
    """K(d/2) / K(d/2 - 1) of modified Bessel functions.

    From K(1/2) / K(-1/2) = 1 or K(1) / K(0), by K(v + 1) = K(v - 1) + 2 * v / x * K(v): sums of
    positive terms, so nothing is lost.
    """
    if dimensions % 2:
        order, ratio = 0.5, 1.0
    else:
        # K(v) is the integral of exp(-x * cosh(t)) * cosh(v * t); the factor exp(-x) cancels
        end = 2 * asinh(sqrt(350 / argument))
        steps = [end * place / BESSEL_POINTS for place in range(1, BESSEL_POINTS)]
        terms = [exp(-2 * argument * sinh(t / 2) ** 2) for t in steps]
        weighted = sum(cosh(t) * term for t, term in zip(steps, terms, strict=True))
        order, ratio = 1.0, (0.5 + weighted) / (0.5 + sum(terms))
    while order < dimensions / 2:
        ratio = 2 * order / argument + 1 / ratio
        order += 1
    return ratio


def _integral(of: Callable[[float], float], end: float, points: int) -> float:
    """The integral from 0 to ``end``: tanh-sinh sums, with twice the points until two agree.

    Reference: Takahasi, Mori 1974.
    """
    points = max(FEWEST_POINTS, points)
    before = _tanh_sinh(of, end, points)
    while points < MOST_POINTS:
        points *= 2
        now = _tanh_sinh(of, end, points)
        if abs(now - before) <= AGREEMENT * now:
            return now
        before = now
    raise InvalidValue(
        "These settings of ball noise are beyond the quadrature; use a scale nearer to 1."
    )


def _tanh_sinh(of: Callable[[float], float], end: float, points: int) -> float:
    """The sum over ``points`` points that crowd toward both ends."""
    step = 2 * STEEPEST / points
    total = 0.0
    for place in range(points + 1):
        t = step * place - STEEPEST
        inner = pi / 2 * sinh(t)
        # (1 + tanh) / 2 without cancellation at the left end
        part = 1 / (1 + exp(-2 * inner)) if inner > 0 else exp(2 * inner) / (1 + exp(2 * inner))
        total += of(end * part) * cosh(t) / cosh(inner) ** 2
    return total * step * end * pi / 4


# ------------------------------------------------------------------ smooth
# What noise in proportion to a smooth sensitivity gives up: the worst over all neighbours.
#
# Neighbours' smooth sensitivities S and S' differ by a factor of exp(smoothing) at most, and
# their values by min(S, S') at most. Both curves here are of real numbers, computed in
# floats.

RATIOS = 401
"""Ratios of scales that are tried before the worst is refined; the curve is smooth between."""

REFINEMENTS = 40


LARGEST_POWER = 700.0
"""e to this is near the greatest float."""


FACTOR_UNIT = Fraction(1, 10**12)
"""The factor of a smooth sensitivity is rounded up to a multiple of this."""


@lru_cache(maxsize=256)
def lomax_factor(epsilon: Fraction, smoothing: Fraction) -> Fraction:
    """The scale of Lomax noise for a smooth sensitivity of 1, rounded up.

    Guarantee: with tail = epsilon / smoothing, scales of this factor times smooth sensitivities
    that differ by a factor of exp(smoothing) at most, and values as far apart as the lesser of
    the two at most, each density is at most exp(epsilon) times the other.
    Reference: ``docs/privacy/mechanisms/lomax.md`` proves it; the family is that of Hladík,
    Tětek 2025.

    Example:
        >>> round(float(lomax_factor(Fraction(1), Fraction(1, 10))), 3)
        10.613
    """
    power = 1 + epsilon / smoothing
    alike = 1 / (exp_bounds(epsilon / power)[0] - 1)
    apart = exp_bounds(-smoothing)[1] / (exp_bounds((epsilon - smoothing) / power)[0] - 1)
    return ceil_to(max(alike, apart), FACTOR_UNIT)


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
