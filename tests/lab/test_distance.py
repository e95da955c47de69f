from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.core.privacy_unit import Neighbours
from tacit.lab.databases import (
    Histogram,
    Multiset,
    Universe,
    are_neighbours,
    edit_distance,
    replace_distance,
    symmetric_distance,
)

Texts = Multiset[str]
Distance = Callable[[Texts, Texts], int]

MULTISETS = st.text(alphabet="abc", max_size=8).map(Multiset.of)
SIX_LONG = st.text(alphabet="abc", min_size=6, max_size=6).map(Multiset.of)


def distinct_only(left: Texts, right: Texts) -> int:
    letters = [{letter for letter, _ in side.counts} for side in (left, right)]
    return len(letters[0] ^ letters[1])


def size_apart(left: Texts, right: Texts) -> int:
    return left.size - right.size


def squared(left: Texts, right: Texts) -> int:
    return symmetric_distance(left, right) ** 2


def is_metric(distance: Distance, a: Texts, b: Texts, c: Texts) -> bool:
    return (
        distance(a, b) == distance(b, a) >= 0
        and (distance(a, b) == 0) == (a == b)
        and distance(a, c) <= distance(a, b) + distance(b, c)
    )


def test_claim_t01_the_heights_of_the_lecture_lie_three_apart() -> None:
    heights = Multiset.of(["5'2", "6'1", "5'8", "5'8", "6'0"])
    universe = Universe(("5'2", "5'3", "5'8", "6'0", "6'1"))
    other = Histogram(universe, (2, 1, 1, 1, 1))
    assert (heights.size, other.size) == (5, 6)
    assert symmetric_distance(heights, other.multiset) == 3
    assert Histogram.of(heights, universe).counts == (1, 0, 2, 1, 1)
    by_hand = zip(Histogram.of(heights, universe).counts, other.counts, strict=True)
    assert sum(abs(mine - theirs) for mine, theirs in by_hand) == 3


@given(MULTISETS, MULTISETS, MULTISETS)
def test_adding_and_removing_and_editing_are_metrics(a: Texts, b: Texts, c: Texts) -> None:
    assert is_metric(symmetric_distance, a, b, c)
    assert is_metric(edit_distance, a, b, c)


@given(SIX_LONG, SIX_LONG, SIX_LONG)
def test_replacing_is_a_metric_between_equal_sizes(a: Texts, b: Texts, c: Texts) -> None:
    assert is_metric(replace_distance, a, b, c)


@pytest.mark.parametrize("distance", [distinct_only, size_apart, squared])
def test_what_is_no_metric_is_found_out(distance: Distance) -> None:
    few = [Multiset.of(text) for text in ("", "a", "aa", "ab")]
    assert not all(is_metric(distance, a, b, c) for a in few for b in few for c in few)
    assert all(is_metric(edit_distance, a, b, c) for a in few for b in few for c in few)


@given(MULTISETS, MULTISETS)
def test_the_symmetric_distance_is_the_l1_distance_of_histograms(a: Texts, b: Texts) -> None:
    counts = [Histogram.of(side, Universe(tuple("abc"))).counts for side in (a, b)]
    moves = [abs(left - right) for left, right in zip(*counts, strict=True)]
    assert symmetric_distance(a, b) == sum(moves)


@given(SIX_LONG, SIX_LONG)
def test_replacing_takes_half_as_many_steps_as_adding_and_removing(a: Texts, b: Texts) -> None:
    assert 2 * replace_distance(a, b) == symmetric_distance(a, b)
    assert edit_distance(a, b) == replace_distance(a, b)


@given(MULTISETS, MULTISETS)
def test_editing_lies_between_half_of_adding_and_removing_and_all_of_it(
    a: Texts, b: Texts
) -> None:
    assert symmetric_distance(a, b) <= 2 * edit_distance(a, b)
    assert edit_distance(a, b) <= symmetric_distance(a, b)


def test_neither_end_of_that_range_can_be_tightened() -> None:
    replaced = Multiset.of("a"), Multiset.of("b")
    added = Multiset.of("a"), Multiset.of("ab")
    assert symmetric_distance(*replaced) > 2 * edit_distance(*replaced) - 1
    assert edit_distance(*added) > symmetric_distance(*added) - 1


def test_no_replacing_changes_a_size() -> None:
    assert replace_distance(Multiset.of("ab"), Multiset.of("abb")) is None


@given(MULTISETS, st.sampled_from("abc"), st.sampled_from("abc"))
def test_one_step_makes_a_neighbour_and_another_relation_does_not_know_it(
    base: Texts, old: str, new: str
) -> None:
    letters = [letter for letter, count in base.counts for _ in range(count)]
    one, other = Multiset.of([*letters, old]), Multiset.of([*letters, new])
    assert are_neighbours(base, one, Neighbours.ADD_REMOVE)
    assert not are_neighbours(base, one, Neighbours.REPLACE_ONE)
    assert are_neighbours(one, other, Neighbours.REPLACE_ONE)
    assert are_neighbours(one, other, Neighbours.ADD_REMOVE) == (old == new)


@pytest.mark.parametrize("relation", list(Neighbours))
def test_two_steps_make_no_neighbour(relation: Neighbours) -> None:
    assert not are_neighbours(Multiset.of("a"), Multiset.of("abb"), relation)
    assert not are_neighbours(Multiset.of("aab"), Multiset.of("bcc"), relation)
    assert are_neighbours(Multiset.of("aab"), Multiset.of("aba"), relation)
