"""One way to release something within a loss, and how well it does."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from tacit.accounting import ball_scale, calibrate
from tacit.core import Loss, Measure, Norm, Sensitivity
from tacit.core import event as events
from tacit.errors import InvalidValue
from tacit.mechanisms import Ball, Cube, Gaussian, GridQuantile, Laplace, Mechanism
from tacit.noise import LARGEST_TABLE
from tacit.numeric import sqrt_bounds


@dataclass(frozen=True, slots=True)
class Candidate:
    """A mechanism at the parameters that a loss allows, and the error to compare it by."""

    mechanism: Mechanism
    error: Fraction
    """The expected squared error of all numbers together, or what a score falls short by."""


# ------------------------------------------------------------------ noise
# Which noise to add to numbers: that with the least expected squared error within a loss.


def choose_noise(
    sensitivities: Sequence[Sensitivity],
    dimensions: int,
    loss: Loss,
    *,
    idealised: bool = False,
) -> Candidate:
    """The noise for a vector whose sensitivity is known in one norm or several.

    Under pure epsilon that is Laplace, L2 or L-infinity noise, by the shape of the sensitivity;
    for one release at (epsilon, delta) the L2 ball; under zCDP, where releases add up, Gaussian
    noise. Idealised laws are considered only where they are asked for.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> known = [Sensitivity.of(1, norm, Rule("one group")) for norm in (Norm.L1, Norm.L2)]
        >>> type(choose_noise(known, 10, Loss.pure(1)).mechanism).__name__
        'Laplace'
        >>> type(choose_noise(known, 10, Loss.zcdp("0.1")).mechanism).__name__
        'Gaussian'
    """
    known = {sensitivity.norm for sensitivity in sensitivities}
    # under rho, Gaussian noise of an L2 sensitivity is always below Laplace noise of an L1
    beaten = {Norm.L1} if loss.measure is Measure.ZCDP and Norm.L2 in known else set()
    found = [
        candidate
        for sensitivity in sensitivities
        if sensitivity.norm not in beaten
        for candidate in _candidates(sensitivity, dimensions, loss, idealised=idealised)
    ]
    if not found:
        raise InvalidValue(
            f"No noise fits {loss} with these sensitivities; state one in L1, or in L2 for "
            "a budget that counts in rho or has a delta."
        )
    return min(found, key=lambda candidate: candidate.error)


def _candidates(
    sensitivity: Sensitivity, dimensions: int, loss: Loss, *, idealised: bool
) -> Iterator[Candidate]:
    size, square = sensitivity.amount, sensitivity.square
    match sensitivity.norm:
        case Norm.L1:
            scale = size * _laplace_scale(loss)
            yield Candidate(Laplace(scale), 2 * dimensions * scale**2)
        case Norm.LINF:
            scale = calibrate(lambda x: events.CubeNoise(size, x, dimensions), loss)
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
def _laplace_scale(loss: Loss) -> Fraction:
    """The scale at a sensitivity of 1; it grows with the sensitivity, and the loss stays."""
    return calibrate(lambda x: events.LaplaceNoise(Fraction(1), x), loss)


@lru_cache(maxsize=256)
def _gaussian_variance(loss: Loss) -> Fraction:
    """The variance at a sensitivity of 1; it grows with the square of the sensitivity."""
    return calibrate(lambda x: events.GaussianNoise(Fraction(1), x), loss, loss.delta)


def _ball_scale(square: Fraction, dimensions: int, loss: Loss) -> Fraction:
    """The least scale of L2 noise: by its curve for one release, by its pure loss in a sum."""
    if loss.measure is Measure.APPROXIMATE and loss.delta:
        unit = ball_scale(dimensions, float(loss.amount), float(loss.delta))
        return Fraction(unit) * sqrt_bounds(square)[1]
    return calibrate(lambda x: events.BallNoise(square, x, dimensions), loss)


# ------------------------------------------------------------------ quantile
# How to choose a quantile on a grid: what it and its interval get of a loss.

REACH_SHARE = Fraction(1, 20)
"""What the reach of a quantile gets of its loss; the quantile gets the rest.

So much makes the quantile itself worse by 3% under zCDP, and by 5% under pure epsilon.
"""


def choose_quantile(
    sensitivity: Sensitivity, probability: Fraction, cells: int, max_groups: int, loss: Loss
) -> GridQuantile:
    """The quantile of counts on ``cells`` cells, in groups of which a unit has ``max_groups``.

    Under zCDP the exponential mechanism costs a quarter of what permute-and-flip does; under
    epsilon the latter misses by less.

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
    """The inverse of what one of so many selections may spread weights by."""
    exponential = loss.measure is Measure.ZCDP
    kind = events.ExponentialSelection if exponential else events.PermuteAndFlipSelection
    return calibrate(lambda x: events.Repeated(kind(1 / x), times), loss)
