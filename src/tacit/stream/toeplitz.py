"""Correlated Gaussian noise for streams: Toeplitz matrices, and their buffered approximation.

Both factors release u(t) = 2**bits * x(t) + v(t) at step t, in units of 2**-bits, where x(t) is
the secret value, v(t) is the correlated noise and z(t) is fresh noise. They differ in how v(t)
depends on the past.

`Toeplitz` stores all past noise. With the integer coefficients c(k) of a lower triangular
Toeplitz matrix,

    v(t) = round((2**bits * z(t) - c(1) v(t-1) - c(2) v(t-2) - ...) / c(0)).

Why this is private: replace v by u - 2**bits * x in this formula. An integer can be moved out
of a rounding unchanged, so the formula computes u(t) from the earlier u and from
y(t) = c(0) x(t) + c(1) x(t-1) + ... + z(t). All releases are therefore post-processing of y,
which is a vector of integers with independent noise.

`Buffered` (buffered linear Toeplitz) stores a few buffers s(j), however long the stream is.
With weights w(j) and decays d(j),

    v(t) = z(t) - round(sum of w(j) * s(j, t)),    s(j, t+1) = round(d(j) * s(j, t)) + v(t).

Why this is private: given all earlier releases, u(t) is an integer that depends on x, plus
fresh noise. One unit changes that integer by the amount that follows from the matrix C with
c(k) = sum of w(j) * d(j)**(k-1), and by rounding. Rounding adds at most 1 to the difference of
two trajectories each time.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import exp, log, pi, sqrt

import numpy as np

from tacit.core import Norm, Rule, Sensitivity
from tacit.errors import InvalidValue
from tacit.noise import Integers, narrow
from tacit.numeric import sqrt_bounds
from tacit.stream.factor import Memory, Numbers, Window, spread

MATRIX_BITS = 16
"""Fraction bits of the matrix. With 16 or more, rounding adds less than 10**-8 to the error."""

SPARE_BITS = 64
"""Extra bits in the computation of the coefficients, so that it does not depend on floats."""

ROOM = 2**61
"""Sums below this bound fit in 64 bits, even after they are doubled."""


@dataclass(frozen=True, slots=True)
class Toeplitz:
    """A factor with a lower triangular integer matrix that is constant along each diagonal.

    ``coefficients`` are the first column of the matrix, without zeros at its end. They must not
    be negative, and must not increase.

    Guarantee: see `tacit.stream.factor.Factor`. A unit that changes k steps changes C x most
    where these are the first k steps: the overlap of two columns is larger the earlier and the
    nearer to each other they are.
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
            raise InvalidValue(
                "The coefficients are not valid: the first must be above 0, and the others "
                "must not increase or be negative."
            )
        if not len(self.coefficients) <= self.horizon:
            raise InvalidValue(
                f"There are too many coefficients: a horizon of {self.horizon} steps has at "
                "most one for each step."
            )

    @classmethod
    def square_root(
        cls, horizon: int, length: int | None = None, bits: int = MATRIX_BITS
    ) -> "Toeplitz":
        """Return the rounded square root of the matrix of running sums.

        With ``length``, only the first ``length`` coefficients are used.
        """
        found, exact = [], 1 << (MATRIX_BITS + SPARE_BITS)
        for place in range(min(horizon, length or horizon)):
            exact = exact * (2 * place - 1) // (2 * place) if place else exact
            found.append((exact + (1 << SPARE_BITS - 1)) >> SPARE_BITS)
        return cls(tuple(found), horizon, bits)

    @classmethod
    def independent(cls, horizon: int) -> "Toeplitz":
        """Return the factor of independent noise, which has no memory."""
        return cls((1,), horizon, 0)

    @property
    def grows(self) -> bool:
        """Whether past noise is stored."""
        return len(self.coefficients) > 1

    def sensitivity(self, step: Sensitivity, steps: int) -> Sensitivity:
        """Return the sensitivity: the norm of the sum of ``steps`` columns of the matrix."""
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
        """Return the noise of the next step, and the noise of all steps so far."""
        del number
        first, *rest = self.coefficients
        recalled = memory[::-1][: len(rest)]
        terms = [2**self.bits, *(-each for each in rest[: len(recalled)])]
        total = _linear_combination(terms, (fresh, *recalled))
        noise = narrow((2 * total + first) // (2 * first))
        return noise, (*memory, noise) if self.grows else ()

    def spread(self, window: Window) -> Numbers:
        """Return the standard deviations, from the inverse of the rounded matrix."""
        return spread(_toeplitz_response(self.coefficients, self.horizon), window)


def column_square(coefficients: tuple[int, ...], horizon: int, steps: int) -> int:
    """Return the exact squared norm of the sum of the first ``steps`` columns.

    Example:
        >>> column_square((2, 1), horizon=3, steps=1), column_square((2, 1), 3, 3)
        (5, 22)
    """
    padded = (*coefficients, *(0,) * (horizon - len(coefficients)))
    sums = [0, *accumulate(padded)]
    return sum((sums[t + 1] - sums[max(0, t + 1 - steps)]) ** 2 for t in range(horizon))


def _linear_combination(coefficients: list[int], noises: Memory) -> Integers:
    """Return the sum of noises times coefficients, in 64 bits if a bound shows that it fits."""
    largest = max(int(np.abs(noise).max(initial=0)) for noise in noises)
    kind = np.int64 if largest * sum(map(abs, coefficients)) < ROOM else object
    combined: Integers = np.array(coefficients, dtype=kind) @ np.array(noises, dtype=kind)
    return combined


@lru_cache(maxsize=64)
def _toeplitz_response(coefficients: tuple[int, ...], horizon: int) -> Numbers:
    """Return the first column of the inverse matrix."""
    first = float(coefficients[0])
    rest = np.array(coefficients[1:], dtype=np.float64) / first
    response = np.zeros(horizon)
    response[0] = 1 / first
    for place in range(1, horizon if rest.size else 1):
        reach = min(place, rest.size)
        response[place] = -(rest[:reach] @ response[place - reach : place][::-1])
    return response


# ------------------------------------------------------------------ buffered linear Toeplitz

RELEASE_BITS = 28
"""Fraction bits of a released number: rounding adds below 0.1% to the sensitivity."""

FINE = 30
"""Fraction bits of weights and decays."""

COEFFICIENT_BITS = 40
"""Fraction bits of the coefficients that bound the sensitivity from above."""

BUFFERS = 6
"""Number of buffers: up to 10**6 steps, the error is within 1% of that of `Toeplitz`."""

FIRST_NODE, BEYOND = 0.0, 3.0
"""First node of the quadrature, and distance of its last node beyond the log of the horizon.

Both were found by a search at 2 * 10**4 steps.
"""

WIDE = 2**60
"""From this size on, Python integers are used; below it, one addition fits in 64 bits."""


@dataclass(frozen=True, slots=True)
class Buffered:
    """A factor with a few buffers, whose ``weights`` and ``decays`` are in units of 2**-FINE.

    Guarantee: see `tacit.stream.factor.Factor`. The sensitivity bound includes roundings and
    holds for every sequence of earlier releases, so that losses add up under adaptive
    composition (Feldman, Zrnic 2021).
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
        """Return buffers that approximate the square root of the matrix of running sums.

        The coefficients of the square root are an integral of powers, which a quadrature with
        a few nodes on a logistic scale approximates:
        c(k) = 1/pi * integral of d(s)**k * sqrt(d(s) * (1 - d(s))) ds, d(s) = 1/(1 + exp(-s)).
        """
        width = (log(horizon) + BEYOND - FIRST_NODE) / (buffers - 1)
        decays = [1 / (1 + exp(-FIRST_NODE - place * width)) for place in range(buffers)]
        weights = [width / pi * sqrt(d * (1 - d)) * d for d in decays]
        whole = [tuple(int(part * 2**FINE) for part in parts) for parts in (weights, decays)]
        return cls(whole[0], whole[1], horizon)

    @property
    def grows(self) -> bool:
        """False: the memory is one vector for each buffer."""
        return False

    def sensitivity(self, step: Sensitivity, steps: int) -> Sensitivity:
        """Return the sensitivity of the noisy numbers to a unit that changes ``steps`` steps.

        It is the norm of the sum of the first ``steps`` columns of the factor's matrix, plus a
        bound on the effect of rounding the buffers.

        An integer that changes at all changes by at least 1. The number of integers that a unit
        changes in a step is therefore at most the square of the step's L2 sensitivity. Each of
        them is rounded at every later step.
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
        """Bound on the effect of roundings on one step: a geometric sum for each buffer."""
        pairs = zip(self.weights, self.decays, strict=True)
        buffers = [
            Fraction(weight, max(2**FINE - decay, 2**FINE // self.horizon))
            for weight, decay in pairs
        ]
        return 1 + sum(buffers, Fraction(0))

    def next(self, number: int, memory: Memory, fresh: Integers) -> tuple[Integers, Memory]:
        """Return the noise of the next step, and the buffers after it."""
        del number
        buffers = memory or tuple(np.zeros_like(fresh) for _ in self.weights)
        noise = _widen_if_large(fresh - _weighted_sum(self.weights, buffers))
        after = [
            _weighted_sum((decay,), (buffer,)) + noise
            for decay, buffer in zip(self.decays, buffers, strict=True)
        ]
        return noise, tuple(map(_widen_if_large, after))

    def spread(self, window: Window) -> Numbers:
        """Return the standard deviations, from the impulse response of the buffers."""
        return spread(_buffered_response(self), window)


def _weighted_sum(parts: tuple[int, ...], buffers: Memory) -> Integers:
    """Return the exact sum of buffers times ``parts`` * 2**-FINE, rounded once.

    Each buffer is split into a high part and FINE low bits, so that no product overflows.
    """
    pairs = list(zip(parts, buffers, strict=True))
    whole = sum(part * (buffer >> FINE) for part, buffer in pairs)
    rest = sum(part * (buffer & (2**FINE - 1)) for part, buffer in pairs)
    rounded: Integers = whole + ((rest + 2 ** (FINE - 1)) >> FINE)
    return rounded


def _widen_if_large(values: Integers) -> Integers:
    wide = values.dtype == object or bool(np.abs(values).max(initial=0) >= WIDE)
    return values.astype(object) if wide else values


@lru_cache(maxsize=64)
def _coefficients(factor: Buffered) -> tuple[int, ...]:
    """Return the first column of the matrix, with each coefficient rounded up."""
    scale = 2 ** (COEFFICIENT_BITS - FINE)
    powers, found = [weight * scale for weight in factor.weights], [2**COEFFICIENT_BITS]
    for _ in range(factor.horizon - 1):
        found.append(sum(powers))
        pairs = zip(powers, factor.decays, strict=True)
        powers = [-(-power * decay >> FINE) for power, decay in pairs]
    return tuple(found)


@lru_cache(maxsize=64)
def _buffered_response(factor: Buffered) -> Numbers:
    """Return the first column of the inverse matrix, scaled by 2**-bits."""
    weights, decays = (np.array(p) / 2**FINE for p in (factor.weights, factor.decays))
    buffers, response = np.zeros(weights.size), np.zeros(factor.horizon)
    fresh = 2.0**-factor.bits
    for place in range(factor.horizon):
        response[place] = fresh - weights @ buffers
        buffers = decays * buffers + response[place]
        fresh = 0.0
    return response
