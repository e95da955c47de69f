"""Sensitivities by brute force over all small databases, under both relations."""

from collections.abc import Callable
from fractions import Fraction
from itertools import combinations_with_replacement

import numpy as np
import pytest
from conftest import Bar

from tacit.core.domain import Bounds, Column, Kind
from tacit.core.privacy_unit import Neighbours
from tacit.core.secret import Secret
from tacit.core.sensitivity import Norm, Rule, Sensitivity
from tacit.lab.databases import Multiset, are_neighbours
from tacit.mechanisms.additive_noise import Laplace
from tacit.mechanisms.gateway import LiveGateway
from tacit.numeric.entropy import SystemEntropy

pytestmark = pytest.mark.claim

Person = tuple[str, bool]  # the colour of their eyes, and whether they are taller than 6'
Query = Callable[[Multiset[Person]], tuple[int, ...]]

UNIVERSE: tuple[Person, ...] = (
    ("brown", True),
    ("brown", False),
    ("blue", True),
    ("green", False),
)


def counted(*wanted: Callable[[Person], bool]) -> Query:
    return lambda people: tuple(
        sum(people.count(person) for person in UNIVERSE if want(person)) for want in wanted
    )


BROWN = counted(lambda person: person[0] == "brown")
COLOURS = counted(
    *(lambda person, c=colour: person[0] == c for colour in ("brown", "blue", "green", "red"))
)
BROWN_OR_TALL = counted(lambda person: person[0] == "brown", lambda person: person[1])


def brute_force(query: Query, neighbours: Neighbours) -> int:
    databases = [
        Multiset.of(people)
        for size in range(5)
        for people in combinations_with_replacement(UNIVERSE, size)
    ]
    return max(
        sum(abs(a - b) for a, b in zip(query(left), query(right), strict=True))
        for left in databases
        for right in databases
        if are_neighbours(left, right, neighbours)
    )


@pytest.mark.parametrize(
    ("neighbours", "expected"),
    [(Neighbours.ADD_REMOVE, (1, 1, 2)), (Neighbours.REPLACE_ONE, (1, 2, 2))],
)
def test_the_eye_colour_examples(
    neighbours: Neighbours, expected: tuple[int, ...], bar: Bar
) -> None:
    found = tuple(brute_force(q, neighbours) for q in (BROWN, COLOURS, BROWN_OR_TALL))
    bar(f"T02 eye colours, {neighbours.value}", found, str(expected), found == expected)


def test_a_vector_need_not_pay_for_each_component() -> None:
    # four counts of one bin a person: 1 in L1, not 4 times 1
    assert brute_force(COLOURS, Neighbours.ADD_REMOVE) == 1
    one = Sensitivity.of(1, Norm.L1, Rule("a person has one colour"))
    four = one.beside(one, Rule("two")).beside(one, Rule("three")).beside(one, Rule("four"))
    assert four.amount == 4


def test_the_mean_of_clamped_incomes(bar: Bar) -> None:
    # M11: values in [0, 1], the number of people public, replace-one
    people, runs = 1000, 40_000
    grid = Column("income", Kind.FLOAT, bounds=Bounds.of(0, 1)).grid()
    moved = Sensitivity.of(
        grid.highest - grid.lowest, Norm.L1, Rule("replacing a clamped value moves the sum")
    )
    mechanism = Laplace(moved.amount)  # epsilon 1
    total = 500 * grid.highest
    gateway = LiveGateway(SystemEntropy(b"mean"))
    noisy = mechanism.release(Secret(np.full(runs, total)), moved, gateway)
    means = noisy.astype(float) * float(grid.step) / people
    error = float(np.sqrt(np.mean((means - 0.5) ** 2)))
    wanted = 2**0.5 / people
    ok = abs(error / wanted - 1) < 0.03
    bar("M11 error of a mean of 1000 in [0, 1] at epsilon 1", error, "0.001414 ± 3%", ok)
    assert grid.value(total) / people == Fraction(1, 2)
