"""Which keys have units, each kept with the greatest probability that privacy allows."""

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from tacit.core import KeySelection, Secret, Sensitivity
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
"""Binary places of a keeping probability: what rounding costs is far below any delta in use."""

LONGEST_TABLE = 2**18
"""Counts with a keeping probability below 1: more take seconds, and are of no use."""


@dataclass(frozen=True, slots=True)
class OptimalKeys:
    """For each key 1 if it is kept and else 0, by the number of its units.

    The secret holds the number of units of each key that occurs. Publish the keys whose release
    is 1 and no others: even how many there are is secret.

    Guarantee: where a unit has at most ``max_keys`` keys and counts once in each, the kept keys
    lose (epsilon, delta), and but for rounding no rule that spends the same on each key keeps
    one more often. A key without units is never kept.
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
        """With which a key of so many units is kept, exactly."""
        table = self._table()
        return Fraction(table[min(max(units, 0), len(table) - 1)], 2**PLACES)

    def event(self, sensitivity: Sensitivity) -> KeySelection:
        """A selection of keys, each with its share of epsilon and of delta."""
        return shared_by_keys(self.epsilon, self.delta, self.max_keys, sensitivity)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """For each key 1 or 0."""
        draw = KeepKeys(self.epsilon / self.max_keys, self.delta / self.max_keys)
        return gateway.release(secret, counted_once(sensitivity, self.max_keys), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The most units that a key can have and be kept with less than this probability."""
        valid_confidence(confidence)
        return Fraction(max(0, bisect_left(self._table(), confidence * 2**PLACES) - 1))

    def _table(self) -> tuple[int, ...]:
        return keeping_table(self.epsilon / self.max_keys, self.delta / self.max_keys)


@dataclass(frozen=True, slots=True)
class KeepKeys:
    """The draw: a uniform number below the keeping probability, revealed as far as needed."""

    epsilon: Fraction
    delta: Fraction

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """1 for each key that is kept, and 0 for others."""
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
    """The probability of keeping a key of 0, 1, 2, ... units, up to the first that is 1.

    In units of two to the ``-PLACES``. The next after p is the least of e*p + delta and
    1 - (1 - p - delta)/e, e = exp(epsilon): bounds of e stand for it that make this less, and
    what is left is rounded down.

    Guarantee: the next p' fulfils p <= p' <= e*p + delta and 1 - p <= e*(1 - p') + delta.
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
                f"An epsilon of {epsilon} and a delta of {delta} a key keep no key below "
                f"{LONGEST_TABLE} units for certain; allow more of either, or fewer keys."
            )
        more = (growth * table[-1] >> PLACES) + step
        rest = max(0, -(-(one - table[-1] - step) * decay >> PLACES))
        table.append(min(more, one - rest))
    return tuple(table)


@lru_cache(maxsize=64)
def _leading(epsilon: Fraction, delta: Fraction, bits: int) -> Words:
    """The first ``bits`` binary places of each probability; those of 1 are never asked for."""
    table = keeping_table(epsilon, delta)
    return np.array([*(p >> PLACES - bits for p in table[:-1]), 0], dtype=np.uint64)


def _below(entropy: Entropy, probability: int) -> bool:
    """Whether a uniform number that begins like ``probability`` is below it."""
    bits = entropy.word_bits
    for read in range(bits, PLACES, bits):
        digits = (
            probability << read & 2**PLACES - 1
        )  # what was not read yet, moved to the front
        word = int(entropy.words(1)[0])
        if word != digits >> PLACES - bits:
            return bool(word < digits >> PLACES - bits)
    return False


# ------------------------------------------------------------------ truncated geometric keys
# Keys and their counts at one price, by geometric noise that is cut off at both sides.


@dataclass(frozen=True, slots=True)
class TruncatedGeometricKeys:
    """The noisy counts of units of those keys whose noisy count passes the reach of the noise.

    All other keys give 0. The secret holds the number of units of each key that occurs. Publish
    the keys whose release is above 0 and no others: even how many there are is secret.

    Guarantee: where a unit has at most ``max_keys`` keys and counts once in each, keys and
    counts together lose (epsilon, delta). A key without units cannot pass: noise never passes
    its reach.
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
        """The greatest noise: it is drawn with probability delta / max_keys at most."""
        return _reach(self.epsilon / self.max_keys, self.delta / self.max_keys)

    def event(self, sensitivity: Sensitivity) -> KeySelection:
        """A selection of keys, each with its share of epsilon and of delta."""
        return shared_by_keys(self.epsilon, self.delta, self.max_keys, sensitivity)

    def release(
        self, secret: Secret[Integers], sensitivity: Sensitivity, gateway: Gateway
    ) -> Integers:
        """For each key its noisy count, or 0."""
        noise = TruncatedDiscreteLaplace(self.max_keys / self.epsilon, self.reach)
        # to pass the reach is to reach one more
        draw = KeepAbove(noise, self.reach + 1)
        return gateway.release(secret, counted_once(sensitivity, self.max_keys), draw)

    def error(self, confidence: Fraction) -> Fraction:
        """The least t such that any key's release, 0 included, is within t of its count."""
        epsilon, reach = self.epsilon / self.max_keys, self.reach
        return least_miss(lambda size: _tail(epsilon, reach, size), reach + 1, confidence)


@lru_cache(maxsize=256)
def _reach(epsilon: Fraction, delta: Fraction) -> int:
    """The least k with P(noise = k) <= delta.

    It is ceil(log((e - 1 + 2 * delta) / (delta * (e + 1))) / epsilon), e = exp(epsilon).
    """
    lower, upper = exp_bounds(epsilon)
    ratio = (lower - 1 + 2 * delta) / (delta * (upper + 1))
    reach = max(0, (log_bounds(ratio)[0] / epsilon).__ceil__())
    # where the logarithm cannot tell, the probability itself decides
    while _tail(epsilon, reach, reach) > delta:
        reach += 1
    return reach


def _tail(epsilon: Fraction, reach: int, size: int) -> Fraction:
    """An upper bound on P(noise >= size), size >= 0.

    It is (q**size - q**(reach + 1)) / (1 + q - 2 * q**(reach + 1)) with q = exp(-epsilon).
    """
    if size > reach:
        return Fraction(0)
    end = exp_bounds(-epsilon * (reach + 1))
    whole = 1 + exp_bounds(-epsilon)[0] - 2 * end[1]
    return (exp_bounds(-epsilon * size)[1] - end[0]) / whole
