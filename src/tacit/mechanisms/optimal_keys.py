"""Key selection without threshold on a noisy count, and with truncated geometric noise.

`OptimalKeys` releases which keys occur: each key is selected with the largest probability that
(epsilon, delta) allows for its number of units. `TruncatedGeometricKeys` releases keys and
their noisy counts at one price.
"""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.core import KeySelectionV2, Secret, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.gateway import Gateway
from tacit.mechanisms.mechanism import valid_confidence
from tacit.mechanisms.threshold_keys import (
    KeepAbove,
    counted_once,
    least_miss,
    shared_by_keys,
    valid_keys,
)
from tacit.noise import Integers, TruncatedDiscreteLaplace
from tacit.numeric import exp_bounds, log_bounds
from tacit.numeric.entropy import Entropy, Words

PLACES = 256
"""Binary places of a selection probability. Their rounding error is far below any delta."""

LONGEST_TABLE = 2**18
"""Maximum number of counts with a selection probability below 1.

A longer table would take seconds to compute, and such a selection would not be useful.
"""


@dataclass(frozen=True, slots=True)
class OptimalKeys:
    """Optimal key selection: 1 for each key that is selected, by its number of units, else 0.

    The secret holds the number of units of each key that occurs. Publish only the keys whose
    release is 1: even the number of the other keys is secret.

    Guarantee: if a unit has at most ``max_keys`` keys and counts once in each, the selected
    keys satisfy (epsilon, delta). Apart from rounding, no rule that spends the same on each key
    selects a key with a larger probability. A key without units is never selected.
    Reference: Desfontaines, Voss, Gipson, Mandayam 2022 (the optimal primitive).

    Example:
        >>> keys = OptimalKeys(Fraction(1), Fraction(1, 10**6), max_keys=1)
        >>> [round(float(keys.probability(units)), 6) for units in (0, 1, 2, 14, 30)]
        [0.0, 1e-06, 4e-06, 0.699887, 1.0]
        >>> keys.error(Fraction("0.95"))
        Fraction(15, 1)
    """

    epsilon: Fraction
    delta: Fraction
    max_keys: int

    def __post_init__(self) -> None:
        valid_keys(self.epsilon, self.delta, self.max_keys)
        self._table()

    def probability(self, units: int) -> Fraction:
        """Return the exact probability with which a key with ``units`` units is selected."""
        table = self._table()
        return Fraction(table[min(max(units, 0), len(table) - 1)], 2**PLACES)

    def event(self, sensitivity: Sensitivity) -> KeySelectionV2:
        """Return the event of a key selection, with equal parts of epsilon and delta."""
        return shared_by_keys(self.epsilon, self.delta, self.max_keys, sensitivity)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return 1 for each key that is selected, and 0 for the others."""
        draw = KeepKeys(self.epsilon / self.max_keys, self.delta / self.max_keys)
        return gateway.release(secret, counted_once(sensitivity, self.max_keys), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the largest number of units with a selection probability below confidence."""
        valid_confidence(confidence)
        return Fraction(max(0, bisect_left(self._table(), confidence * 2**PLACES) - 1))

    def _table(self) -> tuple[int, ...]:
        return keeping_table(self.epsilon / self.max_keys, self.delta / self.max_keys)


@dataclass(frozen=True, slots=True)
class KeepKeys:
    """The random step: compare a uniform number with the selection probability of each key.

    The first word of each uniform number is drawn for all keys at once. More words are drawn
    only for a key whose first word is equal to the first bits of its probability.
    """

    epsilon: Fraction
    delta: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """Return 1 for each key that is selected, and 0 for the others."""
        table = keeping_table(self.epsilon, self.delta)
        places = np.clip(values, 0, len(table) - 1).astype(np.int64)
        words = entropy.words(values.size)
        leading = _leading(self.epsilon, self.delta, entropy.word_bits)[places]
        certain = places == len(table) - 1
        kept = (words < leading) | certain
        for position in np.flatnonzero((words == leading) & ~certain & (places > 0)):
            kept[position] = _below(entropy, table[places[position]])
        released: Integers = kept.astype(np.int64)
        return released


@lru_cache(maxsize=64)
def keeping_table(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """Return the selection probabilities for 0, 1, 2, ... units, up to the first that is 1.

    They are in units of 2**-PLACES. The probability after p is the minimum of e*p + delta and
    1 - (1 - p - delta)/e, with e = exp(epsilon). Bounds of e that make the result smaller are
    used in place of e, and the result is rounded down.

    Guarantee: the next p' satisfies p <= p' <= e*p + delta and 1 - p <= e*(1 - p') + delta.
    """
    one = 2**PLACES
    bound = exp_bounds(epsilon, digits=PLACES // 3)[0]
    growth = max(one, (bound * one).__floor__())
    decay = min(one, -(-one * one // growth))  # at least 1/e
    step = (delta * one).__floor__()
    table = [0]
    while table[-1] < one:
        if len(table) > LONGEST_TABLE:
            raise InvalidValue(
                f"With epsilon {epsilon} and delta {delta} for each key, a key with "
                f"{LONGEST_TABLE} units is not selected with certainty. Allow a larger epsilon "
                "or delta, or fewer keys."
            )
        more = (growth * table[-1] >> PLACES) + step
        rest = max(0, -(-(one - table[-1] - step) * decay >> PLACES))
        table.append(min(more, one - rest))
    return tuple(table)


@lru_cache(maxsize=64)
def _leading(epsilon: Fraction, delta: Fraction, bits: int) -> Words:
    """Return the first ``bits`` binary places of each probability.

    The last entry, of probability 1, is a placeholder and never used.
    """
    table = keeping_table(epsilon, delta)
    return np.array([*(p >> PLACES - bits for p in table[:-1]), 0], dtype=np.uint64)


def _below(entropy: Entropy, probability: int) -> bool:
    """Return whether a uniform number is below ``probability``, given that the first word ties.

    More words are drawn until one differs from the next bits of the probability.
    """
    bits = entropy.word_bits
    for read in range(bits, PLACES, bits):
        # the bits that were not compared yet, shifted to the front
        digits = probability << read & 2**PLACES - 1
        word = int(entropy.words(1)[0])
        if word != digits >> PLACES - bits:
            return bool(word < digits >> PLACES - bits)
    return False


# ------------------------------------------------------------------ truncated geometric noise


@dataclass(frozen=True, slots=True)
class TruncatedGeometricKeys:
    """Key selection with truncated geometric noise: keys, and their noisy counts of units.

    A key is selected if its noisy count is above the largest possible noise, `reach`. The
    release is 0 for all other keys. The secret holds the number of units of each key that
    occurs. Publish only the keys whose release is above 0: even the number of the other keys
    is secret.

    Guarantee: if a unit has at most ``max_keys`` keys and counts once in each, keys and counts
    together satisfy (epsilon, delta). A key without units cannot be selected, because the noise
    is never above its largest value.
    Reference: Desfontaines, Voss, Gipson, Mandayam 2022 (k-TSGD).

    Example:
        >>> TruncatedGeometricKeys(Fraction(1), Fraction(1, 10**6), max_keys=1).reach
        14
    """

    epsilon: Fraction
    delta: Fraction
    max_keys: int

    def __post_init__(self) -> None:
        valid_keys(self.epsilon, self.delta, self.max_keys)

    @property
    def reach(self) -> int:
        """The largest possible noise, which has a probability of at most delta / max_keys."""
        return _reach(self.epsilon / self.max_keys, self.delta / self.max_keys)

    def event(self, sensitivity: Sensitivity) -> KeySelectionV2:
        """Return the event of a key selection, with equal parts of epsilon and delta."""
        return shared_by_keys(self.epsilon, self.delta, self.max_keys, sensitivity)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """Return the noisy count of each key, or 0 if the key is not selected."""
        noise = TruncatedDiscreteLaplace(self.max_keys / self.epsilon, self.reach)
        # KeepAbove includes its threshold, and the count must be above the reach
        draw = KeepAbove(noise, self.reach + 1)
        return gateway.release(secret, counted_once(sensitivity, self.max_keys), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the least t such that the release of any key is within t of its count."""
        epsilon, reach = self.epsilon / self.max_keys, self.reach
        return least_miss(lambda size: _tail(epsilon, reach, size), reach + 1, confidence)


@lru_cache(maxsize=256)
def _reach(epsilon: Fraction, delta: Fraction) -> int:
    """Return the least k with P(noise = k) <= delta.

    It is ceil(log((e - 1 + 2 * delta) / (delta * (e + 1))) / epsilon), e = exp(epsilon).
    """
    lower, upper = exp_bounds(epsilon)
    ratio = (lower - 1 + 2 * delta) / (delta * (upper + 1))
    reach = max(0, (log_bounds(ratio)[0] / epsilon).__ceil__())
    # the bounds of the logarithm may be one too low: check the probability itself
    while _tail(epsilon, reach, reach) > delta:
        reach += 1
    return reach


def _tail(epsilon: Fraction, reach: int, size: int) -> Fraction:
    """Return an upper bound on P(noise >= size), for size >= 0.

    It is (q**size - q**(reach + 1)) / (1 + q - 2 * q**(reach + 1)) with q = exp(-epsilon).
    """
    if size > reach:
        return Fraction(0)
    end = exp_bounds(-epsilon * (reach + 1))
    whole = 1 + exp_bounds(-epsilon)[0] - 2 * end[1]
    return (exp_bounds(-epsilon * size)[1] - end[0]) / whole
