"""Which selection of keys to use: that which a group survives with the fewest units."""

from collections.abc import Iterator
from fractions import Fraction

from tacit.accounting import calibrate, loss_of
from tacit.choose.noise import Candidate
from tacit.core import Composed, GaussianNoise, KeySelection, Loss, Measure, Norm, Sensitivity
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
"""Half points above this are left to the other laws: one unit is not worth so long a table."""

KeyLaw = TruncatedGeometricKeys | LaplaceKeys | GaussianKeys | OptimalKeys
Scored = tuple[int, Fraction, KeyLaw]
"""The units at which a group survives as often as not, the variance of its noise, the law."""


def choose_keys(sensitivity: Sensitivity, loss: Loss, *, counted: bool = False) -> Candidate:
    """The selection whose groups survive with probability 1/2 at the fewest units.

    ``sensitivity`` is that of counting each unit once in each of its groups: the root of how
    many counts one unit moves, which is twice as many where it is replaced by another. Where
    the counts are asked for too (``counted``) only laws that release them are considered.

    Guarantee: the loss of the chosen event, as `accounting` finds it, is within ``loss``; under
    (epsilon, delta) a Gaussian leaf is read off its curve at `price_delta`.

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
            "Groups are selected privately at a delta between 0 and 1, and "
            f"{loss.delta} was given; ask with one, or declare the keys."
        )
    max_keys = sensitivity.in_norm(Norm.L2).square.__ceil__()
    scale = calibrate(lambda x: KeySelection(1 / x, loss.delta / max_keys, max_keys), loss)
    found = [*_thresholds(scale, max_keys, loss), *_gaussian(max_keys, loss)]
    if not found:
        raise InvalidValue(
            f"No selection of groups fits {loss}; ask for more, or declare the keys."
        )
    if not counted:
        found.extend(_optimal(scale, max_keys, loss, min(half for half, _, _ in found)))
    half, _, best = min(found, key=lambda each: each[:2])
    if not loss_of(best.event(sensitivity), loss.measure, price_delta(loss)) <= loss:
        raise InternalError("A selection of groups costs more than was asked for.")
    return Candidate(best, Fraction(half))


def price_delta(loss: Loss) -> Fraction:
    """At which delta the Gaussian leaf of a selection is read off its curve.

    Half of the delta; the other half is the chance that a group of one unit shows. Only
    (epsilon, delta) needs this: under zCDP such a leaf has an amount of its own.
    """
    return loss.delta / 2 if loss.measure is Measure.APPROXIMATE else Fraction(0)


def _thresholds(scale: Fraction, max_keys: int, loss: Loss) -> Iterator[Scored]:
    """The laws of noise with this ``scale``, whole and cut off, in the order of preference."""
    if 1 / scale < LEAST_EPSILON:
        return
    truncated = TruncatedGeometricKeys(max_keys / scale, loss.delta, max_keys)
    laplace = LaplaceKeys(max_keys / scale, loss.delta, max_keys)
    # cut off, noise spreads no wider than whole, nor wider than if it were flat
    flat = Fraction(truncated.reach * (truncated.reach + 1), 3)
    yield truncated.reach + 1, min(2 * scale**2, flat), truncated
    yield laplace.threshold, 2 * scale**2, laplace


def _gaussian(max_keys: int, loss: Loss) -> Iterator[Scored]:
    shown = KeySelection(Fraction(0), loss.delta - price_delta(loss), max_keys=1)
    variance = calibrate(
        lambda x: Composed((GaussianNoise(Fraction(max_keys), x), shown)),
        loss,
        price_delta(loss),
    )
    if variance <= GREATEST_VARIANCE:
        gaussian = GaussianKeys(variance, shown.delta, max_keys)
        yield gaussian.threshold, variance, gaussian


def _optimal(scale: Fraction, max_keys: int, loss: Loss, best: int) -> Iterator[Scored]:
    """The law that keeps most for its epsilon, unless others keep as much for certain."""
    if 1 / scale < LEAST_EPSILON:
        return
    # its half point is that of the noise cut off, reach + 1, or one below
    reach = TruncatedGeometricKeys(max_keys / scale, loss.delta, max_keys).reach
    if reach <= min(best, LARGEST_OPTIMAL):
        optimal = OptimalKeys(max_keys / scale, loss.delta, max_keys)
        half = next(n for n in range(reach, reach + 3) if optimal.probability(n) >= HALF)
        yield half, Fraction(0), optimal
