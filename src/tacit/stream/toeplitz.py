"""Noise with the memory of a Toeplitz matrix of integers; its square root of sums by default.

The released number of step t, in parts of 2**-bits, is u(t) = 2**bits * x(t) + v(t), with

    v(t) = round((2**bits * z(t) - c(1) v(t-1) - c(2) v(t-2) - ...) / c(0)).

Put u - 2**bits * x in place of v: the same rounding turns y(t) = c(0) x(t) + c(1) x(t-1) + ...
+ z(t) and the u before into u(t), because whole x pass through a rounding unchanged. So all
that is released is computed from y, which is integers with noise, and nothing else.

Noise whose memory is a few buffers, however long the stream: buffered linear Toeplitz.

In parts of 2**-bits, u(t) = 2**bits * x(t) + v(t) is released, with

    v(t) = z(t) - round(sum of w(j) * s(j, t)),    s(j, t+1) = round(d(j) * s(j, t)) + v(t).

Given all that was released before, u(t) is an integer that depends on x, plus fresh noise. One
unit moves that integer by what the matrix C with c(k) = sum of w(j) * d(j)**(k-1) says, and by
the rounding of two trajectories besides, which never differ by more than 1 at a rounding.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import exp, log, pi, sqrt

import numpy as np

from tacit.core import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.noise import Integers, narrowed
from tacit.numeric import sqrt_bounds
from tacit.stream.factor import Memory, Numbers, Window, spread

MATRIX_BITS = 16
"""Fraction bits of the matrix: from 16 on, rounding it costs less than 10**-8 of the error."""

SPARE_BITS = 64
"""Bits beyond these, so that what is rounded does not depend on floats."""

ROOM = 2**61
"""Sums below this fit 64 bits, also doubled."""


@dataclass(frozen=True, slots=True)
class Toeplitz:
    """A lower triangular matrix of integers, the same down each diagonal.

    ``coefficients`` are its first column, or the start of it where 0 follows: none below 0, and
    none above the one before.

    Guarantee: see `tacit.stream.factor.Factor`. A unit that moves k steps moves what is noised
    most where these are the first k in a row: two columns overlap the more the earlier and the
    nearer they are.
    Reference: Fichtenberger, Henzinger, Upadhyay 2023 (the square root); Kalinin, Lampert 2024,
    theorem 2 (k steps).

    Example:
        >>> Toeplitz.square_root(horizon=4).coefficients
        (65536, 32768, 24576, 20480)
    """

    coefficients: tuple[int, ...]
    horizon: int
    bits: int = MATRIX_BITS

    def __post_init__(self) -> None:
        first, *rest = self.coefficients
        pairs = zip(self.coefficients, rest, strict=False)
        if first < 1 or any(not 0 <= after <= before for before, after in pairs):
            raise InvalidValue("Coefficients begin above 0, and never rise or fall below 0.")
        if not len(self.coefficients) <= self.horizon:
            raise InvalidValue(f"A horizon of {self.horizon} steps has no more coefficients.")

    @classmethod
    def square_root(
        cls, horizon: int, length: int | None = None, bits: int = MATRIX_BITS
    ) -> "Toeplitz":
        """The square root of running sums, rounded; or its first ``length`` coefficients."""
        found, exact = [], 1 << (MATRIX_BITS + SPARE_BITS)
        for place in range(min(horizon, length or horizon)):
            exact = exact * (2 * place - 1) // (2 * place) if place else exact
            found.append((exact + (1 << SPARE_BITS - 1)) >> SPARE_BITS)
        return cls(tuple(found), horizon, bits)

    @classmethod
    def independent(cls, horizon: int) -> "Toeplitz":
        """Noise without a memory."""
        return cls((1,), horizon, 0)

    @property
    def grows(self) -> bool:
        """Whether any step before is remembered."""
        return len(self.coefficients) > 1

    def moved(self, step: Sensitivity, steps: int) -> Sensitivity:
        """The norm of the first ``steps`` columns together, in the integers themselves."""
        rule = Rule(
            "the first columns of the rounded matrix together, times what one step moves",
            (f"steps={steps}", f"horizon={self.horizon}"),
            (step.proof,),
        )
        if step.norm is Norm.L1:
            square = (steps * sum(self.coefficients)) ** 2
        else:
            square = column_square(self.coefficients, self.horizon, steps)
        return Sensitivity(step.square * square, step.norm, rule)

    def next(self, number: int, memory: Memory, fresh: Integers) -> tuple[Integers, Memory]:
        """The noise of the step ``number``, and all noise so far."""
        del number
        first, *rest = self.coefficients
        recalled = memory[::-1][: len(rest)]
        terms = [2**self.bits, *(-each for each in rest[: len(recalled)])]
        total = _combined(terms, (fresh, *recalled))
        noise = narrowed((2 * total + first) // (2 * first))
        return noise, (*memory, noise) if self.grows else ()

    def spread(self, window: Window) -> Numbers:
        """The deviations of what is shown, by the inverse of the rounded matrix."""
        return spread(_toeplitz_response(self.coefficients, self.horizon), window)


def column_square(coefficients: tuple[int, ...], horizon: int, steps: int) -> int:
    """The square of the norm of the first ``steps`` columns added up, exactly.

    Example:
        >>> column_square((2, 1), horizon=3, steps=1), column_square((2, 1), 3, 3)
        (5, 22)
    """
    padded = (*coefficients, *(0,) * (horizon - len(coefficients)))
    sums = [0, *accumulate(padded)]
    return sum((sums[t + 1] - sums[max(0, t + 1 - steps)]) ** 2 for t in range(horizon))


def _combined(coefficients: list[int], noises: Memory) -> Integers:
    """The sum of noises times coefficients: in 64 bits where a bound says that it fits."""
    largest = max(int(np.abs(noise).max(initial=0)) for noise in noises)
    kind = np.int64 if largest * sum(map(abs, coefficients)) < ROOM else object
    combined: Integers = np.array(coefficients, dtype=kind) @ np.array(noises, dtype=kind)
    return combined


@lru_cache(maxsize=64)
def _toeplitz_response(coefficients: tuple[int, ...], horizon: int) -> Numbers:
    """The first column of the inverse."""
    first = float(coefficients[0])
    rest = np.array(coefficients[1:], dtype=np.float64) / first
    response = np.zeros(horizon)
    response[0] = 1 / first
    for place in range(1, horizon if rest.size else 1):
        reach = min(place, rest.size)
        response[place] = -(rest[:reach] @ response[place - reach : place][::-1])
    return response


RELEASE_BITS = 28
"""Parts of a released number: rounding adds less than a thousandth to the sensitivity."""

FINE = 30
"""Fraction bits of weights and decays."""

COEFFICIENT_BITS = 40
"""Fraction bits of the coefficients that bound the sensitivity from above."""

BUFFERS = 6
"""Within 1% of the square root's own error up to 10**6 steps."""

FIRST_NODE, BEYOND = 0.0, 3.0
"""Where the nodes of the quadrature begin, and how far beyond the log of the horizon they end;
by search, at 2 * 10**4 steps."""

WIDE = 2**60
"""From here on Python's integers are used, so that one addition fits 64 bits."""


@dataclass(frozen=True, slots=True)
class Buffered:
    """Buffers with ``weights`` and ``decays``, in parts of 2**-FINE.

    Guarantee: see `tacit.stream.factor.Factor`; the sensitivity holds whatever was released
    before, roundings included, so that losses add up as for questions that are chosen one after
    the other (Feldman, Zrnic 2021).
    Reference: McMahan, Pillutla 2024; Dvijotham, McMahan, Pillutla, Steinke, Thakurta 2024.

    Example:
        >>> Buffered.square_root(horizon=100_000).grows
        False
    """

    weights: tuple[int, ...]
    decays: tuple[int, ...]
    horizon: int
    bits: int = RELEASE_BITS

    @classmethod
    def square_root(cls, horizon: int, buffers: int = BUFFERS) -> "Buffered":
        """Buffers that follow the square root of running sums.

        Its coefficients are an integral of powers, which a few logistic nodes sum up:
        c(k) = 1/pi * integral of d(s)**k * sqrt(d(s) * (1 - d(s))) ds, d(s) = 1/(1 + exp(-s)).
        """
        width = (log(horizon) + BEYOND - FIRST_NODE) / (buffers - 1)
        decays = [1 / (1 + exp(-FIRST_NODE - place * width)) for place in range(buffers)]
        weights = [width / pi * sqrt(d * (1 - d)) * d for d in decays]
        whole = [tuple(int(part * 2**FINE) for part in parts) for parts in (weights, decays)]
        return cls(whole[0], whole[1], horizon)

    @property
    def grows(self) -> bool:
        """The memory has one size."""
        return False

    def moved(self, step: Sensitivity, steps: int) -> Sensitivity:
        """The first ``steps`` columns together, and what roundings can add to them.

        Integers that move have moved by 1 at least, so that the numbers which a unit moves in a
        step are at most the square of its sensitivity; each is then rounded at every step.
        """
        rule = Rule(
            "the first columns of the matrix together, and the roundings of buffers, times "
            "what one step moves",
            (f"steps={steps}", f"horizon={self.horizon}"),
            (step.proof,),
        )
        square = column_square(_coefficients(self), self.horizon, steps)
        columns = sqrt_bounds(Fraction(square))[1] * 2**self.bits / 2**COEFFICIENT_BITS
        roundings = self._off * sqrt_bounds(Fraction(self.horizon * steps))[1]
        amount = columns + roundings
        return Sensitivity(step.in_norm(Norm.L2).square * amount**2, Norm.L2, rule)

    @property
    def _off(self) -> Fraction:
        """How far roundings can move a number of one step: a geometric sum for each buffer."""
        pairs = zip(self.weights, self.decays, strict=True)
        buffers = [
            Fraction(weight, max(2**FINE - decay, 2**FINE // self.horizon))
            for weight, decay in pairs
        ]
        return 1 + sum(buffers, Fraction(0))

    def next(self, number: int, memory: Memory, fresh: Integers) -> tuple[Integers, Memory]:
        """The noise of the step ``number``, and the buffers after it."""
        del number
        buffers = memory or tuple(np.zeros_like(fresh) for _ in self.weights)
        noise = _roomy(fresh - _parts(self.weights, buffers))
        after = [
            _parts((decay,), (buffer,)) + noise
            for decay, buffer in zip(self.decays, buffers, strict=True)
        ]
        return noise, tuple(map(_roomy, after))

    def spread(self, window: Window) -> Numbers:
        """The deviations of what is shown."""
        return spread(_buffered_response(self), window)


def _parts(parts: tuple[int, ...], buffers: Memory) -> Integers:
    """The sum of buffers times parts of 2**-FINE, rounded once, as exact integers."""
    pairs = list(zip(parts, buffers, strict=True))
    whole = sum(part * (buffer >> FINE) for part, buffer in pairs)
    rest = sum(part * (buffer & (2**FINE - 1)) for part, buffer in pairs)
    rounded: Integers = whole + ((rest + 2 ** (FINE - 1)) >> FINE)
    return rounded


def _roomy(values: Integers) -> Integers:
    wide = values.dtype == object or bool(np.abs(values).max(initial=0) >= WIDE)
    return values.astype(object) if wide else values


@lru_cache(maxsize=64)
def _coefficients(factor: Buffered) -> tuple[int, ...]:
    """The first column, each coefficient rounded up."""
    scale = 2 ** (COEFFICIENT_BITS - FINE)
    powers, found = [weight * scale for weight in factor.weights], [2**COEFFICIENT_BITS]
    for _ in range(factor.horizon - 1):
        found.append(sum(powers))
        pairs = zip(powers, factor.decays, strict=True)
        powers = [-(-power * decay >> FINE) for power, decay in pairs]
    return tuple(found)


@lru_cache(maxsize=64)
def _buffered_response(factor: Buffered) -> Numbers:
    """The first column of the inverse, of numbers in parts of 2**-bits."""
    weights, decays = (np.array(p) / 2**FINE for p in (factor.weights, factor.decays))
    buffers, response = np.zeros(weights.size), np.zeros(factor.horizon)
    fresh = 2.0**-factor.bits
    for place in range(factor.horizon):
        response[place] = fresh - weights @ buffers
        buffers = decays * buffers + response[place]
        fresh = 0.0
    return response
