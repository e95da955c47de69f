from dataclasses import FrozenInstanceError

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.errors import InvalidValue
from tacit.lab.databases import Histogram, Multiset, Universe

LETTERS = Universe(tuple("abcdef"))
TEXTS = st.text(alphabet="abcdef", max_size=12)
COUNTS = st.tuples(*[st.integers(0, 9)] * 6)


@given(st.data(), TEXTS)
def test_a_multiset_forgets_the_order_and_keeps_the_number(
    data: st.DataObject, text: str
) -> None:
    assert Multiset.of(data.draw(st.permutations(text))) == Multiset.of(text)
    assert Multiset.of(text).size == len(text)
    assert Multiset.of([*text, "a"]) != Multiset.of(text)


@given(TEXTS)
def test_an_element_counts_as_often_as_it_stands_there(text: str) -> None:
    counts = {letter: Multiset.of(text).count(letter) for letter in "abcdefg"}
    assert counts == {letter: text.count(letter) for letter in "abcdefg"}


@given(TEXTS, TEXTS)
def test_minus_takes_away_one_for_one(left: str, right: str) -> None:
    rest = Multiset.of(left).minus(Multiset.of(right))
    for letter in "abcdef":
        assert rest.count(letter) == max(0, left.count(letter) - right.count(letter))
    assert Multiset.of([*left, *right]).minus(Multiset.of(right)) == Multiset.of(left)


def test_a_set_difference_is_no_multiset_difference() -> None:
    assert Multiset.of("aab").minus(Multiset.of("a")) == Multiset.of("ab")
    assert set("aab") - set("a") == {"b"}


@pytest.mark.parametrize("count", [0, -1])
def test_a_multiplicity_below_one_is_refused(count: int) -> None:
    with pytest.raises(InvalidValue, match="at least 1"):
        Multiset(frozenset({("a", count)}))


def test_an_element_listed_twice_is_refused() -> None:
    with pytest.raises(InvalidValue, match="listed once, with its multiplicity"):
        Multiset(frozenset({("a", 1), ("a", 2)}))


@given(TEXTS)
def test_a_multiset_comes_back_from_its_histogram(text: str) -> None:
    multiset = Multiset.of(text)
    histogram = Histogram.of(multiset, LETTERS)
    assert histogram.multiset == multiset
    assert histogram.size == multiset.size
    assert Histogram.of(Multiset.of([*text, "f"]), LETTERS) != histogram


@given(COUNTS)
def test_a_histogram_comes_back_from_its_multiset(counts: tuple[int, ...]) -> None:
    histogram = Histogram(LETTERS, counts)
    assert Histogram.of(histogram.multiset, LETTERS) == histogram
    reversed_letters = Universe(LETTERS.elements[::-1])
    assert Histogram.of(histogram.multiset, reversed_letters).counts == counts[::-1]


def test_elements_outside_the_universe_are_refused_not_dropped() -> None:
    with pytest.raises(InvalidValue, match="elements outside the universe"):
        Histogram.of(Multiset.of("abz"), LETTERS)


@pytest.mark.parametrize("counts", [(), (1,), (0, 0, 0), (1, -1)])
def test_a_histogram_has_one_count_of_at_least_zero_an_element(counts: tuple[int, ...]) -> None:
    with pytest.raises(InvalidValue, match="one count of at least 0 for each element"):
        Histogram(Universe(("blue", "brown")), counts)


def test_a_universe_lists_an_element_once() -> None:
    with pytest.raises(InvalidValue, match="elements of a universe must be distinct"):
        Universe(("blue", "blue"))


def test_multisets_universes_and_histograms_are_frozen() -> None:
    multiset = Multiset.of("a")
    histogram = Histogram.of(multiset, LETTERS)
    with pytest.raises(FrozenInstanceError):
        multiset.counts = frozenset()
    with pytest.raises(FrozenInstanceError):
        histogram.counts = (0,) * 6
    with pytest.raises(FrozenInstanceError):
        histogram.universe.elements = ()
