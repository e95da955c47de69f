"""How many units a group needs to be released, where its key is not public."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from tacit.errors import InternalError
from tacit.mechanisms.gaussian_keys import GaussianKeys, GaussianTail
from tacit.mechanisms.laplace_keys import LaplaceKeys
from tacit.mechanisms.mechanism import Mechanism
from tacit.mechanisms.optimal_keys import OptimalKeys
from tacit.mechanisms.truncated_geometric_keys import TruncatedGeometricKeys
from tacit.numeric.exact import exp_bounds

SHOWN = (Fraction(1, 20), Fraction(1, 2), Fraction(19, 20))
"""The probabilities that a quote shows sizes for."""

FINE = Fraction(1, 10**12)
"""How far down the tail of a law is summed, when the group sizes of a quote are looked for."""


def survival(mechanism: Mechanism) -> tuple[tuple[Fraction, int], ...]:
    """The probabilities of `SHOWN`, each with the least units that survive so often.

    Guarantee: from the law of the selection alone; no data is read.

    Example:
        >>> keys = TruncatedGeometricKeys(Fraction(1), Fraction(1, 10**6), max_keys=1)
        >>> [units for _, units in survival(keys)]
        [13, 15, 17]
    """
    probability = kept_with(mechanism)
    return tuple((wanted, _least(probability, wanted)) for wanted in SHOWN)


def kept_with(mechanism: Mechanism) -> Callable[[int], Fraction]:
    """With which probability ``mechanism`` releases a group of so many units.

    Example:
        >>> law = kept_with(TruncatedGeometricKeys(Fraction(1), Fraction(1, 10**6), max_keys=1))
        >>> [round(float(law(units)), 3) for units in (0, 1, 14, 15)]
        [0.0, 0.0, 0.269, 0.731]
    """
    if isinstance(mechanism, OptimalKeys):
        return mechanism.probability
    law = noise_tail(mechanism)
    if law is None:
        raise InternalError(f"{type(mechanism).__name__} does not select groups.")
    return law.passes


@dataclass(frozen=True, slots=True)
class NoiseTail:
    """A threshold, and P(noise >= m) for m from 1 up, of symmetric noise that has to pass."""

    threshold: int
    tail: Callable[[int], Fraction]

    def passes(self, units: int) -> Fraction:
        """With which probability a group of so many units passes; one of none never does."""
        if units < 1:
            return Fraction(0)
        missing = self.threshold - units
        return self.tail(missing) if missing > 0 else 1 - self.tail(1 - missing)


def noise_tail(mechanism: Mechanism) -> NoiseTail | None:
    """The threshold and the noise of a selection; None where nothing is selected so."""
    match mechanism:
        case TruncatedGeometricKeys(epsilon, _, max_keys):
            reach = mechanism.reach
            return NoiseTail(reach + 1, lambda m: _cut_tail(epsilon / max_keys, reach, m))
        case LaplaceKeys(epsilon, _, max_keys):
            return NoiseTail(mechanism.threshold, lambda m: _tail(epsilon / max_keys, m))
        case GaussianKeys(variance, _, _):
            return NoiseTail(mechanism.threshold, GaussianTail(variance, FINE).at)
    return None


def _tail(epsilon: Fraction, size: int) -> Fraction:
    """P(noise >= size) of the discrete Laplace law, to fifty digits."""
    return exp_bounds(-epsilon * size)[1] / (1 + exp_bounds(-epsilon)[1])


def _cut_tail(epsilon: Fraction, reach: int, size: int) -> Fraction:
    """P(noise >= size) where that law is cut off beyond ``reach``, to fifty digits."""
    if size > reach:
        return Fraction(0)
    end = exp_bounds(-epsilon * (reach + 1))[1]
    whole = 1 + exp_bounds(-epsilon)[1] - 2 * end
    return (exp_bounds(-epsilon * size)[1] - end) / whole


def _least(probability: Callable[[int], Fraction], wanted: Fraction) -> int:
    most = 1
    while probability(most) < wanted:
        most *= 2
    sizes = range(1, most + 1)
    return sizes[bisect_left(sizes, wanted, key=probability)]
