"""How private L2 noise is at an epsilon below its pure one, and how much of it is needed.

Noise z of density exp(-norm2(z) / scale), and a neighbour one step v away, have the privacy
loss L = (norm2(z - v) - norm2(z)) / scale. The points of equal loss and of equal norm2(z - v) +
norm2(z) are hyperboloids and ellipsoids about the two centres, and in these coordinates the
density is a product: cos(phi) = L * scale has the density, on 0 < phi < pi, proportional to

    exp(cos(phi) / (2 * scale)) * sin(phi)**(d - 2) * (weight + sin(phi)**2),

    weight = 2 * scale * (d - 1) * K(d/2) / K(d/2 - 1), Bessel functions at 1 / (2 * scale),

in d >= 2 dimensions. So delta = E[max(0, 1 - exp(epsilon - L))] is an integral over one line.
"""

from collections.abc import Callable
from fractions import Fraction
from math import asin, asinh, cos, cosh, exp, expm1, log, pi, sin, sinh, sqrt

from tacit.errors import InvalidValue

MARGIN = 1e-9
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
    return min(1.0, delta * (1 + MARGIN) + LEAST)


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
