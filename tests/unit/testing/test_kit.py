from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import find, given, settings
from hypothesis import strategies as st

from tacit.core.privacy_unit import Neighbours
from tacit.errors import InvalidValue
from tacit.lab.databases import Multiset, are_neighbours, replace_distance, symmetric_distance
from tacit.testing.distribution import ExactLaw, GaussianLaw, LaplaceLaw
from tacit.testing.entropy import ScriptedEntropy, ScriptEnded, enumerate_law
from tacit.testing.neighbours import (
    NeighbouringTables,
    neighbouring_multisets,
    neighbouring_tables,
)

letters = st.sampled_from("abc")
rows = st.integers(0, 3)


@given(neighbouring_multisets(letters, Neighbours.ADD_REMOVE))
def test_generated_multisets_differ_by_one(pair: tuple[Multiset[str], Multiset[str]]) -> None:
    assert symmetric_distance(*pair) == 1
    assert not are_neighbours(*pair, Neighbours.REPLACE_ONE)


@given(neighbouring_multisets(letters, Neighbours.REPLACE_ONE))
def test_generated_multisets_differ_in_one(pair: tuple[Multiset[str], Multiset[str]]) -> None:
    assert are_neighbours(*pair, Neighbours.REPLACE_ONE)
    assert replace_distance(*pair) in {0, 1}


def without(table: tuple[tuple[int, object], ...], units: set[int]) -> list[tuple[int, object]]:
    return sorted((u, row) for u, row in table if u not in units)  # type: ignore[type-var]


@given(neighbouring_tables(rows, Neighbours.ADD_REMOVE))
def test_generated_tables_differ_by_one_unit(tables: NeighbouringTables) -> None:
    assert without(tables.left, {tables.unit}) == without(tables.right, set())
    assert any(unit == tables.unit for unit, _ in tables.left)


@given(neighbouring_tables(rows, Neighbours.REPLACE_ONE))
def test_generated_tables_differ_in_one_unit(tables: NeighbouringTables) -> None:
    both = {tables.unit, tables.unit + 1}
    assert without(tables.left, both) == without(tables.right, both)


def test_a_count_of_rows_with_sensitivity_one_is_refuted() -> None:
    # the lie that a person is a row: some generated neighbour shows it
    found = find(
        neighbouring_tables(rows, Neighbours.ADD_REMOVE),
        lambda tables: abs(len(tables.left) - len(tables.right)) > 1,
        settings=settings(database=None),
    )
    assert len(found.left) - len(found.right) == 2


def test_a_script_gives_its_words_once() -> None:
    script = ScriptedEntropy([1, 2, 3])
    assert script.words(2).tolist() == [1, 2]
    with pytest.raises(ScriptEnded):
        script.words(2)


def test_a_script_holds_words_of_its_width() -> None:
    with pytest.raises(InvalidValue, match="4-bit"):
        ScriptedEntropy([16], word_bits=4)


def test_enumeration_finds_a_bias() -> None:
    found = enumerate_law(lambda entropy: int(entropy.words(1)[0] < 3), word_bits=3, longest=2)
    assert found.outcomes == {1: Fraction(3, 8), 0: Fraction(5, 8)}
    assert found.undecided == 0
    assert found.allows(1, Fraction(3, 8), Fraction(3, 8))
    assert not found.allows(1, Fraction(1, 2), Fraction(1, 2))


@pytest.mark.parametrize("law", [LaplaceLaw, GaussianLaw])
@pytest.mark.parametrize("scale", [0.4, 2.0, 30.0])
def test_laws_agree_with_their_own_sums(law: Callable[[float], ExactLaw], scale: float) -> None:
    power = 1 if law is LaplaceLaw else 2
    support = np.arange(-2000.0, 2001.0)
    weights = np.exp(-((np.abs(support) / scale) ** power) / power)
    weights /= weights.sum()
    told = law(scale)
    assert np.allclose(np.cumsum(weights), told.cumulative(support), atol=1e-12)
    sizes = told.statistic(support)
    mean, deviation = told.statistic_moments
    assert np.isclose(mean, weights @ sizes)
    assert np.isclose(deviation**2, weights @ (sizes - mean) ** 2)
    # one percent off: the same draws have another mean size
    off = law(scale * 1.01)
    assert not np.isclose(off.statistic_moments[0], weights @ off.statistic(support))
