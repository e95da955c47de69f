"""Tables as no careful writer would make them, each from a number alone.

A store is a clinic's visits, their labs and a public table, on one engine, in one way of
keeping them there (`KEPT`), with columns declared in ways of their own (`VARIANTS`), and two
lists of rows that differ in all rows of one person. What the rows hold is drawn from what
writers of that engine accept, not from what its types promise. Texts are bytes here, since not
all are UTF-8.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from math import inf, nan
from struct import unpack
from typing import Any

from tacit.audit.synthetic_people import Choices
from tacit.core.catalog import (
    Catalog,
    Dataset,
    Epoch,
    Limits,
    Link,
    Location,
    PublicTable,
    UnitColumn,
)
from tacit.core.domain import Bounds, Column, Keys, Kind, Schema
from tacit.core.privacy_unit import Population, PrivacyUnit

ENGINES = ("duckdb", "parquet", "duckdb", "postgresql")
"""Stores of a campaign go through these in turn."""

Cells = Mapping[str, Any]

WARDS = ("north", "south", "it's")
PEOPLE = (b"ann", b"ANN", b"bob", b"Bob", "änn".encode(), b"eve", b"a\xcc\x88nn", b" ann")
"""Names that one collation or another takes for equal; the first two are the neighbours'."""

TEXTS = (b"ok", b"OK", b"ill", b"", "\u00e9".encode(), "e\u0301".encode(), b"12", b"n/a")
NOT_TEXTS = (b"\xff\xfebad", b"\xfe\xffbad", b"th\xe9", b"\xed\xa0\x80", b"ok\xff")
"""The first two are the same where each byte that is no text is replaced by one mark."""

PAYLOAD = unpack("<d", bytes.fromhex("efbeadde0000f87f"))[0]
NUMBERS: dict[str, Sequence[Any]] = {
    "pay": (0, 1, 40, 120, 121, -1, 2**63 - 1, -(2**63), None),
    "cost": (0, 999, -1050, 99999, 10**18 - 1, -(10**18 - 1), None),
    "mass": (0.0, -0.0, nan, PAYLOAD, -PAYLOAD, inf, -inf, 5e-324, 1.7e308, 50.5, None),
}
BEYOND = (2**62, -(2**62))
"""Hundredths in a decimal of 18 digits: more than it has, and fewer than its 64 bits."""

DAYS = ("2020-02-29", "0001-01-01", "9999-12-31", None)
FAR_DAYS = {
    "duckdb": ("infinity", "-infinity", "5881580-07-10", "5877642-06-25 (BC)"),
    "postgresql": ("infinity", "-infinity", "5874897-12-31", "4713-01-01 BC"),
    "parquet": (2**31 - 1, -(2**31) + 1, 10**9),
    "spark": (2**31 - 1, -(2**31) + 1, 10**9),
}
TIMES = ("2020-02-29 00:00:00", "2020-02-28 23:59:59.999999", None)
FAR_TIMES = {
    "duckdb": ("infinity", "-infinity", "294247-01-10 04:00:54.775806"),
    "postgresql": ("infinity", "-infinity", "294276-12-31 23:59:59", "4713-01-01 00:00:00 BC"),
    "parquet": (2**62, -(2**62), 2**63 - 1),
    "spark": (2**62, -(2**62), 2**63 - 1),
}

KEPT: dict[str, tuple[str, ...]] = {
    "duckdb": ("table", "table", "table", "view", "generated", "csv", "enum", "glob"),
    "parquet": ("file", "small pages"),
    "postgresql": (
        *("table", "table", "table", "partitions", "view", "generated", "domain", "enum"),
        *("row security", "foreign partition", "few temporary files"),
    ),
    "spark": ("file", "small pages", "other types"),
}
"""How the visits are kept; those that occur twice are met more often."""

VARIANTS: dict[str, tuple[str, ...]] = {
    "duckdb": ("", "", "COLLATE NOCASE", "COLLATE NOACCENT", "COLLATE NOCASE.NOACCENT"),
    "postgresql": (
        *("", 'COLLATE "C"', 'COLLATE "en-x-icu"', 'COLLATE "POSIX"', "", 'COLLATE "C"'),
        *('COLLATE "de-x-icu"', 'COLLATE "en-x-icu"', "", "COLLATE loose"),
    ),
    "parquet": ("plain", "dictionary"),
    "spark": ("plain", "dictionary"),
}
"""How a column of text is declared, or encoded."""

TEXT_COLUMNS = ("person", "code", "ward", "doctor", "home", "work")
LIMITS = (Limits(2, 2), Limits(1, 1, 1), Limits(3, 2, 3), Limits(2, 3, 6))
VISITS = (
    Column("visit", Kind.INTEGER),
    Column("person", Kind.TEXT),
    Column("code", Kind.TEXT),
    Column("ward", Kind.TEXT, keys=Keys(WARDS)),
    Column("doctor", Kind.TEXT),
    Column("home", Kind.TEXT),
    Column("work", Kind.TEXT),
    Column("pay", Kind.INTEGER, bounds=Bounds.of(0, 120)),
    Column("score", Kind.INTEGER, bounds=Bounds.of(0, 50)),
    Column("cost", Kind.DECIMAL, bounds=Bounds.of("-10.5", "99.99"), step=Fraction(1, 100)),
    Column("mass", Kind.FLOAT, bounds=Bounds.of("-0.1", 100)),
    Column("smoker", Kind.BOOLEAN),
    Column("day", Kind.DATE, bounds=Bounds.days(date(2019, 12, 30), date(2021, 3, 1))),
    Column("seen", Kind.TIMESTAMP),
)
LABS = (
    Column("of", Kind.TEXT),
    Column("value", Kind.INTEGER, bounds=Bounds.of(-5, 5)),
)
PLACES = (Column("ward", Kind.TEXT), Column("region", Kind.TEXT, keys=Keys(("hills", "coast"))))
WHERE = ({"ward": b"north", "region": b"hills"}, {"ward": b"south", "region": b"coast"})


@dataclass(frozen=True, slots=True)
class Store:
    """What a number stands for: an engine, how tables are kept there, and two lists of rows.

    The ``after`` list holds all rows of ``before``, and those of one more person.
    """

    number: int
    engine: str
    kept: str
    variants: Mapping[str, str]
    limits: Limits
    before: tuple[Cells, ...]
    after: tuple[Cells, ...]

    @property
    def catalog(self) -> Catalog:
        """The tables as an owner declares them."""
        return catalog(self.limits)


def catalog(limits: Limits) -> Catalog:
    """Visits that name the person, labs that lead to visits by a text, and a public table."""

    def dataset(name: str, columns: Sequence[Column], way: UnitColumn | Link) -> Dataset:
        place = Location("here", (name,))
        row_key = "visit" if name == "visits" else None
        schema = Schema(tuple(columns))
        return Dataset(name, "patients", schema, way, limits, place, Epoch("1"), row_key)

    return Catalog(
        (Population("patients", PrivacyUnit("person")),),
        (
            dataset("visits", VISITS, UnitColumn("person")),
            dataset("labs", LABS, Link("of", "visits", "code")),
        ),
        (
            PublicTable(
                "places",
                Schema(PLACES),
                Location("here", ("places",)),
                Epoch("1"),
                lookup=("ward",),
            ),
        ),
    )


def store(number: int, engine: str | None = None) -> Store:
    """The store of that number, on the engine whose turn it is or on a given one."""
    choices = Choices(f"tacit store {number}")
    on = engine or ENGINES[number % len(ENGINES)]
    kept = choices.one(KEPT[on])
    # one in three is declared plainly, so that some databases may be read in place
    declared = VARIANTS[on][:1] if choices.once_in(3) else VARIANTS[on]
    variants = {name: choices.one(declared) for name in TEXT_COLUMNS}
    limits = choices.one(LIMITS)
    joining = choices.below(2)
    others = [name for place, name in enumerate(PEOPLE) if place != joining]
    crowd = [row for name in choices.permute(others)[:6] for row in person(name, on, choices)]
    # whoever joins has what others lack: a value that no careful writer stores
    own = person(PEOPLE[joining], on, choices, hostile=True)
    # people come and go: the rows of one do not stand together
    after = choices.permute([*crowd, *own])
    numbered = [replace_visit(row, place) for place, row in enumerate(after)]
    before = [row for row in numbered if row["person"] != PEOPLE[joining]]
    return Store(number, on, kept, variants, limits, tuple(before), tuple(numbered))


def replace_visit(row: Cells, place: int) -> Cells:
    """The row under a number and a code of its own; two codes differ in capitals alone."""
    return {**row, "visit": place, "code": b"%s%d" % (b"xX"[place % 2 :][:1], place // 2)}


def person(
    name: bytes, on: str, choices: Choices, *, hostile: bool = False
) -> list[dict[str, Any]]:
    """The rows of one person; a hostile one has more than others, and far values."""
    return [
        _row(name, on, choices, hostile=hostile or choices.once_in(12))
        for _ in range(1 + choices.below(6 if hostile else 3))
    ]


def _row(name: bytes, on: str, choices: Choices, *, hostile: bool) -> dict[str, Any]:
    # files hold any bytes; databases hold text, and a unit that is no text is nobody's
    odd = NOT_TEXTS if hostile and on in {"parquet", "spark"} else ()
    wards = tuple(ward.encode() for ward in WARDS)
    spelled = (b"NORTH", b"North", "n\u00f6rth".encode()) if hostile else ()
    far = hostile and choices.once_in(2)
    return {
        "person": name,
        "ward": choices.one((*wards, None, *spelled, *spelled, *odd)),
        "doctor": choices.one((*TEXTS, None, *odd, *odd)),
        "home": choices.one((*TEXTS, *odd)),
        "work": choices.one((*TEXTS, *odd, *odd)),
        "score": choices.one((b"7", b"50", b"51", b"n/a") if hostile else (b"7", b"50", b"0")),
        **{column: choices.one(values) for column, values in NUMBERS.items()},
        **({"cost": choices.one(BEYOND)} if far and on in {"parquet", "duckdb"} else {}),
        "smoker": choices.one((True, False, None)),
        "day": choices.one(FAR_DAYS[on] if far else DAYS),
        "seen": choices.one(FAR_TIMES[on] if far else TIMES),
        "labs": choices.below(3),
    }
