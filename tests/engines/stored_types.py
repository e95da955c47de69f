"""A table with a column of every supported type, on each engine, and with its extreme values.

Each value is written as the engine's own SQL, with the cell that the reference reads.
"""

# ruff: noqa: S608 - our own names

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, time
from decimal import Decimal
from fractions import Fraction
from itertools import cycle, islice
from math import inf, nan
from struct import pack, unpack
from typing import Any, NamedTuple

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import DAYS, Bounds, Column, Keys, Kind, Schema, StoredAs
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.engines.reference import Row

TABLE = ("stays",)
ROWS = 48
DUCKDB, POSTGRES, SPARK = "duckdb", "postgresql", "spark"
LABELS = ("north", "North", "north ", "it's", "", "😀", "a\nb", "x') --", "SECRET-hiv+")
UUIDS = (
    "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
    "00000000-0000-0000-0000-000000000000",
    "ffffffff-ffff-ffff-ffff-ffffffffffff",
)
CHARS = ("ab", "AB", "", "é")
ENUM = "ENUM (" + ", ".join("'{}'".format(each.replace("'", "''")) for each in LABELS) + ")"

SMALL = Bounds.of(-5, 100)
YEARS = Bounds.days(date(2025, 12, 30), date(2027, 1, 2))
CENT = Fraction(1, 100)


class Stored(NamedTuple):
    """A column, and its type on each engine that has one."""

    column: Column
    types: Mapping[str, str]


def on(duckdb: str = "", postgresql: str = "", spark: str = "") -> dict[str, str]:
    """Return the types of the engines that have one."""
    found = {DUCKDB: duckdb, POSTGRES: postgresql, SPARK: spark}
    return {engine: type_ for engine, type_ in found.items() if type_}


def everywhere(name: str) -> dict[str, str]:
    """Return one type that has the same name on all engines."""
    return on(name, name, name)


COLUMNS = {
    each.column.name: each
    for each in (
        Stored(Column("person", Kind.TEXT, stored=StoredAs.UUID), on("UUID", "uuid", "STRING")),
        Stored(
            Column("id", Kind.TEXT, keys=Keys(UUIDS[:2]), stored=StoredAs.UUID),
            on("UUID", "uuid"),
        ),
        Stored(
            Column("tag", Kind.TEXT, keys=Keys(UUIDS[:2]), stored=StoredAs.UUID),
            on("VARCHAR", "varchar(100)", "STRING"),
        ),
        Stored(
            Column("code", Kind.TEXT, keys=Keys(CHARS), stored=StoredAs.CHAR),
            on("VARCHAR", "char(5)", "CHAR(5)"),
        ),
        Stored(
            Column("status", Kind.TEXT, keys=Keys(LABELS[:6]), stored=StoredAs.ENUM),
            on(ENUM, "status"),
        ),
        Stored(
            Column("price", Kind.DECIMAL, SMALL, step=CENT, stored=StoredAs.MONEY),
            on(postgresql="money"),
        ),
        Stored(
            Column("amount", Kind.DECIMAL, SMALL, step=CENT, stored=StoredAs.NUMERIC),
            on(postgresql="numeric"),
        ),
        Stored(Column("small", Kind.INTEGER, SMALL), everywhere("SMALLINT")),
        Stored(Column("whole", Kind.INTEGER, SMALL), everywhere("INTEGER")),
        Stored(Column("big", Kind.INTEGER, SMALL), everywhere("BIGINT")),
        Stored(Column("huge", Kind.INTEGER, SMALL), on("HUGEINT")),
        Stored(
            Column("fine", Kind.DECIMAL, SMALL, step=Fraction(1, 10**4)),
            everywhere("DECIMAL(18, 4)"),
        ),
        Stored(Column("single", Kind.FLOAT, SMALL), on("FLOAT", "real", "FLOAT")),
        Stored(Column("double", Kind.FLOAT, SMALL), on("DOUBLE", "double precision", "DOUBLE")),
        Stored(Column("flag", Kind.BOOLEAN), everywhere("BOOLEAN")),
        Stored(Column("day", Kind.DATE, YEARS), everywhere("DATE")),
        Stored(
            Column("seen", Kind.TIMESTAMP, YEARS),
            on("TIMESTAMP", "timestamp", "TIMESTAMP_NTZ"),
        ),
        Stored(
            Column("ever", Kind.TIMESTAMP), on("TIMESTAMP", "timestamp(3)", "TIMESTAMP_NTZ")
        ),
        Stored(
            Column("berlin", Kind.TIMESTAMP, YEARS, zone="Europe/Berlin"),
            on("TIMESTAMPTZ", "timestamptz", "TIMESTAMP"),
        ),
        Stored(
            Column("behind", Kind.TIMESTAMP, zone="-03:30"),
            on("TIMESTAMPTZ", "timestamptz(6)", "TIMESTAMP"),
        ),
    )
}


def catalog_on(engine: str) -> Catalog:
    """Return the catalogue of the table on an engine, without the types that it lacks."""
    columns = tuple(each.column for each in COLUMNS.values() if engine in each.types)
    people = Population("people", PrivacyUnit("person", Neighbours.ADD_REMOVE))
    table = Dataset(
        "stays",
        "people",
        Schema(columns),
        UnitColumn("person"),
        Limits(3, 4),
        Location("warehouse", TABLE),
        Epoch("1"),
    )
    return Catalog((people,), (table,))


# ------------------------------------------------------------------ values


class Value(NamedTuple):
    """A value as SQL, and the cell of the reference; other engines may not have the value."""

    sql: str
    cell: Any


def quoted(text: str) -> str:
    """Return a text as a literal of SQL."""
    return "'{}'".format(text.replace("\\", "\\\\").replace("'", "''"))


def typed(text: str, name: str, engine: str) -> str:
    """Return a text that is cast to the type of a column."""
    type_ = COLUMNS[name].types[engine]
    return f"CAST({quoted(text)} AS {'STRING' if 'CHAR(' in type_ else type_})"


def single(value: float) -> float:
    """Return the nearest float of 32 bits."""
    return float(unpack("f", pack("f", value))[0])


ENDS = datetime.combine(date.min, time.min), datetime.combine(date.max, time.max)
FLOATS = (nan, inf, -inf, 0.0, -0.0, 0.1, -5.25, 99.99, 1e30, -1e30)
MOMENTS = (
    *("2026-01-01 00:00:00", "2026-12-31 23:59:59.999", "2026-07-15 13:37:11.5"),
    *("2026-03-29 00:59:59.999", "2026-03-29 01:00:00", "2026-03-29 02:30:00"),
    *("2026-10-25 00:59:59", "2026-10-25 01:00:00", "1969-12-31 23:59:59.999"),
    *("0001-01-01 00:00:00", "0001-01-02 00:00:00", "9999-12-30 23:59:59.999"),
    *("9999-12-31 23:59:59.999", "1582-10-10 12:00:00", "2300-07-01 00:00:00"),
)
FAR = {
    DUCKDB: ("infinity", "294246-12-31 23:59:59", "10000-01-01 00:00:00"),
    POSTGRES: ("infinity", "294276-12-31 23:59:59", "10000-01-01 00:00:00"),
    SPARK: (),
}
LONG_AGO = {
    DUCKDB: ("-infinity", "290309-12-22 (BC) 00:00:00", "0001-12-31 (BC) 00:00:00"),
    POSTGRES: ("-infinity", "4713-01-01 00:00:00 BC", "0001-12-31 00:00:00 BC"),
    SPARK: (),
}
SPARK_FAR = {
    "TIMESTAMP": (
        "TIMESTAMP_MICROS(9223372036854775807)",
        "TIMESTAMP_MICROS(-9223372036854775808)",
    ),
    "TIMESTAMP_NTZ": (
        "CAST(TIMESTAMP_MICROS(9223372036854775807) AS TIMESTAMP_NTZ)",
        "CAST(TIMESTAMP_MICROS(-9223372036854775808) AS TIMESTAMP_NTZ)",
    ),
    "DATE": ("DATE_FROM_UNIX_DATE(100000000)", "DATE_FROM_UNIX_DATE(-100000000)"),
}
WRITTEN = {
    StoredAs.UUID: (*UUIDS, UUIDS[0].upper()),
    StoredAs.CHAR: (*CHARS, "ab  ", "     ", "AB ", "it's", " ab"),
    StoredAs.ENUM: LABELS,
    StoredAs.MONEY: ("92233720368547758.07", "-92233720368547758.08", "0", "12.34", "-0.01"),
    StoredAs.NUMERIC: (
        *("NaN", "Infinity", "-Infinity", "1e130", "-1e130", "9" * 20, "1e-100"),
        *("99999999999999999998", "1.005", "-1.005", "0.0049", "99.995"),
    ),
}
WHOLE = {"small": 2**15, "whole": 2**31, "big": 2**63, "huge": 2**127}


def values(name: str, engine: str) -> Iterator[Value]:
    """Yield the values of a column, of which NULL is one."""
    stored = COLUMNS[name]
    yield Value("NULL", None)
    if stored.column.kind in DAYS:
        yield from times(name, engine)
    elif stored.column.kind is Kind.FLOAT:
        for number in FLOATS:
            cell = single(number) if name == "single" else number
            yield Value(typed(repr(number), name, engine), cell)
    elif stored.column.kind is Kind.BOOLEAN:
        yield from (Value("TRUE", True), Value("FALSE", False))
    else:
        read = {Kind.TEXT: str, Kind.INTEGER: int, Kind.DECIMAL: Decimal}
        for text in texts(name, engine):
            yield Value(typed(text, name, engine), read[stored.column.kind](text))


def texts(name: str, engine: str) -> Iterator[str]:
    """Yield the values of a column of texts or exact numbers, as they are written."""
    column = COLUMNS[name].column
    if name in WHOLE:
        yield from map(str, (-WHOLE[name], WHOLE[name] - 1, 0, 1, -1, 7, 99, 100, 101, -5, -6))
    elif name == "fine":
        yield from ("99999999999999.9999", "-99999999999999.9999", "0.0001", "100", "7.25")
        if engine == POSTGRES:
            yield "NaN"
    else:
        yield from WRITTEN[column.stored]
    if name == "tag":
        yield from ("no uuid", "", f"{UUIDS[0]}\n", f"{{{UUIDS[0]}}}", f"{UUIDS[0][:-1]}g")


def times(name: str, engine: str) -> Iterator[Value]:
    """Yield days and times, of which those beyond the calendar are its ends."""
    column = COLUMNS[name].column
    for text in MOMENTS:
        moment = datetime.fromisoformat(text)
        if column.kind is Kind.DATE:
            yield Value(typed(text[:10], name, engine), moment.date())
        elif column.zone is None:
            yield Value(typed(text, name, engine), moment)
        else:
            yield Value(typed(f"{text}+00:00", name, engine), moment.replace(tzinfo=UTC))
    day = column.kind is Kind.DATE
    first, last = (date.min, date.max) if day else ENDS
    for far, end in ((FAR, last), (LONG_AGO, first)):
        for text in far[engine]:
            zone = "+00" if column.zone is not None and ":" in text and "BC" not in text else ""
            written = text.replace(" 00:00:00", "").replace(" 23:59:59", "") if day else text
            yield Value(typed(f"{written}{zone}", name, engine), None if column.zone else end)
    if engine == SPARK:
        for sql, end in zip(SPARK_FAR[COLUMNS[name].types[SPARK]], (last, first), strict=True):
            yield Value(sql, None if column.zone else end)


def rows_on(engine: str) -> list[dict[str, Value]]:
    """Return the rows of the table: each column has all its values, in turn."""
    names = [name for name, each in COLUMNS.items() if engine in each.types]
    found = {
        name: list(islice(cycle(list(values(name, engine))), place, place + ROWS))
        for place, name in enumerate(names)
    }
    return [{name: found[name][place] for name in names} for place in range(ROWS)]


def meant(engine: str) -> list[Row]:
    """Return the rows as the reference reads them."""
    return [{name: value.cell for name, value in row.items()} for row in rows_on(engine)]


def statements(engine: str) -> Iterator[str]:
    """Yield the statements that make the table."""
    names = [name for name, each in COLUMNS.items() if engine in each.types]
    if engine == POSTGRES:
        yield f"CREATE TYPE status AS {ENUM}"
    columns = ", ".join(f"{name} {COLUMNS[name].types[engine]}" for name in names)
    yield f"CREATE TABLE stays ({columns}){' USING PARQUET' if engine == SPARK else ''}"
    cells = ", ".join(
        f"({', '.join(row[name].sql for name in names)})" for row in rows_on(engine)
    )
    yield f"INSERT INTO stays VALUES {cells}"


# ------------------------------------------------------------------ questions

TEXTS = {"id": UUIDS[0], "tag": UUIDS[0], "code": "ab", "status": "it's"}
OTHER_TEXTS = {"id": UUIDS[1], "tag": UUIDS[1]}
NUMBERS = ("price", "amount", "small", "whole", "big", "huge", "fine", "single", "double")
TIMES = ("seen", "ever", "berlin", "behind")
BOUNDED = ("seen", "berlin")


def questions(engine: str) -> Iterator[str]:
    """Yield questions about every column that an engine has."""
    yield "SELECT COUNT(DISTINCT person) FROM stays"
    yield "SELECT COUNT(*) FROM stays GROUP BY flag"
    for name, text in TEXTS.items():
        if engine in COLUMNS[name].types:
            yield f"SELECT COUNT({name}) FROM stays GROUP BY {name}"
            key, other = quoted(text), quoted(OTHER_TEXTS.get(name, "x"))
            signs = (f"= {key}", f"<> {key}", "IS NULL", f"IN ({other}, {key})")
            yield counts(f"{name} {sign}" for sign in signs)
    for name in NUMBERS:
        if engine in COLUMNS[name].types:
            yield f"SELECT SUM({name}), COUNT({name}) FROM stays"
            yield f"SELECT AVG({name}) FROM stays WHERE {name} > 7"
            yield counts(f"{name} {sign}" for sign in ("IS NULL", "= 100", "<= 7"))
    for name in TIMES:
        yield from questions_about_times(name)
    for name in BOUNDED:
        yield (
            f"SELECT SUM(EXTRACT(YEAR FROM {name})), AVG(day - CAST({name} AS DATE)), "
            f"SUM(CAST({name} AS DATE) - DATE '2026-02-28') FROM stays"
        )
    yield counts(
        (
            "flag",
            "seen < berlin",
            "berlin >= behind",
            "day = CAST(seen AS DATE)",
            "day < TIMESTAMP '2026-07-15 12:00:00'",
        )
    )


def counts(conditions: Iterable[str]) -> str:
    """Return a question that counts the rows of each condition."""
    cases = (f"SUM(CASE WHEN {each} THEN 1 ELSE 0 END)" for each in conditions)
    return f"SELECT {', '.join(cases)} FROM stays"


def questions_about_times(name: str) -> Iterator[str]:
    """Yield questions about one column of timestamps."""
    parts = ("QUARTER", "MONTH", "DAY", "DOW", "HOUR", "MINUTE")
    sums = ", ".join(f"SUM(EXTRACT({part} FROM {name}))" for part in parts)
    yield f"SELECT {sums}, COUNT({name}) FROM stays"
    yield f"SELECT COUNT(*) FROM stays GROUP BY HOUR({name})"
    for span in ("year", "quarter", "month", "week", "day"):
        yield f"SELECT COUNT(*) FROM stays GROUP BY DATE_TRUNC('{span}', {name})"
    yield f"SELECT COUNT(*) FROM stays GROUP BY CAST({name} AS DATE)"
    signs = ("=", "<>", "<", "<=", ">", ">=")
    yield counts(f"CAST({name} AS DATE) {sign} DATE '2026-03-29'" for sign in signs)
    yield counts(f"{name} {sign} TIMESTAMP '2026-03-29 03:00:00'" for sign in signs)
    yield counts(f"{name} {sign} DATE '2026-01-01'" for sign in signs)
    yield counts(
        (
            f"DATE({name}) IN (DATE '2026-10-25')",
            f"CAST({name} AS DATE) <= DATE '9999-12-31'",
            f"{name} IS NULL",
        )
    )
