"""Floats that become integers keep their reach, and nothing after noise can fail."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.engines import unit_rows
from tacit.engines.unit_rows import UnitRows, sorted_rows
from tacit.ml import clipped_sum, regularised_risk
from tacit.ml.clipped_sum import STEPS, clipped_steps, reach_of
from tacit.ml.finite_algebra import eigen, finite, inverse, solve
from tacit.ml.margin_loss import HINGE, LOGISTIC
from tacit.ml.regularised_risk import RegularisedRisk

ANY = st.floats() | st.sampled_from([0.0, 5e-324, 1e-170, 1e170, 1.7e308, -1.7e308])
CLIPS = st.floats(5e-324, 1.7e308) | st.sampled_from([5e-324, 1e-176, 1e-162, 1.0, 1.7e308])


def length(row: Any) -> int:
    """The square of a length, in integers that do not wrap."""
    return sum(int(each) ** 2 for each in row)


@given(st.lists(st.lists(ANY, min_size=3, max_size=3), min_size=1, max_size=5), CLIPS)
def test_no_float_makes_a_vector_longer_than_its_reach(
    vectors: list[list[float]], clip: float
) -> None:
    whole = np.array(vectors)
    steps = clipped_steps(whole, clip)
    for row, vector in zip(steps, whole, strict=True):
        assert length(row) <= reach_of(3) ** 2
        # a function of its own vector alone
        assert row.tolist() == clipped_steps(vector[None, :], clip)[0].tolist()


@pytest.mark.parametrize("size", [1, 2, 7, 50, 333])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_vector_is_clipped_by_itself_wherever_it_stands(size: int, order: Any) -> None:
    numbers = np.random.default_rng(size)
    vectors = np.asarray(numbers.normal(0, 1, (64, size)), order=order)
    together = clipped_steps(vectors, 0.7)
    for place in range(64):
        assert np.array_equal(
            together[place], clipped_steps(vectors[place : place + 1], 0.7)[0]
        )


def test_ordinary_vectors_have_the_steps_that_they_had() -> None:
    vectors = np.random.default_rng(7).normal(0, 1, (500, 5))
    norms = np.sqrt((vectors**2).sum(axis=1))
    before = np.rint(vectors * (STEPS / np.maximum(norms, 1.3))[:, None])
    assert np.array_equal(clipped_steps(vectors, 1.3), before)


def test_what_is_too_long_all_the_same_is_cut_in_integers() -> None:
    steps = np.full((2, 9), STEPS, dtype=np.int64)  # three times too long
    steps[1] = 5
    cut = clipped_sum._cut(steps.copy())
    assert length(cut[0]) <= reach_of(9) ** 2
    assert length(cut[0]) > (0.99 * STEPS) ** 2
    assert cut[1].tolist() == steps[1].tolist()


@given(st.lists(ANY, min_size=9, max_size=9), st.lists(ANY, min_size=3, max_size=3))
def test_algebra_after_noise_is_total(entries: list[float], right: list[float]) -> None:
    with np.errstate(all="ignore"):
        matrix = np.array(entries).reshape(3, 3)
        matrix = matrix + matrix.T
        values, vectors = eigen(matrix)
        found = [values, vectors, solve(matrix, np.array(right)), inverse(matrix)]
    assert all(np.isfinite(each).all() for each in found)
    assert np.isfinite(finite(matrix)).all()


def test_numpy_alone_would_fail_there() -> None:
    with pytest.raises(np.linalg.LinAlgError):  # the lie
        np.linalg.solve(np.ones((2, 2)), np.ones(2))


# ------------------------------------------------------------------- solvers

TABLES = {
    "equal rows": [[0.7, 0.7]] * 40,
    "and one other": [[0.7, 0.7]] * 40 + [[-0.7, 0.7]],
    "no rows": np.zeros((0, 2)),
    "rows of nothing": np.zeros((5, 2)),
    "any": np.random.default_rng(0).normal(0.2, 0.6, (60, 2)),
}


@pytest.mark.parametrize("curve", [HINGE, LOGISTIC])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize(("penalty", "tolerance"), [(1e-14, 1.0), (1e-6, 1e-3), (2.0, 1e-3)])
def test_integers_arrive_where_floats_may_not(
    name: str, curve: Any, penalty: float, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = clipped_steps(np.array(TABLES[name]).reshape(-1, 2), 1.0)
    risk, near = RegularisedRisk(curve, penalty, rows), Fraction(tolerance)
    by_floats = [Fraction(weight) for weight in risk.minimiser(near).tolist()]
    monkeypatch.setattr(regularised_risk, "MOST_NEWTON_STEPS", 0)
    exact = risk.minimiser(near)
    if risk.at(np.zeros(2)).longest > near:
        assert exact.dtype == object
    # both lie within tolerance / penalty of the one minimiser
    apart = sum((Fraction(a) - b) ** 2 for a, b in zip(exact.tolist(), by_floats, strict=True))
    assert apart <= (2 * near / Fraction(penalty)) ** 2


# ---------------------------------------------------------------------- rows


def made_rows(people: int, seed: int = 0) -> Any:
    numbers = np.random.default_rng(seed)
    units = np.repeat(np.arange(people), numbers.integers(1, 6, people))
    return units, numbers.integers(-9, 9, (3, units.size))


@pytest.mark.parametrize("spilled", [False, True])
@pytest.mark.parametrize("size", [1, 7, 64, 10**6])
def test_blocks_hold_whole_units_in_memory_and_in_a_file(
    size: int, *, spilled: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spilled:
        monkeypatch.setattr(unit_rows, "IN_MEMORY", 200)
    monkeypatch.setattr(unit_rows, "BLOCK_ENTRIES", 4 * size)
    units, columns = made_rows(200)
    rows = UnitRows(3)
    for start in range(0, units.size, 10):  # units go on from one part to the next
        part = slice(start, start + 10)
        rows.add([f"person {unit:03}" for unit in units[part]], columns[:, part])
    assert (rows._file is not None) is spilled
    for _ in range(2):  # as often as one likes
        blocks = list(rows.blocks())
        whole = np.concatenate(blocks)
        assert np.array_equal(whole, np.column_stack([units, columns.T]))
        seen = [set(block[:, 0].tolist()) for block in blocks]
        assert sum(map(len, seen)) == 200  # no unit is in two blocks
        assert max(len(block) for block in blocks) <= size + 4


def test_rows_of_a_unit_have_one_order_whatever_an_engine_gives() -> None:
    units, columns = made_rows(50)
    mixed = np.random.default_rng(1).permutation(units.size)
    found = [
        np.concatenate(list(sorted_rows(units[at], columns[:, at]).blocks()))
        for at in (np.arange(units.size), mixed)
    ]
    assert np.array_equal(*found)
    # the lie: the rows as they came, with those of a unit together
    stable = mixed[np.argsort(units[mixed], kind="stable")]
    assert not np.array_equal(found[0][:, 1:], columns[:, stable].T)


def test_no_rows_are_no_blocks() -> None:
    assert list(UnitRows(2).blocks()) == []
    assert list(sorted_rows([], [(), ()]).blocks()) == []
