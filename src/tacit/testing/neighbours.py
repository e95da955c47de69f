"""Strategies that generate neighbouring databases, for property tests."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TypeVar

from hypothesis import strategies as st

from tacit.core import Neighbours
from tacit.lab.databases import Multiset

Element = TypeVar("Element", bound=Hashable)
Row = TypeVar("Row")


@st.composite
def neighbouring_multisets(
    draw: st.DrawFn,
    elements: st.SearchStrategy[Element],
    neighbours: Neighbours,
    max_size: int = 20,
) -> tuple[Multiset[Element], Multiset[Element]]:
    """Draw two multisets that differ by one step of the relation, in either order."""
    common = draw(st.lists(elements, max_size=max_size))
    one = [*common, draw(elements)]
    other = common if neighbours is Neighbours.ADD_REMOVE else [*common, draw(elements)]
    pair = (Multiset.of(one), Multiset.of(other))
    return pair if draw(st.booleans()) else pair[::-1]


@dataclass(frozen=True, slots=True)
class NeighbouringTables:
    """Two private tables, as (unit, row) pairs, that differ in all rows of one unit."""

    left: tuple[tuple[int, object], ...]
    right: tuple[tuple[int, object], ...]
    unit: int


@st.composite
def neighbouring_tables(
    draw: st.DrawFn,
    rows: st.SearchStrategy[Row],
    neighbours: Neighbours,
    max_units: int = 6,
    max_rows: int = 5,
) -> NeighbouringTables:
    """Draw two tables that differ by one unit, removed, added or replaced with all its rows.

    The rows of that unit are at random places among the others, so that an answer which
    depends on the order of rows is noticed.
    """
    owned = st.lists(rows, max_size=max_rows)
    units = draw(st.integers(min_value=0, max_value=max_units))
    common = [(unit, row) for unit in range(units) for row in draw(owned)]
    mine = [(units, row) for row in draw(st.lists(rows, min_size=1, max_size=max_rows))]
    replaced = neighbours is Neighbours.REPLACE_ONE
    instead = [(units + 1, row) for row in draw(owned)] if replaced else []
    left = tuple(draw(st.permutations(common + mine)))
    right = tuple(draw(st.permutations(common + instead)))
    return NeighbouringTables(left, right, unit=units)
