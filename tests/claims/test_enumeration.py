"""For small parameters the law is exact: all scripts of narrow words are walked."""

from collections.abc import Callable
from fractions import Fraction
from math import factorial

import numpy as np
import pytest
from conftest import Bar

from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.integers import UniformBelow
from tacit.noise.inversion import Decay, Inversion
from tacit.noise.laplace import Bernoulli, DiscreteLaplace, Geometric, bernoulli_exp
from tacit.numeric.entropy import Entropy
from tacit.testing.entropy import EnumeratedLaw, enumerate_law

pytestmark = pytest.mark.claim

Interval = tuple[Fraction, Fraction]
ERROR = Fraction(1, 10**30)


def exp_minus(x: Fraction) -> Fraction:
    """exp(-x) within 10**-40 for x up to 20, by its series, apart from the code under test."""
    return sum(((-x) ** n / factorial(n) for n in range(140)), Fraction(0))


def around(value: Fraction) -> Interval:
    return value - ERROR, value + ERROR


def laplace(scale: Fraction) -> Callable[[int], Interval]:
    q = exp_minus(1 / scale)
    return lambda y: around((1 - q) / (1 + q) * q ** abs(y))


def gaussian(variance: Fraction) -> Callable[[int], Interval]:
    weight = {
        y: exp_minus(min(Fraction(y * y) / (2 * variance), Fraction(20))) for y in range(12)
    }
    total = weight[0] + 2 * sum(weight[y] for y in range(1, 12) if y * y < 40 * variance)
    return lambda y: (
        weight[abs(y)] / total - Fraction(1, 10**7),
        weight[abs(y)] / total + ERROR,
    )


def geometric(scale: Fraction, size: int | None = None) -> Callable[[int], Interval]:
    q = exp_minus(1 / scale)
    total = (1 - q**size if size else 1) / (1 - q)
    return lambda k: (
        around(q**k / total) if not size or k < size else (Fraction(0), Fraction(0))
    )


def first(sampler: object) -> Callable[[Entropy], int]:
    return lambda entropy: int(sampler.draw(entropy, 1)[0])  # type: ignore[attr-defined]


def coin(numerator: int, denominator: int) -> Callable[[Entropy], int]:
    return lambda e: int(bernoulli_exp(e, np.array([numerator]), denominator)[0])


def heads(probability: Fraction) -> Callable[[int], Interval]:
    return lambda k: around(probability if k else 1 - probability)


CASES: dict[str, tuple[Callable[[Entropy], int], Callable[[int], Interval], int, int]] = {
    "Bernoulli(2/7)": (first(Bernoulli(Fraction(2, 7))), heads(Fraction(2, 7)), 4, 4),
    "Bernoulli(1/2)": (first(Bernoulli(Fraction(1, 2))), heads(Fraction(1, 2)), 4, 4),
    "Bernoulli(exp(-2/3))": (coin(2, 3), heads(exp_minus(Fraction(2, 3))), 4, 4),
    "Bernoulli(exp(-5/2))": (coin(5, 2), heads(exp_minus(Fraction(5, 2))), 4, 4),
    "uniform below 5": (first(UniformBelow(5)), lambda _: around(Fraction(1, 5)), 3, 5),
    "uniform below 48": (first(UniformBelow(48)), lambda _: around(Fraction(1, 48)), 3, 6),
    "geometric 3/2": (first(Geometric(Fraction(3, 2))), geometric(Fraction(3, 2)), 4, 4),
    "geometric 20, two digits": (first(Geometric(Fraction(20))), geometric(Fraction(20)), 6, 3),
    "truncated geometric 2 of 5": (
        first(Inversion(Decay(Fraction(2), 5))),
        geometric(Fraction(2), 5),
        4,
        4,
    ),
    "laplace 1/3": (first(DiscreteLaplace(Fraction(1, 3))), laplace(Fraction(1, 3)), 4, 4),
    "laplace 1": (first(DiscreteLaplace(Fraction(1))), laplace(Fraction(1)), 4, 4),
    "laplace 7/4": (first(DiscreteLaplace(Fraction(7, 4))), laplace(Fraction(7, 4)), 5, 3),
    "gaussian 1/4": (first(DiscreteGaussian(Fraction(1, 4))), gaussian(Fraction(1, 4)), 4, 4),
    "gaussian 2": (first(DiscreteGaussian(Fraction(2))), gaussian(Fraction(2)), 4, 4),
}


def mismatches(found: EnumeratedLaw, law: Callable[[int], Interval]) -> list[int]:
    return [k for k in found.outcomes if abs(k) < 12 and not found.allows(k, *law(k))]


@pytest.mark.parametrize("case", CASES)
def test_every_script_is_accounted_for(case: str, bar: Bar) -> None:
    draw, law, word_bits, longest = CASES[case]
    found = enumerate_law(draw, word_bits, longest)
    assert sum(found.outcomes.values()) + found.undecided == 1
    assert mismatches(found, law) == []
    bar(
        f"enumerated {case}, undecided",
        float(found.undecided),
        "< 0.04",
        found.undecided < 0.04,
    )


@pytest.mark.parametrize("off", [Fraction(99, 100), Fraction(101, 100)])
def test_a_law_one_percent_off_is_not_what_the_scripts_give(off: Fraction) -> None:
    draw, *_ = CASES["laplace 1"]
    found = enumerate_law(draw, 5, 4)
    assert mismatches(found, laplace(Fraction(1))) == []
    assert mismatches(found, laplace(off)) != []
