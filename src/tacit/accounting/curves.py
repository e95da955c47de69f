"""Privacy curves: delta as a function of epsilon, for single mechanisms.

The file has three families: Gaussian noise, continuous and discrete; L2 ball noise; and noise
that is scaled to a smooth sensitivity (Lomax and Laplace). All results are rounded toward more
loss.
"""

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import lru_cache

from tacit.accounting.convert import least_that
from tacit.errors import InvalidValue
from tacit.numeric import ceil_to, exp_bounds

# Gaussian noise ------------------------------------------------------------------------------
#
# For small scales, the curve of the discrete Gaussian lies above the one of the continuous
# Gaussian, by up to a fifth. The continuous formula therefore must not be used for integers.

GAUSSIAN_MARGIN = 1e-12
"""Relative margin for the rounding of erfc, exp and log in 64-bit floats."""


def gaussian_delta(epsilon: float, mu: float) -> float:
    """Return the delta at ``epsilon`` of continuous Gaussian noise, mu = sensitivity / scale.

    Guarantee: the result is rounded up.

    Reference: Balle, Wang 2018, theorem 8.

    Example:
        >>> round(gaussian_delta(1, 1 / 4.2247) * 1e6, 3)
        1.0
    """
    if mu == 0:
        return 0.0
    near = _normal(mu / 2 - epsilon / mu)
    far = _normal(-mu / 2 - epsilon / mu)
    lost = math.exp(epsilon + math.log(far)) if far > 0 else 0.0
    return min(
        1.0,
        max(
            0.0,
            math.nextafter(
                near * (1 + GAUSSIAN_MARGIN) - lost * (1 - GAUSSIAN_MARGIN), math.inf
            ),
        ),
    )


def gaussian_scale(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return the least scale, to a millionth, for (epsilon, delta) at sensitivity 1.

    Example:
        >>> float(gaussian_scale(Fraction(1), Fraction(1, 10**6)))
        4.224679
    """
    if epsilon < 0 or not 0 < delta < 1:
        raise InvalidValue(
            "Gaussian noise needs an epsilon of at least 0 and a delta between 0 and 1; "
            f"{epsilon} and {delta} were given."
        )
    bound = float(delta)
    return least_that(
        lambda scale: gaussian_delta(float(epsilon), float(1 / scale)) <= bound,
        unit=Fraction(1, 10**6),
    )


def discrete_gaussian_delta(variance: Fraction, shift: int, epsilon: Fraction) -> Fraction:
    """Return the delta at ``epsilon`` of discrete Gaussian noise for an integer shift.

    Guarantee: the result is rounded up. It is summed from the probabilities themselves, with
    certified bounds of each.

    Example:
        >>> round(float(discrete_gaussian_delta(Fraction(16), 1, Fraction(1))) * 1e6, 3)
        3.055
    """
    reach = int(14 * math.sqrt(variance)) + 14 + abs(shift)
    lower = [exp_bounds(-Fraction(y * y) / (2 * variance), digits=40)[0] for y in range(reach)]
    upper = [exp_bounds(-Fraction(y * y) / (2 * variance), digits=40)[1] for y in range(reach)]
    total = 2 * sum(lower) - lower[0]  # the weights of all integers, rounded down
    factor = exp_bounds(epsilon, digits=40)[0]
    over = Fraction(0)
    for y in range(-reach + 1, reach):
        other = lower[abs(y - shift)] if abs(y - shift) < reach else Fraction(0)
        over += max(Fraction(0), upper[abs(y)] - factor * other)
    return over / total + Fraction(1, 10**30)  # the mass beyond the reach is below 10**-40


def _normal(value: float) -> float:
    return math.erfc(-value / math.sqrt(2)) / 2


# L2 ball noise -------------------------------------------------------------------------------
#
# Noise z has a density proportional to exp(-norm2(z) / scale). For a neighbour at distance 1 in
# the direction v, the privacy loss is L = (norm2(z - v) - norm2(z)) / scale. The points of
# equal loss are hyperboloids, and those of equal norm2(z - v) + norm2(z) are ellipsoids, about
# the two centres. In these coordinates the density is a product: with cos(phi) = L * scale, the
# density of phi on 0 < phi < pi is, up to a factor,
#
#     p(phi) ~ exp(cos(phi) / (2 * scale)) * sin(phi)**(d - 2) * (weight + sin(phi)**2),
#
# where weight = 2 * scale * (d - 1) * K(d/2) / K(d/2 - 1), with Bessel functions K at the point
# 1 / (2 * scale), in d >= 2 dimensions. So delta = E[max(0, 1 - exp(epsilon - L))] is a
# one-dimensional integral.

BALL_MARGIN = 1e-9
"""Relative margin that is added to each delta; it is a thousand times the error of the sums."""

LEAST = 1e-300
"""Absolute margin that is added to each delta, because a sum that underflows is not 0."""

AGREEMENT = 1e-12
"""Relative difference at which two sums agree, of which one has twice as many points."""

STEEPEST = 3.2
"""End of the range of a tanh-sinh sum; the weights beyond it are below 10**-16."""

FEWEST_POINTS, MOST_POINTS = 64, 2**20

BESSEL_POINTS = 2000

BISECTIONS = 60


def ball_delta(scale: float, dimensions: int, epsilon: float) -> float:
    """Return the delta at ``epsilon`` of L2 ball noise, for an L2 sensitivity of 1.

    Guarantee: the result is at least the exact delta, with a margin far above the error of
    floats. It is 0 if epsilon * scale >= 1, which is pure differential privacy. Neighbours at a
    distance below 1 do not have a larger delta.
    Reference: Joseph, Kulesza, Yu 2025; the coordinates are prolate spheroidal.

    Example:
        >>> f"{ball_delta(0.9164, dimensions=10, epsilon=1.0):.3g}"
        '1e-06'
    """
    if scale <= 0 or dimensions < 1 or epsilon < 0:
        raise InvalidValue(
            "Ball noise needs a scale above 0, at least 1 dimension and an epsilon of at least "
            f"0; scale={scale}, dimensions={dimensions}, epsilon={epsilon} was given."
        )
    # 1 - epsilon * scale, exactly, because the floats nearly cancel where delta is small
    gap = float(1 - Fraction(epsilon) * Fraction(scale))
    if gap <= 0:
        return 0.0
    if dimensions == 1:
        return _up(-math.expm1(-gap / scale / 2))
    density = _loss_density(scale, dimensions)

    def excess(phi: float) -> float:
        # epsilon - L = (2 * sin(phi / 2)**2 - gap) / scale
        return max(0.0, -math.expm1((2 * math.sin(phi / 2) ** 2 - gap) / scale)) * density(phi)

    # below this angle the loss exceeds epsilon
    edge = 2 * math.asin(math.sqrt(min(1.0, gap / 2)))
    points = int(16 * math.sqrt(dimensions + 1 / scale))
    whole = _integral(density, math.pi, points)
    return _up(_integral(excess, edge, points) / whole)


def ball_scale(dimensions: int, epsilon: float, delta: float) -> float:
    """Return the least scale of ball noise for (epsilon, delta) and an L2 sensitivity of 1.

    Guarantee: `ball_delta` of the returned scale is at most ``delta``.

    Example:
        >>> round(ball_scale(dimensions=10, epsilon=1.0, delta=1e-6), 4)
        0.9164
    """
    if epsilon <= 0 or not 0 <= delta < 1:
        raise InvalidValue(
            "Ball noise needs an epsilon above 0 and a delta in [0, 1); "
            f"epsilon={epsilon}, delta={delta} was given."
        )
    enough = 1 / epsilon
    while Fraction(enough) * Fraction(epsilon) < 1:  # the quotient may have been rounded down
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
    """Return a delta with its margin added."""
    return min(1.0, delta * (1 + BALL_MARGIN) + LEAST)


def _loss_density(scale: float, dimensions: int) -> Callable[[float], float]:
    """Return the density of phi, scaled so that its maximum is near 1."""
    rate, power = 1 / (2 * scale), dimensions - 2
    weight = 2 * scale * (dimensions - 1) * _bessel_ratio(dimensions, rate)
    # rate * cos + power * log(sin) is greatest where power * cos = rate * sin**2
    cosine = 2 * rate / (power + math.sqrt(power**2 + 4 * rate**2))
    top = rate * cosine + power * math.log(power * cosine / rate) / 2 if power else rate

    def density(phi: float) -> float:
        sine = math.sin(phi)
        if sine <= 0:
            return 0.0
        height = rate * math.cos(phi) + (power * math.log(sine) if power else 0.0) - top
        return math.exp(height) * (1 + sine * sine / weight)

    return density


def _bessel_ratio(dimensions: int, argument: float) -> float:
    """Return the ratio K(d/2) / K(d/2 - 1) of modified Bessel functions.

    It starts from K(1/2) / K(-1/2) = 1 or K(1) / K(0), and uses the recurrence
    K(v + 1) = K(v - 1) + 2 * v / x * K(v). All terms are positive, so that there is no
    cancellation.
    """
    if dimensions % 2:
        order, ratio = 0.5, 1.0
    else:
        # K(v) is the integral of exp(-x * cosh(t)) * cosh(v * t); the factor exp(-x) cancels
        end = 2 * math.asinh(math.sqrt(350 / argument))
        steps = [end * place / BESSEL_POINTS for place in range(1, BESSEL_POINTS)]
        terms = [math.exp(-2 * argument * math.sinh(t / 2) ** 2) for t in steps]
        weighted = sum(math.cosh(t) * term for t, term in zip(steps, terms, strict=True))
        order, ratio = 1.0, (0.5 + weighted) / (0.5 + sum(terms))
    while order < dimensions / 2:
        ratio = 2 * order / argument + 1 / ratio
        order += 1
    return ratio


def _integral(of: Callable[[float], float], end: float, points: int) -> float:
    """Integrate from 0 to ``end`` by tanh-sinh sums, with ever more points until two agree.

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
        "The delta of ball noise with these settings cannot be computed, because the numerical "
        "integration does not converge; use a scale nearer to 1."
    )


def _tanh_sinh(of: Callable[[float], float], end: float, points: int) -> float:
    """Return the tanh-sinh sum, whose points are denser toward both ends."""
    step = 2 * STEEPEST / points
    total = 0.0
    for place in range(points + 1):
        t = step * place - STEEPEST
        inner = math.pi / 2 * math.sinh(t)
        # (1 + tanh) / 2 without cancellation at the left end
        part = (
            1 / (1 + math.exp(-2 * inner))
            if inner > 0
            else math.exp(2 * inner) / (1 + math.exp(2 * inner))
        )
        total += of(end * part) * math.cosh(t) / math.cosh(inner) ** 2
    return total * step * end * math.pi / 4


# Noise scaled to a smooth sensitivity --------------------------------------------------------
#
# The loss is the worst over all neighbours. The smooth sensitivities S and S' of neighbours
# differ by a factor of at most exp(smoothing), and their values differ by at most min(S, S').
# Both curves are for real-valued noise and are computed in floats.

RATIOS = 401
"""Number of ratios of scales that are tried before the worst one is refined."""

REFINEMENTS = 40


LARGEST_POWER = 700.0
"""Largest exponent: exp of it is near the largest float."""


FACTOR_UNIT = Fraction(1, 10**12)
"""Step to which the factor of a smooth sensitivity is rounded up."""


@lru_cache(maxsize=256)
def lomax_factor(epsilon: Fraction, smoothing: Fraction) -> Fraction:
    """Return the scale of Lomax noise for a smooth sensitivity of 1, rounded up.

    Guarantee: let tail = epsilon / smoothing, and let the scales be this factor times two
    smooth sensitivities that differ by a factor of at most exp(smoothing). For values that are
    at most the smaller sensitivity apart, each density is at most exp(epsilon) times the other.
    Reference: the proof is in ``docs/privacy/mechanisms/lomax.md``; the family of distributions
    is from Hladík, Tětek 2025.

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
    """Return the largest log-ratio of the Lomax densities of two neighbours.

    ``factor`` is the scale per unit of smooth sensitivity. The default is the factor of the
    mechanism, for which the result is epsilon.

    Reference: ``docs/privacy/mechanisms/lomax.md``: the ratio is largest at infinity, or at one
    of the two values, if the scales are equal or differ by the factor exp(smoothing).

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
        power * math.log1p(1 / scale),
        apart + power * math.log1p(math.exp(-apart) / scale),
    )


def smooth_laplace_delta(factor: Fraction, smoothing: Fraction, epsilon: Fraction) -> float:
    """Return the delta at epsilon of Laplace noise of ``factor`` times a smooth sensitivity.

    The worst distance of two values is the smaller of both sensitivities, because symmetric
    unimodal densities overlap less if they are farther apart. The worst ratio of scales is
    searched on a fine grid and then between its points.

    Example:
        >>> smooth_laplace_delta(Fraction(2), Fraction(1, 30), Fraction(1)) < 1e-6
        True
        >>> smooth_laplace_delta(Fraction(1), Fraction(1, 30), Fraction(1)) > 1e-4
        True
    """

    def delta(log_ratio: float) -> float:
        shift = min(1.0, math.exp(log_ratio))
        return _between(
            shift, float(factor), float(factor) * math.exp(log_ratio), float(epsilon)
        )

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
    """Return the maximum of P(S) - exp(epsilon) * Q(S) over all sets S.

    P is the Laplace distribution at 0 with ``scale``, and Q the one at ``shift`` with scale
    ``other``. The log-ratio of their densities is piecewise linear, with breaks at the two
    centres.
    """
    total = 0.0
    for start, end in ((-math.inf, 0.0), (0.0, shift), (shift, math.inf)):
        for low, high in _positive_part(start, end, shift, scale, other, epsilon):
            inside = _mass(low, high, scale)
            # the factor is capped to avoid overflow; a smaller one makes the bound larger
            factor = math.exp(min(epsilon, LARGEST_POWER))
            total += inside - factor * _mass(low - shift, high - shift, other)
    return max(total, 0.0)


def _positive_part(  # noqa: PLR0913, PLR0917 - a segment and two distributions
    start: float, end: float, shift: float, scale: float, other: float, epsilon: float
) -> Iterator[tuple[float, float]]:
    """Yield the part of a linear segment of the log-ratio where it is above epsilon."""

    def excess(place: float) -> float:
        return (
            math.log(other / scale) - abs(place) / scale + abs(place - shift) / other - epsilon
        )

    anchor = end if start == -math.inf else start
    second = (
        anchor - scale
        if start == -math.inf
        else anchor + (scale if end == math.inf else end - start)
    )
    slope = (excess(second) - excess(anchor)) / (second - anchor) if second != anchor else 0.0
    root = anchor - excess(anchor) / slope if slope else math.inf
    if not start < root < end:
        inside = excess(second if abs(end - start) == math.inf else (start + end) / 2)
        if inside > 0:
            yield start, end
    elif slope > 0:
        yield root, end
    else:
        yield start, root


def _mass(low: float, high: float, scale: float) -> float:
    """Return the probability of an interval under Laplace(0, scale), accurate in the tails."""
    if low >= 0:
        return math.exp(-low / scale) * -math.expm1((low - high) / scale) / 2
    if high <= 0:
        return _mass(-high, -low, scale)
    return _mass(0.0, -low, scale) + _mass(0.0, high, scale)
