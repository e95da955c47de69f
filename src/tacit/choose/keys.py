"""Choice of a key selection: the one that keeps a group with the fewest units.

Several mechanisms select the keys of a GROUP BY privately. They are compared by the size of a
group, in units, that they keep with probability 1/2: smaller is better.
"""

from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from tacit.accounting import NOISE_PART, calibrate, loss_of
from tacit.choose.noise import Candidate
from tacit.core import Composed, GaussianNoise, KeySelectionV2, Loss, Measure, Norm, Sensitivity
from tacit.errors import InternalError, InvalidValue
from tacit.mechanisms import (
    GREATEST_VARIANCE,
    LEAST_EPSILON,
    GaussianKeys,
    LaplaceKeys,
    OptimalKeys,
    TruncatedGeometricKeys,
)

HALF = Fraction(1, 2)

LARGEST_OPTIMAL = 1000
"""The largest group size at probability 1/2 for which the optimal mechanism is considered.

It could save one unit, which is not worth a longer table.
"""

KeyLaw = TruncatedGeometricKeys | LaplaceKeys | GaussianKeys | OptimalKeys
Scored = tuple[int, Fraction, KeyLaw]
"""The group size that is kept with probability 1/2, the noise variance, and the mechanism."""


def choose_keys(sensitivity: Sensitivity, loss: Loss, *, counted: bool = False) -> Candidate:
    """Return the key selection that keeps groups of the fewest units with probability 1/2.

    ``sensitivity`` is the L2 sensitivity of counting each unit once in each of its groups: the
    square root of the number of counts that one unit changes, which is twice as many where a
    unit is replaced by another. If the counts are needed too (``counted``), only mechanisms
    that release them are considered.

    Guarantee: the loss of the chosen event, as `accounting` computes it, is within ``loss``.
    Under (epsilon, delta), the epsilon of a Gaussian leaf is read from its curve at
    `price_delta`.

    Example:
        >>> from tacit.core.sensitivity import Rule
        >>> once = Sensitivity.of(1, Norm.L2, Rule("a person is in one group, once"))
        >>> best = choose_keys(once, Loss.approximate(1, "1e-6"))
        >>> type(best.mechanism).__name__, best.error
        ('OptimalKeys', Fraction(14, 1))
        >>> best = choose_keys(once, Loss.zcdp("0.5", "1e-6"))
        >>> type(best.mechanism).__name__, best.error
        ('GaussianKeys', Fraction(7, 1))
    """
    if not 0 < loss.delta < 1:
        raise InvalidValue(
            "Private selection of groups needs a delta between 0 and 1, but "
            f"{loss.delta} was given; give a delta, or declare the keys."
        )
    max_keys = sensitivity.in_norm(Norm.L2).square.__ceil__()
    scale = _scale(loss, max_keys)
    found = [*_thresholds(scale, max_keys, loss), *_gaussian(max_keys, loss)]
    if not found:
        raise InvalidValue(
            f"No selection of groups fits {loss}; allow a larger loss, or declare the keys."
        )
    if not counted:
        found.extend(_optimal(scale, max_keys, loss, min(half for half, _, _ in found)))
    half, _, best = min(found, key=lambda each: each[:2])
    if not loss_of(best.event(sensitivity), loss.measure, price_delta(loss)) <= loss:
        raise InternalError("The chosen selection of groups costs more than the given loss.")
    return Candidate(best, Fraction(half))


@lru_cache(maxsize=256)
def _scale(loss: Loss, max_keys: int) -> Fraction:
    """Return 1 / epsilon for each key of a unit, all of which together stay within a loss."""
    return calibrate(lambda x: KeySelectionV2(1 / x, loss.delta / max_keys, max_keys), loss)


def price_delta(loss: Loss) -> Fraction:
    """Return the delta at which the curve of a selection's Gaussian noise is read.

    It is `NOISE_PART` of the delta; the rest is the probability that a group of one unit is
    shown. Only (epsilon, delta) needs this, because under zCDP the noise has its own rho.
    """
    return loss.delta * NOISE_PART if loss.measure is Measure.APPROXIMATE else Fraction(0)


def _thresholds(scale: Fraction, max_keys: int, loss: Loss) -> Iterator[Scored]:
    """Yield truncated and full Laplace noise of this ``scale``, in the order of preference."""
    if 1 / scale < LEAST_EPSILON:
        return
    truncated = TruncatedGeometricKeys(max_keys / scale, loss.delta, max_keys)
    laplace = LaplaceKeys(max_keys / scale, loss.delta, max_keys)
    # the variance of truncated noise is at most that of full noise, and of uniform noise
    flat = Fraction(truncated.reach * (truncated.reach + 1), 3)
    yield truncated.reach + 1, min(2 * scale**2, flat), truncated
    yield laplace.threshold, 2 * scale**2, laplace


def _gaussian(max_keys: int, loss: Loss) -> Iterator[Scored]:
    shown = KeySelectionV2(Fraction(0), loss.delta - price_delta(loss), max_keys=1)
    # under zCDP, the rho of Gaussian noise is its squared sensitivity over twice its variance
    near = max_keys / (2 * loss.amount) if loss.measure is Measure.ZCDP else Fraction(0)
    variance = calibrate(
        lambda x: Composed((GaussianNoise(Fraction(max_keys), x), shown)),
        loss,
        price_delta(loss),
        near=near,
    )
    if variance <= GREATEST_VARIANCE:
        gaussian = GaussianKeys(variance, shown.delta, max_keys)
        yield gaussian.threshold, variance, gaussian


def _optimal(scale: Fraction, max_keys: int, loss: Loss, best: int) -> Iterator[Scored]:
    """Yield the optimal mechanism, unless another one certainly keeps groups as small."""
    if 1 / scale < LEAST_EPSILON:
        return
    # its group size is that of truncated noise, reach + 1, or one unit less
    reach = TruncatedGeometricKeys(max_keys / scale, loss.delta, max_keys).reach
    if reach <= min(best, LARGEST_OPTIMAL):
        optimal = OptimalKeys(max_keys / scale, loss.delta, max_keys)
        half = next(n for n in range(reach, reach + 3) if optimal.probability(n) >= HALF)
        yield half, Fraction(0), optimal
