"""Gaussian differential privacy: the curve of the continuous Gaussian, and of the discrete one.

The discrete Gaussian's own curve lies above the continuous one for small scales, by up to a
fifth: the continuous formula is no claim about integers.
"""

from fractions import Fraction
from math import erfc, exp, inf, log, nextafter, sqrt

from tacit.accounting.search import least_that
from tacit.errors import InvalidValue
from tacit.numeric.exact import exp_bounds

MARGIN = 1e-12
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
    return min(1.0, max(0.0, nextafter(near * (1 + MARGIN) - lost * (1 - MARGIN), inf)))


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
