import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.noise.inversion import GUIDED_FROM, ThresholdTable

words64 = st.integers(0, 2**64 - 1)


@given(st.lists(words64, min_size=1, max_size=40).map(sorted), st.lists(words64, max_size=20))
def test_the_guide_finds_what_the_plain_search_finds(
    listed: list[int], words: list[int]
) -> None:
    table = ThresholdTable(tuple(listed), bits=64)
    near = [min(max(0, t + d), 2**64 - 1) for t in listed for d in (-1, 0, 1)]
    some = np.array(words + near, dtype=np.uint64)
    many = np.resize(some, GUIDED_FROM)
    places, undecided = table.find(some)
    guided, guided_undecided = table.find(many)
    assert guided.tolist() == np.resize(places, GUIDED_FROM).tolist()
    assert set(guided_undecided % some.size) == set(undecided)


def test_a_place_is_how_many_thresholds_were_reached() -> None:
    places, undecided = ThresholdTable((5, 5, 9), bits=4).find(
        np.array([4, 5, 6, 9], dtype=np.uint64)
    )
    assert places.tolist() == [0, 2, 2, 3]
    assert undecided.tolist() == [1, 3]


@pytest.mark.parametrize("count", [3, GUIDED_FROM])
def test_a_table_without_thresholds_has_one_place(count: int) -> None:
    places, undecided = ThresholdTable((), bits=64).find(np.zeros(count, dtype=np.uint64))
    assert not places.any()
    assert undecided.size == 0
