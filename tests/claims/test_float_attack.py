"""Mironov's attack: floating-point noise has holes, and where they are tells the input.

Adding noise to 0 gives floats of every fineness; adding it to 1 gives multiples of 2**-53 near
zero. An output near zero that is no such multiple was therefore not made from 1, whatever
epsilon was claimed.
"""

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from conftest import Bar, Peer

from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.mechanisms.additive_noise import AddNoise
from tacit.mechanisms.gateway import LiveGateway
from tacit.noise.gaussian import DiscreteGaussian
from tacit.noise.integers import Integers
from tacit.noise.laplace import DiscreteLaplace
from tacit.numeric.entropy import SystemEntropy
from tacit.numeric.grid import Grid

pytestmark = pytest.mark.claim

DRAWS = 20_000
SCALE = 1
NEAR = Fraction(1, 4)


def impossible_under_one(outputs: Sequence[float]) -> int:
    """How many outputs lie near zero and off the grid on which 1 plus any float must land."""
    return sum(abs(y) < NEAR and not (y * 2.0**53).is_integer() for y in outputs)


@pytest.mark.peer
@pytest.mark.parametrize("name", ["numpy", "diffprivlib"])
def test_floating_point_noise_tells_zero_from_one(name: str, peer: Peer, bar: Bar) -> None:
    zero, one = (
        [float.fromhex(y) for y in peer(name, "draw", "laplace", SCALE, DRAWS, value)["values"]]
        for value in (0, 1)
    )
    told = impossible_under_one(zero)
    bar(f"float attack on {name}, outputs of 0 impossible from 1", told, "> 0", told > 0)
    assert impossible_under_one(one) == 0


def ours(value: int, noise: AddNoise, count: int) -> Integers:
    sensitivity = Sensitivity.of(1, Norm.L1, Rule("one unit moves the value by one step"))
    gateway = LiveGateway(SystemEntropy(b"float attack"))
    return gateway.release(Secret(np.full(count, value)), sensitivity, noise)


@pytest.mark.parametrize(
    "noise",
    [AddNoise(DiscreteLaplace(Fraction(30))), AddNoise(DiscreteGaussian(Fraction(30**2)))],
    ids=["laplace", "gaussian"],
)
def test_ours_gives_the_same_outputs_from_both(noise: AddNoise, bar: Bar) -> None:
    grid = Grid.fine(Fraction(0), Fraction(1))
    steps = {value: Counter(ours(value, noise, 10**6).tolist()) for value in (0, 1)}
    # every released number is a whole step of the public grid, so the sets can be compared
    assert all(isinstance(step, int) for found in steps.values() for step in found)
    outputs = [
        impossible_under_one([float(grid.value(s)) for s in found]) for found in steps.values()
    ]
    only_one = [
        step
        for step in steps[0].keys() | steps[1].keys()
        if abs(steps[0][step] - steps[1][step]) > 100 and 0 in (steps[0][step], steps[1][step])
    ]
    name = type(noise.sampler).__name__
    bar(
        f"float attack on ours, {name}, outputs off the grid",
        sum(outputs),
        "0",
        sum(outputs) == 0,
    )
    bar(f"float attack on ours, {name}, outputs of one only", len(only_one), "0", not only_one)
    inner = range(-60, 61)
    assert all(steps[0][step] and steps[1][step] for step in inner)


def test_the_same_comparison_finds_a_comb() -> None:
    zero = Counter((2 * ours(0, AddNoise(DiscreteLaplace(Fraction(30))), 10**5)).tolist())
    one = Counter((2 * ours(0, AddNoise(DiscreteLaplace(Fraction(30))), 10**5) + 1).tolist())
    assert any(zero[step] > 100 and one[step] == 0 for step in zero)
