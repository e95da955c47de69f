"""The order of kept rows favours no group and no row."""

from collections import Counter
from collections.abc import Callable

import pytest

from tacit.core.domain import Key
from tacit.engines.engine import MOST, hash_values

UNITS = 6000
WARDS = ("north", "south", "east")
SALTS = (b"a", b"b", b"c", b"d")

Mix = Callable[[bytes, list[Key]], int]


def first(salt: bytes, mix: Mix) -> Counter[str]:
    """How often each ward is the first of a unit's."""
    return Counter(
        min(WARDS, key=lambda ward, unit=unit: mix(salt, [unit, ward])) for unit in range(UNITS)
    )


def added(salt: bytes, parts: list[Key]) -> int:
    """A lie: the unit is only added, and turns the circle of groups without mixing it."""
    unit, *rest = parts
    return (hash_values(salt, [0, *rest]) + hash_values(salt, [unit])) % MOST


@pytest.mark.parametrize("salt", SALTS)
def test_every_group_is_as_often_the_first(salt: bytes) -> None:
    counts = first(salt, hash_values)
    assert all(abs(counts[ward] - UNITS / 3) < UNITS / 20 for ward in WARDS), counts


def test_a_unit_that_is_only_added_favours_some_groups() -> None:
    counts = [first(salt, added) for salt in SALTS]
    assert any(abs(each[ward] - UNITS / 3) > UNITS / 20 for each in counts for ward in WARDS)


@pytest.mark.parametrize("salt", SALTS)
def test_every_row_is_kept_as_often(salt: bytes) -> None:
    rows = range(100, 120)
    counts = Counter(
        min(rows, key=lambda row, unit=unit: hash_values(salt, [unit, row]))
        for unit in range(UNITS)
    )
    assert all(abs(counts[row] - UNITS / 20) < UNITS / 80 for row in rows), counts


def test_a_mix_fits_into_four_bytes() -> None:
    hard: list[Key] = [0, -1, 2**63 - 1, -(2**63), 2**127, "", "ann"]
    assert all(0 <= hash_values(b"salt", [unit, row]) <= MOST for unit in hard for row in hard)
