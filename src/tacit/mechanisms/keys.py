"""What all ways to select keys share: who counts, what is kept, and how far it is off."""

from bisect import bisect_left
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from tacit.core.selection_event import KeySelection
from tacit.core.sensitivity import Norm, Sensitivity
from tacit.errors import InvalidValue
from tacit.mechanisms.add_noise import AddNoise, Sampler
from tacit.mechanisms.confidence import valid_confidence
from tacit.noise.integers import Integers
from tacit.numeric.entropy import Entropy

LEAST_EPSILON = Fraction(1, 10**9)
"""The least epsilon a key, far below any use: bounds of fifty digits tell it well from 0."""


@dataclass(frozen=True, slots=True)
class KeepAbove:
    """The draw of a threshold: noisy counts of at least ``threshold``, and 0 for all others."""

    sampler: Sampler
    threshold: int

    def __call__(self, values: Integers, entropy: Entropy) -> Integers:
        """The noisy counts that reach the threshold."""
        noisy = AddNoise(self.sampler)(values, entropy)
        # a key without units has no neighbour that would excuse it
        kept: Integers = np.where((values >= 1) & (noisy >= self.threshold), noisy, 0)
        return kept


def shared_by_keys(
    epsilon: Fraction, delta: Fraction, max_keys: int, sensitivity: Sensitivity
) -> KeySelection:
    """The event of a selection in which each key has an equal share of epsilon and of delta."""
    counted_once(sensitivity, max_keys)
    return KeySelection(epsilon / max_keys, delta / max_keys, max_keys)


def counted_once(sensitivity: Sensitivity, max_keys: int) -> Sensitivity:
    """The sensitivity, refused unless a unit moves at most ``max_keys`` counts by one each."""
    if sensitivity.in_norm(Norm.L2).square > max_keys:
        raise InvalidValue(
            f"Up to {max_keys} keys of a unit, counted once each, move the counts by the root "
            f"of {max_keys}, and the root of {sensitivity.square} was given."
        )
    return sensitivity


def valid_keys(epsilon: Fraction, delta: Fraction, max_keys: int) -> None:
    """Refuse what no selection of keys can be made of."""
    if not 0 < delta < 1:
        raise InvalidValue(f"Keys need a delta between 0 and 1, and {delta} was given.")
    if max_keys < 1:
        raise InvalidValue(f"A unit has at least 1 key, and max_keys={max_keys} was given.")
    if epsilon / max_keys < LEAST_EPSILON:
        raise InvalidValue(
            f"Keys need an epsilon of at least {LEAST_EPSILON} each, and {epsilon} for "
            f"{max_keys} was given."
        )


def least_miss(
    tail: Callable[[int], Fraction], threshold: int, confidence: Fraction
) -> Fraction:
    """The least t, from threshold - 1 up, that a release is off by with 1 - confidence at most.

    ``tail(m)`` bounds P(noise >= m) for m >= 1. The worst count is t + 1: it is off by more
    than t if dropped, noise <= threshold - t - 2, or if its noise is above t.
    """
    valid_confidence(confidence)

    def held(size: int) -> bool:
        return tail(size + 2 - threshold) + tail(size + 1) <= 1 - confidence

    beyond = threshold
    while not held(beyond):
        beyond *= 2
    sizes = range(threshold - 1, beyond + 1)
    return Fraction(sizes[bisect_left(sizes, True, key=held)])
