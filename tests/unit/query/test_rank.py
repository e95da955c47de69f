from fractions import Fraction
from math import log
from statistics import NormalDist

import numpy as np
import pytest

from tacit.errors import InternalError
from tacit.lab.selection import ConstantMechanism
from tacit.mechanisms.additive_noise import Gaussian, Laplace
from tacit.plan.steps import WholeSteps
from tacit.plan.tally import TreeTally
from tacit.query.quantile_intervals import RankNoise

SHAPES = [(1, 2), (2, 2), (3, 2), (2, 3), (4, 2), (2, 5), (3, 4)]


def tree(levels: int, branching: int) -> TreeTally:
    return TreeTally(WholeSteps(0), levels, branching, 1)


@pytest.mark.parametrize(("levels", "branching"), SHAPES)
@pytest.mark.parametrize("part", [Fraction(0), Fraction(1, 2), Fraction(9, 10), Fraction(1)])
def test_weights_are_those_of_the_least_squares(
    levels: int, branching: int, part: Fraction
) -> None:
    tally = tree(levels, branching)
    design = np.vstack(
        [
            np.kron(np.eye(branching**level), np.ones((1, tally.cells // branching**level)))
            for level in range(1, levels + 1)
        ]
    )
    ranks = (np.tri(tally.cells) - float(part)) @ np.linalg.pinv(design)
    found = RankNoise.of(Gaussian(Fraction(7)), tally).weights(part)
    assert np.allclose(found, (ranks**2).sum(axis=1))


def test_gaussian_reaches_are_normal_quantiles() -> None:
    noise = RankNoise.of(Gaussian(Fraction(100)), tree(1, 2))
    assert np.allclose(noise.reaches(Fraction(0), Fraction(1, 40)), [19.6, 19.6 * 2**0.5], 1e-3)


@pytest.mark.parametrize("scale", [1, 20])
@pytest.mark.parametrize("tail", [Fraction(1, 20), Fraction(1, 1000)])
def test_sums_of_laplace_noise_pass_their_reach_less_often(scale: int, tail: Fraction) -> None:
    noise = RankNoise.of(Laplace(Fraction(scale)), tree(3, 2))
    reach = noise.reaches(Fraction(0), tail)
    design = np.vstack(
        [np.kron(np.eye(2**level), np.ones((1, 8 // 2**level))) for level in (1, 2, 3)]
    )
    ranks = np.tri(8) @ np.linalg.pinv(design)
    rng, ratio = np.random.default_rng(3), 1 - np.exp(-1 / scale)
    drawn = rng.geometric(ratio, (2, 200_000, 14))
    sums = (drawn[0] - drawn[1]) @ ranks.T
    assert (sums > reach).mean(axis=0).max() <= float(tail)
    # the lie of a normal law of the same variance is passed more often, far out
    normal = NormalDist().inv_cdf(1 - 1e-3) * sums.std(axis=0)
    assert (sums > normal).mean(axis=0).max() > 1.2e-3


@pytest.mark.parametrize("scale", [1, 20])
@pytest.mark.parametrize("tail", [Fraction(1, 20), Fraction(9, 10)])
def test_laplace_reaches_are_the_best_chernoff_bound_up_to_half_the_inverse_scale(
    scale: int, tail: Fraction
) -> None:
    """A rate of r has the bound (-log(tail) - log(1 - r**2)) / r; at most c * r**2 is added."""
    doubt, bend = -log(tail), -4 * log(3 / 4)
    rates = np.linspace(0.001, 0.5, 5000)
    best = (doubt / rates + bend * rates).min()
    found = RankNoise.of(Laplace(Fraction(scale)), tree(1, 2)).reaches(Fraction(0), tail)
    assert np.allclose(found, [scale * best, scale * 2**0.5 * best], rtol=1e-5)


def test_other_noise_is_not_read() -> None:
    with pytest.raises(InternalError, match="Constant"):
        RankNoise.of(ConstantMechanism(3), tree(1, 2))  # type: ignore[arg-type]
