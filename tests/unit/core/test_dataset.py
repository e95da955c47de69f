from dataclasses import FrozenInstanceError, replace

import pytest

from tacit.core.catalog import Dataset, Epoch, Limits, Link, Location, UnitColumn, ValidatedCopy
from tacit.core.domain import Column, Kind, Schema
from tacit.errors import InvalidValue, UnknownName

VISITS = Dataset(
    name="visits",
    population="patients",
    schema=Schema((Column("patient", Kind.TEXT), Column("ward", Kind.TEXT))),
    unit=UnitColumn("patient"),
    limits=Limits(max_groups=3, max_rows=10),
    location=Location("warehouse", ("hospital", "visits")),
    epoch=Epoch("2026-W46"),
)


def test_a_dataset_is_a_value() -> None:
    assert replace(VISITS) == VISITS
    assert hash(replace(VISITS)) == hash(VISITS)
    assert replace(VISITS, epoch=Epoch("2026-W47")) != VISITS


def test_a_dataset_without_a_name_is_refused() -> None:
    with pytest.raises(InvalidValue, match="dataset needs a name"):
        replace(VISITS, name=" ")


@pytest.mark.parametrize("unit", [UnitColumn("person"), Link("person", "people", "id")])
def test_the_way_to_the_unit_begins_at_a_declared_column(unit: UnitColumn | Link) -> None:
    with pytest.raises(UnknownName, match="no column 'person'; the columns are: patient, ward"):
        replace(VISITS, unit=unit)


@pytest.mark.parametrize("kind", [Kind.FLOAT, Kind.BOOLEAN, Kind.DATE, Kind.TIMESTAMP])
def test_a_unit_is_named_by_text_or_whole_numbers(kind: Kind) -> None:
    """NaN would be one person to one engine, and several to another."""
    schema = Schema((Column("patient", kind), Column("ward", Kind.TEXT)))
    with pytest.raises(
        InvalidValue,
        match=r"leads to the unit, so it must hold text or whole numbers",
    ):
        replace(VISITS, schema=schema)


def test_a_link_may_begin_at_any_declared_column() -> None:
    assert replace(VISITS, unit=Link("ward", "wards", "id")).unit.column == "ward"


def test_a_parent_is_unique_only_where_the_owner_says_so() -> None:
    assert not Link("ward", "wards", "id").unique_by_constraint
    assert Link("ward", "wards", "id", unique_by_constraint=True) != Link("ward", "wards", "id")


@pytest.mark.parametrize("given", [(0, 1, None), (1, 0, None), (-1, 5, 5), (1, 1, 0)])
def test_limits_below_one_are_refused_and_shown(given: tuple[int, int, int | None]) -> None:
    names = ("max_groups", "max_rows", "max_rows_in_all")
    shown = ", ".join(f"{name}={value}" for name, value in zip(names, given, strict=True))
    with pytest.raises(InvalidValue, match=f"at least 1, but {shown} were given"):
        Limits(*given)


def test_rows_are_told_apart_by_text_or_whole_numbers() -> None:
    schema = Schema((*VISITS.schema.columns, Column("hours", Kind.FLOAT)))
    assert replace(VISITS, row_key="ward").row_key == "ward"
    with pytest.raises(
        InvalidValue, match=r"hours identifies the rows of a unit, .* declared as float"
    ):
        replace(VISITS, schema=schema, row_key="hours")
    with pytest.raises(UnknownName, match="no column 'visit'"):
        replace(VISITS, row_key="visit")


def test_a_copy_is_of_the_same_epoch_and_has_what_it_is_ordered_by() -> None:
    copy = ValidatedCopy((("hospital", "copy"),), Epoch("2026-W46"))
    told = replace(VISITS, row_key="ward")
    assert replace(told, copy=copy).copy == copy
    with pytest.raises(InvalidValue, match="has no row_key"):
        replace(VISITS, copy=copy)
    with pytest.raises(InvalidValue, match="no column that identifies the unit"):
        replace(told, unit=Link("ward", "wards", "id"), copy=copy)
    with pytest.raises(InvalidValue, match="tacit prepare visits"):
        replace(told, epoch=Epoch("2026-W47"), copy=copy)


def test_a_dataset_and_its_parts_are_frozen() -> None:
    link = Link("ward", "wards", "id")
    with pytest.raises(FrozenInstanceError):
        link.unique_by_constraint = True
    with pytest.raises(FrozenInstanceError):
        VISITS.epoch = Epoch("2026-W47")
    with pytest.raises(FrozenInstanceError):
        VISITS.limits.max_rows = 10**9
    with pytest.raises(FrozenInstanceError):
        VISITS.unit.column = "ward"
    with pytest.raises(FrozenInstanceError):
        VISITS.location.table = ("staff",)
    with pytest.raises(FrozenInstanceError):
        VISITS.epoch.label = "2026-W47"
