"""Lengths are true Hamming distances, and one unit moves each by one at most."""

from itertools import combinations, combinations_with_replacement, product

import numpy as np
import pytest

from tacit.noise.integers import Integers
from tacit.robust.location import huber_lengths, tukey_lengths

TURN, REACH = 2, 4
POINT = np.array([0])
TABLE = np.array([0, 1, 2, 1, 0])
"""Scores of residuals of 0 to 4 steps; all from -2 to 2 are somebody's."""


def huber_score(value: int) -> int:
    return min(max(value, -TURN), TURN)


def tukey_score(value: int) -> int:
    return 0 if abs(value) >= TABLE.size else int(np.sign(value) * TABLE[abs(value)])


def is_huber(data: tuple[int, ...]) -> bool:
    return sum(map(huber_score, data)) == 0


def is_tukey(data: tuple[int, ...]) -> bool:
    near = sum(abs(value) < TABLE.size for value in data)
    return sum(map(tukey_score, data)) == 0 and 2 * near >= len(data)


def distance(data: tuple[int, ...], is_root: object, domain: range) -> int:
    """How many values must become others, by trying them all."""
    for changed in range(len(data) + 1):
        for places in combinations(range(len(data)), changed):
            for new in product(domain, repeat=changed):
                other = list(data)
                for place, value in zip(places, new, strict=True):
                    other[place] = value
                if is_root(tuple(other)):  # type: ignore[operator]
                    return changed
    raise AssertionError


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_lengths_are_the_distances_of_brute_force(size: int) -> None:
    near = range(-REACH, REACH + 1)
    for data in combinations_with_replacement(near, size):
        found = int(huber_lengths(np.array(data), POINT, TURN)[0])
        assert found == distance(data, is_huber, range(-TURN, TURN + 1)), data
    wide = range(-5, 6)
    for data in combinations_with_replacement(wide, size):
        found = int(tukey_lengths(np.array(data), POINT, TABLE)[0])
        assert found == distance(data, is_tukey, range(-3, 4)), data


def lengths(values: Integers, points: Integers, kind: str) -> Integers:
    if kind == "huber":
        return huber_lengths(values, points, 7)
    return tukey_lengths(values, points, np.array([0, 5, 9, 11, 9, 5, 0]))


def most_moved(kind: str, lie: object = None) -> int:
    """The most by which a unit that comes, or is replaced, moves a length."""
    rng, points, most = np.random.default_rng(3), np.arange(0, 60, 3), 0
    measure = lie or lengths
    for _ in range(300):
        values = rng.integers(-5, 65, int(rng.integers(1, 30)))
        here = measure(values, points, kind)  # type: ignore[operator]
        new = int(rng.choice([-1000, 1000, 30, rng.integers(-5, 65)]))
        replaced = values.copy()
        replaced[0] = new
        for other in (replaced, np.append(values, new)):
            there = measure(other, points, kind)  # type: ignore[operator]
            most = max(most, int(abs(here - there).max()))
    return most


@pytest.mark.parametrize("kind", ["huber", "tukey"])
def test_one_unit_moves_a_length_by_one(kind: str) -> None:
    assert most_moved(kind) == 1


def test_a_sum_of_scores_in_place_of_a_length_is_caught() -> None:
    def lie(values: Integers, points: Integers, _: str) -> Integers:
        return np.asarray(abs(np.clip(values - points[:, None], -7, 7).sum(axis=1)))

    assert most_moved("huber", lie) > 1


def test_half_of_what_is_near_keeps_tukey_from_the_void() -> None:
    values = np.arange(40, 60)
    far = tukey_lengths(values, np.array([50, 500]), np.array([0, 5, 9, 11, 9, 5, 0]))
    assert far[0] < far[1] == 10
