"""Choice of noise for numbers, and of the parameters of a quantile, within a privacy loss."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import ceil

from tacit.accounting import ball_scale, calibrate
from tacit.core import Loss, Measure, Norm, Sensitivity
from tacit.core import event as events
from tacit.errors import InvalidValue
from tacit.mechanisms import Ball, Cube, Gaussian, GridQuantile, Laplace, Mechanism
from tacit.noise import LARGEST_TABLE
from tacit.numeric import sqrt_bounds


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism that is calibrated to a loss, and its error for comparison with others."""

    mechanism: Mechanism
    error: Fraction
    """The total expected squared error, or for a selection its shortfall or group size."""


# ------------------------------------------------------------------ noise for numbers


def choose_noise(
    sensitivities: Sequence[Sensitivity],
    dimensions: int,
    loss: Loss,
    *,
    idealised: bool = False,
) -> Candidate:
    """Return the noise with the least expected squared error for a vector.

    The sensitivity of the vector is known in one norm or in several. Under pure epsilon, the
    result is Laplace, L2 or L-infinity noise, depending on the norm. For one release at
    (epsilon, delta), it can be L2 noise. Under zCDP, where the losses of releases add up, it is
    Gaussian noise. Idealised noise, which has no exact sampler, is considered only if
    ``idealised`` is true.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> known = [Sensitivity.of(1, norm, Rule("one group")) for norm in (Norm.L1, Norm.L2)]
        >>> type(choose_noise(known, 10, Loss.pure(1)).mechanism).__name__
        'Laplace'
        >>> type(choose_noise(known, 10, Loss.zcdp("0.1")).mechanism).__name__
        'Gaussian'
    """
    known = {sensitivity.norm for sensitivity in sensitivities}
    # under zCDP, Gaussian noise for an L2 sensitivity beats Laplace noise for L1 up to
    # rho = 1.6, where epsilon**2 = 4 * (epsilon - 1 + exp(-epsilon)); no question has so much
    beaten = {Norm.L1} if loss.measure is Measure.ZCDP and Norm.L2 in known else set()
    found = [
        candidate
        for sensitivity in sensitivities
        if sensitivity.norm not in beaten
        for candidate in _candidates(sensitivity, dimensions, loss, idealised=idealised)
    ]
    if not found:
        raise InvalidValue(
            f"No noise fits {loss} with these sensitivities; give a sensitivity in L1, or in "
            "L2 for a loss in rho or with a delta."
        )
    return min(found, key=lambda candidate: candidate.error)


def _candidates(
    sensitivity: Sensitivity, dimensions: int, loss: Loss, *, idealised: bool
) -> Iterator[Candidate]:
    size, square = sensitivity.amount, sensitivity.square
    match sensitivity.norm:
        case Norm.L1:
            scale = _laplace_scale(size, loss)
            yield Candidate(Laplace(scale), 2 * dimensions * scale**2)
        case Norm.LINF:
            scale = calibrate(lambda x: events.CubeNoiseV2(size, x, dimensions), loss)
            error = scale**2 * dimensions * (dimensions + 1) * (dimensions + 2) / 3
            if (dimensions + 60) * scale <= LARGEST_TABLE:
                yield Candidate(Cube(scale, dimensions), error)
        case Norm.L2:
            if loss.measure is Measure.ZCDP or loss.delta:
                variance = square * _gaussian_variance(loss)
                yield Candidate(Gaussian(variance), dimensions * variance)
            if idealised:
                scale = _ball_scale(square, dimensions, loss)
                yield Candidate(
                    Ball(scale, dimensions), dimensions * (dimensions + 1) * scale**2
                )


@lru_cache(maxsize=256)
def _laplace_scale(size: Fraction, loss: Loss) -> Fraction:
    """Return the scale at the sensitivity ``size``.

    It is proportional to ``size``, except in rho: the curve of the discrete law falls, at the
    same epsilon, with the scale.
    """
    if loss.measure is not Measure.ZCDP and size != 1:
        return size * _laplace_scale(Fraction(1), loss)
    return calibrate(lambda x: events.LaplaceNoiseV2(size, x), loss)


@lru_cache(maxsize=256)
def _gaussian_variance(loss: Loss) -> Fraction:
    """Return the variance at a sensitivity of 1; it grows with the sensitivity's square."""
    return calibrate(lambda x: events.GaussianNoise(Fraction(1), x), loss, loss.delta)


VARIANCE_BITS = 24
"""Significant bits of a variance in closed form; it is at most 1e-7 larger than needed."""


def gaussian_in_rho(sensitivity: Sensitivity, loss: Loss) -> Gaussian:
    """Return the Gaussian noise of an L2 sensitivity within a loss in rho, in closed form.

    The many tables of a CUBE have losses that differ, for which `choose_noise` would search.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.L2, Rule("a person is in one group, once"))
        >>> gaussian_in_rho(one, Loss.zcdp("0.125"))
        Gaussian(variance=Fraction(4, 1))
    """
    variance = sensitivity.in_norm(Norm.L2).square / (2 * loss.amount)
    shift = variance.numerator.bit_length() - variance.denominator.bit_length() - VARIANCE_BITS
    unit = Fraction(2) ** shift
    return Gaussian(ceil(variance / unit) * unit)


def _ball_scale(square: Fraction, dimensions: int, loss: Loss) -> Fraction:
    """Return the least scale of L2 noise within ``loss``.

    For one release at (epsilon, delta) the exact curve is used, and otherwise the pure loss.
    """
    if loss.measure is Measure.APPROXIMATE and loss.delta:
        unit = ball_scale(dimensions, float(loss.amount), float(loss.delta))
        return Fraction(unit) * sqrt_bounds(square)[1]
    return calibrate(lambda x: events.BallNoiseV2(square, x, dimensions), loss)


# ------------------------------------------------------------------ quantiles

REACH_SHARE = Fraction(1, 20)
"""The share of the privacy loss for the interval of a quantile; the quantile gets the rest.

This share increases the error of the quantile by 3% under zCDP, and by 5% under pure epsilon.
"""


def choose_quantile(
    sensitivity: Sensitivity, probability: Fraction, cells: int, max_groups: int, loss: Loss
) -> GridQuantile:
    """Return the mechanism for a quantile of counts on ``cells`` cells, within ``loss``.

    A unit can be in ``max_groups`` groups. Under zCDP, the exponential mechanism is used,
    because its cost is about a quarter of that of permute-and-flip. Under pure epsilon,
    permute-and-flip is used, because it has a smaller error.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> one = Sensitivity.of(1, Norm.L1, Rule("a person has one row"))
        >>> median = choose_quantile(one, Fraction(1, 2), 4096, 1, Loss.zcdp("0.125"))
        >>> round(float(median.rate), 3), median.flips
        (0.975, False)
    """
    moved = sensitivity.in_norm(Norm.L1).amount / max_groups
    moved *= 2 * max(probability, 1 - probability)
    parts = (loss.amount * (1 - REACH_SHARE), loss.amount * REACH_SHARE)
    chosen, reached = (
        1 / (moved * _scale(Loss(loss.measure, part), max_groups)) for part in parts
    )
    flips = loss.measure is not Measure.ZCDP
    return GridQuantile(probability, chosen, reached, cells, max_groups, flips)


@lru_cache(maxsize=256)
def _scale(loss: Loss, times: int) -> Fraction:
    """Return 1 / epsilon for each of ``times`` selections that together stay within a loss."""
    exponential = loss.measure is Measure.ZCDP
    kind = events.ExponentialSelection if exponential else events.PermuteAndFlipSelectionV2
    return calibrate(lambda x: events.Repeated(kind(1 / x), times), loss)
