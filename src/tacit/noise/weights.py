"""The laws that Tacit draws from, each as its weights: integers only, rounded outward."""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import islice, repeat

from tacit.noise.law import Weights
from tacit.numeric.exact import exp_bounds

Bound = tuple[int, int]
"""A lower and an upper bound on one weight."""


@dataclass(frozen=True, slots=True)
class Categorical:
    """Outcome k with probability ``parts[k] / sum(parts)``."""

    parts: tuple[int, ...]

    def weights(self, precision: int) -> Weights:
        """The parts themselves, exact at every precision."""
        del precision
        return Weights(self.parts, self.parts)


@dataclass(frozen=True, slots=True)
class LaplaceSign:
    """Outcomes 0, 1, 2 for a discrete Laplace value below, at and above zero.

    Their weights are q, 1 - q and q, with q = exp(-1/scale).
    """

    scale: Fraction

    def weights(self, precision: int) -> Weights:
        """Bounds on the three weights."""
        lower, upper = _exp_minus(1 / self.scale, precision)
        one = 1 << precision
        return Weights((lower, one - upper, lower), (upper, one - lower, upper))


@dataclass(frozen=True, slots=True)
class Decay:
    """Outcome k with weight exp(-k/scale): for all k, or for those below ``size``."""

    scale: Fraction
    size: int | None = None

    def weights(self, precision: int) -> Weights:
        """Bounds on the weights; those too small for the precision are bounded together."""
        ratio = _exp_minus(1 / self.scale, precision)
        if self.size is None:
            return _until_negligible(repeat(ratio), precision)
        listed = list(islice(_products(repeat(ratio), precision), self.size))
        return Weights([lower for lower, _ in listed], [upper for _, upper in listed])


@dataclass(frozen=True, slots=True)
class Bell:
    """Outcome k with weight exp(-k**2 / (2 * variance)), for all k from 0 up."""

    variance: Fraction

    def weights(self, precision: int) -> Weights:
        """Bounds on the weights; those too small for the precision are bounded together."""
        return _until_negligible(self._ratios(precision), precision)

    def _ratios(self, precision: int) -> Iterator[Bound]:
        """Of each weight to the one before, exp(-(2k - 1)/(2 * variance)): itself a product."""
        first = _exp_minus(1 / (2 * self.variance), precision)
        return _products(repeat(_exp_minus(1 / self.variance, precision)), precision, first)


@dataclass(frozen=True, slots=True)
class TwoSidedBell:
    """Outcomes 0, 1, 2, 3, 4, ...

    for the integers 0, 1, -1, 2, -2, ..., weighted as by `Bell`.
    """

    variance: Fraction

    def weights(self, precision: int) -> Weights:
        """The weights of `Bell`, all but the first of them twice."""
        side = Bell(self.variance).weights(precision)
        lower, upper = list(side.lower), list(side.upper)
        twice = [weight for weight in lower[1:] for _ in range(2)]
        twice_upper = [weight for weight in upper[1:] for _ in range(2)]
        return Weights(lower[:1] + twice, upper[:1] + twice_upper, rest=2 * side.rest)


def _until_negligible(ratios: Iterator[Bound], precision: int) -> Weights:
    """Weights whose ratios never rise, listed while they are above the precision."""
    lower: list[int] = []
    upper: list[int] = []
    one = 1 << precision
    weight = (one, one)
    for ratio in ratios:  # of the next weight to this one
        if weight[0] == 0:
            break
        lower.append(weight[0])
        upper.append(weight[1])
        weight = _times(weight, ratio, precision)
    # the first weight left out starts a series that falls at least as fast as a geometric one
    return Weights(lower, upper, rest=-(-(weight[1] << precision) // (one - ratio[1])))


def _products(
    ratios: Iterator[Bound], precision: int, first: Bound | None = None
) -> Iterator[Bound]:
    """The first weight, 1 unless given, and its products with one ratio after the other."""
    weight = first or (1 << precision, 1 << precision)
    yield weight
    for ratio in ratios:
        weight = _times(weight, ratio, precision)
        yield weight


def _times(left: Bound, right: Bound, precision: int) -> Bound:
    """The product of two weights, rounded outward."""
    return left[0] * right[0] >> precision, -(-left[1] * right[1] >> precision)


def _exp_minus(value: Fraction, precision: int) -> Bound:
    """Bounds on exp(-value), value >= 0, in units of two to the ``-precision``."""
    # three bits need less than one decimal digit
    lower, upper = exp_bounds(-value, digits=precision // 3 + 5)
    one = 1 << precision
    return (lower * one).__floor__(), min((upper * one).__ceil__(), one)
