from dataclasses import FrozenInstanceError
from datetime import date
from fractions import Fraction

import pytest

from tacit.core.domain import FIRST, LAST, Bounds, Column, Keys, Kind, day_of, number_of
from tacit.errors import InvalidValue, MissingBound
from tacit.numeric.grid import Grid

AGES = Bounds.of(0, 120)


@pytest.mark.parametrize("kind", [Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP])
def test_whole_numbers_keep_their_own_steps(kind: Kind) -> None:
    grid = Column("age", kind, bounds=AGES).grid()
    assert grid == Grid(Fraction(0), Fraction(120), step=Fraction(1))


def test_a_decimal_column_keeps_its_own_step() -> None:
    cents = Column("pay", Kind.DECIMAL, bounds=AGES, step=Fraction(1, 100)).grid()
    assert (cents.step, cents.highest) == (Fraction(1, 100), 12000)


def test_a_float_column_gets_a_fine_grid() -> None:
    grid = Column("height", Kind.FLOAT, bounds=AGES).grid()
    assert grid == Grid.fine(Fraction(0), Fraction(120))
    assert grid != Column("height", Kind.INTEGER, bounds=AGES).grid()


def test_days_have_bounds_of_days() -> None:
    year = Bounds.days(date(2026, 1, 1), date(2026, 12, 31))
    grid = Column("day", Kind.DATE, bounds=year).grid()
    assert (grid.highest - grid.lowest, day_of(grid.lowest)) == (364, date(2026, 1, 1))
    assert [number_of(day_of(number)) for number in (FIRST, 0, LAST)] == [FIRST, 0, LAST]
    Column("day", Kind.DATE, bounds=Bounds.days(date.min, date.max))
    for lower, upper in ((FIRST - 1, 0), (0, LAST + 1), (0, "0.5")):
        with pytest.raises(
            InvalidValue, match=r"whole days of the years 1 to 9999.*Bounds\.days"
        ):
            Column("day", Kind.DATE, bounds=Bounds.of(lower, upper))
    with pytest.raises(MissingBound, match=r"bounds=Bounds\.days"):
        Column("day", Kind.DATE).grid()


def test_a_column_without_bounds_says_how_to_declare_them() -> None:
    with pytest.raises(MissingBound, match=r"'pay' has no bounds; .*bounds=Bounds\.of"):
        Column("pay", Kind.INTEGER).grid()


@pytest.mark.parametrize("kind", [Kind.TEXT, Kind.BOOLEAN])
def test_text_and_booleans_have_keys_and_no_bounds(kind: Kind) -> None:
    assert Column("ward", kind, keys=Keys(("east",))).keys == Keys(("east",))
    with pytest.raises(InvalidValue, match=f"'ward' holds {kind.value}s, .* not bounds"):
        Column("ward", kind, bounds=AGES)


def test_a_decimal_column_and_no_other_declares_its_step() -> None:
    with pytest.raises(InvalidValue, match="'pay': a decimal column must have"):
        Column("pay", Kind.DECIMAL, bounds=AGES)
    with pytest.raises(InvalidValue, match="'pay': a decimal column must have"):
        Column("pay", Kind.INTEGER, bounds=AGES, step=Fraction(1, 100))


def test_a_column_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidValue, match="needs a name"):
        Column(" ", Kind.TEXT)


def test_a_column_is_frozen() -> None:
    column = Column("age", Kind.INTEGER, bounds=AGES)
    with pytest.raises(FrozenInstanceError):
        column.bounds = Bounds.of(0, 10**9)


@pytest.mark.parametrize("step", [Fraction(0), Fraction(-1)])
def test_a_step_of_a_decimal_column_is_above_zero(step: Fraction) -> None:
    with pytest.raises(InvalidValue):
        Column("pay", Kind.DECIMAL, bounds=Bounds.of(0, 1), step=step)


def test_text_has_no_sum() -> None:
    with pytest.raises(InvalidValue, match="holds texts, and this needs numbers"):
        Column("name", Kind.TEXT).grid()
