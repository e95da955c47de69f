"""A table whose groups are special values: 60 of each type that may stand behind a kind."""

from collections.abc import Sequence
from contextlib import suppress
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction
from itertools import cycle, islice
from math import inf, nan
from struct import pack, unpack

import duckdb

from tacit.core.catalog import Catalog, Dataset, Epoch, Limits, Location, UnitColumn
from tacit.core.domain import Bounds, Column, Keys, Kind, Schema
from tacit.core.privacy_unit import Neighbours, Population, PrivacyUnit
from tacit.engines.reference import Cell, Row

PLACES = 60
TABLE = ("specials",)
TYPES = {
    "person": "VARCHAR",
    "place": "INTEGER",
    "tiny": "TINYINT",
    "big": "BIGINT",
    "huge": "HUGEINT",
    "ubig": "UBIGINT",
    "cents": "DECIMAL(18,2)",
    "fine": "DECIMAL(38,18)",
    "whole": "DECIMAL(20,0)",
    "single": "FLOAT",
    "double": "DOUBLE",
    "label": "VARCHAR",
    "flag": "BOOLEAN",
    "day": "DATE",
    "moment": "TIMESTAMP",
    "until": "DATE",
    "tag": "VARCHAR",
}


def _integers(low: int, high: int) -> list[Cell]:
    near = [0, 1, -1, 99, 100, 101, -6, -5, -4, 50, low, high, low + 1, high - 1]
    powers = [
        sign * 2**power + more
        for power in (7, 15, 31, 53, 62, 63)
        for sign in (1, -1)
        for more in (-1, 0, 1)
    ]
    return [None, *dict.fromkeys(n for n in [*near, *powers] if low <= n <= high)]


def _decimals(digits: int, after: int) -> list[Cell]:
    one = 10**after
    plain = [n * one for n in (0, 1, -1, 99, 100, -5, -6, 50)]
    most = 10**digits - 1
    ends = [most, -most, most - one, 1, -1, 100 * one + 1, -5 * one - 1, 100 * one - 1]
    halves = [n * one // 1000 for n in (5, -5, 99_995, 4)] if after > 2 else []
    # from text, since arithmetic of decimals rounds
    return [None, *(Decimal(f"{n}e-{after}") for n in (*plain, *ends, *halves))]


FLOATS: list[Cell] = [
    *(None, nan, inf, -inf, 0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 2.2e-308, 1e-300, 1e-45),
    *(1.7976931348623157e308, -1.7976931348623157e308, 3.4e38, -3.4e38, 100.0, -5.0, 0.1),
    *(99.99999999999999, 100.00000000000001, -5.000000000000001, 2.0**53, 2.0**63, -(2.0**63)),
    *(0.5, 50.0, 1 / 3, 2.0**-33, 2.0**62, 1e16, 123456789.123456789),
]
TEXTS: list[Cell] = [
    *(None, "", " ", "NULL", "null", "0", "1e400", "nan", "north", "it's", '"', "\\", "%", "_"),
    *("a\nb", "\t", "\r\n", "é", "e\u0301", "😀", "\u202e", "\ufeff", "ß", "İ"),
    *("--", "/*", ";"),
    *("x" * 100_000, "DATE '2020-01-01'", "{}", "[1]", "true", "a|b", "|", "SECRET-hiv+"),
]
DAYS: list[Cell] = [
    *(None, date.min, date.max, date(1970, 1, 1), date(1969, 12, 31), date(2000, 2, 29)),
    *(date(2020, 2, 28), date(2020, 2, 29), date(2020, 3, 1), date(1582, 10, 15)),
]
MOMENTS: list[Cell] = [
    *(None, datetime(1, 1, 2), datetime(9999, 12, 31, 23, 59, 59, 999_999)),  # noqa: DTZ001
    *(datetime(2020, 2, 29), datetime(2020, 2, 28, 23, 59, 59, 999_999)),  # noqa: DTZ001
]


def _singles() -> list[Cell]:
    """The floats that 32 bits hold, as they hold them."""
    found: list[Cell] = []
    for value in FLOATS:
        if isinstance(value, float):
            with suppress(OverflowError):
                found.append(unpack("f", pack("f", value))[0])
        else:
            found.append(value)
    return found


VALUES: dict[str, list[Cell]] = {
    "tiny": _integers(-128, 127),
    "big": _integers(-(2**63), 2**63 - 1),
    "huge": _integers(-(2**127), 2**127 - 1),
    "ubig": _integers(0, 2**64 - 1),
    "cents": _decimals(18, 2),
    "fine": _decimals(38, 18),
    "whole": _decimals(20, 0),
    "single": _singles(),
    "double": FLOATS,
    "label": TEXTS,
    "flag": [None, True, False],
    "day": DAYS,
    "moment": MOMENTS,
    "until": DAYS,
    "tag": TEXTS,
}
NUMBERS = {
    Kind.INTEGER: ("tiny", "big", "huge", "ubig"),
    Kind.DECIMAL: ("cents", "fine", "whole"),
    Kind.FLOAT: ("single", "double"),
}
OTHERS = {
    "label": Kind.TEXT,
    "flag": Kind.BOOLEAN,
    "day": Kind.DATE,
    "moment": Kind.TIMESTAMP,
    "until": Kind.DATE,
    "tag": Kind.TEXT,
}
UNTIL = Bounds.days(date(1969, 12, 31), date(2020, 2, 29))
TAGS = Keys(("", " ", "NULL", "%", "_", "\\", "a\nb", "é", "e\u0301", "😀", "north", "it's"))


def rows() -> list[Row]:
    """One person a row, and a group: the special values of every type side by side."""
    columns = {name: list(islice(cycle(found), PLACES)) for name, found in VALUES.items()}
    return [
        {"person": f"p{place}", "place": place}
        | {name: values[place] for name, values in columns.items()}
        for place in range(PLACES)
    ]


def catalog(limits: Limits, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Catalog:
    bounds = Bounds.of(-5, 100)
    steps = {"cents": Fraction(1, 100), "fine": Fraction(1, 100), "whole": Fraction(1)}
    numbers = [
        Column(name, kind, bounds=bounds, step=steps.get(name))
        for kind, names in NUMBERS.items()
        for name in names
    ]
    columns = (
        Column("person", Kind.TEXT),
        Column("place", Kind.INTEGER, keys=Keys(tuple(range(PLACES)))),
        *numbers,
        *(Column(name, kind) for name, kind in OTHERS.items() if name not in {"until", "tag"}),
        Column("until", Kind.DATE, bounds=UNTIL),
        Column("tag", Kind.TEXT, keys=TAGS),
    )
    specials = Dataset(
        "specials",
        "people",
        Schema(columns),
        UnitColumn("person"),
        limits,
        Location("here", TABLE),
        Epoch("1"),
    )
    return Catalog((Population("people", PrivacyUnit("person", neighbours)),), (specials,))


def _bound(cell: Cell) -> Cell:
    """Decimals as text, which DuckDB reads to the last digit."""
    return format(cell, "f") if isinstance(cell, Decimal) else cell


def database(found: Sequence[Row]) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    columns = ", ".join(f'"{name}" {physical}' for name, physical in TYPES.items())
    connection.execute(f"CREATE TABLE specials ({columns})")
    marks = ", ".join("?" for _ in TYPES)
    for row in found:
        connection.execute(
            f"INSERT INTO specials VALUES ({marks})",  # noqa: S608 - our own names
            [_bound(row[name]) for name in TYPES],
        )
    return connection
