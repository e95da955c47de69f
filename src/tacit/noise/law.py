"""A law on 0, 1, 2, ...

as weights known to any precision, and the thresholds that draw from it exactly.

A uniform number U in [0, 1) falls below the cumulative probability F(k) or not. Comparing the
first 64 bits of U with the integer ``floor(2**64 * F(k))`` decides this, unless the two are
equal. So a table of such integers draws from the law exactly, once each is *certainly* the
right one: it is computed from a lower and an upper bound, with more precision until both give
the same integer.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

GUARD_BITS = 40
"""Bits beyond the threshold's own with which a table is first tried; nearly always enough."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Bounds on the weights of the outcomes 0, 1, 2, ...

    in one common unit, and on all that is not listed.
    """

    lower: Sequence[int]
    upper: Sequence[int]
    rest: int = 0
    """An upper bound on the weight of all outcomes beyond the list; 0 where there are none."""


class Law(Protocol):
    """A law on the integers from 0 up, in terms of weights that need not add up to 1."""

    def weights(self, precision: int) -> Weights:
        """Bounds on the weights in units of two to the ``-precision``."""
        ...

    def __hash__(self) -> int: ...


@lru_cache(maxsize=256)
def thresholds(law: Law, bits: int) -> tuple[int, ...]:
    """The same as `compute_thresholds`, kept for the next time."""
    return compute_thresholds(law, bits)


def compute_thresholds(law: Law, bits: int) -> tuple[int, ...]:
    """The integers ``floor(2**bits * F(k))`` for k = 0, 1, 2, ...

    For laws of public facts: how much precision a law needs can tell what it is made of, and
    one whose cumulative probability is rational but for a negligible weight needs it without
    end. A law of secret weights is drawn by `tacit.noise.choice`.

    Guarantee: each is exact. The list ends before the last outcome of a finite law, and at the
    first ``2**bits - 1`` of an infinite one, where longer words must decide.
    Reference: Ziv 1991: raise the precision until both bounds round to the same number.
    """
    precision = bits + GUARD_BITS
    while (found := _certain(law.weights(precision), bits)) is None:
        precision += precision // 2
    return found


def _certain(weights: Weights, bits: int) -> tuple[int, ...] | None:
    """The thresholds, or None where the bounds are too wide to tell one of them."""
    total_lower = sum(weights.lower)
    total_upper = sum(weights.upper) + weights.rest
    highest = (1 << bits) - 1  # F(k) < 1 for every k but the last, which has no threshold
    found: list[int] = []
    below_lower = below_upper = 0
    for lower, upper in zip(weights.lower, weights.upper, strict=True):
        below_lower += lower
        below_upper += upper
        if below_upper == total_upper:
            return tuple(found)
        # F = below / (below + above), least where above is greatest
        least = (below_lower << bits) // (below_lower + total_upper - below_upper)
        most = (below_upper << bits) // (below_upper + total_lower - below_lower)
        if least != min(most, highest):
            return None
        found.append(least)
        if weights.rest and least == highest:
            return tuple(found)
    return None
