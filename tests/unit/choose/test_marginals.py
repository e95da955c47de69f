"""The division of a loss among tables: the least total variance, and the residual planner's."""

from fractions import Fraction
from itertools import combinations
from math import prod, sqrt

import pytest

from tacit.choose.marginals import (
    CLOSE,
    EVEN,
    _freedom,
    _least_total,
    split_loss,
    tables_to_measure,
)
from tacit.plan.marginal_tables import Kept, cells_of, subsets

ONE = Fraction(1)


def cube(keys: int) -> tuple[Kept, ...]:
    return subsets(tuple(range(keys)))


def total(
    sizes: tuple[int, ...],
    asked: tuple[Kept, ...],
    parts: dict[Kept, float],
    squares: list[float],
) -> float:
    """The variance of all cells that are asked for, at a loss of 1/2, by its definition."""
    cost = dict(zip(tables_to_measure(asked), squares, strict=True))
    found = 0.0
    for kept in asked:
        for below in subsets(kept):
            precision = sum(
                float(part) / cost[table] / cells_of(sizes, table)
                for table, part in parts.items()
                if set(below) <= set(table)
            )
            found += _freedom(sizes, below) / precision / cells_of(sizes, kept)
    return found


def residual_planner(sizes: tuple[int, ...]) -> float:
    """The least total of a CUBE in which a person is in one cell: theorem 4 of the paper."""
    return prod((size - 1) / sqrt(size) + sqrt(1 + 1 / size) for size in sizes) ** 2


def apart(sizes: tuple[int, ...], asked: tuple[Kept, ...]) -> float:
    """The least total if each table is asked for by itself."""
    return sum(sqrt(cells_of(sizes, kept)) for kept in asked) ** 2


@pytest.mark.parametrize("sizes", [(2,), (2, 3), (5, 6, 3), (2, 3, 5, 8), (10, 10, 10), (1, 4)])
def test_a_cube_has_the_total_of_the_residual_planner(sizes: tuple[int, ...]) -> None:
    asked = cube(len(sizes))
    found = _least_total(sizes, asked, dict.fromkeys(tables_to_measure(asked), 1.0))
    ones = [1.0] * len(asked)
    assert total(sizes, asked, found, ones) == pytest.approx(residual_planner(sizes), rel=1e-9)
    # with the part that is divided equally, it is at most 1 / (1 - EVEN) of that
    parts = split_loss(sizes, asked, (ONE,) * len(asked))
    whole = total(sizes, asked, dict(parts), ones)
    assert whole <= residual_planner(sizes) / float(1 - EVEN) * 1.001
    assert whole >= residual_planner(sizes) * (1 - 1e-9)


@pytest.mark.parametrize(
    ("sizes", "asked", "squares"),
    [
        ((4, 5), ((0, 1), (0,), ()), [1.0, 1.0, 1.0, 1.0]),
        ((4, 5, 6), cube(3), [3.0, 9, 9, 9, 9, 9, 9, 9]),
        ((4, 5, 6), ((0,), (1,), (2,)), [1.0, 1, 1, 1]),
        ((2, 3, 2, 2), cube(4), [float(1 + number) for number in range(16)]),
    ],
)
def test_no_small_change_of_the_parts_is_better(
    sizes: tuple[int, ...], asked: tuple[Kept, ...], squares: list[float]
) -> None:
    tables = tables_to_measure(asked)
    found = _least_total(sizes, asked, dict(zip(tables, squares, strict=True)))
    assert sum(found.values()) == pytest.approx(1)
    least = total(sizes, asked, found, squares)
    for one, other in combinations(tables, 2):
        for step in (0.02, -0.02):
            moved = {**found, one: found[one] + step, other: found[other] - step}
            if min(moved.values()) > 0:
                assert total(sizes, asked, moved, squares) * CLOSE >= least


def test_parts_add_up_to_the_loss_and_every_table_that_is_asked_for_has_one() -> None:
    asked = cube(3)
    parts = split_loss((100, 100, 50), asked, (ONE,) * 8)
    assert sum(parts.values()) == 1
    assert set(parts) == set(asked)
    assert min(parts.values()) >= EVEN / 8 - Fraction(1, 10**6)


def test_a_table_that_is_not_asked_for_is_measured_if_it_helps() -> None:
    # two tables with a common total, which both can use
    assert () in split_loss((2, 2), ((0,), (1,)), (ONE,) * 3)
    assert tables_to_measure(((0,), (1,))) == ((0,), (1,), ())


def test_a_cube_is_much_better_than_its_tables_apart() -> None:
    for sizes in ((2, 5, 6), (2, 3, 5, 8)):
        asked = cube(len(sizes))
        parts = split_loss(sizes, asked, (ONE,) * len(asked))
        whole = total(sizes, asked, dict(parts), [1.0] * len(asked))
        assert sqrt(whole / apart(sizes, asked)) <= 0.75
    # the lie: equal parts do not reach it
    equal = dict.fromkeys(asked, 1 / len(asked))
    assert sqrt(total(sizes, asked, equal, [1.0] * len(asked)) / apart(sizes, asked)) > 0.75
