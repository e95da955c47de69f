"""Which noise to add to numbers: that with the least expected squared error within a loss."""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache

from tacit.accounting.ball import ball_scale
from tacit.accounting.calibrate import calibrate
from tacit.choose.candidate import Candidate
from tacit.core.loss import Loss
from tacit.core.measure import Measure
from tacit.core.noise_event import BallNoise, CubeNoise, GaussianNoise, LaplaceNoise
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.ball import Ball
from tacit.mechanisms.cube import Cube
from tacit.mechanisms.gaussian import Gaussian
from tacit.mechanisms.laplace import Laplace
from tacit.noise.cube import LARGEST_TABLE
from tacit.numeric.exact import sqrt_bounds


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
        >>> from tacit.core.proof import Rule
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
            scale = calibrate(lambda x: CubeNoise(size, x, dimensions), loss)
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
    return calibrate(lambda x: LaplaceNoise(Fraction(1), x), loss)


@lru_cache(maxsize=256)
def _gaussian_variance(loss: Loss) -> Fraction:
    """The variance at a sensitivity of 1; it grows with the square of the sensitivity."""
    return calibrate(lambda x: GaussianNoise(Fraction(1), x), loss, loss.delta)


def _ball_scale(square: Fraction, dimensions: int, loss: Loss) -> Fraction:
    """The least scale of L2 noise: by its curve for one release, by its pure loss in a sum."""
    if loss.measure is Measure.APPROXIMATE and loss.delta:
        unit = ball_scale(dimensions, float(loss.amount), float(loss.delta))
        return Fraction(unit) * sqrt_bounds(square)[1]
    return calibrate(lambda x: BallNoise(square, x, dimensions), loss)
