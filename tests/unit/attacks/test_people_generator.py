"""Synthetic people: the arrays are reproducible, and have the distributions that they state."""

import numpy as np
import pytest
from scipy.stats import kstest

from tacit.attacks.people_generator import LARGEST, PeopleGenerator
from tacit.errors import InvalidValue

COUNT = 100_000


class Leaning(PeopleGenerator):
    """The lie: numbers that are a little too small."""

    def floats(self, shape: int | tuple[int, ...]) -> np.ndarray:
        return super().floats(shape) ** 1.1


def counts_are_even(counts: np.ndarray) -> bool:
    """Return whether each count is within six standard deviations of an equal share."""
    expected = counts.sum() / counts.size
    return bool((np.abs(counts - expected) < 6 * np.sqrt(expected)).all())


def test_the_same_seed_gives_the_same_people_and_another_seed_does_not() -> None:
    first, again, other = (PeopleGenerator(seed) for seed in ("a", "a", "b"))
    one = [first.floats((3, 4)), first.normals(5)]
    two = [again.floats((3, 4)), again.normals(5)]
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
    assert not np.array_equal(one[0], other.floats((3, 4)))
    assert not np.array_equal(first.floats(5), first.floats(5))  # it does not begin again


def test_the_first_numbers_never_change() -> None:
    """The figures of the page about attacks are those of these people."""
    assert PeopleGenerator("names-removed").integers(1000, 5).tolist() == [
        31,
        428,
        402,
        822,
        863,
    ]


@pytest.mark.parametrize("below", [2, 10, 365])
def test_integers_are_uniform_and_a_leaning_generator_is_noticed(below: int) -> None:
    found = PeopleGenerator("uniform").integers(below, COUNT)
    assert (found.min(), found.max()) == (0, below - 1)
    assert counts_are_even(np.bincount(found, minlength=below))
    lie = Leaning("uniform").integers(below, COUNT)
    assert not counts_are_even(np.bincount(lie, minlength=below))


def test_floats_and_normals_have_their_distributions() -> None:
    people, lie = PeopleGenerator("laws"), Leaning("laws")
    assert kstest(people.floats(COUNT), "uniform").pvalue > 1e-6
    assert kstest(people.normals(COUNT), "norm").pvalue > 1e-6
    assert kstest(np.log(people.lognormals(4, 0.6, COUNT)), "norm", (4, 0.6)).pvalue > 1e-6
    assert kstest(lie.floats(COUNT), "uniform").pvalue < 1e-6
    assert kstest(lie.normals(COUNT), "norm").pvalue < 1e-6


def test_a_permutation_holds_each_number_once_in_every_order() -> None:
    people = PeopleGenerator("orders")
    assert np.array_equal(np.sort(people.permutation(1000)), np.arange(1000))
    orders = np.array([people.permutation(3) for _ in range(6000)]) @ np.array([9, 3, 1])
    assert counts_are_even(np.unique(orders, return_counts=True)[1])
    assert np.unique(orders).size == 6


def test_subsets_have_their_size_and_reach_every_number_equally_often() -> None:
    found = PeopleGenerator("subsets").subsets(20, 5, 10_000)
    assert found.shape == (10_000, 5)
    assert all(len(set(row)) == 5 for row in found[:100].tolist())
    assert counts_are_even(np.bincount(found.ravel(), minlength=20))


def test_choices_follow_their_shares() -> None:
    shares = [0.4, 0.0, 0.6]
    found = PeopleGenerator("ill").choices(["none", "never", "flu"], shares, COUNT)
    counts = np.array([np.count_nonzero(found == each) for each in ("none", "never", "flu")])
    assert counts[1] == 0
    assert abs(counts[0] / COUNT - 0.4) < 0.01
    assert abs(counts[0] / COUNT - 0.42) > 0.01


def test_arrays_that_cannot_exist_are_refused() -> None:
    people = PeopleGenerator("refused")
    with pytest.raises(InvalidValue, match="but 0 was given"):
        people.integers(0, 3)
    with pytest.raises(InvalidValue, match="from 1 to 2"):
        people.integers(LARGEST + 1, 3)
    with pytest.raises(InvalidValue, match="size=4 was given"):
        people.subsets(3, 4, 1)
    for values, shares in ((["a"], [0.5, 0.5]), (["a", "b"], [0.5, 0.6])):
        with pytest.raises(InvalidValue, match="must add up to 1"):
            people.choices(values, shares, 2)
