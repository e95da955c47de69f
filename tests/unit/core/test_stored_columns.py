"""Stored types and zones of columns: which kinds they belong to, and which keys they have."""

from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest
from clinic import catalog

from tacit.core.catalog import Limits
from tacit.core.codec import decode_catalog, encode_catalog
from tacit.core.domain import Bounds, Column, Keys, Kind, Schema, StoredAs
from tacit.core.zones import changes_of, seconds_ahead
from tacit.errors import InvalidValue

UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"


@pytest.mark.parametrize("stored", StoredAs)
def test_a_stored_type_belongs_to_one_kind(stored: StoredAs) -> None:
    step = Fraction(1, 100) if stored.kind is Kind.DECIMAL else None
    assert Column("x", stored.kind, step=step, stored=stored).copied.stored is None
    with pytest.raises(InvalidValue, match=f"stored as {stored.value}, which is read as"):
        Column("x", Kind.INTEGER, stored=stored)


@pytest.mark.parametrize(
    ("stored", "key"),
    [
        (StoredAs.UUID, UUID.upper()),
        (StoredAs.UUID, f"{UUID}\n"),
        (StoredAs.UUID, "ward"),
        (StoredAs.CHAR, "ab "),
    ],
)
def test_a_key_that_no_row_can_have_is_refused(stored: StoredAs, key: str) -> None:
    with pytest.raises(InvalidValue, match="no row can have the key"):
        Column("x", Kind.TEXT, keys=Keys((key,)), stored=stored)
    assert Column("x", Kind.TEXT, keys=Keys((key,)), stored=StoredAs.ENUM).keys is not None


def test_a_key_that_a_row_can_have_is_accepted() -> None:
    assert Column("x", Kind.TEXT, keys=Keys((UUID,)), stored=StoredAs.UUID).keys is not None
    assert Column("x", Kind.TEXT, keys=Keys((" ab",)), stored=StoredAs.CHAR).keys is not None


def test_only_timestamps_have_a_zone() -> None:
    assert Column("x", Kind.TIMESTAMP, zone="Europe/Berlin").copied.zone is None
    with pytest.raises(InvalidValue, match="only a timestamp column has a zone"):
        Column("x", Kind.DATE, zone="UTC")


@pytest.mark.parametrize("zone", ["", "Berlin", "+1:00", "+15:00", "../etc", "utc+1", "/x"])
def test_an_unknown_zone_is_refused(zone: str) -> None:
    with pytest.raises(InvalidValue, match="is not a known time zone"):
        Column("x", Kind.TIMESTAMP, zone=zone)


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Africa/Casablanca"])
def test_the_table_of_a_zone_is_right_in_every_hour_of_a_change(zone: str) -> None:
    known = ZoneInfo(zone)
    for start, ahead in changes_of(zone)[1]:
        for late in (timedelta(), timedelta(hours=1), -timedelta(microseconds=1)):
            time = start + late
            local = time.replace(tzinfo=UTC).astimezone(known).utcoffset()
            assert local == timedelta(seconds=seconds_ahead(zone, time))
        assert seconds_ahead(zone, start) == ahead
        assert seconds_ahead(zone, start - timedelta(microseconds=1)) != ahead


def test_two_changes_within_a_week_are_both_in_the_table() -> None:
    """Recife had daylight saving time for seven days less one hour in October 2000."""
    month = [
        at for at, _ in changes_of("America/Recife")[1] if (at.year, at.month) == (2000, 10)
    ]
    assert [at.isoformat() for at in month] == ["2000-10-08T03:00:00", "2000-10-15T02:00:00"]


def test_beyond_the_table_the_last_difference_applies() -> None:
    assert seconds_ahead("Europe/Berlin", datetime(9999, 7, 1)) == 3600  # noqa: DTZ001
    assert seconds_ahead("-03:30", datetime(9999, 7, 1)) == -12600  # noqa: DTZ001


def test_bounds_of_timestamps_are_days() -> None:
    days = Bounds.days(date(2026, 1, 1), date(2026, 12, 31))
    grid = Column("x", Kind.TIMESTAMP, days).grid()
    assert grid.highest - grid.lowest == 364
    with pytest.raises(InvalidValue, match="bounds of days must be whole days"):
        Column("x", Kind.TIMESTAMP, Bounds.of("0.5", 1))


def test_stored_types_and_zones_survive_the_wire() -> None:
    known = catalog(Limits(1, 1))
    (table, *others) = known.datasets
    more = (
        Column("uuid", Kind.TEXT, stored=StoredAs.UUID),
        Column("at", Kind.TIMESTAMP, Bounds.days(date.min, date.max), zone="+01:00"),
    )
    schema = Schema((*table.schema.columns, *more))
    sent = replace(known, datasets=(replace(table, schema=schema), *others))
    assert decode_catalog(encode_catalog(sent)).datasets[0].schema.columns[-2:] == more
