"""The tables of a CUBE from noisy marginals, by least squares, so that totals add up.

A question with several tables releases noisy marginals of one table. Each number that is asked
for can be estimated from several of them: a total is in the table of totals, and is the sum of
the cells of every other table. `estimate_cells` combines all of them by weighted least squares
to one estimate of the finest cells, and every table of the answer is a sum of these. Totals
therefore equal the sums of their parts exactly.

Least squares split into components, as `tacit.choose.marginals` explains: component t of the
estimate is the weighted mean of the components t of all marginals that contain t. All of this
is integer arithmetic over released numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache, partial, reduce
from itertools import product
from math import sqrt
from operator import mul
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.core import Key, Secret
from tacit.errors import InternalError
from tacit.mechanisms import Gateway, Gaussian, Laplace, Mechanism, inside
from tacit.noise import Integers, narrow
from tacit.plan import BoundedPlan, Kept, cells_of, key_sizes, subsets
from tacit.query.quote import PricedTally, Quote

Cells = NDArray[Any]
"""An array of Python integers with one axis for each key."""

WEIGHTS = 2**20
"""Weights of marginals are multiples of 1 / WEIGHTS, so that estimates are short fractions."""

SPARE_BITS = 10
"""Bits of the finest cells beyond those of their number: the rounding of all of them together
is less than 2**-SPARE_BITS steps."""

NOT_NORMAL = Fraction(231, 100)
"""Factor of the variance of an estimate from noise that is not Gaussian.

A sum of independent Laplace noises has one peak, so that it is within 2.98 standard deviations
with probability 95% (inequality of Vysochanskij and Petunin). A normal number is within 1.96 of
its own, and (2.98 / 1.96)**2 is 2.31.
"""


# Release -------------------------------------------------------------------------------------


def release_marginals(
    quote: Quote, secrets: Sequence[Secret[Integers]], gateway: Gateway
) -> list[list[int]]:
    """Return the noisy integers of all measured marginals, in the order of the quote.

    ``secrets`` has the finest cells of each tally of the plan.

    Guarantee: every marginal is a sum of the same bounded tallies, and each is released by its
    own mechanism, for its own sensitivity.
    """
    sizes, priced = key_sizes(quote.bound.plan), iter(quote.tallies)
    found = []
    for secret, tables in zip(secrets, quote.measured, strict=True):
        for kept, part in zip(tables, priced, strict=False):
            summed = inside(secret, partial(sum_cells, sizes=sizes, kept=kept))
            found.append(part.mechanism.release(summed, part.sensitivity, gateway).tolist())
    return found


def sum_cells(values: Integers, *, sizes: tuple[int, ...], kept: Kept) -> Integers:
    """Return a marginal of the finest cells ``values``: sums over the keys that are not kept.

    The sums are exact for integers of any size.

    Example:
        >>> sum_cells(np.array([1, 2, 3, 4, 5, 6]), sizes=(2, 3), kept=(0,))
        array([ 6, 15])
    """
    rest = tuple(place for place in range(len(sizes)) if place not in kept)
    if not rest:
        return values
    whole = values.astype(object).reshape(sizes)
    return narrow(np.asarray(whole.sum(axis=rest), dtype=object).reshape(-1))


# Least squares -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Weighting:
    """The weights of the marginals of one tally in each component, and their variances.

    ``weights`` has for each component the marginals that contain it, with integers that add up
    to `WEIGHTS`. ``variances`` are those of the components: a cell of the table of a component
    has this variance from it, and a cell of a larger table has it times the squared ratio of
    their numbers of cells.
    """

    sizes: tuple[int, ...]
    weights: Mapping[Kept, Mapping[Kept, int]]
    variances: Mapping[Kept, Fraction]

    @classmethod
    def of(cls, sizes: tuple[int, ...], variances: Mapping[Kept, Fraction]) -> "Weighting":
        """Return the weights with the least variance.

        ``variances`` are those of the noise of one cell of each marginal.

        Example:
            >>> both = Weighting.of((2,), {(0,): Fraction(1), (): Fraction(2)})
            >>> both.weights[()], both.weights[(0,)]
            ({(0,): 524288, (): 524288}, {(0,): 1048576})
        """
        strength = {
            kept: 1 / (cells_of(sizes, kept) * variance) for kept, variance in variances.items()
        }
        weights, spread = {}, {}
        for component in {part for kept in variances for part in subsets(kept)}:
            useful = {kept: p for kept, p in strength.items() if set(component) <= set(kept)}
            whole = sum(useful.values())
            found = {kept: round(WEIGHTS * p / whole) for kept, p in useful.items()}
            first = max(found, key=lambda kept: found[kept])
            found[first] += WEIGHTS - sum(found.values())
            weights[component] = found
            own = cells_of(sizes, component)
            freedom = reduce(mul, (sizes[place] - 1 for place in component), 1)
            noise = sum(
                Fraction(weight**2 * cells_of(sizes, kept), WEIGHTS**2) * variances[kept]
                for kept, weight in found.items()
            )
            spread[component] = Fraction(freedom, own**2) * noise
        return cls(sizes, weights, spread)

    def variance(self, kept: Kept) -> Fraction:
        """Return the variance of the estimate of each cell of the table ``kept``.

        It is the sum over the components within ``kept``, which are independent.
        """
        sizes, cells = self.sizes, cells_of(self.sizes, kept)
        parts = (
            self.variances[component] * cells_of(sizes, component) ** 2
            for component in subsets(kept)
        )
        return sum(parts, Fraction(0)) / cells**2

    @property
    def bits(self) -> int:
        """The number of bits after the point of an estimate of a finest cell."""
        return reduce(mul, self.sizes, 1).bit_length() + SPARE_BITS


def estimate_cells(weighting: Weighting, noisy: Mapping[Kept, Sequence[int]]) -> Cells:
    """Return the least-squares estimate of the finest cells, in units of 2**-bits.

    ``noisy`` has the released integers of each marginal. A component that no marginal contains
    is 0; no table that is asked for depends on it.

    Guarantee: this is post-processing of released integers, without a rounding error but the
    last one, to a multiple of 2**-bits in each finest cell.

    Example:
        >>> both = Weighting.of((2,), {(0,): Fraction(1), (): Fraction(2)})
        >>> found = estimate_cells(both, {(0,): [10, 20], (): [34]})
        >>> [int(cell) / 2**both.bits for cell in found]
        [11.0, 21.0]
    """
    sizes = weighting.sizes
    places, cells = range(len(sizes)), reduce(mul, sizes, 1)
    tables = {
        kept: np.array(values, dtype=object).reshape(
            [sizes[place] if place in kept else 1 for place in places]
        )
        for kept, values in noisy.items()
    }
    whole = np.zeros(sizes, dtype=object)
    for component, weights in weighting.weights.items():
        part: Cells = np.zeros((1,) * len(sizes), dtype=object)
        for kept, weight in weights.items():
            rest = tuple(place for place in kept if place not in component)
            part = part + weight * tables[kept].sum(axis=rest, keepdims=True)
        for place in component:  # remove the mean along each key, times the key's size
            part = sizes[place] * part - part.sum(axis=place, keepdims=True)
        whole = whole + part
    # the components are multiplied by the number of finest cells, and by WEIGHTS
    below = cells * WEIGHTS
    return np.asarray((2 * (whole << weighting.bits) + below) // (2 * below), dtype=object)


# Tables --------------------------------------------------------------------------------------


def cell_groups(plan: BoundedPlan, kept: Kept) -> tuple[tuple[Key | None, ...], ...]:
    """Return the groups of a table in order, with None for the keys that it sums over."""
    values: list[tuple[Key | None, ...]] = [
        key.keys.values if place in kept and key.keys is not None else (None,)
        for place, key in enumerate(plan.keys)
    ]
    return tuple(product(*values))


def estimate_tables(quote: Quote, released: Sequence[Sequence[int]]) -> list[list[list[Any]]]:
    """Return for each table of the answer the estimates of each tally of the plan, by cell.

    Guarantee: each table is a sum of the same finest cells, so that totals equal the sums of
    their parts.
    """
    sizes = key_sizes(quote.bound.plan)
    wholes = []
    for weighting, noisy in zip(weightings(quote), _by_tally(quote, released), strict=True):
        wholes.append((estimate_cells(weighting, noisy), 2**weighting.bits))
    return [
        [
            [
                Fraction(int(cell), unit)
                for cell in sum_cells(whole.reshape(-1), sizes=sizes, kept=table.kept).tolist()
            ]
            for whole, unit in wholes
        ]
        for table in quote.bound.tables
    ]


def _by_tally(
    quote: Quote, released: Sequence[Sequence[int]]
) -> Iterator[Mapping[Kept, Sequence[int]]]:
    rest = iter(released)
    for tables in quote.measured:
        yield {kept: next(rest) for kept in tables}


def weightings(quote: Quote) -> list[Weighting]:
    """Return the weights for each tally of the plan of ``quote``, from public facts alone."""
    sizes, priced = key_sizes(quote.bound.plan), iter(quote.tallies)
    found = []
    for tables in quote.measured:
        noise = tuple((kept, noise_variance(next(priced).mechanism)) for kept in tables)
        found.append(_weighting(sizes, noise))
    return found


@lru_cache(maxsize=256)
def _weighting(
    sizes: tuple[int, ...], variances: tuple[tuple[Kept, Fraction], ...]
) -> Weighting:
    """Return the weights for noise of these variances, which several tables of a quote use."""
    return Weighting.of(sizes, dict(variances))


def noise_variance(mechanism: Mechanism) -> Fraction:
    """Return the variance of one released number, as large as its interval needs it."""
    match mechanism:
        case Gaussian(variance):
            return variance
        case Laplace(scale):
            return NOT_NORMAL * 2 * scale**2
    raise InternalError("The noise of a marginal must be Gaussian or Laplace.")


@dataclass(frozen=True, slots=True)
class EstimateNoise(Gaussian):
    """The noise of a least-squares estimate: normal, and not on a grid of integers.

    It describes the noise of a number for intervals; nothing is released with it. ``rounding``
    is the most by which the estimate is rounded.
    """

    rounding: Fraction = Fraction(0)

    def error(self, confidence: Fraction) -> Fraction:
        """Return the margin of error at this confidence.

        Example:
            >>> round(float(EstimateNoise(Fraction(100)).error(Fraction("0.95"))), 2)
            19.6
        """
        sure = NormalDist().inv_cdf(float(1 + confidence) / 2)
        return Fraction(sure * sqrt(self.variance)) + self.rounding


def quote_of_table(quote: Quote, kept: Kept) -> Quote:
    """Return the quote of one table: with the noise of its estimates in place of its tallies.

    It is for intervals and margins of error; its event and price are those of all tables.
    """
    priced, found = iter(quote.tallies), []
    for weighting, tables in zip(weightings(quote), quote.measured, strict=True):
        [first, *_] = [next(priced) for _ in tables]
        # half a step, because the noise of a cell of a long key is almost an integer
        rest = Fraction(1, 2) + Fraction(1, 2**SPARE_BITS)
        noise = EstimateNoise(weighting.variance(kept), rest)
        found.append(PricedTally(noise, first.sensitivity))
    return replace(quote, tallies=tuple(found))
